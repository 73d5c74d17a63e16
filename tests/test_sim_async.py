"""Copies in flight: what the host and other streams find before they waited, and what a write of the host does."""

from __future__ import annotations

import pytest

from tests.simulated import events, play

pytestmark = pytest.mark.torch

POISON = [-12345, -12345]


@pytest.mark.parametrize(
    "wait",
    [
        "torch.cuda.synchronize()",
        "torch.accelerator.synchronize()",
        "torch.cuda.current_stream().synchronize()",
        "torch.cuda.default_stream().synchronize()",
        "event = torch.cuda.Event(); event.record(); event.synchronize()",
        "event = torch.cuda.current_stream().record_event(); event.synchronize()",
        "event = torch.Event(); event.record(); event.query()",
        "d.sum().item()",
        "d.cpu()",
        "torch.ones(3).to('cuda')",
        "d.nonzero()",
        "bool(d.sum())",
    ],
)
def test_a_host_copy_is_poisoned_until_the_host_waits(wait: str) -> None:
    _, space = play(f"""
        d = torch.tensor([1.0, 2.0], device="cuda")
        host = d.to("cpu", non_blocking=True)
        array, early = host.numpy(), host.tolist()
        mean = host.mean().item()
        {wait}
        late = host.tolist()
    """)
    assert space["early"] == POISON
    assert space["mean"] == -12345
    assert space["late"] == [1, 2]
    assert space["array"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "statement", ["d.add_(1)", "e = torch.cuda.Event(); e.record()", "torch.ones(1) + 1", "d.clone()", "host.sum()"]
)
def test_what_does_not_wait_brings_nothing(statement: str) -> None:
    _, space = play(f"""
        d = torch.tensor([1.0, 2.0], device="cuda")
        host = d.to("cpu", non_blocking=True)
        {statement}
        early = host.tolist()
    """)
    assert space["early"] == POISON


def test_what_arrives_is_what_was_there_when_the_copy_was_made() -> None:
    _, space = play("""
        d = torch.ones(2, device="cuda")
        host = torch.empty(2, pin_memory=True)
        version = host._version
        host.copy_(d, non_blocking=True)
        d.zero_()
        early = host.tolist()
        host.add_(5)
        torch.cuda.synchronize()
        late, bumped = host.tolist(), host._version - version
    """)
    assert (space["early"], space["late"]) == (POISON, [1, 1])
    assert space["bumped"] == 2  # of copy_ and add_, whose bytes the copy overwrites; not of the arrival


@pytest.mark.parametrize(
    ("values", "dtype", "poisoned"),
    [
        ([True, False], "bool", [False, True]),
        ([1, 2], "uint8", [123, 123]),
        ([123, 1], "int8", [124, 123]),
        ([1, -12345], "int64", [-12345, -12344]),
        ([1, 2], "complex64", [-12345, -12345]),
        ([1.0, 2.0], "bfloat16", [-12352.0, -12352.0]),
    ],
)
def test_poison_differs_from_every_value(values: list[object], dtype: str, poisoned: list[object]) -> None:
    _, space = play(
        """
        host = torch.tensor(values, dtype=getattr(torch, dtype), device="cuda").to("cpu", non_blocking=True)
        early = host.tolist()
        torch.cuda.synchronize()
        late = host.tolist()
        """,
        values=values,
        dtype=dtype,
    )
    assert space["early"] == poisoned
    assert space["late"] == values


def test_a_copy_into_pageable_memory_has_happened() -> None:
    _, space = play("""
        d = torch.ones(2, device="cuda")
        host = torch.zeros(2)
        host.copy_(d, non_blocking=True)
        read = host.tolist()
    """)
    assert space["read"] == [1, 1]


def test_a_copy_back_to_the_device_finds_what_the_stream_has() -> None:
    _, space = play("""
        host = torch.ones(2, device="cuda").to("cpu", non_blocking=True)
        back = host.to("cuda", non_blocking=True)
        early = host.tolist()
        with accelerator.paused():
            values = back.tolist()
    """)
    assert (space["early"], space["values"]) == (POISON, [1, 1])


def test_a_copy_never_waited_for_has_not_arrived_after_the_simulation() -> None:
    _, space = play("host = torch.ones(2, device='cuda').to('cpu', non_blocking=True)")
    assert space["host"].tolist() == POISON


