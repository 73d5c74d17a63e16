"""Layers and Parameters in a plain list, tuple or dict of a module, which torch does not look into."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.classes import methods_of
from flake8_tensorcopy.engine.facts import Fact, UnregisteredItems, changed
from flake8_tensorcopy.engine.nodes import end_of, start_of
from flake8_tensorcopy.engine.run import last_state
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.state import State
from flake8_tensorcopy.engine.unwrapped import layer_of, methods_from, parameter_of
from flake8_tensorcopy.engine.values import Obj, Ref, Value

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.module import Module
    from flake8_tensorcopy.engine.run import Run

MAX_ITEMS = 50

# Words of an attribute's name that say: not registered on purpose.
_HIDES = frozenset(
    "frozen teacher ref reference cache cached target shadow ema pretrained unregistered nograd untracked".split()
)
_HIDDEN = frozenset({"_hidden", "hidden_net", "hidden_model", "hidden_module", "hidden_modules"})
# Methods by which a class says itself what its parameters are.
_OWN = frozenset({"parameters", "named_parameters", "_apply", "children", "named_children", "modules", "named_modules"})
# Where a module keeps what is registered.
OWN_CONTAINERS = frozenset({"_modules", "_parameters"})
# What containers of other makes are called.
_MADE = {"OrderedDict()": "dict", "deque()": "deque"}
# What a ModuleList, a ParameterList and a ModuleDict can do.
_LIST_METHODS = frozenset({"append", "extend", "insert", "pop"})
_PARAMETER_METHODS = frozenset({"append", "extend"})
_DICT_METHODS = frozenset({"items", "keys", "values", "update", "pop", "clear"})
# Keys that these take, and the names of their own that they refuse.
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*")
_OWN_NAMES = frozenset(
    "T_destination add_module apply bfloat16 buffers call_super_init children clear compile copy cpu cuda double "
    "dump_patches eval extra_repr float forward fromkeys get get_buffer get_extra_state get_parameter get_submodule "
    "half ipu items keys load_state_dict modules mtia named_buffers named_children named_modules named_parameters "
    "parameters pop popitem register_backward_hook register_buffer register_forward_hook register_forward_pre_hook "
    "register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook "
    "register_load_state_dict_pre_hook register_module register_parameter register_state_dict_post_hook "
    "register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule setdefault share_memory state_dict "
    "to to_empty train training type update values xpu zero_grad".split()
)
# What these are given they only look at, or hand on as it is.
_LOOKS = frozenset(
    "len enumerate zip reversed iter next range print isinstance sum any all id type list tuple dict sorted str repr "
    "hasattr getattr min max".split()
)


class Kept(NamedTuple):
    """An attribute of self bound to a list, tuple or dict, and what was in it then."""

    key: str
    container: Obj
    site: ast.AST
    items: tuple[Obj, ...]
    source: ast.expr
    single: bool  # a display of one thing: it hides a module from torch


def passed(run: Run, node: ast.Call, args: Args, receiver: bool = False) -> None:
    """A call was given these: it may register them.  `receiver` says that what is called is no list or dict."""
    cls = run.function.cls
    if cls is None or not cls.keeps:
        return
    known = run.names.qualify(node.func) or ""
    if known.startswith("collections.") or known in library.REPARAMETRISING:
        return
    match node.func:
        case ast.Name(id=name) if name in _LOOKS and name not in run.module.survey.functions:
            return
        case ast.Name(id=name) | ast.Attribute(attr=name) if name == "Parameter" or (name[-1] == "_" != name[0]):
            return  # a Parameter made of a tensor, an initialisation
        case ast.Attribute(value=ast.Attribute(attr=name)) if name in OWN_CONTAINERS:
            pass
        case ast.Attribute(attr=name) if name in library.CONTAINER_METHODS and not receiver:
            return
    for _, value in args.all():
        handed(run, value)


def handed(run: Run, value: Value) -> None:
    """The value, and what it holds, goes to something that may register it."""
    pending = [ref.obj for ref in value.refs]
    seen: set[Obj] = set()
    while pending and len(seen) < MAX_ITEMS:
        obj = pending.pop()
        if obj not in seen:
            seen.add(obj)
            if obj.kind in ("list", "tuple", "dict"):
                pending.extend(one.obj for held in run.now.fields(obj).values() for one in held.refs)
            elif obj.kind == "iter" and isinstance(obj.data, tuple):
                pending.extend(one.obj for _, part in obj.data[1] for one in part.refs)
    run.passed |= seen


def holds(run: Run, base: Obj, key: str, value: Value, site: ast.AST, source: ast.expr) -> None:
    """An attribute of self is bound to a container."""
    cls = run.function.cls
    if cls is None or key[1:] not in cls.holders or not run.params or base is not run.params[0]:
        return
    match source:
        case ast.List(elts=[one]) | ast.Tuple(elts=[one]):
            single = not isinstance(one, ast.Starred)
        case _:
            single = False
    for obj in dict.fromkeys(ref.obj for ref in value.refs):
        if obj.kind in ("list", "tuple", "dict"):
            items = tuple(ref.obj for ref in _items(run.now, obj))
            run.kept_containers.append(Kept(key, obj, site, items, source, single))


def _items(state: State, container: Obj, depth: int = 0) -> Iterator[Ref]:
    """What a container holds, in lists of lists too."""
    for slot, held in state.fields(container).items():
        if slot[:1] == "[":
            for ref in held.refs:
                if ref.obj.kind in ("list", "tuple", "dict") and depth < 2:
                    yield from _items(state, ref.obj, depth + 1)
                else:
                    yield ref
    if container.made in ("+", "*"):
        for one in container.source:
            if one.kind in ("list", "tuple") and depth < 2:
                yield from _items(state, one, depth + 1)


def unregistered(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """The containers of a Module's attributes that hold layers or Parameters which no method registers."""
    attributes = [
        name
        for name, maker in (*cls.holders.items(), *cls.inherited.items())
        if not maker or maker in module.survey.functions or module.method(cls, maker) is not None
    ]
    if not attributes or not module.is_module(cls):
        return
    methods = methods_of(module, cls)
    if any(method.name in _OWN for method in methods):
        return
    used = methods_from(module, cls, "forward") - methods_from(module, cls, "__init__")
    asked = [method for method in methods if method.name not in used and not method.static]

    def runs_of(some: list[Function]) -> list[tuple[Function, Run]]:
        runs = ((method, module.run_of(method)) for method in some)
        return [(method, run) for method, run in runs if run is not None and run.params]

    for name in attributes:
        if _says_hidden(name):
            continue
        # What a base puts there is said of the base.
        own = asked if name in cls.holders else [method for method in asked if method.cls is cls]
        for function, run in runs_of(_that_mention(own, name)):
            fact = _first_item(module, run, "." + name)
            if fact is not None:
                runs = runs_of(asked)
                if not any(_registers(run, "." + name) for _, run in runs):
                    yield function, changed(fact, built=_replaceable(cls, fact, runs))
                break


