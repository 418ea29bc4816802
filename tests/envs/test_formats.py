"""Level files: every format read and written, what is refused and where, and moves as letters."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.sokoban.board import Board, step
from envs.sokoban.formats import (
    format_boxoban,
    format_collection,
    format_rle,
    format_slc,
    format_xsb,
    level_note,
    parse_level,
    parse_levels,
    play_lurd,
    read_lurd,
    write_lurd,
)
from envs.sokoban.level import Level, LevelError, first_gap

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "configs" / "levels").glob("*.xsb"))

SMALL = "######\n#@ $.#\n######"
SMALL_GRID = [[0] * 6, [0, 5, 1, 4, 2, 0], [0] * 6]


def grid(text: str) -> list[list[int]]:
    return parse_level(text).board.grid()


# --- one board, in every notation ------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        SMALL,
        SMALL + "\n",
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("\n", "\r"),
        "\ufeff" + SMALL,
        "\n\n" + SMALL + "\n\n\n",
        SMALL.replace(" ", "-"),
        SMALL.replace(" ", "_"),
        SMALL.replace("@", "p").replace("$", "b"),
        "\n".join("    " + row for row in SMALL.split("\n")),
        "\n".join(row + "   \t" for row in SMALL.split("\n")),
        "------\n" + SMALL,
        "######\n#P_XO#\n######",
        "######\n#P XO#\n######",
        "6#|#@-$.#|6#",
        "6#|#@-$.#|6#|",
        "6#\n#@-$.#\n6#",
        "2(3#)|#@-1$.#|3(2(#))",
        "6#|#@1(-$).#|06#",
    ],
)
def test_every_notation_of_a_board(text):
    assert grid(text) == SMALL_GRID


def test_every_symbol():
    assert grid("#######\n#+ *$.#\n#$    #\n#######")[1] == [0, 6, 1, 3, 4, 2, 0]
    assert grid("#######\n#P B$.#\n#b    #\n#######")[1] == [0, 6, 1, 3, 4, 2, 0]
    assert grid("#######\n#S_√XO#\n#X____#\n#######")[1] == [0, 6, 1, 3, 4, 2, 0]


def test_the_guides_text_loads_as_it_stands():
    level = parse_level("#####\n#__O#\n#P_X#\n#___#\n#####")
    assert level.board == parse_level("#####\n#  .#\n#@ $#\n#   #\n#####").board


def test_p_is_the_player_in_one_vocabulary_and_stands_on_a_target_in_the_other():
    assert parse_level("#####\n#P$ #\n#   #\n#####").board.player_position == (1, 1)
    assert grid("#####\n#P$ #\n#   #\n#####")[1][1] == 6
    assert grid("######\n#PX O#\n######")[1][1] == 5


def test_the_floor_outside_becomes_wall_and_enclosed_floor_stays():
    text = "  #####\n  #@$.#\n###   #\n# # ###\n### #\n  ###"
    assert grid(text) == [
        [0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 5, 4, 2, 0],
        [0, 0, 0, 1, 1, 1, 0],
        [0, 1, 0, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]


def test_floor_outside_that_winds_into_the_walls_becomes_wall():
    text = "#########\n# # @$. #\n# #######\n#       #\n####### #"
    assert grid(text)[1][1] == grid(text)[3][4] == 0


def test_boxes_outside_the_walls_are_decoration_and_stay():
    assert grid("*-######-*\n  #@ $.#\n  ######")[0] == [3, 0, 0, 0, 0, 0, 0, 0, 0, 3]


def test_an_empty_row_inside_a_board_is_written_with_a_dash():
    text = "  #\n-\n  #####\n  #@$.#\n  #####"
    assert parse_level(text).board.rows == 5
    with pytest.raises(LevelError, match="no player"):
        parse_level("  ###\n  #*#\n\n  #####\n  #@$.#\n  #####")


def test_the_largest_board_loads_and_one_more_row_or_column_does_not():
    def room(rows: int, columns: int) -> str:
        inner = ["#" + " " * (columns - 2) + "#"] * (rows - 3)
        first = "#@$." + " " * (columns - 5) + "#"
        return "\n".join(["#" * columns, first, *inner, "#" * columns])

    board = parse_level(room(64, 64)).board
    assert (board.rows, board.columns) == (64, 64)
    indented = "\n".join(" " * 30 + row for row in room(64, 64).split("\n"))
    assert parse_level(indented).board == board
    for rows, columns in ((65, 64), (64, 65), (2_000, 5), (5, 9_000)):
        with pytest.raises(LevelError, match="largest board is 64 by 64"):
            parse_level(room(rows, columns))


# --- what is refused, and where --------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", None, None, "no level"),
        ("hello there", None, None, "no level"),
        ("##########", None, None, "no level"),
        ("Title\n\n#####\n#@$.#\n### #", 5, 4, "can leave the board"),
        ("#####\n#@$.\n#####", 2, 5, "can leave the board"),
        ("    #####\n    #@$.\n    #####", 2, 9, "can leave the board"),
        ("5#|#@$.|5#", 1, 8, "can leave the board"),
        ("######\n#@ $ #\n######", 2, 4, "targets"),
        ("######\n#@$$.#\n######", 2, 3, "2 boxes for 1 target"),
        ("####\n#@.#\n####", 1, 1, "no box"),
        ("#####\n# $.#\n#####", 1, None, "no player"),
        ("\n######\n#@$.@#\n######", 3, 5, "2 players"),
        ("######\n#+$.@#\n######", 2, 5, "2 players"),
        ("######\n#@x$.#\n######", 2, 3, "'x'"),
        ("######\n#@ $.?\n######", 2, 6, "'?'"),
        ("#?####\n#@ $.#\n######", 1, 2, "'?'"),
        ("######\n#@ $.#\n#?####", 3, 2, "'?'"),
        ("######\n#@X.$#\n######", 2, 2, "'@'"),
        ("######\n#P_XO# <- box\n#____#\n######", 2, 8, "'<'"),
        ("  ######\n  #@\t$.#\n  ######", 2, 5, "tab"),
        ("6#|#@-$.#|65#", 1, 11, "longer than 64"),
        ("6#|#@-$.#|" + "9" * 5_000 + "#", 1, 11, "longer than 64"),
        ("6#|#@-$.#|9(9(9(9(9(9(9(#)))))))", 1, 27, "longer than 64"),
        ("6#|#@-$.#|6#" + "|#" * 70, 1, 137, "more than 64 rows"),
        ("6#|#@-$.#|6#)", 1, 13, "closes no group"),
        ("6#|#@-$.#|(6#", 1, 11, "never closed"),
        ("6#|#@-($|.)#|6#", 1, 9, "inside a group"),
        ("6#|#@0-$.#|6#", 1, 6, "count of 0"),
        ("6#|#@-$.#|6#3", 1, 13, "count of nothing"),
        ("6#|#@-2|$.#|6#", 1, 7, "count of nothing"),
        (SMALL + "\nComment:\nno end", 4, None, "no end"),
        (SMALL + "\nSolution: rx", 4, 12, "'x' is not a move"),
        (SMALL + "\nrR\nlU", None, None, None),
        (SMALL + "\nru", 4, 2, r"move 2 of the solution \(Up\) does nothing: a wall"),
        (SMALL + "\nSolution:\nr\nr r", 6, 3, None),
        (SMALL + "\nSolution:\nrl\n", 5, 1, "1 of 1 boxes is not on a target"),
        ("#######\n#@$$. #\n#  .  #\n#######\nr", 5, 1, "box there cannot be pushed"),
        (SMALL + "\n3", None, None, None),
        (SMALL + "\nSolution:\n200000r", 5, 1, "too many moves"),
        ("<svg", 1, 1, "not well-formed XML"),
        ("<SokobanLevels/>", None, None, "no level in this XML"),
        ("<a><Level>\n<L>  </L></Level></a>", 2, None, "no rows"),
        ("<a><Level><L>####</L>\n<L>#@?#</L></Level></a>", 2, 6, "'?'"),
        ("<a>\n<L>####</L></b>", 2, None, "mismatched tag"),
        ("<!DOCTYPE a><a/>", 1, None, "DOCTYPE"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 1, None, "DOCTYPE"),
        ('<!DOCTYPE a SYSTEM "file:///etc/hosts"><a/>', 1, None, "DOCTYPE"),
        ("<a>&b;</a>", 1, None, "undefined entity"),
    ],
)
def test_what_cannot_be_used_is_refused_where_it_stands(text, line, column, words):
    if words is None:
        assert parse_levels(text)
        return
    with pytest.raises(LevelError, match=words) as refused:
        parse_levels(text, where="my.xsb")
    error = refused.value
    assert (error.where, error.line) == ("my.xsb", line)
    assert column is None or error.column == column
    assert error.remedy


def test_a_text_that_is_too_large_is_refused_unread():
    with pytest.raises(LevelError, match="2,000,001 characters"):
        parse_levels("#" * 2_000_001)


def test_a_level_is_chosen_by_number():
    text = f"{SMALL}\nTitle: one\n\n{SMALL}\nTitle: two\n"
    assert [parse_level(text, number=n).title for n in (1, 2)] == ["one", "two"]
    for number in (0, 3, -1):
        with pytest.raises(LevelError, match="number from 1 to 2"):
            parse_level(text, number=number)
    with pytest.raises(LevelError, match="no level 2: 1 level found"):
        parse_level(SMALL, number=2)


def test_a_level_that_is_solved_at_the_start_loads_with_a_note():
    level = parse_level("#####\n#@ *#\n#####")
    assert level.board.solved
    assert "solved at the start" in level_note(level)
    assert level_note(parse_level(SMALL)) == ""


# --- collections: what is said about which board ---------------------------------------------

SOK = f"""\
:: A file in the .sok manner ::
Collection: Trials
Author: Someone

