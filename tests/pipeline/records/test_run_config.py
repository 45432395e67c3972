"""The config of `assay run`: what it holds, and what an error says of a line of it."""

from __future__ import annotations

import pytest

from pipeline.errors import InputError
from pipeline.records.run_config import FunctionEntry, SqlEntry, UseEntry, load_run_config

HEAD = "schema: assay.run\nversion: 1\nname: demo\n"
BODY = "dataset: rows.csv\noutput_column: answer\n"
SCORERS = "scorers:\n  - {use: exact_match, name: exact, strip: false}\n"
WHOLE = HEAD + BODY + SCORERS


def load(text: str):
    return load_run_config(text.encode(), "a.yaml").config


def test_a_config_holds_what_is_written() -> None:
    config = load(
        HEAD
        + "dataset: [a.csv, b.csv]\ntask: my_task.py:triage\npartition_by: [intent]\nlimit: 10\nengine: ray\n"
        + "metadata: {git_sha: abc}\nscorers:\n"
        + "  - {use: json_match, name: m, paths: [intent], inputs: [output, gold]}\n"
        + "  - {sql: '1.0', name: one}\n  - {function: 'my_scorers.py:plausible'}\n"
    )
    assert config.dataset == ("a.csv", "b.csv")
    assert (config.task, config.output_column) == ("my_task.py:triage", None)
    assert (config.partition_by, config.limit, config.engine) == (("intent",), 10, "ray")
    assert config.metadata == {"git_sha": "abc"}
    assert config.scorers == (
        UseEntry(use="json_match", name="m", inputs=("output", "gold"), paths=["intent"]),
        SqlEntry(sql="1.0", name="one"),
        FunctionEntry(function="my_scorers.py:plausible"),
    )
    assert config.scorers[0].options == {"paths": ["intent"]}


def test_defaults_are_few() -> None:
    config = load(WHOLE)
    assert (config.dataset, config.partition_by, config.limit, config.engine) == (("rows.csv",), (), None, "auto")


def test_each_scorer_keeps_its_line() -> None:
    assert load_run_config((WHOLE + "\n  - {sql: '1', name: b}\n").encode(), "a").scorer_lines == (7, 9)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "a.yaml:1: is empty; expected fields such as schema: assay.run"),
        ("- a", "a.yaml:1: holds a list"),
        (
            WHOLE.replace("assay.run", "chock.eval"),
            "a.yaml:1: schema is 'chock.eval'; this assay reads schema: assay.run",
        ),
        (WHOLE.replace("version: 1", "version: 2"), "a.yaml:2: version is 2; this assay reads version: 1"),
        (WHOLE.replace("version: 1", "version: true"), "version is True"),
        (WHOLE.replace("schema: assay.run\n", ""), "schema is missing"),
        (WHOLE + "partition: [x]\n", "a.yaml:8: unknown field 'partition'; did you mean 'partition_by'?"),
        (WHOLE + "Scorers: []\n", "a.yaml:8: unknown field 'Scorers'; did you mean 'scorers'"),
        (HEAD + BODY, "the field 'scorers' is missing"),
        (HEAD + BODY + "scorers: []", "a.yaml:6: scorers is empty; list at least one, such as"),
        (HEAD + BODY + "scorers: contains", "a.yaml:6: scorers is 'contains'; list at least one"),
        (WHOLE.replace("dataset:", "datset:"), "a.yaml:4: unknown field 'datset'; did you mean 'dataset'?"),
        (WHOLE.replace("schema:", "shema:"), "a.yaml:1: unknown field 'shema'; did you mean 'schema'?"),
        (WHOLE + "metadata: 3\n", "a.yaml:8: metadata: found 3; expected fields with values"),
        (WHOLE + "partition_by: 3\n", "a.yaml:8: partition_by: found 3; expected a text or a list of texts"),
        (HEAD + SCORERS + "output_column: a\n", "the field 'dataset' is missing"),
        (HEAD + "dataset: a\n" + SCORERS, "give either task: path.py:function, or output_column"),
        (WHOLE + "task: a.py:f\n", "give either task: path.py:function, or output_column"),
        (WHOLE + "limit: 0\n", "a.yaml:8: limit: found 0; input should be greater than or equal to 1"),
        (WHOLE + "limit: ten\n", "a.yaml:8: limit: found 'ten'"),
        (WHOLE + "limit: true\n", "a.yaml:8: limit: found True"),
        (WHOLE + "engine: spark\n", "a.yaml:8: engine: found 'spark'; input should be 'auto', 'inline' or 'ray'"),
        (WHOLE + "partition_by: [1]\n", r"a.yaml:8: partition_by\[0\]: found 1"),
        (WHOLE + "metadata: [1]\n", "metadata: found"),
        (WHOLE.replace("name: demo", "name: ''"), "a.yaml:3: name: found ''"),
        (WHOLE.replace("name: demo", "name: 7"), "a.yaml:3: name: found 7"),
        (
            WHOLE + "  - {uses: contains}\n",
            "a.yaml:8: a scorer has one of use, sql, function; found .*did you mean 'use'",
        ),
        (WHOLE + "  - contains\n", "a.yaml:8: a scorer has one of use, sql, function; found 'contains'"),
        (WHOLE + "  - contains\n", "; write it as {use: contains}"),
        (WHOLE + "  - tasks.py:half\n", "found 'tasks.py:half'; write it as {function: tasks.py:half}"),
        (WHOLE + "  - {use: contains, sql: '1'}\n", "found use and sql"),
        (WHOLE + "  - {sql: '1'}\n", r"a.yaml:8: the field 'scorers\[1\].name' is missing"),
        (WHOLE + "  - sql: '1'\n    nome: x\n    name: y\n", r"a.yaml:9: unknown field .*nome'; did you mean 'name'"),
        (WHOLE + "  - {function: 3}\n", r"a.yaml:8: scorers\[1\].function: found 3"),
        (WHOLE + "  - {use: contains, inputs: [1]}\n", r"scorers\[1\].inputs\[0\]: found 1"),
    ],
)
def test_an_error_names_file_line_field_and_the_nearest(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(text)
