"""Gradients kept under a name: what moves them (another backward, zeroing, clipping), and who else needs them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from flake8_tensorcopy.engine import ops
from flake8_tensorcopy.engine.facts import GradientWrite, StaleGradient
from flake8_tensorcopy.engine.graph import ancestors, root_of
from flake8_tensorcopy.engine.guards import surely_there
from flake8_tensorcopy.engine.linked import off
from flake8_tensorcopy.engine.nodes import start_of, walk
from flake8_tensorcopy.engine.notes import Use
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.snapshots import value_kept
from flake8_tensorcopy.engine.values import ALIAS, DETACH, VIEW, Obj, Place, Ref, Value, Write, exclusive, per_pass

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args
    from flake8_tensorcopy.engine.module import Module

_KEPT = frozenset(
    "old prev previous orig original saved before backup initial snapshot first raw unclipped full last copy".split()
)
# Functions that say that they change the gradients.
_DELIBERATE = re.compile(
    r"hook|_$|^_*(step|update|apply|(un|re)?scale|clip|clamp|normali[sz]e|mask|zero|project|add|noise|sync|average|"
    r"reduce|all_?reduce|process|modify|sanitize|filter|perturb)(_|$|grad)"
)
# Last words of functions that tell something of the gradients, whatever the first word says: `update_direction`.
_TELLS = frozenset("angle cosine direction directions length magnitude norm ratio similarity size stats vector".split())
# Where what goes in and what comes out have one gradient.
_PASSES_ON = frozenset("+ - add sub sum view reshape flatten clone expand squeeze unsqueeze".split())


class Touched(NamedTuple):
    """A gradient was written in place through a name."""

    write: Write
    place: Place
    obj: Obj


class Met(NamedTuple):
    """A gradient was read, by itself or beside other tensors."""

    obj: Obj
    place: Place | None
    node: ast.AST
    role: str
    tick: int
    beside: bool
    returns: bool


def is_gradient(obj: Obj) -> bool:
    """Whether an object is what `.grad` of something holds that may be a tensor."""
    return obj.slot == ".grad" and obj.parent is not None and obj.parent.kind not in ("instance", "module")


def _of_one_call(obj: Obj) -> bool:
    """Whether an object is one of the results of an `autograd.grad`."""
    return obj.parent is not None and obj.parent.made == "autograd.grad"


def _words(name: str) -> list[str]:
    return name.lower().replace(".", "_").strip("_").split("_")


# ----- what moves them


def _live(run: Run) -> list[Obj]:
    """The gradients in sight that are still the ones of their tensors."""
    found = []
    for obj in run.gradients:
        assert obj.parent is not None
        held = run.now.fields(obj.parent).get(".grad")
        if held is not None and held.obj is obj:
            found.append(obj)
    return found


def _move(run: Run, node: ast.AST, obj: Obj, op: str) -> None:
    write = Write(node, run.stmt, op, "gradient", Ref(obj), run.now.arms, run.loop)
    write.time, write.tick = run.clock, run.count()
    run.now.add_write(obj, write)


def accumulate(run: Run, node: ast.AST, losses: list[Obj]) -> None:
    """`backward()` adds to the gradients of all that the loss was computed from."""
    reached: set[Obj] = set()
    for loss in losses:
        if off(loss):
            continue  # what `backward()` starts from: `y.backward(torch.ones_like(y))`
        made_from = ancestors(loss, without=off)
        if _opaque(loss) or any(one.made == "call" and _opaque(one) for one in made_from):
            reached.update(obj for obj in run.gradients if obj.parent is not None and not _let_go(run, obj.parent))
        reached.update(made_from)
    for obj in _live(run):
        owner: Obj | None = obj
        while owner is not None and owner not in reached:
            owner = owner.parent
        if owner is not None:
            _move(run, node, obj, "backward()")


def _let_go(run: Run, tensor: Obj) -> bool:
    """Whether a tensor, or what it belongs to, was made here and nothing that a name holds has it any more."""
    while tensor.parent is not None and tensor.owner in ("attribute", "item"):
        tensor = tensor.parent
    if tensor.owner not in ("fresh", "unknown"):
        return False
    seen: set[Obj] = set()
    pending = [ref.obj for value in run.now.env.values() for ref in value.refs]
    while pending:
        obj = pending.pop()
        if obj not in seen:
            seen.add(obj)
            pending += [ref.obj for value in run.now.fields(obj).values() for ref in value.refs]
    return tensor not in seen


def _opaque(obj: Obj) -> bool:
    """Whether nothing is known of how a value was computed: a loss that was passed in, or that a call returned."""
    return not obj.operands and obj.kind in ("unknown", "tensor") and obj.owner in ("argument", "item", "unknown")


def backward_in_call(run: Run, node: ast.AST, done: Run, given: dict[int, Value]) -> None:
    """A function of this file calls `backward`, perhaps after it has let go of the gradients."""
    if not done.backwards:
        return
    if done.clears:
        clear(run)
    positions = [position for position in done.once(_backpropagated) if position in given]
    accumulate(run, node, [ref.obj for position in positions for ref in given[position].refs])


def _backpropagated(done: Run) -> list[int]:
    """The positions of the parameters that something was computed from of which a function calls `backward`."""
    reached = {obj for one in done.backwards for obj in ancestors(one.ref.obj, without=off)}
    return [position for position, param in enumerate(done.params) if param in reached]


def zero_grad(run: Run, node: ast.Call, args: Args) -> None:
    """`zero_grad()` lets go of the gradients; told not to, it writes zeros into them."""
    asked = args.keywords["set_to_none"][0] if "set_to_none" in args.keywords else None
    if asked is None and args.nodes:
        asked = args.nodes[0]
    if isinstance(asked, ast.Constant) and asked.value is False:
        for obj in _live(run):
            _move(run, node, obj, "zero_grad(set_to_none=False)")
        return
    clear(run)


def clear(run: Run, owner: Obj | None = None) -> None:
    """All gradients (or that of one tensor, and of the others met like it) are None from here on."""
    run.clears = True
    for obj in run.gradients:
        if obj.parent is not None and (owner is None or _alike(obj.parent, owner)):
            run.now.drop(obj.parent, ".grad")
    if owner is not None:
        run.now.drop(owner, ".grad")


def _alike(one: Obj, other: Obj) -> bool:
    """Whether two tensors are one, or both stand for each parameter of a module (each item of a list) in its turn."""
    if one is other:
        return True
    return one.parent is not None and one.parent is other.parent and per_pass(one.slot) and per_pass(other.slot)


def clipped(run: Run, node: ast.Call, name: str) -> None:
    """`clip_grad_norm_` scales the gradients in place."""
    if name in ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_"):
        for obj in _live(run):
            _move(run, node, obj, f"{name.rsplit('.', 1)[-1]}()")


def written(run: Run, write: Write) -> None:
    """A gradient is written in place: through `.grad`, it is those met alike; through a name, others may need it."""
    ref = write.ref
    obj = ref.obj
    if not (is_gradient(obj) or _of_one_call(obj)) or write.how in ("training", "part", "call"):
        return
    place = ref.place
    if place is not None and place.node is not None and place.origin in ("name", "walrus"):
        if all(link.kind == ALIAS for link in ref.chain):
            run.touched.append(Touched(write, place, obj))
        return
    if write.op == "zero_" and obj.parent is not None:
        for other in _live(run):
            if other is not obj and other.parent is not None and _alike(other.parent, obj.parent):
                _move(run, write.node, other, "zero_")


# ----- who reads them


def stale_gradient(run: Run, use: Use, write: Write, uses: list[Use]) -> bool:
    """A kept gradient is read after it has moved."""
    ref = use.ref
    place = ref.place
    if not is_gradient(ref.obj) or place is None or place.node is None or use.role in ("bind", "test", "logged"):
        return False
    if any(link.kind not in (ALIAS, DETACH, VIEW) for link in ref.chain) or ref.obj.parent is None:
        return False
    if write.how not in ("gradient", "method", "augmented"):
        return False
    through = write.ref.place
    if write.how != "gradient" and (through is None or through.node is not None):
        return False  # through another name
    if write.op == "backward()":
        kind = "backward"
    elif write.op in ("zero_", "fill_") or write.op.startswith("zero_grad"):
        kind = "zeroed"
    else:
        kind = "clipped"
    now = any(
        other.ref.place is not None
        and other.ref.place is not place
        and is_gradient(other.ref.obj)
        and (
            other.ref.obj is ref.obj
            or (other.ref.obj.parent is not None and _alike(other.ref.obj.parent, ref.obj.parent))
        )
        and (other.ref.place.node is None or write in other.ref.seen)
        for other in uses
    )
    taken = value_kept(ref.chain, place.node)
    run.fact(
        StaleGradient(
            site=place.node,
            reader=(place.name if place.origin == "attribute" else place.root) or "what is kept here",
            gradient=ref.obj.key if ref.obj.parent.key else ".grad",
            changed=write.node,
            change=write.op,
            kind=kind,
            read=use.node,
            kept=not _KEPT.isdisjoint(_words(place.root)),
            compared=now,
            taken=taken,
            perhaps=_may_lack(run, ref, taken),
        ),
        strength=(kind == "backward", kind == "zeroed", now),
    )
    return kind != "clipped"


def note_reads(run: Run, uses: list[Use]) -> None:
    """Remember what is read of the gradients that were written through a name."""
    for use in uses:
        obj = use.ref.obj
        if is_gradient(obj) or _of_one_call(obj):
            others = any(other.ref.obj is not obj for other in uses)
            returns = isinstance(run.stmt, ast.Return)
            run.met.append(Met(obj, use.ref.place, use.node, use.role, use.tick, others, returns))


def settle_kept(run: Run) -> None:
    """At the end: what an object or a dict of somebody else has kept, and has moved since."""
    states = [one.state for one in run.returned] + ([] if run.state is None else [run.state])
    for state in states if run.gradients else ():
        for container, fields in state.heap.items():
            if container.owner == "fresh" and container.kind != "instance":
                continue
            for value in fields.values():
                for ref in value.refs if len(value.refs) == 1 else ():
                    if ref.place is not None and ref.place.origin in ("attribute", "store") and is_gradient(ref.obj):
                        _kept(run, ref, sorted(state.written(ref.obj) - ref.seen, key=lambda write: write.tick))


def _kept(run: Run, ref: Ref, writes: list[Write]) -> None:
    place = ref.place
    assert place is not None
    if place.node is None or any(link.kind not in (ALIAS, DETACH, VIEW) for link in ref.chain):
        return
    for write in writes:
        through = write.ref.place
        zeroed = write.op in ("zero_", "fill_") or write.op.startswith("zero_grad")
        if not (zeroed or write.op == "backward()") or (through is not None and through.node is not None):
            continue
        taken = value_kept(ref.chain, place.node)
        run.fact(
            StaleGradient(
                site=place.node,
                reader=place.name,
                gradient=ref.obj.key if ref.obj.parent is not None and ref.obj.parent.key else ".grad",
                changed=write.node,
                change=write.op,
                kind="zeroed" if zeroed else "backward",
                read=write.node,
                kept=False,
                compared=False,
                taken=taken,
                perhaps=_may_lack(run, ref, taken),
            )
        )
        return


def _replaceable(write: Write) -> ast.stmt | None:
    """The statement of a write, where torch has the same operation out of place."""
    if isinstance(write.stmt, ast.AugAssign):
        return write.stmt
    known = ops.method(write.op.removesuffix("_")) is not None
    return write.stmt if known and isinstance(write.stmt, ast.Expr) else None


def _may_lack(run: Run, ref: Ref, taken: ast.expr | None) -> bool:
    """Whether what is kept may be None: it is the gradient of each parameter in turn, or the function asks the name
    that it is kept under; and nothing around it or before it makes sure that there is one."""
    if not isinstance(taken, ast.Name) and not (isinstance(taken, ast.Attribute) and taken.attr == "grad"):
        return False
    if ref.place is None or surely_there(run.module, taken):
        return False
    if ref.obj.parent is not None and per_pass(ref.obj.parent.slot):
        return True
    return any(
        run.text(left.target if isinstance(left, ast.NamedExpr) else left) == ref.place.name
        for node in ast.walk(run.function.node)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        for left in [node.left]
    )


def settle_calls(run: Run) -> None:
    """At the end: what one call of a method keeps for the next one, in a file that zeroes gradients in place."""
    me = run.params[0] if run.function.cls is not None and run.params else None
    kept = [
        (one, site.targets[0])
        for one in run.handed
        if is_gradient(one.ref.obj) and not one.mixed and one.into is not None and root_of(one.into) is me
        for site in [one.site]
        if isinstance(site, ast.Assign) and len(site.targets) == 1 and getattr(site.targets[0], "attr", "") != "grad"
    ]
    zeroing = run.module.once(_zeroed_in_place) if kept and me is not None else None
    for one, target in kept if zeroing is not None else ():
        read = _read_before(run, target)
        if read is None or any(link.kind not in (ALIAS, DETACH, VIEW) for link in one.ref.chain):
            continue
        assert zeroing is not None
        taken = one.site.value if isinstance(one.site, ast.Assign) else None
        given = run.short(taken) if taken is not None else ""
        run.fact(
            StaleGradient(
                site=one.site,
                reader=run.short(target),
                gradient=given if given.endswith(".grad") else one.ref.obj.key or ".grad",
                changed=zeroing,
                change="zero_()" if run.text(zeroing.func).endswith("zero_") else "zero_grad(set_to_none=False)",
                kind="zeroed",
                read=read,
                kept=True,
                compared=False,
                taken=taken,
                perhaps=_may_lack(run, one.ref, taken),
            )
        )


def _read_before(run: Run, target: ast.expr) -> ast.expr | None:
    """Where the function reads what the last call has put there: `old = state["last"]` above `state["last"] = g`."""
    text = run.text(target)
    gets = ""
    if isinstance(target, ast.Subscript):
        gets = f"{run.text(target.value)}.get({run.text(target.slice)}"
    asked = {
        id(side)
        for node in ast.walk(run.function.node)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        for side in (node.left, *node.comparators)
    }
    for node in ast.walk(run.function.node):
        if not isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)) or start_of(node) >= start_of(target):
            continue
        if isinstance(node, ast.Call):
            found = bool(gets) and run.text(node).startswith(gets)
        else:
            found = isinstance(node.ctx, ast.Load) and id(node) not in asked and run.text(node) == text
        if found:
            return node
    return None


def _zeroed_in_place(module: Module) -> ast.Call | None:
    """The call by which this file clears gradients, if all such calls write zeros into them."""
    found: ast.Call | None = None
    for node in walk(module.survey.body.node):
        match node:
            case ast.Call(func=ast.Attribute(attr="zero_", value=ast.Attribute(attr="grad"))):
                found = found or node
            case ast.Call(func=ast.Attribute(attr="zero_grad")):
                given = [*node.args, *(one.value for one in node.keywords if one.arg == "set_to_none")]
                if not (given and isinstance(given[0], ast.Constant) and given[0].value is False):
                    return None
                found = found or node
    return found


def settle_writes(run: Run) -> None:
    """At the end: of the gradients written through a name, which ones are needed as they were."""
    settle_kept(run)
    settle_calls(run)
    for touched in run.touched:
        if _of_one_call(touched.obj):
            _sibling(run, touched)
        else:
            _probe(run, touched)


def _sibling(run: Run, touched: Touched) -> None:
    write, obj = touched.write, touched.obj
    call = obj.parent
    assert call is not None
    for met in run.met:
        if met.obj is obj or met.obj.parent is not call or met.tick < write.tick or met.role in ("bind", "test"):
            continue
        if not any(one.write.node is not write.node and one.obj is met.obj for one in run.touched):
            _needed(
                run,
                touched,
                met.node,
                "sibling",
                met.place.name if met.place else "the other",
                _share(run, call, obj, met.obj),
            )
            return


def grad_call(run: Run, call: Obj, outputs: Value, inputs: Value) -> None:
    """`torch.autograd.grad(outputs, inputs)`: remember what is differentiated, and by what."""
    if outputs.obj is not None and inputs.obj is not None:
        items = {slot: held.obj for slot, held in run.now.fields(inputs.obj).items() if held.obj is not None}
        run.grad_calls[call] = (outputs.obj, items)


def _share(run: Run, call: Obj, one: Obj, other: Obj) -> bool:
    """Whether the two inputs reach the output by ops that hand one gradient on to all their operands."""
    output, inputs = run.grad_calls.get(call, (None, {}))
    left, right = inputs.get(one.slot), inputs.get(other.slot)
    if output is None or left is None or right is None:
        return False
    pending, reached = [output], {output}
    while pending and len(reached) < 40:
        here = pending.pop()
        if here.made in _PASSES_ON:
            pending.extend(item for item in here.operands if item not in reached)
            reached.update(here.operands)
    return left in reached and right in reached


def _probe(run: Run, touched: Touched) -> None:
    write, obj = touched.write, touched.obj
    owner = obj.parent
    name = run.function.name.lower()
    if owner is None or (_DELIBERATE.search(name) and _words(name)[-1] not in _TELLS):
        return
    if any(one.ref.obj is owner and one.how != "training" for one in run.log):
        return  # the gradient is used up here
    reads = [met for met in run.met if met.obj is obj and met.place is touched.place and met.tick > write.tick]
    kept = [met for met in reads if met.role in ("return", "store", "yield") or (met.returns and met.role == "item")]
    if per_pass(owner.slot):
        reads = kept
    else:
        reads = [
            met for met in reads if met in kept or met.role == "difference" or (met.role == "operand" and met.beside)
        ]
    if not reads:
        return
    for step in run.stepped:
        if step.tick > write.tick and not exclusive(step.arms, write.arms):
            _needed(run, touched, step.node, "step", obj.key, True)
            return
    if owner.owner != "fresh" and not run.stepped:
        for met in run.met:
            if met.obj is obj and met.returns and met.role in ("return", "item") and met.tick > write.tick:
                _needed(run, touched, met.node, "return", obj.key, True)
                return


def _needed(run: Run, touched: Touched, node: ast.AST, by: str, gradient: str, certain: bool) -> None:
    write = touched.write
    # Where the same name is used to clear the gradient, it is to reach the gradient.
    clears = any(one.place is touched.place and one.write.op in ("zero_", "fill_") for one in run.touched)
    kept = value_kept(write.ref.chain, touched.place.node)
    run.fact(
        GradientWrite(
            site=write.node,
            writer=touched.place.name,
            gradient=gradient,
            op=write.op,
            bound=touched.place.node,
            needed=node,
            by=by,
            certain=certain,
            taken=None if clears or _may_lack(run, write.ref, kept) else kept,
            statement=None if clears else _replaceable(write),
        )
    )
