"""Secrets: where a key goes, and where nothing that looks like one ever stands."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.models.redacted import Redactor, secret_values

KEY = "sk-very-secret-0123456789"
ENVIRONMENT = {"MY_KEY": KEY, "DB_PASSWORD": 'p"ass\\word', "PATH": "/usr/bin", "HOME": "/home/somebody"}


def test_the_key_goes_into_the_header_and_nowhere_else(kit: Any) -> None:
    completion, server = kit.exchange(kit.answers(kit.chat()), environment=ENVIRONMENT, api_key_env="MY_KEY")
    (seen,) = server.seen
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str({name: value for name, value in seen.headers.items() if name != "Authorization"})
    assert KEY not in str(seen.body)
    assert KEY not in completion.model_dump_json()


def test_without_a_variable_no_key_is_sent(kit: Any) -> None:
    _, server = kit.exchange(kit.answers(kit.chat()), environment=ENVIRONMENT)
    assert "Authorization" not in server.seen[0].headers


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_key_that_is_not_set_is_told_before_anything_is_sent(value: str | None, kit: Any) -> None:
    environment = {} if value is None else {"MY_KEY": value}
    with pytest.raises(InputError, match="provider 'p': MY_KEY is not set; export it"):
        kit.open(kit.profile_of("http://127.0.0.1:1", api_key_env="MY_KEY"), None, environment)


def test_a_key_that_no_header_can_hold_is_told_without_it(kit: Any) -> None:
    with pytest.raises(InputError) as caught:
        kit.open(kit.profile_of("http://127.0.0.1:1", api_key_env="MY_KEY"), None, {"MY_KEY": "sk-1\nX: y"})
    assert "MY_KEY holds what no HTTP header can" in str(caught.value)
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_not_followed(status: int, kit: Any) -> None:
    async def run() -> tuple[Any, Any]:
        async with kit.server(kit.answers(kit.chat())) as other:
            there = kit.answers("", status=status, headers={"Location": f"{other.url}/v1"})
            async with kit.server(there) as server:
                return await kit.ask(server.url, environment=ENVIRONMENT, api_key_env="MY_KEY"), other

    completion, other = kit.run_clean(run())
    assert other.seen == []
    assert completion.reply.status_error.status == status
    assert completion.reply.status_error.body.startswith(f"redirects to {other.url}/v1; redirects are not followed")


@pytest.mark.parametrize("status", [400, 401, 500])
def test_an_error_that_repeats_the_key_is_shown_without_it(status: int, kit: Any) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}."}}
    handler = kit.answers(body, status=status)
    completion, _ = kit.exchange(handler, environment=ENVIRONMENT, api_key_env="MY_KEY", max_retries=0)
    assert "Incorrect API key provided: [secret]." in completion.reply.status_error.body


def test_a_long_error_is_not_cut_in_the_middle_of_a_key(kit: Any) -> None:
    handler = kit.answers("x" * 4_090 + KEY, status=400)
    completion, _ = kit.exchange(handler, environment=ENVIRONMENT, api_key_env="MY_KEY")
    assert completion.reply.status_error.body == "x" * 4_090 + "[secre"


def test_secrets_are_taken_out_of_what_is_sent(kit: Any) -> None:
    request = kit.said('The password is p"ass\\word.', system=f"Key: {KEY}")
    _, server = kit.exchange(kit.answers(kit.chat()), request=request, environment=ENVIRONMENT)
    assert [message["content"] for message in server.seen[0].body["messages"]] == [
        "Key: [secret]",
        "The password is [secret].",
    ]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_secrets_are_taken_out_of_the_answer_and_their_ids_go_too(is_streamed: bool, kit: Any) -> None:
    body = kit.chat(f"It is {KEY}.", prompt_token_ids=[1])
    body["choices"][0] |= {"token_ids": [5, 6], "logprobs": {"content": [{"logprob": -1.0}, {"logprob": -2.0}]}}
    halves = [kit.delta(content=f"It is {KEY[:5]}"), kit.delta("stop", content=f"{KEY[5:]}.")]
    handler = kit.streams(*halves) if is_streamed else kit.answers(body)
    completion, _ = kit.exchange(handler, kind="vllm", stream=is_streamed, environment=ENVIRONMENT)
    assert completion.reply.message.content[0].text == "It is [secret]."
    assert completion.tokens is None
    assert KEY not in completion.model_dump_json()


def test_secrets_are_taken_out_of_half_an_answer(kit: Any) -> None:
    handler = kit.streams(kit.delta(content=f"It is {KEY}"), is_cut=True)
    completion, _ = kit.exchange(handler, stream=True, environment=ENVIRONMENT, max_retries=0)
    assert completion.reply.failed.partial.content[0].text == "It is [secret]"


def test_a_request_can_be_cleaned_before_it_is_recorded(kit: Any) -> None:
    redactor = Redactor([KEY])
    clean = kit.said("nothing here")
    assert redactor.request(clean) is clean
    assert redactor.request(kit.said(f"x{KEY}y")) == kit.said("x[secret]y")
    assert KEY not in repr(redactor)


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "GH_PAT", "PGPASSWORD", "DB_PASSWORD", "SECRET",
     "hf_token", "AWS_SESSION_TOKEN", "SSH_PASSPHRASE", "OPENAI_API_KEY_2", "AZURE_OPENAI_APIKEY", "CLIENT_SECRET"],
)  # fmt: skip
def test_values_of_variables_that_look_like_secrets_are_secret(name: str) -> None:
    assert secret_values({name: "0123456789"}) == ["0123456789"]


@pytest.mark.parametrize("name", ["PATH", "HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "LANG", "MONKEY", "PATTERN"])
def test_values_of_other_variables_are_not(name: str) -> None:
    assert secret_values({name: "0123456789"}) == []


def test_the_variable_of_the_profile_is_secret_whatever_its_name() -> None:
    assert secret_values({"A": "0123456789"}, ["A"]) == ["0123456789"]


def test_short_values_are_not_masked_for_they_stand_in_any_text() -> None:
    assert secret_values({"A_TOKEN": "true", "OPENAI_API_KEY": "EMPTY"}, ["OPENAI_API_KEY"]) == []
