"""Statements that write or read, and calls of local functions that do."""

from __future__ import annotations

from flake8_tensorcopy.verify.programs.bindings import bind_array, bind_list
from flake8_tensorcopy.verify.programs.expressions import reading, view
from flake8_tensorcopy.verify.programs.writer import Type, Writer

# ----- writes


def operand(w: Writer, known: Type) -> str:
    """What an in-place op adds or multiplies: mostly a number."""
    if w.chance(30):
        held, _ = w.tensor()
        if w.chance(50) or not w.names("tensor", known.shape):
            return f"{held}.mean()"
        held = w.recent(w.names("tensor", known.shape))
        return held if known.contiguous and w.env[held].contiguous else f"{held}.clone()"
    return w.value()


def in_place(w: Writer) -> None:
    text, known = w.tensor(write=True)
    if w.chance(25):
        text, known = view(w, text, known)
    w.emit(in_place_call(w, text, known))


def in_place_call(w: Writer, text: str, known: Type) -> str:
    w.count("in-place method")
    match w.below(10):
        case 0 | 1 | 2:
            return f"{text}.add_({operand(w, known)})"
        case 3 | 4:
            return f"{text}.mul_({operand(w, known)})"
        case 5:
            return f"{text}.zero_()"
        case 6:
            return f"{text}.fill_({w.value()})"
        case 7:
            return f"{text}.clamp_(max={w.value()})"
        case 8:
            return f"{text}.masked_fill_({text} > 1, {w.value()})"
    w.count("copy_")
    if not w.names("tensor", known.shape):
        return f"{text}.neg_()"
    held = w.recent(w.names("tensor", known.shape))
    if text.startswith(held):
        return f"{text}.sigmoid_()"
    whole = known.contiguous and w.env[held].contiguous and w.chance(30)
    return f"{text}.copy_({held if whole else held + '.clone()'})"


def in_place_result(w: Writer) -> None:
    text, known = w.tensor(write=True)
    code = in_place_call(w, text, known)
    w.count("in-place result")
    new = Type("tensor", known.shape, contiguous=known.contiguous, float32=known.float32)
    name = w.target(new)
    w.emit(f"{name} = {code}{w.pick(('', '', ' + 1'))}")
    w.bind(name, new)


def augmented(w: Writer) -> None:
    names = w.names("tensor", write=True)
    w.count("augmented assignment")
    arrays = w.names("array")
    if arrays and w.chance(40):
        text = w.recent(arrays)
        w.emit(f"{text} {w.pick(('+=', '*=', '-='))} {w.value()}")
        return
    if w.chance(35):
        text, known = w.tensor(write=True)
        if known.shape and "." not in text:
            w.emit(f"{text}[{w.below(known.shape[0])}] {w.pick(('+=', '*=', '-='))} {w.value()}")
            return
        w.emit(f"{text} {w.pick(('+=', '*=', '-='))} {w.value()}")
        return
    text = w.recent(names)
    w.emit(f"{text} {w.pick(('+=', '*=', '-='))} {operand(w, w.env[text])}")


def slice_assignment(w: Writer) -> None:
    w.count("slice assignment")
    arrays = w.names("array")
    if arrays and w.chance(40):
        text = w.recent(arrays)
        known = w.env[text]
    else:
        text, known = w.tensor(write=True)
    shape = known.shape
    long = shape[0] > 1
    index = w.pick(("0", ":1", ":", "1:", "1", "...", ":", "-1")) if long else w.pick(("0", ":", "..."))
    if len(shape) > 1 and w.chance(40):
        index = w.pick(("0, 0", ":, 0", "0, :1", "0, 1:" if shape[1] > 1 else "0", "1:, 0" if long else ":, 0"))
    if w.chance(10) and known.kind == "tensor":
        index = w.pick(("[0]", f"{text} > 1"))
    value = w.value()
    if index in (":", "...") and known.kind == "tensor" and w.chance(50):
        value = w.tensor(shape=shape)[0]
    w.emit(f"{text}[{index}] = {value}")


