"""How the house is built: what may import what, what is light, how long a file may be, what has to be tested."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.declarations.registry import architectures, duals, evaluations, sources
from pdual.finding import shipped_specs

ROOT = Path(__file__).parent.parent
#: What each layer may import besides itself.
BELOW: dict[str, tuple[str, ...]] = {
    "dsl": (),
    "compiler": ("dsl",),
    "runtime": ("dsl", "compiler"),
    "packs": ("dsl", "compiler", "runtime"),
    "pdual": ("dsl", "compiler", "runtime"),
}
LAYERS = tuple(BELOW)
#: Of the rooms of `runtime`: how many may stand above each other, and how many imports there may be between them.
FLOORS, ARROWS = 8, 60
HEAVY = ("torch", "numpy", "sympy", "networkx", "pandas", "scipy", "lark")
LONGEST = 400
#: Files that are longer, each with its reason.
LONG: dict[str, str] = {}
#: Words of the benchmarks, which the compiler and the solver must not know.
BENCHMARKS = ("opf30", "opf", "mnist", "flora", "tofu", "digits", "dispatch", "forget10")


def modules(layer: str) -> Iterator[Path]:
    return (file for file in sorted((ROOT / layer).rglob("*.py")) if "__pycache__" not in file.parts)


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "pdual":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "pdual"


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer: str):
    allowed = {layer, *BELOW[layer]}
    wrong = []
    for file in modules(layer):
        for name in imported(ast.parse(file.read_text(encoding="utf-8"))):
            target = layer_of(name)
            # `from pdual.dsl import x` names the layer itself and what is in it; bare `pdual` is only its parent.
            if target is not None and target not in allowed and name != "pdual":
                wrong.append(f"{file.relative_to(ROOT)}: {name}")
    assert wrong == []


@pytest.mark.parametrize("layer", LAYERS)
def test_there_are_no_relative_imports(layer: str):
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in modules(layer)}
    found = [
        file.name
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert found == []


def heavy_after(commands: list[list[str]], folder: Path) -> tuple[list[int], set[str]]:
    """The exit codes of some commands in one process, and which heavy packages they imported."""
    script = (
        "import sys\n"
        "from pdual.cli.main import perform\n"
        f"codes = [perform(arguments) for arguments in {commands!r}]\n"
        f"print('@', *codes, *[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    last = done.stdout.strip().splitlines()[-1].split()
    assert last[0] == "@", done.stdout + done.stderr
    return [int(word) for word in last[1 : 1 + len(commands)]], set(last[1 + len(commands) :])


@pytest.mark.parametrize("command", ["check", "explain"])
def test_check_and_explain_are_light(command: str, tmp_path: Path):
    codes, heavy = heavy_after([[command, spec] for spec in sorted(shipped_specs())], tmp_path)
    assert heavy == set()
    assert set(codes) <= {0, 1, 3}  # what a version cannot do yet is said, in the same light way


def test_bounds_of_a_spec_need_no_torch(tmp_path: Path):
    codes, heavy = heavy_after([["bounds", "digits"]], tmp_path)
    assert (codes, "torch" in heavy) == ([0], False)


def test_fmt_is_light(tmp_path: Path):
    (tmp_path / "untidy.pdual").write_text('problem untidy "x" param a=1', encoding="utf-8")
    assert heavy_after([["fmt", "untidy.pdual"]], tmp_path) == ([0], set())


def test_help_is_lighter_still(tmp_path: Path):
    script = "import sys\nfrom pdual.cli.main import perform\nperform(['--help'])\nprint('@', *sys.modules)\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "@" in loaded
    assert not loaded & {*HEAVY, "pydantic", "rich"}


def test_files_are_short():
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines())
        for layer in LAYERS
        for file in modules(layer)
    }
    long = {name for name, length in lengths.items() if length > LONGEST}
    assert long == set(LONG), "a longer file needs a reason in LONG, a shorter one must not have one"


def names_of_packs() -> set[str]:
    """What packs register, and the shipped specs."""
    import tomllib

    with (ROOT / "pyproject.toml").open("rb") as file:
        groups = tomllib.load(file)["project"]["entry-points"]
    registered = {name for group, names in groups.items() if group.startswith("pdual.") for name in names}
    return {*registered, *shipped_specs(), *BENCHMARKS} - {
        "power",
        "language",
        "workflows",
    }  # words of other things, too


@pytest.mark.parametrize("layer", ["dsl", "compiler", "runtime", "pdual"])
def test_the_core_names_no_domain_and_no_benchmark(layer: str):
    words = re.compile(rf"({'|'.join(map(re.escape, sorted(names_of_packs())))})", re.IGNORECASE)
    found = []
    for file in modules(layer):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            # Names and values decide; docstrings and help texts may give an example.
            text = node.value if isinstance(node, ast.Constant) else getattr(node, "id", getattr(node, "attr", None))
            if not isinstance(text, str) or (text == "digits" and not isinstance(node, ast.Constant)):
                continue  # a number has digits
            if words.fullmatch(text):
                found.append(f"{file.relative_to(ROOT)}:{node.lineno}: {text}")  # type: ignore[attr-defined]
    assert found == []


@pytest.mark.parametrize("layer", LAYERS)
def test_kinds_of_dual_are_asked_and_not_matched(layer: str):
    kinds = set(duals()) - {"none"}  # a word of other things, too
    wrong = []
    for file in modules(layer):
        if file.is_relative_to(ROOT / "dsl" / "declarations"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            values: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                values = [*node.comparators, node.left]
            elif isinstance(node, ast.MatchValue):
                values = [node.value]
            texts = [item for value in values for item in ast.walk(value) if isinstance(item, ast.Constant)]
            if any(item.value in kinds for item in texts if isinstance(item.value, str)):
                wrong.append(f"{file.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")  # type: ignore[attr-defined]
    assert wrong == []


def test_every_diagnostic_is_tested():
    own = Path(__file__)
    files = [
        file for file in (ROOT / "tests").rglob("*") if file.suffix in (".py", ".expected", ".txt") and file != own
    ]
    seen = set(re.findall(r"\bPD\d{3}\b", " ".join(file.read_text(encoding="utf-8") for file in files)))
    assert sorted(set(CATALOGUE) - seen) == []


def test_every_diagnostic_that_is_raised_is_worded():
    text = " ".join(file.read_text(encoding="utf-8") for layer in LAYERS for file in modules(layer))
    raised = set(re.findall(r"\"(PD\d{3})\"", text))
    assert sorted(raised - set(CATALOGUE)) == []
    worded_only = set(CATALOGUE) - set(re.findall(r"(?<!Entry\()(?<!Entry\(\n        )\"(PD\d{3})\"", text))
    assert sorted(worded_only) == [], "an entry that nothing raises"


def test_every_builder_is_there():
    builders = [
        item.builder for registry in (sources(), architectures(), evaluations(), duals()) for item in registry.values()
    ]
    missing = []
    for builder in filter(None, builders):
        module, function = builder.split(":")
        file = ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")
        body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
        defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        missing += [] if function in defined else [builder]
    assert missing == []


@pytest.mark.parametrize("layer", LAYERS)
def test_nothing_prints_but_the_command_line_and_nothing_evaluates_text(layer: str):
    found = []
    for file in modules(layer):
        if file.is_relative_to(ROOT / "pdual" / "cli"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
            if called in ("print", "eval", "exec", "input", "breakpoint"):
                found.append(f"{file.relative_to(ROOT)}:{node.lineno}: {called}")  # type: ignore[attr-defined]
    assert found == []


def test_every_folder_of_modules_is_packaged():
    folders = {module.parent for layer in (*LAYERS, "specs") for module in modules(layer)}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").is_file()) == []


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts if parts[0] == "pdual" else ("pdual", *parts))
    return name.removesuffix(".__init__")


@cache
def imports() -> dict[str, set[str]]:
    """Every module with the modules that it imports, in functions and for types alone, too."""
    files = {module_of(file): file for layer in LAYERS for file in modules(layer)}
    return {
        name: {item for item in imported(ast.parse(file.read_text(encoding="utf-8"))) if item in files} - {name}
        for name, file in files.items()
    }


def rooms_of(package: str) -> dict[str, set[str]]:
    """What stands in a package, folders and files, with what else in it each imports."""

    def room(name: str) -> str | None:
        return name.removeprefix(f"{package}.").partition(".")[0] if name.startswith(f"{package}.") else None

    arrows: dict[str, set[str]] = {}
    for name, targets in imports().items():
        if (own := room(name)) is not None:
            arrows.setdefault(own, set()).update(there for item in targets if (there := room(item)) and there != own)
    return arrows


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each, above all that it imports. What is in a circle has none."""
    found: dict[str, int] = {}
    while ready := [name for name, targets in arrows.items() if name not in found and targets <= found.keys()]:
        found |= {name: 1 + max((found[item] for item in arrows[name]), default=0) for name in ready}
    return found


