"""The harnesses beside the tests can be imported by name; no package may stand below `tests`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
