"""Modules: what torch.nn builds, live state_dicts and parameters, optimizers and what they train."""

from __future__ import annotations

import ast
from itertools import islice

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.displays import container
from flake8_tensorcopy.engine.evaluate import CONTAINERS, evaluate, fresh
from flake8_tensorcopy.engine.features import REPEAT, TURNED, UNPACKED
from flake8_tensorcopy.engine.freezing import Asked, applied, asked_by, frozen, switch
from flake8_tensorcopy.engine.graph import graph_of_result
from flake8_tensorcopy.engine.items import exact_items, first_item
from flake8_tensorcopy.engine.layouts import note_row
from flake8_tensorcopy.engine.moved_leaf import optimized
from flake8_tensorcopy.engine.operations import in_place
from flake8_tensorcopy.engine.parameters import assigned
from flake8_tensorcopy.engine.registration import handed
from flake8_tensorcopy.engine.repeated import appended
from flake8_tensorcopy.engine.replaced import built, note_step, reloaded
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import in_place_row, module_keeps, record
from flake8_tensorcopy.engine.snapshots import stepped
from flake8_tensorcopy.engine.source import Class
from flake8_tensorcopy.engine.trained import note_optimizer
from flake8_tensorcopy.engine.unwrapped import reaches
from flake8_tensorcopy.engine.values import (
    ALIAS,
    MAYBE,
    NO_LAYERS,
    NONE,
    SNAPSHOT,
    UNKNOWN,
    VIEW,
    Link,
    Obj,
    Place,
    Ref,
    Value,
    per_pass,
)
from flake8_tensorcopy.engine.writes import write_to

MAX_IN_SIGHT = 64  # modules that a step of an unknown optimizer may train

BASE = ".<base>"  # the slot of an object for what its base, of torch.nn, is
_PUTS = {"append": 1, "add_module": 2, "register_module": 2}  # with so many arguments, the last of them the layer
_ADDS = frozenset({"add_module", "append", "extend", "insert", "register_module", "setattr", "__setitem__"})


def trains(run: Run, node: ast.Call, name: str, args: Args, receiver: Value | None) -> None:
    """A call by a name that says so trains the modules it is given (or that its receiver holds)."""
    if not library.says_training(name, run.module.train_calls) and not (name == "train" and _is_given(run, node, args)):
        return
    kept = [value for given, value in args.all() if library.says_frozen(run.text(given).rpartition(".")[2])]
    touched: list[Value] = [value for _, value in args.all() if value not in kept]
    if not any(_may_be_module(run, value) for value in touched):
        touched += kept  # else, as of `train(student, teacher)`, what its name says to stay as it is
    for value in touched:
        if value.obj is not None and value.obj.kind == "optimizer":
            note_step(run, value)
    if receiver is not None:
        touched.append(receiver)
    for value in touched:
        for ref in value.refs:
            train(run, node, ref.obj, f"{name}()")
            if receiver is not None and value is receiver:
                for module in _in_sight(run):
                    if module.parent is ref.obj:
                        train(run, node, module, f"{name}()")


def _may_be_module(run: Run, value: Value) -> bool:
    """Whether a value is known for a module, or used as one."""
    return any(ref.kind == "module" or ref.obj in run.modules or ref.obj in run.asked for ref in value.refs)


def _is_given(run: Run, node: ast.Call, args: Args) -> bool:
    """Whether `train` is called with what it is to train, and not to set the mode: `train(model, loader)`, and neither
    `model.train()` nor `model.train(mode)`."""
    if isinstance(node.func, ast.Attribute) and len(args.all()) == 1:
        return any(ref.kind == "module" or ref.obj in run.modules for ref in args.all()[0][1].refs)
    return any(not isinstance(given, ast.Constant) for given, _ in args.all())


def train(run: Run, node: ast.AST, module: Obj, op: str) -> None:
    """All parameters of a module move."""
    write_to(
        run, node, Value((Ref(module, (), Place(module.key or "the module", None, origin="module")),)), op, "training"
    )


