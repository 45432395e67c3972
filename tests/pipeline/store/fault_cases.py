"""Each fault at each step: the real commit code before a server that misbehaves, and how that is judged.

A case is right where it ends in time with the result of an undisturbed run, byte for byte, or with an error of our own
that names the store and what to do, and where the same call succeeds once the fault is over.
"""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
from aiobotocore.session import AioSession
from fault_proxy import FOR_EVER, FaultProxy

import pipeline
from pipeline.errors import AssayError, EvaluationRunFailedError
from pipeline.evaluation import keeping, runner
from pipeline.records.plan import DataFile, Part, Plan, Receipt
from pipeline.store import RevisionReader, Store, get_revision
from pipeline.store.commit import begin, finish, publish, read_manifest, verify
from pipeline.store.parquet import iterate_parquet, open_parquet, write_parquet

PREFIX = "runs/r"
SECRET = "testtest"
DEADLINE = 12
"""Times the store's `timeout_s`: what a commit asks one after the other before it gives up, each within twice that."""
_WHAT_TO_DO = re.compile(
    r"check |run the same command|create it|restore|remove |make it again|free some|write it again"
)
_NOT_OURS = re.compile(r"Traceback|botocore\.|aiohttp\.|aiobotocore|File \"")


class Fault(NamedTuple):
    """`kind` as the proxy knows it, for so many requests."""

    kind: str | int
    times: int
    methods: tuple[str, ...] = ("PUT", "GET", "HEAD", "POST", "DELETE")

    @property
    def name(self) -> str:
        often = {1: "once", FOR_EVER: "for ever"}.get(self.times, f"{self.times} times")
        return f"{self.kind} {often}"

    @property
    def passes(self) -> bool:
        """Whether a store that is asked again must be found well."""
        return self.times < FOR_EVER


FAULTS = (
    Fault("reply lost", 1), Fault("dropped", 1), Fault("truncate", 1), Fault("hang", 1), Fault(500, 1), Fault(503, 3),
    Fault(409, 1, ("PUT", "POST")), Fault("flip", 1, ("GET",)),
    Fault("reply lost", FOR_EVER), Fault("truncate", FOR_EVER), Fault("hang", FOR_EVER), Fault("slow", FOR_EVER),
    Fault(500, FOR_EVER), Fault(503, FOR_EVER), Fault(403, FOR_EVER), Fault("refused", FOR_EVER),
    Fault(409, FOR_EVER, ("PUT", "POST")), Fault("flip", FOR_EVER, ("GET",)),
)  # fmt: skip


class Step(NamedTuple):
    """One request of the protocol, and how to get there."""

    name: str
    method: str
    path: str
    """A piece of the request's path."""
    act: Callable[[Store], bytes]
    """What is done under the fault; its result is compared."""
    prepare: Callable[[Store], object] = lambda store: None


class Case(NamedTuple):
    server: str
    step: Step
    fault: Fault

    @property
    def name(self) -> str:
        return f"{self.server} · {self.step.name} · {self.fault.name}"


class Verdict(NamedTuple):
    case: Case
    outcome: str
    """correct, clean error, wrong; `not met` where the step does not ask the store for it."""
    detail: str
    seconds: float


# -- the protocol, on plain bytes ------------------------------------------------------------------------------------

PLAN = Plan(kind="test", pins={"dataset": "d"}, parts=tuple(Part(index=i, first_row=i * 2, rows=2) for i in range(3)))


def attempt(part: int, size: int = 40) -> tuple[Receipt, Mapping[str, bytes]]:
    data = (b"rows of part %d " % part * size)[:size]
    sha256 = hashlib.sha256(data).hexdigest()
    file = DataFile(path=f"data/{sha256}.parquet", sha256=sha256, bytes=len(data), rows=2)
    receipt = Receipt(plan_sha256=PLAN.sha256, part=part, rows=2, first_row=2 * part, files=(file,))
    return receipt, {file.path: data}


