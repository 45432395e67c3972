"""Functions on a store: deploy, names and versions, trust, and payloads that another process loads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import (
    CorruptError,
    EvaluationError,
    FunctionBuildError,
    FunctionError,
    FunctionSignatureError,
    InputError,
    UntrustedFunctionError,
)
from pipeline.functions import (
    FunctionCaller,
    FunctionMaterial,
    RemoteFunction,
    Secret,
    TrustPolicy,
    check_columns,
    deploy_for,
    function,
    load_function,
    missing_names,
    missing_secrets,
)
from pipeline.functions.registry import payload_key
from pipeline.records.function import FunctionRecord
from pipeline.store import Store

SCHEMA = pa.schema([("message", pa.string()), ("amount", pa.int64()), ("parts", pa.list_(pa.string()))])


def plain(message: str) -> str:
    """Says it loudly."""
    return message.upper()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_deployed_function_is_found_by_name_and_by_version(store: Store) -> None:
    handle = RemoteFunction(plain)
    assert handle.version_id is None
    handle.deploy(store)
    by_name = RemoteFunction.from_name("plain", store)
    by_version = RemoteFunction.from_version_id(str(handle.version_id), store)
    assert (
        by_name.version_id == by_version.version_id == RemoteFunction.from_id(str(handle.version_id), store).version_id
    )
    assert by_name.parameters == handle.parameters
    assert by_name.output_type == pa.large_string()
    assert by_name.record is not None
    assert (by_name.record.doc, by_name.record.returns) == ("Says it loudly.", "str")
    assert (
        by_name.record.source
        == 'def plain(message: str) -> str:\n    """Says it loudly."""\n    return message.upper()\n'
    )


def test_a_handle_runs_its_body_here_unless_it_was_attached(store: Store) -> None:
    handle = RemoteFunction(plain).deploy(store)
    assert handle("a") == "A"
    attached = RemoteFunction.from_name("plain", store)
    with pytest.raises(FunctionError, match="attached"):
        attached("a")
    with pytest.raises(FunctionError, match="deployed already"):
        attached.deploy(store)


def test_an_unchanged_function_reuses_its_version_and_a_name_keeps_its_history(store: Store) -> None:
    def make(suffix: str) -> RemoteFunction:
        def answer(message: str) -> str:
            return message + suffix

        return RemoteFunction(answer)

    first, second = make("1").deploy(store), make("2").deploy(store)
    attached = RemoteFunction.from_name("answer", store)
    make("2").deploy(store)
    assert [record.version_id for record in second.versions()] == [second.version_id, first.version_id]
    make("1").deploy(store)
    assert RemoteFunction.from_name("answer", store).version_id == first.version_id
    assert attached.version_id == second.version_id
    assert [record.version_id for record in second.versions()] == [first.version_id, second.version_id]


def test_an_unknown_name_or_version_is_an_error_that_helps(store: Store) -> None:
    RemoteFunction(plain).deploy(store)
    with pytest.raises(FunctionError, match="did you mean 'plain'"):
        RemoteFunction.from_name("plane", store)
    with pytest.raises(FunctionError, match="no function version"):
        RemoteFunction.from_version_id("0" * 64, store)
    with pytest.raises(FunctionError, match="from_name"):
        RemoteFunction.from_version_id("fn_plain", store)
    with pytest.raises(InputError, match="not allowed"):
        RemoteFunction.from_name("../plain", store)


def test_what_an_evaluation_accepts_as_a_function(store: Store) -> None:
    with pytest.raises(TypeError, match="decorate it with @function"):
        deploy_for(store, plain)
    with pytest.raises(TypeError, match="found int"):
        deploy_for(store, 3)
    with pytest.raises(EvaluationError, match=r"call \.deploy\(\)"):
        deploy_for(store, RemoteFunction(plain))
    decorated = function(plain)
    record = deploy_for(store, decorated)
    assert record.version_id == decorated.version_id
    assert deploy_for(store, RemoteFunction.from_name("plain", store)) == record
    assert deploy_for(store, RemoteFunction(plain).deploy(store)) == record


def test_a_record_survives_being_written(store: Store) -> None:
    @function(retries=1, secrets=[Secret.from_env("KEY")], env={"A": "b"})
    def f(message: str, n: int = 2) -> float:
        return 1.0

    record = deploy_for(store, f)
    assert FunctionRecord.from_bytes(record.to_bytes()) == record
    assert RemoteFunction.from_name("f", store).options == f.options
    assert missing_secrets(record, {}) == ["KEY"]
    assert missing_secrets(record, {"KEY": "x"}) == []
    assert missing_names({"secrets": ["A"], "env": {"B": {"secret": "C"}, "D": "d"}}, {"A": ""}) == ["A", "C"]
    assert missing_names({}, {}) == []


def test_columns_are_checked_when_an_evaluation_is_created(store: Store) -> None:
    @function
    def f(message: str, amount: float, note: str = "", output: str = "") -> float:
        return 1.0

    for checked in (f, deploy_for(store, f)):
        assert check_columns(checked, SCHEMA) == ("message", "amount")
        assert check_columns(checked, SCHEMA, {"output": pa.large_string()}) == ("message", "amount", "output")
        with pytest.raises(FunctionSignatureError, match=r"needs a column 'message'.*did you mean 'messages'"):
            check_columns(checked, pa.schema([("messages", pa.string()), ("amount", pa.int64())]))
        with pytest.raises(FunctionSignatureError, match=r"column 'message' is double, but f\(\) takes str"):
            check_columns(checked, pa.schema([("message", pa.float64()), ("amount", pa.int64())]))


@pytest.mark.parametrize(
    "kind, column",
    [
        (str, pa.list_(pa.string())),
        (int, pa.string()),
        (float, pa.bool_()),
        (list[str], pa.string()),
        (dict[str, str], pa.string()),
        (bool, pa.string()),
    ],
)
def test_a_column_that_cannot_hold_the_type_is_refused(kind: Any, column: pa.DataType) -> None:
    def f(x: Any) -> float:
        return 1.0

    f.__annotations__["x"] = kind
    with pytest.raises(FunctionSignatureError, match="column 'x' is"):
        check_columns(function(f), pa.schema([("x", column)]))
    assert check_columns(function(f), pa.schema([("x", pa.null())])) == ("x",)


LOAD = """
import pickle, sys
import pyarrow as pa
from pipeline.functions import FunctionCaller
material = pickle.load(open(sys.argv[1], "rb"))
caller = FunctionCaller(material)
print(caller.call(pa.table({"message": ["a", "b"]})).output.to_pylist())
caller.close()
"""

WORKER_TASK = """
import dataclasses
import my_prompts
from my_rules import Rule, shout
from my_package.inner import suffix
from pipeline.functions import function

