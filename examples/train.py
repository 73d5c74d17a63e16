"""Fits a small network to a noisy sine curve and keeps the weights that did best."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(1, 32)
        self.middle = nn.Linear(32, 32)
        self.last = nn.Linear(32, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        skip = hidden
        hidden = self.middle(self.relu(hidden))
        return self.last(hidden + skip)


def decay(model: nn.Module, rate: float) -> None:
    with torch.no_grad():
        for p in model.parameters():
            p = p - rate * p


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor, epochs: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    lowest = float("inf")
    best = model.state_dict()
    for epoch in range(epochs):
        loss = nn.functional.mse_loss(model(x), y)
        if loss.item() < lowest:
            lowest = loss.item()
            best = model.state_dict()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay(model, 1e-4)
        if epoch % 50 == 0:
            print(f"epoch {epoch}: loss {loss.cpu().item():.4f}")
    model.load_state_dict(best)


def main() -> None:
    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 200).unsqueeze(1)
    y = torch.sin(x) + 0.1 * torch.randn(200, 1)
    model = Net()
    train(model, x, y, epochs=200)
    target = model(x).clone().detach()
    print(f"left over: {(target - y).abs().mean().item():.4f}")


if __name__ == "__main__":
    main()