def step(run: Run, node: ast.Call, optimizer: Value, name: str) -> None:
    """`optimizer.step()`: the modules that it was built from move, or, if unknown, every module in sight.

    Not a copy that the function made itself, and not a module that belongs to another object: `a.optimizer` trains
    `a.model` and not `b.model`.
    """
    run.steps.append(run.count())
    obj = optimizer.obj
    if obj is not None:
        stepped(run, obj, node)
    note_step(run, optimizer)
    known = obj.data if obj is not None and obj.kind == "optimizer" else None
    if obj is not None and _holds_tensors_only(run, obj):
        known = []
    elif not (isinstance(known, list) and known):
        owners = _owners(obj)
        known = [module for module in _in_sight(run) if module.made != "deepcopy" and _related(owners, _owners(module))]
        # Of modules that the passes of a loop make or meet, the one of this pass.
        known = list({_origin(module): module for module in known}.values())
    for module in list(known):
        train(run, node, module, f"{name}.step()")


def _in_sight(run: Run) -> list[Obj]:
    """The modules that the function has met: of very many the last ones."""
    return list(islice(reversed(run.modules), MAX_IN_SIGHT))[::-1]


def _holds_tensors_only(run: Run, optimizer: Obj) -> bool:
    """`Adam([delta])`: whatever it moves, it is no module."""
    holds = run.trail.optimizers.get(optimizer)
    if holds is None or not holds.known or holds.modules or not holds.tensors:
        return False
    return all(not one.param and (one.parent is None or one.parent.kind != "module") for one in holds.tensors)


def _origin(module: Obj) -> tuple[object, ...]:
    """Where a module comes from, the same for those of all passes of a loop."""
    slots: list[str] = []
    while module.parent is not None:
        if per_pass(module.slot):
            return (module.parent, module.slot.partition("(")[0], *slots)
        slots.append(module.slot)
        module = module.parent
    return (module.node if module.owner == "fresh" and module.node is not None else module, *slots)


def _owners(obj: Obj | None) -> list[Obj]:
    """The objects that an attribute is reached through, the outermost first."""
    found: list[Obj] = []
    while obj is not None and obj.parent is not None:
        obj = obj.parent
        found.append(obj)
    return found[::-1]


def _related(one: list[Obj], other: list[Obj]) -> bool:
    """Whether one of two objects lies within the other."""
    return all(left is right for left, right in zip(one, other, strict=False))


def make_optimizer(run: Run, node: ast.Call, name: str, args: Args) -> Value:
    modules: list[Obj] = []
    optimized(run, node, args.values[:1] or [value for _, value in args.keywords.values()])
    pending = [value for _, value in args.all()]
    while pending:
        value = pending.pop()
        for ref in value.refs:
            obj = ref.obj
            if obj.kind == "iter" and isinstance(obj.data, tuple):
                kind, parts = obj.data
                if kind in ("parameters", "named"):
                    modules.extend(r.obj for r in parts[0][1].refs)
                else:
                    pending.extend(part for _, part in parts)
            elif obj.param and obj.owner == "item" and obj.parent is not None and obj.parent not in modules:
                modules.append(obj.parent)  # `[*net.parameters()]`
            elif obj.kind in CONTAINERS and not run.now.fields(obj):
                pending.extend(Value((Ref(one),)) for one in obj.operands)  # `list(..) + list(..)`
            elif obj.kind in CONTAINERS:
                for held in run.now.fields(obj).values():
                    modules.extend(r.obj for r in held.refs if any(link.kind == SNAPSHOT for link in r.chain))
                    pending.append(held)
    result = fresh(run, node, "optimizer", name, cls=name, data=modules)
    built(run, node, result.refs[0].obj, modules, [value for _, value in args.all()])
    return note_optimizer(run, result, args)


