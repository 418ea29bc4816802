"""The command line: `render` prints an exact prompt, `run` plays an episode in the terminal.

`render` prints the prompt and nothing else, without a newline of its own, so that it can be piped
and compared byte for byte.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents import Agent, HumanAgent, RandomAgent, load_model, load_tokenizer
from configs import ModelConfig, PlaygroundConfig, load_config, parse_prompt_config
from errors import UserError
from play.episode import Episode
from play.storage import load_episode, save_episode

MOVES = {"u": 1, "d": 2, "l": 3, "r": 4}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 2 where what the person gave cannot be used."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` closed the pipe
        sys.stderr.close()
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m play", description=__doc__)
    commands = parser.add_subparsers(title="commands", required=True)

    common = argparse.ArgumentParser(add_help=False)
    what = common.add_mutually_exclusive_group()
    what.add_argument("--level", help="a level file, or the name of a shipped level")
    what.add_argument("--seed", type=int, help="generate the level of this seed")
    what.add_argument("--episode", help="a saved episode to start from")
    common.add_argument("--config", default="configs/playground.yaml", help="playground config")
    common.add_argument("--prompt", help="a prompt config file, or the name of a shipped one")
    common.add_argument("--think", action="store_true", help="ask for a thought before the answer")
    common.add_argument(
        "--model", help="a name in models.yaml, a local folder, or a Hub repository"
    )
    common.add_argument("--moves", default="", help="play these first: letters of u, d, l, r")

    render = commands.add_parser("render", parents=[common], help="print the exact prompt")
    render.add_argument(
        "--view", choices=("inference", "training", "messages", "tokens"), default="inference"
    )
    render.add_argument(
        "--raw-responses", action="store_true", help="raw responses in place of canonical ones"
    )
    render.set_defaults(run=_render)

    run = commands.add_parser("run", parents=[common], help="play an episode in the terminal")
    run.add_argument("--agent", choices=("random", "llm", "human"), default="llm")
    run.add_argument("--turns", type=int, help="stop after this many turns")
    run.add_argument(
        "--mode",
        choices=("free", "grammar", "choice"),
        default="grammar",
        help="free text, a legal action as the answer (default), or the actions scored",
    )
    run.add_argument("--agent-seed", type=int, default=0, help="of the random agent or the model")
    run.add_argument("--save", help="save the episode to this file")
    run.set_defaults(run=_run)
    return parser


# -- render


def _render(options: argparse.Namespace) -> None:
    config = _config(options)
    episode = _episode(options, config)
    training = options.view == "training"
    views = {"training": training, "raw_responses": options.raw_responses}
    if options.view == "messages":
        _write(json.dumps(episode.messages(**views), ensure_ascii=False, indent=2) + "\n")
        return
    prompt = episode.prompt(load_tokenizer(_model(options, config), config.models), **views)
    if options.view != "tokens":
        _write(prompt.text)
        return
    for index, (token, (start, end)) in enumerate(
        zip(prompt.token_ids, prompt.offsets, strict=True)
    ):
        _write(f"{index}\t{token}\t{json.dumps(prompt.text[start:end], ensure_ascii=False)}\n")


def _write(text: str) -> None:
    """Exactly these bytes, whatever the terminal's encoding and newline habits."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


# -- run


def _run(options: argparse.Namespace) -> None:
    config = _config(options)
    episode = _episode(options, config)
    agent, tokenizer = _agent(options, config, episode)
    limit = options.turns if options.turns is not None else episode.actions_left
    print(_board(episode))
    for _ in range(limit):
        if episode.over:
            break
        after = _turn(episode, agent, tokenizer)
        if after is None:
            break
        episode = after
        print(_report(episode))
    print(_ending(episode))
    if options.save:
        _save(options.save, save_episode(episode))


