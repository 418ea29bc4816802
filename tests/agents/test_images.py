"""A model with eyes, tiny and random: it is shown the board's picture, from a real episode on."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

from agents import load_model, load_tokenizer
from configs import GenerationConfig, ModelConfig, ModelsConfig
from play import Episode
from prompting import parse_response

TEMPLATE = Path(__file__).parents[1] / "data" / "templates" / "with-images.jinja"
SIZE, PATCH = 28, 14


@pytest.fixture(scope="module")
def models(tmp_path_factory, tokenizer):
    """A config with one model, whose weights and processor were made and saved here."""
    folder = tmp_path_factory.mktemp("tiny-vision")
    text_part = copy.deepcopy(tokenizer)
    text_part.add_special_tokens({"additional_special_tokens": ["<image>"]})
    LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": SIZE}, crop_size={"height": SIZE, "width": SIZE}
        ),
        tokenizer=text_part,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE.read_text(encoding="utf-8"),
    ).save_pretrained(folder)
    torch.manual_seed(0)
    vision = CLIPVisionConfig(
        hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        image_size=SIZE, patch_size=PATCH, projection_dim=32,
    )  # fmt: skip
    text = LlamaConfig(
        vocab_size=len(text_part), hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, bos_token_id=text_part.bos_token_id,
        eos_token_id=text_part.eos_token_id,
    )  # fmt: skip
    model = LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=vision,
            text_config=text,
            image_token_index=text_part.convert_tokens_to_ids("<image>"),
            vision_feature_layer=-1,
        )
    )
    with torch.no_grad():  # so that pictures weigh as much as words
        model.model.multi_modal_projector.linear_2.weight.mul_(50)
    model.save_pretrained(folder)
    entry = ModelConfig(label="Tiny eyes", path=str(folder), images=True, dtype="float32")
    return ModelsConfig(default="eyes", models={"eyes": entry})


@pytest.fixture
def episode(config):
    return Episode.start(config).act("Right").act("Up")


def test_the_prompt_holds_the_pictures(models, episode):
    processor = load_tokenizer("eyes", models)
    prompt = episode.prompt(processor)
    assert len(prompt.images) == 3
    assert prompt.text.count("<image>") == 3
    placeholder = processor.tokenizer.convert_tokens_to_ids("<image>")
    assert prompt.token_ids.count(placeholder) == 3 * (SIZE // PATCH) ** 2


@pytest.mark.parametrize("mode", ["free", "grammar", "choice"])
def test_an_episode_is_played_by_sight(models, episode, last, mode):
    model = load_model("eyes", models)
    generation = GenerationConfig(temperature=0, max_new_tokens=5)
    agent = model.agent(episode.config, mode=mode, generation=generation)
    for _ in range(2):
        prompt = episode.prompt(model.tokenizer)
        reply = last(agent.respond(prompt))
        assert reply.error is None
        assert reply.prompt_tokens == len(prompt.token_ids)
        assert reply.reused_tokens == 0
        assert set(reply.action_probabilities) == {"Up", "Down", "Left", "Right"}
        raw = episode.config.response_start + reply.text
        episode = episode.respond(raw, by=model.label, prompt=prompt, reply=reply)
        assert (parse_response(raw, episode.config).action is None) == (mode == "free")
    assert len(episode.turns) == 4


def test_the_ids_and_the_pixels_are_what_the_model_reads(models, episode, last):
    model = load_model("eyes", models)
    prompt = episode.prompt(model.tokenizer)
    generation = GenerationConfig(temperature=0, max_new_tokens=6)
    agent = model.agent(episode.config, mode="free", generation=generation)
    reply = last(agent.respond(prompt))
    pixels = model.tokenizer.image_processor(list(prompt.images), return_tensors="pt")
    expected = model.model.generate(
        input_ids=torch.tensor([prompt.token_ids]), **pixels, do_sample=False, max_new_tokens=6
    )[0, len(prompt.token_ids) :]
    assert list(reply.token_ids) == expected.tolist()
    # The scores are those of whole passes over the prompt and each answer.
    for name, value in reply.action_log_probabilities:
        answer = model.tokenizer.tokenizer(f"{name}</answer>", add_special_tokens=False)
        ids = answer["input_ids"]
        with torch.inference_mode():
            logits = model.model(
                input_ids=torch.tensor([[*prompt.token_ids, *ids]]), **pixels
            ).logits[0, -len(ids) - 1 : -1]
        chosen = torch.log_softmax(logits, -1).gather(1, torch.tensor(ids)[:, None]).sum()
        assert value == pytest.approx(float(chosen), abs=1e-3)


def test_another_picture_is_another_prompt(models, episode, last):
    """The ids are the same, so nothing of the first may be reused for the second."""
    model = load_model("eyes", models)
    prompt = episode.prompt(model.tokenizer)
    images = tuple(255 - np.asarray(image) for image in prompt.images)
    other = type(prompt)(text=prompt.text, token_ids=prompt.token_ids, images=images)
    agent = model.agent(episode.config, mode="choice")
    seen, unseen, again = (last(agent.respond(p)) for p in (prompt, other, prompt))
    assert seen.action_log_probabilities == again.action_log_probabilities
    assert seen.action_log_probabilities != unseen.action_log_probabilities


def test_words_alone_are_read_as_well_and_reused(models, config, make_prompt, last):
    model = load_model("eyes", models)
    agent = model.agent(config.prompt, mode="choice")
    first, second = (last(agent.respond(make_prompt(turns))) for turns in (1, 2))
    assert first.error is None
    assert second.reused_tokens >= first.prompt_tokens - 1


def test_stale_ids_are_refused(models, episode, last):
    model = load_model("eyes", models)
    prompt = episode.prompt(model.tokenizer)
    stale = type(prompt)(text=prompt.text, token_ids=prompt.token_ids[:-1], images=prompt.images)
    reply = last(model.agent(episode.config).respond(stale))
    assert "other token ids" in reply.error


def test_a_model_without_eyes_says_so(tiny, models, episode, last):
    prompt = episode.prompt(load_tokenizer("eyes", models))
    reply = last(tiny.agent(episode.config).respond(prompt))
    assert "reads text only" in reply.error