@pytest.mark.parametrize(
    "write", ["stage.copy_(chunk)", "stage[:] = chunk", "stage.add_(1)", "torch.add(stage, 1, out=stage)"]
)
def test_a_pinned_source_written_in_flight_reaches_the_device_anew(write: str) -> None:
    program = f"""
        chunk = torch.tensor([1.0, 1.0])
        stage = torch.zeros(2).pin_memory()
        d = stage.to("cuda", non_blocking=True)
        {{wait}}
        {write}
        with accelerator.paused():
            values = d.tolist()
    """
    accelerator, space = play(program.format(wait="pass"))
    assert space["values"] == [1, 1]
    assert [(event.kind, event.bytes, event.line) for event in accelerator.events] == [
        ("PIN", 8, 2),
        ("H2D", 8, 3),
        ("RACE", 8, 5),
    ]
    accelerator, space = play(program.format(wait="torch.cuda.synchronize()"))
    assert space["values"] == [0, 0]
    assert accelerator.count("RACE") == 0


def test_a_race_through_numpy_is_seen_by_the_next_operation() -> None:
    program = """
        stage = torch.full((2,), float("nan")).pin_memory()
        array = stage.numpy()
        d = stage.to("cuda", non_blocking=True)
        {write}
        e = d + 1
        with accelerator.paused():
            values = d.tolist()
    """
    assert events(program.format(write="array[:] = 3"))[-1] == "5 RACE 8 async pinned"
    assert play(program.format(write="array[:] = 3"))[1]["values"] == [3, 3]
    assert events(program.format(write="array.sum()")) == ["1 PIN 8 pinned", "3 H2D 8 async pinned"]


def test_other_host_memory_and_reads_do_not_race() -> None:
    accelerator, _ = play("""
        stage, other = torch.zeros(2).pin_memory(), torch.zeros(2).pin_memory()
        d = stage.to("cuda", non_blocking=True)
        stage.sum(); stage.clone().add_(1); other.add_(1); d.add_(1)
        pageable = torch.zeros(2)
        d.copy_(pageable, non_blocking=True)
        pageable.add_(1)
    """)
    assert accelerator.count("RACE") == 0


SIDE = """
    d = torch.tensor([1.0, 2.0], device="cuda")
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    with torch.cuda.stream(side):
        host = d.to("cpu", non_blocking=True)
    {wait}
    read = host.tolist()
"""


@pytest.mark.parametrize(
    ("wait", "arrived"),
    [
        ("main.synchronize()", False),
        ("d.sum().item()", False),
        ("main.record_event().synchronize()", False),
        ("side.wait_stream(main); main.synchronize()", False),
        ("side.synchronize()", True),
        ("torch.cuda.synchronize()", True),
        ("side.record_event().synchronize()", True),
        ("main.wait_stream(side); main.synchronize()", True),
        ("main.wait_stream(side)", False),
        ("main.wait_event(side.record_event()); d.sum().item()", True),
        ("event = torch.cuda.Event(); event.record(side); event.wait(); d.cpu()", True),
        ("event = torch.cuda.Event(); event.record(side); event.query()", True),
    ],
)
def test_a_copy_on_another_stream_needs_a_wait_for_that_stream(wait: str, arrived: bool) -> None:
    assert play(SIDE.format(wait=wait))[1]["read"] == ([1, 2] if arrived else POISON)


def test_the_device_sees_a_copy_of_another_stream_after_wait_stream() -> None:
    _, space = play("""
        stage = torch.tensor([1.0, 2.0]).pin_memory()
        side, main = torch.cuda.Stream(), torch.cuda.current_stream()
        with torch.cuda.stream(side):
            d = stage.to("cuda", non_blocking=True)
            same = d + 0
        early = d + 0
        main.wait_stream(side)
        late = d + 0
        values = [same.tolist(), early.tolist(), late.tolist()]
    """)
    assert space["values"] == [[1, 2], POISON, [1, 2]]


def test_streams_of_a_context_are_entered_and_left() -> None:
    _, space = play("""
        a = torch.cuda.Stream()
        names = [torch.cuda.current_stream() == torch.cuda.default_stream()]
        with torch.cuda.stream(a):
            names.append(torch.cuda.current_stream() == a)
            with torch.cuda.stream(None):
                names.append(torch.cuda.current_stream() == a)
        names.append(torch.cuda.current_stream() == a)
        torch.cuda.set_stream(a)
        names.append(torch.cuda.current_stream() == a)
    """)
    assert space["names"] == [True, True, True, False, True]