def commit(store: Store, size: int = 40) -> bytes:
    """The whole protocol as a driver and its worker go through it; all bytes of the result."""
    begun = begin(store, PREFIX, PLAN)
    if begun.manifest is None:
        receipts = begun.receipts
        for part in PLAN.parts:
            if part.index not in receipts:
                receipts[part.index] = publish(store, PREFIX, *attempt(part.index, size))
        finish(store, PREFIX, PLAN, receipts)
    return read_committed(store)


def commit_large(store: Store) -> bytes:
    """Data that travel in several parts: s3fs cuts what is 100 MiB or more."""
    data = b"0123456789abcdef" * ((101 << 20) // 16)
    sha256 = hashlib.sha256(data).hexdigest()
    store.put(f"data/{sha256}.parquet", data)
    return sha256.encode() if store.read(f"data/{sha256}.parquet", sha256=sha256) == data else b"other bytes"


def read_committed(store: Store) -> bytes:
    manifest = read_manifest(store, PREFIX)
    assert manifest is not None, "committed, and no index is found"
    verify(store, PREFIX, manifest)
    return manifest.to_bytes()


def begin_and_publish(store: Store) -> None:
    begin(store, PREFIX, PLAN)
    for part in (0, 2):
        publish(store, PREFIX, *attempt(part))


# -- the reader ------------------------------------------------------------------------------------------------------

NUMBERS = pa.table({"n": list(range(500)), "want": ["even", "odd"] * 250, "gold": ["even"] * 500})


def upload(store: Store) -> None:
    pipeline.DatasetClient(store).upload("numbers", NUMBERS)


def read_dataset(store: Store) -> bytes:
    key = next(iter(store.list("revisions")))
    revision = get_revision(store, key.removeprefix("revisions/").removesuffix(".json"))
    with RevisionReader(store, revision) as reader:
        return repr(reader.read(0, 500).to_pylist()).encode()


def put_parquet(store: Store) -> None:
    import tempfile
    from pathlib import Path

    noise = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(20_000)]
    with tempfile.TemporaryDirectory() as folder:
        write_parquet(pa.table({"noise": noise}), Path(folder, "x.parquet"))
        store.put("data/x.parquet", Path(folder, "x.parquet"))


def read_in_ranges(store: Store) -> bytes:
    name = f"{store.display}/data/x.parquet"
    digest = hashlib.sha256()
    with store.open("data/x.parquet") as file:
        for table in iterate_parquet(open_parquet(file, name), name):
            digest.update("".join(table["noise"].to_pylist()).encode())
    return digest.hexdigest().encode()


# -- a run -----------------------------------------------------------------------------------------------------------


def evaluate(store: Store) -> bytes:
    """One evaluation from its definition to the bytes of its index, in this process."""
    client = pipeline.EvaluationClient(store)
    [record] = client.list()
    run = client.run(record.id, engine="inline", new=False, part_rows=200)
    run.wait(poll_interval=0.1)
    assert len(pipeline.read_results(run.id, store=store)) == NUMBERS.num_rows
    return store.read(f"runs/{run.id}/manifest.json")


def define(store: Store) -> None:
    data = pipeline.DatasetClient(store).upload("numbers", NUMBERS)
    exact = pipeline.scorers.exact_match(inputs=("want", "gold"))
    pipeline.EvaluationClient(store).create("faults", dataset=data, output_column="want", scorers=[exact])


@pipeline.function
def waits(n: int) -> str:
    """Long enough at one row of a part that those before it are kept in the journal."""
    if n % 200 == 150:
        time.sleep(0.5)
    return "even" if n % 2 == 0 else "odd"


def define_long(store: Store) -> None:
    keeping.JOURNAL_S = 0.1  # seconds; ten, outside of tests
    data = pipeline.DatasetClient(store).upload("numbers", NUMBERS)
    exact = pipeline.scorers.exact_match(inputs=("output", "gold"))
    pipeline.EvaluationClient(store).create("faults", dataset=data, task=waits, scorers=[exact])


