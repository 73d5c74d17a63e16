"""Forward hooks: what they keep of the output of a layer that the next one overwrites."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.copies import handed_copy
from flake8_tensorcopy.engine.evaluate import evaluate
from flake8_tensorcopy.engine.facts import Fact, HandedOut
from flake8_tensorcopy.engine.handed_out import SHARES
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.mutated import function_at
from flake8_tensorcopy.engine.nodes import stands_in
from flake8_tensorcopy.engine.notes import Handed, Hooked
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.values import UNKNOWN, Obj, Ref, Value, per_pass

# Calls that go over the layers of a module.
_LAYERS = frozenset({"children", "modules", "named_children", "named_modules"})


def register_hook(run: Run, node: ast.Call, base: Value, args: Args) -> None:
    """`layer.register_forward_hook(hook)`."""
    found = _hook_of(run, args.nodes[0], args.values[0]) if args.nodes else None
    if found is not None:
        hook, output = found
        for ref in base.refs:
            over = _any_layer_of(ref)
            each = over is not None
            argument, positions = _positions(run, node)
            names = dict(run.now.env)
            run.hooks.append(Hooked(over or ref, node, hook, output, names, run.now.arms, each, argument, positions))


def _positions(run: Run, node: ast.Call) -> tuple[str, tuple[int, ...]]:
    """Of `for i in layers: net[i].register_forward_hook(hook)`: the argument or the numbers that the loop goes over."""
    match node.func:
        case ast.Attribute(value=ast.Subscript(slice=ast.Name() as index)):
            item = evaluate(run, index).obj
            if item is not None and item.parent is not None and item.parent in run.params and per_pass(item.slot):
                return item.parent.key, ()
            for loop in run.within:
                match loop:
                    case ast.For(target=ast.Name(id=name), iter=over) if name == index.id:
                        value = evaluate(run, over)
                        return (value.obj.key if value.obj in run.params else ""), numbers_in(run, value)
    return "", ()


def numbers_in(run: Run, value: Value) -> tuple[int, ...]:
    """The numbers of a list or tuple, if it has nothing else."""
    obj = value.obj
    if obj is None or obj.kind not in ("list", "tuple") or obj.owner != "fresh":
        return ()
    held = [one.const for one in run.now.fields(obj).values()]
    found = tuple(one for one in held if isinstance(one, int))
    return found if len(found) == len(held) else ()


def _hook_of(run: Run, node: ast.expr, value: Value) -> tuple[Function, int] | None:
    """The function that is registered, and which of its arguments is the output."""
    survey = run.module.survey
    obj = value.obj
    if obj is not None and isinstance(obj.data, (Function, ast.Lambda)):
        return _as_function(run, obj.data)
    match node:
        case ast.Name(id=name) if name in survey.functions:
            return survey.functions[name], 2
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if run.function.cls is not None:
            method = run.module.method(run.function.cls, name)
            return (method, 2 if method.static else 3) if method is not None else None
        case ast.Call(func=func, args=[first, *preset]) if (run.names.qualify(func) or "") == "functools.partial":
            found = _hook_of(run, first, UNKNOWN if isinstance(first, ast.Call) else evaluate(run, first))
            return (found[0], found[1] + len(preset)) if found is not None else None
        case ast.Call() if node in run.called:
            for made, _, _ in run.called[node].returned:
                if made.obj is not None and made.obj.kind == "function":
                    return _as_function(run, made.obj.data)
    return None


def _as_function(run: Run, data: object) -> tuple[Function, int] | None:
    if isinstance(data, Function):
        return data, 2
    if isinstance(data, ast.Lambda):
        return run.module.as_function(data), 2
    return None


def kept_by_hooks(module: Module) -> Iterator[tuple[Function, Fact]]:
    """What hooks keep of the output of a layer that the next one overwrites."""
    for run in [run for run in module.runs.values() if run is not None and run.hooks]:
        for hooked in run.hooks:
            after = _after_any(hooked) if hooked.each else _next_in_place(module, run, hooked)
            hook = module.run_of(hooked.hook) if after is not None else None
            if after is None or hook is None or len(hook.params) <= hooked.output:
                continue
            if any(value.refs for value, _, _ in hook.returned):
                continue
            output = hook.params[hooked.output]
            kept = [
                (one.node, one.ref)
                for one in hook.handed
                if one.ref.obj is output and not one.mixed and _keeps(hook, one, hooked)
            ]
            for site, ref in (*kept, *_outer_names(hook, output)):
                if any(link.kind not in SHARES for link in ref.chain):
                    continue
                name, node = after
                yield (
                    function_at(module, site) or run.function,
                    HandedOut(
                        site=site,
                        name=output.key,
                        how="hook",
                        op=name,
                        write=node,
                        write_how="module",
                        by=name,
                        reason="layer",
                        evidence=3,
                        copies=handed_copy(hook, ref, site),
                    ),
                )


def _outer_names(hook: Run, output: Obj) -> Iterator[tuple[ast.AST, Ref]]:
    """`nonlocal kept; kept = output`."""
    for item in ast.walk(hook.function.node):
        if isinstance(item, (ast.Nonlocal, ast.Global)) and hook.state is not None:
            for name in item.names:
                for ref in hook.state.env.get(name, UNKNOWN).refs:
                    if ref.obj is output and ref.place is not None and ref.place.node is not None:
                        yield ref.place.node, ref


def _keeps(hook: Run, one: Handed, hooked: Hooked) -> bool:
    """Whether a container (or an attribute) outside the hook holds the tensor itself."""
    into = one.into
    if into is None:
        return False
    if into.kind in ("dict", "list", "instance", "module") or into.refuted or one.how == "attribute":
        return True
    if into.owner == "attribute" and into.key[:5] == "self." and hook.function.cls is None:
        # A function in a method: its `self` is that of the method.
        around = [cls for cls in hook.module.survey.classes.values() if stands_in(hook.function.node, cls.node)]
        made = hook.module.table(around[-1]).get(into.key[4:]) if around else None
        return made is not None and made.obj is not None and made.obj.kind in ("dict", "list")
    known = hooked.names.get(into.key)
    return into.owner == "global" and known is not None and known.obj is not None and known.obj.kind in ("dict", "list")


def _next_in_place(module: Module, run: Run, hooked: Hooked) -> tuple[str, ast.AST] | None:
    """What works in place on the output of a layer, as it is called, and where it was built or called."""
    obj, parent = hooked.module.obj, hooked.module.obj.parent
    slot = obj.slot
    if parent is None:
        parent, slot = _holder(run, obj)
    if parent is None:
        return None
    if isinstance(parent.data, tuple) and parent.data[0] == "layers":
        layers = parent.data[1]
        found = (_next_layer(layers, f"[{position}]") for position in hooked.positions)
        return next((one for one in found if one is not None), None) or _next_layer(layers, slot)
    if isinstance(parent.data, Class) and slot[:1] == ".":
        forward = module.method(parent.data, "forward")
        done = module.run_of(forward) if forward is not None else None
        if done is None or not done.params:
            return None
        for write in done.log:
            made = write.ref.obj
            if write.mixed or made.owner != "fresh" or write.how in ("training", "part"):
                continue
            if any(one.slot == slot and one.parent is done.params[0] for one in made.operands[:1]):
                if all(link.kind in SHARES for link in write.ref.chain):
                    return write.op, write.inner or write.node
    return None


def _any_layer_of(ref: Ref) -> Ref | None:
    """The module whose layers a loop meets: `for layer in model.children()`, `enumerate(model)`."""
    obj: Obj | None = ref.obj
    met = False
    while obj is not None:
        call = obj.node
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _LAYERS:
            return Ref(obj.operands[0]) if obj.operands else None
        if met and obj.kind in ("module", "unknown"):
            return Ref(obj)
        met = met or per_pass(obj.slot)
        obj = obj.parent
    return None


def _after_any(hooked: Hooked) -> tuple[str, ast.AST] | None:
    """What works in place after one of the layers that a loop meets and its tests let pass."""
    asked = " ".join(str(arm.test[0]) for arm in hooked.arms if arm.taken and isinstance(arm.test, tuple))
    return _among(hooked.module.obj, asked if "isinstance(" in asked else "")


def _among(over: Obj, asked: str) -> tuple[str, ast.AST] | None:
    if isinstance(over.data, tuple) and over.data[0] == "layers":
        layers = over.data[1]
        for position, layer in enumerate(layers):
            made = layer.obj
            if made is not None and made.data != "inplace" and made.cls.rsplit(".", 1)[-1] in (asked or made.cls):
                after = _next_layer(layers, f"[{position}]")
                if after is not None:
                    return after
    return None


def _holder(run: Run, obj: Obj) -> tuple[Obj | None, str]:
    """What holds a module that this function built: the object itself, or a Sequential."""
    for state in [*(state for _, state, _ in run.returned), *([run.state] if run.state is not None else [])]:
        if run.params:
            for key, held in state.fields(run.params[0]).items():
                if held.obj is obj:
                    return run.params[0], key
        for value in state.env.values():
            made = value.obj
            if made is not None and isinstance(made.data, tuple) and made.data[0] == "layers":
                for position, layer in enumerate(made.data[1]):
                    if layer.obj is obj:
                        return made, f"[{position}]"
    return None, ""


def _next_layer(layers: list[Value], slot: str) -> tuple[str, ast.AST] | None:
    text = slot[1:-1]
    if not text.lstrip("-").isdigit() or not -len(layers) <= int(text) < len(layers):
        return None
    for layer in layers[int(text) % len(layers) + 1 :]:
        made = layer.obj
        if made is None or made.kind != "module" or made.node is None:
            return None
        if made.data == "inplace":
            return made.cls.removeprefix("torch."), made.node
        if made.cls not in ("torch.nn.Identity", "torch.nn.Flatten", "torch.nn.Unflatten"):
            return None
    return None