@dataclasses.dataclass
class Answer:
    text: str

@function
async def triage(message: str) -> Answer:
    import my_lazy
    from my_package import other
    return Answer(my_prompts.PREFIX + shout(message) + Rule(1).mark + my_lazy.END + suffix() + other.NAME)

print(triage.deploy("{store}").version_id)
"""


def write_neighbours(folder: Path) -> None:
    (folder / "my_package").mkdir(parents=True)
    files = {
        "my_prompts.py": "import threading\nLOCK = threading.Lock()\nPREFIX = '>'\n",
        "my_rules.py": (
            "class Rule:\n    def __init__(self, n):\n        self.mark = '!' * n\n\n"
            "def shout(x):\n    return x.upper()\n"
        ),
        "my_lazy.py": "from my_lazy_too import END\n",
        "my_lazy_too.py": "END = '.'\n",
        "my_package/__init__.py": "",
        "my_package/inner.py": "from . import other\ndef suffix():\n    return other.NAME\n",
        "my_package/other.py": "NAME = 'p'\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("how", ["script", "file"])
def test_a_task_that_imports_neighbours_works_in_a_process_that_does_not_have_them(tmp_path: Path, how: str) -> None:
    folder, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    write_neighbours(folder)
    elsewhere.mkdir()
    store = Store(tmp_path / "store")
    (folder / "my_task.py").write_text(WORKER_TASK.replace("{store}", store.url))
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    load = "import sys; from pipeline.functions import load_function_file; load_function_file(sys.argv[1], 'triage')"
    arguments = [str(folder / "my_task.py")] if how == "script" else ["-c", load, str(folder / "my_task.py")]

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    version_id = run(*arguments)
    material = load_function(store, version_id, trusted={version_id})
    (elsewhere / "material.pkl").write_bytes(pickle.dumps(material))
    for name in [*folder.rglob("*.py")]:
        name.unlink()
    assert run("-c", LOAD, "material.pkl") == "[{'text': '>A!.pp'}, {'text': '>B!.pp'}]"


def test_a_function_of_a_notebook_cell_travels(store: Store) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    text = (
        "from __future__ import annotations\nfrom pipeline.functions import function\nfrom enum import Enum\n"
        "class Kind(Enum):\n    A = 'a'\n"
        "def helper(x):\n    return Kind(x)\n@function\ndef cell(message: str) -> Kind:\n    return helper(message)\n"
    )
    exec(compile(text, "<cell>", "exec"), scope)
    record = deploy_for(store, scope["cell"])
    payload = store.read(payload_key("cell", record.version_id))
    caller = FunctionCaller(FunctionMaterial(record, payload, record.payload_sha256))
    assert caller.call(pa.table({"message": ["a"]})).output.to_pylist() == ["a"]
    assert record.source == ""


KINDS = """
from __future__ import annotations
import dataclasses, enum, re, sys
from typing import NamedTuple, TypedDict
from pydantic import BaseModel, Field, field_validator
from pipeline.functions import function

