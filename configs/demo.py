"""What `make demo` runs: the quick start, then 20,000 rows on a local Ray, then DuckDB over the result's files."""

import sys
from pathlib import Path

from steps import ASSAY, CONFIGS, shown, step

STORE = Path("demo-results").resolve()
ROWS = CONFIGS / "reasoning" / "rows.parquet"
READ = (
    'import duckdb; print(duckdb.read_parquet("{files}", hive_partitioning=True).aggregate("family, count(*) AS rows, '
    'count(output_error) AS failed, avg(exact_value) AS exact, avg(same_number_value) AS same_number").order("exact"))'
)


def run_config(title: str, config: Path) -> None:
    """A new run of a config, also where one is finished already."""
    step(title, ASSAY, "run", shown(config), "--store", shown(STORE), "--new")


def newest_result() -> str:
    """Where the files of the last run lie."""
    import pipeline

    return next(iter(pipeline.EvaluationClient(store=STORE).list_runs(limit=1))).where


def main() -> None:
    """The three steps; the exit status is that of the first that fails."""
    run_config("four rows, one task, four scorers", CONFIGS / "quick_start" / "quick_start.yaml")
    if not ROWS.exists():
        step(
            "rows of twenty families of reasoning-gym",
            shown(sys.executable),
            shown(CONFIGS / "reasoning" / "make_rows.py"),
        )
    run_config("20,000 rows on a local Ray", CONFIGS / "reasoning" / "reasoning.yaml")
    folder = newest_result()
    print(f"\nThe result lies in {folder}: only this folder, no assay, is needed to read it.")
    step("read by DuckDB alone", shown(sys.executable), "-c", READ.format(files=f"{shown(folder)}/data/**/*.parquet"))


if __name__ == "__main__":
    main()
