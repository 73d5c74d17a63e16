"""The fixtures: their shape, what the linter says about them, and what torch says about their claims."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from flake8_tensorcopy import registry
from flake8_tensorcopy.config import Options
from flake8_tensorcopy.engine.model import Finding
from flake8_tensorcopy.lint import lint
from flake8_tensorcopy.verify.devices import DEVICES
from flake8_tensorcopy.verify.fixtures import CLAIMS, Fixture, FixtureError, Mark, load, load_all, pair
from flake8_tensorcopy.verify.probes import PROBES, Outcome, addresses, measure, overlap, share_storage

FOLDER = registry.shipped("fixtures")
FIXTURES = load_all(FOLDER)
TABLES = load_all(FOLDER, "tables")
BY_RULE = {code: [f for f in FIXTURES if f.rule == code] for code in sorted({f.rule for f in FIXTURES})}


each_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.label)


# The linter against the marks.


def findings(fixture: Fixture, preview: bool) -> list[Finding]:
    lines = fixture.source.splitlines(keepends=True)
    return lint(ast.parse(fixture.source), lines, Options(preview=preview))


def places(found: list[Finding]) -> list[tuple[int, str]]:
    return sorted((finding.span.line, finding.code) for finding in found)


@each_fixture
def test_findings_are_the_expected_ones(fixture: Fixture) -> None:
    assert places(findings(fixture, preview=False)) == fixture.lines("expect", "todo-ok")


@each_fixture
def test_preview_adds_the_findings_expected_of_it(fixture: Fixture) -> None:
    assert places(findings(fixture, preview=True)) == fixture.lines("expect", "expect-preview", "todo-ok")


@each_fixture
def test_marked_lines_are_on_the_path(fixture: Fixture) -> None:
    steps = {(step.span.line, finding.code) for finding in findings(fixture, preview=True) for step in finding.path}
    assert set(fixture.lines("path")) <= steps


@each_fixture
def test_known_misses_are_still_missed(fixture: Fixture) -> None:
    """A miss that is no more deserves `expect`."""
    assert not set(fixture.lines("todo")) & set(places(findings(fixture, preview=True)))


# The shape of the fixtures.


def test_there_are_fixtures_for_every_rule() -> None:
    assert list(BY_RULE) == [code for code in registry.rules() if code != "TSC000"]


@pytest.mark.parametrize("code", BY_RULE)
def test_a_rule_has_at_least_four_of_each(code: str) -> None:
    assert sum(len(f.bad) for f in BY_RULE[code]) >= 4
    assert sum(len(f.good) for f in BY_RULE[code]) >= 4


@each_fixture
def test_every_bad_function_has_a_good_one(fixture: Fixture) -> None:
    assert fixture.bad
    assert [name for name in fixture.bad if pair(name) not in fixture.good] == []


@each_fixture
def test_names_are_used_once(fixture: Fixture) -> None:
    names = [node.name for node in ast.parse(fixture.source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@each_fixture
def test_marks_name_rules_and_one_of_them_is_its_own(fixture: Fixture) -> None:
    assert {mark.code for mark in fixture.marks} <= set(registry.rules())
    assert fixture.lines("expect", "expect-preview", "todo", code=fixture.rule)


@each_fixture
def test_known_gaps_say_why(fixture: Fixture) -> None:
    assert [mark for mark in fixture.marks if mark.kind in ("todo", "todo-ok") and not mark.note] == []


@each_fixture
def test_the_docstring_says_what_the_fixture_shows(fixture: Fixture) -> None:
    assert ast.get_docstring(ast.parse(fixture.source))


def reached(fixture: Fixture, name: str) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """A function of the fixture, and the functions and classes of the fixture that it names, however far away."""
    parts = {n.name: n for n in ast.parse(fixture.source).body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    waiting, seen = [name], {name}
    while waiting:
        part = parts[waiting.pop()]
        yield part
        used = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)} & set(parts)
        waiting += used - seen
        seen |= used


def bugs_in(fixture: Fixture, parts: Iterable[ast.FunctionDef | ast.ClassDef]) -> list[Mark]:
    kinds = ("expect", "expect-preview", "todo")
    own = [mark for mark in fixture.marks if mark.code == fixture.rule and mark.kind in kinds]
    lines = [range(part.lineno, (part.end_lineno or 0) + 1) for part in parts]
    return [mark for mark in own if any(mark.line in span for span in lines)]


@each_fixture
def test_a_bad_function_reaches_a_marked_line(fixture: Fixture) -> None:
    assert [name for name in fixture.bad if not bugs_in(fixture, reached(fixture, name))] == []


@each_fixture
def test_a_good_function_reaches_no_function_with_a_marked_line(fixture: Fixture) -> None:
    """A class with one may be the base of the class that it uses, or stand in an annotation."""
    functions = {
        name: [part for part in reached(fixture, name) if isinstance(part, ast.FunctionDef)] for name in fixture.good
    }
    assert [name for name, parts in functions.items() if bugs_in(fixture, parts)] == []


# The claims, in torch.

MEASURED = [
    pytest.param(fixture, name, device, id=f"{fixture.label}-{name}-{device}")
    for fixture in [*FIXTURES, *TABLES]
    for name in fixture.functions
    for device in ("cpu", "sim")
    if not (device == "sim" and fixture.host_only)
    and (device == "sim" or not (fixture.claim == "transfers" or fixture.device_only or fixture.sim_only))
]


@pytest.mark.torch
@pytest.mark.parametrize(("fixture", "name", "device"), MEASURED)
def test_torch_confirms_the_claim(fixture: Fixture, name: str, device: str) -> None:
    outcome = measure(fixture, name, DEVICES[device]())
    assert outcome.confirmed, outcome.measured


def test_every_claim_has_its_probe() -> None:
    assert tuple(PROBES) == CLAIMS


# The probes against wrong fixtures: each function takes the wrong side, and is refuted.

WRONG = {
    "values": """
        def bad_copy():
            old = torch.zeros(2)
            kept = old.clone()
            old += 1
            return kept, torch.zeros(2)

        def good_copy():
            old = torch.zeros(2)
            kept = old
            old += 1
            return kept, torch.zeros(2)

        def bad_other_meaning():
            return torch.zeros(2), torch.ones(2)

        def good_other_meaning():
            return torch.zeros(2), torch.zeros(2)

        def bad_not_a_number():
            return torch.tensor([float("nan"), 1.0]), torch.tensor([float("nan"), 1.0])
        """,
    "raises": """
        def bad_write():
            return torch.zeros(1).repeat(3).add_(1)

        def good_write():
            return torch.zeros(1).expand(3).add_(1)

        def good_warning():
            return torch.tensor(torch.zeros(1))

        def bad_unclosed_file():
            open(torch.__file__)
        """,
    "storage": """
        def bad_view():
            base = torch.zeros(4)
            return base, base[1:], True

        def good_view():
            base = torch.zeros(4)
            return base, base[1:], False

        def good_copy():
            base = torch.zeros(4)
            return base, base.clone(), True
        """,
    "trains": """
        def bad_step():
            weight = torch.zeros(2)
            before = weight.clone()
            weight -= 1
            return before, weight

        def bad_half():
            weight, bias = torch.zeros(2), torch.zeros(1)
            before = [weight.clone(), bias.clone()]
            weight -= 1
            return before, [weight, bias]

        def good_step():
            weight, bias = torch.zeros(2), torch.zeros(1)
            before = [weight.clone(), bias.clone()]
            weight -= 1
            return before, [weight, bias]

        def good_not_a_number():
            weight = torch.full((2,), float("nan"))
            before = weight.clone()
            weight -= 1
            return before, weight
        """,
    "graph": """
        def bad_copy():
            return torch.ones(2, requires_grad=True).detach().clone()

        def good_copy():
            return torch.ones(2, requires_grad=True).clone().detach()

        def good_kept():
            return [torch.ones(2, requires_grad=True) * 2]

        def bad_other_value():
            return torch.ones(2, requires_grad=True).clone().detach()

        def good_other_value():
            return torch.zeros(2, requires_grad=True).detach().clone()

        def bad_total_of_numbers():
            weight, total = torch.ones(2, requires_grad=True), 0.0
            for _ in range(3):
                total += weight.pow(2).sum().item()
            return total

        def good_total_of_numbers():
            weight, total = torch.ones(2, requires_grad=True), 0.0
            for _ in range(3):
                total += weight.pow(2).sum()
            return total
        """,
    "gradients": """
        def bad_reached():
            weight = torch.ones(2, requires_grad=True)
            return (weight * 3.0).sum(), [weight], [torch.full((2,), 3.0)]

        def good_cut():
            weight = torch.ones(2, requires_grad=True)
            return (weight.detach() * 3.0).sum() + (weight * 0).sum(), [weight], [torch.full((2,), 3.0)]

        def good_none():
            weight = torch.ones(2, requires_grad=True)
            return weight.detach().sum(), [weight], [torch.ones(2)]

        def bad_other_meaning():
            weight = torch.ones(2, requires_grad=True)
            return weight.detach().sum(), [weight], [torch.ones(2)]

        def good_other_meaning():
            weight = torch.ones(2, requires_grad=True)
            return (weight * 2.0).sum(), [weight], [torch.full((2,), 2.0)]
        """,
    "memory": """
        def bad_rows():
            return torch.ones(8).expand(64, 8).sum().item()

        def good_rows():
            return torch.ones(8).repeat(64, 1).sum().item()

        def bad_same():
            return torch.ones(64).sum().item()

        def good_same():
            return torch.ones(64).sum().item()
        """,
    "transfers": """
        def bad_read():
            print(torch.ones(4).sum().item())

        def good_read():
            print(torch.ones(4).sum().cpu().item())

        def bad_whole():
            return torch.ones(4).max().item()

        def good_whole():
            return torch.ones(4).to(device="cpu").max().item()

        def bad_other_text():
            print("loss", torch.ones(4).sum().cpu().item())

        def good_other_text():
            print("Loss", torch.ones(4).sum().item())
        """,
}


def run(fixture: Fixture, name: str) -> Outcome:
    """Where the claim can be measured at all: transfers need a device."""
    return measure(fixture, name, DEVICES["sim" if fixture.claim == "transfers" else "cpu"]())


def write(folder: Path, claim: str, body: str) -> Fixture:
    head = f"import torch\n\nCLAIM = {claim!r}\n"
    if claim == "raises":
        head += "RAISES = 'more than one element|copy construct|allocate|size of tensor'\n"
    text = head + "".join(line[8:] or "\n" for line in body.splitlines(keepends=True))
    path = folder / "TSC101" / f"{claim}.py"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return load(path)


@pytest.mark.torch
@pytest.mark.parametrize("claim", WRONG)
def test_a_function_on_the_wrong_side_is_refuted(claim: str, tmp_path: Path) -> None:
    fixture = write(tmp_path, claim, WRONG[claim])
    refuted = [name for name in fixture.functions if not run(fixture, name).confirmed]
    assert refuted == list(fixture.functions)


# Claims of which no rule has a fixture: the right side must be confirmed.
RIGHT = {
    "values": """
        def good_not_a_number():
            import numpy as np
            given = {"a": torch.tensor([float("nan"), 1.0]), "b": [float("nan"), np.array([np.nan])]}
            meant = {"a": torch.tensor([float("nan"), 1.0]), "b": [float("nan"), np.array([np.nan])]}
            return given, meant

        def bad_partly_not_a_number():
            return torch.tensor([float("nan"), 1.0]), torch.tensor([1.0, 1.0])
        """,
    "storage": """
        def good_large_expand():
            row = torch.zeros(1)
            return row, row.expand(10**12), True
        """,
    "graph": """
        def bad_clone():
            weight = torch.ones(2, requires_grad=True)
            return weight.mul(2).clone().detach()

        def good_clone():
            weight = torch.ones(2, requires_grad=True)
            return weight.mul(2).detach().clone()

        def good_node_read_by_another_that_no_call_shows():
            weight, x = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
            torch.nn.functional.linear(x, weight * 2).sum().backward()
            return weight.grad

        def good_garbage_in_a_cycle():
            weight, box = torch.ones(2, requires_grad=True), []
            box += [box, (weight * weight).sum()]
            box[1].backward(retain_graph=True)
            return weight.grad
        """,
    "gradients": """
        def bad_cut():
            weight, bias = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            return (weight.detach() * 3.0 + bias).sum(), [weight, bias], [torch.full((2,), 3.0), torch.ones(2)]

        def good_cut():
            weight, bias = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            return (weight * 3.0 + bias).sum(), [weight, bias], [torch.full((2,), 3.0), torch.ones(2)]

        def bad_rewritten():
            weight = torch.ones(2, requires_grad=True)
            scores = weight * 2.0
            loss = scores.pow(2).sum()
            scores.data.fill_(5.0)
            return loss, [weight], [torch.full((2,), 8.0)]

        def good_rewritten():
            weight = torch.ones(2, requires_grad=True)
            scores = weight * 2.0
            loss = scores.pow(2).sum()
            return loss, [weight], [torch.full((2,), 8.0)]

        def good_no_gradient_meant():
            weight, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            return weight.sum(), [weight, other], [torch.ones(2), None]
        """,
    "memory": """
        def bad_rows():
            return torch.ones(8).repeat(64, 1).sum().item()

        def good_rows():
            return torch.ones(8).expand(64, 8).sum().item()

        def bad_history():
            losses = [torch.ones(64).mul(step).sum() for step in range(4)]
            kept = [torch.ones(64).mul(step) for step in range(4)]
            return sum(loss.item() for loss in losses) + 0.0 * len(kept)

        def good_history():
            losses = [torch.ones(64).mul(step).sum() for step in range(4)]
            return sum(loss.item() for loss in losses)
        """,
}


@pytest.mark.torch
@pytest.mark.parametrize("claim", RIGHT)
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_a_function_on_the_right_side_is_confirmed(claim: str, device: str, tmp_path: Path) -> None:
    fixture = write(tmp_path, claim, RIGHT[claim])
    outcomes = [measure(fixture, name, DEVICES[device]()) for name in fixture.functions]
    assert [outcome.measured for outcome in outcomes if not outcome.confirmed] == []


MISSHAPEN = {
    "a slip is no refusal of torch": ("raises", "def bad_name():\n            return undefined\n"),
    "a failure has no value": ("values", "def good_sum():\n            return torch.ones(2) + torch.ones(3)\n"),
    "a value needs what was meant": ("values", "def bad_alone():\n            return torch.ones(2)\n"),
    "before is no copy": ("trains", "def bad_same(w=torch.ones(2)):\n            return w, w.view(2)\n"),
    "nothing to compare": ("trains", "def bad_none():\n            return [], []\n"),
    "no leaves": ("gradients", "def bad_loss():\n            return torch.ones(1), [], []\n"),
    "no memory": ("raises", "def bad_size():\n            return torch.empty(1 << 60, dtype=torch.int8)\n"),
    "two sizes": ("trains", "def bad_sizes():\n            return [torch.ones(1)], []\n"),
    "two dtypes": ("trains", "def good_cast():\n            return torch.ones(1).double(), torch.ones(1)\n"),
    "another mistake is not the one": ("raises", "def bad_sum():\n            {}['key'] + torch.ones(2)\n"),
    "another refusal of torch is not the one": ("raises", "def bad_view():\n            torch.ones(2).view(3)\n"),
    "endless recursion is no refusal of torch": ("raises", "def bad_deep():\n            return bad_deep()\n"),
    "a generator has not run": ("raises", "def good_lazy():\n            yield torch.ones(1)\n"),
    "sharing is yes or no": ("storage", "def bad_one():\n            return torch.ones(1), torch.ones(1), 1\n"),
}


@pytest.mark.torch
@pytest.mark.parametrize("reason", MISSHAPEN)
def test_a_function_that_cannot_be_measured_is_an_error(reason: str, tmp_path: Path) -> None:
    claim, body = MISSHAPEN[reason]
    fixture = write(tmp_path, claim, f"        {body}")
    with pytest.raises(FixtureError):
        run(fixture, fixture.functions[0])


@pytest.mark.torch
def test_a_fixture_leaves_no_trace_in_torch(tmp_path: Path) -> None:
    import torch

    body = """
        torch.manual_seed(3)

        def bad_mess():
            torch.set_grad_enabled(False)
            torch.set_default_dtype(torch.float64)
            torch.manual_seed(5)
            print("text")
            return torch.rand(1).item(), 0.0
        """
    before = torch.get_rng_state()
    fixture = write(tmp_path, "values", body)
    first, second = run(fixture, "bad_mess"), run(fixture, "bad_mess")
    assert first.measured == second.measured
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.torch
def test_both_sides_start_from_one_seed(tmp_path: Path) -> None:
    import torch

    body = """
        def good_seeded():
            return torch.rand(3), torch.rand(0).new_tensor([0.5])
        """
    fixture = write(tmp_path, "values", body)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn = torch.rand(3)
    assert repr(drawn) in run(fixture, "good_seeded").measured


# What the probes measure with.


@pytest.mark.torch
def test_overlap_is_of_elements_and_sharing_of_storages() -> None:
    import numpy as np
    import torch

    base = torch.zeros(3, 4)
    assert overlap(base, base[1:]) == 8
    assert (overlap(base[:1], base[1:]), share_storage(base[:1], base[1:])) == (0, True)
    assert overlap(base[:, ::2], base[:, 1::2]) == 0
    assert overlap(base.t()[1:], base[:, 1]) == 3
    assert len(addresses(base[0].expand(5, 4))) == 4
    back = torch.from_numpy(base.numpy()[1:])  # its storage begins in the middle of the other
    assert (overlap(base, back), share_storage(base, back), base.data_ptr() == back.data_ptr()) == (8, True, False)
    assert not share_storage(base, base.clone())
    assert addresses(torch.from_numpy(np.zeros((0, 3)))) == set()


@pytest.mark.torch
def test_memory_is_what_lives_at_once(tmp_path: Path) -> None:
    body = """
        def good_in_turn():
            for _ in range(5):
                rows = torch.zeros(1000)
                rows = None
            return 0

        def good_at_once():
            kept = [torch.zeros(1000) for _ in range(5)]
            return len(kept) - 5

        def good_views():
            rows = torch.zeros(1000)
            kept = [rows.view(10, 100), rows[1:], rows.expand(7, 1000)]
            return len(kept) - 3

        def good_from_numbers():
            rows = torch.tensor([0.0] * 1000)
            return len(rows) - 1000

        def good_nothing():
            return 0
        """
    fixture = write(tmp_path, "memory", body)
    assert [measure(fixture, name).figures["peak_bytes"] for name in fixture.good] == [4000, 20000, 4000, 4000, 0]


@pytest.mark.torch
def test_saved_tensors_count_while_a_node_holds_them(tmp_path: Path) -> None:
    body = """
        def good_kept():
            weight = torch.ones(4, requires_grad=True)
            return [(weight * weight).sum() for _ in range(3)]

        def good_used():
            weight = torch.ones(4, requires_grad=True)
            for _ in range(3):
                (weight * weight).sum().backward()
            return weight.grad
        """
    fixture = write(tmp_path, "graph", body)
    assert [measure(fixture, name).figures for name in fixture.good] == [
        {"nodes": 6, "saved": 6},
        {"nodes": 0, "saved": 0},
    ]


# Reading marks.


def read(folder: Path, *lines: str) -> list[Mark]:
    path = folder / "fixture.py"
    text = "\n".join(['CLAIM = "values"', *lines, "def good_nothing(): ...", ""])
    path.write_text(text, encoding="utf-8")
    return list(load(path).marks)


def test_marks_are_read_from_comments_only(tmp_path: Path) -> None:
    marks = read(
        tmp_path,
        "a = 1  # path: TSC101  # expect: TSC102, TSC103",
        "b = '# expect: TSC101'",
        "c = 3  # todo: TSC105 needs the device",
        "d = 4  # expect-preview: TSC105",
        "e = 5  # todo-ok: TSC106 an alarm that is known to be false",
        "f = 6  # what to expect: nothing",
    )
    assert marks == [
        Mark(2, "TSC101", "path"),
        Mark(2, "TSC102", "expect"),
        Mark(2, "TSC103", "expect"),
        Mark(4, "TSC105", "todo", "needs the device"),
        Mark(5, "TSC105", "expect-preview"),
        Mark(6, "TSC106", "todo-ok", "an alarm that is known to be false"),
    ]


@pytest.mark.parametrize("comment", ["# expect TSC101", "# expect: 101", "# Todo: later", "# path: TSC101 # expect: x"])
def test_a_mark_with_a_slip_is_an_error(comment: str, tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match=r"fixture\.py:2"):
        read(tmp_path, f"a = 1  {comment}")


MALFORMED = {
    "CLAIM": ["", "CLAIM = 'magic'\n", "CLAIM = 'values'\nCLAIM = 'raises'\n"],
    "DEVICES": [f"CLAIM = 'values'\nDEVICES = {text!r}\n" for text in ("cpu", "host", "host: ", "sim: no")],
    "RAISES": [
        "CLAIM = 'raises'\ndef bad_one(): ...\n",
        "CLAIM = 'values'\nRAISES = 'grad'\ndef bad_one(): ...\n",
        "CLAIM = 'raises'\nRAISES = '('\ndef bad_one(): ...\n",
        "CLAIM = 'raises'\nRAISES = ''\ndef bad_one(): ...\n",
    ],
    "no function": ["CLAIM = 'values'\n", "CLAIM = 'table'\ndef bad_row(): ...\n"],
    "line 1": ["CLAIM = (\n"],
    "DEVICES must": ["CLAIM = 'values'\nDEVICES = ['host: no']\n", "CLAIM = 'values'\nDEVICES: str = 'cpu'\n"],
    "must need no arguments": [f"CLAIM = 'values'\ndef good_x({given}): ...\n" for given in ("a", "a, b=1", "*, a")],
    "must be no coroutine": ["CLAIM = 'values'\nasync def good_x(): ...\n"],
    "is defined twice": ["CLAIM = 'values'\ndef good_x(): ...\ndef good_x(): ...\n"],
    "nested too deeply": ["CLAIM = 'values'\ndef good_x():\n    return " + "-" * 100_000 + "1\n"],
}


@pytest.mark.parametrize(("match", "text"), [(match, text) for match, texts in MALFORMED.items() for text in texts])
def test_what_is_no_fixture_is_refused(match: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "fixture.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FixtureError, match=match):
        load(path)


def test_a_byte_order_mark_and_other_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "fixture.py"
    path.write_bytes(b"\xef\xbb\xbfCLAIM: str = 'values'\r\ndef good_one(a=1, *, b=2, **c): ...  # todo: TSC101\r\n")
    fixture = load(path)
    assert (fixture.good, fixture.marks, "\r" in fixture.source) == (("good_one",), (Mark(2, "TSC101", "todo"),), False)


@pytest.mark.torch
def test_a_fixture_runs_as_its_text_says(tmp_path: Path) -> None:
    """Its annotations are evaluated, though those of the probes are not."""
    fixture = write(tmp_path, "values", "        def good_one(a: undefined = 1):\n            return 1, 1\n")
    with pytest.raises(FixtureError, match="NameError: name 'undefined' is not defined"):
        run(fixture, "good_one")


def test_where_a_claim_holds_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fixture.py"
    path.write_text("CLAIM = 'values'\nDEVICES = 'host: arrays lie there'\ndef good_one(): ...\n")
    assert (load(path).host_only, load(path).device_only) == ("arrays lie there", "")
    path.write_text("CLAIM = 'graph'\nDEVICES = 'accelerator: there is no copy'\ndef good_one(): ...\n")
    assert (load(path).host_only, load(path).device_only) == ("", "there is no copy")
    path.write_text("CLAIM = 'values'\nDEVICES = 'simulated: it is a race'\ndef good_one(): ...\n")
    assert (load(path).sim_only, load(path).device_only) == ("it is a race", "")
    with pytest.raises(FixtureError, match=r"none\.py"):
        load(tmp_path / "none.py")
