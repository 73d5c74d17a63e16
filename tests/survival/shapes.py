"""Programs that are deep, wide or long in one way each: a name, and the text of a size."""

from __future__ import annotations

from collections.abc import Callable

HEAD = "import torch\n\n\n"
KNOWN = "\n\ndef known(x: torch.Tensor) -> torch.Tensor:\n    return x.clone().detach()\n"
_BODY = "    b = x\n    x += 1\n    return b - x, x.clone().detach()\n"


def function(*statements: str) -> str:
    """A module with a finding of its own at its end, and a function with one that also holds the statements."""
    inside = "".join(f"    {statement}\n" for statement in statements)
    return f"{HEAD}def f(x: torch.Tensor, y: torch.Tensor):\n    b = x\n    x += 1\n{inside}{_BODY}{KNOWN}"


def _nested(before: str, after: str, inside: str = "x") -> Callable[[int], str]:
    return lambda size: function(f"z = {before * size}{inside}{after * size}")


def _row(part: str, between: str, before: str = "z = ", after: str = "") -> Callable[[int], str]:
    return lambda size: function(before + between.join([part] * size) + after)


def _numbered(part: str, between: str, before: str, after: str) -> Callable[[int], str]:
    return lambda size: function(before + between.join(part.replace("#", str(n)) for n in range(size)) + after)


def _lines(*parts: str) -> Callable[[int], str]:
    return lambda size: function(*[part.replace("#", str(n)) for n in range(size) for part in parts])


def _blocks(head: str, inside: str = "x.add_(1)", after: tuple[str, ...] = ()) -> Callable[[int], str]:
    """`after` closes each block, from the innermost outwards."""

    def build(size: int) -> str:
        down = [" " * n + line for n in range(size) for line in head.split("\n")]
        up = [" " * n + line for n in reversed(range(size)) for line in after]
        return function(*down, " " * size + inside, *up)

    return build


def _pattern(before: str, after: str, inside: str = "c") -> Callable[[int], str]:
    return lambda size: function(
        f"match y:\n        case {before * size}{inside}{after * size}:\n            x = y.t()"
    )


def _module(text: Callable[[int], str]) -> Callable[[int], str]:
    return lambda size: HEAD + text(size) + KNOWN


def _functions(size: int) -> str:
    lines = [f"{' ' * n}def f{n}(x: torch.Tensor):\n{' ' * (n + 1)}b = x\n" for n in range(size)]
    return "".join(lines) + f"{' ' * size}x.add_(1)\n{' ' * size}return b - x\n"


def _classes(size: int) -> str:
    heads = "".join(f"{' ' * n}class C{n}:\n" for n in range(size))
    return heads + "".join(
        " " * size + line + "\n" for line in ("def f(self, x: torch.Tensor):", " b = x", " x += 1", " return b - x")
    )


def _methods(size: int) -> str:
    return "class A(torch.nn.Module):\n" + "".join(
        f"    def f{n}(self, x: torch.Tensor):\n"
        f"        self.x{n} = x\n        x += 1\n        return self.f{n + 1}(x)\n"
        for n in range(size)
    )


def _class_with(statement: Callable[[int], str]) -> Callable[[int], str]:
    """A class whose own statements hold a finding, and that has something deep in another place."""

    def build(size: int) -> str:
        return (
            HEAD
            + "class A:\n    q = torch.zeros(1)\n    w = q\n    w += 1\n    print(q, q.clone().detach())\n"
            + f"{statement(size)}\n"
            + KNOWN
        )

    return build


def _signature(text: Callable[[int], str]) -> Callable[[int], str]:
    """`text` is all that stands before the colon of a function of `x`."""
    return lambda size: f"{HEAD}{text(size)}:\n{_BODY}{KNOWN}"


