"""Storages: which views keep one alive, which arrays lose theirs, and which may not be written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.copies import handed_copy, writable_copy
from flake8_tensorcopy.engine.facts import Copy, KeptStorage, ReadOnlyWrite, UnlinkedArray
from flake8_tensorcopy.engine.parameters import reader_of
from flake8_tensorcopy.engine.parts import Index, Row
from flake8_tensorcopy.engine.premises import suppose
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.state import State
from flake8_tensorcopy.engine.values import ALIAS, DETACH, NUMPY, VIEW, Link, Obj, Place, Ref, Value, Write, exclusive

if TYPE_CHECKING:
    from flake8_tensorcopy.engine.arguments import Args

_PARTS = frozenset({"split", "chunk", "unbind", "tensor_split", "unsafe_split", "unsafe_chunk", "hsplit", "vsplit"})


# ----- a small view that keeps all of its storage


def saved(run: Run, node: ast.Call, args: Args) -> None:
    """`torch.save(x[:10], path)` writes all of x."""
    given = args.keywords.get("obj", (node, args.values[0]) if args.values else None)
    found: dict[Obj, list[Ref]] = {}
    pending = [] if given is None else [(given[1], False)]
    while pending:
        value, several = pending.pop()
        several = several or len(value.refs) > 1
        for ref in value.refs:
            if ref.obj.kind in ("dict", "list", "tuple") and ref.obj.owner == "fresh" and len(pending) < 50:
                pending.extend((held, several or slot == "[*]") for slot, held in run.now.fields(ref.obj).items())
            else:
                item = ref.obj.parent if _is_item(run, ref) else None
                found.setdefault(item or ref.obj, []).extend([ref, ref] if several else [ref])
    for obj, refs in found.items():
        if len(refs) > 1:
            continue  # beside the whole, or another part of it, the storage is not written for the view alone
        ref = refs[0]
        if obj is not ref.obj:
            view = ref.obj.key or (ref.place.name if ref.place is not None else "")
            fact = KeptStorage(site=node, view=view, base=obj.key, into="save", evidence=3, **_copied(run, node, ref))
            suppose(run, obj, "tensor", fact)
        elif (part := _small_part(ref)) is not None:
            _kept(run, node, ref, part, "save", obj)


def _is_item(run: Run, ref: Ref) -> bool:
    """`x[0]` of an argument that may be a tensor or a list."""
    obj = ref.obj
    whole = all(link.kind == ALIAS for link in ref.chain)
    return obj.parent in run.params and obj.slot[:1] == "[" and obj.slot[1:2] not in "'\"" and whole


def keep_view(run: Run, node: ast.Call, container: Obj, value: Value) -> None:
    """`self.kept.append(out[:, 0].detach())` in a loop: each entry keeps a whole `out`."""
    if not run.loop or len(value.refs) != 1:
        return
    local = container.owner == "fresh" and container.kind == "list"
    if container.owner != "attribute" and not local:
        return
    ref = value.refs[0]
    made_here = ref.obj.owner in ("fresh", "unknown") and ref.obj.kind in ("tensor", "unknown")
    off = run.now.grad is False or ref.obj.graph is False or any(link.kind == DETACH for link in ref.chain)
    base = ref.via[0] if ref.via else ref.place
    whole = base is not None and base.loop == run.loop
    part = _small_part(ref)
    if made_here and off and whole and ref.obj.made not in ("", "index"):
        if local:
            run.kept_views.append((container, ref, node, part))
        elif part is not None:
            _kept(run, node, ref, part, container.key, ref.obj)


def _is_one_of_many(part: Link) -> bool:
    """Whether an index surely leaves out something: not the first of what may be one."""
    items = [item.split("@")[0] for item in part.key.items] if isinstance(part.key, Index) else []
    return any(
        _ends(item) if ":" in item else item.lstrip("-").isdigit() and (item != "0" and (item != "-1" or at > 0))
        for at, item in enumerate(items)
    )


def _returned_views(run: Run) -> None:
    """A list that is given to the caller as it is, of one part each of what the passes of a loop made."""
    given = {ref.obj for one in run.returned for ref in _handed_back(one.value, one.state)}
    for container, ref, node, part in run.kept_views:
        others = [one for one in run.kept_views if one[1].obj is ref.obj]
        small = part is not None and _is_one_of_many(part) and len(others) == 1
        if small and part is not None and container in given and not _consumed(run, container):
            _kept(run, node, ref, part, container.key, ref.obj)


def _handed_back(value: Value, state: State) -> Iterator[Ref]:
    for ref in value.refs:
        yield ref
        if ref.obj.kind in ("tuple", "dict"):
            for held in state.fields(ref.obj).values():
                yield from held.refs


def _consumed(run: Run, container: Obj) -> bool:
    """Whether the list is an argument of a call: stacked, joined, or anything else."""
    return any(
        isinstance(part, ast.Call) and any(isinstance(arg, ast.Name) and arg.id == container.key for arg in part.args)
        for part in ast.walk(run.function.node)
    )


def _small_part(ref: Ref) -> Link | None:
    """The step that takes a part, where nothing after it copies: an item, a row, a slice with an end."""
    found = None
    for link in ref.chain:
        if link.kind not in (ALIAS, DETACH, VIEW):
            return None
        if link.kind == VIEW and found is None and _is_small(link):
            found = link
    return found


def _is_small(link: Link) -> bool:
    if isinstance(link.key, Row):
        return True
    if isinstance(link.key, Index):
        items = [item.split("@")[0] for item in link.key.items]
        return any((":" not in item and item not in ("None", "...")) or _ends(item) for item in items)
    return link.op in _PARTS and link.key is not None


def _ends(item: str) -> bool:
    """A slice that stops before the end: `:10`, `a:b`; not `1:`, `:-1`, which may leave out next to nothing."""
    _, colon, stop = item.partition(":")
    return bool(colon) and bool(stop.split(":")[0]) and not stop.startswith("-") and ":" not in stop


class _Copied(TypedDict):
    copies: tuple[Copy, ...]
    here: bool


def _copied(run: Run, node: ast.Call, ref: Ref) -> _Copied:
    """The view that the call is given, and whether it is written out there."""
    copies = handed_copy(run, ref, node)
    inside = set(ast.walk(node))
    return {"copies": copies, "here": all(part in inside for copy in copies for part in copy.nodes)}


def _kept(run: Run, node: ast.Call, ref: Ref, part: Link, into: str, obj: Obj) -> None:
    base = ref.place.name if ref.place is not None else obj.key
    shown = part.node if isinstance(part.node, ast.expr) else node
    fact = KeptStorage(
        site=node,
        view=run.short(shown) if not isinstance(part.key, Row) else base,
        base=obj.key or base,
        into=into,
        evidence=run.evidence(obj, run.stmt),
        **_copied(run, node, ref),
    )
    if fact.evidence >= 2:
        run.fact(fact)
    elif into == "save":
        suppose(run, obj, "tensor", fact)


# ----- an array whose tensor moves


def moved(run: Run, node: ast.Call, ref: Ref) -> None:
    """`share_memory_()`: the tensor gets another storage, and the arrays over the old one are left behind."""
    side = _side(ref)
    if (ref.obj, side) in run.in_shared_memory:
        return
    run.in_shared_memory.add((ref.obj, side))
    held = [*run.now.env.values(), *(value for fields in run.now.heap.values() for value in fields.values())]
    for value in held:
        for other in value.refs:
            if other.obj is ref.obj and other.place is not None and _side(other) is not side:
                links = (*ref.chain, *other.chain)
                if all(link.kind in (ALIAS, DETACH, VIEW, NUMPY) for link in links):
                    run.left_behind.setdefault(other.place, (node, run.now.arms, _side(other) or side))


def _side(ref: Ref) -> Link | None:
    """The last crossing between NumPy and torch: what is on the same side of it has one storage."""
    return next((link for link in reversed(ref.chain) if link.kind == NUMPY), None)


def left_behind_used(run: Run, place: Place, ref: Ref, node: ast.AST) -> None:
    """An array (or another tensor over it) is used after its memory was exchanged."""
    call, arms, link = run.left_behind[place]
    passed = run.now.arms if run.state is not None else frozenset()
    if call is node or not isinstance(call.func, ast.Attribute) or exclusive(arms, ref.arms | passed):
        return
    run.fact(
        UnlinkedArray(
            site=call,
            array=place.name,
            tensor=run.short(call.func.value),
            dangling=ref.kind == "array" and ref.obj.kind != "array",
            link=link.node if link is not None else None,
            used=node,
        )
    )


def finish_storages(run: Run) -> None:
    """An array that is kept in an attribute, left behind by the tensor, and read by another method."""
    _returned_views(run)
    cls = run.function.cls
    if not run.left_behind or cls is None or not run.params or run.state is None:
        return
    for slot, value in run.state.fields(run.params[0]).items():
        for ref in value.refs:
            reader = reader_of(cls, slot[1:], run.function.name) if ref.place in run.left_behind else None
            if reader is not None and ref.place is not None:
                left_behind_used(run, ref.place, ref, reader)


# ----- arrays that may not be written


def buffer_of(run: Run, args: Args, made: Obj) -> None:
    """`frombuffer(raw)`: read-only where raw is bytes."""
    given = args.keywords.get("buffer", (args.nodes[0], args.values[0]) if args.values else None)
    if given is None:
        return
    obj = given[1].obj
    if obj is not None and not any(link.kind != ALIAS for ref in given[1].refs for link in ref.chain):
        if obj.kind == "bytes" or _gives_bytes(obj.node):
            made.data = "readonly"
        elif obj in run.params and obj.kind == "unknown":
            made.data = obj


def mapped(args: Args, made: Obj) -> None:
    """`np.load(path, mmap_mode="r")`, `np.memmap(path, mode="r")`: pages that may only be read."""
    word = "mmap_mode" if made.made == "load" else "mode"
    if word in args.keywords and args.keywords[word][1].const == "r":
        made.data = "readonly"


def _gives_bytes(node: ast.AST | None) -> bool:
    """A call that returns bytes, as far as it returns a buffer at all."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in library.GIVES_BYTES


