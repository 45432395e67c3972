"""What a worker does with a part: read its slice, evaluate it, write its files, publish its receipt."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pipeline.engine import Place, ServiceSpec
from pipeline.evaluation.load import load_evaluator
from pipeline.evaluation.memory import step_bytes, worker_need
from pipeline.evaluation.part_files import PartFiles
from pipeline.evaluation.sums import join_sums
from pipeline.functions import FunctionMaterial
from pipeline.records.dataset import Revision
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.plan import Part, Receipt
from pipeline.records.summary import PartSums
from pipeline.store import FileIdentity, RevisionReader, Store, learn_digests, publish


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
        """One: rows of two parts do not mix."""
        return 1

    @property
    def services(self) -> Mapping[str, ServiceSpec]:
        """None."""
        return {}

    def open(self, place: Place) -> EvaluationWorker:
        """Make a worker: loads functions, compiles patterns, starts the SQL process."""
        return EvaluationWorker(self, place)


class EvaluationWorker:
    """One open worker of an evaluation."""

    def __init__(self, work: EvaluationWork, place: Place) -> None:
        self._work = work
        learn_digests(work.digests)
        self._step_bytes = step_bytes(
            work.memory_limit, place.workers, worker_need(work.record, work.parts_at_once)
        )
        self._reader = RevisionReader(work.inputs, work.revision, table_bytes=self._step_bytes)
        self._evaluator = load_evaluator(
            work.record, work.result_schema, work.functions, workers=place.workers, limits=place.limits
        )

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:  # noqa: ARG002 - nothing is kept yet
        """Evaluate a part; the receipt that stands may be that of an attempt which was faster."""
        work = self._work
        sums: list[PartSums] = []
        values: dict[str, list[pa.Array]] = {scorer.name: [] for scorer in work.record.scorers}
        with (
            tempfile.TemporaryDirectory(prefix="assay-part-") as folder,
            PartFiles(self._evaluator.schema, Path(folder), work.record.partition_by, self._step_bytes) as files,
        ):
            first_row = part.first_row
            for rows in self._reader.steps(part.first_row, part.rows):
                evaluated = self._evaluator.evaluate(rows, first_row)
                first_row += rows.num_rows
                files.add(evaluated.rows)
                sums.append(evaluated.sums)
                for name, arrays in values.items():
                    arrays += evaluated.rows[f"{name}_value"].chunks
            written = files.close()
            receipt = Receipt(
                plan_sha256=work.plan_sha256,
                part=part.index,
                rows=part.rows,
                first_row=part.first_row,
                files=written.files,
                sums=join_sums(sums, values).model_dump(mode="json"),
            )
            return publish(work.store, work.prefix, receipt, written.paths)

    def keep_rows(self, part: Part, first_row: int, rows: int, lost: str | None = None) -> None:  # noqa: ARG002
        """Nothing is kept beside the result."""

    def rows_finished(self) -> int:
        """Rows are told by part."""
        return 0

    def close(self) -> None:
        """Give back files, threads and processes."""
        self._reader.close()
        self._evaluator.close()
