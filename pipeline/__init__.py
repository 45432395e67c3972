"""The public names of assay. Importing it loads neither Ray nor DuckDB: every name is fetched when it is first used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.on_demand import on_demand

if TYPE_CHECKING:
    import scorers as scorers
    from pipeline.engine.ray_data import from_ray_dataset as from_ray_dataset
    from pipeline.errors import AssayError as AssayError
    from pipeline.errors import CorruptError as CorruptError
    from pipeline.errors import DatasetError as DatasetError
    from pipeline.errors import DeniedError as DeniedError
    from pipeline.errors import EngineError as EngineError
    from pipeline.errors import EvaluationError as EvaluationError
    from pipeline.errors import EvaluationNotFoundError as EvaluationNotFoundError
    from pipeline.errors import EvaluationRunFailedError as EvaluationRunFailedError
    from pipeline.errors import ExistsError as ExistsError
    from pipeline.errors import FailingRunError as FailingRunError
    from pipeline.errors import FunctionBuildError as FunctionBuildError
    from pipeline.errors import FunctionError as FunctionError
    from pipeline.errors import FunctionSignatureError as FunctionSignatureError
    from pipeline.errors import InputError as InputError
    from pipeline.errors import InterruptedRunError as InterruptedRunError
    from pipeline.errors import MissingError as MissingError
    from pipeline.errors import NoRowsError as NoRowsError
    from pipeline.errors import PlanMismatchError as PlanMismatchError
    from pipeline.errors import ReplayError as ReplayError
    from pipeline.errors import RetryError as RetryError
    from pipeline.errors import SandboxError as SandboxError
    from pipeline.errors import StoreError as StoreError
    from pipeline.errors import UnavailableError as UnavailableError
    from pipeline.errors import UnsafeFileError as UnsafeFileError
    from pipeline.errors import UnsafeStoreError as UnsafeStoreError
    from pipeline.errors import UntrustedFunctionError as UntrustedFunctionError
    from pipeline.errors import WorkspaceError as WorkspaceError
    from pipeline.errors import ZonError as ZonError
    from pipeline.evaluation import Evaluation as Evaluation
    from pipeline.evaluation import EvaluationClient as EvaluationClient
    from pipeline.evaluation import EvaluationRun as EvaluationRun
    from pipeline.evaluation import EvaluationRunStatus as EvaluationRunStatus
    from pipeline.evaluation import EvaluationScorer as EvaluationScorer
    from pipeline.evaluation import EvaluationSuite as EvaluationSuite
    from pipeline.evaluation import Scores as Scores
    from pipeline.evaluation import iter_results as iter_results
    from pipeline.evaluation import read_results as read_results
    from pipeline.evaluation import result_files as result_files
    from pipeline.evaluation import score as score
    from pipeline.functions import ConcurrencyPolicy as ConcurrencyPolicy
    from pipeline.functions import RateLimitPolicy as RateLimitPolicy
    from pipeline.functions import RemoteFunction as RemoteFunction
    from pipeline.functions import RetryPolicy as RetryPolicy
    from pipeline.functions import Secret as Secret
    from pipeline.functions import function as function
    from pipeline.functions import report_units as report_units
    from pipeline.records.dataset import DatasetRevisionRef as DatasetRevisionRef
    from pipeline.store import DatasetClient as DatasetClient
    from pipeline.store import Store as Store
    from scorers import EvaluationScorerResult as EvaluationScorerResult

__version__ = "0.1.0"

_HOMES = {
    "pipeline.engine.ray_data": "from_ray_dataset",
    "pipeline.errors": (
        "AssayError CorruptError DatasetError DeniedError EngineError EvaluationError EvaluationNotFoundError "
        "EvaluationRunFailedError ExistsError FailingRunError FunctionBuildError FunctionError "
        "FunctionSignatureError InputError InterruptedRunError MissingError NoRowsError PlanMismatchError ReplayError "
        "RetryError SandboxError StoreError UnavailableError UnsafeFileError UnsafeStoreError UntrustedFunctionError "
        "WorkspaceError ZonError"
    ),
    "pipeline.evaluation": (
        "Evaluation EvaluationClient EvaluationRun EvaluationRunStatus EvaluationScorer EvaluationSuite Scores "
        "iter_results read_results result_files score"
    ),
    "pipeline.functions": ("ConcurrencyPolicy RateLimitPolicy RemoteFunction RetryPolicy Secret function report_units"),
    "pipeline.records.dataset": "DatasetRevisionRef",
    "pipeline.store": "DatasetClient Store",
    "scorers": "EvaluationScorerResult",
}
_fetch, _names = on_demand(__name__, _HOMES)

__all__ = sorted([*_names, "scorers"])


def __getattr__(name: str) -> Any:
    if name == "scorers":
        globals()[name] = import_module(name)
        return globals()[name]
    return _fetch(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def _refuse_other_scorers() -> None:
    """`scorers` is a common name: a user's own scorers.py would hide ours, here and on every Ray worker."""
    ours = Path(__file__).resolve().parent.parent / "scorers" / "__init__.py"
    spec = find_spec("scorers")
    if spec is None:
        raise ImportError(f"assay is not whole: its package 'scorers' is missing beside {ours.parent.parent}/pipeline")
    found = spec.origin or next(iter(spec.submodule_search_locations or ()), "an unknown place")
    if Path(found).resolve() != ours:
        raise ImportError(
            f"{found} hides assay's own package 'scorers' ({ours.parent}); "
            f"rename it, for example to my_scorers{'.py' if found.endswith('.py') else ''}"
        )


_refuse_other_scorers()
