"""Every notebook runs from top to bottom, and is stored without what it printed."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
FOUR_MEANS = "{'valid-json': 0.75, 'full-match': 0.25, 'desk-match': 0.5, 'mentions-desk': 0.5}"


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def printed(notebook: nbformat.NotebookNode, cell_id: str) -> str:
    [cell] = [cell for cell in notebook.cells if cell.id == cell_id]
    return "".join(output["text"] for output in cell.outputs if output.output_type == "stream").strip()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


def test_the_quick_start_notebook_gives_the_four_means(tmp_path, monkeypatch):
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    [path] = [path for path in NOTEBOOKS if path.stem == "quick_start"]
    notebook = executed(path, tmp_path)

    assert printed(notebook, "evaluation") == "EvaluationRunStatus.SUCCEEDED"
    assert printed(notebook, "results") == FOUR_MEANS
    assert (tmp_path / ".assay" / "runs").is_dir()