def _that_mention(methods: list[Function], attribute: str) -> list[Function]:
    """The methods that name an attribute or a text like it, or call such a method."""
    found = {
        method.name
        for method in methods
        if any(getattr(node, "attr", "") == attribute for node in _named_in(method)) or "setattr" in method.calls
    }
    grown = True
    while grown:
        more = {method.name for method in methods if not found.isdisjoint(method.calls)} - found
        found |= more
        grown = bool(more)
    return [method for method in methods if method.name in found]


def _named_in(method: Function) -> Iterator[ast.expr]:
    """The attributes that a method names, among others what it augments."""
    yield from method.found.get(ast.Attribute, ())
    yield from (node.target for node in method.found.get(ast.AugAssign, ()))


def _replaceable(cls: Class, fact: UnregisteredItems, runs: list[tuple[Function, Run]]) -> ast.expr | None:
    """The expression that an attribute is bound to, if the class does nothing to it that torch's containers refuse."""
    key = "." + fact.attribute
    found = {one.site: (run, one) for _, run in runs for one in run.kept_containers if one.key == key}
    bound = [node for method in cls.methods.values() for node in ast.walk(method.node) if _binds(node, fact.attribute)]
    if len(found) != 1 or len(bound) != 1:
        return None
    (run, kept) = next(iter(found.values()))
    state = last_state(run)
    if state is None or not isinstance(kept.site, (ast.Assign, ast.AnnAssign)) or kept.site.value is not kept.source:
        return None
    if kept.container.made in ("+", "*") or not all(_is_one(value, fact.parameter) for value in _held(state, kept)):
        return None
    for method in cls.methods.values():
        for node in ast.walk(method.node):
            if _refused(node, fact.attribute, fact.container, fact.parameter) or _keyed_otherwise(node, fact, method):
                return None
    if fact.container == "dict" and not isinstance(kept.source, (ast.Dict, ast.DictComp)):
        return None
    kept_at = end_of(kept.site)
    for node in ast.walk(run.function.node):
        match node:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__") if start_of(node) > kept_at:
                return None
            case ast.Name(id=name) if isinstance(kept.source, ast.Name) and name == kept.source.id:
                if start_of(node) > kept_at:
                    return None  # filled afterwards, perhaps
    return kept.source