def make_sequential(run: Run, node: ast.Call, args: Args) -> Value:
    obj = Obj("module", "fresh", node, made="torch.nn.Sequential", cls="torch.nn.Sequential")
    layers = _layers(run, args)
    if layers and not any(value.kind == "dict" for value in layers):
        obj.data = ("layers", layers)
    elif args.spread or args.values:
        # `Sequential(*layers)`: what stands for any of them, and the first ones as far as they are known.
        obj.data = ("some layers", list(args.values), _first_layers(run, args))
    else:
        obj.data = NO_LAYERS
    match node.args:
        case [ast.Call(args=[ast.List(elts=pairs)])] if all(isinstance(pair, ast.Tuple) for pair in pairs):
            # `Sequential(OrderedDict([("act", nn.ReLU()), ..]))`
            obj.data = ("layers", [evaluate(run, pair.elts[-1]) for pair in pairs if isinstance(pair, ast.Tuple)])
    return Value((Ref(obj),))


def _filled(obj: Obj, name: str, args: Args) -> None:
    """A Sequential gets more layers after it was made."""
    if isinstance(obj.data, tuple) and obj.data[0] in ("layers", "some layers"):
        layers, first = obj.data[1], obj.data[-1]
        obj.data = ("some layers", [*layers, *args.values[-1:]], first if name in _AT_THE_END else [])


# Methods of a Sequential that give it layers, and those that put them behind all others.
_FILLS = frozenset({"append", "extend", "insert", "add_module", "register_module"})
_AT_THE_END = _FILLS - {"insert"}


def _first_layers(run: Run, args: Args) -> list[Value]:
    """The layers that a Sequential begins with, as far as they are known."""
    found: list[Value] = []
    for node, value in zip(args.nodes, args.values, strict=True):
        if node not in args.lists:
            if value.kind == "dict" or (value.obj is not None and value.obj.kind == "dict"):
                break
            found.append(value)
            continue
        known = exact_items(run, args.lists[node])
        if known is None:
            first = first_item(run, args.lists[node])
            return found if first is None else [*found, first]
        found += known
    return found


def _layers(run: Run, args: Args) -> list[Value]:
    """The layers that a Sequential is given, if each is known; none if not."""
    if args.spread and not args.lists:
        return []
    found: list[Value] = []
    for node, value in zip(args.nodes, args.values, strict=True):
        known = exact_items(run, args.lists[node]) if node in args.lists else [value]
        if known is None:
            return []
        found += known
    return found


def built_by_base(run: Run, node: ast.Call, args: Args) -> None:
    """`super().__init__(..)` in a subclass of one of torch.nn's modules that matters to whoever calls it."""
    cls = run.function.cls
    if cls is None or not run.params or len(cls.bases) != 1:
        return
    name = run.names.qualify(cls.bases[0]) or ""
    op = ops.function(name)
    made: Value | None = None
    if name == "torch.nn.Sequential":
        made = make_sequential(run, node, args)
    elif op is not None and op.inplace_flag and args.flag("inplace", op.inplace_position):
        made = Value((Ref(Obj("module", "fresh", node, made=name, cls=name, data="inplace")),))
    if made is not None:
        run.now.set_field(run.params[0], BASE, made)


def of_base(run: Run, obj: Obj) -> Obj | None:
    """The base, a module of torch.nn, where an object of a class that adds no method and no layer is called."""
    cls = obj.data
    if not isinstance(cls, Class) or cls.assigns or set(cls.methods) != {"__init__"}:
        return None
    if not cls.methods["__init__"].calls.isdisjoint(_ADDS):
        return None
    held = run.module.table(cls).get(BASE)
    return held.obj if held is not None else None


def registered(run: Run, node: ast.Call, one: Value, args: Args) -> Value:
    """`register_buffer("cov", x)`: an assignment of `self.cov`."""
    name = args.values[0] if args.values else args.keywords.get("name", (node, UNKNOWN))[1]
    given: tuple[ast.expr, Value] = (node, UNKNOWN)
    if len(args.values) > 1:
        given = args.nodes[1], args.values[1]
    else:
        given = next((args.keywords[key] for key in ("tensor", "param", "module") if key in args.keywords), given)
    source, value = given
    if isinstance(node.func, ast.Attribute) and node.func.attr == "register_buffer":
        for ref in value.refs:
            if ref.obj.owner == "fresh" and ref.obj.graph is None:
                ref.obj.graph = False  # made of numbers that are not known: nobody trains what is a buffer
    if isinstance(name.const, str):
        for ref in one.refs:
            shown = f"{ref.obj.key}.{name.const}"
            if isinstance(node.func, ast.Attribute) and node.func.attr == "register_parameter":
                reaches(run, ref.obj, shown, value, node, source)
            place = Place(shown, run.stmt, root=ref.obj.key, origin="attribute", loop=run.loop)
            run.now.set_field(ref.obj, "." + name.const, run.bound(value, place, source))
            if run.function.cls is not None:
                run.function.cls.assigns.setdefault(name.const, set()).add(run.function.name)
    return NONE


