"""How long a model's turn takes on 5x5 boards: without reuse, with it, and in llama.cpp.

    python -m bench.model [--model NAME] [--turns 2 50] [--runs 5] [--threads N] [--processor-time]

Everything is measured in one run. A turn with reuse follows the turn before it, as in a game;
without, the model has forgotten everything. Where llama-cpp-python can be imported and the model is
a GGUF file, llama.cpp gets the same file, the same ids, as many tokens to make and as many threads,
and reuses its own prefix; it has no scored choice, so a choice is held against its free answer. On
a machine that others use, take one thread and the processor's time: the clock's, and threads that
wait for each other, say more about the others.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from agents import Mode, Reply, load_model
from agents.answers import answer_endings
from agents.local_model import LocalModel
from agents.models import packaged_file
from agents.notation import gbnf
from configs import GenerationConfig, PromptConfig, load_config
from prompting import Prompt, format_messages, render_prompt

# A walk to and fro that never ends the game.
STATES = [
    "#####\n#__O#\n#P_X#\n#___#\n#####",
    "#####\n#__O#\n#_PX#\n#___#\n#####",
]
MOVES = ["Right", "Left"]

# What is compared: an answer of four tokens as the model likes, a legal one, and a scored choice.
MODES: tuple[Mode, ...] = ("free", "grammar", "choice")
TOKENS = 4

Clock = Callable[[], float]


def main() -> None:
    options = _options()
    if options.threads:
        torch.set_num_threads(options.threads)
    clock: Clock = time.process_time if options.processor_time else time.perf_counter
    config = load_config()
    mindful = load_model(options.model, config.models)
    if not isinstance(mindful, LocalModel):
        raise SystemExit(f"{options.model} is on a server; choose one that runs here.")
    forgetful = LocalModel(mindful.tokenizer, mindful.model, "forgetful", cache_bytes=0)
    other = LlamaCpp.of(packaged_file(config.models.models[options.model]), config.prompt)
    if other is None:
        print("llama-cpp-python is not installed: its column is empty.")
    print("turn  tokens  mode      without reuse      with reuse   x faster   llama.cpp   x faster")
    costs: dict[tuple[int, Mode], float] = {}
    for turn in options.turns:
        prompt = _prompt(turn, mindful.tokenizer, config.prompt)
        before = _prompt(turn - 1, mindful.tokenizer, config.prompt)
        # Nearly all of it is reading the prompt, so one way to answer stands for all.
        slow = _time(clock, forgetful, config.prompt, prompt, "free")
        ours: dict[Mode, list[float]] = {mode: [] for mode in MODES}
        its: dict[Mode, list[float]] = {mode: [] for mode in MODES if mode != "choice"}
        for _ in range(options.runs):  # in turns, so that a busy minute is everybody's
            for mode in MODES:
                ours[mode].append(_time(clock, mindful, config.prompt, prompt, mode, before))
                if other and mode in its:
                    its[mode].append(other.time(clock, prompt, mode, before))
        for mode in MODES:
            fast = costs[turn, mode] = statistics.median(ours[mode])
            held = statistics.median(its.get(mode, its["free"]) or [0.0])
            beside = f"{held:9.2f} s {held / fast:10.1f}" if held else ""
            print(
                f"{turn:4}  {len(prompt.token_ids):6}  {mode:8} {slow:13.2f} s {fast:13.2f} s"
                f" {slow / fast:10.1f} {beside}",
                flush=True,
            )
    first, last = options.turns[0], options.turns[-1]
    for mode in MODES:
        print(
            f"{mode}: turn {last} costs {costs[last, mode] / costs[first, mode]:.1f} x turn {first}"
        )


class LlamaCpp:
    """The same file in llama.cpp, by its Python binding; it keeps the prefix of the last prompt."""

    def __init__(self, file: Path, config: PromptConfig) -> None:
        from llama_cpp import Llama, LlamaGrammar

        self._llama = Llama(
            str(file), n_ctx=8192, n_threads=torch.get_num_threads(),
            n_threads_batch=torch.get_num_threads(), verbose=False,
        )  # fmt: skip
        endings = list(answer_endings("", config).values())
        self._grammar = LlamaGrammar.from_string(gbnf(endings), verbose=False)

    @classmethod
    def of(cls, file: Path | None, config: PromptConfig) -> LlamaCpp | None:
        installed = importlib.util.find_spec("llama_cpp") is not None
        return cls(file, config) if installed and file else None

    def time(self, clock: Clock, prompt: Prompt, mode: Mode, before: Prompt) -> float:
        """Seconds of one turn right after the turn `before`."""
        self._answer(before, mode)
        start = clock()
        self._answer(prompt, mode)
        return clock() - start

    def _answer(self, prompt: Prompt, mode: Mode) -> None:
        self._llama.create_completion(
            list(prompt.token_ids),
            max_tokens=TOKENS,
            temperature=0,
            grammar=self._grammar if mode == "grammar" else None,
        )


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--turns", type=int, nargs="+", default=[2, 50])
    parser.add_argument("--threads", type=int, help="torch's threads; as torch has it")
    parser.add_argument("--processor-time", action="store_true", help="seconds of the processor")
    parser.add_argument("--runs", type=int, default=5, help="how often a turn with reuse is timed")
    return parser.parse_args()


def _prompt(turn: int, tokenizer: Any, config: PromptConfig) -> Prompt:
    """The prompt of turn number `turn`, all turns before it answered."""
    history: list[dict[str, Any]] = [
        {
            "state": STATES[n % 2],
            "actions_left": config.max_actions_per_traj - n,
            "llm_response": f"<answer>{MOVES[n % 2]}</answer>",
            "reward": -0.1,
        }
        for n in range(turn)
    ]
    del history[-1]["llm_response"], history[-1]["reward"]
    return render_prompt(format_messages(config, history), tokenizer, config)


def _time(
    clock: Clock,
    model: LocalModel,
    config: PromptConfig,
    prompt: Prompt,
    mode: Mode,
    before: Prompt | None = None,
) -> float:
    """Seconds of one turn; right after the turn `before`, if that is given."""
    if before is not None:
        _answer(model, config, before, mode)
    start = clock()
    reply = _answer(model, config, prompt, mode)
    seconds = clock() - start
    if before is not None:
        assert reply.reused_tokens >= len(before.token_ids) - 1, "the turn before was not reused"
    return seconds


def _answer(model: LocalModel, config: PromptConfig, prompt: Prompt, mode: Mode) -> Reply:
    generation = GenerationConfig(temperature=0, max_new_tokens=TOKENS)
    agent = model.agent(config, mode=mode, generation=generation, stop_at_closing_tag=False)
    *_, reply = agent.respond(prompt)
    if reply.error:
        raise SystemExit(reply.error)
    return reply


if __name__ == "__main__":
    main()
