"""Find PyTorch tensor copies that are not copies: aliasing, in-place, parameter and transfer bugs."""
