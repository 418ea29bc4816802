"""YAML text with the line of every value, so that what is wrong can be shown where it stands.

PyYAML keeps the last of two equal keys without a word; here that is an error, because a vocabulary
with two equal symbols is just such a pair of keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from errors import UserError


class ConfigError(UserError):
    """A config that cannot be used: the file or field, the line in its YAML, and what to do."""


class YamlSource:
    """Parsed YAML (`data`) that remembers where each value stood.

    Raises:
        ConfigError: the text is not YAML, has two equal keys, or is not a mapping at the top.
    """

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        try:
            loader = yaml.SafeLoader(text)
            self._node = loader.get_single_node()
            self.data: Any = loader.construct_document(self._node) if self._node else None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise ConfigError(
                f"this is not valid YAML: {error.problem or error.context}",
                where=where,
                line=mark.line + 1 if mark else None,
                column=mark.column + 1 if mark else None,
                remedy="Check quotes, colons and indentation; quote symbols such as '#' and '@'",
            ) from None
        except yaml.YAMLError as error:
            raise ConfigError(
                f"this cannot be read as YAML: {' '.join(str(error).split())}",
                where=where,
                remedy="Remove the character it names",
            ) from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"a value cannot be read: {error}",
                where=where,
                remedy="Quote it if it is meant as text",
            ) from None
        _refuse_twins(self._node, where)
        if not isinstance(self.data, dict):
            raise ConfigError(
                "a mapping of `key: value` lines is needed at the top",
                where=where,
                line=1,
                remedy="Start from one of the shipped configs",
            )

    def line(self, path: Sequence[str | int]) -> int:
        """The one-based line of the value at `path`, or of the nearest thing around it."""
        node, line = self._node, 1
        for step in path:
            if isinstance(node, yaml.MappingNode):
                found = next((pair for pair in node.value if pair[0].value == str(step)), None)
                if found is None:
                    return line
                line, node = found[0].start_mark.line + 1, found[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                if step >= len(node.value):
                    return line
                node = node.value[step]
                line = node.start_mark.line + 1
            else:
                return line
        return line


def _refuse_twins(node: yaml.Node | None, where: str, seen: set[int] | None = None) -> None:
    seen = set() if seen is None else seen
    if node is None or id(node) in seen:  # an alias may lead back to where it stands
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key.value, str) and key.value in first:
                raise ConfigError(
                    f"the key {key.value!r} stands here again; it is already on line "
                    f"{first[key.value]}",
                    where=where,
                    line=line,
                    column=key.start_mark.column + 1,
                    remedy="Rename or remove one of the two: keys and symbols must all differ",
                )
            first[str(key.value)] = line
            _refuse_twins(value, where, seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_twins(value, where, seen)
