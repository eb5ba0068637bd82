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
            "`power.case(NAME)` looks for a file beside the spec, then in `$PDUAL_DATA/power`, then among the cases "
            "that\n"
            "come with pdual. The places looked at are listed."
        ),
    ),
    Entry(
        "PD502",
        "`{file}` cannot be read as a MATPOWER case: {reason}",
        label="named here",
        help=("{fix}",),
        reason=(
            "The file is read as a MATPOWER case (version 2): assignments of matrices to fields of `mpc`. Nothing in "
            "it is\n"
            "executed, so cases that compute their tables are refused."
        ),
    ),
    Entry(
        "PD503",
        "`{file}` has no {tables}",
        label="named here",
        notes=("a MATPOWER case holds `baseMVA`, `bus`, `gen`, `branch` and `gencost`",),
        reason="A case holds the tables `bus`, `gen`, `branch`, `gencost` and `baseMVA`.",
    ),
    Entry(
        "PD504",
        "`{table}` of `{file}` should have at least {expected} columns, {rows} {verb} {found}",
        label="named here",
        reason="Columns of a case's tables are told by position, so rows that are short cannot be read.",
    ),
    Entry(
        "PD505",
        "`{file}` should hold {expected}, found {found}",
        label="named here",
        notes=("{count} such entries",),
        reason="An entry of the case is not what its column holds: not a number, not finite, or outside its range.",
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
        reason="Angles are relative to one reference bus, which has type 3.",
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
        reason="Costs are polynomials of degree 2 at most (model 2 of `gencost`); piecewise linear costs are not read.",
    ),
    Entry(
        "PD510",
        "`{file}` has {found} more than once in `{table}`",
        label="named here",
        reason="Numbers of buses are their names, and are unique.",
    ),
    Entry(
        "PD511",
        "{branches} of `{file}` should have an impedance, found r = x = 0",
        label="named here",
        help=("join the two buses, or give the branch a small reactance",),
        reason=(
            "A branch without an impedance would carry an unlimited current. Such branches are switches or couplers: "
            "join\n"
            "their buses."
        ),
    ),
    Entry(
        "PD512",
        "{buses} of `{file}` cannot be reached from the reference bus",
        label="named here",
        help=("set the type of buses that are out of service to 4",),
        reason=(
            "Some buses are cut off from the reference bus by what is out of service. Each island would need a "
            "reference of\n"
            "its own."
        ),
    ),
    Entry(
        "PD513",
        "`{file}` has {found} of `gencost` for {units} of `gen`",
        label="named here",
        reason="`gencost` has one row for each generator, or two (active, then reactive).",
    ),
    Entry(
        "PD514",
        "`{file}` has no {element} in service",
        label="named here",
        reason="Everything of this kind is out of service, so there is nothing to dispatch or to constrain.",
    ),
    Entry(
        "PD515",
        "too few demands have an optimal power flow: {kept} of the first {drawn} at a spread of {spread}",
        label="drawn here",
        notes=("a demand without one is not kept, so this data set would take very long",),
        help=("a smaller spread keeps demands within what the grid can supply",),
        reason=(
            "Rows are demands that have an optimal power flow. Where few drawn demands have one, the spread is larger "
            "than\n"
            "the grid can follow."
        ),
    ),
    Entry(
        "PD516",
        "no demands file `{file}` was found",
        label="named here",
        notes=("looked for {searched}",),
        help=("did you mean `{near}`?",),
        reason="`power.demands(..., file = ...)` reads demands of your own, from a file beside the spec.",
    ),
    Entry(
        "PD517",
        "`{file}` should hold {expected}, found {found}",
        label="named here",
        help=('write it with `numpy.savez("{file}", load_re = ..., load_im = ...)`, in per unit',),
        reason=(
            "A file of demands holds two arrays, `load_re` and `load_im`, one row for each demand and one column for "
            "each\n"
            "bus, in per unit."
        ),
    ),
    Entry(
        "PD518",
        "the demands in `{file}` should be finite numbers, found others in {rows}",
        label="named here",
        notes=("{count} of {total} rows",),
        reason="Demands with a NaN or an infinity are named by their rows.",
    ),
    Entry(
        "PD519",
        "{rows} of `{file}` {verb} no optimal power flow within the limits of `{given}`",
        label="named here",
        notes=("{count} of {total} rows",),
        help=("leave these rows out, or raise `iterations` where the solver ran into it",),
        reason="The rows named have no optimal power flow within the limits, so they have no optimum to compare with.",
    ),
    Entry(
        "PD520",
        "`{given}` should be a power grid, it lacks {missing}",
        label="used here",
        help=("declare it with `given {given} = power.case(...)`",),
        reason="What works on power grids needs the sets and fields of one, which `power.case` brings.",
    ),
    Entry(
        "PD521",
        "`{file}` has {tables}, which optimal power flow here does not model",
        label="named here",
        notes=("the optimum may depend on {pronoun}",),
        help=("take {pronoun} out of the file where the optimum is meant without {pronoun}",),
        reason=(
            "Optimal power flow here knows buses, units, branches and their costs. A table that a MATPOWER file holds "
            "beside them (lines of direct\n"
            "current, linear constraints `A`, `l` and `u`, reserves, interface limits) may change the optimum, so it "
            "is not left out in silence. Names,\n"
            "places, fuels and areas are no such tables."
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
            "A piecewise linear cost of a generator is the largest of some lines in its power: `height + slope * p`. A"
            " spec that reads `c0`, `c1` and\n"
            "`c2` alone would let such a generator run for nothing. It declares `set piece` and `height, slope: "
            "real[gen, piece]` as well, as the shipped `opf` does, and adds\n"
            "`max[k in piece](height[g, k] + slope[g, k] * re(s[g]))` to the cost of every generator."
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
        reason="The unit at the reference bus closes the balance.",
    ),
    Entry(
        "PD643",
        "`power.completed` needs the optimal power flow of the demand in `{given}`, it has none",
        notes=("a set point is completed by Newton steps around that optimum", "the solver says {status}"),
        reason="A completed set point needs the optimum of the undisturbed demand as the point to start from.",
    ),
)
