"""`python -m pipeline.cli`: the command where the script `assay` is not on the path."""

from __future__ import annotations

import sys

from pipeline.cli import main

sys.exit(main())
