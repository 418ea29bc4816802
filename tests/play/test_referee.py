"""The referee: pushes left, optimal and fatal moves, hints; checked by playing them."""

import pytest

from play import Episode, load_episode, referee, save_episode

CORNER = "######\n#P___#\n#_X__#\n#___O#\n######"


def played(config, moves, level=CORNER):
    episode = Episode.start(config, level)
    for move in moves:
        episode = episode.act({"u": 1, "d": 2, "l": 3, "r": 4}[move])
    return episode


@pytest.mark.parametrize(
    ("moves", "verdicts"),
    [
        ("", []),
        ("r", [(3, 3, True, False)]),
        ("rd", [(3, 3, True, False), (3, 2, True, False)]),
        ("dr", [(3, 3, True, False), (3, 2, True, False)]),
        ("ddruu", [(3, 3, True, False)] * 3 + [(3, None, False, True), (None, None, None, False)]),
    ],
)
def test_verdicts(config, moves, verdicts):
    found = referee.verdicts(played(config, moves))
    assert [(v.pushes_before, v.pushes_after, v.optimal, v.fatal) for v in found] == verdicts


def test_a_wasted_push_is_not_optimal(config):
    level = "########\n#P_____#\n#_X___O#\n#______#\n########"
    episode = played(config, "ddruldr", level)
    assert [v.optimal for v in referee.verdicts(episode)][3] is False


def test_the_fatal_move_is_named_with_its_reason(config):
    episode = played(config, "ddruu")
    assert referee.fatal_turn(episode) == 4
    verdict = referee.verdicts(episode)[3]
    assert verdict.reason == "a box stands where no push can bring it to a target (row 2, column 3)"
    assert referee.fatal_turn(episode.undo(2)) is None
    assert referee.hint(episode.board) is None


@pytest.mark.parametrize("name", ["guide", "01-first-push", "05-mind-the-corner", "08-pocket"])
def test_following_the_hints_solves_every_level(config, name):
    episode = Episode.start(config, name)
    while not episode.over:
        episode = episode.act(referee.hint(episode.board))
    assert episode.solved
    assert all(v.optimal and not v.fatal for v in referee.verdicts(episode))
    assert referee.hint(episode.board) is None


def test_turns_carry_what_is_known(config):
    episode = played(config, "rd", CORNER.replace("P__", "_P_"))
    assert [turn.verdict for turn in referee.carry(episode).turns] == [None, None]
    found = referee.verdicts(episode)
    carried = referee.carry(episode)
    assert [turn.verdict for turn in carried.turns] == found
    assert load_episode(save_episode(carried)) == carried
