"""How each kind of dual is run here, and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass

from programs import Program


@dataclass(frozen=True)
class Kind:
    """A dual, settings that solve every program with it, how many rows are trained on and kept unseen.

    ``relative`` bounds E |lam - lam*| / E |lam*|, on unseen rows where there are any; ``furthest`` the largest |lam - lam*| on train
    rows; ``far`` the mean |x - x*| there; ``gap`` the relative error of the objective and the mean
    violation, on unseen rows too for a model that reads z.
    """

    name: str
    dual: str
    settings: str
    rows: int
    unseen: int
    relative: float
    furthest: float | None
    far: float = 1e-3
    gap: float = 1e-3
    model: str = "free()"

    def serves(self, program: Program) -> bool:
        """Whether the optimal multipliers are in its class."""
        return program.shared or self.name != "shared"


def _descent(rows: int, steps: int) -> str:
    """Gradient descent on all rows at once: a row's own step is 0.01."""
    return f"descent = sgd(lr = {rows / 100}, batch = {rows}, steps = {steps}, momentum = 0.8)"


_ASCENT = "ascent = adam(lr = 5e-3, batch = 64, steps = 60, schedule = cosine(final = 0.01))"
_FIT = "ascent = adam(lr = 1e-2, batch = 64, steps = 300, schedule = cosine(final = 0.01), weight = logistic)"
_NETWORK = "learned(mlp(hidden = [32, 32]), on = r.z, cap = CAP)"

POINTWISE = Kind("pointwise", "pointwise(cap = CAP)", f"outer = 12, {_descent(48, 50)}", 48, 0, 1e-4, 1e-4)
HYBRID = Kind("hybrid", "hybrid(cap = CAP)", f"outer = 16, {_descent(48, 40)}", 48, 0, 1e-3, 5e-3)
SHARED = Kind("shared", "shared(cap = CAP)", f"outer = 12, {_descent(48, 50)}", 48, 16, 1e-4, 1e-4)
LEARNED = Kind("learned", _NETWORK, f"outer = 20, {_descent(256, 30)}, {_ASCENT}", 256, 128, 0.05, None)
#: A formula of a network's outputs, in the shipped specs' form: cap times a sigmoid, tanh for an equality. Neither reaches 0 exactly.
FORMULA = Kind("formula", "formula", f"outer = 20, {_descent(256, 30)}, {_FIT}", 256, 128, 0.05, None)

#: A model that reads z too: x at unseen z is its own. With 64 units and fewer steps it was 1.1e-3 to 1.5e-3 from x* in the mean on three programs.
AMORTISED = Kind(
    "learned, mlp", _NETWORK,
    "outer = 80, descent = adam(lr = 2e-3, batch = 256, steps = 400, schedule = cosine(final = 0.001)), "
    "ascent = adam(lr = 3e-3, batch = 128, steps = 60, schedule = cosine(final = 0.01))",
    4096, 512, 0.05, None, model="mlp(hidden = [128, 128])",
)  # fmt: skip

KINDS = (POINTWISE, HYBRID, SHARED, LEARNED, FORMULA, AMORTISED)
BY_NAME = {kind.name: kind for kind in KINDS}