First things

{SMALL}

Comment:
Two lines,

one of them empty: #### ; and a ruler
Comment-End:

Solution 1
rR

Snapshot
r

Second things
{SMALL}
Author: Somebody else
"""


def test_a_sok_file():
    first, second = parse_levels(SOK)
    assert (first.title, first.author) == ("First things", "Someone")
    assert first.comment == "Two lines,\n\none of them empty: #### ; and a ruler"
    assert (first.solution, second.solution) == ("rR", "")
    assert (second.title, second.author) == ("Second things", "Somebody else")


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (f"One\n{SMALL}\n\nTwo\n{SMALL}", ["One", "Two"]),
        (f"One\n\n{SMALL}\n\nTwo\n\n{SMALL}", ["One", "Two"]),
        (f"; One\n{SMALL}\n\n; Two\n{SMALL}", ["One", "Two"]),
        (f"; file\n\n; 1\n\n{SMALL}\n\n; 2\n'Two'\n\n{SMALL}", ["1", "Two"]),
        (f"{SMALL}\n; One\n\n{SMALL}\n; Two", ["One", "Two"]),
        (f"; The file\n\n{SMALL}\n\n; One\n\n{SMALL}\n\n; Two", ["One", "Two"]),
        (f"{SMALL}\nTitle: One\n\n{SMALL}\nTitle: Two", ["One", "Two"]),
        (f"{SMALL}\n\nTitle: One\n\n{SMALL}\n\nTitle: Two", ["One", "Two"]),
        (f"Title: One\n\n{SMALL}\n\nTitle: Two\n\n{SMALL}", ["One", "Two"]),
        (f"Title: The file\n\n{SMALL}\nTitle: One\n\n{SMALL}", ["One", ""]),
        (f"{SMALL}\nOne\n{SMALL}", ["", "One"]),
        (f"Lull\n\n{SMALL}\n\nD\n\n{SMALL}", ["Lull", "D"]),
        (f"{SMALL}\n\nrR\n\nDull\n\n{SMALL}", ["", "Dull"]),
        (f"{SMALL}\n-----\n\n::: file :::\n\n#1\n\n{SMALL}", ["", "#1"]),
        (f"##########\n# Levels #\n##########\n\n# One\n{SMALL}", ["# One"]),
    ],
)
def test_titles_find_their_boards(text, titles):
    assert [level.title for level in parse_levels(text)] == titles


@pytest.mark.parametrize(
    "words",
    ["rr", "rR", "RR", "2r", "r\nR", "\nrr", "Solution:\nrr", "Solution: rr", "Solution rr: \nrr"],
)
def test_a_solution_follows_its_board_in_either_case(words):
    assert [level.solution for level in parse_levels(f"{SMALL}\n{words}\n\nB\n\n{SMALL}")] == [
        "rR",
        "",
    ]


def test_a_solution_ends_with_the_move_that_solves():
    assert parse_level(f"{SMALL}\nrrllr").solution == "rR"


# --- writing and reading back ----------------------------------------------------------------


@st.composite
def boards(draw, rows: int | None = None, columns: int | None = None) -> Board:
    """A walled room with anything in it, as many boxes as targets, as reading would leave it."""
    rows = rows or draw(st.integers(3, 9))
    columns = columns or draw(st.integers(5, 12))
    inner = [(r, c) for r in range(1, rows - 1) for c in range(1, columns - 1)]
    cells = [[0] * columns for _ in range(rows)]
    for r, c in inner:
        cells[r][c] = draw(st.sampled_from((0, 1, 1, 1)))
    spots = draw(st.permutations(inner))
    pairs = draw(st.integers(1, (len(spots) - 1) // 2))
    stars = draw(st.integers(0, pairs))
    for index, (r, c) in enumerate(spots[1 : 2 * pairs + 1]):
        cells[r][c] = 4 if index < pairs else 2
    for r, c in spots[1 : stars + 1]:
        cells[r][c] = 3
    for r, c in spots[pairs + 1 : pairs + stars + 1]:
        cells[r][c] = 1
    r, c = spots[0]
    cells[r][c] = 5
    return Board.from_rows(cells)


WORDS = st.text(st.characters(blacklist_categories=("C",)), max_size=30).map(
    lambda words: " ".join(words.split())
)
COMMENTS = st.lists(WORDS, max_size=4).map(lambda lines: "\n".join(lines).strip())


@st.composite
def levels(draw) -> Level:
    return Level(draw(boards()), draw(WORDS), draw(WORDS), draw(COMMENTS))


@given(st.lists(levels(), min_size=1, max_size=4))
def test_collections_are_read_back(some):
    some = [
        replace(level, comment=level.comment.replace("omment", "ommand"), solution="")
        for level in some
    ]
    assert parse_levels(format_collection(some)) == some


@given(boards())
def test_run_length_rows_are_read_back(board):
    written = format_rle(Level(board))
    assert "\n" not in written
    assert parse_level(written).board == board


@given(st.lists(levels(), min_size=1, max_size=3))
def test_xml_is_read_back(some):
    written = format_slc(some, title="A <b> & c", description='"')
    assert parse_levels(written) == [replace(level, comment="") for level in some]


@settings(max_examples=30)
@given(st.lists(boards(rows=10, columns=10), min_size=1, max_size=3))
def test_boxoban_is_read_back(some):
    written = format_boxoban([Level(board) for board in some])
    lines = written.split("\n")
    assert (lines[0], len(lines[1]), lines[11]) == ("; 0", 10, "")
    assert [(level.board, level.title) for level in parse_levels(written)] == [
        (board, str(number)) for number, board in enumerate(some)
    ]


def test_boxoban_holds_only_boards_of_ten_by_ten():
    with pytest.raises(LevelError, match="10 by 10"):
        format_boxoban([parse_level(SMALL)])


def test_a_comment_cannot_end_itself_early():
    level = Level(parse_level(SMALL).board, "T", comment="a\nComment-End:\nTitle: b")
    again = parse_level(format_xsb(level))
    assert (again.title, again.comment) == ("T", "a\n- Comment-End:\nTitle: b")


def test_words_over_several_lines_are_written_on_one():
    level = Level(parse_level(SMALL).board, "a\n####\nb", "c\td")
    again = parse_level(format_xsb(level))
    assert (again.title, again.author) == ("a #### b", "c d")


def test_a_long_solution_is_written_on_several_lines_and_read_back():
    walk = "rl" * 60 + "rR"
    level = replace(parse_level(SMALL), solution=walk)
    written = format_xsb(level)
    assert max(map(len, written.split("\n"))) <= 72
    assert parse_level(written) == level


def test_characters_that_xml_cannot_hold_are_left_out():
    level = Level(parse_level(SMALL).board, "a\x00\x1b<b>\ud800")
    assert parse_level(format_slc([level])).title == "a<b>"


# --- any text at all -------------------------------------------------------------------------

# Seconds for 20,000 characters. Nearly all take less than 0.05, a thousand small levels 0.1;
# the rest is for busy machines. What takes more than linear time takes far longer than this.
LOADS_WITHIN = 0.3
PIECES = st.one_of(
    st.sampled_from(
        [
            *"#@$.*+-_ pPbBOXS√0123456789()|lurdLURD\n\n\n\t;:",
            *(SMALL, f"\n\n{SMALL}\n", "6#|#@-$.#|6#", "2(", "99999999", "####"),
            *("Title:", "Author: a", "Comment:", "Comment-End:", "Solution", "; 1", "::"),
            *("<SokobanLevels>", "<Level>", "<L>", "</L>", "</Level>", "<!DOCTYPE a [", "&lt;"),
            *("\r\n", "\u2028", "\ud800", "\x00", "\ufeff"),
        ]
    ),
    st.text(max_size=5),
)


def check_any(text: str) -> None:
    """It loads valid levels, or is refused with a place and a remedy; and either way at once."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        try:
            loaded, refused = parse_levels(text), None
        except LevelError as error:
            loaded, refused = [], error
        seconds.append(time.process_time() - started)
        if seconds[-1] < LOADS_WITHIN:
            break
    assert min(seconds) < LOADS_WITHIN
    assert loaded or (refused and refused.what and refused.remedy)
    for level in loaded:
        assert first_gap(level.board) is None
        assert parse_level(format_xsb(level)).board == level.board


