"""An extension of griffe, which reads the docstrings for the Python reference.

Properties of clients, keys and servers are written ``name = Forwarded[type]("documentation")``. The
extension shows them as attributes of that type with that documentation.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

import griffe


class Properties(griffe.Extension):
    """Reads the type and the documentation of properties that are made by `Forwarded`."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Document an attribute if its value is a call of `Forwarded`."""
        call = ast.parse(str(attr.value or "None"), mode="eval").body
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Subscript)
            and ast.unparse(call.func.value) == "Forwarded"
        ):
            attr.annotation = ast.unparse(call.func.slice)
            words = inspect.cleandoc(ast.literal_eval(call.args[0]))
            attr.docstring = griffe.Docstring(words, parent=attr)
            attr.labels.add("property")
            attr.value = None
