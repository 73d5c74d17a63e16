"""What torch does when a program runs: which reads were stale, found on real storages and real version counters.

The program is executed statement by statement: every operation is torch's own (or NumPy's, or Python's), and around
each of them this module looks at the addresses, version counters and bytes of its operands.  It knows no operation by
name, except what the language fixes (`out=`, augmented assignment, item assignment, `append`).  A second, plain
execution by Python alone has to return the same (`runs.agrees`).

The definition that torch and the engine are both held to:

- A **binding** is a name bound by one execution of a statement (assignment, loop target, walrus, parameter), or an item
  of a list, tuple or dict, or an attribute of an object, filled by one.
- A **write** is one execution of an operation that raises the version counter of an operand or changes its bytes.  It
  comes through the binding that the written expression is taken from: `x` in `x[0].add_(1)`.  A call of a local
  function that writes is, for its caller, a write at the call, through the binding of the argument.
  An item assignment by a mask reaches the whole, as `masked_fill_` does.
- A **read** consumes the data of a binding: as an operand, an argument, a bound or stored or returned value, what is
  iterated over (all of it, when the iteration begins).  Taking a view is the read of whatever then consumes the view.
  Not reads: the target of a write, reaching for an item of a container, copying a container.
- A read is **stale** if, since the binding was bound, a write came through another binding (of another name) to bytes
  that the reader's memory shares.  An activation that works in place and whose result is taken counts for its own
  argument too.  What `x.copy_(y)` writes back to an `x` of the same storage is no longer
  stale for `x`.

Five kinds of stale reads may be said or not: in a function whose caller lets two arguments share memory; of an item by
a write through another item of the same list; of the items of a given list or dict when it is handed on whole; of what
an activation has changed in place when it is iterated over; of what `copy_` has written over as a whole since, with
what was perhaps saved of it.

A stale read is named by the line of the write, the reader and the line that bound it; 0 is what a function was given.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from flake8_tensorcopy.verify.programs.memory import indexed, is_data, region_of
from flake8_tensorcopy.verify.programs.observe import (
    METADATA,
    Break,
    Continue,
    Instance,
    Local,
    LocalClass,
    Observation,
    Return,
    Unsupported,
    Val,
)

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.MatMult: operator.matmul,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
_IN_PLACE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
}


def _step(node: ast.Subscript) -> str:
    return f"[{ast.unparse(node.slice)}]"


class Execution(Observation):
    """One run of a program: every expression and statement that the grammar writes."""

    def evaluate(self, node: ast.expr) -> Val:
        method: Callable[[Any], Val] | None = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            raise Unsupported(type(node).__name__)
        return method(node)

    def on_Constant(self, node: ast.Constant) -> Val:
        return Val(node.value)

    def on_Name(self, node: ast.Name) -> Val:
        held = self.frame.names.get(node.id)
        if held is not None:
            data = is_data(held.value) or isinstance(held.value, list | tuple)
            return Val(held.value, held if data else None, path=held.path)
        if node.id in self.globals:
            return Val(self.globals[node.id])
        return Val(getattr(builtins, node.id))

    def on_Attribute(self, node: ast.Attribute) -> Val:
        base = self.evaluate(node.value)
        if isinstance(base.value, Instance | types.SimpleNamespace):
            return self._slot(base.value, node.attr)
        if is_data(base.value):
            if node.attr in METADATA:
                return Val(getattr(base.value, node.attr))
            return self.derived(getattr(base.value, node.attr), [base], node.attr)
        return Val(getattr(base.value, node.attr))

    def _slot(self, holder: Any, key: Any) -> Val:
        held = self.slots[id(holder)][key]
        return Val(held.value, held if held.region or isinstance(held.value, list | tuple) else None, path=held.path)

    def index(self, node: ast.expr) -> Any:
        match node:
            case ast.Slice():
                parts = (node.lower, node.upper, node.step)
                return slice(*[None if part is None else self.evaluate(part).value for part in parts])
            case ast.Tuple():
                return tuple(self.index(item) for item in node.elts)
        value = self.evaluate(node)
        self.read(value)
        return value.value

    def on_Subscript(self, node: ast.Subscript) -> Val:
        base = self.evaluate(node.value)
        key = self.index(node.slice)
        if isinstance(base.value, list | tuple | dict):
            self.adopt(base.value, base.origin, self.frame.line, base.path)
            if isinstance(key, slice):
                return Val(base.value[key])
            if isinstance(key, int) and key < 0:
                key += len(base.value)
            base.value[key]  # the error of a key that is not there
            return self._slot(base.value, key)
        return self.derived(base.value[key], [base], _step(node))

    def on_BinOp(self, node: ast.BinOp) -> Val:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.derived(_BINARY[type(node.op)](left.value, right.value), [left, right], "")

    def on_UnaryOp(self, node: ast.UnaryOp) -> Val:
        value = self.evaluate(node.operand)
        match node.op:
            case ast.Not():
                self.read(value)
                return Val(not value.value)
            case ast.USub():
                return self.derived(-value.value, [value], "")
        raise Unsupported("unary operator")

    def on_Compare(self, node: ast.Compare) -> Val:
        left, right = self.evaluate(node.left), self.evaluate(node.comparators[0])
        return self.derived(_BINARY[type(node.ops[0])](left.value, right.value), [left, right], "")

    def on_IfExp(self, node: ast.IfExp) -> Val:
        test = self.evaluate(node.test)
        self.read(test)
        return self.evaluate(node.body if test.value else node.orelse)

    def on_NamedExpr(self, node: ast.NamedExpr) -> Val:
        self.bind(node.target.id, self.evaluate(node.value))
        return self.on_Name(ast.Name(node.target.id))

    def on_Tuple(self, node: ast.Tuple | ast.List) -> Val:
        values = [self.evaluate(item) for item in node.elts]
        holder: Any = [value.value for value in values]
        holder = tuple(holder) if isinstance(node, ast.Tuple) else holder
        for position, value in enumerate(values):
            self.read(value, deep=False)
            self.slot(holder, position, value, self.frame.line)
        self.slots.setdefault(id(holder), {})
        self.kept.append(holder)
        return Val(holder)

    on_List = on_Tuple

    def on_Dict(self, node: ast.Dict) -> Val:
        holder: dict[Any, Any] = {}
        self.kept.append(holder)
        self.slots[id(holder)] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            assert key is not None
            name, value = self.evaluate(key).value, self.evaluate(item)
            holder[name] = value.value
            self.read(value, deep=False)
            self.slot(holder, name, value, self.frame.line)
        return Val(holder)

    def on_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> Val:
        generator = node.generators[0]
        assert isinstance(generator.target, ast.Name)
        hidden = self.frame.names.get(generator.target.id)
        holder: list[Any] = []
        self.kept.append(holder)
        self.slots[id(holder)] = {}
        for item in self.iterate(self.evaluate(generator.iter)):
            self.bind(generator.target.id, item, met=True)
            value = self.evaluate(node.elt)
            self.read(value, deep=False)
            self.slot(holder, len(holder), value, self.frame.line)
            holder.append(value.value)
        self.frame.names.pop(generator.target.id, None)
        if hidden is not None:
            self.frame.names[generator.target.id] = hidden
        return Val(holder)

    on_GeneratorExp = on_ListComp

    def iterate(self, value: Val) -> Iterator[Val]:
        """The items, after a read of what is iterated over."""
        self.read(value, iterated=True)
        if isinstance(value.value, list | tuple):
            self.adopt(value.value, value.origin, self.frame.line, value.path)
            for position in itertools.count():
                if position >= len(value.value):
                    return
                yield self._slot(value.value, position)
        elif is_data(value.value):
            for row in value.value:
                yield Val(row, value.origin, value.made, (*value.path, "row"))
        else:
            for item in value.value:
                yield Val(item)

    def on_Call(self, node: ast.Call) -> Val:
        discarded, self.discarded = self.discarded, False
        func = node.func
        receiver: Val | None = None
        function: Any
        if isinstance(func, ast.Attribute):
            receiver = self.evaluate(func.value)
            function = func.attr
        else:
            function = self.evaluate(func).value
        args: list[Val] = []
        for item in node.args:
            args.append(self.evaluate(item))
        keywords = {str(item.arg): self.evaluate(item.value) for item in node.keywords}
        self.discarded = discarded
        if receiver is not None:
            return self._method(receiver, str(function), args, keywords)
        if isinstance(function, Local):
            return self.call_local(function, args, keywords)
        if isinstance(function, LocalClass):
            made = Instance(function)
            self.slots[id(made)] = {}
            self.kept.append(made)
            if "__init__" in function.methods:
                self.call_local(Local(function.methods["__init__"]), [Val(made), *args], keywords)
            return Val(made)
        if function is types.SimpleNamespace:
            space = types.SimpleNamespace()
            self.slots[id(space)] = {}
            self.kept.append(space)
            for key, value in keywords.items():
                self.read(value)
                self.slot(space, key, value, self.frame.line)
            return Val(space)
        if function in (list, tuple) and args and isinstance(args[0].value, list | tuple):
            return self._shallow(function(args[0].value), args[0].value)
        if function in (range, len):
            return Val(function(*[one.value for one in args]))
        return self.operate(function, args, keywords)

    def _shallow(self, made: Any, source: Any) -> Val:
        """A copy of a container: other slots, the same items."""
        self.slots[id(made)] = {}
        self.kept.append(made)
        for key, held in self.slots[id(source)].items():
            self.slot(made, key, Val(held.value, held, path=held.path), self.frame.line)
        return Val(made)

    def _method(self, receiver: Val, name: str, args: list[Val], keywords: dict[str, Val]) -> Val:
        held = receiver.value
        if isinstance(held, Instance):
            return self.call_local(Local(held.cls.methods[name]), [receiver, *args], keywords)
        if isinstance(held, list) and name == "append":
            self.adopt(held, None, self.frame.line)
            self.read(args[0], deep=False)
            self.slot(held, len(held), args[0], self.frame.line)
            held.append(args[0].value)
            return Val(None)
        if is_data(held):
            if name in METADATA:
                return Val(getattr(held, name)(*[one.value for one in args]))
            return self.operate(getattr(type(held), name), [receiver, *args], keywords, method=True)
        function = getattr(held, name)
        if isinstance(function, Local):
            return self.call_local(function, args, keywords)
        if function is types.SimpleNamespace:
            raise Unsupported("types.SimpleNamespace")
        return self.operate(function, args, keywords)

    # ----- statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.frame.line = statement.lineno
            self.truth.lines.add(statement.lineno)
            method: Callable[[Any], None] | None = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                raise Unsupported(type(statement).__name__)
            method(statement)

    def do_Pass(self, node: ast.Pass) -> None:
        return

    def do_Expr(self, node: ast.Expr) -> None:
        self.discarded = True
        try:
            self.evaluate(node.value)
        finally:
            self.discarded = False

    def do_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            if len(target.elts) == len(node.value.elts) and not any(isinstance(t, ast.Starred) for t in target.elts):
                values = [self.evaluate(item) for item in node.value.elts]
                for one, value in zip(target.elts, values, strict=True):
                    self.assign(one, value)
                return
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        self.assign(node.target, self.evaluate(node.value))

    def assign(self, target: ast.expr, value: Val) -> None:
        match target:
            case ast.Name():
                self.bind(target.id, value)
            case ast.Tuple():
                self.unpack(target, value)
            case ast.Attribute():
                holder = self.evaluate(target.value)
                self.read(value)
                self.slot(holder.value, target.attr, value, self.frame.line)
                setattr(holder.value, target.attr, value.value)
            case ast.Subscript():
                self.store(target, value)
            case _:
                raise Unsupported(type(target).__name__)

    def unpack(self, target: ast.Tuple, value: Val) -> None:
        held = value.value
        if is_data(held):
            items = [Val(row, value.origin, value.made, (*value.path, f"[{i}]")) for i, row in enumerate(held)]
        else:
            self.adopt(held, value.origin, self.frame.line, value.path)
            slots = self.slots[id(held)]
            if any(slot.owner is held and slot.source is value.origin for slot in slots.values()) and value.origin:
                items = [Val(item, value.origin, value.made, value.path) for item in held]
            else:
                items = [self._slot(held, position) for position in range(len(held))]
        stars = [position for position, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
        if not stars:
            for one, item in zip(target.elts, items, strict=True):
                self.assign(one, item)
            return
        before, after = stars[0], len(target.elts) - stars[0] - 1
        rest = items[before : len(items) - after]
        for one, item in zip(target.elts[:before], items[:before], strict=True):
            self.assign(one, item)
        starred = target.elts[before]
        assert isinstance(starred, ast.Starred)
        made = [item.value for item in rest]
        self.slots[id(made)] = {}
        self.kept.append(made)
        for position, item in enumerate(rest):
            self.slot(made, position, item, self.frame.line)
        self.assign(starred.value, Val(made))
        for one, item in zip(target.elts[before + 1 :], items[len(items) - after :], strict=True):
            self.assign(one, item)

    def store(self, target: ast.Subscript, value: Val) -> None:
        base = self.evaluate(target.value)
        key = self.index(target.slice)
        self.read(value)
        held = base.value
        if isinstance(held, list | dict):
            self.adopt(held, None, self.frame.line)
            if isinstance(key, int) and isinstance(held, list) and key < 0:
                key += len(held)
            held[key] = value.value
            self.slot(held, key, value, self.frame.line)
            return
        region = indexed(held, key)
        held[key] = value.value
        self.wrote(base.origin, region, (*base.path, _step(target)))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        value = self.evaluate(node.value)
        self.read(value)
        change = _IN_PLACE[type(node.op)]
        match node.target:
            case ast.Name():
                current = self.on_Name(node.target)
                made = change(current.value, value.value)
                if made is current.value and is_data(made):
                    self.wrote(current.origin, region_of(made), current.path)
                else:
                    self.bind(node.target.id, Val(made))
            case ast.Subscript():
                base = self.evaluate(node.target.value)
                key = self.index(node.target.slice)
                if isinstance(base.value, list | dict | tuple):
                    held = self._slot(base.value, key)
                    change(held.value, value.value)
                    self.wrote(held.origin, region_of(held.value), held.path)
                    return
                region = indexed(base.value, key)
                base.value[key] = change(base.value[key], value.value)
                self.wrote(base.origin, region, (*base.path, _step(node.target)))
            case ast.Attribute():
                holder = self.evaluate(node.target.value)
                if is_data(holder.value):
                    part = self.on_Attribute(node.target)
                    change(part.value, value.value)
                    self.wrote(part.origin, region_of(part.value), part.path)
                    return
                held = self._slot(holder.value, node.target.attr)
                change(held.value, value.value)
                self.wrote(held.origin, region_of(held.value), held.path)
            case _:
                raise Unsupported("augmented assignment")

    def do_Return(self, node: ast.Return) -> None:
        value = Val(None) if node.value is None else self.evaluate(node.value)
        self.read(value)
        self._end(node.lineno)
        raise Return(value)

    def _end(self, line: int) -> None:
        if self.frame.function == "program":
            self.truth.ends.append((line, {name: held.region for name, held in self.frame.names.items()}))

    def do_If(self, node: ast.If) -> None:
        test = self.evaluate(node.test)
        self.read(test)
        self.block(node.body if test.value else node.orelse)

    def do_For(self, node: ast.For) -> None:
        for item in self.iterate(self.evaluate(node.iter)):
            self.frame.line = node.lineno
            assert isinstance(node.target, ast.Name)
            self.bind(node.target.id, item, met=True)
            try:
                self.block(node.body)
            except Break:
                break
            except Continue:
                continue

    def do_While(self, node: ast.While) -> None:
        while True:
            self.frame.line = node.lineno
            test = self.evaluate(node.test)
            self.read(test)
            if not test.value:
                return
            try:
                self.block(node.body)
            except Break:
                break
            except Continue:
                continue

    def do_Break(self, node: ast.Break) -> None:
        raise Break

    def do_Continue(self, node: ast.Continue) -> None:
        raise Continue

    def do_With(self, node: ast.With) -> None:
        manager = self.evaluate(node.items[0].context_expr).value
        with manager:
            self.block(node.body)

    def do_Try(self, node: ast.Try) -> None:
        try:
            self.block(node.body)
        except ValueError:
            self.block(node.handlers[0].body)

    def do_Raise(self, node: ast.Raise) -> None:
        raise ValueError("stop")

    def do_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.globals[node.name] = Local(node)
