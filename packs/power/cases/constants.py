"""The names that MATPOWER gives to columns and kinds: what ``define_constants`` and ``idx_bus`` and its kin stand for."""

from __future__ import annotations

from itertools import chain


def _columns(names: str, first: int = 1) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


#: By function, its results in their order.
INDICES: dict[str, dict[str, int]] = {
    "idx_bus": _columns("PQ PV REF NONE")
    | _columns("BUS_I BUS_TYPE PD QD GS BS BUS_AREA VM VA BASE_KV ZONE VMAX VMIN LAM_P LAM_Q MU_VMAX MU_VMIN"),
    "idx_brch": _columns("F_BUS T_BUS BR_R BR_X BR_B RATE_A RATE_B RATE_C TAP SHIFT BR_STATUS")
    | _columns("PF QF PT QT MU_SF MU_ST", 14)
    | _columns("ANGMIN ANGMAX", 12)
    | _columns("MU_ANGMIN MU_ANGMAX", 20),
    "idx_gen": _columns("GEN_BUS PG QG QMAX QMIN VG MBASE GEN_STATUS PMAX PMIN")
    | _columns("MU_PMAX MU_PMIN MU_QMAX MU_QMIN", 22)
    | _columns("PC1 PC2 QC1MIN QC1MAX QC2MIN QC2MAX RAMP_AGC RAMP_10 RAMP_30 RAMP_Q APF", 11),
    "idx_cost": _columns("PW_LINEAR POLYNOMIAL") | _columns("MODEL STARTUP SHUTDOWN NCOST COST"),
}
#: All of them, as ``define_constants`` assigns them.
DEFINED = dict(chain.from_iterable(names.items() for names in INDICES.values()))
