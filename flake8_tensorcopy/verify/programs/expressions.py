"""Expressions over one tensor: views, copies, conversions that may copy, and reads."""

from __future__ import annotations

from collections.abc import Callable

from flake8_tensorcopy.verify.programs.writer import Shape, Type, Writer, size


def view(w: Writer, text: str, known: Type) -> tuple[str, Type]:
    """A view of a tensor: the expression and its type."""
    shape = known.shape
    alternatives: list[Callable[[], tuple[str, Type]]] = []
    flat = known.contiguous and not known.expanded

    def made(code: str, new: Shape, contiguous: bool, name: str) -> tuple[str, Type]:
        w.count(name)
        return code, Type("tensor", new, contiguous=contiguous, expanded=known.expanded, float32=known.float32)

    def first_index() -> tuple[str, Type]:
        return made(f"{text}[{w.below(shape[0])}]", shape[1:], flat, "index")

    def first_slice() -> tuple[str, Type]:
        start = w.below(shape[0])
        match w.below(4):
            case 0:
                code, left = f"{text}[:{max(start, 1)}]", max(start, 1)
            case 1:
                code, left = f"{text}[{start}:]", shape[0] - start
            case 2 if shape[0] > 1 and w.chance(40):
                code, left = f"{text}[:-1]", shape[0] - 1
            case _:
                code, left = f"{text}[:]", shape[0]
        return made(code, (left, *shape[1:]), flat, "slice")

    def column() -> tuple[str, Type]:
        if w.chance(50):
            return made(f"{text}[:, {w.below(shape[1])}]", (shape[0], *shape[2:]), False, "slice")
        stop = 1 + w.below(shape[1])
        return made(f"{text}[:, :{stop}]", (shape[0], stop, *shape[2:]), flat and stop == shape[1], "slice")

    def narrow() -> tuple[str, Type]:
        start = w.below(shape[0])
        length = 1 + w.below(shape[0] - start)
        return made(f"{text}.narrow(0, {start}, {length})", (length, *shape[1:]), flat, "narrow")

    if len(shape) >= 2 or (shape and shape[0] > 1):
        alternatives += [first_slice, first_slice, narrow]
    if len(shape) >= 2:
        rest = shape[2:]
        turned = (shape[1], shape[0], *rest)
        alternatives += [
            first_index,
            first_index,
            column,
            lambda: made(f"{text}.select(0, {w.below(shape[0])})", shape[1:], flat, "select"),
            lambda: made(f"{text}.transpose(0, 1)", turned, False, "transpose"),
            lambda: made(f"torch.transpose({text}, 0, 1)", turned, False, "transpose"),
            lambda: (
                made(f"{text}.reshape(-1)", (size(shape),), True, "reshape")
                if flat
                else made(f"{text}.transpose(0, 1)", turned, False, "transpose")
            ),
        ]
    if len(shape) == 2:
        alternatives += [
            lambda: made(f"{text}.t()", (shape[1], shape[0]), False, "transpose"),
            lambda: made(f"{text}.T", (shape[1], shape[0]), False, "transpose"),
            lambda: made(f"{text}.permute(1, 0)", (shape[1], shape[0]), False, "transpose"),
        ]
        if w.chance(30):
            alternatives.append(lambda: made(f"{text}.diagonal()", (min(shape),), False, "diagonal"))
    if flat:
        alternatives += [
            lambda: made(f"{text}.view(-1)", (size(shape),), True, "view"),
            lambda: made(f"{text}.view(1, -1)", (1, size(shape)), True, "view"),
        ]
        if len(shape) == 2:
            alternatives.append(
                lambda: made(f"{text}.view({shape[1]}, {shape[0]})", (shape[1], shape[0]), True, "view")
            )
            alternatives.append(lambda: made(f"{text}.flatten()", (size(shape),), True, "flatten"))
    if len(shape) < 3:
        alternatives.append(lambda: made(f"{text}.unsqueeze(0)", (1, *shape), flat, "unsqueeze"))
    if shape and shape[0] == 1 and len(shape) > 1:
        alternatives.append(lambda: made(f"{text}.squeeze(0)", shape[1:], flat, "squeeze"))
    return w.pick(alternatives)()  # type: ignore[no-any-return]


def copied(w: Writer, text: str, known: Type) -> tuple[str, Type]:
    """A copy of (or something computed from) a tensor."""
    shape = known.shape
    w.count("copy")

    def clone() -> str:
        return f"{text}.clone()"

    def deep() -> str:
        w.imports.add("import copy")
        w.count("deepcopy")
        return f"copy.deepcopy({text})"

    def other() -> str:
        held, _ = w.tensor(shape=shape)
        forms = (f"{text} + {held}", f"torch.where({text} > 1, {text}, {held})", f"torch.mul({text}, {held})")
        return str(w.pick(forms))

    def joined() -> str:
        w.count("cat")
        held, _ = w.tensor(shape=shape)
        return str(w.pick((f"torch.stack([{text}, {held}])[0]", f"torch.cat([{text}, {held}])[:{shape[0]}]")))

    alternatives: list[Callable[[], str]] = [
        clone,
        clone,
        clone,
        lambda: f"{text} + {w.value()}",
        lambda: f"{text} * {w.value()}",
        lambda: f"-{text}",
        lambda: f"torch.abs({text})",
        lambda: f"{text}.detach().clone()",
        lambda: f"{text}.flip(0)",
        lambda: f"torch.zeros_like({text})",
        lambda: f"torch.tensor({text}.tolist())",
        lambda: f"torch.empty_like({text}).copy_({text})",
        lambda: f"{text}[[{', '.join(map(str, range(shape[0])))}]]",
        other,
        joined,
        deep,
    ]
    code = w.pick(alternatives)()
    return code, Type("tensor", shape)


def maybe(w: Writer, text: str, known: Type) -> tuple[str, Type]:
    """A conversion that copies or not, by dtype, device or layout."""
    w.count("maybe copy")
    shape = known.shape
    same = ("float()", "to(torch.float32)", "cpu()", 'to("cpu")', "contiguous()", "type_as(" + text + ")")
    other = ("double()", "to(torch.float64)")
    layout = ("reshape(-1)", "flatten()")
    match w.below(8):
        case 0:
            return f"{text}.{w.pick(other)}", Type("tensor", shape, float32=False)
        case 1 | 2 if shape:
            return f"{text}.{w.pick(layout)}", Type("tensor", (size(shape),), float32=known.float32)
        case 3:
            w.imports.add("import torch.nn.functional as F")
            return f"F.dropout({text}, training=False)", Type("tensor", shape, contiguous=False, float32=known.float32)
        case 4:
            return f"torch.as_tensor({text})", Type("tensor", shape, contiguous=False, float32=known.float32)
    return f"{text}.{w.pick(same)}", Type("tensor", shape, contiguous=False)


def reading(w: Writer) -> str:
    """An expression that reads one or two tensors and makes a number of them."""
    text, known = w.tensor()
    match w.below(5):
        case 0:
            return f"{text}.sum()"
        case 1:
            return f"{text}.mean()"
        case 2:
            held, _ = w.tensor(shape=known.shape)
            return f"({text} - {held}).abs().sum()"
        case 3:
            held, _ = w.tensor()
            return f"{text}.sum() + {held}.max()"
    return f"torch.sum({text} * {w.value()})"


def test(w: Writer) -> str:
    """A test of a flag."""
    flag = w.pick(("flag", "flag", "other"))
    w.flags.add(flag)
    return f"not {flag}" if w.chance(25) else str(flag)
