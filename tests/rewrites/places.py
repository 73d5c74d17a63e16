"""The same functions in other places: in a class, in the cells of a notebook, further down."""

from __future__ import annotations

import ast


def in_class(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Functions become static methods of one class, and are called on it."""
    return _moved(tree, static=True)


def as_methods(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Functions become methods of one class, and call one another through `self`."""
    return _moved(tree, static=False)


def functions_last(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Functions stand behind everything else, the last one first."""
    last = _movable(tree)
    tree.body = [*(node for node in tree.body if node not in last), *reversed(last)]
    return ast.unparse(tree) + "\n", tree


def in_cells(text: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Each top-level statement in a percent cell of its own."""
    starts = {min(node.lineno, *(one.lineno for one in _decorators(node)), node.lineno) for node in tree.body}
    lines = text.splitlines(keepends=True)
    return "".join(("# %%\n" if number in starts else "") + line for number, line in enumerate(lines, 1)), tree


def _moved(tree: ast.Module, static: bool) -> tuple[str, ast.Module]:
    moved = _movable(tree)
    names = {node.name for node in moved}
    for statement in tree.body:
        _Owner(names, "self" if statement in moved and not static else "Holder").visit(statement)
    for node in moved:
        if static:
            node.decorator_list.insert(0, ast.Name("staticmethod", ast.Load()))
        else:
            node.args.args.insert(0, ast.arg("self"))
    if moved:
        holder = ast.ClassDef("Holder", [], [], list[ast.stmt](moved), [], lineno=0)
        tree.body = [*(node for node in tree.body if node not in moved), holder]
    return ast.unparse(tree) + "\n", tree


def _movable(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions that nothing needs while the file is read, and whose names mean nothing else in it."""
    taken: set[str] = set()
    for statement in tree.body:
        outside: list[ast.AST] = []
        if isinstance(statement, ast.FunctionDef):
            defaults = [*statement.args.defaults, *statement.args.kw_defaults]
            outside = [*statement.decorator_list, *(one for one in defaults if one is not None)]
        else:
            outside.append(statement)
        taken.update(part.id for one in outside for part in ast.walk(one) if isinstance(part, ast.Name))
    for part in ast.walk(tree):
        if isinstance(part, ast.arg):
            taken.add(part.arg)
        elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            taken.add(part.id)
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name not in taken]


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return node.decorator_list if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []


class _Owner(ast.NodeTransformer):
    """Names of functions become attributes of what holds them."""

    def __init__(self, names: set[str], owner: str) -> None:
        self.names = names
        self.owner = owner

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.names:
            return node
        return ast.Attribute(ast.Name(self.owner, ast.Load()), node.id, ast.Load())
