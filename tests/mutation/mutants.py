"""Mechanical mutants of every operation's rules and of the Lagrangian and the dual updates, and what kills them.

    python tests/mutation/mutants.py [--sample 100] [--seed 0] [--only lagrangian] [--list] [--results FILE] [--share 1/2]

One line of source is changed at a time (sign, min for max, swapped operands, a constant, a dropped detach or minus, the other end of an
interval, the other part of a complex number). A mutant is killed by ``pdual verify`` on a spec that uses everything or by the generated
suite (tests of operations, intervals, agreement of the two executions) and the tests of the duals, whichever is tried first; the rest survive
and are listed. All of them take hours: ``--results`` keeps what is known, a JSON line a mutant, and goes on from there; ``--share`` tries one
part of several, so that processes can go side by side. Needs a system with fork.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
TARGETS = (
    *(f"dsl/operations/{name}.py" for name in ("arithmetic", "complex_numbers", "elementary", "logic", "losses", "reductions")),
    *(f"dsl/operations/{name}.py" for name in ("interval", "backwards", "rules")),
    "runtime/optimisation/lagrangian.py",
    "runtime/optimisation/multiplier_step.py",
    *(f"runtime/duals/{name}.py" for name in ("pointwise", "shared", "hybrid", "fixed", "store", "regression", "learned")),
)  # fmt: skip
#: What is tried, by where the file is, in this order; ``verify`` after what is nearest to the file: the answer is the same, and comes sooner.
SUITE = {
    "dsl": (
        "tests/dsl/test_operations.py", "tests/dsl/test_narrow_rules.py", "tests/dsl/test_interval_width.py", "tests/dsl/test_slopes.py",
        "tests/dsl/test_contraction.py", "tests/dsl/test_interval.py", "tests/compiler/test_prediction.py", "tests/compiler/test_ranges.py",
        "tests/compiler/test_agreement.py",
    ),
    "runtime": ("tests/runtime/optimisation/test_lagrangian.py", "tests/runtime/duals/test_duals.py", "tests/compiler/test_agreement.py"),
    "pdual": ("tests/e2e/test_bounds.py", "tests/bounding/test_claims_of_bounds.py", "tests/e2e/test_bounds_of_runs.py"),
}  # fmt: skip
NEAREST = {"dsl": 5, "runtime": 2, "pdual": 0}
#: Calls whose two arguments may change places: the mutant would be the same program.
COMMUTATIVE = (
    "add", "multiply", "maximum", "minimum", "max", "min", "union", "_sideless", "_product", "_equal", "join_numeric",
)  # fmt: skip
#: Mistakes that were made, by file: what stands there, and what stood there.
SEEDED = {
    "pdual/bounding/parts.py": (("node.identity: node for", "node.name: node for"),),
    "pdual/bounding/certificate.py": (("L1 * V0 / S", "L1 * B0 / S"),),
    "pdual/bounding/assumptions.py": ((" and not nested(roots)", ""),),
    "pdual/bounding/distance.py": (("capped[:, layout", "~capped[:, layout"), ("    if capped:\n", "    if False:\n")),
}
LIMIT = 240  # seconds for one mutant: what never ends is killed too

BROKEN = 9

BINARY = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
COMPARED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "re": "im", "im": "re", "lo": "hi", "hi": "lo",
    "low": "high", "high": "low", "cos": "sin", "sin": "cos", "TRUE": "FALSE", "FALSE": "TRUE", "add": "subtract", "subtract": "add",
    "CONVEX": "CONCAVE", "CONCAVE": "CONVEX", "sub": "add", "and_": "or_", "residuals": "multipliers", "relaxed": "residuals",
}  # fmt: skip
TEXTS = {
    "+": "-", "-": "+", "+-": "-+", "add": "subtract", "subtract": "add", "multiply": "divide", "divide": "multiply", "cos": "sin",
    "sin": "cos", "exp": "cos", "square": "negate", "logical_and": "logical_or", "logical_or": "logical_and", "maximum": "minimum",
    "minimum": "maximum", "le": "ge", "ge": "le", "lt": "gt", "gt": "lt", "eq": "ne", "ne": "eq", "sub": "add", "mul": "div", "div": "mul",
}  # fmt: skip


class Mutant(NamedTuple):
    """A changed file."""

    file: str
    line: int
    column: int
    change: str
    tree: ast.Module


def mutants(file: str) -> Iterator[Mutant]:
    """Every mutant of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if not isinstance(node, ast.ImportFrom | ast.Import)]
    skipped = _never_run(tree)
    for place, node in enumerate(nodes):
        if id(node) in skipped:
            continue
        for number, _ in enumerate(_changes(node)):
            other = copy.deepcopy(tree)
            twin = [item for item in ast.walk(other) if not isinstance(item, ast.ImportFrom | ast.Import)][place]
            before = ast.unparse(twin)
            change = _changes(twin)[number]
            change()
            said = f"{before} -> {ast.unparse(twin)}"
            line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
            yield Mutant(file, line, column, said, ast.fix_missing_locations(other))


