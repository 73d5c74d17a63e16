"""Imported by the process that children are forked from, so that none of them has to import torch again.

What goes wrong here goes wrong again in the child that needs torch, and is told there; here it would end the server.
"""

import contextlib

with contextlib.suppress(Exception):
    import torch

    __all__ = ["torch"]
