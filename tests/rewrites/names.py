"""Other names for all that a program names itself, but for names that are evidence."""

from __future__ import annotations

import ast
import builtins
import importlib
import keyword
import pkgutil
import re
from functools import cache

from flake8_tensorcopy import engine
from flake8_tensorcopy.engine import (
    aliases,
    defaults,
    duplicates,
    gradients,
    library,
    mutated,
    ops,
    registration,
    snapshots,
    staleness,
    trained,
)

# The words of names from which the engine concludes something; its regular expressions say the rest.
WORDS = frozenset().union(
    aliases._MODELS,
    defaults.MEANT,
    duplicates._MASKS,
    gradients._KEPT,
    gradients._TELLS,
    library._FROZEN,
    mutated._CHANGES,
    mutated._SAYS_INPLACE,
    registration._HIDES,
    registration._HIDDEN,
    snapshots._BEST,
    snapshots._KEPT,
    staleness.SNAPSHOT_WORDS,
    trained._MEANT,
)
# What a framework calls, sets or looks for by its name.
PROTOCOL = frozenset("self cls forward backward training_step closure collate_fn grad data".split())
# What stands for itself in an expression, or says what a parameter is for.
TOLD = frozenset({"out", "weight", "bias"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def renamed(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Variables, parameters, attributes, functions and classes get names that say nothing."""
    names, attributes = own_names(tree)
    numbers = {name: number for number, name in enumerate(sorted(names | attributes))}
    local = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    renamer = _Renamer(
        {name: _plain(name, numbers[name]) for name in names},
        {name: _plain(name, numbers[name]) for name in attributes},
        local,
    )
    return ast.unparse(renamer.visit(tree)) + "\n", tree


def own_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names, and the attributes, that the program gives itself and that are no evidence."""
    names: set[str] = set()
    attributes: set[str] = set()
    kept = {*dir(builtins), *PROTOCOL, *TOLD}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                names.add(name)
                attributes |= {part.name for part in body if isinstance(part, ast.FunctionDef)}
                attributes |= {part.id for one in body for part in _targets(one) if isinstance(part, ast.Name)}
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                attributes.add(name)
            case ast.Import(names=found) | ast.ImportFrom(names=found):
                kept |= {(alias.asname or alias.name).partition(".")[0] for alias in found}
            case ast.Constant(value=str(said)):  # `getattr(x, "name")`, the name of a buffer, an annotation
                kept |= set(re.findall(r"\w+", said)) if len(said) < 60 else set()
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.Global(names=[name]):
                kept.add(name)
    kept |= {name for name in names | attributes if _dunder(name) or is_evidence(name)}
    kept |= attributes & torch_names()
    return names - kept, attributes - kept


def _targets(node: ast.stmt) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


class _Renamer(ast.NodeTransformer):
    """Renames by one table for names and one for attributes: a name of both has the same new name in both."""

    def __init__(self, names: dict[str, str], attributes: dict[str, str], local: set[str]) -> None:
        self.names = names
        self.attributes = attributes
        self.local = local

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self.attributes.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self.names.get(node.name or "", node.name)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called in self.local:
            for given in node.keywords:
                given.arg = self.names.get(given.arg or "", given.arg)
        return self.generic_visit(node)


def _plain(name: str, number: int) -> str:
    """A name that says nothing: private, in capitals or of a class as the old one is."""
    core = name.strip("_")
    plain = f"Zq{number}v" if core[:1].isupper() else f"zq{number}v"
    return name.replace(core, plain.upper() if core.isupper() else plain)


def _dunder(name: str) -> bool:
    return (name.startswith("__") and name.endswith("__")) or not name.strip("_") or keyword.iskeyword(name)


def is_evidence(name: str) -> bool:
    """Whether the engine may conclude something from that name."""
    words = {word.lower() for word in _WORD.findall(name)} | set(name.lower().split("_"))
    words |= {word.removesuffix("s") for word in words}
    if name in WORDS or not words.isdisjoint(WORDS):
        return True
    return any(pattern.search(form) for pattern in patterns() for form in (name, f"self.{name}", f"{name}.zq"))


@cache
def patterns() -> tuple[re.Pattern[str], ...]:
    """The regular expressions of the engine that ask for words: those of forms find a name that says nothing."""
    modules = pkgutil.iter_modules(engine.__path__, "flake8_tensorcopy.engine.")
    constants = [value for one in modules for value in vars(importlib.import_module(one.name)).values()]
    found = [value for value in constants if isinstance(value, re.Pattern)]
    return tuple(one for one in found if not any(one.search(form) for form in ("zq7v", "Zq7v", "self.zq7v", "ZQ7V")))


@cache
def torch_names() -> frozenset[str]:
    """The names of all operations of torch."""
    return frozenset(part for name in ops.names() for part in name.split("."))
