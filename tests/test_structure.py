"""Who may import whom, as the design has it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"agents", "configs", "envs", "errors", "play", "prompting", "ui"}
# What each package may use of ours. Config classes are plain frozen values and go everywhere.
MAY_USE = {
    "errors.py": set(),
    "configs": {"errors"},
    "envs": {"errors"},
    "prompting": {"errors", "configs"},
    "agents": {"errors", "configs", "prompting"},
    "play": {"errors", "configs", "envs", "prompting", "agents"},
    "ui": {"errors", "configs", "envs", "prompting", "agents", "play"},
    "app.py": {"errors", "configs", "agents", "ui"},
}
# Packages that only some of ours may use.
KEPT = {"gradio": {"ui", "app.py"}, "torch": {"agents"}, "transformers": {"agents"}}


def imports(package):
    place = ROOT / package
    for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name.split(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield path, node.module.split(".")[0]


@pytest.mark.parametrize("package", MAY_USE)
def test_imports_follow_the_design(package):
    for path, name in imports(package):
        if name in OURS and name != package:
            assert name in MAY_USE[package], f"{path} may not import {name}"
        if name in KEPT:
            assert package in KEPT[name], f"{path} may not import {name}"
