"""Statements that bind: names, items, attributes."""

from __future__ import annotations

from flake8_tensorcopy.verify.programs.expressions import copied, maybe, test, view
from flake8_tensorcopy.verify.programs.writer import Type, Writer


def alias(w: Writer) -> None:
    text, known = w.tensor()
    name = w.target(known)
    w.count("alias")
    if w.chance(10):
        w.count("annotated assignment")
        w.emit(f"{name}: torch.Tensor = {text}")
    else:
        w.emit(f"{name} = {text}")
    w.bind(name, known)


def alias_of_container(w: Writer) -> None:
    names = [name for kind in ("list", "dict", "object") for name in w.names(kind)]
    if not names:
        return alias(w)
    text = w.recent(names)
    name = w.new(w.env[text])
    w.count("alias of a container")
    w.emit(f"{name} = {text}")
    w.bind(name, w.env[text])
    return None


def bind_view(w: Writer) -> None:
    text, known = w.tensor()
    code, new = view(w, text, known)
    if not new.expanded and w.chance(12) and len(new.shape) >= 1:
        code, new = view(w, code, new)
    name = w.target(new)
    w.emit(f"{name} = {code}")
    w.bind(name, new)


def bind_copy(w: Writer) -> None:
    text, known = w.tensor()
    code, new = copied(w, text, known)
    name = w.target(new)
    w.emit(f"{name} = {code}")
    w.bind(name, new)


def bind_maybe(w: Writer) -> None:
    text, known = w.tensor()
    code, new = maybe(w, text, known)
    name = w.target(new)
    w.emit(f"{name} = {code}")
    w.bind(name, new)


def bind_detached(w: Writer) -> None:
    text, known = w.tensor()
    w.count("detach")
    name = w.target(known)
    w.emit(f"{name} = {text}.{w.pick(('detach()', 'detach()', 'data'))}")
    w.bind(name, known)


def bind_expanded(w: Writer) -> None:
    text, known = w.tensor()
    if len(known.shape) != 1:
        return bind_view(w)
    w.count("expand")
    new = Type("tensor", (2, *known.shape), contiguous=False, expanded=True)
    name = w.target(new)
    w.emit(f"{name} = {text}.expand(2, {known.shape[0]})")
    w.bind(name, new)
    return None


def bind_array(w: Writer) -> None:
    text, known = w.tensor(write=True)
    w.count("numpy")
    new = Type("array", known.shape)
    name = w.target(new)
    w.emit(f"{name} = {text}{w.pick(('', '.detach()'))}.numpy()")
    w.bind(name, new)


def bind_from_array(w: Writer) -> None:
    names = w.names("array")
    if not names:
        return bind_array(w)
    text = w.recent(names)
    w.count("from_numpy")
    new = Type("tensor", w.env[text].shape, contiguous=False)
    name = w.target(new)
    w.emit(f"{name} = {w.pick(('torch.from_numpy', 'torch.from_numpy', 'torch.as_tensor', 'torch.tensor'))}({text})")
    w.bind(name, new)
    return None


def bind_tuple(w: Writer) -> None:
    (one, first), (other, second) = w.tensor(), w.tensor()
    if w.chance(30):
        other, second = view(w, other, second)
    names = [w.target(first), w.new(second)]
    w.count("tuple assignment")
    w.emit(f"{names[0]}, {names[1]} = {one}, {other}")
    w.bind(names[0], first)
    w.bind(names[1], second)


def swap(w: Writer) -> None:
    names = [name for name in w.names() if name not in w.fixed]
    pairs = [(a, b) for a in names for b in names if a < b and w.env[a] == w.env[b]]
    if not pairs:
        return bind_tuple(w)
    one, other = w.pick(pairs)
    w.count("swap")
    w.emit(f"{one}, {other} = {other}, {one}")
    return None


def chained(w: Writer) -> None:
    text, known = w.tensor()
    code, new = copied(w, text, known) if w.chance(50) else view(w, text, known)
    names = [w.new(new), w.new(new)]
    w.count("chained assignment")
    w.emit(f"{names[0]} = {names[1]} = {code}")
    w.bind(names[0], new)
    w.bind(names[1], new)


