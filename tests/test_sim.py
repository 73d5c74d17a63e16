"""Where tensors of the simulated accelerator lie, what they share, what is refused, and what is put back."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

from tests.simulated import events, play

pytestmark = pytest.mark.torch


def test_this_torch_carries_it() -> None:
    from flake8_tensorcopy.verify.sim import SimulatedAccelerator, unsupported

    assert unsupported() is None
    with SimulatedAccelerator():
        assert unsupported() is None


def test_a_torch_that_behaves_otherwise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from flake8_tensorcopy.verify.sim import accelerator

    monkeypatch.setattr(accelerator, "patch_methods", lambda *_: None)
    accelerator._self_test.cache_clear()
    try:
        reason = accelerator.unsupported()
        assert reason is not None and reason.startswith(f"torch {torch.__version__} does not carry the simulated ")
        assert "\n" not in reason
    finally:
        accelerator._self_test.cache_clear()


def test_tensors_say_that_they_are_on_the_device() -> None:
    _, space = play("""
        d = torch.ones(3, device="cuda")
        says = [d.device, d.is_cuda, d.is_cpu, d.get_device(), d.type(), d.is_pinned(), type(d), d.double().type()]
        host = d.cpu()
        there = [host.device.type, host.is_cuda, host.is_cpu, host.get_device(), host.type()]
        runtime = [torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.current_device(),
                   torch.accelerator.is_available(), torch.accelerator.current_accelerator().type]
        shown = str(d)
        kinds = [isinstance(torch.cuda.FloatTensor(1), torch.Tensor), torch.cuda.LongTensor([1]).dtype]
    """)
    import torch

    cuda = torch.device("cuda", 0)
    assert space["says"] == [
        cuda, True, False, 0, "torch.cuda.FloatTensor", False, torch.Tensor, "torch.cuda.DoubleTensor",
    ]  # fmt: skip
    assert space["there"] == ["cpu", False, True, -1, "torch.FloatTensor"]
    assert space["runtime"] == [True, 1, 0, True, "cuda"]
    assert space["shown"] == "tensor([1., 1., 1.], device='cuda:0')"
    assert space["kinds"] == [True, torch.int64]


def test_views_share_and_copies_do_not() -> None:
    from flake8_tensorcopy.verify.sim import SimulatedAccelerator, host

    with SimulatedAccelerator():
        import torch

        base = torch.arange(6.0, device="cuda").view(2, 3).clone()
        view, copy = base[1:, 1:], base.clone()
        seen = host(view)
        assert (seen.device.type, seen.stride(), seen.storage_offset()) == ("cpu", (3, 1), 4)
        assert seen.untyped_storage().data_ptr() == host(base).untyped_storage().data_ptr()
        assert host(copy).untyped_storage().data_ptr() != host(base).untyped_storage().data_ptr()
        view.add_(10)
        assert seen.tolist() == [[14, 15]]
        assert base._version == view._version == 1 and copy._version == 0
        assert view._base is base
        for special in (base.to(torch.complex64).conj(), base[:0], torch.ones((), device="cuda").expand(3)):
            assert torch.equal(host(special), special.cpu())
        assert host(torch.ones(2, device="cuda", dtype=torch.bfloat16)).tolist() == [1, 1]
        plain = torch.ones(2)
        assert host(plain) is plain
    assert host(base) is base


def test_a_module_that_moves_keeps_its_parameters() -> None:
    _, space = play("""
        model = torch.nn.Linear(2, 2)
        before, weight = list(model.parameters()), model.weight.detach()
        optimizer = torch.optim.SGD(before, 0.1)
        model.cuda()
        same = all(a is b for a, b in zip(before, model.parameters()))
        places = [str(p.device) for p in before] + [str(weight.device)]
        model(torch.ones(1, 2, device="cuda")).sum().backward()
        grads = [str(p.grad.device) for p in before]
        model.cpu()
        home = [str(p.device) for p in before] + [str(p.grad.device) for p in before]
        kept = isinstance(torch.nn.Parameter(torch.ones(1, device="cuda")), torch.nn.Parameter)
        node = torch.nn.Parameter(torch.ones(1)).to("cuda").grad_fn
        names = [node.name(), type(node).__name__]
    """)
    assert space["same"] and space["kept"]
    assert space["places"] == ["cuda:0", "cuda:0", "cpu"]
    assert space["grads"] == ["cuda:0", "cuda:0"]
    assert space["home"] == ["cpu"] * 4
    assert space["names"] == ["ToCopyBackward0", "ToCopyBackward0"]


def test_autograd_refuses_what_it_refuses_on_the_cpu() -> None:
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        play("""
            x = torch.ones(2, device="cuda", requires_grad=True)
            y = x.exp()
            y.add_(1)
            y.sum().backward()
        """)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        play("torch.ones(2, device='cuda', requires_grad=True).add_(1)")


MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("d + h", RuntimeError, MIXED),
        ("h * d", RuntimeError, MIXED),
        ("d.add_(h)", RuntimeError, MIXED),
        ("torch.cat([d, h])", RuntimeError, MIXED),
        ("torch.nn.Linear(3, 1)(d)", RuntimeError, MIXED),
        ("h * torch.ones((), device='cuda')", RuntimeError, MIXED),
        ("torch.ones(()).add_(torch.ones((), device='cuda'))", RuntimeError, MIXED),
        ("torch.equal(d, h)", RuntimeError, MIXED),
        ("torch.add(h, h, out=d)", RuntimeError, MIXED),
        ("h[torch.zeros(1, dtype=torch.long, device='cuda')]", RuntimeError, "indices should be either on cpu or on"),
        ("d[torch.zeros(2, dtype=torch.long, device='cuda')] = torch.ones(2)", RuntimeError, MIXED),
        ("d.numpy()", TypeError, "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the"),
        ("np.asarray(d)", TypeError, "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the"),
        ("h.requires_grad_().numpy()", RuntimeError, "Can't call numpy() on Tensor that requires grad."),
        ("d.pin_memory()", RuntimeError, "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"),
        ("d.to('cuda:1')", RuntimeError, "CUDA error: invalid device ordinal"),
        ("h.cuda(3)", RuntimeError, "CUDA error: invalid device ordinal"),
        ("torch.zeros(2, device='cuda:1')", RuntimeError, "CUDA error: invalid device ordinal"),
        ("h.to('nowhere')", RuntimeError, "Expected one of cpu, cuda"),
        ("h.to([1])", TypeError, "to() received an invalid combination of arguments"),
        (
            "torch.rand(2, device='cuda', generator=torch.Generator())",
            RuntimeError,
            "Expected a 'cuda' device type for generator but found 'cpu'",
        ),
        (
            "torch.rand(2, generator=torch.Generator('cuda'))",
            RuntimeError,
            "Expected a 'cpu' device type for generator but found 'cuda'",
        ),
    ],
)
def test_errors_are_torchs_own(statement: str, error: type[Exception], message: str) -> None:
    import numpy as np

    with pytest.raises(error) as raised:
        play(f"h, d = torch.ones(3), torch.ones(3, device='cuda')\n{statement}", np=np)
    assert message in str(raised.value)


def test_numbers_of_the_host_may_join() -> None:
    assert events("""
        d = torch.ones(3, device="cuda")
        results = [d * torch.tensor(2.0), torch.where(d > 0, torch.tensor(1.0), d), d.masked_fill(d > 0, 2)]
        places = {str(r.device) for r in results}
        assert places == {"cuda:0"}
    """) == ["1 ALLOC 12", "2 H2D 4", "2 SYNC"]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("torch.compile(torch.nn.Linear(1, 1))", "torch.compile"),
        ("torch.nn.Linear(1, 1).compile()", "torch.compile"),
        ("torch.nn.DataParallel(torch.nn.Linear(1, 1))", "DataParallel"),
        ("torch.autocast('cuda').__enter__()", "autocast"),
        ("torch.amp.autocast('cuda', dtype=torch.bfloat16)(lambda: 1)()", "autocast"),
        ("torch.cuda.CUDAGraph()", "CUDA graphs"),
        ("torch.cuda.graph(None)", "CUDA graphs"),
        ("torch.cuda.Event(enable_timing=True).elapsed_time(torch.cuda.Event())", "elapsed_time"),
        ("torch.eye(2).cuda().to_sparse()", "sparse"),
        ("torch.eye(2).to_sparse().cuda()", "sparse"),
        ("torch.sparse_coo_tensor([[0]], [1.0], (2,), device='cuda')", "sparse"),
        ("torch.ones(1, device='cuda').__dlpack__()", "DLPack"),
        ("torch.from_dlpack(torch.ones(1, device='cuda'))", "DLPack"),
        (
            "next(iter(torch.utils.data.DataLoader(torch.ones(4), num_workers=1, pin_memory=True)))",
            "worker processes of a DataLoader",
        ),
    ],
)
def test_what_cannot_be_simulated_says_so(statement: str, named: str) -> None:
    from flake8_tensorcopy.verify.sim import SimulationError

    with pytest.raises(SimulationError) as raised:
        play(statement)
    assert named in str(raised.value) and "\n" not in str(raised.value)


def test_autocast_that_is_off_or_of_the_cpu_is_allowed() -> None:
    play("""
        with torch.autocast("cuda", enabled=False), torch.autocast("cpu", dtype=torch.bfloat16):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    """)


def test_memory_is_counted_while_it_lives() -> None:
    accelerator, space = play("""
        a = torch.zeros(100, device="cuda")
        first = torch.cuda.memory_allocated()
        b = a + 1
        c = b[10:]
        del b
        still = torch.cuda.memory_allocated()
        del c
        freed, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        reset = torch.cuda.max_memory_allocated()
        a.resize_(200)
        grown = [torch.cuda.memory_allocated(), torch.accelerator.max_memory_allocated(), accelerator.allocated]
        host = torch.zeros(1000)
        a = host.to("cuda")
        model = torch.nn.Linear(10, 10).cuda()
        moved = accelerator.allocated
        model.cpu()
        back = accelerator.allocated
        reserved = torch.cuda.memory_reserved()
        torch.cuda.empty_cache()
        given_back = torch.cuda.memory_reserved()
    """)
    assert [space[name] for name in ("first", "still", "freed", "peak", "reset")] == [400, 800, 400, 800, 400]
    assert space["grown"] == [800, 800, 800]
    assert (space["moved"], space["back"]) == (4440, 4000)
    assert space["reserved"] > space["given_back"] == 4000
    assert accelerator.peak == 4800  # both values of `a` live while it is rebound


def state() -> dict[str, Any]:
    """What a simulation replaces."""
    import torch
    from torch.utils import _device

    modules = (
        torch, torch.Tensor, torch.cuda, torch.cuda.memory, torch.cuda.random, torch.accelerator, torch.autograd,
        torch.nn.Module, torch.nn.DataParallel, torch.serialization, torch.UntypedStorage,
        torch.amp.autocast_mode.autocast,
        torch.utils.data.DataLoader, torch.backends.cudnn, torch._tensor_str, torch.utils._foreach_utils,
    )  # fmt: skip
    return {f"{module}": dict(vars(module)) for module in modules} | {
        "modes": (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()),
        "default": _device.CURRENT_DEVICE,
    }


@pytest.mark.parametrize("program", ["x = torch.ones(1).cuda()", "1 / 0", "torch.set_default_device('cuda'); 1 / 0"])
def test_everything_is_put_back(program: str) -> None:
    play("torch.ones(1, device='cuda').sum().item()")  # what torch loads late is loaded
    before = state()
    if "1 / 0" in program:
        with pytest.raises(ZeroDivisionError):
            play(program)
    else:
        play(program)
    after = state()
    for name, value in before.items():
        assert value == after[name], name


def test_everything_is_put_back_when_entering_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from flake8_tensorcopy.verify.sim import SimulatedAccelerator, accelerator

    def fail(*_: object) -> None:
        raise KeyError("unforeseen")

    monkeypatch.setattr(accelerator, "patch_runtime", fail)
    before = state()
    with pytest.raises(KeyError, match="unforeseen"), SimulatedAccelerator():
        pass
    assert state() == before
    monkeypatch.undo()
    assert events("torch.ones(1).cuda()") == ["1 H2D 4", "1 SYNC"]


def test_entering_within_another_or_twice_is_refused() -> None:
    from flake8_tensorcopy.verify.sim import SimulatedAccelerator, SimulationError

    first = SimulatedAccelerator()
    with first:
        with pytest.raises(SimulationError, match="within another"), SimulatedAccelerator():
            pass
        import torch

        assert torch.ones(1).cuda().is_cuda
    assert len(first.events) == 2
    with pytest.raises(SimulationError, match="only once"), first:
        pass


def test_what_outlives_the_simulation_is_of_the_cpu() -> None:
    from flake8_tensorcopy.verify.sim import SimulationError

    accelerator, space = play("""
        d, model = torch.ones(2, device="cuda", requires_grad=True), torch.nn.Linear(2, 1).cuda()
        loss = model(d).sum() + torch.ones((), requires_grad=True).cuda()
        stream, event = torch.cuda.Stream(), torch.cuda.Event()
    """)
    count = len(accelerator.events)
    d = space["d"]
    assert str(d.device) == "cpu" and d.numpy(force=True).tolist() == [1, 1]
    space["loss"].backward()
    assert d.grad is not None and d.grad.device.type == "cpu"
    assert (d.detach() + 1).tolist() == [2, 2]
    assert len(accelerator.events) == count
    with pytest.raises(SimulationError, match="after the simulation"):
        space["stream"].synchronize()
    later, after = play("places = [str(d.device), str(d.detach().cuda().device)]", d=d)
    assert after["places"] == ["cpu", "cuda:0"]
    assert later.count("H2D") == 1


def test_a_forked_process_has_no_device() -> None:
    import torch

    from flake8_tensorcopy.verify.sim import SimulatedAccelerator

    def child(queue: Any) -> None:
        try:
            torch.ones(1).cuda()
        except RuntimeError as error:
            queue.put(str(error))

    with SimulatedAccelerator():
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        assert "Cannot re-initialize CUDA in forked subprocess" in queue.get(timeout=60)
        process.join()


def test_worker_processes_load_for_the_device() -> None:
    _, space = play("""
        from torch.utils.data import DataLoader
        sums = [batch.cuda().sum().item() for batch in DataLoader(torch.arange(4.0), batch_size=2, num_workers=1)]
    """)
    assert space["sums"] == [1, 5]


def test_modes_of_others_see_what_they_see_on_the_cpu() -> None:
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    from flake8_tensorcopy.verify.sim import SimulatedAccelerator

    class Calls(TorchFunctionMode):  # type: ignore[misc]
        seen: list[Any]

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            self.seen.append((func.__name__, type(getattr(result, "grad_fn", None)).__name__))
            return result

    class Operations(TorchDispatchMode):  # type: ignore[misc]
        seen: list[str]

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(func._schema.name)
            return func(*args, **(kwargs or {}))

    with SimulatedAccelerator() as accelerator:
        x = torch.ones(2, device="cuda", requires_grad=True)
        with Calls() as calls, Operations() as operations:
            calls.seen, operations.seen = [], []
            (x * 2).cpu().tolist()
    assert [call for call in calls.seen if call[0] != "__get__"][:2] == [
        ("mul", "MulBackward0"),
        ("cpu", "ToCopyBackward0"),
    ]
    assert operations.seen[0] == "aten::mul"
    assert accelerator.count("D2H") == 1


@pytest.mark.torch
def test_a_tensor_without_data_leaves_the_device() -> None:
    torch = pytest.importorskip("torch")
    from flake8_tensorcopy.verify.sim import SimulatedAccelerator

    with SimulatedAccelerator():
        assert torch.ones(2, device="cuda").to("meta").device.type == "meta"