def seeded(file: str) -> Iterator[Mutant]:
    """The mistakes that were made in a file, made again."""
    source = (ROOT / file).read_text(encoding="utf-8")
    for now, before in SEEDED[file]:
        assert source.count(now) == 1, f"{file}: {now}"
        line = source[: source.index(now)].count("\n") + 1
        yield Mutant(file, line, 0, f"{now.strip()} -> {before.strip()}", ast.parse(source.replace(now, before)))


def _never_run(tree: ast.Module) -> set[int]:
    """Annotations, docstrings, error texts and assertions: changing them changes nothing that is claimed."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        ):
            parts.append(node.body[0])
        if isinstance(node, ast.FunctionDef):
            parts += [a.annotation for a in (*node.args.args, *node.args.kwonlyargs) if a.annotation] + (
                [node.returns] if node.returns else []
            )
            parts += node.decorator_list
            if node.name in ("state", "load_state", "adopt", "parameters", "bytes", "__str__"):
                parts.append(node)  # what is saved and counted: the tests of folders and resumed runs are about these
        if isinstance(node, ast.ClassDef):
            parts += node.decorator_list  # frozen, slotted: what a class is, not what is claimed
        if isinstance(node, ast.AnnAssign):
            parts.append(node.annotation)
        if isinstance(node, ast.Assert | ast.Raise):
            parts.append(node)
        for part in parts:
            found |= {id(item) for item in ast.walk(part)}
    return found


def _changes(node: ast.AST) -> list:
    """What may be done to a node, each as a function that does it."""
    if isinstance(node, ast.BinOp):
        found = [lambda: setattr(node, "op", BINARY[type(node.op)]())] if type(node.op) in BINARY else []
        if isinstance(node.op, ast.Sub | ast.Div | ast.Pow):
            found.append(lambda: _swap(node))
        return found
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        return [lambda: setattr(node, "ops", [COMPARED[type(node.ops[0])](), *node.ops[1:]])]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        positive = ast.UAdd() if isinstance(node.op, ast.USub) else None
        return [lambda: setattr(node, "op", positive)] if positive else [lambda: _drop_not(node)]
    if isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        return [lambda: setattr(node, "attr", NAMES[node.attr])]
    if isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        return [lambda: setattr(node, "id", NAMES[node.id])]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("detach", "clone"):
        return [lambda: setattr(node, "func", ast.Attribute(node.func.value, "contiguous", ast.Load()))]
    if (
        isinstance(node, ast.Call)
        and len(node.args) == 2
        and isinstance(node.func, ast.Name)
        and node.func.id not in COMMUTATIVE
        and ast.dump(node.args[0]) != ast.dump(node.args[1])
    ):
        return [lambda: node.args.reverse()]
    return []


def _swap(node: ast.BinOp) -> None:
    node.left, node.right = node.right, node.left


def _drop_not(node: ast.UnaryOp) -> None:
    node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)


def _constant(node: ast.Constant) -> list:
    if isinstance(node.value, bool):
        return [lambda: setattr(node, "value", not node.value)]
    if isinstance(node.value, int | float):
        return [lambda: setattr(node, "value", node.value + 1)]
    if isinstance(node.value, str) and node.value in TEXTS:
        return [lambda: setattr(node, "value", TEXTS[node.value])]
    return []


def tried(mutant: Mutant, spec: Path) -> str:
    """What killed a mutant, in a process of its own: ``verify``, ``suite``, or "survived"."""
    child = os.fork()
    if not child:
        code = BROKEN
        try:
            code = _killers(mutant, spec)
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == BROKEN:
        raise SystemExit(f"the script itself failed at {address(mutant)}")
    return {0: "survived", 1: "verify", 2: "suite"}.get(code, "too slow")


def _killers(mutant: Mutant, spec: Path) -> int:
    signal.alarm(LIMIT)
    gc.disable()  # the process ends soon
    path = str(ROOT / mutant.file)
    original = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> object:
        found = loader.get_filename(name)
        if os.path.realpath(found) == path:
            return compile(mutant.tree, found, "exec")
        return original(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        side = mutant.file.split("/")[0]
        nearest = SUITE[side][: NEAREST[side]]
        if Path(mutant.file).stem in ("interval", "backwards"):
            nearest = nearest[1:]  # no operation is near to them
        if _falls(nearest):
            return 2
        if _verify_falls(spec):
            return 1
        return 2 if _falls(tuple(file for file in SUITE[side] if file not in nearest)) else 0


def _verify_falls(spec: Path) -> bool:
    try:
        from pdual.cli.main import perform
        from pdual.verifying import attack

        attack.SHRINKING = 0.0  # that it falls is enough
        os.chdir(spec.parent)
        return perform(["verify", str(spec), "--examples", "20"]) != 0
    except BaseException:
        return True


def _falls(files: tuple[str, ...]) -> bool:
    import pytest
    from hypothesis import Phase, settings

    os.chdir(ROOT)
    # That a test falls is enough: no smaller example, no explanation of it, none kept.
    settings.register_profile(
        "mutants", phases=[Phase.explicit, Phase.generate], database=None, report_multiple_bugs=False
    )
    settings.load_profile("mutants")
    quiet = [
        "-x",
        "-q",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "-m",
        "not long",
        "-p",
        "no:hypothesispytest",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    return bool(files) and pytest.main([*quiet, *files]) != 0


def _load_what_stays() -> None:
    """Libraries are loaded once, before the fork; pdual's own modules by each mutant, since one of them is changed."""
    import cvxpy  # noqa: F401
    import pytest  # noqa: F401
    import sympy  # noqa: F401
    import torch

    import pdual.api
    import pdual.cli.main
    import pdual.verifying.attack  # noqa: F401

    torch.set_num_threads(1)
    for name in [name for name in sys.modules if name.split(".")[0] == "pdual"]:
        del sys.modules[name]


