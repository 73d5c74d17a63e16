"""The measurements as text: figures, ratios beside the goals, and a plot of the growth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from benchmarks.measure import Cost

Curves = Mapping[str, Sequence[tuple[int, float]]]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns under a heading, the first to the left, the others to the right."""
    cells = [list(head), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def files(
    start: Mapping[str, Cost],
    torch: Sequence[tuple[Path, int]],
    on_torch: Mapping[str, Cost],
    other: Sequence[tuple[Path, int]],
    on_other: Mapping[str, Cost],
) -> str:
    """What the peers took over real files, and whether the goals are met."""
    parts = []
    for title, measured, costs in (
        (f"torch code: {len(torch)} files, {sum(n for _, n in torch)} lines", on_torch, "flake8"),
        (f"other code: {len(other)} files, {sum(n for _, n in other)} lines", on_other, "flake8"),
        ("start, on a small file with torch", _of_kind(start, "torch"), "flake8"),
        ("start, on a small file without torch", _of_kind(start, "other"), "flake8"),
    ):
        alone = measured[costs].seconds
        rows = [
            (name, f"{cost.seconds:.2f}", f"{cost.seconds / alone:.3f}", f"{cost.memory:.0f}" if cost.memory else "")
            for name, cost in measured.items()
        ]
        parts.append("\n".join(["", title, table(("", "CPU s", "of flake8", "peak MiB"), rows)]))
    parts.append("\nGoals\n" + table(("", "measured", "goal"), goals(on_torch, on_other)))
    return "\n".join(parts)


def _of_kind(measured: Mapping[str, Cost], kind: str) -> dict[str, Cost]:
    return {name.removesuffix(f": {kind}"): cost for name, cost in measured.items() if name.endswith(kind)}


def goals(on_torch: Mapping[str, Cost], on_other: Mapping[str, Cost]) -> list[tuple[str, str, str]]:
    alone = on_torch["flake8"]
    rows = []
    for plugin in (name for name in on_torch if name.startswith("plugin") and ":" not in name):
        costs = on_torch[plugin]
        rows += [
            (f"{plugin}, torch code: of flake8 alone", f"{costs.seconds / alone.seconds:.3f}", "1.15"),
            (
                f"{plugin}, other code: of flake8 alone",
                f"{on_other[plugin].seconds / on_other['flake8'].seconds:.3f}",
                "1.01",
            ),
            (
                f"{plugin}: analysis, of libcst.parse_module",
                f"{on_torch[f'{plugin}: analysis'].seconds / on_torch[f'{plugin}: libcst.parse_module'].seconds:.2f}",
                "1",
            ),
            (f"{plugin}: peak memory above flake8's, MiB", f"{costs.memory - alone.memory:.0f}", "60"),
        ]
        if "TorchFix" in on_torch:
            added = on_torch["TorchFix"].seconds - alone.seconds
            rows.append(
                (
                    f"{plugin}: time added, of what TorchFix adds",
                    f"{(costs.seconds - alone.seconds) / added:.3f}",
                    "0.05",
                )
            )
    return rows


def growth(name: str, curves: Curves) -> str:
    """Lines and seconds of each shape; how much more the last step costs for each line; seconds per 2,000 lines."""
    rows = []
    for shape, points in curves.items():
        (lines, seconds), (most, longest) = points[-2:]
        rows.append(
            (
                shape,
                ", ".join(f"{lines}: {seconds:.2f} s" for lines, seconds in points),
                f"{longest / seconds / (most / lines) * 10:.1f}",
                f"{longest / most * 2000:.2f}",
            )
        )
    head = ("", "lines: CPU s", "ten times the lines (11)", "s per 2,000 lines (1)")
    return f"\nGrowth, {name}, all rules\n" + table(head, rows)


WIDTH, HEIGHT, MARGIN = 900, 560, 60
COLOURS = "#1f77b4 #ff7f0e #2ca02c #d62728 #9467bd #8c564b #e377c2 #7f7f7f #bcbd22 #17becf".split()


def plot(curves: Curves) -> str:
    """The curves over logarithmic axes as SVG; a dashed line shows what is linear."""
    points = [(lines, max(seconds, 1e-4)) for curve in curves.values() for lines, seconds in curve]
    left, right = (math.log10(pick(lines for lines, _ in points)) for pick in (min, max))
    low, high = (math.log10(pick(seconds for _, seconds in points)) for pick in (min, max))

    def place(lines: float, seconds: float) -> tuple[float, float]:
        x = MARGIN + (math.log10(lines) - left) / (right - left) * (WIDTH - 320)
        y = HEIGHT - MARGIN - (math.log10(max(seconds, 1e-4)) - low) / (high - low) * (HEIGHT - 2 * MARGIN)
        return round(x, 1), round(y, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="15">CPU seconds of the analysis, by lines</text>',
    ]
    for power in range(math.ceil(left), math.floor(right) + 1):
        x, _ = place(10**power, 10**low)
        parts.append(f'<path d="M{x} {MARGIN}V{HEIGHT - MARGIN}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{10**power:,}</text>')
    for power in range(math.ceil(low), math.floor(high) + 1):
        _, y = place(10**left, 10**power)
        parts.append(f'<path d="M{MARGIN} {y}H{WIDTH - 260}" stroke="#ddd"/>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>')
    start, end = place(10**left, 10**low), place(10**right, 10 ** min(high, low + right - left))
    parts.append(f'<path d="M{start[0]} {start[1]}L{end[0]} {end[1]}" stroke="#999" stroke-dasharray="6 5"/>')
    for number, (shape, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = "L".join(f"{x} {y}" for x, y in (place(*point) for point in curve))
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - 245}" y="{MARGIN + 20 * number}" fill="{colour}">{escape(shape)}</text>')
    return "\n".join([*parts, "</svg>\n"])
