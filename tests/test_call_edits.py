"""What the edits of calls make of source in odd layouts, as text before and after."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from flake8_tensorcopy.engine.edits import Editor, Edits
from flake8_tensorcopy.engine.region import Region
from flake8_tensorcopy.fixes import Source

Change = Callable[[Editor, ast.Call], Edits | None]


def changed(text: str, change: Change) -> str | None:
    """The source after the change of the outermost call in its last statement but `outer(..)`; None without one."""
    source = Source.read(text.encode())
    tree = source.tree()
    editor = Region(source.lines, [(1, len(source.lines))], tree).edit
    calls = [node for node in ast.walk(tree.body[-1]) if isinstance(node, ast.Call)]
    call = next(node for node in calls if ast.unparse(node.func) != "outer")
    edits = change(editor, call)
    if edits is None:
        return None
    after = source.spliced(edits)
    after.tree()
    return after.text


def swap(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.swap(call)


def drop(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.drop_call(call)


def drop_copy(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.drop_copy(call, None)


def unwrap(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.unwrap(call, "", call.args[0] if call.args else call.keywords[0].value)


def unwrap_and_clone(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.unwrap(call, ".clone()", call.args[0])


def add(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.add_argument(call, "copy=True")


def add_value(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.add_argument(call, "n == 1")


def drop_flag(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.drop_argument(call, "flag")


def drop_both(editor: Editor, call: ast.Call) -> Edits | None:
    return editor.drop_argument(call, "flag", "kind")


def drop_true(editor: Editor, call: ast.Call) -> Edits | None:
    """Without the value `True`, however it is given."""
    values = [*call.args, *(one.value for one in call.keywords)]
    return editor.drop_argument(call, next(one for one in values if ast.unparse(one) in ("True", "*True")))


SWAPS = {
    "y = x.clone().detach()": "y = x.detach().clone()",
    "y = x.clone(memory_format=m).detach()": "y = x.detach().clone(memory_format=m)",
    "y = (a + b).clone().detach()[0]": "y = (a + b).detach().clone()[0]",
    "y = (x.clone()).detach()": "y = (x.detach()).clone()",
    "y = x . clone () . detach ()": "y = x . detach () . clone ()",
    """
y = (
    x  # the input
    .clone()  # first
    .detach()  # then
)""": """
y = (
    x  # the input
    .detach()  # first
    .clone()  # then
)""",
    """