# As deep as the size: brackets, and what nests without any.
DEEP: dict[str, Callable[[int], str]] = {
    "parentheses": _nested("(", ")"),
    "lists": _nested("[", "]"),
    "tuples": _nested("(", ",)"),
    "dicts": _nested("{1: ", "}"),
    "calls": _nested("torch.relu(", ")"),
    "keywords": _nested("f(a=", ")"),
    "method_calls": _nested("x.add(", ")"),
    "indices": _nested("x[", "]", "0"),
    "awaits": _module(
        lambda size: (
            f"async def f(x: torch.Tensor):\n    z = {'(await ' * size}x{')' * size}\n    b = x\n    x += z\n"
            "    return b - x\n"
        )
    ),
    "yields": _nested("(yield ", ")"),
    "walrus": _nested("(c := ", ")"),
    "lambdas": _nested("lambda a=x: ", ""),
    "lambda_defaults": _nested("(lambda a=", ": a)"),
    "comprehended": _nested("[x for x in ", "]"),
    "comprehensions": _nested("[", " for x in x]"),
    "generators": _nested("list(", " for x in x)"),
    "stars": _nested("[*", "]"),
    "powers": _nested("2 ** ", ""),
    "nots": _nested("not ", ""),
    "signs": _nested("-", ""),
    "conditionals": _nested("x if y else ", ""),
    "attributes": lambda size: function("z = x" + ".data" * size),
    "method_chain": lambda size: function("z = x" + ".t()" * size),
    "subscripts": lambda size: function("z = x" + "[0]" * size, "x" + "[0]" * size + " += 1"),
    "target": lambda size: function("(" * size + "c" + ",)" * size + " = x"),
    "deleted": lambda size: function("c = x", "del " + "(" * size + "c" + ",)" * size),
    "patterns": _pattern("[", "]"),
    "pattern_tuples": _pattern("(", ",)"),
    "pattern_groups": _pattern("(", ")"),
    "pattern_classes": _pattern("A(", ")"),
    "pattern_dicts": _pattern("{1: ", "}"),
    "ifs": _blocks("if y.sum():"),
    "elses": _blocks("if y.sum():\n x = y\nelse:"),
    "fors": _blocks("for i in x:"),
    "whiles": _blocks("while y.sum():", after=("else:", " x = y")),
    "withs": _blocks("with torch.no_grad():"),
    "tries": _blocks("try:", after=("except ValueError:", " x = y")),
    "finals": _blocks("try:", after=("finally:", " x = y")),
    "functions": _module(_functions),
    "classes": _module(_classes),
    "default": _signature(lambda size: f"def f(x: torch.Tensor, d={'[' * size}1{']' * size})"),
    "default_sum": _signature(lambda size: f"def f(x: torch.Tensor, d={' + '.join(['1'] * size)})"),
    "annotation": _signature(lambda size: f"def f(x: torch.Tensor, d: {'A[' * size}B{']' * size})"),
    "annotation_text": _signature(lambda size: f"def f(x: torch.Tensor, d: '{'A[' * size}B{']' * size}')"),
    "annotation_choice": _signature(lambda size: f"def f(x: torch.Tensor, d: '{' | '.join(['A'] * size)}')"),
    "returns": _signature(lambda size: f"def f(x: torch.Tensor) -> {'A[' * size}B{']' * size}"),
    "decorator": _signature(lambda size: f"@d({'[' * size}1{']' * size})\ndef f(x: torch.Tensor)"),
    "decorator_sum": _signature(lambda size: f"@d({' + '.join(['1'] * size)})\ndef f(x: torch.Tensor)"),
    "base": _class_with(lambda size: f"    class B({'f(' * size}A{')' * size}):\n        pass"),
    "in_class": _class_with(lambda size: f"    z = {'[' * size}1{']' * size}"),
    "in_method": _class_with(lambda size: f"    def g(self):\n        return {'[' * size}1{']' * size}"),
    "sum_in_method": _class_with(lambda size: f"    def g(self):\n        return {' + '.join(['1'] * size)}"),
    "sum": _row("x", " + "),
    "sum_of_texts": _row("'torch'", " + "),
    "dotted_import": _module(lambda size: f"import {'.'.join(['a'] * size)}\n"),
}
# As long as the size in one place, and no deeper for it.
WIDE: dict[str, Callable[[int], str]] = {
    "disjunction": _row("x", " or "),
    "comparison": _row("x", " < "),
    "texts": _row("'torch'", "\n         ", "z = (", ")"),
    "formatted": _row("f'{x}'", "\n         ", "z = (", ")"),
    "fields": _row("{x:{y}}", "", "z = f'", "'"),
    "module_texts": _module(lambda size: "z = (" + "'abc'\n     " * size + ")\n"),
    "class_texts": _class_with(lambda size: "    z = (" + "'abc'\n         " * size + ")"),
    "list": _row("x", ", ", "z = [", "]"),
    "dict": _numbered("'k#': #", ", ", "z = {", "}"),
    "dict_of_views": _numbered("'k#': x[#]", ", ", "z = {", "}"),
    "module_dict": _module(lambda size: "z = {" + ",\n".join(f"'k{n}': torch.zeros({n})" for n in range(size)) + "}\n"),
    "iterations": _row(" for x in x", "", "z = [x", "]"),
    "filters": _row(" if x", "", "z = [x for x in x", "]"),
    "slices": _row("1:2", ", ", "z = x[", "]"),
    "stars": _row("*x", ", ", "f(", ")"),
    "keywords": _numbered("a#=x", ", ", "f(", ")"),
    "targets": _row("z", " = ", "", " = x"),
    "unpacked": _numbered("a#", ", ", "", " = x"),
    "deleted": _numbered("x[#]", ", ", "del ", ""),
    "managers": _row("x as z", ", ", "with ", ":\n        pass"),
    "choices": _numbered("#", " | ", "match y:\n        case ", ":\n            x = y"),
    "names": _numbered("g#", ", ", "global ", ""),
    "handlers": _numbered(
        "except E#:\n        x = y", "\n    ", "try:\n        x += 1\n    ", "\n    finally:\n        y = x"
    ),
    "one_line": _row("x += 1", "; ", ""),
    "statements": _lines("x = x + 1"),
    "writes": _lines("x += 1"),
    "names_for_one": _lines("a# = x"),
    "views": _lines("a# = x.view(#)", "a#.add_(1)"),
    "asserts": _lines("assert x, y"),
    "blocks_with": _lines("with torch.no_grad():\n        x += 1"),
    "blocks_try": _lines("try:\n        x += 1\n    except E#:\n        x = y"),
    "blocks_for": _lines("for i in y:\n        x = y\n        y = x.t()"),
    "comments": lambda size: function(*["# torch"] * size),
    "empty_lines": _lines(""),
    "backslashes": lambda size: function("z = x" + " \\\n" * size + " + 1"),
    "decorators": _signature(lambda size: "@torch.no_grad()\n" * size + "def f(x: torch.Tensor)"),
    "parameters": _signature(lambda size: f"def f(x: torch.Tensor, {', '.join(f'a{n}=1' for n in range(size))})"),
    "methods": _module(_methods),
    "functions": _module(
        lambda size: "\n".join(
            f"def f{n}(x: torch.Tensor):\n    b = x\n    x += 1\n    return b - x, f{n + 1}(x)\n" for n in range(size)
        )
    ),
    "imported": _module(lambda size: f"from torch import {', '.join(f'a{n}' for n in range(size))}\n"),
    "name": lambda size: function("a" * size + " = x", "a" * size + " += 1"),
    "text": lambda size: function(f"z = '{'a' * size}'"),
    "number": lambda size: function(f"z = x[0x{'1' * size}]"),
}
# Known to grow with the square of the size.
BRANCHES: dict[str, Callable[[int], str]] = {
    "elifs": _numbered("if y.sum() > #:\n        x = y.t()", "\n    el", "", ""),
    "ifs": _lines("if y > #:\n        x = y\n        y = x"),
    "cases": _numbered("case #:\n            x = y.t()", "\n        ", "match y:\n        ", ""),
}
