# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Moves between the host and a device: in flight, overwritten, repeated, made for nothing or in the wrong place."""

import logging

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger(__name__)


def read_in_flight(x: torch.Tensor):
    copy = x.to("cpu", non_blocking=True)
    return copy * 2  # fact: UnwaitedRead source=x how=operand | name=copy -into


def array_in_flight(x: torch.Tensor):
    array = x.to("cpu", non_blocking=True).numpy()  # fact: UnwaitedRead source=x how=numpy
    return array


def array_before_the_wait(x: torch.Tensor, y: torch.Tensor):
    array = x.to("cpu", non_blocking=True).numpy()
    y.sum().item()
    return array


def waited_on_one_arm(x: torch.Tensor, wait: bool):
    copy = x.to("cpu", non_blocking=True)
    if wait:
        x.sum().item()
    return copy + 1


def copied_on_one_arm(x: torch.Tensor, host: bool):
    copy = x
    if not host:
        copy = x.to("cpu", non_blocking=True)
    return copy + 1  # fact: UnwaitedRead source=x how=operand


def kept_in_flight(x: torch.Tensor):
    copy = x.to("cpu", non_blocking=True)
    return [copy, copy.shape]


# run: None
def refilled_while_read(chunks: list[torch.Tensor], device: torch.device):
    stage = torch.empty(2, pin_memory=True)
    for chunk in chunks:
        stage.copy_(chunk)  # fact: OverwrittenSource source=stage op=copy_ | looped
        yield stage.to(device, non_blocking=True)


# run: None
def changed_after_the_start(device: torch.device):
    stage = torch.ones(2).pin_memory()
    sent = stage.to(device, non_blocking=True)
    stage += 1  # fact: OverwrittenSource source=stage op=+= | -looped
    return sent


# run: None
def pinned_for_nothing(x: torch.Tensor, device: torch.device):
    return x.pin_memory().to(device)  # fact: PinnedMove receiver=x kind=blocking


# run: pageable_batches(torch.ones(2), torch.device("cpu"))
def pageable_batches(data, device: torch.device):
    loader = DataLoader(data)  # fact: PinnedMove receiver=batch kind=loader
    return [batch.to(device, non_blocking=True) for batch in loader]


# run: made_and_moved(torch.device("cpu"), torch.float64)
def made_and_moved(device: torch.device, dtype: torch.dtype):
    a = torch.zeros(3).to(device)  # fact: CreatedThenMoved factory=zeros device=device | -random
    b = torch.randn(3).to(device=device)  # fact: CreatedThenMoved factory=randn device=device | random
    c = torch.zeros(3).to(dtype)
    d = torch.zeros(3).to(a)
    return a, b, c, d, torch.ones(3).to("cpu"), torch.zeros(3, device=device).to(device)


# run: there_and_back(torch.ones(2), torch.device("cpu"))
def there_and_back(x, device: torch.device):
    array = x.detach().cpu().numpy()
    return torch.from_numpy(array).to(device)  # fact: RoundTrip source=x.detach() device=device


# run: there_for_numpy(torch.ones(2), torch.device("cpu"))
def there_for_numpy(x, device: torch.device):
    array = x.detach().cpu().numpy()
    back = torch.from_numpy(array).to(device)
    return back, torch.from_numpy(np.sqrt(array)).to(device)


class Keeps:
    # run: Keeps().there_and_kept(torch.ones(2), torch.device("cpu"))
    def there_and_kept(self, x, device: torch.device):
        self.array = x.cpu().numpy()
        return torch.from_numpy(self.array).to(device)


# run: there_and_kept_by_a_function(torch.ones(2), [], torch.device("cpu"))
def there_and_kept_by_a_function(x, hooks, device: torch.device):
    array = x.cpu().numpy()
    hooks.append(lambda: array.mean())
    return torch.from_numpy(array).to(device)


# run: there_and_kept_twice(torch.ones(2), Keeps(), torch.device("cpu"))
def there_and_kept_twice(x, keeps, device: torch.device):
    array = keeps.array = x.cpu().numpy()
    return torch.from_numpy(array).to(device)


# run: same_in_each_pass([torch.ones(2)], torch.ones(2), torch.device("cpu"))
def same_in_each_pass(batches, offset, device: torch.device):
    total = 0
    for batch in batches:
        total = total + (batch.to(device) - offset.to(device))  # fact: InvariantTransfer receiver=offset device=device
    return total


# run: nobody_takes_it(torch.ones(2), torch.device("cpu"))
def nobody_takes_it(x: torch.Tensor, device: torch.device):
    for _ in range(3):
        x.to(device)  # fact: DroppedResult receiver=x op=to


# run: other_in_each_pass([torch.ones(2)], torch.ones(2), torch.device("cpu"))
def other_in_each_pass(batches, offset, device: torch.device):
    total = 0
    for batch in batches:
        total = total + (batch.to(device) - offset.to(device))
        offset = offset + 1
    return total


# run: None
def waits_in_each_step(model, optimizer, batches):
    for step, (x, y) in enumerate(batches):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss)  # fact: StepSync how=print
        if loss > 3:  # fact: StepSync how=test
            break
        if step % 10 == 0:
            logger.info("%s", loss.item())
        torch.cuda.synchronize()  # fact: StepSync how=synchronize
    return loss.item()


def waits_for_each_element(x: torch.Tensor):
    row = x.flatten()
    values = [value.item() for value in row]  # fact: StepSync how=elements
    logger.debug(f"{row.sum().item()}")  # fact: StepSync how=debug
    return max(row), values  # fact: StepSync how=builtin


# run: widened_first(np.ones(3), torch.device("cpu"))
def widened_first(image, device: torch.device):
    narrow = torch.from_numpy(image.astype(np.uint8))
    return narrow.float().to(device)  # fact: WidenedMove receiver=narrow narrow=uint8 wide=float32 | factor=4


# run: None
class Samples(Dataset):
    def __getitem__(self, index):
        return torch.ones(2, device="cuda")  # fact: DatasetMove place=__getitem__


# run: None
def bound_to_cuda(x: torch.Tensor, path: str):
    return torch.cuda.FloatTensor(3)  # fact: LegacyDevice api=torch.cuda.FloatTensor how=constructor


# run: None
def get_collate_fn(device: str):
    origin = torch.zeros(2, device="cuda")

    def collate(rows):
        return torch.stack(rows)

    return collate, origin


# run: None
def test_collated_rows(rows):
    want = torch.zeros(2, device="cuda")
    assert torch.equal(torch.stack(rows)[0].cuda(), want)


# run: None
def padded_collate(rows):
    return torch.zeros(2, device="cuda")  # fact: DatasetMove place=collate