def read_only_write(run: Run, write: Write) -> bool:
    """Whether a write through a tensor reaches an array that NumPy would not let be written."""
    ref = write.ref
    if ref.kind != "tensor" or any(link.kind not in (ALIAS, DETACH, VIEW, NUMPY) for link in ref.chain):
        return False
    crossing = next((at for at, link in enumerate(ref.chain) if link.kind == NUMPY), 0)
    view = next((link for link in ref.chain[:crossing] if link.op in library.NUMPY_READ_ONLY), None)
    origin = ref.obj.data if ref.obj.kind == "array" or ref.obj.made == "frombuffer" else None
    if view is None and origin != "readonly" and not isinstance(origin, Obj):
        return False
    if write.how == "call" and view is not None and view.node is write.node:
        return True  # made and written by the called function, where it is said
    fact = ReadOnlyWrite(
        site=write.node,
        writer=write.target,
        op=write.op,
        how=write.how,
        made=view.op if view is not None else ref.obj.made,
        source=view.node if view is not None else ref.obj.node,
        inner=write.inner,
        copies=writable_copy(run, ref, crossing),
    )
    if isinstance(origin, Obj) and view is None:
        suppose(run, origin, "bytes", fact)
        return False
    run.fact(fact)
    run.read_only.add(write.node)
    return True
