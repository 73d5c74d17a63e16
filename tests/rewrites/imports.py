"""The same names of other modules, imported in another way."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

_MODULES = frozenset(
    "torch torch.autograd torch.cuda torch.distributions torch.func torch.linalg torch.nn torch.nn.functional "
    "torch.nn.init torch.nn.utils torch.optim torch.utils torch.utils.data numpy copy math".split()
)


def aliased(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """`import torch as m0q`, `from torch import nn as m1q`: each module and each name under a name of its own."""
    table: dict[str, str] = {}
    for node in _imports(tree):
        for alias in node.names:
            name = alias.asname or alias.name
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not future and not (isinstance(node, ast.Import) and "." in name):  # which binds its first part only
                alias.asname = table.setdefault(name, _plain(name, len(table)))
    return _renamed(tree, table)


def in_full(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """`torch.nn.functional.relu(x)` for `F.relu(x)`, with a plain `import`."""
    table: dict[str, str] = {}
    for node in _imports(tree):
        if isinstance(node, ast.ImportFrom) and node.module in _MODULES:
            table |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            node.names = [ast.alias(node.module)]
            node.__class__ = ast.Import  # type: ignore[assignment]
        elif isinstance(node, ast.Import):
            table |= {alias.asname: alias.name for alias in node.names if alias.asname}
            node.names = [ast.alias(alias.name) for alias in node.names]
    return _renamed(tree, table)


def by_their_names(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """`from torch import clone`, and `clone(x)` for `torch.clone(x)`, unless the name means something else here."""
    kept = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | set(dir(builtins))
    kept |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    kept |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return _taken(tree, lambda name, number: "" if name in kept else name)


def by_other_names(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """`from torch import clone as m0q`, and `m0q(x)` for `torch.clone(x)`: no module is named any more."""
    return _taken(tree, _plain)


def _taken(tree: ast.Module, rename: Callable[[str, int], str]) -> tuple[str, ast.Module]:
    found = _FromModules(tree, rename)
    tree = found.visit(tree)
    at = next(place for place, node in enumerate(tree.body) if isinstance(node, (ast.Import, ast.ImportFrom)))
    tree.body[at:at] = [
        ast.ImportFrom(module, [ast.alias(name, new if new != name else None)], 0, lineno=0)
        for (module, name), new in found.names.items()
        if new
    ]
    return ast.unparse(tree) + "\n", tree


class _FromModules(ast.NodeTransformer):
    """Attributes of modules become names of their own."""

    def __init__(self, tree: ast.Module, rename: Callable[[str, int], str]) -> None:
        self.modules: dict[str, str] = {}  # as the file calls them: what they are
        self.names: dict[tuple[str, str], str] = {}
        self.rename = rename
        for node in _imports(tree):
            for alias in node.names:
                whole = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
                if whole in _MODULES:
                    self.modules[alias.asname or alias.name] = whole

    def module(self, node: ast.expr) -> str:
        """The module that an expression is, or nothing."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id, "")
        whole = f"{self.module(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""
        return whole if whole in _MODULES else ""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        module = self.module(node.value)
        if not module or f"{module}.{node.attr}" in _MODULES:
            return self.generic_visit(node)
        key = (module, node.attr)
        if key not in self.names:
            new = self.rename(node.attr, len(self.names))
            self.names[key] = "" if new in self.names.values() else new
        return ast.Name(self.names[key], node.ctx) if self.names[key] else node


def _plain(name: str, number: int) -> str:
    return f"{'M' if name[:1].isupper() else 'm'}{number}q"


def _renamed(tree: ast.Module, table: dict[str, str]) -> tuple[str, ast.Module]:
    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(table[node.id], mode="eval").body if node.id in table else node

    tree = Names().visit(tree)
    return ast.unparse(tree) + "\n", tree


def _imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
