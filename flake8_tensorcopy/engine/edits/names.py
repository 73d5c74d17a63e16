"""Names that a repair needs, and the imports that bring them."""

from __future__ import annotations

import ast

from flake8_tensorcopy.engine.edits import imports
from flake8_tensorcopy.engine.edits.places import Edits, Places


class Names(Places):
    """How the file writes a name at a site."""

    def module(self, name: str, site: ast.AST) -> tuple[str, Edits] | None:
        """How a module is written at a site, and the edits that import it where the file does not.

        None where the name that an import would bind means something else in the file.
        """
        return self._known(name, site) or self._added(name, name, f"import {name}", site)

    def function(self, qualified: str, site: ast.AST) -> tuple[str, Edits] | None:
        """How a function of a module, as `copy.deepcopy`, is written at a site, and the edits that import it.

        None where no import can: the names that it would bind mean something else.
        """
        module, _, name = qualified.rpartition(".")
        added = self._known(qualified, site)
        if added is None and (added := self.module(module, site)) is not None:
            return f"{added[0]}.{name}", added[1]
        return added or self._added(name, qualified, f"from {module} import {name}", site)

    def imported(self, qualified: str, site: ast.AST) -> str | None:
        """How a qualified name is written at a site by the file's own imports: `torch.no_grad`, `no_grad`, `nn.Module`.

        None where no import that stands above the site leads to it.
        """
        return imports.written(self._region.tree, qualified, self._region.line(site))

    def named(self, qualified: str, site: ast.AST) -> tuple[str, Edits] | None:
        """How a qualified name of torch is written at a site, and the edits that import torch where the file does not.

        None where that cannot be told.
        """
        if known := self.imported(qualified, site):
            return known, ()
        root, _, rest = qualified.partition(".")
        if (found := self.module(root, site)) is None:
            return None
        local, edits = found
        return f"{local}.{rest}", edits

    def builtin(self, name: str, site: ast.AST) -> str | None:
        """A function or type of Python, as `list`, by its name; None where the name may mean something else."""
        return name if imports.built_in(self._region.tree, name, self._region.line(site)) else None

    def unused(self, name: str) -> str:
        """The name, or one like it, that stands nowhere in the file."""
        known = {node.id for node in ast.walk(self._region.tree) if isinstance(node, ast.Name)}
        known |= {node.arg for node in ast.walk(self._region.tree) if isinstance(node, ast.arg)}
        return next(
            one for one in (name, *(f"{name}_{count}" for count in range(2, len(known) + 3))) if one not in known
        )

    def _known(self, qualified: str, site: ast.AST) -> tuple[str, Edits] | None:
        name = self.imported(qualified, site)
        return None if name is None else (name, ())

    def _added(self, name: str, full: str, statement: str, site: ast.AST) -> tuple[str, Edits] | None:
        """A name that one more import binds."""
        tree, line = self._region.tree, self._region.line(site)
        if "." in name or not imports.free(tree, name, full, line):
            return None
        edit = imports.placed(tree, self._region.lines, statement, line)
        return None if edit is None else (name, (edit,))
