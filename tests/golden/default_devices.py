# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Where the program has made a device the default, nobody knows where a factory makes its tensors."""

import torch


# run: with_a_default(torch.device("cpu"))
def with_a_default(device: torch.device):
    torch.set_default_device(device)
    mask = torch.arange(4) > 1
    wide = mask.float().to(device)
    there = torch.zeros(3).to(device)
    torch.set_default_device(None)
    return wide, there


# run: on_the_host(torch.device("cpu"))
def on_the_host(device: torch.device):
    mask = torch.arange(4, device="cpu") > 1
    return mask.float().to(device)  # fact: WidenedMove receiver=mask narrow=bool wide=float32
