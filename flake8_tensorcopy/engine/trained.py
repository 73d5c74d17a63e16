"""What training moves: gradients that nobody clears, steps before backward, parts that no gradient reaches."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from flake8_tensorcopy.engine import library, ops
from flake8_tensorcopy.engine.backward import inside, made_at
from flake8_tensorcopy.engine.classes import methods_of
from flake8_tensorcopy.engine.cuts import finish_cuts
from flake8_tensorcopy.engine.facts import Fact, GradientNotCleared, InferenceUse, SteppedBefore, UntrainedPart
from flake8_tensorcopy.engine.features import OPTIMIZER, REQUIRES_GRAD
from flake8_tensorcopy.engine.freezing import any_switched_off
from flake8_tensorcopy.engine.graph import ancestors, without_grad
from flake8_tensorcopy.engine.linked import detached, linked
from flake8_tensorcopy.engine.modes import entry_mode
from flake8_tensorcopy.engine.module import Module
from flake8_tensorcopy.engine.nodes import Below, start_of, walk
from flake8_tensorcopy.engine.recurrent import finish_recurrent, holds_of
from flake8_tensorcopy.engine.retained import finish_retained
from flake8_tensorcopy.engine.source import Class, Function
from flake8_tensorcopy.engine.trail import Holds, ModuleCall, Update
from flake8_tensorcopy.engine.unwrapped import layer_of
from flake8_tensorcopy.engine.values import (
    SNAPSHOT,
    Obj,
    Ref,
    Value,
    Write,
    exclusive,
)

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.notes import Backward
    from flake8_tensorcopy.engine.run import Run

_SIZES = frozenset({"in_features", "out_features"})  # of a layer

MAX_STEPS = 10  # of an optimizer before a `backward()`: the last ones

# Modules of torch.nn in which weights meet what other weights made.
_DEEP = ("LSTM", "GRU", "RNN", "Transformer", "MultiheadAttention")
_WEIGHTED = ("Linear", "Conv", "Bilinear", "BatchNorm", "LayerNorm", "GroupNorm", *_DEEP)
# Words of a name that say: not trained on purpose.
_MEANT = frozenset("frozen fixed random target teacher ref reference ema momentum pretrained k old prior".split())
_MODES = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
# What may be done with a module besides calling it, without training or using it.
_HARMLESS = frozenset(
    "parameters named_parameters train eval to cuda cpu float double half state_dict load_state_dict zero_grad apply "
    "weight bias named_modules modules".split()
)


def finish_training(run: Run) -> None:
    """Facts about the graph that need the whole function."""
    finish_retained(run)
    finish_recurrent(run)
    finish_cuts(run)
    for update in run.trail.updates:
        _judge_update(run, update)
    steps = sorted((write for write in run.log if write.how == "training"), key=lambda write: write.tick)
    for backward in run.backwards if steps else ():
        if not detached(backward.ref):
            _judge_steps(run, backward, steps)
    for optimizer, holds in run.trail.optimizers.items():
        _judge_parts(run, optimizer, holds)


# ----- optimizers


def note_optimizer(run: Run, optimizer: Value, args: Args) -> Value:
    """What an optimizer was given: modules, tensors, or something unknown."""
    modules: list[Obj] = []
    tensors: list[Obj] = []
    known = True
    pending = [value for _, value in args.all()[:1]]
    seen: set[Obj] = set()
    while pending:
        value = pending.pop()
        known = known and bool(value.refs or value.kind in ("number", "str"))
        for ref in value.refs:
            obj = ref.obj
            if obj in seen:
                continue
            seen.add(obj)
            if any(link.kind == SNAPSHOT for link in ref.chain):
                modules.append(obj)
            elif obj.kind == "iter" and isinstance(obj.data, tuple):
                kind, parts = obj.data
                if kind in ("parameters", "named"):
                    modules.extend(part.obj for part in parts[0][1].refs)
                else:
                    pending.extend(part for _, part in parts)
            elif obj.param and obj.owner == "item" and obj.parent is not None:
                modules.append(obj.parent)
            elif obj.kind in ("list", "tuple", "dict"):
                held = run.now.fields(obj)
                pending.extend(held.values() if held else [Value((Ref(one),)) for one in obj.operands])
                known = known and bool(held or obj.operands)
            elif obj.kind == "tensor" or obj.leaf:
                tensors.append(obj)
            else:
                known = False
    if optimizer.obj is not None:
        run.trail.optimizers[optimizer.obj] = Holds(tuple(modules), tuple(tensors), known)
    return optimizer


# ----- updates by hand


def moved_by(
    run: Run, node: ast.AST, values: Iterable[Value], targets: tuple[Ref, ...] = (), into: Obj | None = None
) -> None:
    """A write of something computed from gradients; `targets` where the run's log will not tell what is written.

    What is written into, as a momentum, has the gradients from there on.
    """
    if run.within:
        owners: dict[Obj, None] = {}
        momenta = run.trail.momenta
        for obj in dict.fromkeys([ref.obj for value in values for ref in value.refs]):
            for one in ancestors(obj):
                if one.slot == ".grad" and one.parent is not None:
                    owners[one.parent] = None
                if momenta:
                    owners |= dict.fromkeys(momenta.get(one, ()))
        if owners:
            run.trail.updates.append(Update(tuple(owners), node, run.loop, run.within, targets))
            if into is not None and into not in owners:
                run.trail.momenta[into] = tuple(owners)


def _judge_update(run: Run, update: Update) -> None:
    written = [(ref, run.short(update.site)) for ref in update.targets]
    written += [
        (write.ref, write.target)
        for write in run.log
        if write.node is update.site and write.how not in ("part", "training")
    ]
    for ref, target in written:
        obj = ref.obj
        if obj not in update.owners:
            continue
        name = ref.place.name if ref.place is not None else target
        for backward in run.backwards:
            loop = _common_loop(update, backward)
            if loop is None or inside(made_at(obj), loop) or not _got_gradient(run, obj, backward):
                continue
            if _set_in(run, loop, name) or _cleared(run, obj, loop, name):
                continue
            others = [run.short(node) for node in _zeroing(run, loop)]
            run.fact(
                GradientNotCleared(
                    site=backward.node, tensor=name, update=update.site, other=others[0] if others else ""
                )
            )
            return


def _common_loop(update: Update, backward: Backward) -> ast.stmt | None:
    """The innermost loop, of one pass of which both are part."""
    found = None
    for one, other, mine, theirs in zip(update.within, backward.within, update.loop, backward.loop, strict=False):
        if one is not other or mine != theirs:
            break
        found = one
    return found


def _got_gradient(run: Run, obj: Obj, backward: Backward) -> bool:
    reached = set(ancestors(backward.ref.obj))
    if obj in reached or obj.parent in reached:  # what holds it had a part in the loss: by a method, as an argument
        return True
    module = obj.parent if obj.param else None
    return module is not None and (
        module in reached or any(call.module is module for call in run.trail.giving(reached))
    )


def _set_in(run: Run, loop: ast.stmt, name: str) -> bool:
    """Whether the loop, or a function that it calls, makes another tensor of that name."""
    attribute = "." + name.rpartition(".")[2]
    for part in walk(loop):
        if isinstance(part, (ast.Assign, ast.AnnAssign)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            stored = (item for target in targets for item in walk(target))
            if any(_stores(item) and run.text(item) == name for item in stored):
                return True
        done = run.called.get(part) if isinstance(part, ast.Call) and "." in name else None
        if done is not None and any(key == attribute for _, key in done.rebinds):
            return True
    return False


def _stores(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store)


def _cleared(run: Run, obj: Obj, loop: ast.stmt, name: str) -> bool:
    """Whether anything may clear the gradient."""
    grads = [write.ref.obj.parent for write in run.log if write.ref.obj.slot == ".grad"]
    grads += [owner for owner, key in run.rebinds if key == ".grad"]
    if any(owner is obj or obj.owner == "item" for owner in grads):
        return True
    for value in run.trail.zeroed:
        if not value.refs or any(_may_hold(run, ref.obj, obj) for ref in value.refs):
            return True
    for part in walk(loop):
        call = part.value if isinstance(part, ast.Expr) else part
        if isinstance(call, ast.Call) and any(isinstance(arg, ast.Name) and arg.id == name for arg in call.args):
            qualified = run.names.qualify(call.func) or ""
            if isinstance(call.func, ast.Name) and qualified and not qualified.startswith("torch."):
                return True
            if call is not part and run.text(call.func) != "print" and ops.function(qualified) is None:
                return True  # called for what it does: `zero_gradients(x)`
    return False


def _may_hold(run: Run, holder: Obj, obj: Obj) -> bool:
    """Whether `zero_grad()` of an optimizer or module may reach a tensor."""
    holds = run.trail.optimizers.get(holder)
    if holds is not None:
        return not holds.known or obj in holds.tensors or obj in holds.modules or obj.parent in holds.modules
    if obj.param:
        return True
    # What is called is a module, which has nothing but its parameters.
    return obj.owner != "fresh" and not (obj.leaf and any(call.module is holder for call in run.trail.calls))


def _zeroing(run: Run, loop: ast.stmt) -> Iterator[ast.expr]:
    for part in walk(loop):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "zero_grad":
            yield part.func.value


# ----- steps


def _judge_steps(run: Run, backward: Backward, every: Sequence[Write]) -> None:
    steps: list[Write] = []
    for position in range(bisect_left(every, backward.tick, key=lambda write: write.tick) - 1, -1, -1):
        if not exclusive(every[position].arms, backward.arms):
            steps.insert(0, every[position])
            if len(steps) == MAX_STEPS:
                break
    if not steps:
        return
    stepped = {write.ref.obj for write in steps}
    for call in run.trail.giving(linked(backward.ref.obj, strict=True)):
        if call.module not in stepped or call.tick > steps[-1].tick:
            continue
        if call.grad is False or not _saves_weights(run, call):
            continue
        if any(one != other for one, other in zip(call.loop, backward.loop, strict=False)):
            continue  # through a state of another pass
        for write in steps:
            if len(call.loop) < len(backward.loop) and start_of(write.node) > start_of(backward.node):
                continue  # the step of the pass before
            if write.ref.obj is call.module and call.tick < write.tick and _moves(run, write, call.module):
                run.fact(
                    SteppedBefore(
                        site=write.node,
                        module=call.module.key or run.short(call.node.func),
                        call=call.node,
                        backward=backward.node,
                    )
                )


def _moves(run: Run, write: Write, module: Obj) -> bool:
    """Whether a step moves a module: its optimizer was built from that, or nothing else has got a gradient by the last
    `backward()` before it."""
    return module in holds_of(run, write) or _all_moved(run, write) == {module}


def _all_moved(run: Run, write: Write) -> frozenset[Obj]:
    """What has got a gradient by the last `backward()` before a step of an optimizer of unknown make."""
    known = run.trail.moved.get(write)
    if known is None:
        known = run.trail.moved[write] = frozenset(_with_gradients(run, write))
    return known


def _with_gradients(run: Run, write: Write) -> Iterator[Obj]:
    base, name = run.method_calls.get(write.node, (None, "")) if isinstance(write.node, ast.Call) else (None, "")
    obj = base.obj if base is not None else None
    if name != "step" or obj is None or (obj.kind == "optimizer" and obj.data):
        return
    before = [one for one in run.backwards if one.tick < write.tick and not exclusive(one.arms, write.arms)]
    if not before or detached(before[-1].ref):
        return
    for call in run.trail.giving(linked(before[-1].ref.obj)):
        if call.grad is not False:
            if not (library.says_loss(call.module.key) or _weightless(call.module)):
                yield call.module


def _weightless(module: Obj) -> bool:
    return module.kind == "module" and module.cls.startswith("torch.nn.") and library.has_weights(module.cls) is False


def _saves_weights(run: Run, call: ModuleCall) -> bool:
    """Whether backward of a call needs the weights: where what they meet has a graph of its own."""
    known = run.trail.saving.get(call.tick)
    if known is None:
        known = run.trail.saving[call.tick] = _meets_graph(run, call)
    return known


def _meets_graph(run: Run, call: ModuleCall) -> bool:
    for value in call.fed:
        for ref in value.refs:
            before = () if detached(ref) else run.trail.giving(linked(ref.obj, strict=True))
            if not detached(ref) and ref.obj.graph:
                return True
            if any(other.grad and other.module is not call.module for other in before):
                return True
    module = call.module
    short = module.cls.rsplit(".", 1)[-1]
    if isinstance(module.data, tuple) and module.data[0] == "layers":
        return sum(_weighted(value.obj) for value in module.data[1]) > 1
    if isinstance(module.data, Class):
        table = run.module.table(module.data)
        layers = 0
        for held in table.values():
            obj = held.obj
            if obj is not None and obj.kind == "module":
                inner = obj.data[1] if isinstance(obj.data, tuple) and obj.data[0] == "layers" else []
                layers += sum(_weighted(value.obj) for value in inner) if inner else _weighted(obj)
        return layers > 1
    return short.startswith(_DEEP) or _of_unknown_make(module)


def _of_unknown_make(module: Obj) -> bool:
    """Whether a module is an argument, of the function or of the constructor: it has several layers, as a rule."""
    return module.owner in ("argument", "attribute") and (module.kind == "unknown" or module.cls == "torch.nn.Module")


def _weighted(obj: Obj | None) -> bool:
    return obj is not None and obj.kind == "module" and obj.cls.rsplit(".", 1)[-1].startswith(_WEIGHTED)


# ----- parts without a gradient


def _judge_parts(run: Run, optimizer: Obj, holds: Holds) -> None:
    if (
        optimizer not in run.once(_stepped)
        or not run.backwards
        or "requires_grad" in run.module.below(run.function.node).attributes
    ):
        return
    for module in holds.modules:
        given = module in run.params and module.kind in ("module", "unknown") and module.data is None
        if not (given and not run.module.once(_freezes)) and (module.owner != "fresh" or module.kind != "module"):
            continue
        if _escapes(run.module, run.function.node, module.key, given_back=not _gives_back(run, optimizer)):
            continue
        called = run.once(_calls_of)
        calls = called.get(module)
        if not calls or any(call.grad is not False for call in calls):
            continue
        others = [call for one in set(holds.modules) for call in called.get(one, ()) if call.grad]
        if any(obj in run.once(_behind_backwards) for call in others for obj in call.results):
            run.fact(UntrainedPart(site=calls[0].node, module=module.key, optimizer=optimizer.node))


def _stepped(run: Run) -> set[Obj | None]:
    """What `step()` was called on."""
    return {base.obj for base, name in run.method_calls.values() if name == "step"}


def _calls_of(run: Run) -> dict[Obj, list[ModuleCall]]:
    """The calls of each module."""
    found: dict[Obj, list[ModuleCall]] = {}
    for call in run.trail.calls:
        found.setdefault(call.module, []).append(call)
    return found


def _behind_backwards(run: Run) -> set[Obj]:
    """All that the values hang on that get `backward()`."""
    return {one for backward in run.backwards for one in linked(backward.ref.obj)}


def judge_inputs(run: Run) -> None:
    """A part that is trained keeps what it is given for its weights: nothing that inference mode made."""
    trained = {module for holds in run.trail.optimizers.values() for module in holds.modules}
    for call in run.trail.calls if run.tape.inference else ():
        if not call.grad or call.module not in trained or call.module.kind != "unknown":
            continue
        for ref in (ref for value in call.fed for ref in value.refs):
            reached = any(obj in run.once(_behind_backwards) for obj in call.results)
            if ref.obj in run.tape.inference and reached and not exclusive(ref.arms, call.arms):
                name = ref.place.name if ref.place is not None else run.short(call.node.args[0])
                keeper = run.short(call.node.func)
                run.tape.found.append(InferenceUse(site=call.node, value=name, made=ref.obj.node, keeper=keeper))


def _freezes(module: Module) -> bool:
    """Whether the file sets `requires_grad` of anything to something else than True."""
    return any(any_switched_off(function) for function in module.survey.all if function.features & REQUIRES_GRAD)


def _escapes(
    module: Module,
    node: ast.AST,
    name: str,
    owner: str = "",
    harmless: frozenset[str] = _HARMLESS,
    optimizer: ast.AST | None = None,
    given_back: bool = False,
) -> bool:
    """Whether a module is used otherwise than by calls of it and of its own methods, for an optimizer, and, with
    `given_back`, than by being returned."""
    given = set(walk(optimizer)) if optimizer is not None else set()
    below = module.below(node)
    named: Sequence[ast.Name | ast.Attribute] = (below.attributes if owner else below.names).get(name, ())
    for part in named:
        if not isinstance(part.ctx, ast.Load) or part in given:
            continue
        above = below.parents.get(part)
        own = isinstance(part, ast.Name) or (isinstance(part.value, ast.Name) and part.value.id == owner)
        if isinstance(above, ast.Call) and above.func is part and own:
            continue
        if isinstance(above, ast.Attribute) and (
            above.attr in harmless or (not own and above.attr in ("weight", "bias"))
        ):
            continue
        if given_back and _is_returned(below, part):
            continue
        return True
    return not name


def _is_returned(below: Below, part: ast.AST) -> bool:
    """Whether something is returned, by itself or in a tuple, perhaps under a name that is good for that alone."""
    above = below.parents.get(part)
    if isinstance(above, ast.Tuple):
        above = below.parents.get(above)
    match above:
        case ast.Return():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            reads = [one for one in below.names.get(name, ()) if isinstance(one.ctx, ast.Load)]
            return all(isinstance(below.parents.get(one), ast.Return) for one in reads)
    return False


def _gives_back(run: Run, optimizer: Obj) -> bool:
    """Whether the function leaves an optimizer to its caller, who may train with it."""
    return any(
        ref.obj is optimizer
        or any(held.obj is optimizer for one in state.fields(ref.obj).values() for held in one.refs)
        for value, state, _ in run.returned
        for ref in value.refs
    )


def untrained_parts(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """A module of `self` that the optimizer of `__init__` holds, and all methods call without a graph."""
    init = cls.methods.get("__init__")
    start = module.run_of(init) if init is not None else None
    if start is None or start.state is None or not start.params or "requires_grad" in module.below(cls.node).attributes:
        return
    runs = [(method, module.run_of(method)) for method in methods_of(module, cls) if not method.static]
    for optimizer, holds in start.trail.optimizers.items():
        names = {
            key: value.obj
            for key, value in start.state.fields(start.params[0]).items()
            if value.obj in holds.modules and value.obj is not None and value.obj.kind == "module"
        }
        for key in [key for key, obj in names.items() if list(names.values()).count(obj) > 1]:
            del names[key]  # two names for one module: what one is called for, the other has too
        calls: dict[str, list[tuple[Function, ModuleCall]]] = {key: [] for key in names}
        for method, run in runs:
            for call in run.trail.calls if run is not None and run.params else ():
                if run is not None and call.module.parent is run.params[0] and call.module.slot in calls:
                    calls[call.module.slot].append((method, call))
        trained = any(
            call.grad and not _off(module, method, call) for found in calls.values() for method, call in found
        ) or any(obj.param for obj in holds.tensors)
        for key, found in calls.items():
            # Under whatever names the object has the module.
            every = [one for other in names if names[other] is names[key] for one in calls[other]]
            if found and trained and all(_off(module, method, call) for method, call in every):
                if not _escapes(module, module.survey.body.node, key[1:], "self"):
                    method, call = found[0]
                    yield method, UntrainedPart(site=call.node, module=f"self{key}", optimizer=optimizer.node)


def _off(module: Module, method: Function, call: ModuleCall) -> bool:
    """Whether a call records nothing: for where it stands, or for where its method is called."""
    return call.grad is False or (call.grad is True and without_grad(module, method))


def untrained_layers(module: Module, cls: Class) -> Iterator[tuple[Function, Fact]]:
    """A layer that a Module makes and calls without a graph only, with all its parameters in an optimizer."""
    if "forward" not in cls.methods or not module.is_module(cls) or _freezes(module):
        return
    if not any(_switches(module, method) for method in cls.methods.values()):
        return
    trains = "training_step" in cls.methods or any("backward" in one.calls for one in module.survey.all)
    optimizers = _holders(module, cls) if trains else {}
    if not optimizers:
        return
    runs = [(method, module.run_of(method)) for method in methods_of(module, cls) if not method.static]
    calls: dict[str, list[tuple[Function, ModuleCall]]] = {}
    for method, run in runs:
        for call in run.trail.calls if run is not None and run.params else ():
            if run is not None and call.module.parent is run.params[0]:
                calls.setdefault(call.module.slot, []).append((method, call))
    table = module.table(cls)
    layers = {
        key
        for key, held in table.items()
        if held.obj is not None and layer_of(module, held.obj, new=True) and not optimizers.keys().isdisjoint(("", key))
    }
    trained = any(
        call.grad and not _off(module, method, call) for key in layers & set(calls) for method, call in calls[key]
    )
    for key in sorted(layers & set(calls)) if trained else ():
        found = calls[key]
        meant = not _MEANT.isdisjoint(key[1:].lower().split("_")) or cls.assigns.get(key[1:], set()) != {"__init__"}
        if not meant and all(_off(module, method, call) for method, call in found):
            optimizer = optimizers.get("") or optimizers[key]
            if not _escapes(module, module.survey.body.node, key[1:], "self", _SIZES, optimizer):
                method, call = found[0]
                yield method, UntrainedPart(site=call.node, module=f"self{key}", optimizer=optimizer)


def _switches(module: Module, method: Function) -> bool:
    return not _MODES.isdisjoint(method.calls) or entry_mode(module.survey, method) is False


def _holders(module: Module, cls: Class) -> dict[str, ast.AST | None]:
    """The optimizers of this file that have parameters of objects of a class, by the attribute given; one
    that has all of them under no name."""
    builders = {function.name for function in module.survey.all if function.features & OPTIMIZER}
    found: dict[str, ast.AST | None] = {}
    for function in module.survey.all:
        builds = function.features & OPTIMIZER or not builders.isdisjoint(function.calls)
        run = module.run_of(function) if builds else None
        for optimizer, holds in run.trail.optimizers.items() if run is not None else ():
            for one in holds.modules:
                if one.data is cls and one.kind == "module":
                    found.setdefault("", optimizer.node)
                elif one.parent is not None and one.parent.data is cls and one.parent.kind == "module":
                    found.setdefault(one.slot, optimizer.node)
    return found


def optimized_inside(run: Run, done: Run, given: dict[int, Value]) -> None:
    """A function of this file builds an optimizer over the parameters of what it is given here."""
    for optimizer, holds in done.trail.optimizers.items():
        modules = [
            ref.obj
            for position, value in given.items()
            if position < len(done.params) and done.params[position] in holds.modules
            for ref in value.refs
        ]
        if modules:
            run.trail.optimizers.setdefault(optimizer, Holds(tuple(modules), (), False))
