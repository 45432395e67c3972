"""What a worker does with a part: read its slice, evaluate it, write its files, publish its receipt."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from pipeline.engine import Place
from pipeline.errors import FailingRunError
from pipeline.evaluation import keeping
from pipeline.evaluation.evaluate import Evaluated, FirstRows
from pipeline.evaluation.journal import JournalFolder
from pipeline.evaluation.keeping import Keeping, RowByRow
from pipeline.evaluation.load import load_evaluator
from pipeline.evaluation.memory import step_bytes, worker_need
from pipeline.evaluation.part_files import PartFiles, WrittenFiles
from pipeline.evaluation.planning import parts_at_once
from pipeline.evaluation.served import FunctionService, services_of
from pipeline.evaluation.stages import Carrier
from pipeline.evaluation.sums import join_sums
from pipeline.evaluation.work_count import WorkCount
from pipeline.functions import FunctionMaterial
from pipeline.records import columns
from pipeline.records.dataset import Revision
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.plan import Part, Receipt
from pipeline.records.summary import PartSums
from pipeline.store import FileIdentity, RevisionReader, Store, learn_digests, publish, scratch_folder, standing_receipt

PARTS_A_RELEASE = 16


@dataclass(frozen=True)
class EvaluationWork:
    """The spec of an evaluation's workers; pickled once, opened in each worker process."""

    store: Store
    """Where the result goes."""
    prefix: str
    inputs: Store
    """Where the dataset's parts are."""
    plan_sha256: str
    revision: Revision
    record: EvaluationRecord
    result_schema: str
    """Arrow's IPC form, base64."""
    functions: Mapping[str, FunctionMaterial]
    """By version id."""
    digests: Mapping[FileIdentity, str]
    """SHA-256 of pinned files that the driver has digested: not every worker need do it again."""
    journalled: frozenset[int] = frozenset()
    """Parts of which earlier attempts at the run have kept rows."""
    journal_s: float = field(default_factory=lambda: keeping.JOURNAL_S)
    """Seconds between two times that finished rows of a part are kept."""
    memory_limit: int | None = None
    """Bytes of all workers together; None: as much as steps of the usual size take."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Every place that the workers read or write."""
        paths = [part.path for part in self.revision.parts]
        pinned = [path for path in paths if "://" in path or path.startswith("/")]
        stored = [self.inputs.url] if len(pinned) < len(paths) else []
        return (self.store.url, *stored, *pinned)

    @property
    def parts_at_once(self) -> int:
        """Two where rows wait, so that those of the next part fill free slots."""
        return parts_at_once(self.record, {version: made.record for version, made in self.functions.items()})

    @property
    def services(self) -> Mapping[str, FunctionService]:
        """The functions with resources of their own, by the name of their stage."""
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.result_schema)))
        output = schema.field(self.record.output_column or columns.OUTPUT).type
        return services_of(self.functions, self.record.task_function_version_id, self.record.scorers, output)

    def with_journal(self, parts: frozenset[int]) -> EvaluationWork:
        """The same, where rows of these parts are kept."""
        return replace(self, journalled=parts)

    def open(self, place: Place) -> EvaluationWorker:
        """Make a worker: loads functions, compiles patterns, starts the SQL process."""
        return EvaluationWorker(self, place)


