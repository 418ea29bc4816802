"""The right answers that came with the prompt guide, byte for byte."""

import json
from pathlib import Path

import pytest

from prompting import format_messages, parse_response, render_prompt

DATA = Path(__file__).parents[1] / "data"
FORMAT_CASES = json.loads((DATA / "format_cases.json").read_text(encoding="utf-8"))
PARSE_CASES = json.loads((DATA / "parse_cases.json").read_text(encoding="utf-8"))


def variant(prompt_config, case):
    return type(prompt_config).model_validate(
        {
            name: case[name]
            for name in ("env_instruction", "grid_vocab", "action_lookup", "enable_think")
        }
        | {"max_tokens": case["max_tokens"]}
    )


@pytest.mark.parametrize("case", FORMAT_CASES, ids=lambda case: str(case["id"]))
def test_messages_and_text(case, prompt_config, tokenizer):
    config = variant(prompt_config, case)
    views = {"training": case["prepare_for_update"], "raw_responses": case["use_raw_llm_response"]}
    messages = format_messages(config, case["history"], **views)
    assert messages == case["messages"]
    prompt = render_prompt(messages, tokenizer, config, **views)
    assert prompt.text == case["text"]
    assert list(prompt.token_ids) == tokenizer.encode(case["text"], add_special_tokens=False)
    assert "".join(prompt.text[span.start : span.end] for span in prompt.spans) == prompt.text
    assert prompt.changes == ()


@pytest.mark.parametrize("case", PARSE_CASES, ids=lambda case: case["llm_raw_response"])
def test_parsing(case, prompt_config):
    config = prompt_config.model_copy(update={"enable_think": case["enable_think"]})
    parsed = parse_response(case["llm_raw_response"], config)
    assert parsed.llm_response == case["llm_response"]
    assert list(parsed.actions) == case["actions"]
    assert ([] if parsed.action is None else [parsed.action]) == case["mapped"]
    assert (parsed.problem is None) == bool(case["mapped"])