def _held(state: State, kept: Kept) -> list[Value]:
    return [value for slot, value in state.fields(kept.container).items() if slot[:1] == "["]


def _is_one(value: Value, parameter: bool) -> bool:
    """Whether it is surely a module, or a Parameter."""
    return bool(value.refs) and all(ref.obj.param if parameter else ref.obj.kind == "module" for ref in value.refs)


def _binds(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute and not isinstance(node.ctx, ast.Load)


def _refused(node: ast.AST, attribute: str, container: str, parameter: bool) -> bool:
    """Whether a node does to an attribute what a list or dict allows, and torch's does not."""
    allowed = _DICT_METHODS if container == "dict" else _PARAMETER_METHODS if parameter else _LIST_METHODS
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr=method)) if name == attribute:
            return method not in allowed
        case ast.BinOp(left=ast.Attribute(attr=name)) | ast.BinOp(right=ast.Attribute(attr=name)):
            return name == attribute
        case (
            ast.Compare(left=ast.Attribute(attr=name))
            | ast.Call(func=ast.Name(id="isinstance"), args=[ast.Attribute(attr=name), *_])
        ):
            return name == attribute
        case ast.Delete(targets=targets):
            return any(
                isinstance(part, ast.Attribute) and part.attr == attribute for one in targets for part in ast.walk(one)
            )
    return False


def _keyed_otherwise(node: ast.AST, fact: UnregisteredItems, method: Function) -> bool:
    """Whether a dict is given keys, or asked for some, that torch's may refuse: numbers, names of its own, dots."""
    if fact.container != "dict":
        return False
    match node:
        case ast.Subscript(value=ast.Attribute(attr=name), slice=key, ctx=ast.Load()) if name == fact.attribute:
            return not _is_text(key, method)
        case ast.Subscript(value=ast.Attribute(attr=name), slice=key) if name == fact.attribute:
            return not _is_key(key, method)
        case (
            ast.Assign(targets=[ast.Attribute(attr=name)], value=value)
            | ast.AnnAssign(target=ast.Attribute(attr=name), value=value)
            | ast.AugAssign(target=ast.Attribute(attr=name), value=value)
        ) if name == fact.attribute:
            given: list[ast.expr | None] = [value]
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr="update")) if name == fact.attribute:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
        case _:
            return False
    return not all(_are_keys(value, method) for value in given)


def _are_keys(value: ast.expr | None, method: Function) -> bool:
    match value:
        case ast.Dict(keys=keys):
            return all(key is not None and _is_key(key, method) for key in keys)
        case ast.DictComp(key=key):
            return _is_key(key, method)
    return False


def _is_key(key: ast.expr, method: Function) -> bool:
    """Whether torch's containers surely take a key."""
    match key:
        case ast.Constant(value=str(text)):
            return _KEY.fullmatch(text) is not None and text not in _OWN_NAMES
        case ast.JoinedStr(values=parts):
            texts = [part.value for part in parts if isinstance(part, ast.Constant)]
            filled = [part for part in parts if isinstance(part, ast.FormattedValue)]
            if any("." in str(text) for text in texts) or any(part.format_spec is not None for part in filled):
                return False
            return bool(texts) or all(_counts(part.value, method) for part in filled)
        case ast.Call(func=ast.Name(id="str"), args=[given], keywords=[]):
            return _counts(given, method)
        case ast.Name():
            over = _loops_over(key, method)
            return bool(over) and all(
                isinstance(one, (ast.List, ast.Tuple)) and all(_is_key(item, method) for item in one.elts)
                for one in over
            )
    return False