def module_method(run: Run, node: ast.Call, one: Value, name: str, args: Args) -> Value | None:
    ref = one.refs[0]
    obj = ref.obj
    run.asked.add(obj)
    if run.within and run.function.features & REPEAT and name in _PUTS:
        if len(args.values) == _PUTS[name] and not isinstance(args.nodes[0], ast.Constant):
            appended(run, node, args.nodes[-1], ref, args.values[-1])
    if name in _FILLS:
        _filled(obj, name, args)
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        return registered(run, node, one, args)
    if name == "state_dict" and not library.says_optimizer(obj.key):
        run.modules[obj] = None
        return snapshot_dict(run, node, ref)
    if name in ("parameters", "named_parameters", "buffers", "named_buffers"):
        if obj.kind == "unknown":
            obj.refuted = True
        run.modules[obj] = None
        kind = {"named_parameters": "named", "named_buffers": "named buffers"}.get(name, name)
        return Value((Ref(Obj("iter", "fresh", node, made=name, data=(kind, [(node, one)]))),))
    if name == "load_state_dict":
        args.use(run)
        assigned(run, node, obj, args)
        reloaded(run, node, obj, args)
        own = [
            (inner.obj, link.node)
            for value in args.values
            for inner in value.refs
            for held_value in run.now.fields(inner.obj).values()
            for held in held_value.refs
            for link in held.chain
            if link.kind == SNAPSHOT and held.obj is obj
        ]
        run.merged.update(taken for state, taken in own if state in run.edited)
        if not own and not args.flag("assign", 2):  # else the module has other tensors, and the old ones stay
            train(run, node, obj, f"{obj.key or 'it'}.load_state_dict()")
        return UNKNOWN
    if name in ("modules", "named_modules", "children", "named_children") and obj.kind == "module":
        return Value((Ref(Obj("iter", "fresh", node, made=name, operands=(obj,))),))
    if obj.kind != "module":
        if name in ("zero_grad", "train", "eval"):
            run.modules[obj] = None
            obj.refuted = True
            if name == "zero_grad":
                run.zeroed.add(obj)
            args.use(run)
            if name == "train":
                trains(run, node, name, args, None)
            return one
        return None
    if name in library.MODULE_SELF:
        args.use(run)
        if name == "requires_grad_":
            switch(run, ref, asked_by(run, args.all()[0][0]) if args.all() else Asked(True))
        elif name == "apply" and args.values:
            applied(run, one, args.nodes[0], args.values[0])
        if name in ("zero_grad", "train", "eval"):
            run.modules[obj] = None
        if name == "requires_grad_" and args.all():
            handed(run, one)  # frozen: nobody wants it trained
        return Value((ref.derive(Link(ALIAS, name, node)),))
    return None


def snapshot_dict(run: Run, node: ast.Call, ref: Ref) -> Value:
    obj = Obj("dict", "fresh", node, made="state_dict", data="state")
    place = Place("the state_dict", node, origin="item")
    held = Ref(
        ref.obj,
        (*ref.chain, Link(SNAPSHOT, "state_dict", node)),
        place,
        run.now.written(ref.obj),
        run.now.arms,
    )
    run.now.set_field(obj, "[*]", Value((held,)))
    return Value((Ref(obj),))


