"""Play backwards: from the solved position pull the boxes as far from their targets as can be.

Whatever is reached by pulling can be solved by pushing the same way back. It knows nothing of
rooms, arguments and levels; how hard a position really is, the solver says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from envs.sokoban.chance import Chance
from envs.sokoban.maze import Maze, cells_in
from envs.sokoban.walks import Push

# A box off its targets counts that much more than a push, so that none is left where it was.
_OFF_TARGET = 8
# How many pushes chance may outweigh; it makes rooms of one shape lead to different levels.
_WHIM = 3.0
# So many pulls in a row without coming farther end the play.
_PATIENCE = 6
# So many pulls take about as long to weigh as one position takes to make.
_PULLS_A_POSITION = 12


class Work:
    """How many more positions may be looked at; it counts, so that no clock has a say."""

    def __init__(self, positions: int) -> None:
        self.left = positions

    def spend(self, positions: int) -> None:
        self.left -= positions


class Position(NamedTuple):
    """Boxes, the player's reach, how far it is, and the push that leads back to the one before."""

    boxes: int
    reach: int
    far: int
    before: Position | None
    push: Push

    def way(self) -> list[Position]:
        """The positions from here back to the solved one, both included."""
        way = [self]
        while way[-1].before is not None:
            way.append(way[-1].before)
        return way

    def plan(self) -> list[Push]:
        """The pushes from here to the solved position."""
        return [position.push for position in self.way()[:-1]]


def retreat(maze: Maze, chance: Chance, width: int, work: Work) -> Position | None:
    """The farthest position found, or None if no box can be pulled at all.

    Only the `width` farthest of each generation are pulled on (a beam search). How far a position
    is, is the sum over the boxes of the pushes to the nearest target, and more for each off target.
    """
    worth = _worth(maze)
    beam = _solved_positions(maze)
    seen = {(position.boxes, position.reach) for position in beam}
    farthest, patience = None, _PATIENCE
    while beam and patience and work.left > 0:
        pulls = []
        for position in beam:
            for cell, step in _pulls(maze, position):
                far = position.far + worth[cell + step] - worth[cell]
                pulls.append((far + _WHIM * chance.random(), far, position, cell, step))
        pulls.sort(key=lambda pull: -pull[0])
        beam = []
        for _, far, position, cell, step in pulls:
            boxes = position.boxes ^ (1 << cell | 1 << cell + step)
            reach = maze.reach(1 << cell + 2 * step, boxes)
            if (boxes, reach) not in seen:
                seen.add((boxes, reach))
                beam.append(Position(boxes, reach, far, position, (cell + step, -step)))
                if len(beam) == width:
                    break
        work.spend(len(beam) + len(pulls) // _PULLS_A_POSITION)
        patience -= 1
        for position in beam:
            if farthest is None or position.far > farthest.far:
                farthest, patience = position, _PATIENCE
    return farthest


def _solved_positions(maze: Maze) -> list[Position]:
    """The solved position once for each place that the boxes leave to the player."""
    positions = []
    left = maze.floor & ~maze.targets
    while left:
        reach = maze.reach(left & -left, maze.targets)
        positions.append(Position(maze.targets, reach, 0, None, (0, 0)))
        left &= ~reach
    return positions


def _pulls(maze: Maze, position: Position) -> Iterator[Push]:
    """The boxes' cells and the steps by which they can be pulled: two free cells in line."""
    boxes, reach, stride = position.boxes, position.reach, maze.stride
    for step, movable in (
        (-stride, boxes & reach << stride & reach << 2 * stride),
        (stride, boxes & reach >> stride & reach >> 2 * stride),
        (-1, boxes & reach << 1 & reach << 2),
        (1, boxes & reach >> 1 & reach >> 2),
    ):
        for cell in cells_in(movable):
            yield cell, step


def _worth(maze: Maze) -> list[int]:
    """By cell, how far a box there is."""
    worth = [0] * maze.size
    layer = seen = maze.targets
    pushes = 0
    while layer:
        for cell in cells_in(layer):
            worth[cell] = pushes + _OFF_TARGET * (pushes > 0)
        layer = maze.pulled(layer) & ~seen
        seen |= layer
        pushes += 1
    return worth
