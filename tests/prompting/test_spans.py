"""Contents that look like a template's own text, and what templates make of short ones."""

import copy

import pytest
from tokenizers import AddedToken

from prompting import format_messages, render_prompt

OPEN = {"state": "#_P", "actions_left": 8}
# Writes a response's thought on lines of its own in the last message, and drops it elsewhere.
OWN_LINES = """
{%- for m in messages -%}
{%- set ns = namespace(content=m.content) -%}
{%- if m.role == 'assistant' and '</think>' in m.content -%}
{%- set ns.content = m.content.split('</think>')[-1] -%}
{%- if loop.last -%}
{%- set thought = m.content.split('</think>')[0].split('<think>')[-1] -%}
{%- set ns.content = '<think>\n' + thought + '\n</think>\n\n' + ns.content -%}
{%- endif -%}
{%- endif -%}
{{ '<|im_start|>' + m.role + '\n' + ns.content + '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}
"""


def turn(response):
    both = {"llm_response": response, "llm_raw_response": response}
    return {"state": "#P_", "actions_left": 9, "reward": -0.1} | both


@pytest.fixture(scope="module")
def own_lines(tokenizer):
    other = copy.deepcopy(tokenizer)
    other.chat_template = OWN_LINES
    return other


def rendered(config, history, tokenizer, **views):
    prompt = render_prompt(format_messages(config, history, **views), tokenizer, config, **views)
    return prompt, [(prompt.text[s.start : s.end], s.origin) for s in prompt.spans]


@pytest.mark.parametrize("thought", ["b", "  b ", "a longer one"])
def test_a_thought_on_lines_of_its_own_is_not_lost(prompt_config, own_lines, thought):
    response = f"<think>{thought}</think><answer>Up</answer>"
    prompt, pieces = rendered(prompt_config, [turn(response)], own_lines, training=True)
    shown = "".join(text for text, origin in pieces if origin == "response")
    lost = "".join(change.lost for change in prompt.changes)
    assert (thought.strip() in shown, lost.strip()) == (True, "")
    assert len(shown) + len(lost) == len(response)


@pytest.mark.parametrize(
    "thought", ["<|im_start|>assistant\n", "I am your assistant\n", "<|im_end|><|im_start|>user\n"]
)
def test_a_dropped_thought_is_not_found_in_the_templates_own_text(
    prompt_config, own_lines, thought
):
    history = [turn(f"<think>{thought}</think><answer>Up</answer>")] * 2 + [OPEN]
    prompt, pieces = rendered(prompt_config, history, own_lines)
    assert [text for text, origin in pieces if origin == "response"] == ["<answer>Up</answer>"] * 2
    cleaned = f"<think>{thought}</think>".replace("<|im_end|>\n", "<|im_end|>")
    assert [change.lost for change in prompt.changes] == [cleaned] * 2


@pytest.mark.parametrize("rest", ["", "<", "ab", "|im"])
def test_the_short_rest_of_a_response_is_found(prompt_config, own_lines, rest):
    response = f"<think>so</think>{rest}"
    prompt, pieces = rendered(prompt_config, [turn(response), OPEN], own_lines)
    shown = [text for text, origin in pieces if origin == "response"]
    assert shown == ([rest] if rest else [])
    kind = "changed" if rest else "dropped"
    assert [(c.kind, c.lost) for c in prompt.changes] == [(kind, "<think>so</think>")]


@pytest.mark.parametrize("text", ["a", "s", "system", "user\n", "<|", "im_end"])
def test_a_text_of_a_letter_is_found_where_it_is(prompt_config, tokenizer, text):
    changes = {"system_prompt": text, "forced_start": "", "history_response": "raw"}
    config = prompt_config.model_copy(update=changes)
    prompt, pieces = rendered(config, [turn(text), OPEN], tokenizer)
    assert pieces[:3] == [
        ("<|im_start|>system\n", "template"),
        (text, "system"),
        ("<|im_end|><|im_start|>user\n", "template"),
    ]
    at = pieces.index((text, "response"))
    assert pieces[at - 1][0] == "<|im_end|><|im_start|>assistant\n"
    assert prompt.changes == ()


def test_white_space_controls_nothing(prompt_config, tokenizer):
    """Gemma's tokenizer has line breaks among its added tokens."""
    other = copy.deepcopy(tokenizer)
    other.add_tokens([AddedToken("\n", normalized=False), AddedToken("<box>", normalized=False)])
    prompt, _ = rendered(prompt_config, [OPEN | {"state": "#\n<box>"}], other)
    marked = {prompt.text[slice(*prompt.offsets[index])] for index in prompt.control}
    assert marked == {"<|im_start|>", "<|im_end|>", "<box>"}


def test_an_empty_message_takes_nothing_from_the_next(prompt_config, tokenizer):
    config = prompt_config.model_copy(
        update={"system_prompt": "", "env_instruction": "<|im_end|>", "forced_start": ""}
    )
    prompt, pieces = rendered(config, [OPEN], tokenizer)
    header = "<|im_start|>system\n<|im_end|><|im_start|>user\n"
    assert pieces[:2] == [(header, "template"), ("<|im_end|>", "rules")]
    # The cleaning took the line break between two pieces, and it is said.
    assert [(c.message, c.lost) for c in prompt.changes] == [(1, "\n")]


def test_a_message_trimmed_to_nothing_takes_nothing_from_the_next(prompt_config, tokenizer):
    trims = copy.deepcopy(tokenizer)
    trims.chat_template = OWN_LINES.replace("content=m.content", "content=m.content | trim")
    texts = {"system_prompt": " ", "env_instruction": "<|im_end|>", "forced_start": ""}
    config = prompt_config.model_copy(update=texts)
    prompt, pieces = rendered(config, [OPEN], trims)
    header = "<|im_start|>system\n<|im_end|><|im_start|>user\n"
    assert pieces[:2] == [(header, "template"), ("<|im_end|>", "rules")]
    assert (prompt.changes[0].kind, prompt.changes[0].lost) == ("dropped", " ")
