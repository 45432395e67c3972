"""Providers of the user's own: when their file is run, and what is said where it cannot be used."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.models.guarded import GuardedProvider
from pipeline.models.open_provider import open_provider
from pipeline.models.profiles import find_profile

CODE = """
import dataclasses
from pipeline.records.audit_content import TextPart
from pipeline.records.exchange import ChatMessage, ChatReply, Completion, Stop, TokenFields

@dataclasses.dataclass
class Mine:
    profile: object
    model: str
    environment: dict

    async def complete(self, request):
        message = ChatMessage(role="assistant", content=(TextPart(text=f"{self.model} {self.profile.name}"),))
        tokens = TokenFields(prompt_token_ids=(1,), response_token_ids=(2,), response_mask=(1,), old_logprobs=(-0.5,))
        return Completion(reply=ChatReply(message=message, stop=Stop(reason="stop")), tokens=tokens)

    async def close(self):
        self.model = ""
"""


def write(folder: Path, code: str = CODE, kind: str = "my_provider.py:Mine") -> Path:
    (folder / "my_provider.py").write_text(code)
    file = folder / "assay-providers.yaml"
    file.write_text(f"schema: assay.providers\nversion: 1\nproviders:\n- {{name: mine, kind: '{kind}', model: m}}\n")
    return file


def test_a_class_beside_the_given_file_is_made_and_asked(kit: Any, tmp_path: Path) -> None:
    async def run() -> Any:
        provider = open_provider(find_profile("mine", write(tmp_path), {}), None, {})
        found = await provider.complete(kit.said())
        await provider.close()
        return found

    completion = asyncio.run(run())
    assert completion.reply.message.content[0].text == "m mine"
    assert completion.tokens.old_logprobs == (-0.5,)


def test_a_file_that_only_lies_here_does_not_get_its_code_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "raise SystemExit('it was run')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"would run .*my_provider.py.*name the profile's file with --providers"):
        open_provider(find_profile("mine", None, {}), None, {})


def test_the_users_own_folder_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "assay"
    folder.mkdir()
    write(folder)
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    monkeypatch.chdir(tmp_path)
    provider = open_provider(find_profile("mine", None, environment), "other", environment)
    assert isinstance(provider, GuardedProvider)
    assert type(provider.inner).__name__ == "Mine"


@pytest.mark.parametrize(
    "code, kind, said",
    [
        (CODE, "my_provider.py:Min", "has no class 'Min'; did you mean 'Mine'?"),
        (CODE, "gone.py:Mine", "gone.py: there is no such file, which the profile's kind names"),
        ("x = (", "my_provider.py:Mine", "my_provider.py:1: SyntaxError"),
        ("\n\n1 / 0", "my_provider.py:Mine", "my_provider.py:3: ZeroDivisionError: division by zero"),
        ("class Mine: pass", "my_provider.py:Mine", "Mine cannot be made: TypeError"),
        ("def Mine(*_): return object()", "my_provider.py:Mine", "Mine has no `async def complete`"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(code: str, kind: str, said: str, tmp_path: Path) -> None:
    profile = find_profile("mine", write(tmp_path, code, kind), {})
    with pytest.raises(InputError) as caught:
        open_provider(profile, None, {})
    assert said in str(caught.value)
