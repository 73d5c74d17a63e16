"""Random torch programs: a Hypothesis strategy that draws source text, and how often each construct stands in it.

A program is a module with a few imports, perhaps local functions or a small class, and one function `program` whose
parameters are annotated: tensors, at times a list or a dict of them, and flags.  What the grammar writes is typed: it
knows the shape of every name, so a program runs to its end in torch for contiguous arguments.

One strategy draws all the choices of a program at once, as bytes; `write` reads them one by one.  That costs a
thousandth of a draw for each choice, and nothing else that is imported has a say in what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flake8_tensorcopy.verify.programs.bindings import (
    alias,
    alias_of_container,
    append,
    bind_array,
    bind_copy,
    bind_detached,
    bind_dict,
    bind_expanded,
    bind_from_array,
    bind_list,
    bind_maybe,
    bind_object,
    bind_tuple,
    bind_view,
    chained,
    comprehension,
    starred,
    store_item,
    swap,
    ternary,
    unpack_parts,
    use_object,
    walrus,
)
from flake8_tensorcopy.verify.programs.effects import (
    array_write,
    augmented,
    call,
    call_with_list,
    call_with_two,
    data_write,
    functional,
    in_place,
    in_place_call,
    in_place_result,
    inner_function,
    out_argument,
    read,
    read_array,
    read_list,
    slice_assignment,
)
from flake8_tensorcopy.verify.programs.expressions import reading, test
from flake8_tensorcopy.verify.programs.writer import SIDE, SIZE, Program, Type, Writer


def branch(w: Writer) -> None:
    if w.depth >= 2:
        return in_place(w)
    w.count("if")
    before = dict(w.env)
    fixed, w.fixed = w.fixed, frozenset()
    w.emit(f"if {test(w)}:")
    with w.block():
        body(w, 1 + w.below(3))
    if w.chance(45):
        w.count("else")
        one = w.env
        w.env = dict(before)
        w.emit("else:")
        with w.block():
            body(w, 1 + w.below(2))
        w.env = {name: known for name, known in one.items() if w.env.get(name) == known}
    elif w.chance(15) and not w.loops:
        w.lines[-1:] = [w.lines[-1], "    " * (w.indent + 1) + f"return {reading(w)}"]
        w.count("early return")
        w.env = before
    w.fixed = fixed
    return None


def loop(w: Writer) -> None:
    if w.depth >= 2 or w.loops >= 1:
        return in_place(w)
    w.count("for")
    w.emit(f"for step in range({w.pick((2, 2, 2, 3))}):")
    w.loops += 1
    with w.block(keep=True):
        body(w, 2 + w.below(3))
    w.loops -= 1
    return None


def while_loop(w: Writer) -> None:
    if w.depth >= 2 or w.loops >= 1:
        return in_place(w)
    w.count("while")
    counter = f"count_{w.number}"
    w.emit(f"{counter} = 0")
    w.emit(f"while {counter} < 2:")
    w.loops += 1
    with w.block(keep=True):
        body(w, 1 + w.below(3))
        w.emit(f"{counter} += 1")
    w.loops -= 1
    return None


def loop_over(w: Writer) -> None:
    if w.depth >= 2 or w.loops >= 1:
        return in_place(w)
    names = [name for name in w.names("list") if not w.env[name].expanded and w.env[name].length > 1]
    if names and w.chance(60):
        text = w.recent(names)
        shape = w.env[text].shape
        w.count("loop over a list")
    else:
        text, known = w.tensor(write=True)
        if len(known.shape) < 2 or known.shape[0] < 2:
            return loop(w)
        shape = known.shape[1:]
        w.count("loop over a tensor")
    name = w.new(Type("tensor", shape))
    w.emit(f"for {name} in {text}:")
    w.loops += 2  # no list may grow
    with w.block():
        w.bind(name, Type("tensor", shape, contiguous=False))
        body(w, 1 + w.below(2))
    w.loops -= 2
    return None


def no_grad(w: Writer) -> None:
    w.count("no_grad")
    w.emit("with torch.no_grad():")
    with w.block(keep=True):
        body(w, 1 + w.below(2))


def attempt(w: Writer) -> None:
    if w.depth >= 1 or "fails" in w.flags:
        return in_place(w)
    w.count("try")
    fixed, w.fixed = w.fixed, frozenset(w.env)
    before = dict(w.env)
    w.flags.add("fails")  # a flag of its own: no other test of the program goes by it
    w.emit("try:")
    with w.block():
        body(w, 1 + w.below(2), SIMPLE)
        w.emit("if fails:")
        w.emit('    raise ValueError("stop")')
    w.env = dict(before)
    w.emit("except ValueError:")
    with w.block():
        body(w, 1 + w.below(2), SIMPLE)
    w.env = before
    w.fixed = fixed
    return None


Statement = Callable[[Writer], None]

SIMPLE: tuple[tuple[int, Statement], ...] = (
    (6, in_place),
    (4, augmented),
    (3, slice_assignment),
    (4, read),
    (3, bind_view),
    (3, alias),
    (2, bind_copy),
)
STATEMENTS: tuple[tuple[int, Statement], ...] = (
    (9, alias),
    (9, bind_view),
    (6, bind_copy),
    (4, bind_maybe),
    (4, bind_detached),
    (1, bind_expanded),
    (3, bind_array),
    (2, bind_from_array),
    (2, bind_tuple),
    (2, swap),
    (2, chained),
    (3, unpack_parts),
    (3, ternary),
    (2, walrus),
    (1, starred),
    (4, bind_list),
    (2, bind_dict),
    (2, bind_object),
    (2, use_object),
    (3, append),
    (3, store_item),
    (2, comprehension),
    (1, alias_of_container),
    (12, in_place),
    (2, in_place_result),
    (6, augmented),
    (5, slice_assignment),
    (2, out_argument),
    (2, functional),
    (2, array_write),
    (1, data_write),
    (9, read),
    (1, read_array),
    (1, read_list),
    (5, call),
    (2, call_with_two),
    (1, call_with_list),
    (1, inner_function),
    (5, branch),
    (4, loop),
    (2, while_loop),
    (2, loop_over),
    (1, no_grad),
    (1, attempt),
)
_WEIGHTED = {id(table): tuple(s for weight, s in table for _ in range(weight)) for table in (SIMPLE, STATEMENTS)}


def body(w: Writer, count: int, table: tuple[tuple[int, Statement], ...] = STATEMENTS) -> None:
    """Some statements; never none."""
    for _ in range(count):
        w.pick(_WEIGHTED[id(table)])(w)


def write(data: bytes) -> Program:
    """The program that these choices make."""
    w = Writer(data)
    parameters = ["x: torch.Tensor", "y: torch.Tensor"]
    square = Type("tensor", (SIDE, SIDE))
    w.bind("x", square)
    w.bind("y", square)
    match w.below(8):
        case 6:
            parameters.append("xs: list[torch.Tensor]")
            w.bind("xs", Type("list", (SIDE, SIDE), length=2, contiguous=False))
            w.count("list argument")
        case 7:
            parameters.append("tensors: dict[str, torch.Tensor]")
            w.bind("tensors", Type("dict", (SIDE, SIDE), keys=("a", "b"), contiguous=False))
            w.count("dict argument")
    body(w, 5 + w.below(9))
    if w.chance(60):
        w.emit(in_place_call(w, *w.tensor(write=True)))
    w.emit(f"return {returned(w)}")
    parameters += [f"{flag}: bool" for flag in ("flag", "other", "inplace", "fails") if flag in w.flags]
    head = sorted({"import torch", *w.imports}, key=lambda line: (line.startswith("from"), line))
    parts = [*head]
    for lines in w.helpers.values():
        parts += ["", "", *lines]
    parts += ["", "", f"def program({', '.join(parameters)}):", *w.lines]
    return Program("\n".join(parts) + "\n", dict(w.counts))


def returned(w: Writer) -> str:
    """What the program returns: a few of its names, or numbers made of them."""
    texts = []
    for _ in range(1 + w.below(3)):
        match w.below(6):
            case 0 if names := [*w.names("list"), *w.names("dict")]:
                w.count("returned container")
                texts.append(w.recent(names))
            case 1 if names := w.names("array"):
                texts.append(f"{w.recent(names)}.sum()")
            case 2 | 3:
                texts.append(reading(w))
            case _:
                texts.append(w.tensor()[0])
    return ", ".join(texts)


def programs() -> Any:
    """The strategy: a `Program` of one draw."""
    from hypothesis import strategies

    return strategies.binary(min_size=SIZE, max_size=SIZE).map(write)