@settings(deadline=None, max_examples=200)
@given(st.lists(PIECES, max_size=60), st.integers(1, 400))
def test_any_text_loads_or_is_refused_at_once(pieces, times):
    check_any(("".join(pieces) * times)[:20_000])


@pytest.mark.parametrize(
    "text",
    [
        *("\n", "#\n", "#", "(", "#(", "#|", "9", "9r", "r", "a\n\n", "; \n", "#a#\n", "#\n.\n"),
        *("Comment: a\n", "<a>", "' ", "Solution ", "date a ", "#\t", "1#", "9(", "#@\n", "-\n#\n"),
        *("####\n#@*#\n####\n\n", "4#|#@*#|4#\n\n", "####\n#@*#\n####\nSolution:\n99r\n\n"),
    ],
)
def test_one_piece_over_and_over_is_read_at_once(text):
    check_any((text * 20_000)[:20_000])
    check_any(f"{SMALL}\n" + (text * 20_000)[:19_000] + f"\n\n{SMALL}")


def test_a_thousand_levels_take_well_under_a_second():
    room = ["##########", "#@ $    .#", *["#  # #   #"] * 7, "##########"]
    text = format_boxoban([parse_level("\n".join(room))] * 1_000)
    started = time.process_time()
    assert len(parse_levels(text)) == 1_000
    assert time.process_time() - started < 1


