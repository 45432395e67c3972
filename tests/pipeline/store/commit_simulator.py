"""A seeded simulator around the real commit code.

Drivers, workers, zombies and resumers run as greenlets. Each of their store operations hands control to a scheduler,
which picks who goes on and what goes wrong: crash before or after, an unclear reply before or after the request was
applied, a conflict, a request that is applied late. After every operation the invariants are checked:

    I1  the index never changes once visible            I5  any stop can be resumed; nothing done is done again
    I2  visible: every entry exists with its digest     I6  a live writer never reports failure
    I3  one receipt a part, and it never changes        I7  one plan, one index; another plan: an error before any work
    I4  the entries' rows are the plan's, each once     I8  deterministic work: a byte-identical index
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet

from pipeline.errors import ExistsError, MissingError, PlanMismatchError, RetryError
from pipeline.records.plan import DataFile, Manifest, Part, Plan, Receipt
from pipeline.store import Store, commit
from pipeline.store.backend import ObjectInfo
from pipeline.store.retries import Retries

PREFIX = "runs/r"
INDEX = f"{PREFIX}/manifest.json"


class Violation(AssertionError):
    """An invariant does not hold."""


class Crash(BaseException):
    """The process of an actor is gone."""


def make_plan(n_parts: int, setting: str) -> Plan:
    parts = tuple(Part(index=i, first_row=10 * i, rows=10) for i in range(n_parts))
    return Plan(kind="simulation", pins={"setting": setting}, parts=parts)


PLANS = {(n, setting): make_plan(n, setting) for n in (1, 2, 3) for setting in ("ours", "theirs")}


def data_path(part: int, digest: str) -> str:
    return f"data/{digest}.parquet"


def do_part(plan: Plan, digest: str, part: Part, attempt: int | None) -> tuple[Receipt, dict[str, bytes]]:
    """What a worker computes: other bytes in every attempt, unless `attempt` is None."""
    data = f"{digest} part {part.index} attempt {attempt}".encode()
    sha256 = hashlib.sha256(data).hexdigest()
    file = DataFile(path=data_path(part.index, sha256), sha256=sha256, bytes=len(data), rows=part.rows)
    receipt = Receipt(plan_sha256=digest, part=part.index, rows=part.rows, first_row=part.first_row, files=(file,))
    return receipt, {file.path: data}


class Actor:
    """One process: a driver or a worker."""

    def __init__(self, world: World, body: Callable[[Actor], None], name: str) -> None:
        self.world, self.body, self.name = world, body, name
        self.greenlet = greenlet(self._run)
        self.greenlet.actor = self
        self.is_ready: Callable[[], bool] | None = None
        self.nap = 0
        self.crashed = self.done = False

    def _run(self) -> None:
        try:
            self.body(self)
        except Crash:
            self.crashed = True
        except Violation as violation:
            self.world.violation = violation
        except Exception as error:
            self.world.violation = Violation(f"I6: {self.name} reported failure: {error!r}")
        self.done = True

    def wait(self, is_ready: Callable[[], bool]) -> None:
        self.is_ready = is_ready
        self.world.hub.switch()
        self.is_ready = None


class SimulatedBackend:
    """Objects in a dict; every operation is a step of the schedule."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.objects: dict[str, bytes] = {}

    def get(self, key: str) -> bytes:
        return self.world.step("get", key, lambda: self._get(key))

    def put_if_absent(self, key: str, data: bytes) -> None:
        self.world.step("create", key, lambda: self._create(key, data))

    def put(self, key: str, data: Any, *, durable: bool) -> None:
        self.world.step("put", key, lambda: self.objects.__setitem__(key, data))

    def size(self, key: str) -> int | None:
        return self.world.step("size", key, lambda: len(self.objects[key]) if key in self.objects else None)

    def delete(self, key: str) -> None:
        self.world.step("delete", key, lambda: self.objects.pop(key, None))

    def find(self, prefix: str, *, leftovers: bool = False) -> list[ObjectInfo]:
        if leftovers:
            return []
        return self.world.step("list", prefix, lambda: self._find(prefix + "/"))

    def _get(self, key: str) -> bytes:
        if key not in self.objects:
            raise MissingError(key, key)
        return self.objects[key]

    def _create(self, key: str, data: bytes) -> None:
        if key in self.objects:
            raise ExistsError(key, key)
        self.objects[key] = data

    def _find(self, folder: str) -> list[ObjectInfo]:
        return [ObjectInfo(key, len(data), 0.0) for key, data in self.objects.items() if key.startswith(folder)]


class SimulatedStore(Store):
    """The real store over the simulated backend."""

    def __init__(self, world: World) -> None:
        retries = Retries(sleep=lambda _: None, clock=lambda: 0.0)
        super().__init__("memory://simulation", backend=world.backend, retries=retries)  # type: ignore[arg-type]

    def probe(self) -> None:
        """Has tests of its own, on stores that do overwrite."""


TRANSIENT = ("unclear-before", "unclear-after", "conflict", "late", "slow")


