"""Where data comes from: DataLoaders and their datasets, checkpoints, and tensor types that name a device."""

from __future__ import annotations

import ast
import re

from flake8_tensorcopy.engine import library
from flake8_tensorcopy.engine.arguments import Args
from flake8_tensorcopy.engine.evaluate import evaluate, is_imported
from flake8_tensorcopy.engine.facts import DatasetMove, LegacyDevice
from flake8_tensorcopy.engine.iteration import element_of
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.source import Class, Function, collators
from flake8_tensorcopy.engine.transfers import device_type, move_of
from flake8_tensorcopy.engine.values import Obj, Value, per_pass

# What a worker calls on a dataset, by how the name of its class (or of a base) ends.
_READS = (("IterableDataset", "__iter__"), ("Dataset", "__getitem__"))


# ----- datasets and loaders


def is_loader(name: str) -> bool:
    return name in (library.LOADER, "torch.utils.data.dataloader.DataLoader")


def made_loader(run: Run, node: ast.Call, result: Value, values: list[Value]) -> None:
    """`DataLoader(dataset, ..)`: its items lie on the host, unless the dataset puts them elsewhere."""
    for ref in result.refs:
        ref.obj.cls = library.LOADER
        ref.obj.data = ("loader", node)
    keywords = {item.arg: item.value for item in node.keywords}
    pins = keywords.get("pin_memory")
    if isinstance(pins, ast.Constant) and pins.value is True and values:
        moved = _on_cuda(run, node.args[0] if node.args else None, values[0])
        if moved is not None:
            run.fact(DatasetMove(site=node, place="pinned", text=run.short(moved), moved=moved))
    collate = keywords.get("collate_fn")
    if isinstance(collate, ast.Lambda):
        for one in ast.walk(collate.body):
            if _names_cuda(run, one) and isinstance(one, ast.Call):
                run.fact(DatasetMove(site=one, place="collate", text=run.short(one), moved=one))


def next_batch(run: Run, node: ast.Call, args: Args) -> Value | None:
    """`next(iter(loader))`: one batch; None of anything else."""
    if not args.values or args.spread or args.values[0].obj is None:
        return None
    batch = element_of(run, node, args.values[0])
    return batch if batch.obj is not None and _is_batch(batch.obj) else None


def unpacked_batch(batch: Obj, part: Value) -> None:
    """`images, labels = batch`: a loader's batches unpack into tensors."""
    obj = part.obj
    if obj is not None and obj.kind == "unknown" and not obj.uses and _is_batch(batch):
        obj.uses.append((3, None))


def _is_batch(obj: Obj) -> bool:
    """Whether it is what a loader yields; what a function of the user's makes of the items may be anything."""
    loader = obj.parent
    if loader is None or obj.owner != "item" or not per_pass(obj.slot):
        return False
    if loader.cls != library.LOADER:
        return loader.kind == "unknown" and not loader.refuted and library.says_loader(loader.key)
    return not _collates(loader)


def makes_batches(run: Run, over: ast.expr) -> bool:
    """Whether what a loop goes over is called a loader, and no function of the user's is known to make its batches."""
    if not library.says_loader(run.text(over)):
        return False
    if isinstance(over, ast.Call):
        return not (is_loader(is_imported(run, over.func) or "") and _given_collate(over))
    held = evaluate(run, over) if isinstance(over, (ast.Name, ast.Attribute)) else Value()
    return not any(ref.obj.cls == library.LOADER and _collates(ref.obj) for ref in held.refs)


def _collates(loader: Obj) -> bool:
    made = loader.data[1] if isinstance(loader.data, tuple) else None
    return isinstance(made, ast.Call) and _given_collate(made)


def _given_collate(made: ast.Call) -> bool:
    return any(item.arg in ("collate_fn", None) for item in made.keywords)


def _on_cuda(run: Run, given: ast.expr | None, dataset: Value) -> ast.AST | None:
    """The literal move to CUDA of what a dataset returns."""
    obj = dataset.obj
    if obj is None:
        return None
    if isinstance(obj.data, Class):
        return _items_on_cuda(run, obj.data)
    made = obj.node
    if isinstance(made, ast.Call) and (is_imported(run, made.func) or "").endswith(".TensorDataset"):
        for item in made.args:
            if _names_cuda(run, item):
                return item
            held = run.now.env.get(item.id) if isinstance(item, ast.Name) else None
            for ref in held.refs if held is not None and held.obj is not None else ():
                found = [link.node for link in ref.chain if _names_cuda(run, link.node)]
                if found or (ref.obj.node is not None and not ref.chain[1:] and _names_cuda(run, ref.obj.node)):
                    return found[-1] if found else ref.obj.node
    return None


