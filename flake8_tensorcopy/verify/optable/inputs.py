"""The tensors that calls are made with, by symbol: each in several layouts and dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Sym:
    """A tensor to be made afresh for each call, by its name in `SHAPES` or `SPECIAL`."""

    name: str


SHAPES: Final[dict[str, tuple[int, ...]]] = {
    "m": (3, 3),
    "n": (3, 3),
    "o": (3, 3),
    "v": (3,),
    "w": (3,),
    "x": (3,),
    "s": (),
    "t": (),
    "b": (3, 3, 3),
    "c": (3, 3, 3),
    "d": (3, 3, 3),
    "im": (2, 4, 6, 6),
    "im2": (2, 4, 6, 6),
    "vol": (2, 4, 4, 4, 4),
    "one": (1, 1),
    "k1": (4, 4, 3),
    "k2": (4, 4, 3, 3),
    "k3": (4, 4, 3, 3, 3),
    "seq": (2, 4, 6),
    "seq2": (2, 4, 6),
    "four": (4,),
    "v9": (9,),
    "one9": (1, 9),
    "m27": (3, 9),
    "wn": (4,),
    "bn": (4,),
    "v1": (3, 1),
    "h0": (1, 2, 5),
    "c0": (1, 2, 5),
    "wih": (5, 6),
    "whh": (5, 5),
    "bih": (5,),
    "bhh": (5,),
    "gate3": (9, 3),
    "gate4": (12, 3),
    "more3": (9, 3),
    "more4": (12, 3),
    "bias9": (9,),
    "more9": (9,),
    "bias12": (12,),
    "more12": (12,),
    "bias15": (15,),
    "more15": (15,),
    "bias20": (20,),
    "more20": (20,),
    "wih3": (15, 6),
    "whh3": (15, 5),
    "wih4": (20, 6),
    "whh4": (20, 5),
    "theta": (2, 2, 3),
    "grid": (2, 6, 6, 2),
    "grid3": (2, 4, 4, 4, 3),
    "table": (3, 4),
    "square4": (2, 2, 2, 2),
    "m22": (2, 2),
    "blocks": (1, 2, 2),
    "pairs2": (3, 2),
    "folded": (1, 4, 4),
    "logp": (4, 2, 5),
    "unpool1": (2, 4, 3),
    "unpool2": (2, 4, 3, 3),
    "unpool3": (2, 4, 2, 2, 2),
}
SEEDS: Final = {name: seed for seed, name in enumerate(sorted(SHAPES))}
LAYOUTS: Final = ("plain", "transposed", "expanded", "stepped", "double", "int", "bool", "complex", "mixed")
# Tried on the first calls only: a cast to such a type is a no-op for them alone.
MORE_LAYOUTS: Final = (
    "half", "bfloat16", "int32", "int16", "int8", "uint8", "complex128", "complex32", "conjugate",
    "negative",
)  # fmt: skip
# Tried when an option is off its default.
FEW_LAYOUTS: Final = ("plain", "transposed", "double")


class Inputs:
    """The tensors of one call, by symbol, in one layout.  Values lie strictly between 0 and 1 for float dtypes."""

    def __init__(self, layout: str, *, grad: bool = False) -> None:
        self.layout = layout
        self.grad = grad
        self.made: dict[str, Any] = {}
        self.leaves: list[torch.Tensor] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            shape = SHAPES.get(name)
            made = special(name) if shape is None else self._strided(name, shape)
            if name in ("i", "j") and self.layout == "int32":
                made = made.int()
            self.made[name] = self._tracked(made) if self.grad else made
        return self.made[name]

    def _tracked(self, made: Any) -> Any:
        """A tensor that requires grad but is no leaf, so that in-place ops are allowed."""
        import torch

        plain = isinstance(made, torch.Tensor) and made.layout != torch._mkldnn and not made.is_quantized
        if not plain or made.requires_grad or not (made.is_floating_point() or made.is_complex()):
            return made
        made.requires_grad_()
        self.leaves.append(made)
        return made.clone()

    def _strided(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        import torch

        generator = torch.Generator().manual_seed(SEEDS[name])

        def rand(*size: int) -> torch.Tensor:
            return torch.rand(size, generator=generator) * 0.8 + 0.1

        match self.layout:
            case "transposed":
                made = rand(*reversed(shape)).permute(tuple(reversed(range(len(shape)))))
            case "expanded" if shape:
                made = rand(*shape[:-1], 1).expand(shape)
            case "stepped" if shape:
                made = rand(*shape[:-1], shape[-1] * 2)[..., ::2]
            case "double":
                made = rand(*shape).double()
            case "mixed" if self.made:
                made = rand(*shape).double()
            case "int":
                made = torch.randint(0, 3, shape, generator=generator)
            case "bool":
                made = torch.randint(0, 2, shape, generator=generator).bool()
            case "complex":
                made = torch.complex(rand(*shape), rand(*shape))
            case "conjugate":
                made = torch.complex(rand(*shape), rand(*shape)).conj()
            case "negative":
                # What `imag` of a conjugate is: a float tensor with its negative bit set.
                made = torch.complex(rand(*shape), rand(*shape)).conj().imag
            case "half" | "bfloat16" | "complex128" | "complex32":
                made = rand(*shape).to(getattr(torch, self.layout))
            case "int32" | "int16" | "int8" | "uint8":
                made = (rand(*shape) * 4).to(getattr(torch, self.layout))
            case _:
                made = rand(*shape)
        return made


def special(name: str) -> Any:
    """Inputs that have one layout only."""
    import numpy
    import torch

    match name:
        case "i":
            return torch.tensor([0, 2, 1])
        case "j":
            return torch.tensor([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
        case "k":
            return torch.tensor([[True, False, True], [False, True, False], [True, True, False]])
        case "kv":
            return torch.tensor([True, False, True])
        case "z":
            return torch.complex(torch.rand(3, 3), torch.rand(3, 3))
        case "spd":
            return torch.eye(3) * 3 + 0.1
        case "sp":
            return torch.eye(3).to_sparse()
        case "csr":
            return torch.eye(3).to_sparse_csr()
        case "array":
            return numpy.ones((3, 3), dtype=numpy.float32)
        case "buffer":
            return bytearray(16)
        case "quantized":
            return torch.quantize_per_tensor(torch.rand(3, 3), 0.1, 0, torch.quint8)
        case "perchannel":
            scales, zeros = torch.full((3,), 0.1), torch.zeros(3).long()
            return torch.quantize_per_channel(torch.rand(3, 3), scales, zeros, 0, torch.quint8)
        case "csc":
            return torch.eye(3).to_sparse_csc()
        case "sp2":
            return torch.ones(3, 3).to_sparse()
        case "repeated":
            return torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (3, 3))
        case "nested":
            return torch.nested.nested_tensor([torch.rand(2), torch.rand(3)])
        case "loss":
            return (torch.rand(3, requires_grad=True) * 2).sum()
        case "leaf":
            return torch.rand(3, requires_grad=True)
        case "spectrum":
            return torch.stft(torch.rand(12), 4, window=torch.ones(4), return_complex=True)
        case "lu":
            return torch.linalg.lu_factor(torch.eye(3) * 3 + 0.1)[0]
        case "pivots":
            return torch.linalg.lu_factor(torch.eye(3) * 3 + 0.1)[1]
        case "labels":
            return torch.tensor([[1, 2], [2, 3]])
        case "len4":
            return torch.tensor([4, 4])
        case "len2":
            return torch.tensor([2, 2])
        case "offsets":
            return torch.tensor([0, 2])
        case "mean":
            return torch.zeros(4)
        case "var":
            return torch.ones(4)
        case "scales":
            return torch.full((3,), 0.1)
        case "zeros":
            return torch.zeros(3).long()
        case "lengths":
            return torch.tensor([1, 2])
        case "rows":
            return torch.tensor([0, 1, 2, 3])
        case "pointers":
            return torch.tensor([0, 1])
        case "pairs":
            return torch.tensor([[0, 1, 2], [2, 1, 0]])
        case "places1":
            return torch.arange(3).mul(2).expand(2, 4, 3).contiguous()
        case "places2":
            return torch.arange(9).repeat(8).reshape(2, 4, 3, 3)
        case "places3":
            return torch.arange(8).repeat(8).reshape(2, 4, 2, 2, 2)
        case "on":
            return torch.ones(1)
        case "off":
            return torch.zeros(1)
        case "lowest":
            return torch.full((1,), -1.0)
        case "highest" | "scale":
            return torch.full((1,), 1.0)
        case "point":
            return torch.zeros(1, dtype=torch.int32)
        case "edges":
            return torch.tensor([0.0, 0.5, 1.0])
        case "ldl":
            return torch.linalg.ldl_factor(torch.eye(3) * 3 + 0.1)[0]
        case "order":
            return torch.linalg.ldl_factor(torch.eye(3) * 3 + 0.1)[1]
        case "halves" | "halves2":
            return torch.rand(2, 16, 16).bfloat16()
        case "eighths":
            return torch.rand(16, 16).to(torch.float8_e4m3fn)
        case "eighths2":
            return torch.rand(16, 16).to(torch.float8_e4m3fn).t()
        case "bytes3":
            return torch.ones(3, 3, dtype=torch.int8)
        case "spd9":
            return torch.eye(9) * 3 + 0.1
        case "withgrad":
            made = torch.rand(3, 3)
            made.grad = torch.rand(3, 3)
            return made
        case _:
            raise KeyError(name)


SPECIAL: Final = (
    "i", "j", "k", "kv", "z", "spd", "sp", "csr", "array", "buffer", "quantized", "withgrad", "perchannel", "csc",
    "sp2", "repeated", "nested", "loss", "leaf", "spectrum", "lu", "pivots", "labels", "len4", "len2", "offsets",
    "mean", "var", "scales", "zeros", "lengths", "rows", "pointers", "pairs", "places1", "places2", "places3", "spd9",
    "on", "off", "lowest", "highest", "scale", "point", "edges", "ldl", "order", "halves", "halves2", "eighths",
    "eighths2", "bytes3",
)  # fmt: skip


def resolve(value: Any, inputs: Inputs) -> Any:
    """`value` with its symbols replaced by tensors."""
    match value:
        case Sym(name):
            return inputs[name]
        case list():
            return [resolve(item, inputs) for item in value]
        case tuple():
            return tuple(resolve(item, inputs) for item in value)
        case _:
            return value