def out_argument(w: Writer) -> None:
    text, known = w.tensor(write=True)
    held, known_held = w.tensor(shape=known.shape)
    w.count("out=")
    if known.expanded or not known.float32:
        return in_place(w)
    if not (known.contiguous and known_held.contiguous):
        held = f"{held}.clone()"
    w.emit(
        w.pick(
            (
                f"torch.add({held}, {w.value()}, out={text})",
                f"torch.mul({held}, {w.value()}, out={text})",
                f"torch.neg({held}, out={text})",
            )
        )
    )
    return None


def functional(w: Writer) -> None:
    w.imports.add("import torch.nn.functional as F")
    text, known = w.tensor(write=True)
    w.count("inplace=True")
    code = w.pick((f"F.relu({text}, inplace=True)", f"F.elu({text}, inplace=True)", f"F.relu_({text})"))
    if w.chance(60):
        w.emit(code)
    else:
        name = w.target(known)
        w.emit(f"{name} = {code}")
        w.bind(name, known)


def array_write(w: Writer) -> None:
    names = w.names("array")
    if not names:
        return bind_array(w)
    text = w.recent(names)
    w.count("numpy write")
    # The same value twice changes no byte, so `fill` stands in no loop.
    fill = f"{text}.fill({w.value()})" if not w.loops else f"{text} *= {w.value()}"
    w.emit(w.pick((fill, f"{text} += {w.value()}", f"{text}[0] = {w.value()}")))
    return None


def data_write(w: Writer) -> None:
    text, _ = w.tensor(write=True)
    w.count("write through .data")
    w.emit(f"{text}.{w.pick(('data', 'detach()'))}.{w.pick(('add_', 'mul_'))}({w.value()})")


# ----- reads


def read(w: Writer) -> None:
    w.count("read")
    numbers = w.names("tensor", ())
    number = Type("tensor", ())
    if numbers and w.chance(50):
        name = w.recent(numbers)
        w.emit(f"{name} = {name} + {reading(w)}")
        w.bind(name, number)
        return
    name = w.new(number)
    w.emit(f"{name} = {reading(w)}")
    w.bind(name, number)


def read_array(w: Writer) -> None:
    names = w.names("array")
    if not names:
        return read(w)
    w.count("read of an array")
    new = Type("array", ())
    name = w.new(new)
    w.emit(f"{name} = {w.recent(names)}.{w.pick(('sum()', 'mean()', 'copy().sum()'))}")
    return None


def read_list(w: Writer) -> None:
    names = w.names("list")
    if not names:
        return read(w)
    w.count("read of a list")
    text = w.recent(names)
    name = w.new(Type("tensor", ()))
    w.emit(f"{name} = {w.pick((f'torch.stack({text}).sum()', f'torch.cat(list({text})).sum()'))}")
    w.bind(name, Type("tensor", ()))
    return None


# ----- calls of local functions

HELPERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("writes", "scale", ("t.mul_(3)",)),
    ("writes", "clear_head", ("head = t[0]", "head.zero_()")),
    ("writes", "shift", ("before = t.clone()", "t += before.mean()")),
    ("writes", "stepped", ("start = t", "t.add_(1)", "return t - start")),
    ("same", "bumped", ("t.add_(1)", "return t")),
    ("same", "unchanged", ("return t",)),
    ("same", "chosen", ("if t.dim() > 3:", "    return t.clone()", "return t")),
    ("rows", "first_rows", ("return t[:1]",)),
    ("rows", "head_of", ("part = t.narrow(0, 0, 1)", "return part")),
    ("same", "detached", ("return t.detach()",)),
    ("copy", "doubled", ("return t * 2",)),
    ("copy", "snapshot", ("copied = t.clone()", "copied.add_(1)", "return copied")),
    ("same", "as_float", ("return t.float()",)),
)


