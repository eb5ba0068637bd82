"""Every claim by its name."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.verifying import claims_duals, claims_prices, claims_rows, claims_run, claims_shape
from pdual.verifying.claim import Claim

CLAIMS: Mapping[str, Claim] = {
    claim.name: claim
    for kind in (claims_rows, claims_shape, claims_prices, claims_duals, claims_run)
    for claim in kind.CLAIMS
}
