"""Operators: arithmetic, comparisons, `and` and `or`, conditional expressions, and the arms of a test."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.blocks import denied, entered
from flake8_tensorcopy.engine.evaluate import evaluate, fresh
from flake8_tensorcopy.engine.facts import PointerTest
from flake8_tensorcopy.engine.features import COUNTED, LAYOUT, STRIDES
from flake8_tensorcopy.engine.graph import graph_of_result
from flake8_tensorcopy.engine.items import exact_items
from flake8_tensorcopy.engine.ratios import note_difference
from flake8_tensorcopy.engine.repeated import multiplied
from flake8_tensorcopy.engine.run import Run
from flake8_tensorcopy.engine.saved import operator_keeps, record
from flake8_tensorcopy.engine.values import (
    ALIAS,
    NUMBER,
    UNKNOWN,
    Arm,
    Link,
    Pointer,
    Shape,
    Sizes,
    Value,
    join_values,
)

MAX_JOINED = 128  # items of the list that `a + b` makes which are told apart

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.Div: "/", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.FloorDiv: "//",
}  # fmt: skip


def arithmetic(run: Run, node: ast.AST, made: str, *operands: Value) -> Value:
    """The result of an operator that makes a new tensor (or number)."""
    kinds = {ref.kind for value in operands for ref in value.refs}
    if not kinds:
        if all(value.kind in ("number", "str", "none") for value in operands):
            return NUMBER
        return fresh(run, node, "unknown", made)
    objs = [value.obj for value in operands]
    if "tensor" in kinds:
        kind = "tensor"
    elif "array" in kinds:
        kind = "array"
    elif kinds == {"bytes"}:
        kind = "bytes"
    elif kinds & {"list", "tuple"}:
        result = fresh(run, node, "list" if "list" in kinds else "tuple", made, *operands)
        known = [exact_items(run, value) for value in operands] if made == "+" else []
        items = [item for items in known for item in items or ()] if None not in known else []
        for position, item in enumerate(items if len(items) <= MAX_JOINED else ()):
            run.now.set_field(result.refs[0].obj, f"[{position}]", item)
        return result
    else:
        kind = "unknown"
    result = fresh(run, node, kind, made, *operands)
    obj = result.refs[0].obj
    obj.given = operands
    obj.graph = False if run.now.grad is False else graph_of_result(list(operands))
    record(run, node, made, operator_keeps(made, list(operands)), list(operands), obj)
    obj.zero_dim = all(
        (known.zero_dim and not value.refs[0].chain) if known is not None else value.kind == "number"
        for known, value in zip(objs, operands, strict=True)
    )
    if made in ("&", "|", "^", "~"):
        obj.dtype = next((known.dtype for known in objs if known is not None and known.dtype), "")
    return result


def operator(node: ast.operator) -> str:
    return _OPERATORS[type(node)]


def binary(run: Run, node: ast.BinOp) -> Value:
    # `a + b + c + ...` is as deep as it is long: go down the left side without recursion.
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    first = left = evaluate(run, chain[-1].left)
    left_node: ast.expr = chain[-1].left
    for one in reversed(chain):
        right = evaluate(run, one.right)
        role = "difference" if isinstance(one.op, ast.Sub) else "operand"
        if left.kind == "str" and isinstance(one.op, ast.Mod):
            run.use_logged(right, one.right)
            left_node = one
            continue
        run.use(left, left_node, role)
        run.use(right, one.right, role)
        if isinstance(one.op, ast.Mult) and run.function.features & COUNTED:
            _counted_bytes(run, one, left_node, one.right)
        made = arithmetic(run, one, operator(one.op), left, right)
        if isinstance(one.op, ast.Mult):
            multiplied(run, one, left, right, made)
        elif role == "difference":
            note_difference(run, left, right, made)
        if isinstance(left_node, ast.Call) or isinstance(one.right, ast.Call):
            run.expanded(one, [(left_node, left), (one.right, right)])
        left, left_node = made, one
    if left is NUMBER and run.function.features & LAYOUT and isinstance(node.op, (ast.Mult, ast.FloorDiv)):
        return _size(run, node)
    if isinstance(first.const, (Shape, Sizes)) and isinstance(node.op, ast.Add):
        return sizes_joined(run, node)
    return left


def _counted_bytes(run: Run, node: ast.BinOp, left: ast.expr, right: ast.expr) -> None:
    from flake8_tensorcopy.engine.expanded import product_of_bytes

    product_of_bytes(run, node, left, right)


def _size(run: Run, node: ast.expr) -> Value:
    """A number that is a product of sizes."""
    from flake8_tensorcopy.engine.layouts import size_of

    return Value(kind="number", const=size_of(run, node))


def sizes_joined(run: Run, node: ast.expr) -> Value:
    """`x.shape[:-1] + (n,)`."""
    from flake8_tensorcopy.engine.layouts import sizes_of

    found = sizes_of(run, node)
    return Value(kind="number", const=Sizes(tuple(found)) if found is not None else None)


def unary(run: Run, node: ast.UnaryOp) -> Value:
    negates = isinstance(node.op, ast.Not)
    run.negations += negates
    value = evaluate(run, node.operand)
    run.negations -= negates
    match node.op:
        case ast.Not():
            run.use(value, node.operand, "test")
            return NUMBER
        case ast.UAdd():
            return Value(tuple(ref.derive(Link(ALIAS, "+", node)) for ref in value.refs), value.kind)
        case ast.USub() if isinstance(node.operand, ast.Constant) and value.kind == "number":
            return NUMBER
    run.use(value, node.operand, "operand")
    return arithmetic(run, node, "~" if isinstance(node.op, ast.Invert) else "-", value)


def boolean(run: Run, node: ast.BoolOp) -> Value:
    result: Value | None = None
    for item in node.values:
        value = evaluate(run, item)
        run.use(value, item, "test")
        result = value if result is None else join_values(result, value)
    return result if result is not None and isinstance(node.op, ast.Or) and result.refs else UNKNOWN


def compare(run: Run, node: ast.Compare) -> Value:
    sides = [node.left, *node.comparators]
    values = [evaluate(run, side) for side in sides]
    if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        return NUMBER
    for side, value in zip(sides, values, strict=True):
        run.use(value, side, "difference")
    run.compared_on_host(list(zip(sides, values, strict=True)))
    _pointer_test(run, node, values)
    if run.function.features & STRIDES:
        _strides_test(run, node, sides, values)
    if not any(value.refs for value in values):
        return NUMBER
    result = arithmetic(run, node, "compare", *values)
    if result.refs:
        result.refs[0].obj.dtype = "bool"
        result.refs[0].obj.graph = False
    return result


def _strides_test(run: Run, node: ast.Compare, sides: list[ast.expr], values: list[Value]) -> None:
    from flake8_tensorcopy.engine.strides import strides_compared

    if isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        strides_compared(run, node, sides, values)


def _pointer_test(run: Run, node: ast.Compare, values: list[Value]) -> None:
    """`a.data_ptr() != b.data_ptr()`; what the test is used for is seen at the statement."""
    if len(values) != 2 or not all(isinstance(value.const, Pointer) for value in values):
        return
    unequal = isinstance(node.ops[0], ast.NotEq)
    if not unequal and not isinstance(node.ops[0], ast.Eq):
        return
    if unequal == (run.negations % 2 == 0):
        run.pointer_tests.append(pointer_test(run, node, [node.left, *node.comparators], values))


def pointer_test(run: Run, node: ast.expr, sides: list[ast.expr], values: list[Value]) -> PointerTest:
    """The comparison of two addresses."""
    left, right = values[0].const, values[1].const
    assert isinstance(left, Pointer) and isinstance(right, Pointer)
    own = all(_read_once(run, side, made.node) for side, made in zip(sides, (left, right), strict=True))
    return PointerTest(
        site=node,
        left=left.text,
        right=right.text,
        asserted=False,
        guards_copy=False,
        addresses=(left.node, right.node) if own else (),
    )


def _read_once(run: Run, read: ast.expr, made: ast.expr) -> bool:
    """Whether what an expression makes is read in one place only: there, or by a name that this function has for it."""
    if read is made:
        return True
    if not isinstance(read, ast.Name):
        return False
    named = [node for node in ast.walk(run.function.node) if isinstance(node, ast.Name) and node.id == read.id]
    return len(named) == 2 and any(
        isinstance(node, ast.Assign) and node.value is made and len(node.targets) == 1 and node.targets[0] in named
        for node in ast.walk(run.function.node)
    )


def arm_of(run: Run, test: ast.expr) -> tuple[Arm, Arm]:
    """The two arms of a test.  The same text on unchanged names is the same `if`; a call may differ each time round."""
    flipped = False
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, flipped = test.operand, not flipped
    text = run.text(test)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        match test.ops[0]:
            case ast.IsNot():
                text, flipped = text.replace(" is not ", " is "), not flipped
            case ast.NotEq():
                text, flipped = text.replace(" != ", " == "), not flipped
            case ast.NotIn():
                text, flipped = text.replace(" not in ", " in "), not flipped
    version = run.now.version
    names = tuple([(name, version.get(name, 0)) for name in run.names_in(test)])
    key = (text, names, run.loop if "(" in text else ())
    taken, other = run.module.arms(key)
    return (other, taken) if flipped else (taken, other)


def conditional(run: Run, node: ast.IfExp) -> Value:
    run.use(evaluate(run, node.test), node.test, "test")
    yes, no = arm_of(run, node.test)
    state = run.now
    arms = state.arms
    values = []
    branches = []
    for arm, branch in ((yes, node.body), (no, node.orelse)):
        if denied(arm, arms):
            continue
        arm.met = arm.other.met = True
        state.arms = entered(arms, arm)
        value = evaluate(run, branch)
        branches.append((branch, value))
        values.append(Value(tuple(ref.under(entered(frozenset(), arm)) for ref in value.refs), value.kind, value.const))
    state.arms = arms
    run.branches[node] = tuple(branches)
    return values[0] if len(values) == 1 else join_values(values[0], values[1])
