"""Proof by execution: the only part of the project that imports torch, and only when it is called for it."""
