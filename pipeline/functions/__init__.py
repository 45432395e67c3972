"""Functions: what tasks and scorers of one's own are. Knows no evaluation and no engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.on_demand import on_demand

if TYPE_CHECKING:
    from pipeline.functions.attach import check_columns as check_columns
    from pipeline.functions.attach import deploy_for as deploy_for
    from pipeline.functions.attach import require_scorer as require_scorer
    from pipeline.functions.attach import require_task as require_task
    from pipeline.functions.caller import CallColumns as CallColumns
    from pipeline.functions.caller import FunctionCaller as FunctionCaller
    from pipeline.functions.decorator import function as function
    from pipeline.functions.failures import RowOutcome as RowOutcome
    from pipeline.functions.files import load_function_file as load_function_file
    from pipeline.functions.files import load_function_reference as load_function_reference
    from pipeline.functions.handle import RemoteFunction as RemoteFunction
    from pipeline.functions.options import FunctionOptions as FunctionOptions
    from pipeline.functions.options import memory_bytes as memory_bytes
    from pipeline.functions.policies import ConcurrencyPolicy as ConcurrencyPolicy
    from pipeline.functions.policies import RateLimitPolicy as RateLimitPolicy
    from pipeline.functions.policies import RetryPolicy as RetryPolicy
    from pipeline.functions.registry import FunctionMaterial as FunctionMaterial
    from pipeline.functions.registry import load_function as load_function
    from pipeline.functions.row_calls import Outcomes as Outcomes
    from pipeline.functions.row_calls import RowCalls as RowCalls
    from pipeline.functions.scorer import FunctionScorer as FunctionScorer
    from pipeline.functions.secret import Secret as Secret
    from pipeline.functions.secret import missing_names as missing_names
    from pipeline.functions.secret import missing_secrets as missing_secrets
    from pipeline.functions.timings import CallTimings as CallTimings
    from pipeline.functions.trust import TrustPolicy as TrustPolicy
    from pipeline.functions.trust import is_trusted as is_trusted
    from pipeline.functions.units import report_units as report_units

_HOMES = {
    ".attach": "check_columns deploy_for require_scorer require_task",
    ".caller": "CallColumns FunctionCaller",
    ".decorator": "function",
    ".failures": "RowOutcome",
    ".files": "load_function_file load_function_reference",
    ".handle": "RemoteFunction",
    ".options": "FunctionOptions memory_bytes",
    ".policies": "ConcurrencyPolicy RateLimitPolicy RetryPolicy",
    ".registry": "FunctionMaterial load_function",
    ".row_calls": "Outcomes RowCalls",
    ".scorer": "FunctionScorer",
    ".secret": "Secret missing_names missing_secrets",
    ".timings": "CallTimings",
    ".trust": "TrustPolicy is_trusted",
    ".units": "report_units",
}
__getattr__, __all__ = on_demand(__name__, _HOMES)
