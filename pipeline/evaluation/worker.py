"""What a worker does with a part: read its slice, evaluate it, write its files, publish its receipt."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.evaluation.evaluate import Evaluator
from pipeline.evaluation.load import load_evaluator
from pipeline.evaluation.partitions import split_rows
from pipeline.records.dataset import Revision
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.plan import DataFile, Part, Plan, Receipt
from pipeline.store import RevisionReader, Store, publish, write_parquet


@dataclass(frozen=True)
class EvaluationWork:
    """The spec of an evaluation's workers; pickled once, opened in each worker process."""

    store: Store
    prefix: str
    plan_sha256: str
    revision: Revision
    record: EvaluationRecord
    result_schema: str
    """Arrow's IPC form, base64."""
    function_store: Store | None
    """Where the payloads of its functions are; None where it uses none."""
    trusted: frozenset[str] = frozenset()
    """Version ids that the driver's user trusts."""
    workers: int = 1

    @property
    def urls(self) -> tuple[str, ...]:
        """Every place that the workers read or write."""
        pinned = [part.path for part in self.revision.parts if "://" in part.path or part.path.startswith("/")]
        return (self.store.url, *pinned)

    def open(self) -> EvaluationWorker:
        """Make the worker: loads functions, compiles patterns, starts the SQL process."""
        return EvaluationWorker(self)


class EvaluationWorker:
    """One open worker of an evaluation."""

    def __init__(self, work: EvaluationWork) -> None:
        self._work = work
        self._reader = RevisionReader(work.store, work.revision)
        self._evaluator: Evaluator = load_evaluator(work)

    def run_part(self, part: Part) -> Receipt:
        """Evaluate a part; the receipt that stands may be that of an attempt which was faster."""
        work = self._work
        rows = self._reader.read(part.first_row, part.rows)
        evaluated = self._evaluator.evaluate(rows, part.first_row)
        with tempfile.TemporaryDirectory(prefix="assay-part-") as folder:
            files, paths = self._write(evaluated.rows, Path(folder))
            receipt = Receipt(
                plan_sha256=work.plan_sha256,
                part=part.index,
                rows=part.rows,
                first_row=part.first_row,
                files=tuple(files),
                sums=evaluated.sums.model_dump(mode="json"),
            )
            return publish(work.store, work.prefix, receipt, paths)

    def close(self) -> None:
        """End the SQL process."""
        if self._evaluator.sql is not None:
            self._evaluator.sql.close()

    def _write(self, rows: object, folder: Path) -> tuple[list[DataFile], Mapping[str, Path]]:
        files: list[DataFile] = []
        paths: dict[str, Path] = {}
        for number, piece in enumerate(split_rows(rows, self._work.record.partition_by)):
            local = folder / f"{number}.parquet"
            written = write_parquet(piece.rows, local)
            below = f"{piece.folder}/" if piece.folder else ""
            path = f"data/{below}{written.sha256}.parquet"
            files.append(DataFile(path=path, sha256=written.sha256, bytes=written.bytes, rows=written.rows))
            paths[path] = local
        return files, paths


def plan_digest(plan: Plan) -> str:
    """The digest by which receipts name their plan."""
    from pipeline.records.digest import digest_bytes

    return digest_bytes(plan.to_bytes())