def test_no_modules_import_each_other():
    # A package's own file only hands on what stands in it.
    arrows = {
        name: {item for item in there if not f"{name}.".startswith(f"{item}.")} for name, there in imports().items()
    }
    assert sorted(arrows.keys() - floors(arrows).keys()) == []


@pytest.mark.parametrize("package", ["pdual.runtime", "pdual.packs", "pdual.compiler"])
def test_rooms_do_not_import_each_other(package: str):
    arrows = rooms_of(package)
    assert sorted(arrows.keys() - floors(arrows).keys()) == []


def test_the_rooms_of_the_runtime_are_few_and_flat():
    arrows = rooms_of("pdual.runtime")
    assert max(floors(arrows).values()) <= FLOORS
    assert sum(map(len, arrows.values())) <= ARROWS


def test_packs_do_not_know_each_other():
    assert {name: there for name, there in rooms_of("pdual.packs").items() if there} == {}


#: Runs a list of commands as if no pack were there.
WITHOUT_PACKS = """
import importlib.metadata, sys

points = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **asked: [] if asked.get("group", "").startswith("pdual.") else points(**asked)


class NoPacks:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("pdual.packs"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, NoPacks())
from pdual.cli.main import perform

for arguments in COMMANDS:
    code = perform(arguments)
    assert code in (0, 1), (arguments, code)
"""
OWN = """problem own "a line below a limit"
data d = csv("own.csv") { x, y: real }
model f(x: real) -> real = linear()
over r in d {
  let z = f(r.x)
  minimize (z - r.y)^2
  subject to limit: z <= 1
  dual limit = learned(mlp(hidden = [4]), on = r.x, cap = 10)
}
solve { outer = 2, descent = adam(lr = 1e-2, steps = 2) }
"""


def test_the_core_runs_without_packs(tmp_path: Path):
    (tmp_path / "own.pdual").write_text(OWN, encoding="utf-8")
    (tmp_path / "own.csv").write_text("x,y\n" + "".join(f"{i / 10},{i / 5}\n" for i in range(20)), encoding="utf-8")
    commands = [
        ["check", "own.pdual"],
        ["explain", "own.pdual"],
        ["run", "own.pdual", "--out", "run", "-q"],
        ["report", "run"],
        ["bounds", "--run", "run"],
        ["verify", "own.pdual", "--examples", "2", "-q"],
    ]
    script = WITHOUT_PACKS.replace("COMMANDS", repr(commands))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run" / "metrics.json").is_file()
