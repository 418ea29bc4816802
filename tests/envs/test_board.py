"""The one rule function against a table, and against the rules told again in another way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban import Vocabulary, parse_level, step

READ = Vocabulary().read
TEXT = Vocabulary().text
UP, DOWN, LEFT, RIGHT = 1, 2, 3, 4


@pytest.mark.parametrize(
    ("before", "action", "after", "reward", "moved", "pushed"),
    [
        ("#P_#X", RIGHT, "#_P#X", -0.1, True, False),
        ("#P_#X", LEFT, "#P_#X", -0.1, False, False),
        ("#P_#X", 0, "#P_#X", -0.1, False, False),
        ("#PX_O#", RIGHT, "#_PXO#", -0.1, True, True),
        ("#PXO#", RIGHT, "#_P√#", 10.9, True, True),
        ("#PXO_XO#", RIGHT, "#_P√_XO#", 0.9, True, True),
        ("#P√_XO#", RIGHT, "#_SXXO#", -1.1, True, True),
        ("#P√OX_#", RIGHT, "#_S√X_#", -0.1, True, True),
        ("#P√O#", RIGHT, "#_S√#", 9.9, True, True),
        ("#PX#", RIGHT, "#PX#", -0.1, False, False),
        ("#PXX_#", RIGHT, "#PXX_#", -0.1, False, False),
        ("#PX√_#", RIGHT, "#PX√_#", -0.1, False, False),
        ("#S_O#X", RIGHT, "#OPO#X", -0.1, True, False),
        ("#SO#X", RIGHT, "#OS#X", -0.1, True, False),
        ("#_P#X", UP, "#_P#X", -0.1, False, False),
    ],
)
def test_one_step(before, action, after, reward, moved, pushed):
    outcome = step(READ(before), action)
    assert (TEXT(outcome.board), outcome.reward) == (after, reward)
    assert (outcome.moved, outcome.pushed) == (moved, pushed)


def test_an_edge_never_wraps():
    # No valid level has an open edge; a board built by hand may, and then its edge holds.
    for before, action in [("P__\n__X", LEFT), ("__P\n___", RIGHT), ("P__", UP), ("__P", DOWN)]:
        assert TEXT(step(READ(before), action).board) == before
    assert TEXT(step(READ("_PX\n___"), RIGHT).board) == "_PX\n___"


class Retold:
    """The rules once more: sets of coordinates, one move at a time, no shared code."""

    def __init__(self, text):
        cells = {(r, c): x for r, row in enumerate(text.split("\n")) for c, x in enumerate(row)}
        self.walls = {p for p, x in cells.items() if x == "#"}
        self.goals = {p for p, x in cells.items() if x in "O√S"}
        self.boxes = {p for p, x in cells.items() if x in "X√"}
        self.man = next(p for p, x in cells.items() if x in "PS")

    def go(self, action):
        dr, dc = {0: (0, 0), UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}[action]
        one = (self.man[0] + dr, self.man[1] + dc)
        two = (one[0] + dr, one[1] + dc)
        home = len(self.boxes & self.goals)
        if action and one in self.boxes and two not in self.walls | self.boxes:
            self.boxes = self.boxes - {one} | {two}
        if one not in self.walls | self.boxes:
            self.man = one
        now = len(self.boxes & self.goals)
        pay = -1 + 10 * ((now > home) - (now < home)) + 100 * (self.boxes == self.goals)
        return pay / 10


WALKS = [
    "#####\n#__O#\n#P_X#\n#___#\n#####",
    "########\n#_O____#\n#_X_#_X#\n#S√__O_#\n#__X_O_#\n########",
    "#######\n#P__XO#\n#_√_X_#\n#_OO_X#\n#_____#\n#######",
]


@given(st.sampled_from(WALKS), st.lists(st.integers(0, 4), max_size=120))
def test_a_walk_equals_the_rules_retold(text, actions):
    board, retold = READ(text), Retold(text)
    for action in actions:
        outcome = step(board, action)
        board = outcome.board
        assert outcome.reward == retold.go(action)
        assert board.player_position == retold.man
        assert board.solved == (retold.boxes == retold.goals)
        again = Retold(TEXT(board))
        assert (again.boxes, again.goals, again.walls) == (
            retold.boxes,
            retold.goals,
            retold.walls,
        )
    assert READ(TEXT(board)) == board


def test_sums_are_exact_to_one_decimal():
    board = parse_level("#####\n#@$.#\n#####").board
    assert repr(step(board, RIGHT).reward) == "10.9"