class EvaluationWorker:
    """One open worker of an evaluation."""

    def __init__(self, work: EvaluationWork, place: Place) -> None:
        self._work = work
        learn_digests(work.digests)
        self._step_bytes = step_bytes(work.memory_limit, place.workers, worker_need(work.record, work.parts_at_once))
        self._readers: list[RevisionReader] = []
        self._lock = threading.Lock()
        self._n_parts = 0
        self._evaluator = load_evaluator(work.record, work.result_schema, work.functions, work.services, place)
        self._count = WorkCount(len(self._evaluator.stages), self._evaluator.finished)

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:
        """Evaluate a part; the receipt that stands may be that of an attempt which was faster."""
        work = self._work
        if attempt > 1:  # an answer can be lost though the part was done
            standing = standing_receipt(work.store, work.prefix, work.plan_sha256, part)
            if standing is not None:
                return standing
        kept = self._keeping(part, is_kept=attempt > 1 or part.index in work.journalled)
        with scratch_folder("part") as folder:
            written, sums = self._evaluate(part, folder, kept)
            receipt = Receipt(
                plan_sha256=work.plan_sha256,
                part=part.index,
                rows=part.rows,
                first_row=part.first_row,
                files=written.files,
                sums=sums.model_dump(mode="json"),
            )
            standing = publish(work.store, work.prefix, receipt, written.paths)
        if kept is not None:
            kept.remove()
        self._count.end_part(part.rows)
        self._release_memory()
        return standing

    def keep_rows(self, part: Part, first_row: int, rows: int, lost: str | None = None) -> None:
        """Call the functions for some rows of a part, and keep what comes out."""
        kept = self._keeping(part, is_kept=True)
        if kept is None:
            return
        if rows == 1:
            with RowByRow(kept, lost) as carrier:
                self._carry_out(first_row, rows, carrier)
        else:
            with kept:
                self._carry_out(first_row, rows, kept)
        kept.flush()

    def rows_finished(self) -> int:
        """Rows whose calls have ended, of all functions, and rows that are evaluated."""
        return self._count.steps

    def rows_in_work(self) -> int:
        """Rows that are done of parts that are not, about."""
        return self._count.rows_in_work

    def close(self) -> None:
        """Give back files, threads and processes."""
        for reader in self._readers:
            reader.close()
        self._evaluator.close()

    def _release_memory(self) -> None:
        """Give freed pages back now and then: Arrow keeps 24 MB more after a hundred parts.

        Not after each part, which would fault them all in again: 6 % of the time.
        """
        with self._lock:
            self._n_parts += 1
            is_due = self._n_parts % PARTS_A_RELEASE == 0
        if is_due:
            pa.default_memory_pool().release_unused()

    def _evaluate(self, part: Part, folder: Path, kept: Keeping | None) -> tuple[WrittenFiles, PartSums]:
        record = self._work.record
        sums: list[PartSums] = []
        values: dict[str, list[pa.Array]] = {scorer.name: [] for scorer in record.scorers}
        with (
            PartFiles(self._evaluator.schema, folder, record.partition_by, self._step_bytes) as files,
            self._reading() as reader,
            kept or nullcontext(),
        ):
            first_row, head = part.first_row, FirstRows(part)
            for rows in reader.steps(part.first_row, part.rows):
                evaluated = self._one_step(rows, first_row, kept, head)
                first_row += rows.num_rows
                files.add(evaluated.rows)
                sums.append(evaluated.sums)
                for name, arrays in values.items():
                    arrays += evaluated.rows[f"{name}_value"].chunks
            return files.close(), join_sums(sums, values)

    def _carry_out(self, first_row: int, rows: int, carrier: Carrier) -> None:
        with self._reading() as reader:
            for step in reader.steps(first_row, rows):
                self._evaluator.carry_out(step, first_row, carrier)
                first_row += step.num_rows

    def _one_step(self, rows: pa.Table, first_row: int, kept: Keeping | None, head: FirstRows) -> Evaluated:
        try:
            evaluated = self._evaluator.evaluate(rows, first_row, kept)
            head.see(evaluated.rows[columns.OUTPUT_ERROR])
        except FailingRunError:
            if kept is not None:
                kept.forget()  # or the run would fail for ever, though what was wrong is mended
            raise
        self._count.add_evaluated(rows.num_rows, evaluated.sums.output.failed)
        return evaluated

    def _keeping(self, part: Part, *, is_kept: bool) -> Keeping | None:
        """The journal of a part; None where nothing that is done for it is dear."""
        work, stages = self._work, self._evaluator.stages
        if not stages:
            return None
        folder = JournalFolder(work.store, work.prefix, part.index, work.plan_sha256)
        found = folder.read(stages) if is_kept else None
        has_task, on_known = self._evaluator.task is not None, self._count.add_known
        return Keeping(folder, found, has_task=has_task, every_s=work.journal_s, on_known=on_known)

    @contextmanager
    def _reading(self) -> Iterator[RevisionReader]:
        """A reader for one thread: it keeps its place in the data, and is used again."""
        work = self._work
        with self._lock:
            reader = self._readers.pop() if self._readers else None
        if reader is None:
            reader = RevisionReader(work.inputs, work.revision, table_bytes=self._step_bytes)
        try:
            yield reader
        finally:
            with self._lock:
                self._readers.append(reader)
