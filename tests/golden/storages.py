# flake8: noqa
# ruff: noqa
# mypy: ignore-errors
"""Storages that are kept, taken away, or not to be written."""

import io

import numpy as np
import torch


def saved_parts(x: torch.Tensor):
    torch.save(x[0], io.BytesIO())  # fact: KeptStorage view=x[0] into=save
    torch.save({"head": x[:2]}, io.BytesIO())  # fact: KeptStorage view=x[:2] into=save
    torch.save({"head": x[:2], "tail": x[2:]}, io.BytesIO())
    torch.save(x[1:], io.BytesIO())


def _saved_if_a_tensor(x):
    torch.save(x[0], io.BytesIO())  # fact: KeptStorage view=x[0] into=save


def saved_by_a_helper():
    _saved_if_a_tensor(torch.zeros(4, 4))


# run: Kept().fill([torch.zeros(4, 4)])
class Kept:
    def __init__(self):
        self.first = []

    def fill(self, batches):
        for batch in batches:
            out = torch.relu(batch)
            self.first.append(out[:, 0].detach())  # fact: KeptStorage view=out[:, 0] into=self.first
            self.first.append(out[:, 0].clone())


# run: left_behind(np.zeros(2))
def left_behind(source: np.ndarray):
    shared = torch.from_numpy(source)
    shared.share_memory_()  # fact: UnlinkedArray array=source tensor=shared | -dangling
    shared.add_(1)  # stays: source
    return source.sum()


def moved_before():
    shared = torch.zeros(2).share_memory_()
    view = shared.numpy()
    shared.add_(1)  # moves: view
    return view.sum()


# run: bytes_written(bytes(4))
def bytes_written(raw: bytes):
    array = np.frombuffer(raw, np.uint8)
    tensor = torch.from_numpy(array)
    tensor.add_(1)  # fact: ReadOnlyWrite writer=tensor op=add_ made=frombuffer # moves: array
    copy = torch.from_numpy(array.copy())
    copy.add_(1)  # stays: array
    return tensor


# run: broadcast_written(np.zeros(2))
def broadcast_written(row: np.ndarray):
    rows = torch.from_numpy(np.broadcast_to(row, (3, 2)))
    rows[0] = 9  # fact: ReadOnlyWrite writer=rows op=[...] = made=broadcast_to # moves: row