class Kind(enum.Enum):
    A = "a"

class Inner(BaseModel):
    kind: Kind = Kind.A
    size: int = Field(ge=0)

    @field_validator("size")
    @classmethod
    def check(cls, value: int) -> int:
        return value + OFFSET

OFFSET = 1

class Message(TypedDict):
    role: str

class Pair(NamedTuple):
    left: int

@dataclasses.dataclass(frozen=True)
class Everything:
    inner: Inner
    message: Message
    pair: Pair
    words: list[str]

@function
def triage(message: str, kind: Kind = Kind.A, given: Message | None = None) -> Everything:
    return Everything(Inner(size=1), Message(role=kind.value), Pair(2), re.findall("[a-z]+", message))

print(triage.deploy(sys.argv[1]).version_id)
"""


def test_classes_of_a_script_travel_with_its_function(store: Store, tmp_path: Path) -> None:
    (tmp_path / "my_kinds.py").write_text(KINDS)
    root = Path(__file__).parents[3]

    def run(*command: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(root)}
        done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    version_id = run(str(tmp_path / "my_kinds.py"), store.url)
    material = load_function(store, version_id, trusted={version_id})
    (tmp_path / "material.pkl").write_bytes(pickle.dumps(material))
    assert "{'inner': {'kind': 'a', 'size': 2}, 'message': {'role': 'a'}, 'pair': {'left': 2}, 'words': ['b']}" in run(
        "-c", LOAD, str(tmp_path / "material.pkl")
    )


def test_a_function_may_call_itself_and_another_decorated_one(store: Store) -> None:
    @function
    def mark(message: str) -> str:
        return message + "!"

    @function
    def repeat(message: str) -> str:
        return mark(message) if len(message) > 2 else repeat(message + message)

    record = deploy_for(store, repeat)
    payload = store.read(payload_key("repeat", record.version_id))
    caller = FunctionCaller(FunctionMaterial(record, payload, record.payload_sha256))
    assert caller.call(pa.table({"message": ["a"]})).output.to_pylist() == ["aaaa!"]


def test_what_cannot_be_pickled_is_named(store: Store) -> None:
    lock = threading.Lock()

    @function
    def locked(message: str) -> str:
        with lock:
            return message

    with pytest.raises(FunctionBuildError, match=r"'lock', which locked\(\) refers to.*inside the function"):
        locked.deploy(store)


def test_a_payload_that_is_not_the_pinned_one_is_refused(store: Store) -> None:
    record = deploy_for(store, function(plain))
    payload = store.read(payload_key("plain", record.version_id))
    with pytest.raises(CorruptError, match="pinned"):
        FunctionCaller(FunctionMaterial(record, payload + b"x", record.payload_sha256))


def test_a_payload_of_another_python_is_refused_by_name(store: Store) -> None:
    record = deploy_for(store, function(plain)).model_copy(update={"python": "3.9"})
    payload = store.read(payload_key("plain", record.version_id))
    with pytest.raises(FunctionBuildError, match=r"was pickled by Python 3\.9, this is 3\.\d+: deploy it again"):
        FunctionCaller(FunctionMaterial(record, payload, record.payload_sha256))


DEPLOY = """
import sys
from pipeline.functions import function
@function
def foreign(message: str) -> str:
    return message
