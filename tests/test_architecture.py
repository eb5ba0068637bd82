"""How the house is built: what may import what, what is light, how long a file may be, what has to be tested."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.declarations.registry import architectures, evaluations, sources
from pdual.finding import shipped_specs

ROOT = Path(__file__).parent.parent
#: Arrows point from right to left.
LAYERS = ("dsl", "compiler", "runtime", "pdual")
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
    rank = LAYERS.index(layer)
    allowed = set(LAYERS[: rank + 1])
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


def heavy_after(arguments: list[str], folder: Path) -> tuple[int, set[str]]:
    """The exit code of a command in a process of its own, and which heavy packages it imported."""
    script = (
        "import sys\n"
        "from pdual.cli.main import perform\n"
        f"code = perform({arguments!r})\n"
        f"print('@', code, *[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    last = done.stdout.strip().splitlines()[-1].split()
    assert last[0] == "@", done.stdout + done.stderr
    return int(last[1]), set(last[2:])


@pytest.mark.parametrize("command", ["check", "explain"])
@pytest.mark.parametrize("spec", sorted(shipped_specs()))
def test_check_and_explain_are_light(command: str, spec: str, tmp_path: Path):
    code, heavy = heavy_after([command, spec], tmp_path)
    assert heavy == set()
    assert code in (0, 1, 3)  # what a version cannot do yet is said, in the same light way


def test_bounds_of_a_spec_need_no_torch(tmp_path: Path):
    code, heavy = heavy_after(["bounds", "digits"], tmp_path)
    assert (code, "torch" in heavy) == (0, False)


def test_fmt_is_light(tmp_path: Path):
    (tmp_path / "untidy.pdual").write_text('problem untidy "x" param a=1', encoding="utf-8")
    assert heavy_after(["fmt", "untidy.pdual"], tmp_path) == (0, set())


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


def test_the_compiler_and_the_solver_know_no_benchmark():
    words = re.compile(rf"\b({'|'.join(BENCHMARKS)})\b", re.IGNORECASE)
    files = [*modules("compiler"), *(ROOT / "runtime").glob("*.py"), *(ROOT / "runtime" / "duals").glob("*.py")]
    found = []
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            # Names and values decide; docstrings may give an example.
            text = node.value if isinstance(node, ast.Constant) else getattr(node, "id", getattr(node, "attr", None))
            if isinstance(text, str) and "\n" not in text and " " not in text and words.search(text):
                found.append(f"{file.relative_to(ROOT)}:{node.lineno}: {text}")  # type: ignore[attr-defined]
    assert found == []


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
    builders = [item.builder for registry in (sources(), architectures(), evaluations()) for item in registry.values()]
    missing = []
    for builder in builders:
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
    import tomllib

    with (ROOT / "pyproject.toml").open("rb") as file:
        packaged = set(tomllib.load(file)["tool"]["setuptools"]["packages"])
    folders = {module.parent for layer in (*LAYERS, "specs") for module in modules(layer)}
    names = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    needed = {name if name.split(".")[0] == "pdual" else f"pdual.{name}" for name in names}
    assert sorted(needed - packaged) == []