STEPS = (
    Step("S1 probe PUT", "PUT", ".probe-", commit),
    Step("S1 probe GET", "GET", ".probe-", commit),
    Step("S1 probe DELETE", "DELETE", ".probe-", commit),
    Step("S2 plan PUT", "PUT", "plan.json", commit),
    Step("S2 plan read back", "GET", "plan.json", commit, lambda store: begin(store, PREFIX, PLAN)),
    Step("S3 index GET", "GET", "manifest.json", commit),
    Step("S4 receipts GET", "GET", "receipt/", commit, begin_and_publish),
    Step("S5 data PUT", "PUT", "data/", commit),
    Step("S5 data HEAD", "HEAD", "data/", commit),
    Step("S5 receipt PUT", "PUT", "receipt/", commit),
    Step("S6 index PUT", "PUT", "manifest.json", commit),
    Step("reader index GET", "GET", "manifest.json", read_committed, commit),
    Step("reader data GET", "GET", "data/", read_committed, commit),
    Step("reader range GET", "GET", "data/x.parquet", read_in_ranges, put_parquet),
    Step("dataset revision GET", "GET", "revisions/", read_dataset, upload),
    Step("dataset data GET", "GET", "datasets/", read_dataset, upload),
)
RUN_STEPS = (
    Step("run: definition GET", "GET", "evaluations/", evaluate, define),
    Step("run: revision GET", "GET", "revisions/", evaluate, define),
    Step("run: dataset GET", "GET", "datasets/", evaluate, define),
    Step("run: attempt PUT", "PUT", "started.json", evaluate, define),
    Step("run: heartbeat PUT", "PUT", "heartbeat.json", evaluate, define),
    Step("run: journal PUT", "PUT", "/journal/", evaluate, define_long),
    Step("run: journal LIST", "GET", "%2Fjournal", evaluate, define_long),
    Step("run: data PUT", "PUT", "/data/", evaluate, define),
    Step("run: receipt PUT", "PUT", "receipt/", evaluate, define),
    Step("run: index PUT", "PUT", "manifest.json", evaluate, define),
    Step("run: outcome PUT", "PUT", "outcome.json", evaluate, define),
    Step("run: end PUT", "PUT", "ended.json", evaluate, define),
)
LARGE_STEPS = (
    Step("S5 multipart begin", "POST", "uploads", commit_large),
    Step("S5 multipart piece", "PUT", "partNumber=", commit_large),
    Step("S5 multipart end", "POST", "uploadId=", commit_large),
)
ADVISORY = ("run: heartbeat PUT", "run: journal PUT", "run: journal LIST", "run: end PUT")
"""What a run does not need: no fault there may end it."""


# A transfer may take a second a MiB: what never ends would take minutes a case.
LARGE_FAULTS = tuple(fault for fault in FAULTS if (fault.passes and fault.kind != "hang") or fault.kind == 403)


def cases(servers: Iterable[str], steps: Sequence[Step], faults: Sequence[Fault] = FAULTS) -> list[Case]:
    """Every fault at every step where it can be, on every server."""
    return [
        Case(server, step, fault)
        for server in servers
        for step in steps
        for fault in faults
        if step.method in fault.methods
    ]


_SESSION = AioSession()  # has read its descriptions of services; reading them takes longer than a case


def carry_out(case: Case, server: Any, timeout_s: float) -> Verdict:
    """One case on a running server, in a folder of its own."""
    expected = undisturbed(case.step)
    proxy = FaultProxy(server.endpoint)
    try:
        options = {**server._replace(endpoint=proxy.endpoint).options, "session": _SESSION}
        patient = Store(f"s3://assay/{uuid.uuid4().hex}", options=options)
        store = Store(patient.url, options=options, timeout_s=timeout_s)
        case.step.prepare(patient)
        proxy.inject(case.fault.kind, case.step.method, case.step.path, times=case.fault.times, text=f"of {SECRET}")
        return _judge(case, store, proxy, expected)
    finally:
        proxy.close()


