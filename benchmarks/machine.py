"""What figures were taken on, and with."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("ray", "pyarrow", "polars", "rapidfuzz", "duckdb", "pydantic", "typer")


def machine() -> str:
    """Cores, system and versions, in one line."""
    cpu = next((line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")), "")
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return f"Machine: {os.cpu_count()} cores {cpu}, {system}; {libraries}."


def today() -> str:
    """The date in UTC."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _cpu_lines() -> list[str]:
    info = Path("/proc/cpuinfo")
    return info.read_text().splitlines() if info.exists() else []
