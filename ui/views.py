"""Board, answer and history as the plain values that the page's components show.

Pure functions; nothing here knows Gradio. Texts leave here as they are and are bound by the page
through `textContent`. The prompt's views are `prompt_views`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents import Reply
from envs.sokoban import ACTION_NAMES, svg, tiles
from play import Turn, referee
from ui.prompt_views import signed
from ui.session import Session

# -- the board


def board_view(session: Session, replay: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """The picture, the facts under it, what may be done; and pictures to play once, if any."""
    episode, past = session.episode, session.past
    board = past.board
    row, column = board.player_position
    facts = [
        ["turn", str(len(past.turns) + (not past.over))],
        ["actions left", str(past.actions_left)],
        ["reward", signed(past.total_reward)],
        ["on target", f"{board.boxes_on_target}/{board.boxes}"],
    ]
    kind, banner = _banner(session)
    return {
        "svg": svg(board, title=episode.level.title or "Sokoban board"),
        "tiles": tiles(board),
        "label": f"Sokoban board, {board.rows} rows, {board.columns} columns. "
        f"Player in row {row + 1}, column {column + 1}. "
        f"{board.boxes_on_target} of {board.boxes} boxes on target.",
        "title": episode.level.title or f"{board.rows} by {board.columns}",
        "facts": facts,
        "banner": banner,
        "kind": kind,
        "over": episode.over,
        "locked": session.thinking,
        "can": [
            *(["undo", "reset"] if episode.turns else []),
            *(["redo"] if episode.undone else []),
        ],
        "odds": _odds(session),
        "step": len(episode.turns),
        "replay": list(replay),
        "serial": session.serial,
    }


def _odds(session: Session) -> list[list[Any]]:
    """[action, probability, chosen] as the model saw them when it answered last."""
    turn = _answered(session)
    reply = session.live or (turn.reply if turn else None)
    if reply is None:
        return []
    names = session.episode.config.action_lookup or {}
    chosen = names.get(turn.action) if turn and not session.live else None
    return [[name, p, name == chosen] for name, p in reply.action_probabilities.items()]


def _banner(session: Session) -> tuple[str, str]:
    episode = session.episode
    if session.message:
        return "error", session.message
    if session.look is not None:
        return "look", f"Looking back at turn {session.look}. Any move goes on from the present."
    if session.thinking:
        return "busy", "The model is answering."
    if episode.solved:
        return "solved", f"Solved in {len(episode.turns)} turns."
    if episode.over:
        return "over", "No actions left. Undo, reset, or choose a level."
    if episode.turns and episode.turns[-1].problem:
        return "invalid", "The last response was INVALID: nothing moved."
    return "play", "Arrow keys or WASD move · U undoes · R resets"


# -- the answer


def answer_view(session: Session) -> dict[str, Any]:
    """The raw response and what the parser made of it."""
    episode = session.episode
    shown: dict[str, Any] = {
        "state": "idle", "who": "", "forced": "", "text": "", "verdict": "", "details": [],
        "alternatives": [],
        "serial": session.serial,
    }  # fmt: skip
    if session.live is not None:
        return shown | _live(session, session.live)
    turn = _answered(session)
    if turn is None:
        return shown | {
            "who": "No answer yet",
            "forced": episode.config.response_start,
            "verdict": "the answer begins here",
        }
    start = episode.config.response_start
    forced = start if turn.llm_raw_response.startswith(start) else ""
    number = session.look or len(episode.turns)
    return shown | {
        "state": "invalid" if turn.problem else "valid",
        "who": f"Turn {number}, {turn.by}",
        "forced": forced,
        "text": turn.llm_raw_response[len(forced) :],
        "verdict": "INVALID" if turn.problem else ACTION_NAMES[turn.action],
        "alternatives": _alternatives(turn.reply),
        "details": _details(turn),
    }


def _alternatives(reply: Reply | None) -> list[list[str]]:
    """The likeliest first tokens: text, id, probability."""
    return [
        [
            repr(each.text),
            str(each.token_id) if each.token_id >= 0 else "—",
            f"{100 * each.probability:.1f} %",
        ]
        for each in (reply.alternatives if reply else ())
    ]


def _answered(session: Session) -> Turn | None:
    turns = session.episode.turns
    if session.look:
        return turns[session.look - 1]
    return turns[-1] if turns else None


def _live(session: Session, reply: Reply) -> dict[str, Any]:
    words = {
        None: f"waiting, {reply.place} before you" if reply.place else "answering …",
        "time": "out of time: nothing was recorded",
        "stopped": "stopped: nothing was recorded",
        "error": "failed: nothing was recorded",
    }
    error = [["Why", reply.error]] if reply.error else []
    return {
        "state": "live" if session.thinking else "stopped",
        "who": f"Turn {len(session.episode.turns) + 1}",
        "forced": session.episode.config.response_start,
        "text": reply.text,
        "verdict": "loading the model …"
        if session.loading
        else words.get(reply.finish_reason, "reading the answer …"),
        "details": [*error, ["Tokens", str(len(reply.token_ids))]],
    }


def _details(turn: Turn) -> list[list[str]]:
    details = [["Goes into the history", turn.llm_response]]
    if turn.problem or turn.note:
        details.append(["Why", turn.problem or turn.note or ""])
    details.append(["Reward", signed(turn.reward)])
    return details + (_made(turn.reply) if turn.reply else [])


def _made(reply: Reply) -> list[list[str]]:
    """What the model's work took."""
    if not reply.prompt_tokens or not (reply.token_ids or reply.action_log_probabilities):
        return []
    took = f"{len(reply.token_ids)} tokens in {reply.seconds:.2f} s"
    if reply.tokens_per_second is not None:
        took += f", {reply.tokens_per_second:.0f} a second"
    if reply.seconds_to_first is not None:
        took += f", the first after {reply.seconds_to_first:.2f} s"
    made = [["Made", took], ["Reused", f"{reply.reused_tokens:,} of {reply.prompt_tokens:,}"]]
    if reply.finish_reason:
        made.append(["Ended by", reply.finish_reason])
    return made


# -- the history


def history_view(session: Session) -> dict[str, Any]:
    """Each turn with the board that it led to; rewards add up as the environment paid them."""
    rows, total = [], 0.0
    for number, turn in enumerate(referee.carry(session.episode).turns, start=1):
        total = round(total + turn.reward, 10)
        names = session.episode.config.action_lookup or {}
        rows.append(
            {
                "turn": str(number),
                "action": "—" if turn.problem else names.get(turn.action, str(turn.action)),
                "reward": signed(turn.reward),
                "total": signed(total),
                "left": str(turn.actions_left),
                "verdict": turn.problem or turn.note or "valid",
                "by": turn.by,
                "valid": turn.problem is None,
                "pushes": _pushes(turn),
                "fatal": turn.verdict is not None and turn.verdict.fatal,
                "board": tiles(turn.after.board),
            }
        )
    return {
        "turns": rows,
        "look": session.look or 0,
        "now": tiles(session.episode.board),
        "over": session.episode.over,
        "serial": session.serial,
    }


def _pushes(turn: Turn) -> str:
    """The pushes left after the turn, as the referee knows them."""
    verdict = turn.verdict
    if verdict is None:
        return ""
    if verdict.pushes_after is None:
        return "lost" if verdict.reason else ""
    return f"{verdict.pushes_after}{'' if verdict.optimal is not False else ' (detour)'}"