# --- moves as letters ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("", ()),
        ("udlr", (1, 2, 3, 4)),
        ("UDLR", (1, 2, 3, 4)),
        (" u\n\tD  r ", (1, 2, 4)),
        ("3r2D", (4, 4, 4, 2, 2)),
        ("12l", (3,) * 12),
        ("0r", ()),
    ],
)
def test_moves_are_read(text, actions):
    assert read_lurd(text) == actions


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("rx", 1, 2), ("r\nr?", 2, 2), ("3", 1, 1), ("r3 r", 1, 2), ("é", 1, 1), ("999999r", 1, 1)],
)
def test_letters_that_are_no_moves_are_refused(text, line, column):
    with pytest.raises(LevelError) as refused:
        read_lurd(text)
    assert (refused.value.line, refused.value.column) == (line, column)


def test_moves_are_played_and_may_do_nothing():
    outcomes = play_lurd(parse_level(SMALL).board, "urR")
    assert [(outcome.moved, outcome.pushed) for outcome in outcomes] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    assert [outcome.reward for outcome in outcomes] == [-0.1, -0.1, 10.9]
    assert play_lurd(parse_level(SMALL).board, "") == []


def test_pushes_are_written_in_upper_case_and_no_ops_left_out():
    assert write_lurd(parse_level(SMALL).board, (0, 1, 4, 0, 4)) == "urR"


