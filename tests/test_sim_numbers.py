"""Programs give on the simulated device what they give on the CPU, bit for bit, and every result lies there."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning"),  # torch's own, in jacfwd
]

TRAIN = """
    def train(model, batches, criterion, optimizer, **settings):
        model.to(place)
        optimizer = optimizer(model.parameters(), **settings)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        losses = []
        for _ in range(3):
            for x, y in batches:
                loss = criterion(model(x.to(place)), y.to(place))
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                losses.append(loss.detach())
            scheduler.step()
        results.update(model.state_dict(), loss=torch.stack(losses))
        results.update({f"grad {name}": p.grad for name, p in model.named_parameters()})
        results.update({f"state {i} {k}": v for i, s in enumerate(optimizer.state.values())
                        for k, v in s.items() if v.dim() > 0})
"""
PROGRAMS = {
    "multilayer perceptron": TRAIN
    + """
    x, y = torch.randn(16, 8), torch.randint(0, 4, (16,))
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))
    train(model, [(x, y)], F.cross_entropy, torch.optim.SGD, lr=0.1, momentum=0.9)
    """,
    "convolutions": TRAIN
    + """
    x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 4, (8,))
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(36, 4))
    train(model, [(x, y)], nn.CrossEntropyLoss(), torch.optim.Adam, lr=0.1)
    """,
    "transformer": TRAIN
    + """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(10, 8), nn.Linear(8, 4)
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            return self.head(self.layer(self.embed(x), src_mask=mask).mean(1))

    x, y = torch.randint(0, 10, (8, 5)), torch.randint(0, 4, (8,))
    train(Model(), [(x, y)], F.cross_entropy, torch.optim.AdamW, lr=0.01)
    """,
    "loader": TRAIN
    + """
    from torch.utils.data import DataLoader, TensorDataset
    data = TensorDataset(torch.randn(16, 8), torch.randn(16, 2))
    model = nn.Sequential(nn.Linear(8, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 2))
    loader = DataLoader(data, 4, shuffle=True, num_workers=0)
    train(model, loader, F.mse_loss, torch.optim.AdamW, lr=0.01, foreach=True)
    """,
    "recurrent": TRAIN
    + """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.gru = nn.LSTM(4, 6, 2, batch_first=True, dropout=0.2), nn.GRU(6, 3)

        def forward(self, x):
            return self.gru(self.lstm(x)[0])[0][:, -1]

    train(Model(), [(torch.randn(8, 5, 4), torch.randn(8, 3))], F.mse_loss, torch.optim.SGD, lr=0.1)
    """,
    "packed sequence": """
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
    gru, x = nn.GRU(3, 4).to(place), torch.randn(5, 2, 3).to(place)
    packed, hidden = gru(pack_padded_sequence(x, torch.tensor([5, 3])))
    padded, lengths = pad_packed_sequence(packed)
    padded.sum().backward()
    assert lengths.device.type == packed.batch_sizes.device.type == "cpu" and lengths.tolist() == [5, 3]
    results.update(padded=padded, hidden=hidden, grad=gru.weight_ih_l0.grad)
    """,
    "checkpoint": """
    from torch.utils.checkpoint import checkpoint
    class Noisy(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5) + torch.ones(x.shape, device=place)

    model, x = nn.Sequential(nn.Linear(8, 8), Noisy()).to(place), torch.randn(4, 8).to(place).requires_grad_()
    for reentrant in (True, False):
        checkpoint(model, x, use_reentrant=reentrant).pow(2).sum().backward()
    results.update({name: p.grad for name, p in model.named_parameters()}, x=x.grad)
    """,
    "deepcopy": """
    import copy
    model = nn.Linear(8, 4).to(place)
    twin = copy.deepcopy(model)
    twin.load_state_dict({key: value + 1 for key, value in model.state_dict().items()})
    transposed, whole = torch.randn(3, 4).to(place).t(), torch.zeros(10).to(place)
    part = copy.deepcopy(whole[:1])
    assert part.untyped_storage().nbytes() == 40 and not part._is_view()
    results.update(model.state_dict(), twin=twin.weight, transposed=copy.deepcopy(transposed), part=part,
                   alias=copy.copy(whole))
    """,
    "double backward": """
    x, y = torch.randn(4).to(place).requires_grad_(), torch.randn(4, requires_grad=True)
    for z, power in ((x, 3), (y, 4)):
        gradient, = torch.autograd.grad((z.to(place) ** power).sum(), z, create_graph=True)
        assert gradient.device == z.device
        gradient.pow(2).sum().backward()
    assert y.grad.device.type == "cpu"
    results.update(x=x.grad, y=y.grad.to(place))
    """,
    "custom function": """
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x, x.new_zeros(2)

        @staticmethod
        def backward(ctx, gradient, unused):
            x, = ctx.saved_tensors
            assert torch.zeros(3).device.type == "cpu" and unused.device == x.device == gradient.device
            return 2 * x * gradient * torch.ones(4, device=place)

    x = torch.randn(4).to(place).requires_grad_()
    x.register_hook(lambda gradient: gradient + torch.ones(4, device=place))
    Square.apply(x)[0].sum().backward()
    results.update(x=x.grad)
    """,
    "views and writes": """
    a = torch.arange(12.0).to(place).view(3, 4)
    b, c = a.t(), a.expand(2, 3, 4)
    b[0].add_(1)
    a[a > 5] = 0
    a[1] = torch.ones(4).to(place)
    a[:, 1] *= 3
    out, i = torch.empty(0, device=place), torch.tensor([0, 2], device=place)
    torch.add(a, 1, out=out)
    a[i] += 1
    a.index_add_(0, i, torch.ones(2, 4, device=place))
    a.unsqueeze_(0).squeeze_(0).t_().t_()
    a[[0, 1], torch.tensor([2, 3])] = 7.0
    stacked = torch.cat([torch.stack([a, a]), c])
    assert b.untyped_storage().data_ptr() == a.untyped_storage().data_ptr()
    results.update(a=a, b=b, c=c, out=out, stacked=stacked, tril=a.tril(), sorted=a.sort().values, row=a[-1, 1:3],
                   product=torch.einsum("ij,kj->ik", a, a), chosen=torch.where(a > 1, a, 0),
                   mask=a.masked_select(a > 2), unique=torch.unique(a), hot=F.one_hot(i, 4),
                   masked=a.masked_fill(a > 2, 0), top=a.topk(2).values)
    a.resize_(4, 4)[3] = 0
    results.update(resized=a)
    """,
    "parametrized": """
    from torch.nn.utils import parametrizations
    x = torch.randn(2, 4).to(place)
    for wrap in (parametrizations.weight_norm, parametrizations.spectral_norm, parametrizations.orthogonal):
        layer = wrap(nn.Linear(4, 4)).to(place)
        layer(x).sum().backward()
        results.update({f"{wrap.__name__} {name}": p.grad for name, p in layer.named_parameters()})
    """,
    "grad modes": """
    with torch.no_grad():
        results.update(no_grad=torch.ones(3, device=place) * 2)
    with torch.inference_mode():
        inference = torch.ones(3, device=place) * 2
        results.update(inference=inference, round_trip=inference.cpu().to(place))
    assert inference.is_inference()
    """,
    "default device": """
    with torch.device(place):
        results.update(zeros=torch.zeros(2), linear=nn.Linear(2, 2).weight, given=torch.tensor([1.0, 2.0]))
        assert torch.zeros(2, device="cpu").device.type == "cpu" and torch.zeros_like(torch.ones(2)).device.type == kind
    assert torch.zeros(2).device.type == "cpu"
    torch.set_default_device(place)
    attention = nn.MultiheadAttention(4, 2)
    x = torch.randn(3, 1, 4)
    results.update(x=x, attended=attention(x, x, x)[0], order=torch.randperm(5), array=torch.as_tensor([1, 2]))
    torch.set_default_device(None)
    """,
    "functional transforms": """
    def f(w, x):
        return (w * x).sin().sum()

    w, x = torch.randn(3).to(place), torch.randn(5, 3).to(place)
    results.update(
        grad=torch.func.grad(f)(w, x[0]), each=torch.func.vmap(torch.func.grad(f), (None, 0))(w, x),
        reverse=torch.func.jacrev(torch.sin)(w), forward=torch.func.jacfwd(torch.sin)(w),
        added=torch.vmap(lambda row: row + torch.ones(3, device=place))(x),
        moved=torch.func.grad(lambda v: v.to("cpu").to(place).pow(2).sum())(w),
    )
    """,
    "gradients cross over": """
    scale, y = torch.tensor(2.0, requires_grad=True), torch.ones(3, requires_grad=True)
    x, target, other = torch.ones(3).to(place), torch.zeros(3).to(place), torch.zeros(3).to(place)
    (x * scale).sum().backward()
    target[:] = y
    other.copy_(y)
    (target * 2 + other * 3).sum().backward()
    assert scale.grad.device.type == y.grad.device.type == "cpu" and scale.grad == 3
    results.update(y=y.grad.to(place))
    """,
    "random numbers": """
    generator = torch.Generator(place).manual_seed(7)
    results.update(
        generated=torch.randn(4, device=place, generator=generator), rand=torch.rand(4, device=place),
        integers=torch.randint(0, 9, (4,), device=place), filled=torch.empty(4, device=place).normal_(),
        like=torch.rand_like(torch.ones(4).to(place)), drawn=torch.ones(4).to(place).multinomial(2),
        bernoulli=torch.full((4,), 0.5, device=place).bernoulli(),
    )
    """,
    "optimizer state": """
    model = nn.Linear(3, 2).to(place)
    for _ in range(2):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        model(torch.ones(1, 3).to(place)).sum().backward()
        optimizer.step()
        fresh = torch.optim.Adam(model.parameters(), lr=0.1)
        fresh.load_state_dict({key: value for key, value in optimizer.state_dict().items()})
    results.update({k: v for k, v in fresh.state[model.weight].items() if v.dim()}, weight=model.weight)
    """,
}  # fmt: skip


def run(program: str, place: str) -> dict[str, Any]:
    import torch

    torch.manual_seed(0)
    results: dict[str, Any] = {}
    kind = torch.device(place).type
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "place": place, "kind": kind, "results": results}
    exec(compile(dedent(program), "program.py", "exec"), names)
    assert results and {value.device.type for value in results.values()} == {kind}
    return results


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_the_cpus(name: str) -> None:
    import torch

    from flake8_tensorcopy.verify.sim import SimulatedAccelerator, host

    expected = run(PROGRAMS[name], "cpu")
    with SimulatedAccelerator():
        given = {key: host(value) for key, value in run(PROGRAMS[name], "cuda").items()}
    assert list(given) == list(expected)
    for key, value in expected.items():
        assert given[key].stride() == value.stride(), key
        assert torch.equal(given[key], value), key


def test_seeds_of_the_device_are_seeds() -> None:
    import torch

    from flake8_tensorcopy.verify.sim import SimulatedAccelerator

    with SimulatedAccelerator():
        drawn = []
        for seed in (torch.cuda.manual_seed, torch.cuda.manual_seed_all, torch.manual_seed):
            seed(3)
            drawn.append(torch.rand(2, device="cuda").tolist())
        state = torch.cuda.get_rng_state()
        drawn.append(torch.rand(2, device="cuda").tolist())
        torch.cuda.set_rng_state(state)
        drawn.append(torch.rand(2, device="cuda").tolist())
    assert drawn[0] == drawn[1] == drawn[2] != drawn[3] == drawn[4]