class World:
    """One schedule."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.hub = getcurrent()
        self.backend = SimulatedBackend(self)
        self.store = SimulatedStore(self)
        self.actors: list[Actor] = []
        self.late: list[Callable[[], Any]] = []
        self.violation: Violation | None = None
        self.deterministic = self.rng.random() < 0.5
        self.crashes_left = self.rng.randrange(4)
        self.faults_left = self.rng.randrange(7)  # fewer than the tries of one operation: nobody may give up
        self.fault_rate = self.rng.choice((0.02, 0.1, 0.3))
        self.n_operations = self.n_faults = self.n_attempts = 0
        self.stood: dict[str, bytes] = {}
        self.index: Manifest | None = None
        self.changed = False

    # -- what an actor sees

    def step(self, kind: str, key: str, effect: Callable[[], Any]) -> Any:
        """One store operation of the current actor."""
        actor: Actor = getcurrent().actor
        self.hub.switch()
        if actor.crashed:
            raise Crash
        self.n_operations += 1
        fault = self._choose_fault(actor)
        try:
            return self._apply(fault, actor, kind, key, effect)
        finally:
            self.check(kind, key)

    def _choose_fault(self, actor: Actor) -> str | None:
        rng = self.rng
        if rng.random() >= self.fault_rate:
            return None
        if self.crashes_left and rng.random() < 0.3:
            self.crashes_left -= 1
            self.n_faults += 1
            return rng.choice(("crash-before", "crash-after"))
        if self.faults_left:
            self.faults_left -= 1
            self.n_faults += 1
            return rng.choice(TRANSIENT)
        return None

    def _apply(self, fault: str | None, actor: Actor, kind: str, key: str, effect: Callable[[], Any]) -> Any:
        if fault is None:
            return effect()
        if fault == "slow":
            actor.nap = self.rng.randrange(1, 12)
            self.hub.switch()
            return effect()
        if fault in ("crash-after", "unclear-after"):
            with contextlib.suppress(ExistsError, MissingError):
                effect()
        if fault == "late" and kind != "get":
            self.late.append(effect)
        if fault.startswith("crash"):
            actor.crashed = True
            raise Crash
        if fault == "conflict" and kind == "create" and self.rng.random() < 0.5:
            raise ExistsError(f"{key}: 409, though nothing may stand there", key)  # as adlfs reports it
        raise RetryError(f"{key}: {fault}", key)

    # -- the invariants

    def check(self, kind: str, key: str) -> None:
        """After every operation."""
        if kind in ("get", "size", "list"):
            return
        objects = self.backend.objects
        for name, data in self.stood.items():
            if objects.get(name) != data:
                raise Violation(f"I1/I3: {name} changed after it was visible")
        if key not in self.stood and key in objects and not key.startswith(f"{PREFIX}/data/"):
            self.stood[key] = objects[key]
            self._check_new(key, objects[key])
        for receipt in self.receipts():
            self._check_files(receipt)

    def _check_new(self, key: str, data: bytes) -> None:
        if key != INDEX:
            return
        self.index = Manifest.from_bytes(data, key)
        plan = self.standing_plan()
        slices = [(receipt.part, receipt.first_row, receipt.rows) for receipt in self.index.receipts]
        if slices != [(part.index, part.first_row, part.rows) for part in plan.parts]:
            raise Violation(f"I4: the index covers {slices}")
        if list(self.index.receipts) != self.receipts():
            raise Violation("I3: the index holds receipts that do not stand")
        if self.deterministic and data != golden_index(plan):
            raise Violation("I8: deterministic work, another index")

    def _check_files(self, receipt: Receipt) -> None:
        for file in receipt.files:
            data = self.backend.objects.get(f"{PREFIX}/{file.path}")
            if data is None or hashlib.sha256(data).hexdigest() != file.sha256:
                raise Violation(
                    f"I2: {file.path} of part {receipt.part} is {'gone' if data is None else 'other bytes'}"
                )

    def receipts(self) -> list[Receipt]:
        keys = sorted(key for key in self.stood if "/receipt/" in key)
        return [parsed_receipt(self.stood[key]) for key in keys]

    def standing_plan(self) -> Plan:
        return Plan.from_bytes(self.stood[f"{PREFIX}/plan.json"])

    # -- the actors

    def spawn(self, body: Callable[[Actor], None], name: str) -> Actor:
        actor = Actor(self, body, name)
        self.actors.append(actor)
        return actor

    def driver(self, plan: Plan) -> Callable[[Actor], None]:
        return lambda actor: self._drive(actor, plan)

    def _drive(self, actor: Actor, plan: Plan) -> None:
        done_before = {key for key in self.stood if "/receipt/" in key}
        try:
            progress = commit.begin(self.store, PREFIX, plan, clock=lambda: 0.0)
        except PlanMismatchError:
            if self.standing_plan() == plan:
                raise
            return
        if self.standing_plan() != plan:
            raise Violation(f"I7: {actor.name} works on another plan than the one that stands")
        manifest = progress.manifest
        if manifest is None:
            receipts = dict(progress.receipts)
            todo = [part for part in plan.parts if part.index not in receipts]
            again = [part.index for part in todo if f"{PREFIX}/receipt/{part.index}.json" in done_before]
            if again:
                raise Violation(f"I5: {actor.name} computes parts {again} again")
            self._work(actor, plan, todo, receipts)
            manifest = commit.finish(self.store, PREFIX, plan, receipts)
        if manifest.to_bytes() != self.backend.objects.get(INDEX):
            raise Violation(f"I7: {actor.name} returned an index that does not stand")

    def _work(self, actor: Actor, plan: Plan, todo: list[Part], receipts: dict[int, Receipt]) -> None:
        digest = plan.sha256
        if self.rng.random() < 0.3:  # the inline engine
            for part in todo:
                receipts[part.index] = commit.publish(self.store, PREFIX, *self._compute(plan, digest, part))
            return
        workers: dict[int, Actor] = {}
        for part in todo:
            if self.rng.random() < 0.25:  # cut off from the driver, but still at work
                self.spawn(self._worker(plan, digest, part, {}), f"zombie of part {part.index}")
            workers[part.index] = self.spawn(self._worker(plan, digest, part, receipts), f"worker of part {part.index}")
        while any(part.index not in receipts for part in todo):
            actor.wait(lambda: all(worker.done for worker in workers.values()))
            for part in todo:
                if part.index not in receipts:
                    body = self._worker(plan, digest, part, receipts)
                    workers[part.index] = self.spawn(body, f"second worker of part {part.index}")

    def _worker(self, plan: Plan, digest: str, part: Part, replies: dict[int, Receipt]) -> Callable[[Actor], None]:
        def body(actor: Actor) -> None:
            replies[part.index] = commit.publish(self.store, PREFIX, *self._compute(plan, digest, part))

        return body

    def _compute(self, plan: Plan, digest: str, part: Part) -> tuple[Receipt, dict[str, bytes]]:
        self.n_attempts += 1
        return do_part(plan, digest, part, None if self.deterministic else self.n_attempts)

    # -- the scheduler

    def run(self) -> None:
        """The whole schedule, then a resumer whom nothing disturbs."""
        n_parts = self.rng.choice((1, 2, 2, 3))
        ours, theirs = PLANS[n_parts, "ours"], PLANS[n_parts, "theirs"]
        for number in range(self.rng.choice((1, 2, 2, 3))):
            plan = theirs if self.rng.random() < 0.1 else ours
            self.spawn(self.driver(plan), f"driver {number}")
        resumers = 2
        self.run_all()
        while resumers and any(actor.crashed for actor in self.actors) and self.rng.random() < 0.6:
            resumers -= 1
            self.spawn(self.driver(ours), "resumer")
            self.run_all()
        self.crashes_left = self.faults_left = 0
        while self.late:
            self._apply_late()
        plan = self.standing_plan() if f"{PREFIX}/plan.json" in self.stood else ours
        self.spawn(self.driver(plan), "last resumer")
        self.run_all()
        if self.index is None:
            raise Violation("I5: a resume without faults does not commit")

    def run_all(self) -> None:
        actors = self.actors
        rng = self.rng
        while True:
            runnable = [a for a in actors if not a.done and (a.is_ready is None or a.is_ready())]
            if not runnable:
                return
            if self.late and rng.random() < 0.1:
                self._apply_late()
            actor = runnable[int(rng.random() * len(runnable))]
            if actor.nap:
                actor.nap -= 1
                continue
            actor.greenlet.switch()
            if self.violation:
                raise self.violation

    def _apply_late(self) -> None:
        effect = self.late.pop(int(self.rng.random() * len(self.late)))
        with contextlib.suppress(ExistsError, MissingError):
            effect()
        for key in list(self.backend.objects):
            self.check("late", key)


_parsed: dict[bytes, Receipt] = {}
_golden: dict[str, bytes] = {}


def parsed_receipt(data: bytes) -> Receipt:
    if data not in _parsed:
        if len(_parsed) > 10_000:
            _parsed.clear()
        _parsed[data] = Receipt.from_bytes(data)
    return _parsed[data]


def golden_index(plan: Plan) -> bytes:
    """The index of deterministic work, written down without the commit code."""
    digest = plan.sha256
    if digest not in _golden:
        receipts = tuple(do_part(plan, digest, part, None)[0] for part in plan.parts)
        rows, size = 10 * len(receipts), sum(file.bytes for receipt in receipts for file in receipt.files)
        _golden[digest] = Manifest(plan_sha256=digest, rows=rows, bytes=size, receipts=receipts).to_bytes()
    return _golden[digest]


def run_schedule(seed: int) -> World:
    """One schedule.

    Raises:
        Violation: names the seed.
    """
    world = World(seed)
    try:
        world.run()
    except Violation as violation:
        raise Violation(f"seed {seed}: {violation}") from None
    return world