def call_module(run: Run, node: ast.Call, module: Obj, args: Args, shown: str) -> Value:
    """A module of torch.nn, called: what its row says of `forward`."""
    if module.cls == "torch.nn.Sequential" and module.data != NO_LAYERS:
        return _call_layers(run, node, module, args, shown)
    op = ops.function(module.cls)
    given = args.values[0] if args.values else UNKNOWN
    if module.data == "inplace":
        for value in args.values:
            run.note(value, 2)
        target = run.short(args.nodes[0]) if args.nodes else ""
        return in_place(run, node, given, shown, "module", target, in_place_row(module))
    if op is not None and op.result in ("view", "maybe", "same"):
        for value in args.values[:1]:
            run.note(value, 2)
        short = module.cls.rsplit(".", 1)[-1]
        return Value(tuple(ref.derive(Link(VIEW if op.result == "view" else MAYBE, short, node)) for ref in given.refs))
    for value in args.values:
        run.note(value, 2)
    args.use(run, "operand")
    if module.cls in _RECURRENT or module.cls == _LSTM_CELL:
        return _call_recurrent(run, node, module, args)
    several = op is not None and op.many != 1
    result = fresh(run, node, "unknown" if several else "tensor", module.cls, operands=(module, *args.objs()))
    made = result.refs[0].obj
    made.graph = graph_of_call(run, module, args.values)
    if run.function.features & (TURNED | UNPACKED):
        note_row(run, made, given)
    record(run, node, shown, module_keeps(module), list(args.values), made)
    return result


_LSTM_CELL = "torch.nn.LSTMCell"
_RECURRENT = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})


def _call_recurrent(run: Run, node: ast.Call, module: Obj, args: Args) -> Value:
    """`output, state = lstm(x)`: an LSTM keeps its output for backward; a cell gives two tensors."""
    parts: list[tuple[str, ast.expr, Value]] = []
    given = args.values[0].refs if args.values else ()
    plain = bool(given) and all(run.evidence_of(ref, None) >= 2 for ref in given)  # not packed
    for slot in ("[0]", "[1]"):
        tensor = module.cls == _LSTM_CELL or (plain and (slot == "[0]" or not module.cls.endswith("LSTM")))
        part = fresh(run, node, "tensor" if tensor else "unknown", module.cls, operands=(module, *args.objs()))
        part.refs[0].obj.graph = graph_of_call(run, module, args.values)
        parts.append((slot, node, part))
    keeps = module_keeps(module)
    record(run, node, module.cls.rsplit(".", 1)[-1], keeps, list(args.values), parts[0][2].refs[0].obj)
    return container(run, node, "tuple", parts)


def _call_layers(run: Run, node: ast.Call, module: Obj, args: Args, shown: str) -> Value:
    """A Sequential: the first layer meets the argument, the others what it made."""
    where, value = next(zip(args.nodes, args.values, strict=True), args.keywords.get("input", (node, UNKNOWN)))
    layers = list(module.data[-1]) if isinstance(module.data, tuple) else []
    if not isinstance(module.data, tuple) or module.data[0] != "layers":
        layers.append(UNKNOWN)
    for layer in layers:
        obj = layer.obj
        if obj is None or obj.kind != "module" or isinstance(obj.data, Class):
            run.use(value, where, "operand")
            return fresh(run, node, "unknown", "call", operands=args.objs())
        value = call_module(run, node, obj, Args.of_one(node, where, value), shown)
    return value


def graph_of_call(run: Run, module: Obj, given: list[Value]) -> bool | None:
    """Whether what a module of torch.nn returns requires grad: for its own parameters, or for what it is given."""
    if not run.now.grad:
        return run.now.grad
    if not frozen(module) and library.has_weights(module.cls) is not False:
        return True
    graph = graph_of_result(given)
    if not module.cls:
        return graph or None  # an item of a container, whatever module it is
    return None if module.graph is not False and library.has_weights(module.cls) is not False and not graph else graph


def may_change(run: Run, obj: Obj) -> None:
    """A method that this file does not define may rebind what the object holds (its modules stay)."""
    kept = {
        key: value
        for key, value in run.now.fields(obj).items()
        if value.obj is not None and value.obj.kind in ("module", "optimizer")
    }
    run.now.forget(obj)
    if kept:
        run.now.set_fields(obj, kept)
