"""What operations keep for backward, as their rows say; without a run."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from flake8_tensorcopy.engine.ops import Op

# Products keep a factor only if another one requires grad.
_PRODUCTS = frozenset("mul multiply mm bmm mv dot matmul inner outer ger vdot linear * @".split())
# Between two ends, by a weight.
_WEIGHTED = frozenset({"lerp", "lerp_"})
_QUOTIENTS = frozenset("div divide true_divide /".split())
_NORMS = frozenset({"Tensor.norm", "torch.norm", "torch.linalg.norm"})
# Modules by the function that they call.  Those with weights of their own keep what they are given.
ACTIVATIONS = {
    "ReLU": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Softmax": "softmax", "LogSoftmax": "log_softmax",
    "Softmin": "softmin", "GELU": "gelu", "SiLU": "silu", "Mish": "mish", "LeakyReLU": "leaky_relu", "ELU": "elu",
    "SELU": "selu", "CELU": "celu", "Softplus": "softplus", "Hardtanh": "hardtanh", "ReLU6": "relu6",
    "Hardsigmoid": "hardsigmoid", "Hardswish": "hardswish", "LogSigmoid": "logsigmoid", "Softsign": "softsign",
}  # fmt: skip


class Keeps(NamedTuple):
    """What one operation keeps: its result, some operands; `how` says when an operand is."""

    output: bool
    inputs: tuple[int, ...]
    how: str  # product quotient weight own any


# `torch.where(mask, a, b)` keeps the mask.
CHOICE = Keeps(False, (0,), "any")


@cache
def kept_by(op: Op) -> Keeps | None:
    """What the row of an operation says that it keeps."""
    short = op.name.rsplit(".", 1)[-1]
    output = op.saves_output or op.name in _NORMS
    if short in _PRODUCTS:
        return Keeps(output, (0, 1), "product")
    if short in _QUOTIENTS:
        return Keeps(output, (0, 1), "quotient")
    inputs = () if op.many != 1 else op.saves_inputs
    if short in _WEIGHTED:
        return Keeps(output, inputs, "weight")
    if not output and not inputs:
        return None
    return Keeps(output, inputs, "own" if inputs == (0,) and short != "where" else "any")
