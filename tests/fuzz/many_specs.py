"""Very many changed specs, until a number of them or a time is reached: ``python tests/fuzz/many_specs.py 0 20000``.

Prints every text that does not do what is promised of any, by its number, what was raised and where, and how many there were a second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from front_end import hold
from spec_mutations import mutated


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("end", type=int)
    parser.add_argument("--slow", type=float, default=2.0, help="seconds from which a text is listed")
    arguments = parser.parse_args()
    start, wrong, slowest = time.perf_counter(), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.first, arguments.end):
            try:
                spent = hold(mutated(number), Path(folder))
            except Exception as error:  # whatever it is, it is what is looked for
                wrong += 1
                frames = traceback.extract_tb(error.__traceback__)
                places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*frames[:1], *frames[-4:])]
                print(f"{number}: {type(error).__name__}: {str(error)[:150]!r} {' '.join(places)}", flush=True)
                continue
            slowest = max(slowest, spent)
            if spent > arguments.slow:
                print(f"{number}: {spent:.1f} s", flush=True)
    count = arguments.end - arguments.first
    rate = count / (time.perf_counter() - start)
    print(f"{count} texts, {wrong} wrong, {rate:.0f} a second, the slowest in {slowest:.1f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
