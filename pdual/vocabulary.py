"""The words of the language by what they are, each with one line: what editors colour, complete and explain."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl.checking.calls import FEATURES, SQUARED_NORM
from pdual.dsl.checking.lookup import CONSTANTS, TRUTHS
from pdual.dsl.checking.statistics import STATISTICS
from pdual.dsl.declarations.registry import duals, held_kinds
from pdual.dsl.operations import AGGREGATES, FUNCTIONS, REDUCTIONS
from pdual.dsl.tables import load
from pdual.dsl.types import Kind

#: Statements, as they start.
STATEMENTS: Mapping[str, str] = {
    "problem": "the first statement: the problem's name, and one line about it",
    "param": "a number, truth value or text that `--set NAME=value` may change, within its range",
    "set": "an index set: `0..9` or `{a, b}`; in `given`, sets that the source brings along",
    "given": "known structure: sets, and constants on them",
    "data": "a data set; a row has these fields",
    "model": "a network with a checked signature",
    "def": "a function of the spec's own",
    "over": "statements about one row of a data set, or about one group of rows",
    "let": "a named value; an array with indices; a record taken apart by field name",
    "minimize": "a term of the objective; in a block its mean over rows or groups",
    "subject": "`subject to`: constraints that hold on every row",
    "dual": "how the multipliers of constraints, sides or parts are held",
    "metric": "a number a row, reported by split: mean, std, 95th percentile, max",
    "expect": "checked after the run on one split, never used in training",
    "solve": "settings of the solver",
}

#: Statements that may stand in an `over` block.
IN_BLOCKS = ("let", "minimize", "subject", "dual", "metric")

#: Words inside statements.
CLAUSES: Mapping[str, str] = {
    "to": "`subject to`: constraints that hold on every row",
    "scale": "what a row or a term is divided by",
    "where": "a filter: entries for which it does not hold are left out",
    "in": "the set, range or data set that what stands before is from",
    "from": "the column that a field is read from",
    "group": "`over group t of DATA by FIELD`: rows that share a value, together",
    "of": "`over group t of DATA by FIELD`: rows that share a value, together",
    "by": "the field whose value the rows of a group share",
    "on": "the data set and split that an expectation is about",
    "if": "`a if c else b`",
    "else": "`a if c else b`",
    "graph": "a graph a row, with values on its nodes",
}

#: Operators that are words.
WORD_OPERATORS: Mapping[str, str] = {
    "and": "holds where both hold",
    "or": "holds where one holds, or both",
    "not": "holds where what follows does not",
}

#: Elements of types.
TYPES: Mapping[str, str] = {
    "real": "real numbers",
    "complex": "complex numbers",
    "int": "whole numbers",
    "bool": "truth values",
    "text": "texts",
    "id": "values that are only compared: what groups rows",
}

#: Names that are values everywhere.
VALUES: Mapping[str, str] = {
    "inf": "no bound",
    "pi": "half a turn, in radians",
    "true": "a truth value",
    "false": "a truth value",
}

#: Functions of the language by name, with how they are called.
BUILTINS: Mapping[str, str] = {
    **{name: operation.line for name, operation in FUNCTIONS.items()},
    "sum": "`sum[i in SET where ...](x)`: the sum; 0 over none",
    "mean": "`mean[i in SET](x)`: the mean; in `expect`, `mean(x)` over the rows of a split",
    "count": "`count[i in SET](c)`: for how many it holds",
    "argmax": "`argmax(z)`: the member with the largest value",
    "top_mean": "`top_mean(x, share)`: the mean of the largest values",
    "bottom_mean": "`bottom_mean(x, share)`: the mean of the smallest values",
    "squared_norm": "`squared_norm(f)`: the sum of squares of a model's parameters",
    "features": "`features(f)`: what a model's last layer reads, detached",
    "viol": "`viol(F)`, in `expect`: a row's largest violation of F, in fractions of its range",
    "rate": "`rate(F, tolerance)`, in `expect`: the share of entries that violate F by more",
    "quantile": "`quantile(x, q)`, in `expect`: a quantile over the rows of a split",
}

#: Ways to hold multipliers.
DUALS: Mapping[str, str] = {name: duals()[name].line for name in held_kinds()}

#: Word groups, as every grammar of an editor takes them.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "statement": STATEMENTS,
    "clause": CLAUSES,
    "operator": WORD_OPERATORS,
    "type": TYPES,
    "value": VALUES,
    "function": BUILTINS,
    "dual": DUALS,
}


def missing() -> dict[str, set[str]]:
    """Words of the language that stand in no group, and words in a group that the language does not have."""
    callables = {*FUNCTIONS, *REDUCTIONS, *AGGREGATES, *STATISTICS, FEATURES, SQUARED_NORM}
    languages = {
        "keyword": set(load().keywords),
        "type": {str(kind) for kind in Kind},
        "value": {*CONSTANTS, *TRUTHS},
        "function": callables,
    }
    here = {**{name: set(words) for name, words in GROUPS.items()}}
    here["keyword"] = {*STATEMENTS, *CLAUSES, *WORD_OPERATORS}
    return {name: words ^ here[name] for name, words in languages.items() if words ^ here[name]}


def line(word: str) -> str | None:
    """What a word of the language says; None where it is none."""
    return next((words[word] for words in GROUPS.values() if word in words), None)
