"""What ``causal_lm`` refuses, as a user sees it, each beside a neighbour that is accepted."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import golden
import pytest
import torch
import transformers
from safetensors.torch import save_file
from small_language import CONTEXT, PAIRS, VOCABULARY, made, write_base, write_rows
from torch import nn

from pdual.compiler.compile import lower
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render
from pdual.dsl.spans import Source
from pdual.packs.language.models import base as language_base
from pdual.packs.language.models import tokens as language_tokens
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.storage.packing import pack
from pdual.runtime.system import hub

SPEC = """problem tiny "t"
data kept = tofu("full") {{ question: text, answer: text }}
model lm(prompt: text, answer: text) -> {{ logprob: real[token] }} = causal_lm(base{settings})
over x in kept {{
  let now = lm(x.question, x.answer)
  minimize -sum[k in token](now.logprob[k])
}}
solve {{ outer = 1, descent = adam(lr = 1e-3, batch = 2, epochs = 1) }}
param base = "BASE"
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("tiny"))


def prepared(folder: Path, base: Path | str, settings: str = "", pairs: Any = PAIRS, text: str = SPEC) -> Any:
    write_rows(folder, "full", pairs)
    spec, found = read(Source("tiny.pdual", text.format(settings=settings)), {"base": str(base)})
    assert spec is not None, found
    graph, _ = lower(spec, {})
    tables = load_tables(spec, {}, SourceContext(file=None, files={"kept": folder / "full.jsonl"}))
    return prepare(graph, tables, torch.float32, {})


def told(name: str, folder: Path, base: Path | str, settings: str = "", pairs: Any = PAIRS, text: str = SPEC) -> str:
    """The code of a refusal whose text is that of its golden file."""
    with pytest.raises(Refusal) as refusal:
        prepared(folder, base, settings, pairs, text)
    (item,) = refusal.value.diagnostics
    printed = render(item, Source("tiny.pdual", text.format(settings=settings))) + "\n"
    printed = printed.replace(str(base), "BASE")
    golden.hold(Path(__file__).parent / "refusals" / name, printed)
    return item.code


@pytest.mark.parametrize("last", [VOCABULARY - 1, VOCABULARY])
def test_a_set_of_words_is_the_vocabulary(base: Path, tmp_path: Path, last: int) -> None:
    wide = SPEC.replace("param base", f"set word = 0..{last}\nparam base").replace(
        "logprob: real[token] }}", "logprob: real[token], logits: real[token, word] }}"
    )
    wide = wide.replace("now.logprob[k]", "now.logprob[k] + now.logits[k, 1]")
    if last < VOCABULARY:
        assert list(prepared(tmp_path, base, text=wide).models) == ["lm"]
    else:
        assert told("lm_words", tmp_path, base, text=wide) == "PD655"