foreign.deploy(sys.argv[1])
print(foreign.version_id)
"""


def deploy_elsewhere(store: Store) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DEPLOY, store.url],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    return done.stdout.strip()


def test_a_payload_of_a_store_that_is_not_trusted_is_refused_with_the_way_to_allow_it(
    store: Store, tmp_path: Path
) -> None:
    version_id = deploy_elsewhere(store)
    digest = str(RemoteFunction.from_version_id(version_id, store).record.payload_sha256)  # type: ignore[union-attr]
    with pytest.raises(UntrustedFunctionError) as refused:
        load_function(store, version_id, trusted=TrustPolicy.of(environ={}))
    assert digest in str(refused.value)
    assert f"ASSAY_TRUST={store.url}" in str(refused.value)
    parent = str(tmp_path)
    for policy in (
        TrustPolicy.of([store.url]),
        TrustPolicy.of([parent]),
        TrustPolicy.of([digest]),
        TrustPolicy.of(environ={"ASSAY_TRUST": f"s3://other, {store.url}"}),
    ):
        assert load_function(store, version_id, trusted=pickle.loads(pickle.dumps(policy))).sha256 == digest
    with pytest.raises(UntrustedFunctionError):
        load_function(store, version_id, trusted=TrustPolicy.of([f"{store.url}-other", f"{parent}/sto"]))


def test_the_default_local_store_is_trusted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    version_id = deploy_elsewhere(store)
    monkeypatch.setenv("ASSAY_STORE", store.url)
    assert load_function(store, version_id, trusted=TrustPolicy.of(environ={})).record.name == "foreign"


def test_a_function_of_this_process_is_loaded_from_its_own_payload(store: Store) -> None:
    record = deploy_for(store, function(plain))
    material = load_function(store, record.version_id, trusted=frozenset())
    assert material.sha256 == record.payload_sha256


def test_an_untrusted_version_is_not_copied_into_another_store(store: Store, tmp_path: Path) -> None:
    attached = RemoteFunction.from_version_id(deploy_elsewhere(store), store)
    other = Store(tmp_path / "other")
    with pytest.raises(UntrustedFunctionError):
        deploy_for(other, attached, trust=TrustPolicy.of(environ={}))
    record = deploy_for(other, attached, trust=TrustPolicy.of([store.url]))
    assert RemoteFunction.from_version_id(record.version_id, other).record == record


def test_importing_functions_loads_neither_ray_nor_duckdb_nor_pyarrow() -> None:
    program = (
        "import sys, pipeline.functions; print([m for m in ('ray', 'duckdb', 'pyarrow', 'polars') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.strip() == "[]"
