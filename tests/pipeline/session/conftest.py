import sys
from pathlib import Path

# `log_making` is a module beside its tests, and there are no packages below tests/.
sys.path.insert(0, str(Path(__file__).parent))