def call(w: Writer) -> None:
    text, known = w.tensor(write=True)
    effect, name, body = w.pick(HELPERS)
    w.count("call of a function")
    w.count({"writes": "function that writes", "copy": "function that copies"}.get(effect, "function that shares"))
    hint = w.pick(("t: torch.Tensor", "t"))
    w.helper(name, [f"def {name}({hint}):", *(f"    {line}" for line in body)])
    if not known.shape:
        return read(w)
    if effect == "writes":
        w.emit(f"{name}({text})")
        return None
    shape = (1, *known.shape[1:]) if effect == "rows" else known.shape
    new = Type("tensor", shape, contiguous=known.contiguous and effect != "same")
    bound = w.target(new)
    w.emit(f"{bound} = {name}({text})")
    w.bind(bound, new)
    return None


def call_with_two(w: Writer) -> None:
    text, known = w.tensor(write=True)
    held, _ = w.tensor(shape=known.shape)
    w.count("call of a function")
    match w.below(3 if "inplace" in w.flags or w.depth else 4):
        case 0:
            w.helper("add_into", ["def add_into(into: torch.Tensor, other: torch.Tensor):", "    into.add_(other)"])
            w.emit(f"add_into({text}, {held})")
        case 1:
            w.helper("exchanged", ["def exchanged(one, other):", "    return other, one"])
            names = [w.new(known), w.new(known)]
            w.emit(f"{names[0]}, {names[1]} = exchanged({text}, {held})")
            held_type = Type("tensor", known.shape, contiguous=False, expanded=True)
            w.bind(names[0], held_type)
            w.bind(names[1], known)
        case 3:
            w.helper(
                "scaled",
                [
                    "def scaled(t: torch.Tensor, inplace: bool):",
                    "    result = t if inplace else t.clone()",
                    "    result.mul_(3)",
                    "    return result",
                ],
            )
            name = w.target(known)
            # A flag of its own, and once: no other test of the program goes by it.
            w.flags.add("inplace")
            w.emit(f"{name} = scaled({text}, inplace)")
            w.bind(name, known)
        case _:
            w.helper("pair_of", ["def pair_of(t):", "    return t, t.clone()"])
            names = [w.new(known), w.new(known)]
            w.emit(f"{names[0]}, {names[1]} = pair_of({text})")
            w.bind(names[0], known)
            w.bind(names[1], Type("tensor", known.shape))


def call_with_list(w: Writer) -> None:
    names = [name for name in w.names("list") if not w.env[name].expanded]
    if not names:
        return bind_list(w)
    text = w.recent(names)
    w.count("call of a function", "function of a list")
    match w.below(3):
        case 0:
            w.helper("clear_first", ["def clear_first(items: list[torch.Tensor]):", "    items[0].zero_()"])
            w.emit(f"clear_first({text})")
        case 1:
            w.helper("total_of", ["def total_of(items):", "    return sum(item.sum() for item in items)"])
            name = w.new(Type("tensor", ()))
            w.emit(f"{name} = total_of({text})")
            w.bind(name, Type("tensor", ()))
        case _:
            w.helper("first_of", ["def first_of(items: list[torch.Tensor]):", "    return items[0]"])
            known = Type("tensor", w.env[text].shape, contiguous=False)
            name = w.target(known)
            w.emit(f"{name} = first_of({text})")
            w.bind(name, known)
    return None


def inner_function(w: Writer) -> None:
    text, known = w.tensor(write=True)
    name = f"inner_{w.number}"
    w.number += 1
    w.count("nested function")
    match w.below(3):
        case 0:
            w.emit(f"def {name}(t):")
            w.emit(f"    t.add_({w.value()})")
            w.emit(f"{name}({text})")
        case 1:
            new = w.target(known)
            w.emit(f"def {name}(t):")
            w.emit("    return t")
            w.emit(f"{new} = {name}({text})")
            w.bind(new, known)
        case _:
            new = w.target(Type("tensor", known.shape))
            w.emit(f"def {name}(t):")
            w.emit("    return t.clone()")
            w.emit(f"{new} = {name}({text})")
            w.bind(new, Type("tensor", known.shape))