@given(boards(), st.lists(st.integers(1, 4), max_size=40))
def test_moves_are_read_back(board, actions):
    written = write_lurd(board, actions)
    assert list(read_lurd(written)) == actions
    pushed = [outcome.pushed for outcome in play_lurd(board, written)]
    assert [letter.isupper() for letter in written] == pushed
    assert read_lurd(written.lower()) == read_lurd(written.upper()) == tuple(actions)


@given(boards(), st.lists(st.integers(1, 4), max_size=40))
def test_the_board_after_any_moves_is_read_back(board, actions):
    for action in actions:
        board = step(board, action).board
    assert parse_level(format_xsb(Level(board))).board == board


# --- the levels that come along --------------------------------------------------------------


def test_a_dozen_levels_and_the_guides_come_along():
    assert len(SHIPPED) >= 13
    assert ROOT / "configs" / "levels" / "guide.xsb" in SHIPPED


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_level_loads_and_its_solution_solves_it(path):
    text = path.read_text(encoding="utf-8")
    (level,) = parse_levels(text, where=path.name)
    assert level.title
    assert level.comment
    assert path.stem == "guide" or level.author == "Prompt Playground for Sokoban"
    assert not level.board.solved
    outcomes = play_lurd(level.board, level.solution)
    assert all(outcome.moved for outcome in outcomes)
    assert [outcome.board.solved for outcome in outcomes].index(True) == len(outcomes) - 1
    assert parse_level(format_xsb(level)) == level