def unpack_parts(w: Writer) -> None:
    text, known = w.tensor()
    shape = known.shape
    rows = shape[0] if shape else 0
    new, code = known, ""
    if rows == 2:
        new = Type("tensor", shape[1:], contiguous=known.contiguous)
        code = w.pick((f"{text}.unbind(0)", f"{text}.unbind()", text))
    if not code or not new.shape:
        if rows % 2 or not rows:
            return bind_view(w)
        new = Type("tensor", (rows // 2, *shape[1:]), contiguous=known.contiguous)
        code = w.pick((f"{text}.split({rows // 2})", f"torch.split({text}, {rows // 2})", f"{text}.chunk(2)"))
    names = [w.new(new), w.new(new)]
    w.count("unpacked parts")
    w.emit(f"{names[0]}, {names[1]} = {code}")
    w.bind(names[0], new)
    w.bind(names[1], new)
    return None


def ternary(w: Writer) -> None:
    text, known = w.tensor()
    w.count("ternary")
    flag = test(w)
    held, _ = w.tensor(shape=known.shape)
    other = w.pick((f"{text}.clone()", f"{held}", f"{text} * 2", f"{text}.detach()"))
    new = Type("tensor", known.shape, contiguous=False, expanded=known.expanded)
    name = w.target(new)
    one, two = (text, other) if w.chance(50) else (other, text)
    w.emit(f"{name} = {one} if {flag} else {two}")
    w.bind(name, new)


def walrus(w: Writer) -> None:
    text, known = w.tensor()
    code, new = (text, known) if w.chance(50) else view(w, text, known)
    name, number = w.new(new), w.new(Type("tensor", ()))
    w.count("walrus")
    w.emit(f"{number} = ({name} := {code}).sum()")
    w.bind(name, new)
    w.bind(number, Type("tensor", ()))


def starred(w: Writer) -> None:
    text, known = w.tensor()
    held, _ = w.tensor(shape=known.shape)
    third, _ = w.tensor(shape=known.shape)
    new = Type("list", known.shape, length=2, expanded=True)
    name, rest = w.new(known), w.new(new)
    w.count("starred unpacking")
    if w.chance(70):
        w.emit(f"{name}, *{rest} = {text}, {held}, {third}")
    else:
        w.emit(f"*{rest}, {name} = [{held}, {third}, {text}]")
    w.bind(name, known)
    w.bind(rest, new)


# ----- containers and objects


def bind_list(w: Writer) -> None:
    text, known = w.tensor(write=True)
    held, _ = w.tensor(shape=known.shape, write=True)
    if w.chance(30):
        held, _ = copied(w, held, known)
    new = Type("list", known.shape, length=2, contiguous=False)
    name = w.target(new)
    w.count("list")
    match w.below(4):
        case 0:
            w.count("tuple")
            w.emit(f"{name} = ({text}, {held})")
            new = Type("list", known.shape, length=2, contiguous=False, float32=False)  # nothing can be appended
        case 1:
            w.emit(f"{name} = []")
            w.emit(f"{name}.append({text})")
            new = Type("list", known.shape, length=1, contiguous=False)
            w.count("append")
        case _:
            w.emit(f"{name} = [{text}, {held}]")
    w.bind(name, new)


def bind_dict(w: Writer) -> None:
    text, known = w.tensor(write=True)
    held, _ = w.tensor(shape=known.shape, write=True)
    new = Type("dict", known.shape, keys=("a", "b"), contiguous=False)
    name = w.target(new)
    w.count("dict")
    w.emit(f'{name} = {{"a": {text}, "b": {held}}}')
    w.bind(name, new)


def bind_object(w: Writer) -> None:
    text, known = w.tensor(write=True)
    w.count("object")
    if w.chance(50):
        w.imports.add("from types import SimpleNamespace")
        new = Type("object", known.shape, keys=("value",), contiguous=False)
        name = w.new(new)
        if w.chance(50):
            w.emit(f"{name} = SimpleNamespace(value={text})")
        else:
            w.emit(f"{name} = SimpleNamespace()")
            w.emit(f"{name}.value = {text}")
    else:
        new = Type("object", known.shape, keys=("value",), contiguous=False, float32=False)
        name = w.new(new)
        w.helper(
            "Holder",
            [
                "class Holder:",
                "    def __init__(self, value: torch.Tensor):",
                "        self.value = value",
                "",
                "    def scale(self):",
                "        self.value.mul_(3)",
                "",
                "    def get(self):",
                "        return self.value",
            ],
        )
        w.emit(f"{name} = Holder({text})")
    w.bind(name, new)


def use_object(w: Writer) -> None:
    names = [name for name in w.names("object") if not w.env[name].float32]
    if not names:
        return bind_object(w)
    text = w.recent(names)
    w.count("method")
    if w.chance(60):
        w.emit(f"{text}.scale()")
        return None
    new = Type("tensor", w.env[text].shape, contiguous=False)
    name = w.target(new)
    w.emit(f"{name} = {text}.get()")
    w.bind(name, new)
    return None


def append(w: Writer) -> None:
    names = [name for name in w.names("list") if w.env[name].float32 and not w.env[name].expanded]
    if not names or w.loops > 1:
        return bind_list(w)
    text = w.recent(names)
    held, known = w.tensor(shape=w.env[text].shape, write=True) if w.places(True, w.env[text].shape) else ("", None)
    if known is None:
        return bind_list(w)
    if w.chance(30):
        held, known = copied(w, held, known)
    w.count("append")
    w.emit(f"{text}.append({held})")
    return None


def store_item(w: Writer) -> None:
    names = [name for kind in ("dict", "object", "list") for name in w.names(kind)]
    names = [name for name in names if not w.env[name].expanded and (w.env[name].kind != "list" or w.env[name].float32)]
    if not names:
        return bind_dict(w)
    text = w.recent(names)
    known = w.env[text]
    places = w.places(True, known.shape)
    if not places:
        return bind_dict(w)
    held = w.pick(places)[0]
    if w.chance(30):
        held, _ = copied(w, held, Type("tensor", known.shape))
    w.count("stored item")
    match known.kind:
        case "dict":
            w.emit(f'{text}["{w.pick(known.keys)}"] = {held}')
        case "list":
            w.emit(f"{text}[{w.below(known.length)}] = {held}")
        case _:
            w.emit(f"{text}.{w.pick(known.keys)} = {held}")
    return None


def comprehension(w: Writer) -> None:
    w.count("comprehension")
    lists = [name for name in w.names("list") if len(w.env[name].shape) >= 1 and not w.env[name].expanded]
    if lists and w.chance(50):
        text = w.recent(lists)
        known = w.env[text]
        element = w.pick(("item", "item.clone()", "item[:1]", "item * 2"))
        shape = (1, *known.shape[1:]) if element == "item[:1]" else known.shape
        new = Type("list", shape, length=known.length, contiguous=False)
        name = w.new(new)
        w.emit(f"{name} = [{element} for item in {text}]")
    else:
        text, known = w.tensor(write=True)
        if len(known.shape) < 2:
            return bind_list(w)
        new = Type("list", known.shape[1:], length=known.shape[0], contiguous=False)
        name = w.new(new)
        element = w.pick(("item", "item.clone()", "item * 2"))
        w.emit(f"{name} = [{element} for item in {text}]")
    w.bind(name, new)
    return None
