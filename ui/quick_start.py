"""Gradio imported in half the time: by leaving out the stub files that it writes for editors.

At each import Gradio parses the source of each component class, renders its `.pyi` file anew and
compares the two. Measured here: 4.7 to 5.4 s for `import gradio`, 1.9 to 2.4 s without. Nothing of
a running page reads those files. Where Gradio is imported already, or has no such step any more,
nothing happens.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_MODULE, _STEP = "gradio.component_meta", "create_or_modify_pyi"


def import_gradio() -> None:
    """Import Gradio without that step, and without collections: imports make no garbage."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    gc.disable()
    try:
        import gradio  # noqa: F401
    finally:
        gc.enable()
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == _MODULE else None
        if spec is not None and spec.loader is not None:
            spec.loader = _WithoutStubs(spec.loader)
        return spec


class _WithoutStubs(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if hasattr(module, _STEP):
            setattr(module, _STEP, lambda *args: None)