y = x.clone(
    memory_format=m,  # kept
).detach()""": """
y = x.detach().clone(
    memory_format=m,  # kept
)""",
    "y = x \\\n    .clone() \\\n    .detach()": "y = x \\\n    .detach() \\\n    .clone()",
    "y = torch.stack(xs)": None,
    "y = clone(x).detach()": None,
    "y = x[0].detach()": None,
    "y = f(x)": None,
}

DROPS = {
    "y = x.cpu()": "y = x",
    "y = (a + b).cpu()": "y = (a + b)",
    "y = f(\n    (a + b)\n).cpu()": "y = f(\n    (a + b)\n)",
    "y = ((a + b)).cpu()": "y = ((a + b))",
    "y = (i for i in a).cpu()": "y = (i for i in a)",
    "y = (a +\n     b).cpu()": "y = (a +\n     b)",
    "y = -x.cpu() ** 2": "y = -x ** 2",
    "y = x.to(device=d, dtype=t)": "y = x",
    "y = (x.cpu())": "y = (x)",
    "y = x[0] . cpu ()": "y = x[0]",
    "y = x \\\n    .cpu()": "y = x",
    "y = (\n    x\n    .cpu()\n)": "y = (\n    x\n)",
    "y = (\n    x  # input\n    .cpu()\n)": "y = (\n    x  # input\n)",
    "y = (\n    x  # input\n    .cpu())": "y = (\n    x  # input\n    )",
    "y = (\n    x  # input\n    .cpu()  # to the host\n)": "y = (\n    x  # input\n      # to the host\n)",
    "y = (\n    x\n    # to the host\n    .cpu()\n)": "y = (\n    x\n    # to the host\n)",
    "y = (\n    x.  # input\n    cpu()\n)": None,
    "y = x.cpu(  # to the host\n)": None,
    "y = x.to('#')": "y = x",
    "y = cpu(x)": None,
}

DROPPED_COPIES = {
    "y = (a + b).clone()": "y = a + b",
    "y = (a + b).clone()  # sum": "y = a + b  # sum",
    "y = (a + b).clone() * 2": "y = (a + b) * 2",
    "y = (a +\n     b).clone()": "y = (a +\n     b)",
    "y = ((a + b)).clone()": "y = ((a + b))",
    "y = (i for i in a).clone()": "y = (i for i in a)",
    "outer(\n    y = (a + b).clone()\n    * 2)": "outer(\n    y = (a + b)\n    * 2)",
    "def f():\n    return (a + b).clone()": "def f():\n    return a + b",
    "y = clone(a + b)": None,
}

UNWRAPS = {
    "y = torch.clone(x)": "y = x",
    "y = torch.clone(input=x)": "y = x",
    "y = torch.clone(x,)": "y = x",
    "y = torch.clone(a + b)": "y = a + b",
    "y = torch.clone(\n    a + b\n)": "y = (a + b)",
    "y = torch.clone(a + b) * 2": "y = (a + b) * 2",
    "outer(y = torch.clone(a + b))": "outer(y = (a + b))",
    "outer(\n    y = torch.clone(a + b)\n    * 2)": "outer(\n    y = (a + b)\n    * 2)",
    "y = torch.clone(a if b else c)": "y = (a if b else c)",
    "y = torch.clone((a + b))": "y = (a + b)",
    "y = torch.clone( x )": "y = x",
    "y = torch.clone(\n    x[0],\n)": "y = x[0]",
    "y = torch.clone(f(\n    x,  # first\n))": "y = f(\n    x,  # first\n)",
    "y = torch.clone(x\n    .abs())": "y = (x\n    .abs())",
    "y = torch.clone(  # once\n    x\n)": None,
    "y = torch.clone(\n    x,  # once\n)": None,
    "y = torch.clone(*x)": None,
    "y = torch.clone(a for a in x)": None,
    "y = torch.clone([a for a in x])": "y = [a for a in x]",
}

UNWRAPS_AND_CLONES = {
    "y = torch.tensor(x)": "y = x.clone()",
    "y = torch.tensor(x, dtype=d)": "y = x.clone()",
    "y = torch.tensor(a + b)": "y = (a + b).clone()",
    "y = torch.tensor(-x)": "y = (-x).clone()",
    "y = torch.tensor((a + b), dtype=d)": "y = (a + b).clone()",
    "y = torch.tensor(await x)": "y = (await x).clone()",
    "y = torch.tensor(a if b else c)": "y = (a if b else c).clone()",
    "y = torch.tensor(\n    x,\n    dtype=d,\n)": "y = x.clone()",
    "y = torch.tensor(x, dtype=d,  # wide\n)": None,
}

ADDS = {
    "f()": "f(copy=True)",
    "f( )": "f( copy=True)",
    "f(a)": "f(a, copy=True)",
    "f(a,)": "f(a, copy=True,)",
    "f(a, b=1)": "f(a, b=1, copy=True)",
    "f((a))": "f((a), copy=True)",
    "f(((a, b)))": "f(((a, b)), copy=True)",
    "f(*a)": "f(*a, copy=True)",
    "f(a, *b)": "f(a, *b, copy=True)",
    "f(**a)": None,
    "f(a, **b)": None,
    "f(a, copy=False)": "f(a, copy=True)",
    "f(copy=(False), **a)": "f(copy=(True), **a)",
    "f(i for i in a)": "f((i for i in a), copy=True)",
    "f((i for i in a))": "f((i for i in a), copy=True)",
    "f(lambda: a)": "f(lambda: a, copy=True)",
    "f(b := a)": "f(b := a, copy=True)",
    "f(a if b else c)": "f(a if b else c, copy=True)",
    "f(\n    a,\n    b\n)": "f(\n    a,\n    b, copy=True\n)",
    "f(\n    a,\n    b,\n)": "f(\n    a,\n    b,\n    copy=True,\n)",
    "f(\n    a, b,\n)": "f(\n    a, b, copy=True,\n)",
    "f(\n    a,  # first\n    b=(1),  # second\n)": "f(\n    a,  # first\n    b=(1),  # second\n    copy=True,\n)",
    "f(\n    *a,\n)": "f(\n    *a,\n    copy=True,\n)",
    "f(\n    a  # first\n)": "f(\n    a, copy=True  # first\n)",
    "f(  # nothing\n)": "f(  # nothing\ncopy=True)",
    "x.f(a).g(b)": "x.f(a).g(b, copy=True)",
}

ADDS_OF_VALUES = {
    "f(a)": "f(a, n == 1)",
    "f(*a)": "f(*a, n == 1)",
    "f(a=1)": None,
    "f(**a)": None,
}

DROPPED_KEYWORDS = {
    "f(flag=1)": "f()",
    "f( flag=1, )": "f()",
    "f(\n    flag=1,\n)": "f()",
    "f(flag=1, a=2)": "f(a=2)",
    "f(a, flag=1, b=2)": "f(a, b=2)",
    "f(a, flag=1)": "f(a)",
    "f(a, flag=1,)": "f(a,)",
    "f(a, flag=(1))": "f(a)",
    "f((a), flag=(1), b=2)": "f((a), b=2)",
    "f(a, flag = 1 , b=2)": "f(a, b=2)",
    "f(*a, flag=1)": "f(*a)",
    "f(flag=1, *a)": "f(*a)",
    "f(flag=1, **a)": "f(**a)",
    "f(flag=1, * a)": "f(* a)",
    "f(\n    a,\n    flag=1,\n)": "f(\n    a,\n)",
    "f(\n    flag=1,\n    a=2,\n)": "f(\n    a=2,\n)",
    "f(\n    a,  # first\n    flag=1,\n    b=2,  # last\n)": "f(\n    a,  # first\n    b=2,  # last\n)",
    "f(\n    a,\n    flag=1,  # fast\n)": "f(\n    a,  # fast\n)",
    "f(\n    flag=1,  # fast\n    a=2,\n)": None,
    "f(\n    a,  # first\n    flag=1,\n)": "f(\n    a,  # first\n)",
    "f(\n    a,  # first\n    flag=1,  # fast\n)": None,
    "f(\n    flag=1,  # fast\n)": None,
    "f(x)(flag=1)": "f(x)()",
    "(f)(flag=1)": "(f)()",
    "f (flag=1)": "f ()",
    "f(a)": None,
    "f(g(flag=1))": None,
    "f(**{'flag': 1})": None,
}

DROPPED_VALUES = {
    "f(True)": "f()",
    "f(a, True)": "f(a)",
    "f(a, (True), b=1)": "f(a, b=1)",
    "f(a, b=True, c=1)": "f(a, c=1)",
    "f(True, a)": None,
    "f(a, True, *b)": None,
    "f(a, True, b=1)": "f(a, b=1)",
}

DROPPED_TOGETHER = {
    "f(x, flag=1, kind=2)": "f(x)",
    "f(flag=1, kind=2)": "f()",
    "f(kind=2, flag=1, x=3)": "f(x=3)",
    "f(kind=2, x=3, flag=1)": "f(x=3)",
    "f(\n    x,\n    kind=2,\n    flag=1,\n)": "f(\n    x,\n)",
    "f(\n    x,  # first\n    kind=2,\n    flag=1,\n)": None,
    "f(x, flag=1)": None,
}

TABLES = {
    swap: SWAPS,
    drop: DROPS,
    drop_copy: DROPPED_COPIES,
    unwrap: UNWRAPS,
    unwrap_and_clone: UNWRAPS_AND_CLONES,
    add: ADDS,
    add_value: ADDS_OF_VALUES,
    drop_flag: DROPPED_KEYWORDS,
    drop_true: DROPPED_VALUES,
    drop_both: DROPPED_TOGETHER,
}


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [(change, *pair) for change, table in TABLES.items() for pair in table.items()],
)
def test_a_call_is_changed_or_left_alone(change: Change, before: str, after: str | None) -> None:
    assert changed(before + "\n", change) == (None if after is None else after + "\n")


@pytest.mark.parametrize("change", TABLES)
def test_what_is_no_call_is_left_alone(change: Change) -> None:
    source = Source.read(b"y = x + f(1)\n")
    tree = source.tree()
    editor = Region(source.lines, [(1, 1)], tree).edit
    assert isinstance(tree.body[0], ast.Assign)
    other = tree.body[0].value
    for edits in (editor.swap(other), editor.drop_call(other), editor.unwrap(other, "", other),
                  editor.add_argument(other, "a=1"), editor.drop_argument(other, "a"), editor.swap(None)):  # fmt: skip
        assert edits is None
    assert editor.arguments(other) == ()


EXCHANGED = {
    "b = a.long()\nc = b.to(d)\n": "b = a.to(d)\nc = b.long()\n",
    "b = a.long()  # wide\nc = b.to(\n    d,  # there\n)\n": "b = a.to(\n    d,  # there\n)  # wide\nc = b.long()\n",
    "b = long(a)\nc = b.to(d)\n": None,
}


@pytest.mark.parametrize(("before", "after"), EXCHANGED.items())
def test_methods_of_two_statements_change_places(before: str, after: str | None) -> None:
    source = Source.read(before.encode())
    tree = source.tree()
    one, other = (node.value for node in tree.body if isinstance(node, ast.Assign))
    edits = Region(source.lines, [(1, len(source.lines))], tree).edit.exchange(one, other)
    assert (edits and source.spliced(edits).text) == after


DROPPED_STATEMENTS = {
    "a = 1\nb = 2\nc = 3\n": "a = 1\nc = 3\n",
    "a = 1\nb = 2": "a = 1\n",
    "if a:\n    b = f(\n        1,\n    )\n    c = 3\n": "if a:\n    c = 3\n",
    "if a:\n    b = 2  # kept\n    c = 3\n": "if a:\n    # kept\n    c = 3\n",
    "b = f(  # two\n    2\n)\nc = 3\n": None,
    "a = 1; b = 2\n": None,
    "b = 2; c = 3\n": None,
    "if a: b = 2\n": None,
}


@pytest.mark.parametrize(("before", "after"), DROPPED_STATEMENTS.items())
def test_a_statement_goes_with_its_lines(before: str, after: str | None) -> None:
    source = Source.read(before.encode())
    tree = source.tree()
    editor = Region(source.lines, [(1, len(source.lines))], tree).edit
    bound = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "b"]
    edits = editor.drop_statement(bound[0]) if bound else ()
    assert (None if edits is None else source.spliced(edits).text) == after


TRAILERS = {
    "y = x.to(d, copy=True)": ".to(d, copy=True)",
    "y = (a + b) . cpu ()": ".cpu ()",
    "y = x.to(\n    d\n)": None,
    "y = to(x)": None,
}


@pytest.mark.parametrize(("before", "trailer"), TRAILERS.items())
def test_a_method_call_without_what_it_is_called_on(before: str, trailer: str | None) -> None:
    source = Source.read(before.encode())
    tree = source.tree()
    assert isinstance(tree.body[0], ast.Assign)
    assert Region(source.lines, [(1, len(source.lines))], tree).edit.trailer(tree.body[0].value) == trailer


def test_a_name_in_a_formatted_string_is_found() -> None:
    source = Source.read(b"y = f'{x:.2f}'\n")
    tree = source.tree()
    (read,) = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "x")
    editor = Region(source.lines, [(1, 1)], tree).edit
    name = editor.name(read)
    assert name is not None
    assert source.spliced(editor.replace(name, "x.item()")).text == "y = f'{x.item():.2f}'\n"


def test_a_name_at_another_place_is_not_taken_for_it() -> None:
    source = Source.read(b"y = x\n")
    tree = source.tree()
    other = ast.Name("z", ast.Load(), lineno=1, col_offset=4, end_lineno=1, end_col_offset=5)
    assert Region(source.lines, [(1, 1)], tree).edit.name(other) is None


def test_a_copy_becomes_what_it_copies() -> None:
    source = Source.read(b"y = torch.clone(x)\nz = (a + b).clone()\n")
    tree = source.tree()
    editor = Region(source.lines, [(1, 2)], tree).edit
    one, other = (node.value for node in tree.body if isinstance(node, ast.Assign))
    assert isinstance(one, ast.Call)
    edits = editor.join(editor.drop_copy(one, one.args[0]), editor.drop_copy(other, None))
    assert edits is not None
    assert source.spliced(edits).text == "y = x\nz = a + b\n"
