"""Every claim by its name."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.verifying import claims_duals, claims_rows, claims_run, claims_shape
from pdual.verifying.claim import Claim

CLAIMS: Mapping[str, Claim] = {
    claim.name: claim for claim in (*claims_rows.CLAIMS, *claims_shape.CLAIMS, *claims_duals.CLAIMS, *claims_run.CLAIMS)
}