def test_a_base_in_a_folder_is_accepted(base: Path, tmp_path: Path) -> None:
    for settings in ("", ', template = "plain"', f", max_tokens = {CONTEXT}", ", layers = 2", ", lora = 1"):
        assert list(prepared(tmp_path, base, settings).models) == ["lm"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert told("lm_no_folder", tmp_path, "./nowhere/at/all") == "PD644"


def test_a_name_that_no_hub_answers_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub.utils import logging as logs

    def unreachable(*_: object, **__: object) -> None:
        logs.get_logger("huggingface_hub.utils").warning("Retrying in 1s")
        raise OSError("We couldn't connect to the hub, and the model is not in the cache.\nMore of it.")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", unreachable)
    monkeypatch.setattr(language_base, "unreachable", lambda base: None)
    before = logs.get_verbosity()
    assert told("lm_no_hub", tmp_path, "somebody/something") == "PD644"
    assert "Retrying" not in "".join(capfd.readouterr())
    assert logs.get_verbosity() == before


def test_a_hub_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked once, and what fails is told at once: nothing listens at that port."""
    from huggingface_hub import constants

    where = "http://127.0.0.1:9"
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, where)
    monkeypatch.setattr(constants, "ENDPOINT", where)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    begun = time.monotonic()
    assert told("lm_no_answer", tmp_path, "somebody/something") == "PD644"
    assert time.monotonic() - begun < 15  # the library's own attempts take 23 s of waiting alone


def test_what_a_hub_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """That there is no such model is an answer, and what could not be a model's name needs none."""
    import huggingface_hub
    from huggingface_hub.errors import OfflineModeIsEnabled, RepositoryNotFoundError

    def failing(error: Exception) -> Any:
        def ask(url: str, timeout: float) -> None:
            assert url.endswith("/somebody/something/resolve/main/config.json")
            assert timeout == hub.PATIENCE
            raise error

        return ask

    monkeypatch.delenv("HF_HUB_ETAG_TIMEOUT", raising=False)
    missing = RepositoryNotFoundError.__new__(RepositoryNotFoundError)
    for error, said in (
        (OfflineModeIsEnabled(""), "OfflineModeIsEnabled"),
        (TimeoutError(), "TimeoutError"),
        (missing, None),
    ):
        monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", failing(error))
        hub.unreachable.cache_clear()
        found = hub.unreachable("somebody/something")
        assert (found is None) if said is None else (found is not None and said in found)
        # Asked once: another answer now would not be heard.
        monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", failing(ValueError()))
        assert hub.unreachable("somebody/something") == found
    hub.unreachable.cache_clear()


def test_a_folder_without_its_weights(base: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(base, copied)
    (copied / "model.safetensors").unlink()
    with pytest.raises(Refusal) as refusal:
        prepared(tmp_path, copied)
    assert refusal.value.diagnostics[0].code == "PD644"
    # What is not safe to read is not read.
    torch.save({}, copied / "pytorch_model.bin")
    with pytest.raises(Refusal) as refusal:
        prepared(tmp_path, copied)
    assert refusal.value.diagnostics[0].code == "PD644"


def test_a_package_that_is_not_installed(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = language_base.importlib.import_module

    def without(name: str) -> Any:
        if name == "peft":
            raise ModuleNotFoundError("No module named 'peft'", name="peft")
        return real(name)

    monkeypatch.setattr(language_base.importlib, "import_module", without)
    assert told("lm_package", tmp_path, base, ", lora = 1") == "PD645"
    assert list(prepared(tmp_path, base).models) == ["lm"]


def test_a_tokenizer_without_a_chat_template(tmp_path: Path) -> None:
    bare = write_base(tmp_path / "bare", template=False)
    assert told("lm_no_template", tmp_path, bare) == "PD646"
    assert list(prepared(tmp_path, bare, ', template = "plain"').models) == ["lm"]


@pytest.mark.parametrize("answer", ["", " \n"])
def test_an_empty_answer(base: Path, tmp_path: Path, answer: str) -> None:
    assert told("lm_empty", tmp_path, base, "", [*PAIRS[:2], ("Why?", answer)]) == "PD647"
    assert list(prepared(tmp_path, base, "", [*PAIRS[:2], ("", "y")]).models) == ["lm"]


def test_an_answer_that_is_no_token_to_the_tokenizer(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control characters are text, and some tokenizers drop them."""
    model = made(base)
    monkeypatch.setattr(language_tokens, "_ids", lambda tokenizer, text, special: () if "\x00" in text else (5,))
    model.check("Why?", "y", "kept", lambda: "3")
    with pytest.raises(Refusal) as refusal:
        model.check("Why?", "\x00", "kept", lambda: "3")
    assert refusal.value.diagnostics[0].code == "PD647"
    assert dict(refusal.value.diagnostics[0].facts)["address"] == "3"


def test_rows_that_only_an_average_reads_are_looked_at_too(base: Path, tmp_path: Path) -> None:
    """Their address is told before anything trains."""
    text = (
        'problem tiny "t"\ndata kept = tofu("full") { question: text, answer: text }\n'
        "model lm(prompt: text, answer: text) -> { logprob: real[token] } = causal_lm(base)\n"
        "minimize squared_norm(lm)\n"
        "subject to low: mean[x in kept](-mean[k in token](lm(x.question, x.answer).logprob[k])) <= 1\n"
        'param base = "BASE"\n'
    )
    spec, found = read(Source("tiny.pdual", text), {"base": str(base)})
    assert spec is not None, found
    for answer, refused in (("y", False), (" ", True)):
        write_rows(tmp_path, "full", [*PAIRS[:2], ("Why?", answer)])
        tables = load_tables(spec, {}, SourceContext(files={"kept": tmp_path / "full.jsonl"}))
        if not refused:
            assert list(prepare(lower(spec, {})[0], tables, torch.float32, {}).models) == ["lm"]
            continue
        with pytest.raises(Refusal) as refusal:
            prepare(lower(spec, {})[0], tables, torch.float32, {})
        assert refusal.value.diagnostics[0].code == "PD647"


def test_a_row_that_is_too_long(base: Path, tmp_path: Path) -> None:
    reader = made(base).reader

    def row(tokens: int) -> tuple[str, str]:
        """A pair of so many tokens: a byte that occurs in no text is one."""
        short = len(reader.tokens("Why?", "~").ids)
        return ("Why?", "~" * (tokens - short + 1))

    assert len(reader.tokens(*row(CONTEXT)).ids) == CONTEXT
    assert list(prepared(tmp_path, base, "", [row(CONTEXT)]).models) == ["lm"]
    assert told("lm_too_long", tmp_path, base, "", [PAIRS[0], row(CONTEXT + 1)]) == "PD648"
    assert list(prepared(tmp_path, base, ", max_tokens = 60", [row(60)]).models) == ["lm"]
    assert told("lm_over_max", tmp_path, base, ", max_tokens = 60", [row(61)]) == "PD648"


def test_a_run_that_trained_no_language_model_or_two(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Folders that no run made count as runs from elsewhere, which may name no folder: here it is their weights that matter.
    monkeypatch.setattr(language_base, "_check_origin", lambda *_: None)
    for name, models in (("none", 0), ("two", 2), ("one", 1)):
        run = tmp_path / name
        (run / "checkpoint").mkdir(parents=True)
        (run / "run.json").write_text("{}")
        tensors, document = pack({"models": nn.ModuleDict({f"m{k}": made(base) for k in range(models)}).state_dict()})
        save_file(tensors, run / "checkpoint" / "tensors.safetensors")
        (run / "checkpoint" / "state.json").write_text(json.dumps(document))
    assert told("lm_run_of_none", tmp_path, tmp_path / "none") == "PD653"
    assert told("lm_run_of_two", tmp_path, tmp_path / "two") == "PD653"
    assert list(prepared(tmp_path, tmp_path / "one").models) == ["lm"]
    (tmp_path / "one" / "checkpoint" / "tensors.safetensors").write_bytes(b"damaged")
    with pytest.raises(Refusal) as refusal:
        prepared(tmp_path, tmp_path / "one")
    assert refusal.value.diagnostics[0].code == "PD644"


def test_more_layers_than_there_are(base: Path, tmp_path: Path) -> None:
    assert told("lm_layers", tmp_path, base, ", layers = 3") == "PD649"


def test_half_without_an_adapter_and_a_template_that_is_none(base: Path) -> None:
    for settings, code in ((", half = true", "PD219"), (', template = "chatty"', "PD217")):
        _, found = read(Source("tiny.pdual", SPEC.format(settings=settings)), {"base": str(base)})
        assert [item.code for item in found] == [code]


def test_a_state_that_was_trained_on_another_base(base: Path, tmp_path: Path) -> None:
    other = write_base(tmp_path / "other", seed=1)
    state = made(base, lora=1).state_dict()
    with pytest.raises(Refusal) as refusal:
        made(other, lora=1).load_state_dict(state)
    assert refusal.value.diagnostics[0].code == "PD654"
    made(base, lora=1, seed=3).load_state_dict(state)
    # Where all weights are in the state, it does not matter what they began as.
    made(other).load_state_dict(made(base).state_dict())
