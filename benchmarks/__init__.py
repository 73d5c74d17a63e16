"""How fast the linter is, beside its peers: `python -m benchmarks`, see README.md."""
