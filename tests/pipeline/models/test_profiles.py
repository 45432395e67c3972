"""Profiles: what their file may hold, and where it is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.models.profiles import find_profile
from pipeline.records.provider_profile import ProviderProfile, load_provider_file

HEAD = "schema: assay.providers\nversion: 1\nproviders:\n"
HOUSE = "- {name: house, kind: vllm, base_url: 'http://127.0.0.1:8000/v1/', model: m}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def write(path: Path, *profiles: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + "".join(profiles))
    return path


def test_a_profile_is_read_with_its_defaults() -> None:
    (profile,) = load_provider_file((HEAD + HOUSE).encode(), "p.yaml").providers
    assert (profile.name, profile.kind, profile.base_url) == ("house", "vllm", "http://127.0.0.1:8000/v1")
    assert (profile.stream, profile.max_retries, profile.prices) == (False, 5, None)


@pytest.mark.parametrize(
    "line, said",
    [
        (
            "- {name: a, kind: vlm, base_url: 'http://h/v1'}",
            "p.yaml:4: providers[0].kind: found 'vlm'; expected one of",
        ),
        ("- {name: a, kind: vlm, base_url: 'http://h/v1'}", "did you mean 'vllm'"),
        ("- {name: a, kind: vllm}", "p.yaml:4: providers[0].base_url: found None; vllm needs an address"),
        ("- {name: a, kind: openai, base_url: 'ftp://h'}", "expected an address such as http"),
        ("- {name: a, kind: openai, base_url: 'http://h:99999'}", "expected an address such as http"),
        ("- {name: a, kind: openai, base_url: 'http://u:p@h/v1'}", "without user and password"),
        ("- {name: a, kind: openai, base_url: 'http://h', api_key_env: sk-123}", "and never the key"),
        ("- {name: a, kind: openai, base_url: 'http://h', api_key: x}", "unknown field 'providers[0].api_key'"),
        ("- {name: a, kind: openai, base_url: 'http://h', api_key: x}", "did you mean 'api_key_env'"),
        ("- {name: a, kind: local, base_url: 'http://h'}", "base_url: found 'http://h'; local has none"),
        ("- {name: a, kind: local, script: s.yaml}", "script: found 's.yaml'; it is for kind scripted"),
        ("- {name: a, kind: local, stream: true}", "stream: found True; local gives token ids of a whole reply only"),
        ("- {name: a, kind: openai, base_url: 'http://h', body: {stream: true}}", "stream is set by assay"),
        ("- {name: a, kind: local, sampling: {temperature: hot}}", "sampling.temperature: found 'hot'"),
        ("- {name: a, kind: local, sampling: {temperatur: 1}}", "did you mean 'temperature'"),
        ("- {name: a, kind: local, prices: {input: 1}}", "prices.output: found None; expected input and output"),
        ("- {name: a, kind: local, prices: {free: true, input: 1}}", "prices.free: found True; expected no input"),
        ("- {name: a, kind: local, concurrency: 0}", "providers[0].concurrency: found 0"),
        ("- {name: a, kind: local}\n- {name: a, kind: local}", "the name 'a' stands twice"),
        ("", "p.yaml:3: providers lists no profile"),
    ],
)
def test_a_fault_in_a_profile_is_named_with_file_line_and_field(line: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_provider_file((HEAD + line).encode(), "p.yaml")
    assert said in str(caught.value)


def test_a_file_of_another_schema_is_refused() -> None:
    with pytest.raises(InputError, match=r"p.yaml:1: schema is 'assay.run'; this assay reads schema: assay.providers"):
        load_provider_file(b"schema: assay.run\nversion: 1\n", "p.yaml")


def test_the_given_file_comes_first_then_the_one_here_then_the_users(here: Path, tmp_path: Path) -> None:
    def made(name: str, model: str) -> str:
        return f"- {{name: {name}, kind: local, model: {model}}}\n"

    given = write(tmp_path / "given.yaml", made("a", "given"))
    write(here / "assay-providers.yaml", made("a", "here"), made("b", "here"))
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    write(tmp_path / "config" / "assay" / "assay-providers.yaml", made("b", "mine"), made("c", "mine"))
    found = [find_profile(name, given, environment).model for name in "abc"]
    assert found == ["given", "here", "mine"]


def test_the_users_folder_is_below_home_where_nothing_else_is_said(here: Path, tmp_path: Path) -> None:
    write(tmp_path / ".config" / "assay" / "assay-providers.yaml", HOUSE)
    assert find_profile("house", None, {"HOME": str(tmp_path)}).kind == "vllm"


def test_local_and_scripted_are_built_in_and_a_file_may_have_its_own(here: Path) -> None:
    assert [find_profile(name, None, {}).kind for name in ("local", "scripted")] == ["local", "scripted"]
    write(here / "assay-providers.yaml", "- {name: local, kind: vllm, base_url: 'http://h/v1'}\n")
    assert find_profile("local", None, {}).kind == "vllm"


def test_an_unknown_name_is_told_with_the_nearest_and_where_was_looked(here: Path, tmp_path: Path) -> None:
    given = write(tmp_path / "given.yaml", HOUSE)
    with pytest.raises(InputError) as caught:
        find_profile("hose", given, {"HOME": str(tmp_path)})
    text = str(caught.value)
    assert text.startswith("there is no provider 'hose'; did you mean 'house'?; looked in ")
    assert str(given) in text
    assert "assay-providers.yaml (not there)" in text
    assert text.endswith("and the built-in ones")


def test_a_given_file_that_is_missing_is_an_error_and_not_passed_over(here: Path) -> None:
    with pytest.raises(InputError, match=r"--providers gone.yaml: there is no such file"):
        find_profile("local", Path("gone.yaml"), {})


def test_a_profile_knows_its_folder_and_does_not_write_it_down(here: Path) -> None:
    write(here / "assay-providers.yaml", HOUSE)
    profile = find_profile("house", None, {})
    assert profile.folder == here.resolve()
    assert str(here) not in profile.model_dump_json()
    assert profile.model_dump() == ProviderProfile.model_validate(profile.model_dump()).model_dump()
