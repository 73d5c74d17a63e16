"""Writes the op table (`engine/ops.tsv`) from torch itself: `python -m flake8_tensorcopy.verify.optable [--check]`.

Three sources, none of them a list of what ops mean:

- the schemas of `torch._C._jit_get_all_schemas()`: parameters, alias annotations, out overloads, and the tag
  `inplace_view`;
- `torchgen/packaged/autograd/derivatives.yaml`: which formulas read the result;
- execution: every name is called in every way the generator can find (arguments are found by trying typical ones by
  type and name of the parameter, then each option is moved off its default, then all is repeated on other layouts and
  dtypes), and what happened to storage, version counter and graph is written down.

Where a source promises what execution never showed, the generation fails.  Names that cannot be called here and whose
schema does not settle them are "other", and are printed with everything else that a reader should judge.  The only
tables kept by hand are recipes: how to call an op whose arguments cannot be found by trying.

Bad arguments can crash torch, so the work is done in forked processes: POSIX only.  The CPU build of torch suffices.

The modules in the order of their imports: `recipes`, `inputs`, `targets`, `arguments`, `observe`, `promises` (those of
schemas and formulas), `decide` (one row), `modulerows` (rows for `torch.nn`), `build` (the text), `__main__`.
"""