def known(results: Path | None) -> dict[str, str]:
    """What killed the mutants tried before, by their addresses."""
    if results is None or not results.exists():
        return {}
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {line["mutant"]: line["killed_by"] for line in lines}


def address(mutant: Mutant) -> str:
    """A mutant's name: it changes when its line moves, so that a mutant of other source is tried again."""
    return f"{mutant.file}:{mutant.line}:{mutant.column}: {mutant.change}"


def main() -> None:
    """Try mutants and print what killed them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--share", default="1/1")
    options = parser.parse_args()
    found = [mutant for file in TARGETS if options.only in file for mutant in mutants(file)]
    found += [mutant for file in SEEDED if options.only in file for mutant in seeded(file)]
    total = len(found)
    if options.sample is not None and options.sample < total:
        found = random.Random(options.seed).sample(found, options.sample)
    part, parts = (int(number) for number in options.share.split("/"))
    found = found[part - 1 :: parts]
    if options.list:
        for mutant in found:
            print(address(mutant))
        return
    sys.path[:0] = [str(ROOT / "tests/e2e")]
    _load_what_stays()
    before = known(options.results)
    counts = Counter(before[address(mutant)] for mutant in found if address(mutant) in before)
    left = [mutant for mutant in found if address(mutant) not in before]
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "everything.pdual"
        spec.write_text((Path(__file__).with_name("everything.pdual")).read_text(encoding="utf-8"), encoding="utf-8")
        file = left[0].file if left else TARGETS[0]
        control = Mutant(file, 0, 0, "nothing", ast.parse((ROOT / file).read_text(encoding="utf-8")))
        if tried(control, spec) != "survived":
            raise SystemExit("what is not changed is killed: mend that first")
        started = time.perf_counter()
        for number, mutant in enumerate(left, 1):
            how = tried(mutant, spec)
            counts[how] += 1
            if options.results is not None:
                with options.results.open("a", encoding="utf-8") as file_of_results:
                    file_of_results.write(json.dumps({"mutant": address(mutant), "killed_by": how}) + "\n")
            if how == "survived":
                print(f"survived {address(mutant)}", flush=True)
            if number % 20 == 0:
                print(f"{number} of {len(left)}, {time.perf_counter() - started:.0f} s: {dict(counts)}", flush=True)
    killed = sum(counts.values()) - counts["survived"]
    print(f"{killed} of {len(found)} killed ({killed / max(1, len(found)):.1%}); {total} in all; {dict(counts)}")


if __name__ == "__main__":
    main()
