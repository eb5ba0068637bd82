"""Wording of mistakes in power grids and their demands."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD501",
        "no power case `{case}` was found",
        label="named here",
        notes=("looked for {searched}",),
        help=(
            "did you mean `{near}`?",
            "the published cases are at {publisher}; put the `.m` file beside the spec and name it",
        ),
        reason=(
            "`power.case(NAME)` looks for a file beside the spec, then in `$PDUAL_DATA/power`, then among the cases that come with pdual. The "
            "message lists these places."
        ),
    ),
    Entry(
        "PD502",
        "`{file}` cannot be read as a MATPOWER case: {reason}",
        label="named here",
        help=("{fix}",),
        reason=(
            "The file is read as a MATPOWER case (version 2): assignments of matrices to fields of `mpc`. pdual does not execute the file, so "
            "it refuses cases that compute their tables."
        ),
    ),
    Entry(
        "PD503",
        "`{file}` has no {tables}",
        label="named here",
        notes=("a MATPOWER case holds `baseMVA`, `bus`, `gen`, `branch` and `gencost`",),
        reason="A case holds the tables `bus`, `gen`, `branch` and `gencost`, and the number `baseMVA`.",
    ),
    Entry(
        "PD504",
        "`{table}` of `{file}` should have at least {expected} columns, {rows} {verb} {found}",
        label="named here",
        reason="The position of a column in a case's table gives its meaning. A row with too few columns cannot be read.",
    ),
    Entry(
        "PD505",
        "`{file}` should hold {expected}, found {found}",
        label="named here",
        notes=("{count} such entries",),
        reason="An entry of the case is not a valid value of its column: it is not a number, not finite, or outside the column's range.",
    ),
    Entry(
        "PD506",
        "{elements} of `{file}` should be at a bus of the case, found {found}",
        label="named here",
        notes=("the buses are {buses}",),
        reason="A generator, branch or load names a bus that the case does not have.",
    ),
    Entry(
        "PD507",
        "`{file}` should have one reference bus (type 3), found {found}",
        label="named here",
        help=("{fix}",),
        reason="Voltage angles are relative to one reference bus, which has type 3.",
    ),
    Entry(
        "PD508",
        "`{file}` has limits that cross: {found}",
        label="named here",
        notes=("{count} such entries",),
        reason="A lower limit lies above its upper limit, so no operating point satisfies both.",
    ),
    Entry(
        "PD509",
        "{units} of `{file}` should have a polynomial cost of degree 2 at most, or a convex piecewise linear one, found {found}",
        label="named here",
        reason="A cost is a polynomial of degree 2 at most (model 2 of `gencost`). Piecewise linear costs are not read here.",
    ),
    Entry(
        "PD510",
        "`{file}` has {found} more than once in `{table}`",
        label="named here",
        reason="A bus is named by its number, so each number is used once.",
    ),
    Entry(
        "PD511",
        "{branches} of `{file}` should have an impedance, found r = x = 0",
        label="named here",
        help=("join the two buses, or give the branch a small reactance",),
        reason="A branch without an impedance would carry an unlimited current. Such a branch is a switch or a coupler: join its two buses.",
    ),
    Entry(
        "PD512",
        "{buses} of `{file}` cannot be reached from the reference bus",
        label="named here",
        help=("set the type of buses that are out of service to 4",),
        reason="Elements out of service cut some buses off from the reference bus. Each island would need a reference bus of its own.",
    ),
    Entry(
        "PD513",
        "`{file}` has {found} of `gencost` for {units} of `gen`",
        label="named here",
        reason="`gencost` has one row for each generator, or two (active power, then reactive power).",
    ),
    Entry(
        "PD514",
        "`{file}` has no {element} in service",
        label="named here",
        reason="Every element of this kind is out of service, so there is nothing to dispatch or to constrain.",
    ),
    Entry(
        "PD515",
        "too few demands have an optimal power flow: {kept} of the first {drawn} at a spread of {spread}",
        label="drawn here",
        notes=("a demand without one is not kept, so this data set would take very long",),
        help=("a smaller spread keeps demands within what the grid can supply",),
        reason=(
            "Rows are random demands that have an optimal power flow. If few of the demands have one, the spread is larger than the grid can "
            "supply."
        ),
    ),
    Entry(
        "PD516",
        "no demands file `{file}` was found",
        label="named here",
        notes=("looked for {searched}",),
        help=("did you mean `{near}`?",),
        reason="`power.demands(..., file = ...)` reads your own demands from a file beside the spec.",
    ),
    Entry(
        "PD517",
        "`{file}` should hold {expected}, found {found}",
        label="named here",
        help=('write it with `numpy.savez("{file}", load_re = ..., load_im = ...)`, in per unit',),
        reason=(
            "A file of demands holds two arrays, `load_re` and `load_im`. Each has one row for each demand and one column for each bus, in "
            "per unit."
        ),
    ),
    Entry(
        "PD518",
        "the demands in `{file}` should be finite numbers, found others in {rows}",
        label="named here",
        notes=("{count} of {total} rows",),
        reason="The file holds demands with a NaN or an infinity. The message names their rows.",
    ),
    Entry(
        "PD519",
        "{rows} of `{file}` {verb} no optimal power flow within the limits of `{given}`",
        label="named here",
        notes=("{count} of {total} rows",),
        help=("leave these rows out, or raise `iterations` where the solver ran into it",),
        reason="The rows named have no optimal power flow within the limits, so there is no optimum to compare with.",
    ),
    Entry(
        "PD520",
        "`{given}` should be a power grid, it lacks {missing}",
        label="used here",
        help=("declare it with `given {given} = power.case(...)`",),
        reason="Sources and functions for power grids need the sets and fields of a grid, which `power.case` provides.",
    ),
    Entry(
        "PD521",
        "`{file}` has {tables}, which optimal power flow here does not model",
        label="named here",
        notes=("the optimum may depend on {pronoun}",),
        help=("take {pronoun} out of the file where the optimum is meant without {pronoun}",),
        reason=(
            "Optimal power flow in pdual covers buses, units, branches and their costs. A MATPOWER file may hold further tables "
            "(direct-current lines, linear constraints `A`, `l` and `u`, reserves, interface limits) that change the optimum. They are not "
            "ignored silently. Names, places, fuels and areas do not change the optimum and are ignored."
        ),
    ),
    Entry(
        "PD522",
        "{units} of `{file}` have piecewise linear costs, and the spec does not read {missing}",
        label="named here",
        notes=("a unit costs `c0 + c1 p + c2 p^2` and the largest of `height + slope p` over its pieces",),
        help=(
            "declare `set piece` and `height, slope: real[gen, piece]`, and add `max[k in piece](height[g, k] + slope[g, k] * re(s[g]))`",
        ),
        reason=(
            "A piecewise linear cost of a generator is the largest of some lines in its power: `height + slope * p`. A spec that reads only "
            "`c0`, `c1` and `c2` would give such a generator a cost of 0. Declare `set piece` and `height, slope: real[gen, piece]` as well, "
            "as the shipped `opf` does, and add `max[k in piece](height[g, k] + slope[g, k] * re(s[g]))` to the cost of every generator."
        ),
    ),
    Entry(
        "PD641",
        "`power.completed` needs finite limits, found infinite ones for units {units} of `{given}`",
        notes=("set points of power and voltage are proposed within their limits",),
        reason="Set points are proposed within finite limits of active power and voltage.",
    ),
    Entry(
        "PD642",
        "`power.completed` needs a unit at the reference bus of `{given}`, it has none",
        notes=("that unit's power closes the balance",),
        help=("make a bus with a unit the reference bus (type 3)",),
        reason="The unit at the reference bus balances generation and demand.",
    ),
    Entry(
        "PD643",
        "`power.completed` needs the optimal power flow of the demand in `{given}`, it has none",
        notes=("a set point is completed by Newton steps around that optimum", "the solver says {status}"),
        reason="A set point is completed by Newton steps that start from the optimum of the undisturbed demand, so that optimum is needed.",
    ),
)
