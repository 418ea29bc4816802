"""From pushes to LURD: the player's shortest walks between the pushes of a plan.

A plan is a list of pushes, each the cell of a box and the step it is pushed by. LURD is the usual
notation: `lurd` a move, `LURD` a push.
"""

from __future__ import annotations

from collections.abc import Iterable

from envs.sokoban.maze import Maze

Push = tuple[int, int]


def letters(maze: Maze) -> dict[int, str]:
    """The letter of a step by how far, in cells, it goes."""
    return {-maze.stride: "u", maze.stride: "d", -1: "l", 1: "r"}


def lurd_of(maze: Maze, player: int, boxes: int, plan: Iterable[Push]) -> str:
    """The plan's moves and pushes from this position on; it must be a plan that can be played."""
    letter = letters(maze)
    parts = []
    for box, step in plan:
        parts.append(shortest_walk(maze, boxes, player, box - step))
        parts.append(letter[step].upper())
        boxes ^= 1 << box | 1 << box + step
        player = box
    return "".join(parts)


def shortest_walk(maze: Maze, boxes: int, start: int, goal: int) -> str:
    """A shortest walk in LURD from cell to cell; the same one each time, of several.

    Raises:
        ValueError: no walk leads there.
    """
    free, stride = maze.floor & ~boxes, maze.stride
    layers = [1 << start]
    seen = layer = 1 << start
    while not seen >> goal & 1:
        layer = (layer << 1 | layer >> 1 | layer << stride | layer >> stride) & free & ~seen
        if not layer:
            raise ValueError(f"the player cannot walk from cell {start} to cell {goal}")
        layers.append(layer)
        seen |= layer

    letter = letters(maze)
    walk = []
    for layer in layers[-2::-1]:
        step = next(step for step in letter if layer >> goal - step & 1)
        walk.append(letter[step])
        goal -= step
    return "".join(reversed(walk))
