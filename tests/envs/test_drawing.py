"""The pictures: what they contain, that cells differ without colour, that SVG and RGB agree."""

from __future__ import annotations

import re
import time
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.board import Board
from envs.sokoban.drawing import DARK, LIGHT, rgb, svg
from envs.sokoban.formats import parse_level

SVG = "{http://www.w3.org/2000/svg}"
EVERY_CELL = parse_level("########\n#+ $.* #\n# #$   #\n########").board
HOLLOW = parse_level("  ######\n  #@ $.#\n### ####\n# # #\n### #\n  ###").board
KINDS = dict(enumerate("wftdbpq"))  # cell number -> name of its tile in the SVG


def boards() -> st.SearchStrategy[Board]:
    """Any board with one player, valid or not."""

    @st.composite
    def build(draw: st.DrawFn) -> Board:
        rows, columns = draw(st.integers(1, 12)), draw(st.integers(1, 12))
        grid = [[draw(st.integers(0, 4)) for _ in range(columns)] for _ in range(rows)]
        row, column = draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))
        grid[row][column] = draw(st.sampled_from((5, 6)))
        return Board.from_rows(grid)

    return build()


def cells(picture: str) -> dict[tuple[int, int], str]:
    """The tile's name for each (row, column), from the picture's own markup."""
    root = ElementTree.fromstring(picture)
    return {
        (int(use.get("data-r")), int(use.get("data-c"))): use.get("href").removeprefix("#sok-")
        for use in root.iter(f"{SVG}use")
        if use.get("data-r") is not None
    }


def tile(image: np.ndarray, row: int, column: int, side: int) -> np.ndarray:
    return image[row * side : (row + 1) * side, column * side : (column + 1) * side]


# --- SVG -------------------------------------------------------------------------------------


@given(boards())
def test_every_cell_is_there_once_and_in_its_place(board):
    root = ElementTree.fromstring(svg(board))
    assert root.get("viewBox") == f"0 0 {24 * board.columns} {24 * board.rows}"
    groups = root.findall(f"{SVG}g")
    assert [group.get("transform") for group in groups] == [
        f"translate(0 {24 * row})" for row in range(board.rows)
    ]
    for row, group in enumerate(groups):
        uses = group.findall(f"{SVG}use")
        assert [(use.get("data-r"), use.get("data-c"), use.get("x")) for use in uses] == [
            (str(row), str(column), str(24 * column)) for column in range(board.columns)
        ]


@given(boards())
def test_a_cell_is_drawn_as_what_it_is_or_not_at_all(board):
    shown = cells(svg(board))
    for row, line in enumerate(board.grid()):
        for column, cell in enumerate(line):
            assert shown[row, column] in {KINDS[cell], "o"}
            if cell > 1:
                assert shown[row, column] == KINDS[cell]


def test_what_the_player_can_never_come_near_is_not_drawn():
    shown = cells(svg(HOLLOW))
    assert HOLLOW.grid()[3][1] == 1
    assert shown[3, 1] == "o"  # enclosed floor
    assert shown[0, 0] == shown[5, 6] == "o"  # walls that hold nothing in
    assert shown[4, 3] == "f"
    assert shown[5, 3] == shown[5, 2] == shown[0, 2] == "w"


def test_every_tile_that_is_used_is_defined_and_of_its_own_shape():
    root = ElementTree.fromstring(svg(EVERY_CELL))
    defined = {element.get("id"): element for element in root.find(f"{SVG}defs")}
    assert set(defined) == {f"sok-{name}" for name in "wftdbpqo"}
    for use in root.iter(f"{SVG}use"):
        assert use.get("href").removeprefix("#") in defined
    shapes = {}
    for name in "wftdbpq":
        plain = ElementTree.tostring(defined[f"sok-{name}"], encoding="unicode")
        shapes[name] = re.sub(r'(id|fill|stroke)="[^"]*"', "", plain)
    assert len(set(shapes.values())) == len(shapes)


def test_colours_are_custom_properties_that_fall_back_to_the_light_theme():
    picture = svg(EVERY_CELL)
    used = re.findall(r'(?:fill|stroke)="([^"]+)"', picture)
    assert set(used) == {"none", *(f"var({name},{colour})" for name, colour in LIGHT.items())}
    assert DARK.keys() == LIGHT.keys()
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in (LIGHT | DARK).values())


def test_it_says_what_it_shows():
    root = ElementTree.fromstring(svg(EVERY_CELL))
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "Sokoban board of 4 rows and 8 columns, 1 of 3 boxes on targets"
    named = ElementTree.fromstring(svg(EVERY_CELL, title="<b>&"))
    assert named[0].text == "<b>&"


def test_a_board_of_ten_by_ten_is_small():
    room = ["##########", "#@ $    .#", *["#  # #   #"] * 7, "##########"]
    assert len(svg(parse_level("\n".join(room)).board)) < 8_000


# --- RGB -------------------------------------------------------------------------------------


@given(boards(), st.sampled_from((1, 5, 8, 16)))
def test_equal_cells_look_equal_and_different_cells_different(board, side):
    image = rgb(board, tile=side)
    assert image.shape == (board.rows * side, board.columns * side, 3)
    assert image.dtype == np.uint8
    seen: dict[int, bytes] = {}
    for row, line in enumerate(board.grid()):
        for column, cell in enumerate(line):
            pixels = tile(image, row, column, side).tobytes()
            assert seen.setdefault(cell, pixels) == pixels
    assert side < 5 or len(set(seen.values())) == len(seen)


@pytest.mark.parametrize("side", [8, 16, 32])
def test_cells_differ_in_brightness_and_not_by_colour_alone(side):
    image = rgb(EVERY_CELL, tile=side) @ np.array([0.299, 0.587, 0.114])
    grid = EVERY_CELL.grid()
    kinds = {cell: (r, c) for r, line in enumerate(grid) for c, cell in enumerate(line)}
    assert {5} == set(range(7)) - set(kinds)
    for one, other in combinations(kinds, 2):
        apart = np.abs(tile(image, *kinds[one], side) - tile(image, *kinds[other], side))
        assert (apart > 40).mean() > 0.08, (one, other)


def test_the_player_on_a_target_is_the_player_with_a_ring():
    on, off = (rgb(Board.from_rows([[cell]]), tile=48).astype(int) for cell in (6, 5))
    changed = np.abs(on - off).sum(axis=2) > 60
    rows, columns = np.nonzero(changed)
    away = np.hypot(rows - 23.5, columns - 23.5) / 2  # in units
    assert changed.any()
    assert away.min() > 9
    assert away.max() < 12


def test_the_colours_of_the_array_are_those_of_the_light_theme():
    wall = rgb(Board.from_rows([[0, 5]]), tile=24)[6, 12]
    assert "#" + wall.tobytes().hex() == LIGHT["--sok-wall"]


def test_every_call_gives_an_array_of_its_own():
    first = rgb(EVERY_CELL)
    first[:] = 0
    assert rgb(EVERY_CELL).any()


@pytest.mark.parametrize("side", [0, -1, 257])
def test_a_tile_has_a_sensible_size(side):
    with pytest.raises(ValueError, match="1 to 256 pixels"):
        rgb(EVERY_CELL, tile=side)


def test_a_picture_takes_far_less_than_a_millisecond():
    rgb(EVERY_CELL)
    started = time.process_time()
    for _ in range(200):
        rgb(EVERY_CELL)
    assert (time.process_time() - started) / 200 < 0.0005
