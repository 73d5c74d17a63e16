"""`python -m flake8_tensorcopy.verify.ruleindex`: writes `rules.tsv`, what the linter knows of rules not loaded."""

from __future__ import annotations

from flake8_tensorcopy import registry


def main() -> None:
    text = registry.indexed(registry.rules().values())
    (registry.HERE / "rules.tsv").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
