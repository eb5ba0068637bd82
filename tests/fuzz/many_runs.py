"""Very many changed specs that check, run: ``python tests/fuzz/many_runs.py 0 2000``.

Prints every run that does not do what is promised of any, by its number, what was raised and where; and how many there were of each end.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from runs import run, runnable


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("end", type=int)
    parser.add_argument("--slow", type=float, default=10.0, help="seconds from which a run is listed")
    arguments = parser.parse_args()
    ends: Counter[str] = Counter()
    wrong = 0
    print(f"{len(runnable())} specs", flush=True)
    for number in range(arguments.first, arguments.end):
        folder = Path(tempfile.mkdtemp(prefix="runs"))
        start = time.perf_counter()
        try:
            ends[run(number, folder)] += 1
        except Exception as error:  # whatever it is, it is what is looked for
            wrong += 1
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "torch" not in frame.filename]
            places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-5:]]
            print(f"{number}: {type(error).__name__}: {str(error)[:200]!r} {' '.join(places)}", flush=True)
        if time.perf_counter() - start > arguments.slow:
            print(f"{number}: {time.perf_counter() - start:.1f} s", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{arguments.end - arguments.first} texts, {wrong} wrong; {dict(ends.most_common())}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
