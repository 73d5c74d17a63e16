"""Proof by execution: the only part of the project that imports torch, and only inside functions that are called for it."""
