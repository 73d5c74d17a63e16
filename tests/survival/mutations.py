"""Programs as they look while they are typed, torn or mixed up: a text and a random generator to another text."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
import warnings
from collections.abc import Callable, Sequence
from random import Random

from tests.survival.odd import Writer

# What random programs are made to speak of, so that there is something to follow in them.
NAMES = "torch x y self model b state loss out F nn np weight grad torch.nn torch.no_grad i".split()
ATTRIBUTES = (
    "add_ view clone detach data grad t T copy_ numpy cpu cuda to state_dict load_state_dict parameters backward step "
    "append weight zero_ expand repeat reshape requires_grad shape size item update forward fill_ storage split"
).split()
PRELUDE = (
    "import torch\nimport numpy as np\nfrom torch import nn\nimport torch.nn.functional as F\n"
    "x = y = b = out = weight = torch.zeros(3)\nmodel = nn.Linear(3, 3)\nstate = model.state_dict()\n"
    "loss = model(x).sum()\n"
)
Mutation = Callable[[str, Random, Sequence[str]], str]


def about_torch(text: str, random: Random) -> str:
    """A program whose names become those of tensors and of what they can do."""
    found: dict[str, str] = {}
    parts: list[str] = []
    dotted = False
    for part in re.split(r"(\w+)", text):
        if part.isidentifier() and not keyword.iskeyword(part) and not keyword.issoftkeyword(part):
            pool = ATTRIBUTES if dotted else NAMES
            part = found.setdefault(f".{part}" if dotted else part, random.choice(pool).split(".")[-1])
        dotted = part.endswith(".")
        parts.append(part)
    return PRELUDE + "".join(parts)


def in_function(text: str) -> str:
    """The program as the body of a function of tensors, if that parses."""
    body = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    head = "import torch\nfrom torch import nn\n\n\ndef f(self, x: torch.Tensor, y: torch.Tensor, *b):\n"
    made = f"{head}{body}\n    return x\n"
    return made if parsed(made) is not None else text


def parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd literals
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _lines_lost(text: str, random: Random, others: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    for _ in range(random.randint(1, 4)):
        if lines:
            del lines[random.randrange(len(lines))]
    return "".join(lines)


def _lines_doubled(text: str, random: Random, others: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    for _ in range(random.randint(1, 4)):
        if lines:
            first = random.randrange(len(lines))
            last = min(first + random.randint(1, 5), len(lines))
            lines[first:first] = lines[first:last]
    return "".join(lines)


def _cut(text: str, random: Random, others: Sequence[str]) -> str:
    return text[: random.randrange(len(text) + 1)]


def _half_typed(text: str, random: Random, others: Sequence[str]) -> str:
    """A line that ends in its middle, and all that follows."""
    lines = text.splitlines(keepends=True)
    if lines:
        row = random.randrange(len(lines))
        line = lines[row].rstrip("\n")
        lines[row] = line[: random.randrange(len(line) + 1)] + random.choice(
            ["\n", ".\n", "(\n", " = \n", "[\n", ":\n"]
        )
    return "".join(lines)


def _indented(text: str, random: Random, others: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        first = random.randrange(len(lines))
        last = first + random.randint(1, 6)
        by = random.choice(["    ", "\t", " "])
        lines[first:last] = [by + line if random.random() < 0.7 else line.lstrip() for line in lines[first:last]]
    return "".join(lines)


def _tokens(text: str) -> list[tuple[int, int, str]]:
    """Where the tokens stand that carry meaning, and what they are."""
    starts = [0]
    for line in io.StringIO(text, newline="\n"):
        starts.append(starts[-1] + len(line))
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
            if token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP):
                start = starts[token.start[0] - 1] + token.start[1]
                end = starts[token.end[0] - 1] + token.end[1]
                found.append((start, end, token.string))
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass
    return found


def _spliced(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _tokens_swapped(text: str, random: Random, others: Sequence[str]) -> str:
    tokens = _tokens(text)
    if len(tokens) < 3:
        return text
    at = random.randrange(len(tokens) - 1)
    other = at + 1 if random.random() < 0.5 else random.randrange(len(tokens))
    (a, b, one), (c, d, two) = tokens[at], tokens[other]
    return text if at == other else _spliced(text, [(a, b, two), (c, d, one)])


def _names_swapped(text: str, random: Random, others: Sequence[str]) -> str:
    names = [token for token in _tokens(text) if token[2].isidentifier() and not keyword.iskeyword(token[2])]
    if not names:
        return text
    edits = {random.choice(names): random.choice(names)[2] for _ in range(random.randint(1, 8))}
    return _spliced(text, [(start, end, new) for (start, end, _), new in edits.items()])


def _place(text: str, node: ast.AST) -> tuple[int, int]:
    """Where a node stands in a text without letters beyond ASCII."""
    starts = [0]
    for line in io.StringIO(text, newline="\n"):
        starts.append(starts[-1] + len(line))
    assert isinstance(node, (ast.expr, ast.stmt))
    return (
        starts[node.lineno - 1] + node.col_offset,
        starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
    )


def _expressions(text: str) -> list[ast.expr]:
    tree = parsed(text) if text.isascii() and not {"\r", "\f"} & {*text} else None
    nodes = ast.walk(tree) if tree is not None else ()
    return [node for node in nodes if isinstance(node, ast.expr) and hasattr(node, "lineno")]


def _expressions_exchanged(text: str, random: Random, others: Sequence[str]) -> str:
    """Parts of expressions become parts of other expressions, of this program and of others."""
    for _ in range(random.randint(1, 6)):
        donor = random.choice(others) if others and random.random() < 0.6 else text
        given, places = _expressions(donor), _expressions(text)
        if not given or not places:
            return text
        start, end = _place(donor, random.choice(given))
        new = donor[start:end]
        where = random.choice(places)
        if not isinstance(getattr(where, "ctx", None), (ast.Store, ast.Del)) and random.random() < 0.7:
            new = f"({new})"
        start, end = _place(text, where)
        made = text[:start] + new + text[end:]
        if parsed(made) is not None:
            text = made
    return text


def _made_odd(text: str, random: Random, others: Sequence[str]) -> str:
    """Expressions become ones that nobody expects there."""
    for _ in range(random.randint(1, 4)):
        places = _expressions(text)
        if not places:
            return text
        where = random.choice(places)
        writer = Writer(random)
        new = writer.target() if isinstance(getattr(where, "ctx", None), (ast.Store, ast.Del)) else writer.expression(2)
        start, end = _place(text, where)
        made = text[:start] + new + text[end:]
        if parsed(made) is not None:
            text = made
    return text


def _given_otherwise(text: str, random: Random, others: Sequence[str]) -> str:
    """Calls get fewer, more or other arguments, by position, by name and from what is unpacked."""
    for _ in range(random.randint(1, 4)):
        calls = [node for node in _expressions(text) if isinstance(node, ast.Call)]
        if not calls:
            return text
        call = random.choice(calls)
        parts = [ast.unparse(one) for one in call.args]
        names = [ast.unparse(ast.Call(ast.Name("f"), [], [one]))[2:-1] for one in call.keywords]
        for _ in range(random.randint(1, 2)):
            match random.randrange(6):
                case 0:
                    parts, names = [], names if random.random() < 0.5 else []
                case 1 if parts:
                    del parts[random.randrange(len(parts))]
                case 2 if parts and not parts[-1].startswith("*"):
                    names.append(f"{random.choice(_KEYWORDS)}={parts.pop()}")
                case 3:
                    parts.insert(random.randint(0, len(parts)), random.choice(("*x", "*()", "-1", "None", "...", "()")))
                case 4:
                    names.append(random.choice(("**y", "**{}", f"{random.choice(_KEYWORDS)}={random.choice(_GIVEN)}")))
                case _:
                    random.shuffle(parts)
        start, end = _place(text, call)
        made = f"{text[:start]}{ast.unparse(call.func)}({', '.join([*parts, *names])}){text[end:]}"
        if parsed(made) is not None:
            text = made
    return text


_KEYWORDS = ("dim", "input", "other", "out", "size", "tensors", "index", "source", "dtype", "device", "copy", "self")
_GIVEN = ("None", "True", "x", "0", "[]", "(1,)", "'cpu'", "torch.float16")


def _wrapped(text: str, random: Random, others: Sequence[str]) -> str:
    """An expression gets something around it, once or deep."""
    places = _expressions(text)
    if not places:
        return text
    for _ in range(5):
        start, end = _place(text, random.choice(places))
        before, after = random.choice(_AROUND)
        depth = random.choice([1, 1, 1, 2, 3, 5, 30, 80])
        made = text[:start] + before * depth + text[start:end] + after * depth + text[end:]
        if parsed(made) is not None:
            return made
    return text


_AROUND = [
    ("(", ")"),
    ("[", "]"),
    ("(", ",)"),
    ("{1: ", "}"),
    ("(yield ", ")"),
    ("(await ", ")"),
    ("(lambda: ", ")"),
    ("(zz := ", ")"),
    ("torch.relu(", ")"),
    ("(not ", ")"),
    ("-", ""),
    ("~", ""),
    ("[", " for zz in x]"),
    ("(", ").clone()"),
    ("(", ").detach()"),
    ("(", ").add_(1)"),
    ("(", ")[0]"),
    ("(", ")[x > 0]"),
    ("(", ").data"),
    ("(", ").to('cuda')"),
    ("(", ").T"),
    ("(", ").view(-1)"),
    ("(x if y else ", ")"),
    ("(", " or x)"),
    ("[*", "]"),
    ("*", ""),
    ("f'{", "}'"),
    ("torch.tensor(", ")"),
    ("nn.Parameter(", ")"),
    ("list(", ")"),
    ("{**", "}"),
    ("super().forward(", ")"),
]


def _statement_moved(text: str, random: Random, others: Sequence[str]) -> str:
    """A statement goes to, or comes from, another place, with the indentation of that place."""
    donor = random.choice(others) if others and random.random() < 0.4 else text
    here, there = _statements(text), _statements(donor)
    if not here or not there:
        return text
    moved, before = random.choice(there), random.choice(here)
    lines = donor.splitlines(keepends=True)[_first(moved) - 1 : moved.end_lineno]
    old, new = " " * moved.col_offset, " " * before.col_offset
    block = [new + line.removeprefix(old) for line in lines]
    made = text.splitlines(keepends=True)
    made[_first(before) - 1 : _first(before) - 1] = block
    result = "".join(made)
    return result if parsed(result) is not None else text


def _block_added(text: str, random: Random, others: Sequence[str]) -> str:
    """A statement goes under a head of its own."""
    statements = _statements(text)
    if not statements:
        return text
    for _ in range(5):
        one = random.choice(statements)
        lines = text.splitlines(keepends=True)
        first, last = _first(one) - 1, one.end_lineno or one.lineno
        outer = " " * one.col_offset
        head, tail = random.choice(_HEADS)
        inside = [f"    {line}" for line in lines[first:last]]
        lines[first:last] = [f"{outer}{head}\n", *inside, *(f"{outer}{line}\n" for line in tail.split("\n") if line)]
        made = "".join(lines)
        if parsed(made) is not None:
            return made
    return text


_HEADS = [
    ("if x.sum():", ""),
    ("if y:", "else:\n    x = y"),
    ("for i in range(3):", ""),
    ("for x in y:", "else:\n    b = x"),
    ("while True:", ""),
    ("while x.any():", "else:\n    x += 1"),
    ("with torch.no_grad():", ""),
    ("with torch.inference_mode() as b, x:", ""),
    ("async with x as y:", ""),
    ("async for x in y:", ""),
    ("try:", "except (ValueError, E) as x:\n    x = y\nelse:\n    y = x\nfinally:\n    x += 1"),
    ("try:", "except* E:\n    pass"),
    ("def inner(x, *y, b=x, **z):", "inner(x)"),
    ("async def inner(x):", "b = await inner(x)"),
    ("class Inner(nn.Module):", "Inner().x = x"),
    ("match x:\n    case [x, *y] | {'b': x, **y} if y:", ""),
]


def _statements(text: str) -> list[ast.stmt]:
    """Those that stand on lines of their own."""
    tree = parsed(text) if text.isascii() and not {"\r", "\f"} & {*text} else None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree is not None else []
    lines = text.splitlines()
    return [node for node in nodes if not lines[node.lineno - 1][: node.col_offset].strip()]


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


MUTATIONS: dict[str, Mutation] = {
    "lines lost": _lines_lost,
    "lines doubled": _lines_doubled,
    "cut": _cut,
    "half typed": _half_typed,
    "indented": _indented,
    "tokens swapped": _tokens_swapped,
    "names swapped": _names_swapped,
    "expressions exchanged": _expressions_exchanged,
    "expression made odd": _made_odd,
    "given otherwise": _given_otherwise,
    "expression wrapped": _wrapped,
    "statement moved": _statement_moved,
    "block added": _block_added,
}


def mutated(text: str, random: Random, others: Sequence[str]) -> tuple[str, str]:
    """A kind and a text that came of one to three mutations."""
    kind = ""
    for _ in range(random.choice([1, 1, 2, 3])):
        kind = random.choice(list(MUTATIONS))
        text = MUTATIONS[kind](text, random, others)
    return kind, text
