"""Ready demonstrations as episodes, and two prompt configs on one history.

Plain functions; nothing here knows Gradio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from configs import PlaygroundConfig, PromptConfig, ScenarioConfig, parse_prompt_config
from envs.sokoban import tiles
from play import Episode, referee
from prompting import Prompt, parse_response


def scenario_config(scenario: ScenarioConfig, config: PlaygroundConfig) -> PromptConfig:
    """The prompt config that a scenario plays under."""
    return parse_prompt_config(scenario_yaml(scenario, config), scenario.title)


def scenario_yaml(scenario: ScenarioConfig, config: PlaygroundConfig) -> str:
    """Its YAML, as the editor shows it."""
    text = config.prompts[scenario.prompt or config.prompt_name]
    return f"{text.rstrip()}\n{scenario.config}\n" if scenario.config else text


def scenario_episode(scenario: ScenarioConfig, config: PlaygroundConfig, tokenizer: Any) -> Episode:
    """The episode as it stands once the scenario's responses are given.

    Args:
        tokenizer: renders the prompt of each turn; None where there is none, then none is kept.
    """
    playground = config.model_copy(update={"prompt": scenario_config(scenario, config)})
    episode = Episode.start(playground, scenario.level)
    for raw in scenario.responses:
        prompt = episode.prompt(tokenizer) if tokenizer is not None else None
        episode = episode.respond(raw, prompt=prompt)
    return episode


def gallery_view(config: PlaygroundConfig) -> dict[str, Any]:
    """A card for each scenario."""
    cards = []
    for index, scenario in enumerate(config.scenarios):
        board = scenario_episode(scenario, config, None).board
        title, note = scenario.title, scenario.sentence
        cards.append({"index": index, "title": title, "tiles": tiles(board), "note": note})
    return {"levels": cards, "chosen": -1}


# -- compare


def comparison(
    a: Prompt | None, b: Prompt | None, episodes: Sequence[Episode], odds: Sequence[Any] = ()
) -> list[list[str]]:
    """Rows of [what, under A, under B]: lengths, the verdict, the optimal action, the odds.

    Args:
        odds: for each of the two the action probabilities by name, or nothing.
    """
    pair = (a, b)
    rows = [
        ["Tokens", *(f"{len(p.token_ids):,}" if p else "—" for p in pair)],
        ["Characters", *(f"{len(p.text):,}" if p else "—" for p in pair)],
        ["Thinking", *("on" if e.config.enable_think else "off" for e in episodes)],
        ["Last response reads as", *(_reading(e) for e in episodes)],
    ]
    best = [_best(episode) for episode in episodes]
    if any(best):
        rows.append(["Optimal action", *(name or "—" for name in best)])
    names = list(dict.fromkeys(name for each in odds for name in each))
    for name in names:
        star = " ★" if name in best else ""
        rows.append([f"P({name}){star}", *(_share(each, name) for each in odds)])
    return rows


def _share(odds: dict[str, float], name: str) -> str:
    if name not in odds:
        return "—"
    likeliest = max(odds, key=lambda each: odds[each])
    return f"{100 * odds[name]:.1f} %{' ← likeliest' if name == likeliest else ''}"


def _best(episode: Episode) -> str:
    """The first action of a shortest solution, by its name in the prompt; "" if none is known."""
    action = None if episode.over else referee.hint(episode.board)
    return "" if action is None else (episode.config.action_lookup or {}).get(action, "")


def _reading(episode: Episode) -> str:
    if not episode.turns:
        return "—"
    parsed = parse_response(episode.turns[-1].llm_raw_response, episode.config)
    return parsed.problem or parsed.actions[0]
