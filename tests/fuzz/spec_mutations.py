"""Specs by number: a text of the repository after some changes of its bytes, words, lines and statements. A number gives the same bytes everywhere."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from pdual.dsl.tables import load

ROOT = Path(__file__).parent.parent.parent

#: What a number may be replaced by.
NUMBERS = (
    *(
        "0",
        "-1",
        "1e400",
        "1e308",
        "1e-320",
        "inf",
        "-inf",
        "(inf - inf)",
        "(1/0)",
        "0/0",
        "exp(1e9)",
        "log(-1)",
        "sqrt(-1)",
    ),
    *(
        "10^30",
        "10^400",
        "10^(10^10)",
        "9007199254740993",
        "18446744073709551616",
        "1_000",
        "1%",
        "1e5%",
        "00",
        "1.",
        ".5",
        "1e",
    ),
    *(
        "[]",
        "[1, ]",
        "[1, , 2]",
        "()",
        "(1, 2)",
        "true",
        '"a"',
        "nan",
        "x",
        "_",
        "1 if true else 0",
        "not 1",
        "--1",
        "0^(-1)",
    ),
)
#: What is inserted anywhere.
PIECES = (
    *(
        "\r",
        "\r\n",
        "\u2028",
        "\u0085",
        "\v",
        "\f",
        "\x1b[31m",
        "\x07",
        "\u202e",
        "\ufeff",
        "\x00",
        "\u200b",
        "\u0301",
        "😀",
        "\x9b",
    ),
    *(
        '"',
        "\\",
        "#",
        "# ",
        "//",
        "/*",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        ";",
        "..",
        "->",
        "=",
        "==",
        "<=",
        "%",
        "^",
        "@",
    ),
    *(
        " where ",
        " in ",
        " if ",
        " else ",
        " and ",
        " not ",
        " or ",
        " scale ",
        " by ",
        " from ",
        " of ",
        "subject to ",
        "over ",
        "$x^2$",
        "\\input{a}",
    ),
)
STATEMENTS = (
    "param extra = inf in [0, inf]",
    "param extra = 1/0",
    "set extra = 0..2",
    "set extra = {a, b, a}",
    "def extra(x) = extra(x)",
    "def extra() = 1",
    "let extra = 1",
    "metric extra = 1/0",
    "minimize 0/0",
    "subject to extra: 1 <= 1/0",
    "subject to extra: mean[q in d](q.x) <= (inf - inf)",
    "dual extra = pointwise(cap = inf)",
    "dual default = none",
    "expect extra on d.test: viol(extra) <= 1/0",
    "solve { outer = inf }",
    "solve { }",
    "model extra(x: real[_]) -> real[_] = mlp([])",
    "model extra() -> real",
    'data extra = csv("") { }',
    'given extra = power.case("case30") { }',
    "over q in d { }",
    "over group q of d by x { minimize mean[p in q](p.x) }",
)


@cache
def texts() -> tuple[str, ...]:
    """Every spec of the repository: shipped ones, of tests, and what the documentation shows."""
    files = sorted(
        [*(ROOT / "specs").glob("*.pdual"), *(ROOT / "tests").rglob("*.pdual"), *(ROOT / "docs").rglob("*.pdual")]
    )
    found = [path.read_bytes().decode("utf-8", errors="surrogateescape") for path in files]
    pages = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "dsl" / "explanations").glob("*.md"), ROOT / "README.md"])
    for page in pages:
        found += re.findall(r"```pdual\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return tuple(text for text in found if len(text) < 20_000)


def mutated(number: int) -> bytes:
    """The bytes of a changed spec."""
    draw = random.Random(f"spec {number}")
    text = draw.choice(texts())
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        text = draw.choice(_CHANGES)(text, draw)
    data = text.encode("utf-8", errors="surrogatepass" if draw.random() < 0.01 else "surrogateescape")
    if draw.random() < 0.1:
        data = _bytes(data, draw)
    return data


def _bytes(data: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.1:
        return data.decode("utf-8", errors="replace").encode(
            draw.choice(("utf-16", "utf-16-le", "utf-8-sig", "utf-32"))
        )
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data) + 1)
        data = data[:place] + bytes(draw.choices(range(256), k=draw.randint(0, 2))) + data[place + draw.randint(0, 2) :]
    return data


def _tokens(text: str) -> list[re.Match[str]]:
    ignored = load().ignored
    return [item for item in load().pattern.finditer(text) if item.lastgroup not in ignored]


def _word(text: str, draw: random.Random) -> str:
    """A token is dropped, doubled, or replaced by one of any spec."""
    tokens = _tokens(text)
    if not tokens:
        return text
    item = draw.choice(tokens)
    other = draw.choice(_tokens(draw.choice(texts())) or tokens).group()
    new = draw.choice(
        (
            "",
            f"{item.group()} {item.group()}",
            other,
            f"{item.group()} {other}",
            f"({item.group()})",
            f"-{item.group()}",
        )
    )
    return text[: item.start()] + new + text[item.end() :]


def _number(text: str, draw: random.Random) -> str:
    numbers = [item for item in _tokens(text) if item.lastgroup == "NUMBER"]
    if not numbers:
        return text
    item = draw.choice(numbers)
    return text[: item.start()] + draw.choice(NUMBERS) + text[item.end() :]


def _insert(text: str, draw: random.Random) -> str:
    place = draw.randrange(len(text) + 1)
    return text[:place] + draw.choice(PIECES) + text[place:]


def _cut(text: str, draw: random.Random) -> str:
    start = draw.randrange(len(text) + 1)
    return text[:start] + text[start + draw.choice((1, 2, 5, 40, 400, len(text))) :]


def _splice(text: str, draw: random.Random) -> str:
    other = draw.choice(texts())
    start = draw.randrange(len(other) + 1)
    place = draw.randrange(len(text) + 1)
    return text[:place] + other[start : start + draw.choice((5, 40, 400))] + text[place:]


def _statement(text: str, draw: random.Random) -> str:
    breaks = [item.end() for item in re.finditer(r"\n", text)] or [len(text)]
    place = draw.choice(breaks)
    return f"{text[:place]}{draw.choice(STATEMENTS)}\n{text[place:]}"


def _line_ends(text: str, draw: random.Random) -> str:
    return text.replace("\n", draw.choice(("\r", "\r\n", "\n\n", " ", "\n\r", "\u2028")))


def _deep(text: str, draw: random.Random) -> str:
    """One operand is made tall, long, or called often."""
    items = [item for item in _tokens(text) if item.lastgroup in ("NUMBER", "NAME")]
    if not items:
        return text
    item = draw.choice(items)
    word, count = item.group(), draw.choice((3, 20, 90, 120, 210, 300 if draw.random() < 0.9 else 3_000))
    operator = draw.choice(
        (" + ", " - ", " * ", " / ", "^", " < ", " <= ", " and ", " or ", ", ", ".", " if true else ", " == ")
    )
    opener, closer = draw.choice(
        (("(", ")"), ("-", ""), ("not ", ""), ("abs(", ")"), ("[", "]"), ("max[i in s](", ")"), ("{ a: ", " }"))
    )
    new = operator.join([word] * count) if draw.random() < 0.5 else opener * count + word + closer * count
    return text[: item.start()] + new + text[item.end() :]


def _chain(text: str, draw: random.Random) -> str:
    """Definitions or lets that are built on each other, at the end of a line."""
    count = draw.choice((3, 20, 60, 210 if draw.random() < 0.9 else 1_200))
    form = draw.choice(
        (
            "def d{}(x) = d{}(x)",
            "def d{}(x) = d{}(x) + d{}(x)",
            "let d{} = d{} + 1",
            "let d{} = d{} * d{}",
            "param d{} = d{} + 1",
            "set d{} = 0..d{}",
        )
    )
    lines = [re.sub(r"d\{\}", lambda m, step=[n, n - 1, n - 1]: f"d{step.pop(0)}", form) for n in range(1, count)]
    first = {"def": "def d0(x) = x", "let": "let d0 = 1", "par": "param d0 = 1", "set": "set d0 = 0..1"}[form[:3]]
    breaks = [item.end() for item in re.finditer(r"\n", text)] or [len(text)]
    place = draw.choice(breaks)
    return text[:place] + "\n".join((first, *lines)) + "\n" + text[place:]


_CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    *(
        _word,
        _word,
        _word,
        _number,
        _number,
        _number,
        _insert,
        _insert,
        _cut,
        _splice,
        _splice,
        _statement,
        _line_ends,
        _deep,
        _chain,
    ),
)
