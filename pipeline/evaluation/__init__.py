"""Dataset evaluations: define, run, summarise. Knows no Ray; reaches it through the engine."""

from pipeline.evaluation.client import EvaluationClient
from pipeline.evaluation.handles import Evaluation, EvaluationRun, EvaluationScorer, EvaluationSuite
from pipeline.evaluation.progress import RunProgress
from pipeline.evaluation.quick import score
from pipeline.evaluation.reading import find_result, iter_results, read_results, result_files
from pipeline.evaluation.scores import Scores
from pipeline.records.evaluation import EvaluationRunStatus

__all__ = [
    "Evaluation",
    "EvaluationClient",
    "EvaluationRun",
    "EvaluationRunStatus",
    "EvaluationScorer",
    "EvaluationSuite",
    "RunProgress",
    "Scores",
    "find_result",
    "iter_results",
    "read_results",
    "result_files",
    "score",
]
