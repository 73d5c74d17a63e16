"""`tensorcopy check` and `tensorcopy fix` on notebooks, as a user runs them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flake8_tensorcopy import atomic
from tests.conftest import Ran, Run
from tests.samples import ALIAS, DETACH, dumped, notebook

SHARED: list[str | list[str]] = [
    ["%matplotlib inline\n", "import torch\n", "w = torch.zeros(3)\n", "b = w"],
    "#md in between",
    ["# é\n", "w.add_(1)"],
    "print(b - w)",
]


def write(folder: Path, name: str, *sources: str | list[str], **metadata: Any) -> bytes:
    data = dumped(notebook(*sources, **metadata))
    (folder / name).write_bytes(data)
    return data


def cells(folder: Path, name: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads((folder / name).read_bytes())["cells"]]


def test_names_are_followed_from_cell_to_cell(check: Run, tmp_path: Path) -> None:
    write(tmp_path, "a.ipynb", *SHARED)
    ran = check("a.ipynb")
    assert ran == Ran(
        b"a.ipynb:cell 3:2:1: TSC101 in-place `add_` on `w` also changes `b`: `b = w` on line 4 of cell 1 is the same "
        b"tensor, and `b` is read on line 1 of cell 4\n",
        "",
        1,
    )


def test_lines_of_called_functions_are_named(check: Run, tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.ipynb",
        "import torch\ndef change(x):\n    x.add_(1)",
        "w = torch.zeros(3)\nb = w\nchange(w)\nb - w",
    )
    (line,) = check("a.ipynb", "--select=TSC101").lines
    assert line.startswith(
        "a.ipynb:cell 2:3:1: TSC101 in-place `add_` in the called function (line 3 of cell 1) on `w`"
    )


def test_the_lines_of_each_cell_are_shown(check: Run, tmp_path: Path) -> None:
    write(tmp_path, "a.ipynb", *SHARED)
    assert check("check", "a.ipynb").out.decode().split("\n", 1)[1] == (
        "  |\n"
        "  | cell 1:\n"
        "4 | b = w\n"
        "  |     - `b` and `w` share storage from here\n"
        "  | cell 3:\n"
        "2 | w.add_(1)\n"
        "  | ^^^^^^^^^ in-place `add_` changes both\n"
        "  | cell 4:\n"
        "1 | print(b - w)\n"
        "  |       - `b` is read\n"
        "  |\n"
        "  = fix (unsafe): Bind a clone\n"
        "  = explain: tensorcopy explain TSC101\n"
    )
    write(tmp_path, "b.ipynb", "#md", "%load_ext x", ALIAS)
    text = check("check", "b.ipynb").out.decode()
    assert text.startswith("b.ipynb:cell 3:6:5: TSC101 ") and "\n5 |     old = a\n" in text and "cell 3:\n" not in text


def test_notebooks_of_folders_are_looked_at(check: Run, tmp_path: Path) -> None:
    for folder in ("sub", ".ipynb_checkpoints"):
        (tmp_path / folder).mkdir()
        write(tmp_path, f"{folder}/a.ipynb", DETACH)
    (tmp_path / "b.py").write_text(DETACH)
    assert [line.split(" ")[0] for line in check().lines] == ["b.py:5:12:", "sub/a.ipynb:cell"]
    assert [line.split(" ")[0] for line in check("--filename=*.py").lines] == ["b.py:5:12:"]
    assert [line.split(" ")[0] for line in check("--jobs=2").lines] == ["b.py:5:12:", "sub/a.ipynb:cell"]
    assert check(".ipynb_checkpoints/a.ipynb").exit == 1
    assert check("sub/a.ipynb", "--extend-exclude=sub", "--force-exclude").exit == 0


def test_standard_input_is_a_notebook_by_its_name(check: Run) -> None:
    data = dumped(notebook("#md é", DETACH))
    assert check("--stdin-filename=x.ipynb", "-", stdin=data).lines[0].startswith("x.ipynb:cell 2:5:12: TSC601 ")
    fixed = data.replace(b"x.clone().detach()", b"x.detach().clone()")
    assert check("fix", "--stdin-filename=x.ipynb", "-", stdin=data) == Ran(fixed, "", 0)
    assert check("--stdin-filename=x.py", "-", stdin=data).exit == 0  # JSON is Python, which says nothing
    other = dumped(notebook("x <- 1", language_info={"name": "R"}))
    assert check("fix", "--stdin-filename=x.ipynb", "-", stdin=other) == Ran(other, "", 0)
    broken = check("fix", "--output-format=concise", "--stdin-filename=x.ipynb", "-", stdin=b'{"cells": [')
    assert (broken.out, broken.exit) == (b'{"cells": [', 1)
    assert broken.err == "x.ipynb:1:1: E902 no notebook: it is no JSON (Expecting value on line 1, column 12)\n"


def test_what_is_displayed_is_not_discarded(check: Run, tmp_path: Path) -> None:
    head = "import torch\nx = torch.zeros(3)\n"
    write(
        tmp_path, "a.ipynb",
        f"{head}x.add(1)", "x.add(2)  # shown", "(x\n .add(3))", "x.cuda()", "%time x.add(4)\n%timeit x.add(5)\n1",
        "%%timeit\nx.add(6)\nx.add(7)", "x.add(8)\n", "x.add(9);", "x.cuda()\nx", "if x.any():\n    x.add(10)",
    )  # fmt: skip
    assert [line.split(" ")[1:3] for line in check("--select=TSC2", "a.ipynb").lines] == [
        ["8:1:1:", "TSC203"],
        ["9:1:1:", "TSC204"],
        ["10:2:5:", "TSC203"],
    ]


def test_scripts_with_cells_display_too(check: Run, tmp_path: Path) -> None:
    head = "import torch\n\nx = torch.zeros(3)\n"
    (tmp_path / "a.py").write_text(
        f"# %% [markdown]\n# text\n\n# %%\n{head}x.add(1)\n\n# %%\nx.add(2);\n#%%\nx.add(3)\n"
    )
    (tmp_path / "b.py").write_text(f"# %s %d\n{head}x.add(1)\n# 50 %%\nx.add(2)\n")
    assert [line.split(" ")[0] for line in check("--select=TSC2").lines] == ["a.py:11:1:", "b.py:5:1:", "b.py:7:1:"]


def test_a_cell_that_cannot_be_parsed_does_not_hide_the_others(check: Run, tmp_path: Path) -> None:
    write(tmp_path, "a.ipynb", DETACH, "x = 1\ndef f(:\n    pass\n", ALIAS, "y = (")
    ran = check("a.ipynb")
    assert [line.split(": ")[0] for line in ran.lines] == [
        "a.ipynb:cell 1:5:12", "a.ipynb:cell 2:2:7", "a.ipynb:cell 3:6:5", "a.ipynb:cell 4:1:5"
    ]  # fmt: skip
    assert [line.split(" ")[2] for line in ran.lines] == ["TSC601", "E999", "TSC101", "E999"]
    assert check("fix", "--unsafe-fixes", "--extend-ignore=E999", "a.ipynb") == Ran(b"", "", 0)
    assert cells(tmp_path, "a.ipynb")[0] == DETACH.replace("x.clone().detach()", "x.detach().clone()")
    # What it does to a name is not known.
    write(tmp_path, "b.ipynb", "import torch\nw = torch.zeros(3)\nb = w", "b = w.clone(", "w.add_(1)\nb - w")
    assert [line.split(" ")[2] for line in check("b.ipynb").lines] == ["E999"]


def test_what_several_cells_define_is_not_known(check: Run, tmp_path: Path) -> None:
    first, second = "def half(x):\n    return x / 2", "def half(x):\n    x.div_(2)\n    return x"
    use = "a = torch.ones(3)\nb = half(a)\nc = a + b"
    write(tmp_path, "a.ipynb", f"import torch\n{second}", use)
    write(tmp_path, "b.ipynb", f"import torch\n{first}", use, second)
    assert [line.split(" ")[:2] for line in check("--preview", ".").lines] == [["a.ipynb:cell", "1:3:5:"]]


def test_comments_silence(check: Run, tmp_path: Path) -> None:
    silenced = DETACH.replace("detach()\n", "detach()  # noqa: TSC601\n")
    write(tmp_path, "a.ipynb", silenced)
    write(tmp_path, "b.ipynb", "# flake8: noqa", DETACH)
    write(tmp_path, "c.ipynb", DETACH, "# noqa")
    assert [line.split(":")[0] for line in check(".").lines] == ["c.ipynb"]
    assert len(check("--disable-noqa", ".").lines) == 3


def test_what_is_no_notebook_is_told_in_one_sentence(check: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.ipynb").write_bytes(b"")
    (tmp_path / "old.ipynb").write_bytes(b'{"worksheets": [], "nbformat": 3, "nbformat_minor": 0, "metadata": {}}')
    write(tmp_path, "none.ipynb", "#md text")
    write(tmp_path, "r.ipynb", "x <- torch(1)", kernelspec={"language": "R"})
    ran = check("fix", "--output-format=concise", ".")
    assert (ran.lines, ran.err, ran.exit) == (
        [
            "empty.ipynb:1:1: E902 no notebook: it is empty",
            "old.ipynb:1:1: E902 no notebook: its format is older than 4; `jupyter nbconvert --to notebook` renews it",
        ],
        "",
        1,
    )
    assert check("none.ipynb", "r.ipynb", "empty.ipynb", "--extend-ignore=E902") == Ran(b"", "", 0)


# Repairs.


@pytest.mark.parametrize(
    ("format", "end"),
    [
        ({}, b"\n"),
        ({"indent": 4, "ensure_ascii": True}, b""),
        ({"indent": None}, b"\r\n"),
        ({"indent": None, "separators": (",", ":"), "sort_keys": True}, b"\n\n"),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_only_the_lines_that_are_repaired_change(
    check: Run, tmp_path: Path, format: dict[str, Any], end: bytes, listed: bool
) -> None:
    content = notebook("#md é", DETACH.splitlines(keepends=True) if listed else DETACH, "%time print('\u2028')")
    content["cells"][1] |= {"execution_count": 7, "outputs": [{"text": ["x.clone().detach()", "\x1b[0m"]}]}
    data = dumped(content, **format).rstrip(b"\n") + end
    (tmp_path / "a.ipynb").write_bytes(data)
    assert check("fix", "a.ipynb") == Ran(b"", "", 0)
    before, text, after = data.rpartition(b"return x.clone().detach()")
    assert (tmp_path / "a.ipynb").read_bytes() == before + b"return x.detach().clone()" + after and text
    assert check("fix", "a.ipynb") == Ran(b"", "", 0)
    assert (tmp_path / "a.ipynb").read_bytes() == before + b"return x.detach().clone()" + after


def test_a_diff_is_of_the_cells(check: Run, tmp_path: Path) -> None:
    data = write(tmp_path, "a.ipynb", *SHARED)
    ran = check("fix", "--diff", "--unsafe-fixes", "a.ipynb")
    assert ran == Ran(
        b"--- a.ipynb:cell 1\n+++ a.ipynb:cell 1\n@@ -1,4 +1,4 @@\n %matplotlib inline\n import torch\n"
        b" w = torch.zeros(3)\n-b = w\n\\ No newline at end of file\n+b = w.clone()\n\\ No newline at end of file\n",
        "",
        1,
    )
    assert (tmp_path / "a.ipynb").read_bytes() == data


STATE = (
    "m = torch.nn.Linear(3, 3)\nopt = torch.optim.SGD(m.parameters(), 1.0)\nbest = m.state_dict()",
    "for _ in range(3):\n    opt.zero_grad()\n    m(torch.ones(3)).sum().backward()\n    opt.step()",
    "m.load_state_dict(best)",
)


@pytest.mark.parametrize(
    ("head", "made"),
    [
        (["%load_ext x\nimport torch"], ["%load_ext x\nimport copy\n\nimport torch"]),
        (
            ["!pip install torch", "import os\nimport torch"],
            ["!pip install torch", "import copy\nimport os\nimport torch"],
        ),
        (["import os", "import torch"], ["import copy\nimport os", "import torch"]),
        (
            ["%%bash\nls", "# x\nimport torch as t, torch"],
            ["%%bash\nls", "# x\nimport copy\n\nimport torch as t, torch"],
        ),
    ],
)
def test_an_import_goes_to_the_first_cell_of_code(check: Run, tmp_path: Path, head: list[str], made: list[str]) -> None:
    write(tmp_path, "a.ipynb", *head, *STATE)
    assert check("fix", "a.ipynb") == Ran(b"", "", 0)
    fixed = STATE[0].replace("m.state_dict()", "copy.deepcopy(m.state_dict())")
    assert cells(tmp_path, "a.ipynb") == [*made, fixed, *STATE[1:]]


def test_what_cannot_be_written_stays_as_it_is(check: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write(tmp_path, "a.ipynb", DETACH)

    def refuse(*_: object) -> None:
        raise atomic.Unwritable("it is read-only")

    monkeypatch.setattr(atomic, "rewrite", refuse)
    ran = check("fix", "--output-format=concise", "a.ipynb")
    assert (ran.err, ran.exit) == ("a.ipynb: not repaired: it is read-only\n", 1)
    assert ran.lines[0].startswith("a.ipynb:cell 1:5:12: TSC601 ")
    assert (tmp_path / "a.ipynb").read_bytes() == data


# Formats for programs.


def test_json_counts_in_the_cells(check: Run, tmp_path: Path) -> None:
    write(tmp_path, "a.ipynb", *SHARED)
    (found,) = json.loads(check("check", "--output-format=json", "a.ipynb").out)
    assert (found["cell"], found["location"], found["noqa_row"]) == (3, {"row": 2, "column": 1}, 2)
    assert [(step["cell"], step["location"]["row"]) for step in found["path"]] == [(1, 4), (3, 2), (4, 1)]
    assert [(edit["cell"], edit["location"]) for edit in found["fix"]["edits"]] == [(1, {"row": 4, "column": 6})]


def test_viewers_of_the_file_are_told_where_its_json_has_the_line(check: Run, tmp_path: Path) -> None:
    rows = write(tmp_path, "a.ipynb", *SHARED).decode().split("\n")

    def cut(row: int, start: int, end: int) -> str:
        return rows[row - 1][start - 1 : end - 1]

    def out(format: str) -> Any:
        return json.loads(check("check", f"--output-format={format}", "a.ipynb").out)

    annotation = check("check", "--output-format=github", "a.ipynb").lines[0]
    place = dict(part.split("=") for part in annotation.split("::")[1].partition(" ")[2].split(","))
    assert cut(int(place["line"]), int(place["col"]), int(place["endColumn"])) == "w.add_(1)"
    assert "::a.ipynb:cell 3:2:1: TSC101 in-place" in annotation
    assert "%0Aline 4 of cell 1: `b` and `w` share" in annotation

    (issue,) = out("gitlab")
    begin, end = issue["location"]["positions"]["begin"], issue["location"]["positions"]["end"]
    assert cut(begin["line"], begin["column"], end["column"]) == "w.add_(1)"
    assert issue["description"].endswith("on line 1 of cell 4 (cell 3, line 2)")

    (diagnostic,) = out("rdjson")["diagnostics"]
    range_ = diagnostic["location"]["range"]
    assert cut(range_["start"]["line"], range_["start"]["column"], range_["end"]["column"]) == "w.add_(1)"
    assert "suggestions" not in diagnostic and diagnostic["message"].endswith("(cell 3, line 2)")

    (result,) = out("sarif")["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert cut(region["startLine"], region["startColumn"], region["endColumn"]) == "w.add_(1)"
    regions = [one["physicalLocation"]["region"] for one in result["relatedLocations"]]
    assert [cut(one["startLine"], one["startColumn"], one["endColumn"]) for one in regions] == ["w", "b"]
    assert "[line 4 of cell 1](1)" in result["message"]["text"] and "[line 1 of cell 4](2)" in result["message"]["text"]
    assert "fixes" not in result


def test_columns_are_those_of_the_escapes(check: Run, tmp_path: Path) -> None:
    text = "import torch\ns = 'é😀\\n'; x = torch.zeros(3); b = x; x.add_(1); print(b - x)"
    data = dumped(notebook(text), ensure_ascii=True)
    (tmp_path / "a.ipynb").write_bytes(data)
    (issue,) = json.loads(check("check", "--output-format=gitlab", "a.ipynb").out)
    begin, end = issue["location"]["positions"]["begin"], issue["location"]["positions"]["end"]
    row = data.decode().split("\n")[begin["line"] - 1]
    assert row[begin["column"] - 1 : end["column"] - 1] == "x.add_(1)"


def test_a_fingerprint_stays_when_cells_are_moved(check: Run, tmp_path: Path) -> None:
    def prints(*sources: str) -> list[str]:
        write(tmp_path, "a.ipynb", *sources)
        return [one["fingerprint"] for one in json.loads(check("check", "--output-format=gitlab", "a.ipynb").out)]

    assert prints(DETACH) == prints("#md", "x = 1", f"# more\n{DETACH}") != prints(DETACH.replace("x.", "y."))


def test_findings_of_changed_lines_and_of_a_baseline(check: Run, tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    old = DETACH.splitlines(keepends=True)
    write(tmp_path, "a.ipynb", old)
    git("init", "-q")
    git("add", "a.ipynb")
    git("commit", "-qm", "one")
    assert check("--diff-base=HEAD", "a.ipynb") == Ran(b"", "", 0)
    assert check("--baseline=known.json", "--update-baseline", "a.ipynb").exit == 0
    write(tmp_path, "a.ipynb", "x = 1", ["# more\n", *old], [*ALIAS.splitlines(keepends=True), "# end"])
    assert len(check("a.ipynb").lines) == 2
    for option in ("--diff-base=HEAD", "--baseline=known.json"):
        (line,) = check(option, "a.ipynb").lines
        assert line.startswith("a.ipynb:cell 3:6:5: TSC101 ")
