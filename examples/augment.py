"""Augments a batch of small grey images: cleans it, swaps pairs, adds noise, blanks some."""

import torch


def clean(images: torch.Tensor) -> torch.Tensor:
    images[images.isnan()].zero_()
    images.clamp(0, 1)
    return images


def swap_ends(images: torch.Tensor) -> torch.Tensor:
    images[0], images[-1] = images[-1], images[0]
    return images


def add_noise(images: torch.Tensor, strength: float) -> tuple[torch.Tensor, torch.Tensor]:
    original = images
    images += strength * torch.randn_like(images)
    return images, images - original


def blank(images: torch.Tensor, every: int) -> torch.Tensor:
    mask = torch.ones(images.shape[1:]).expand(images.shape)
    for index in range(0, len(images), every):
        mask[index] = 0
    return images * mask


def main() -> None:
    torch.manual_seed(0)
    images = torch.rand(8, 16, 16)
    images[3, 5, 5] = torch.nan
    images = clean(images)
    print(f"still not a number: {int(images.isnan().sum())}")
    images = swap_ends(images)
    print(f"first and last image are now one: {torch.equal(images[0], images[-1])}")
    images, noise = add_noise(images, strength=0.1)
    print(f"noise: {noise.nan_to_num().abs().max().item():.4f}")
    images = blank(images, every=2)
    print(f"blank images: {int((images == 0).flatten(1).all(1).sum())} of {len(images)}")


if __name__ == "__main__":
    main()
