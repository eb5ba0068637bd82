"""Helpers that tests of several stages share stand beside the tests of the first one."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "dsl"))