def _items_on_cuda(run: Run, cls: Class) -> ast.AST | None:
    """Where `__init__` moves what `__getitem__` returns parts of."""
    method = run.module.method(cls, "__getitem__")
    done = run.module.run_of(method) if method is not None else None
    if done is None or not done.params:
        return None
    table = run.module.table(cls)
    pending = [(value, state) for value, state, _ in done.returned]
    for value, state in pending:
        for ref in value.refs:
            obj = ref.obj
            if obj.kind in ("tuple", "list", "dict") and len(pending) < 20:
                pending.extend((held, state) for held in state.fields(obj).values())
            while obj.parent is not None and obj.parent is not done.params[0]:
                obj = obj.parent
            kept = table.get(obj.slot) if obj.parent is done.params[0] else None
            if obj.copied is not None and kept is None:
                inner = obj.copied.obj
                kept = table.get(inner.slot) if inner.parent is done.params[0] else None
            for held_ref in kept.refs if kept is not None and kept.obj is not None else ():
                moved = next((link.node for link in reversed(held_ref.chain) if move_of(run, link.node)), None)
                moved = moved or held_ref.obj.node
                if moved is not None and _names_cuda(run, moved):
                    return moved
    return None


def _names_cuda(run: Run, node: ast.AST) -> bool:
    """A call that writes out CUDA: `.cuda()`, `.to("cuda")`, `device="cuda"`."""
    move = move_of(run, node)
    if move is not None:
        return move.to == "cuda" and move.literal
    if not isinstance(node, ast.Call):
        return False
    return any(
        item.arg == "device"
        and isinstance(item.value, (ast.Constant, ast.Call))
        and device_type(run, item.value) == "cuda"
        for item in node.keywords
    )


def loads(run: Run, node: ast.Call) -> None:
    """A call that writes out CUDA, in what a loader's workers run."""
    if not _names_cuda(run, node) or _guarded(run):
        return
    place = _loads_for(run, run.function)
    if place:
        run.fact(DatasetMove(site=node, place=place, text=run.short(node), moved=node))


# Functions that test a collate function, or make one.
_NO_COLLATE = re.compile("(test|get|make|build|create)_")


def _loads_for(run: Run, function: Function) -> str:
    """What of a DataLoader calls the function: `__getitem__`, the collate function, or nothing."""
    survey = run.module.survey
    if function.name in survey.collates or ("collate" in function.name and not _NO_COLLATE.match(function.name)):
        return "collate"
    cls = function.cls
    if cls is not None and cls.name in survey.once(collators) and _in_call(cls, function, "__call__"):
        return "collate"
    reads = None if cls is None else next((name for end, name in _READS if _is_dataset(run, cls, end)), None)
    if cls is None or reads is None:
        return ""
    return reads if function.name == f"{reads[:-2]}s__" or _in_call(cls, function, reads) else ""


def _in_call(cls: Class, function: Function, name: str) -> bool:
    """Whether a function is a method of that name, or is called by it."""
    return function.name == name or (name in cls.methods and function.name in cls.methods[name].calls)


def _is_dataset(run: Run, cls: Class, end: str, depth: int = 0) -> bool:
    for base in cls.bases:
        base = base.value if isinstance(base, ast.Subscript) else base
        name = run.names.qualify(base) or (base.id if isinstance(base, ast.Name) else run.text(base))
        if name.endswith(end) or (end == "Dataset" and name.startswith("torchvision.datasets.")):
            return True
        local = run.module.survey.classes.get(name)
        if local is not None and local is not cls and depth < 8 and _is_dataset(run, local, end, depth + 1):
            return True
    return False


def _guarded(run: Run) -> bool:
    """A test on the way here looks for the device."""
    tests = [str(arm.test).lower() for arm in run.now.arms]
    return any(word in test for test in tests for word in ("cuda", "gpu", "is_available"))


# ----- types and checkpoints


def legacy_function(run: Run, node: ast.Call, name: str) -> None:
    """`torch.cuda.FloatTensor(..)`, `torch.load(path)`."""
    if name == "torch.load":
        if len(node.args) == 1 and not _placed(node) and not _guarded(run) and not _in_memory(run, node.args[0]):
            run.fact(LegacyDevice(site=node, api=run.short(node), how="load"))
    elif _is_cuda_type(name):
        if not _guarded(run):
            run.fact(LegacyDevice(site=node, api=name, how="constructor"))
    elif name == "torch.set_default_tensor_type":
        legacy_type(run, node)


def _placed(node: ast.Call) -> bool:
    return any(item.arg in ("map_location", None) for item in node.keywords) or isinstance(node.args[0], ast.Starred)


def _in_memory(run: Run, node: ast.expr) -> bool:
    """What this function has saved itself, or a buffer that it made: it comes from here."""
    if run.text(node) in run.devices.saved:
        return True
    value = run.now.env.get(node.id) if isinstance(node, ast.Name) else None
    made = value.obj.node if value is not None and value.obj is not None else node
    return isinstance(made, ast.Call) and run.text(made.func).endswith("BytesIO")


def legacy_type(run: Run, node: ast.Call) -> None:
    """`x.type(torch.cuda.FloatTensor)`, `x.type("torch.cuda.FloatTensor")`."""
    for item in node.args[:1]:
        named: object = item.value if isinstance(item, ast.Constant) else is_imported(run, item)
        if isinstance(item, ast.Name) and (value := run.now.env.get(item.id)) is not None and value.kind == "name":
            named = value.const  # `dtype = torch.cuda.FloatTensor`
        if isinstance(named, str) and _is_cuda_type(named) and not _guarded(run):
            run.fact(LegacyDevice(site=node, api=named, how="type"))


def _is_cuda_type(name: str) -> bool:
    return name.startswith("torch.cuda.") and name.endswith("Tensor")
