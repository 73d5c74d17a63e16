"""Whatever flake8 takes, the plugin survives: inputs of every kind, and what must hold for each of them.

`test_survival.py` is the part that every run of the suite tries, the same each time.  `python -m tests.survival` goes
on for as long as it is told, with files of any folder, and tells what did not survive as small programs.
"""
