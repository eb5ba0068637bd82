"""What every test relies on. Helpers that tests of several stages share stand beside the tests of the first one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pdual.dsl.depth import make_room

HELPERS = (
    "dsl",
    "e2e",
    "runtime",
    "runtime/sources",
    *(f"packs/{pack}" for pack in ("images", "language", "power", "workflows")),
)
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in HELPERS]
if "PYTEST_XDIST_WORKER" in os.environ:  # one process a core: more threads would only wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")
make_room()  # here, since hypothesis minds when an example moves the limit
