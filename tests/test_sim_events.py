"""What the simulated accelerator records: whole lists of events, with bytes and lines, of small programs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.simulated import events, play

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        # To the device: a blocking copy waits, of pinned memory too; pageable memory is staged.
        ('h.to("cuda")', ["H2D 12", "SYNC"]),
        ("h.cuda()", ["H2D 12", "SYNC"]),
        ("h.to(0)", ["H2D 12", "SYNC"]),
        ("h.to(d)", ["H2D 12", "SYNC"]),
        ("h.type_as(d)", ["H2D 12", "SYNC"]),
        ('h.type("torch.cuda.DoubleTensor")', ["H2D 24", "SYNC"]),
        ('h.to("cuda", non_blocking=True)', ["H2D 12 async", "STAGE 12 async"]),
        ('h.pin_memory().to("cuda")', ["PIN 12 pinned", "H2D 12 pinned", "SYNC"]),
        ('h.pin_memory().to("cuda", non_blocking=True)', ["PIN 12 pinned", "H2D 12 async pinned"]),
        ("h.pin_memory().cuda(non_blocking=True)", ["PIN 12 pinned", "H2D 12 async pinned"]),
        ("d.copy_(h)", ["H2D 12", "SYNC"]),
        ("torch.zeros(2, 3, device='cuda').copy_(h)", ["ALLOC 24", "H2D 24", "SYNC"]),
        ("d[:] = h", ["H2D 12", "SYNC"]),
        # A pinned source with gaps is made contiguous in pageable memory first.
        ("torch.ones(3, 2).pin_memory()[:, 0].to('cuda', non_blocking=True)",
         ["PIN 24 pinned", "H2D 12 async pinned", "STAGE 12 async pinned"]),
        # A blocking copy converts on the host, a non-blocking one on the device.
        ('h.to("cuda", torch.float64)', ["H2D 24", "SYNC"]),
        ('h.byte().to("cuda", torch.float32)', ["H2D 12", "SYNC"]),
        ('h.byte().to("cuda", torch.float32, non_blocking=True)', ["H2D 3 async", "STAGE 3 async"]),
        ("d.to('cpu', torch.float64)", ["D2H 12", "SYNC"]),
        ("d.to('cpu', torch.float64, non_blocking=True)", ["PIN 24 async pinned", "D2H 24 async pinned"]),
        # To the host.
        ("d.cpu()", ["D2H 12", "SYNC"]),
        ("d.to('cpu')", ["D2H 12", "SYNC"]),
        ("d.to(h)", ["D2H 12", "SYNC"]),
        ("d.to('cpu', non_blocking=True)", ["PIN 12 async pinned", "D2H 12 async pinned"]),
        ("h.copy_(d)", ["D2H 12", "SYNC"]),
        ("h.copy_(d, non_blocking=True)", ["D2H 12 async", "SYNC"]),
        ("h.pin_memory().copy_(d, non_blocking=True)", ["PIN 12 pinned", "D2H 12 async pinned"]),
        ("torch.empty(3, pin_memory=True).copy_(d, non_blocking=True)", ["PIN 12 pinned", "D2H 12 async pinned"]),
        ("d.numpy(force=True)", ["D2H 12", "SYNC"]),
        ("d.cpu().numpy()", ["D2H 12", "SYNC"]),
        ("d.tolist()", ["D2H 12", "SYNC"]),
        # Nothing to do.
        ('d.to("cuda")', []),
        ("d.cuda()", []),
        ("d.to(d.device)", []),
        ("d.to(torch.float32)", []),
        ("h.cpu()", []),
        ('h.to("cpu")', []),
        ("h.item() if h.numel() == 1 else h.tolist()", []),
        ("d.shape, d.dtype, d.device, len(d), d.is_cuda, d.requires_grad", []),
        ("d + 1, d.sum(), d @ d, d[0], d[1:], d.view(3, 1)", []),
        ("sum(d)", []),
        # Reads of one element.
        ("s.item()", ["D2H 4", "SYNC"]),
        ("bool(s)", ["D2H 4", "SYNC"]),
        ("float(s)", ["D2H 4", "SYNC"]),
        ("int(s)", ["D2H 4", "SYNC"]),
        ("[4][s.long() - 1]", ["CAST 8", "D2H 8", "SYNC"]),
        ("1 if s else 2", ["D2H 4", "SYNC"]),
        ("s > 0 and 1", ["D2H 1", "SYNC"]),
        ('f"{s}"', ["D2H 4", "SYNC"]),
        ('f"{s:.2f}"', ["D2H 4", "SYNC"]),
        ('"%.1f" % s', ["D2H 4", "SYNC"]),
        ("s.double().item()", ["CAST 8", "D2H 8", "SYNC"]),
        ("max(d)", ["D2H 1", "SYNC"] * 2),
        ("[v.item() for v in d]", ["D2H 4", "SYNC"] * 3),
        ("1 in d", ["D2H 1", "SYNC"]),
        ("torch.tensor([s, s])", ["D2H 4", "SYNC"] * 2),
        # Sizes and answers that the host reads back.
        ("d.nonzero()", ["SYNC"]),
        ("torch.where(d > 0)", ["SYNC"]),
        ("d[d > 0]", ["SYNC"]),
        ("d.masked_select(d > 0)", ["SYNC"]),
        ("torch.unique(d)", ["SYNC"]),
        ("torch.equal(d, d)", ["SYNC"]),
        ("torch.allclose(d, d)", ["SYNC"]),
        ("d[d > 0] = d[:1]", ["SYNC"]),
        # Writes of numbers: a mask is filled, a slice is filled, a single element is copied.
        ("d[d > 0] = 1.0", []),
        ("d[1:] = 1.0", []),
        ("d[0] = 1.0", ["H2D 4", "SYNC"]),
        ("d[i] = 1.0", ["H2D 4", "SYNC"]),
        # Indices.
        ("d[i]", []),
        ("d[[0, 2]]", ["H2D 16", "SYNC"]),
        ("d[torch.tensor([0])]", ["H2D 8", "SYNC"]),
        ("d[torch.tensor([True, False, True])]", ["H2D 16", "SYNC"]),
        # New tensors.
        ('torch.zeros(3, device="cuda")', ["ALLOC 12"]),
        ("torch.empty(3, device=0)", ["ALLOC 12"]),
        ('torch.arange(3, device="cuda")', ["ALLOC 24"]),
        ('torch.randn(3, device=torch.device("cuda:0"))', ["ALLOC 12"]),
        ('torch.zeros_like(h, device="cuda")', ["ALLOC 12"]),
        ("torch.zeros_like(d), d.new_zeros(3), torch.empty_like(d)", []),
        ("torch.zeros(3)", []),
        ('torch.tensor([1.0, 2.0], device="cuda")', ["H2D 8", "SYNC"]),
        ("d.new_tensor([1.0, 2.0])", ["H2D 8", "SYNC"]),
        ('torch.as_tensor([1.0, 2.0], device="cuda")', ["H2D 8", "SYNC"]),
        ('torch.as_tensor(h, device="cuda")', ["H2D 12", "SYNC"]),
        ('torch.as_tensor(d, device="cuda")', []),
        ("torch.as_tensor(d)", []),
        # `where` copies a tensor of one element; a number in Python, or for `masked_fill`, goes with the kernel.
        ("torch.where(d > 0, d, torch.tensor(0.0))", ["H2D 4", "SYNC"]),
        ("torch.where(torch.tensor(True), d, d)", ["H2D 1", "SYNC"]),
        ("torch.where(d > 0, d, 0.0), torch.where(d > 0, 1.0, d), torch.where(d > 0, d, s)", []),
        ("d.masked_fill(d > 0, torch.tensor(9.0))", []),
        ("torch.cuda.FloatTensor(3)", ["ALLOC 12"]),
        ("torch.cuda.FloatTensor([1.0, 2.0])", ["H2D 8", "SYNC"]),
        ("torch.zeros(3, pin_memory=True)", ["PIN 12 pinned"]),
        ("h.pin_memory().pin_memory()", ["PIN 12 pinned"]),
        # Within the device.
        ("d.clone()", ["D2D 12"]),
        ("d.contiguous()", []),
        ("d.view(3, 1).expand(3, 2).contiguous()", ["D2D 24"]),
        ("d.double()", ["CAST 24"]),
        ("d.to(torch.float32, copy=True)", ["D2D 12"]),
        ("d.copy_(d.flip(0))", ["D2D 12"]),
        ("import copy; copy.deepcopy(d); copy.deepcopy({'a': d[1:]})", ["D2D 12"] * 2),
        # Waits.
        ("torch.cuda.synchronize()", ["SYNC"]),
        ("torch.accelerator.synchronize()", ["SYNC"]),
        ("torch.cuda.current_stream().synchronize()", ["SYNC"]),
        ("e = torch.cuda.Event(); e.record(); e.synchronize()", ["SYNC"]),
        ("torch.cuda.empty_cache()", []),
        ("d.sum(); torch.cuda.empty_cache(); torch.cuda.empty_cache()", ["SYNC"]),
    ],
)  # fmt: skip
def test_one_statement(statement: str, expected: list[str]) -> None:
    setting = """
        h, d = torch.ones(3), torch.ones(3, device="cuda")
        s, i = torch.ones((), device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
        # the statement follows
    """
    before = ["1 ALLOC 12", "2 ALLOC 4", "2 ALLOC 8"]
    assert events(f"{setting.rstrip()}\n        {statement}") == before + [f"4 {event}" for event in expected]


def test_lines_are_the_users_in_calls_modules_and_backward() -> None:
    assert events("""
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 1, device="cuda")

            def forward(self, x):
                if x.isnan().any():
                    return x
                return self.layer(x)

        class Read(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, gradient):
                gradient.cpu()
                return gradient

        w = torch.ones(1, 2, requires_grad=True)
        y = Read.apply(torch.nn.Sequential(Net())(
            w.to("cuda")))
        y.sum().backward(
        )
    """) == [
        "4 ALLOC 8", "4 ALLOC 4",
        "23 H2D 8", "23 SYNC",
        "7 D2H 1", "7 SYNC",
        "18 D2H 4", "18 SYNC",
        "24 D2H 8", "24 SYNC",
    ]  # fmt: skip


def test_a_training_step_waits_where_the_program_says() -> None:
    assert events("""
        model = torch.nn.Linear(4, 2)
        model.to("cuda")
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            x = torch.ones(8, 4).to("cuda")
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{loss.item():.3f}")
    """) == [
        "2 H2D 32", "2 SYNC", "2 H2D 8", "2 SYNC",
        "5 H2D 128", "5 SYNC", "5 H2D 128", "5 SYNC",
        "10 D2H 4", "10 SYNC",
    ]  # fmt: skip


def test_gradients_are_clipped_on_the_device() -> None:
    assert events("""
        here, there = torch.ones(2, requires_grad=True), torch.ones(3, device="cuda", requires_grad=True)
        (here.sum() + there.sum().cpu()).backward()
        norm = torch.nn.utils.clip_grad_norm_([there], 1.0)
        torch.nn.utils.clip_grad_value_([here, there], 0.1)
        assert norm.is_cuda and torch.equal(here.grad, torch.full((2,), 0.1))
    """) == ["1 ALLOC 12", "2 D2H 4", "2 SYNC", "2 H2D 4", "2 SYNC", "2 D2D 12"]


def test_a_loader_pins_its_batches_and_only_then_copies_overlap() -> None:
    program = """
        from torch.utils.data import DataLoader, TensorDataset
        for (x,) in DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2, pin_memory={pin}):
            x.to("cuda", non_blocking=True)
    """
    assert events(program.format(pin=True)) == ["2 PIN 16 pinned", "3 H2D 16 async pinned"] * 2
    assert events(program.format(pin=False)) == ["3 H2D 16 async", "3 STAGE 16 async"] * 2


@pytest.mark.parametrize(("elements", "reads"), [(1, 7), (100, 205), (1000, 2005)])
def test_printing_reads_element_by_element(elements: int, reads: int) -> None:
    """Two for each element and five more; above 1000 elements only the ends are read."""
    accelerator, _ = play(f"x = torch.rand({elements}, device='cuda') + 1\ntext = str(x)")
    assert accelerator.count("D2H") == reads
    assert accelerator.count("SYNC") == reads + 1  # masked_select
    assert {event.line for event in accelerator.events[1:]} == {2}


def test_printing_a_long_tensor_reads_its_ends() -> None:
    accelerator, space = play("x = torch.rand(2000, device='cuda')\ntext = repr(x)")
    assert accelerator.count("D2H") == 18
    assert "..." in space["text"] and space["text"].endswith("device='cuda:0')")


def test_files_tell_where_a_tensor_lay() -> None:
    accelerator, space = play("""
        import io, pickle
        file = io.BytesIO()
        d = torch.ones(3, device="cuda")
        torch.save({"d": d, "view": d[1:], "h": torch.ones(2)}, file)
        file.seek(0)
        same = torch.load(file)
        file.seek(0)
        home = torch.load(file, map_location="cpu")
        file.seek(0)
        away = torch.load(file, map_location=torch.device("cuda"))
        copied = pickle.loads(pickle.dumps(d))
        places = [str(t.device) for t in (*same.values(), *home.values(), *away.values(), copied)]
    """)
    assert space["places"] == ["cuda:0", "cuda:0", "cpu", "cpu", "cpu", "cpu", "cuda:0", "cuda:0", "cuda:0", "cuda:0"]
    assert [f"{event.line} {event.kind} {event.bytes}" for event in accelerator.events] == [
        "3 ALLOC 12", "4 D2H 12", "4 SYNC 0", "6 H2D 12", "6 SYNC 0",
        "10 H2D 12", "10 SYNC 0", "10 H2D 8", "10 SYNC 0", "11 D2H 12", "11 SYNC 0", "11 H2D 12", "11 SYNC 0",
    ]  # fmt: skip
    assert space["home"]["view"].tolist() == [1, 1]


def test_a_file_of_the_device_needs_a_place_afterwards() -> None:
    import torch

    _, space = play("""
        import io
        file = io.BytesIO()
        torch.save(torch.ones(3, device="cuda"), file)
        file.seek(0)
    """)
    with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a C"):
        torch.load(space["file"])
    space["file"].seek(0)
    assert torch.load(space["file"], map_location="cpu").tolist() == [1, 1, 1]


def test_nothing_is_recorded_while_paused() -> None:
    _, space = play("""
        d = torch.ones(3, device="cuda")
        late = d.to("cpu", non_blocking=True)
        with accelerator.paused():
            other = torch.ones(1000, device="cuda")
            values = [d.sum().item(), d.cpu().tolist(), torch.equal(d, d), other.device.type]
            torch.cuda.synchronize()
            at_once = d.to("cpu", non_blocking=True).tolist()
        count, peak = len(accelerator.events), accelerator.peak
        poisoned = late.tolist()
    """)
    assert space["values"] == [3.0, [1, 1, 1], True, "cuda"]
    assert space["at_once"] == [1, 1, 1]
    assert space["poisoned"] == [-12345, -12345, -12345]
    assert (space["count"], space["peak"]) == (3, 12)


def test_counts_and_bytes_of_a_kind() -> None:
    from flake8_tensorcopy.verify.sim import Event, Kind

    accelerator, _ = play("d = torch.ones(3, device='cuda')\nd.cpu()\nd[:2].cpu()")
    assert (accelerator.count("D2H"), accelerator.bytes(Kind.D2H), accelerator.count(Kind.H2D)) == (2, 20, 0)
    assert accelerator.events[0] == Event(Kind.ALLOC, "ones", 12, 1, "program.py")


def test_importing_verify_imports_no_torch() -> None:
    code = "import sys, flake8_tensorcopy.verify; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