def _counts(node: ast.expr, method: Function) -> bool:
    """Whether a name is that of a loop over a range alone."""
    over = _loops_over(node, method)
    return bool(over) and all(isinstance(one, ast.Call) and getattr(one.func, "id", "") == "range" for one in over)


def _loops_over(node: ast.expr, method: Function) -> list[ast.expr | None]:
    """What the loops run over whose only target a name is; None for each other binding of the name."""
    if not isinstance(node, ast.Name):
        return []
    inner = list(ast.walk(method.node))
    loops = [one for one in inner if isinstance(one, (ast.For, ast.comprehension))]
    over: list[ast.expr | None] = [one.iter for one in loops if getattr(one.target, "id", "") == node.id]
    bound = [one for one in inner if isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Store)]
    given = any(isinstance(one, ast.arg) and one.arg == node.id for one in inner)
    return [*over, None] if given or len(bound) > len(over) else over


def _is_text(key: ast.expr, method: Function) -> bool:
    match key:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.JoinedStr() | ast.Call(func=ast.Name(id="str")):
            return True
        case ast.Name(id=name):
            loops = [node for node in ast.walk(method.node) if isinstance(node, (ast.For, ast.comprehension))]
            around = [node for node in loops if any(getattr(part, "id", "") == name for part in ast.walk(node.target))]
            return not any(
                isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") in ("range", "enumerate")
                for node in around
            )
    return False


def _says_hidden(name: str) -> bool:
    return name in _HIDDEN or not _HIDES.isdisjoint(name.lower().strip("_").split("_"))


def _is_item(run: Run, obj: Obj, key: str) -> bool:
    """Whether an object is what an attribute of self holds, or an item of it."""
    while obj.parent is not None and obj.slot[:1] == "[":
        obj = obj.parent
    return obj.slot == key and obj.parent is run.params[0]


def _registers(run: Run, key: str) -> bool:
    """Whether a method gives the container, or what is in it, to anything that may register it."""
    state = last_state(run)
    if state is None:
        return True
    containers = {one.container for one in run.kept_containers if one.key == key}
    held = state.fields(run.params[0]).get(key)
    if held is not None:
        containers.update(ref.obj for ref in held.refs)
    items = {ref.obj for one in containers for ref in _items(state, one) if ref.obj.kind in ("module", "tensor")}
    known = set(run.passed)
    for obj in run.passed:
        if obj.kind == "list":
            known.update(ref.obj for ref in _items(state, obj))
    for other, value in state.fields(run.params[0]).items():
        if other != key and other[:1] == ".":
            known.update(ref.obj for ref in value.refs)
    return any(
        not {obj, obj.any_of, obj.parent}.isdisjoint(containers | items) or _is_item(run, obj, key) for obj in known
    )


def _first_item(module: Module, run: Run, key: str) -> UnregisteredItems | None:
    """What puts the first layer or Parameter into the container of an attribute, in this function."""
    state = last_state(run)
    if state is None:
        return None
    known = [one for one in run.kept_containers if one.key == key]
    for one in known:
        for ref in _items(state, one.container) if one.container not in module.registered else ():
            item = parameter_of(module, ref, new=True)
            if not item or (one.single and ref.obj in one.items):
                continue
            late = ref.obj not in one.items and ref.place is not None and ref.place.node is not None
            site = ref.place.node if late and ref.place is not None else one.site
            return _fact(key, one.container, item, site or one.site)
    held = state.fields(run.params[0]).get(key)
    if known or held is None:
        return None
    for container in (ref.obj for ref in held.refs if ref.obj.kind in ("list", "dict", "unknown")):
        for slot, value in state.fields(container).items():
            for ref in value.refs:
                node = ref.place.node if ref.place is not None and ref.place.origin == "store" else None
                item = layer_of(module, ref.obj, new=True)
                if item and node is not None and slot[:1] == "[":
                    return _fact(key, container, item, node)
    return None


def _fact(key: str, container: Obj, item: str, site: ast.AST) -> UnregisteredItems:
    return UnregisteredItems(
        site=site,
        attribute=key[1:],
        container=_MADE.get(container.made, "list" if container.kind == "unknown" else container.kind),
        item=item,
        parameter=item == "Parameter",
    )