@cache
def undisturbed(step: Step) -> bytes:
    """What the step comes to where nothing goes wrong."""
    store = Store(f"memory://{uuid.uuid4().hex}")
    step.prepare(store)
    return step.act(store)


def _judge(case: Case, store: Store, proxy: FaultProxy, expected: bytes) -> Verdict:
    started = time.monotonic()
    wrong, outcome, told = "", "correct", ""
    try:
        wrong = "" if case.step.act(store) == expected else "another result"
    except Exception as error:
        outcome, wrong = "clean error", _not_clean(error, store)
        told = f"{type(error).__name__}: {error}"
        if must_succeed(case):
            wrong = wrong or "does not survive"
    seconds = time.monotonic() - started
    if seconds > DEADLINE * store._timeout_s:
        wrong = wrong or f"took {seconds:.1f} s"
    if proxy.n_injected == 0:
        return Verdict(case, "not met", told, seconds)
    proxy.clear()
    _wait_for_drivers(store)
    wrong = wrong or _not_right_afterwards(case, store, expected)
    return Verdict(case, "wrong" if wrong else outcome, f"{wrong}: {told}" if wrong else told, seconds)


def _wait_for_drivers(store: Store) -> None:
    """A run may be driven on while its caller has been told of an error; a new process would not meet its driver."""
    for (url, _), thread in list(runner._live.items()):
        if url == store.url:
            thread.join(DEADLINE * store._timeout_s)


def must_succeed(case: Case) -> bool:
    """Whether an error, however clean, would be one too many."""
    # A range carries no checksum: what was flipped in it is found by the page's, when the range has been taken in.
    is_found_late = case.step.name == "reader range GET" and case.fault.kind == "flip"
    # A store that refuses connections refuses them to all.
    is_spared = case.step.name in ADVISORY and case.fault.kind != "refused"
    return is_spared or (case.fault.passes and not is_found_late)


def _not_clean(error: Exception, store: Store) -> str:
    text = str(error)
    if not isinstance(error, AssayError):
        return "not an error of ours"
    if isinstance(error, EvaluationRunFailedError) and re.match(r"[A-Z][A-Za-z]*: ", text):
        return "a library's error ended the run"
    if SECRET in text:
        return "shows a secret"
    if store.display not in text:
        return "does not name the store"
    if not _WHAT_TO_DO.search(text):
        return "does not say what to do"
    return "speaks of a library" if _NOT_OURS.search(text) else ""


def _not_right_afterwards(case: Case, store: Store, expected: bytes) -> str:
    try:
        return "" if case.step.act(store) == expected else "another result after the fault"
    except Exception as error:
        return f"fails after the fault ({type(error).__name__}: {error})"


def carry_out_all(
    wanted: Sequence[Case],
    servers: Mapping[str, Any],
    *,
    timeout_s: float,
    at_once: int,
    on_verdict: Callable[[Verdict], object] = lambda verdict: None,
) -> list[Verdict]:
    """All cases, several at once: most of their time is waiting. `on_verdict` is called as each ends."""

    def one(case: Case) -> Verdict:
        verdict = carry_out(case, servers[case.server], timeout_s)
        on_verdict(verdict)
        return verdict

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(one, wanted))


def as_markdown(verdicts: Sequence[Verdict]) -> str:
    """A table: store × fault, with the number of cases and how they ended; then totals."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for verdict in verdicts:
        counts[verdict.case.server, verdict.case.fault.name, verdict.outcome] += 1
    rows = list(dict.fromkeys((verdict.case.server, verdict.case.fault.name) for verdict in verdicts))
    lines = ["| store | fault | cases | correct | clean error | wrong |", "|---|---|---|---|---|---|"]
    for server, fault in [*rows, ("all", "")]:
        ended = [
            sum(n for (s, f, o), n in counts.items() if o == outcome and (server == "all" or (s, f) == (server, fault)))
            for outcome in ("correct", "clean error", "wrong")
        ]
        lines.append(f"| {server} | {fault} | {sum(ended)} | {' | '.join(map(str, ended))} |")
    return "\n".join(lines) + "\n"
