"""The spec of a session: one model from three formats, and what an error says of a line of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.formats.zon import parse_zon, write_zon
from pipeline.records.eval_spec import EvalSpec, Limits, RewardWeights, SandboxDriver
from pipeline.records.spec_file import READERS, parse_spec

SHA = "0123456789abcdef" * 4

WHOLE = f"""// Every field.
.{{
    .schema = "chock.eval",
    .version = 1,
    .name = "sorts words",
    .task =
        \\\\Write sort_words in words.py.
        \\\\Keep the tests as they are.
    ,
    .fixture = "../fixtures/words",
    .provider = "local",
    .model = "coder",
    .base_commit = "refs/tags/v1",
    .capture = "captures/words.json",
    .capture_sha256 = "{SHA}",
    .provenance = .{{
        .model_profile = "small",
        .checkpoint = "org/model@1",
        .trainer = "grpo",
        .seed = -7,
        .intervention = "layer 3",
        .intervention_sha256 = "{SHA}",
    }},
    .expect = .{{
        .end_reason = "finished",
        .max_turns = 8,
        .max_cost = 1,
        .currency = "EUR",
        .config_sha256 = "{SHA}",
        .sandbox_sha256 = "{SHA}",
        .sandbox_driver = .native,
        .required_events = &.{{ "tool.call", "usage" }},
        .forbidden_events = &.{{"compaction"}},
        .forbidden_tools = .{{"browser"}},
        .required_paths = &.{{"words.py"}},
        .forbidden_paths = &.{{"secrets.txt"}},
        .files = &.{{ .{{ .path = "test/words_test.py", .sha256 = "{SHA}" }} }},
        .forbidden_network_hosts = &.{{ "Example.invalid.", "::0001", "127.0.0.1" }},
        .require_no_network = true,
        .require_no_refusals = true,
        .min_subagents = 0,
        .max_subagents = 4,
        .require_subagents_complete = true,
        .audit_sha256 = "{SHA}",
    }},
    .reward_weights = .{{
        .model = 1, .harness = 0, .sandbox = 1.5, .fixture = 2, .policy = 2, .network = 2, .budget = 0.5, .tests = 3,
    }},
    .tests = &.{{
        .{{ .name = "unit", .argv = &.{{ "python", "-m", "unittest", "" }} }},
        .{{ .name = "lint", .argv = &.{{"make"}} }},
    }},
    .tools = &.{{"shell"}},
    .limits = .{{ .max_turns = 9, .wall_clock_s = 60, .tool_timeout_s = 0.5, .test_timeout_s = 5 }},
    .sandbox = .{{ .driver = "microvm", .network_hosts = &.{{"pypi.org"}} }},
    .test_files = &.{{"test/**"}},
}}
"""
HEAD = "schema: chock.eval\nversion: 1\nname: n\ntask: t\nfixture: f\n"


def plain(value: Any) -> Any:
    """A value of ZON as YAML and JSON have it."""
    return json.loads(json.dumps(value))


def in_format(value: Any, ending: str) -> bytes:
    if ending == ".zon":
        return write_zon(value).encode()
    return (json.dumps(value, indent=1) if ending == ".json" else yaml.safe_dump(value, sort_keys=False)).encode()


@pytest.mark.parametrize("ending", READERS)
def test_every_field_is_the_same_in_every_format(ending: str) -> None:
    spec = parse_spec(WHOLE.encode(), "a.zon")
    assert parse_spec(in_format(plain(parse_zon(WHOLE)), ending), f"a{ending}") == spec


def test_every_field_has_its_value() -> None:
    spec = parse_spec(WHOLE.encode(), "a.zon")
    unset = [
        f"{part}.{name}"
        for part in ("", "provenance", "expect", "reward_weights", "limits", "sandbox")
        for model in [getattr(spec, part) if part else spec]
        for name in type(model).model_fields
        if name not in model.model_fields_set
    ]
    assert unset == []
    assert spec.task == "Write sort_words in words.py.\nKeep the tests as they are."
    assert spec.expect.sandbox_driver is SandboxDriver.NATIVE
    assert spec.expect.files[0].path == "test/words_test.py"
    assert spec.expect.forbidden_network_hosts == ("example.invalid", "::1", "127.0.0.1")
    assert spec.tests[0].argv == ("python", "-m", "unittest", "")
    assert (spec.reward_weights.sandbox, spec.reward_weights.tests) == (1.5, 3.0)
    assert spec.provenance is not None
    assert spec.provenance.seed == -7
    assert spec.sandbox is not None
    assert spec.sandbox.network_hosts == ("pypi.org",)


def test_defaults_are_the_documented_ones() -> None:
    spec = parse_spec(HEAD.encode(), "a.yaml")
    assert spec == EvalSpec(name="n", task="t", fixture="f")
    assert (spec.base_commit, spec.tests, spec.tools, spec.sandbox, spec.test_files) == ("HEAD", (), None, None, ())
    assert (spec.provider, spec.model, spec.capture, spec.provenance) == (None, None, None, None)
    assert spec.expect.model_fields_set == set()
    assert spec.limits == Limits(max_turns=50, wall_clock_s=1800, tool_timeout_s=120, test_timeout_s=600)
    ones = dict.fromkeys(["model", "sandbox", "fixture", "policy", "network", "budget", "tests"], 1.0)
    assert spec.reward_weights == RewardWeights(harness=0.0, **ones)


def test_braces_without_anything_are_a_list_where_a_list_is_expected() -> None:
    head = '.schema = "chock.eval", .version = 1, .name = "n", .task = "t", .fixture = "f"'
    zon = f".{{ {head}, .tests = .{{}}, .expect = .{{}} }}"
    assert parse_spec(zon.encode(), "a.zon") == EvalSpec(name="n", task="t", fixture="f")
    with pytest.raises(InputError, match=r"a.yaml:6: tests: found \{\}; expected a list"):
        parse_spec((HEAD + "tests: {}").encode(), "a.yaml")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "a.yaml:1: is empty; expected fields such as schema: chock.eval and version: 1"),
        ("- 1", "a.yaml:1: holds a list"),
        (HEAD.replace("chock.eval", "chock.rl-suite"), "a.yaml:1: schema is 'chock.rl-suite'; this assay reads"),
        (HEAD.replace("version: 1", "version: 2"), "a.yaml:2: version is 2; this assay reads version: 1"),
        (HEAD.replace("version: 1", "version: true"), "a.yaml:2: version is True"),
        (HEAD.replace("schema: chock.eval\n", ""), "a.yaml:1: schema is missing"),
        (HEAD.replace("task", "tsak"), "a.yaml:4: unknown field 'tsak'; did you mean 'task'?"),
        (HEAD.replace("task: t\n", ""), "a.yaml:1: the field 'task' is missing"),
        (HEAD.replace("task: t", "task: ''"), "a.yaml:4: task: found ''; expected text that is not empty"),
        (HEAD.replace("task: t", "task: 7"), "a.yaml:4: task: found 7; expected text"),
        (HEAD.replace("name: n", "name: 'a\n\n  b'"), "a.yaml:3: name: found 'a\\nb'; expected one line of text"),
        (HEAD.replace("name: n", 'name: "\\e[31m"'), "expected one line of text without control characters"),
        (HEAD.replace("fixture: f", 'fixture: "a\\0"'), "a.yaml:5: fixture: found 'a\\x00'; expected text without NUL"),
        (HEAD + "base_commit: null", "a.yaml:6: base_commit: found None; expected text"),
        (HEAD + "base_commit: --output=x", "git reads -… as an option"),
        (HEAD + "capture_sha256: " + SHA, "a.yaml:6: capture_sha256: found '0123"),
        (HEAD + "capture: a\ncapture_sha256: " + SHA.upper(), "expected 64 lower-case hex digits"),
        (HEAD + "expect:\n  files: []\n  require_path: [a]", "a.yaml:8: unknown field 'expect.require_path'; did you"),
        (HEAD + "expect: null", "a.yaml:6: expect: found None; expected fields with values"),
        (HEAD + "expect: [1]", "a.yaml:6: expect: found [1]; expected fields with values"),
        (HEAD + "expect: {max_turns: -1}", "expect.max_turns: found -1; input should be greater than or equal to 0"),
        (HEAD + "expect: {max_turns: 1.0}", "expect.max_turns: found 1.0; expected a whole number"),
        (HEAD + "expect: {max_turns: true}", "expect.max_turns: found True; expected a whole number"),
        (HEAD + "expect: {max_cost: '1', currency: EUR}", "expect.max_cost: found '1'; expected a number"),
        (HEAD + "expect: {max_cost: 1}", "expect.max_cost: found 1; an amount needs the field currency beside it"),
        (HEAD + "expect: {currency: eur}", "expect.currency: found 'eur'; expected three capital letters of ISO 4217"),
        (HEAD + "expect: {config_sha256: abc}", "expect.config_sha256: found 'abc'; expected 64 lower-case hex digits"),
        (
            HEAD + "expect: {sandbox_driver: microwm}",
            "found 'microwm'; input should be 'native' or 'microvm'; did you mean 'microvm'?",
        ),
        (HEAD + "expect: {sandbox_driver: none}", "input should be 'native' or 'microvm'"),
        (HEAD + "expect: {required_events: usage}", "expect.required_events: found 'usage'; expected a list"),
        (HEAD + "expect: {required_events: [a, a]}", "expect.required_events: found ['a', 'a']; 'a' stands twice"),
        (
            HEAD + "expect:\n  required_events: [a]\n  forbidden_events: [b, a]",
            "a.yaml:8: expect.forbidden_events: found ['b', 'a']; 'a' is required as well: no session could pass",
        ),
        (
            HEAD + f"expect: {{files: [{{path: a, sha256: {SHA}}}], forbidden_paths: [a]}}",
            "expect.forbidden_paths: found ['a']; 'a' is required as well",
        ),
        (HEAD + f"expect: {{files: [{{path: a, sha256: {SHA}}}, {{path: a, sha256: {SHA}}}]}}", "'a' stands twice"),
        (HEAD + "expect: {files: [{path: a}]}", "the field 'expect.files[0].sha256' is missing"),
        (HEAD + "expect: {files: [{pth: a}]}", "unknown field 'expect.files[0].pth'; did you mean 'path'?"),
        (HEAD + "expect: {require_no_network: 1}", "expect.require_no_network: found 1; expected true or false"),
        (
            HEAD + "expect:\n  max_subagents: 1\n  min_subagents: 2",
            "a.yaml:8: expect.min_subagents: found 2; it may not be above max_subagents, which is 1",
        ),
        (HEAD + "reward_weights: {test: 1}", "unknown field 'reward_weights.test'; did you mean 'tests'?"),
        (HEAD + "reward_weights: {tests: -0.5}", "reward_weights.tests: found -0.5; input should be greater than or"),
        (HEAD + "reward_weights: {tests: true}", "reward_weights.tests: found True; expected a number"),
        (HEAD + "reward_weights: {tests: 1" + "0" * 400 + "}", "expected a number"),
        (HEAD + "tests: make test", "a.yaml:6: tests: found 'make test'; expected a list"),
        (HEAD + "tests: [make]", "tests[0]: found 'make'; expected fields with values"),
        (HEAD + "tests:\n- name: a\n  argv: make test", "a.yaml:8: tests[0].argv: found 'make test'; expected a list"),
        (HEAD + "tests:\n- name: a\n  argv: []", "a.yaml:8: tests[0].argv: found []; expected a list that begins with"),
        (HEAD + "tests:\n- {name: a, argv: ['', x]}", "tests[0].argv: found ['', 'x']; expected a list that begins"),
        (HEAD + 'tests:\n- {name: a, argv: [x, "\\0"]}', "tests[0].argv[1]: found '\\x00'; expected text without NUL"),
        (HEAD + "tests:\n- {name: a, argv: [x]}\n- {name: a, argv: [y]}", "a.yaml:6: tests: found [{'name'"),
        (HEAD + "tests:\n- {name: a, argv: [x], shell: true}", "a.yaml:7: unknown field 'tests[0].shell'"),
        (HEAD + "provenance:\n  intervention: x", "give intervention and intervention_sha256 together, or neither"),
        (HEAD + f"provenance:\n  intervention_sha256: {SHA}", "a.yaml:6: provenance: found {'intervention_sha256'"),
        (HEAD + "provenance: {seed: 1.5}", "provenance.seed: found 1.5; expected a whole number"),
        (HEAD + "provenance: {seed: 9007199254740992}", "a.yaml:6: provenance.seed: found 9007199254740992; input"),
        (HEAD + "limits: {max_turns: 0}", "limits.max_turns: found 0; input should be greater than or equal to 1"),
        (HEAD + "limits: {test_timeout_s: 0}", "limits.test_timeout_s: found 0; input should be greater than 0"),
        (HEAD + "limits: {wall_clock_s: 1e9}", "limits.wall_clock_s: found 1000000000.0; input should be less than or"),
        (HEAD + "limits: {timeout_s: 1}", "unknown field 'limits.timeout_s'; did you mean"),
        (HEAD + "sandbox: native", "a.yaml:6: sandbox: found 'native'; expected fields with values"),
        (HEAD + "sandbox: {driver: docker}", "sandbox.driver: found 'docker'; input should be 'native' or 'microvm'"),
        (HEAD + "tools: [a, a]", "a.yaml:6: tools: found ['a', 'a']; 'a' stands twice"),
        (HEAD + "tests: &a []", "a.yaml:6: anchors and aliases"),
        (HEAD + "provenance: {seed: 010}", "a.yaml:6: '010' without quotes reads as a number in another base"),
        (HEAD + "capture: 2026-01-01", "a.yaml:6: '2026-01-01' without quotes reads as a date; quote it"),
        (HEAD + "name: n", "a.yaml:6: the key 'name' stands twice; the first is on line 3"),
    ],
)  # fmt: skip
def test_an_error_names_line_field_what_was_found_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text.encode(), "a.yaml")
    assert str(caught.value).startswith("a.yaml:")
    assert message in str(caught.value)


@pytest.mark.parametrize("field", ["required_paths", "forbidden_paths", "files", "test_files"])
@pytest.mark.parametrize(
    "path, message",
    [
        ("/etc/passwd", "expected a path relative to the fixture"),
        ("\\\\server\\share", "expected a path relative to the fixture"),
        ("C:\\Windows", "expected a path relative to the fixture"),
        ("c:x", "expected a path relative to the fixture"),
        ("..", "expected a path without .."),
        ("a/../../b", "expected a path without .."),
        ("a\\..\\b", "expected a path without .."),
        ("a\0b", "expected text without NUL"),
        ("", "expected text that is not empty"),
    ],
)
def test_a_path_that_could_leave_the_fixture_is_refused(field: str, path: str, message: str) -> None:
    value: Any = {"schema": "chock.eval", "version": 1, "name": "n", "task": "t", "fixture": "f"}
    items: Any = [{"path": path, "sha256": SHA}] if field == "files" else [path]
    value |= {field: items} if field == "test_files" else {"expect": {field: items}}
    with pytest.raises(InputError) as caught:
        parse_spec(json.dumps(value, indent=1).encode(), "a.json")
    assert f"{field}[0]" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", ["a..b", "...", "a/.b", "./a", "ä ö", "a\nb", "src/", "*.py"])
def test_other_names_are_paths(path: str) -> None:
    spec = EvalSpec(name="n", task="t", fixture="f", test_files=(path,))
    assert spec.test_files == (path,)


@pytest.mark.parametrize(
    "host", ["http://a.b", "a.b/c", "a.b:443", "*.a.b", "a b", "bücher.example", "-a.b", "a..b", "", "[::1]", "a" * 300]
)
def test_what_is_no_host_would_never_be_found_and_is_refused(host: str) -> None:
    for text in ("expect: {forbidden_network_hosts: [%s]}", "sandbox: {network_hosts: [%s]}"):
        with pytest.raises(InputError, match=r"network_hosts\[0\]: found"):
            parse_spec((HEAD + text % json.dumps(host)).encode(), "a.yaml")


def test_a_name_after_a_dot_is_no_text() -> None:
    zon = WHOLE.replace('.name = "sorts words"', ".name = .sorts")
    with pytest.raises(InputError, match=r"a.zon:5: name: found .sorts; expected text in quotes"):
        parse_spec(zon.encode(), "a.zon")


def test_errors_of_zon_and_json_name_the_line_of_the_field() -> None:
    line = WHOLE[: WHOLE.index(".require_no_network")].count("\n") + 1
    with pytest.raises(InputError, match=rf"^a.zon:{line}: unknown field 'expect.forbiden_events'; did you mean"):
        parse_spec(WHOLE.replace(".require_no_network = true", ".forbiden_events = &.{}").encode(), "a.zon")
    value = plain(parse_zon(WHOLE)) | {"version": 3}
    with pytest.raises(InputError, match=r"^a.json:3: version is 3; this assay reads version: 1"):
        parse_spec(json.dumps(value, indent=1).encode(), "a.json")


@pytest.mark.parametrize(
    "command, without, message",
    [
        ("run", "provider", "a.yaml:1: the field 'provider' is missing, which a run needs"),
        ("run", "model", "a.yaml:1: the field 'model' is missing, which a run needs"),
        ("replay", "capture", "a.yaml:1: the field 'capture' is missing, which a replay needs"),
    ],
)
def test_a_run_and_a_replay_need_more_than_a_check(command: Any, without: str, message: str) -> None:
    fields = {"provider": "local", "model": "coder", "capture": "c.json"}
    text = HEAD + "".join(f"{name}: {value}\n" for name, value in fields.items() if name != without)
    assert parse_spec(text.encode(), "a.yaml")
    with pytest.raises(InputError, match=message):
        parse_spec(text.encode(), "a.yaml", command)
    assert parse_spec((HEAD + "".join(f"{n}: {v}\n" for n, v in fields.items())).encode(), "a.yaml", command)


@pytest.mark.parametrize("name, found", [("spec", "has no ending"), ("spec.toml", "ends in '.toml'")])
def test_another_ending_is_refused(name: str, found: str) -> None:
    with pytest.raises(InputError, match=rf"^{name}: {found}; a spec ends in .zon, .yaml, .yml, .json"):
        parse_spec(b"", name)


def test_what_the_model_says_is_refused_is_refused_in_every_format() -> None:
    value = plain(parse_zon(WHOLE))
    value["tests"][1]["argv"] = []
    for ending in READERS:
        with pytest.raises(InputError, match=rf"^a{ending}:\d+: tests\[1\].argv: found"):
            parse_spec(in_format(value, ending), f"a{ending}")


TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
SPECS = st.fixed_dictionaries(
    {"schema": st.just("chock.eval"), "version": st.just(1), "name": TEXTS, "task": TEXTS, "fixture": TEXTS},
    optional={
        "tests": st.lists(
            st.fixed_dictionaries({"name": TEXTS, "argv": st.lists(TEXTS, min_size=1, max_size=3)}),
            unique_by=lambda test: test["name"],
            max_size=3,
        ),
        "tools": st.lists(TEXTS, unique=True, max_size=3) | st.none(),
        "expect": st.fixed_dictionaries(
            {}, optional={"max_turns": st.integers(0) | st.none(), "required_events": st.lists(TEXTS, unique=True)}
        ),
        "reward_weights": st.dictionaries(st.sampled_from(["model", "tests"]), st.floats(0, allow_infinity=False)),
    },
)


@given(SPECS)
def test_a_spec_is_the_same_from_zon_and_json(value: dict[str, Any]) -> None:
    zon = parse_spec(in_format(value, ".zon"), "a.zon")
    assert parse_spec(in_format(value, ".json"), "a.json") == zon
    again = zon.model_dump(mode="json", by_alias=True)
    assert parse_spec(in_format(again, ".zon"), "a.zon") == zon
