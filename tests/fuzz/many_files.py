"""Very many changed files of rows and grids, by kind: ``python tests/fuzz/many_files.py 0 3000 csv jsonl npz``.

Prints every file that does not do what is promised of any, by its number, what was raised and where; and how many there were a second.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from data_files import hold
from data_mutations import KINDS, mutated

#: Bytes of addresses, and seconds after which a reader is said to hang.
ROOM, HANGS = 4 * 2**30, 30.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("end", type=int)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND")
    parser.add_argument("--slow", type=float, default=1.0, help="seconds from which a file is listed")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    wrong = sum(many(kind, range(arguments.first, arguments.end), arguments.slow) for kind in arguments.kinds)
    return int(wrong > 0)


def many(kind: str, numbers: range, slow: float) -> int:
    """How many of these files do what they should not."""
    start, wrong, slowest = time.perf_counter(), 0, 0.0
    codes: Counter[str] = Counter()
    places: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        for number in numbers:
            faulthandler.dump_traceback_later(HANGS, exit=True)
            try:
                spent, code = hold(kind, mutated(kind, number), number, folder)
            except BaseException as error:  # whatever it is, it is what is looked for; also what Rust raises
                if isinstance(error, KeyboardInterrupt):
                    raise
                wrong += 1
                frames = traceback.extract_tb(error.__traceback__)
                found = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-5:]]
                place = f"{type(error).__name__} {' '.join(found)}"
                places[place] += 1
                if places[place] <= 3:
                    print(f"{kind} {number}: {str(error)[:150]!r} {place}", flush=True)
                continue
            codes[code or "read"] += 1
            slowest = max(slowest, spent)
            if spent > slow:
                print(f"{kind} {number}: {spent:.1f} s", flush=True)
        faulthandler.cancel_dump_traceback_later()
    rate = len(numbers) / (time.perf_counter() - start)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{kind}: {len(numbers)} files, {wrong} wrong, {rate:.0f} a second, the slowest in {slowest:.2f} s, at most {most:.2f} GiB;"
        f" {dict(codes.most_common())}",
        flush=True,
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