def _turn(episode: Episode, agent: Agent, tokenizer: Any) -> Episode | None:
    """One more turn, or None where the agent gave no answer (a person who is done, an error)."""
    prompt = episode.prompt(tokenizer)
    *_, reply = agent.respond(prompt)
    if reply.finish_reason in ("stopped", "error"):
        if reply.error:
            raise UserError(reply.error, where=agent.name, remedy="Choose another agent or model")
        return None
    # The model writes on from the forced start; a person may bring it along.
    person = isinstance(agent, HumanAgent)
    raw = reply.text if person else episode.config.response_start + reply.text
    return episode.respond(raw, by="person" if person else agent.name, prompt=prompt, reply=reply)


def _agent(
    options: argparse.Namespace, config: PlaygroundConfig, episode: Episode
) -> tuple[Agent, Any]:
    name = _model(options, config)
    if options.agent == "llm":
        model = load_model(name, config.models)
        generation = config.models.generation.model_copy(update={"seed": options.agent_seed})
        agent = model.agent(episode.config, mode=options.mode, generation=generation)
        return agent, model.tokenizer
    tokenizer = load_tokenizer(name, config.models)
    if options.agent == "random":
        return RandomAgent(episode.config, seed=options.agent_seed), tokenizer
    return HumanAgent(episode.config), tokenizer


def _board(episode: Episode) -> str:
    return f"{episode.vocabulary.text(episode.board)}\n{episode.actions_left} actions left\n"


def _report(episode: Episode) -> str:
    turn = episode.turns[-1]
    verdict = f"INVALID: {turn.problem}" if turn.problem else turn.note or "valid"
    return (
        f"turn {len(episode.turns)} ({turn.by}): {turn.llm_raw_response!r}\n"
        f"{verdict}, reward {turn.reward}, total {episode.total_reward}\n\n{_board(episode)}"
    )


def _ending(episode: Episode) -> str:
    state = "solved" if episode.solved else "no actions left" if episode.over else "not finished"
    return f"{state} after {len(episode.turns)} turns, total reward {episode.total_reward}"


def _save(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"the episode cannot be written: {error.strerror}",
            where=path,
            remedy="Choose another file with --save",
        ) from None
    print(f"saved to {path}")


# -- what the options name


def _config(options: argparse.Namespace) -> PlaygroundConfig:
    config = load_config(options.config)
    prompt = config.prompt
    if options.prompt:
        text = config.prompts.get(options.prompt)
        text = _text(options.prompt, config.prompts) if text is None else text
        prompt = parse_prompt_config(text, options.prompt)
    if options.think:
        prompt = prompt.model_copy(update={"enable_think": True})
    models = config.models
    if options.model and options.model not in models.models:
        folder = Path(options.model).is_dir()
        if not folder and "/" not in options.model:
            raise UserError(
                f"there is no model {options.model!r}",
                where="--model",
                remedy=f"Choose one of {', '.join(models.models)}, a folder, or owner/name",
            )
        place = {"path" if folder else "hub": options.model}
        extra = {options.model: ModelConfig(label=options.model, **place)}
        models = models.model_copy(update={"models": {**models.models, **extra}})
    return config.model_copy(update={"prompt": prompt, "models": models})


def _model(options: argparse.Namespace, config: PlaygroundConfig) -> str:
    return options.model or config.models.default


def _episode(options: argparse.Namespace, config: PlaygroundConfig) -> Episode:
    if options.episode:
        episode = load_episode(_text(options.episode, {}), where=options.episode)
        if options.prompt or options.think:
            episode = episode.with_config(
                config.prompt
                if options.prompt
                else episode.config.model_copy(update={"enable_think": True})
            )
    elif options.seed is not None:
        episode = Episode.start(config, seed=options.seed)
    else:
        level = options.level
        if level is not None and level not in config.levels:
            level = _text(level, config.levels)
        episode = Episode.start(config, level)
    for column, letter in enumerate(options.moves, start=1):
        action = MOVES.get(letter.lower())
        if action is None:
            raise UserError(
                f"{letter!r} is not a move",
                where="--moves",
                column=column,
                remedy="Use the letters u, d, l and r",
            )
        episode = episode.act(action)
    return episode


def _text(path: str, names: Any) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        known = f" or one of {', '.join(names)}" if names else ""
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(
            f"the file cannot be read: {reason}", where=path, remedy=f"Give a readable file{known}"
        ) from None
