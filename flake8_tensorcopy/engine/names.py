"""Imports of a module, resolved to qualified names: `F.relu` is `torch.nn.functional.relu`."""

from __future__ import annotations

import ast
from functools import lru_cache

# Where torch or NumPy publish a name a second time.
_SAME = {
    "torch.functional": "torch",
    "torch.tensor": "torch.tensor",
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch._tensor.Tensor": "torch.Tensor",
    "numpy.typing.NDArray": "numpy.ndarray",
}
_PREFIXES = (
    ("torch.nn.modules.", "torch.nn."),
    ("torch.autograd.grad_mode.", "torch."),
    ("torch.functional.", "torch."),
)

# Modules of whose functions the name alone tells something.
_TOLD = ("torch", "numpy", "copy")

# The dtype that a class of tensors says.
TYPED = {
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
}
TENSOR_TYPES = frozenset(f"torch.{name}" for name in ("Tensor", *TYPED)) | {
    "torch.nn.Parameter",
    "torch.nn.UninitializedParameter",
    "torch.autograd.Variable",
}


class Names:
    """Local name -> qualified name, for every import of the file (functions' own imports too)."""

    def __init__(self) -> None:
        self.imported: dict[str, str] = {}
        # Of `from torch import clone as c`: what they are called where they come from.
        self.renamed: dict[str, str] = {}

    def add(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    self.imported[alias.asname] = alias.name
                else:
                    root = alias.name.split(".", 1)[0]
                    self.imported[root] = root
        else:
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    self.imported.setdefault("torch", "torch")  # where nothing binds the name, it comes from there
                self.imported[alias.asname or alias.name] = f"{module}.{alias.name}"
                if alias.asname and alias.asname != alias.name and module.startswith(_TOLD):
                    self.renamed[alias.asname] = alias.name

    def qualify(self, node: ast.expr) -> str | None:
        """The qualified name of a dotted expression whose root is imported."""
        name = node
        while isinstance(name, ast.Attribute):
            name = name.value
        root = self.imported.get(name.id) if isinstance(name, ast.Name) else None
        if root is None:
            return None
        rest = ""
        while isinstance(node, ast.Attribute):
            rest = f".{node.attr}{rest}"
            node = node.value
        return canonical(root + rest)


@lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """One spelling per torch name."""
    if name in _SAME:
        return _SAME[name]
    for prefix, short in _PREFIXES:
        if name.startswith(prefix):
            tail = name[len(prefix) :]
            if prefix == "torch.nn.modules.":
                tail = tail.rsplit(".", 1)[-1]
            return short + tail
    return name
