"""Folders of encoders that would run code: none of it is run, whatever version of sentence-transformers reads them."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from pdual.runtime.system.foreign import ForeignCodeError, check_encoder, only_read

RAN = "ran.txt"


class Bomb:
    """What writes a file when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return Path.touch, (self.place,)


def code(folder: Path) -> str:
    return f"from pathlib import Path\nPath({str(folder.parent / RAN)!r}).touch()\nclass Evil:\n    pass\n"


def encoder(folder: Path, pooled: bool = True) -> Path:
    """A tiny BERT with its tokenizer, as sentence-transformers lays one out."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    words = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "one", "two"])}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(words), **sizes)).save_pretrained(folder)
    if pooled:
        (folder / "1_Pooling").mkdir()
        write(folder / "1_Pooling/config.json", {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True})
        write(folder / "sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})
        write(folder / "modules.json", modules())
    return folder


def modules(kind: str = "sentence_transformers.models.Pooling", path: str = "1_Pooling") -> list[dict[str, Any]]:
    first = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    return [first, {"idx": 1, "name": "1", "path": path, "type": kind}]


def write(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content), encoding="utf-8")


def changed(file: Path, **more: Any) -> None:
    write(file, {**json.loads(file.read_text(encoding="utf-8")), **more})


def of_its_own(folder: Path) -> None:
    (folder / "evil.py").write_text(code(folder))
    write(folder / "modules.json", modules("evil.Evil", ""))


def of_its_own_below(folder: Path) -> None:
    (folder / "1_Pooling" / "evil.py").write_text(code(folder))
    write(folder / "modules.json", modules("1_Pooling.evil.Evil"))


def any_function(folder: Path) -> None:
    write(folder / "modules.json", modules("os.path.join"))


def remote(folder: Path) -> None:
    (folder / "evil.py").write_text(code(folder))
    changed(folder / "config.json", auto_map={"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil"}, model_type="evil")


def remote_tokenizer(folder: Path) -> None:
    (folder / "evil.py").write_text(code(folder))
    changed(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]}, tokenizer_class="Evil")


def trusted(folder: Path) -> None:
    remote(folder)
    changed(folder / "sentence_bert_config.json", config_args={"trust_remote_code": True})


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with (folder / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Bomb(folder.parent / RAN), file)


def pickled_layer(folder: Path) -> None:
    (folder / "2_Dense").mkdir()
    write(folder / "2_Dense/config.json", {"in_features": 8, "out_features": 4, "bias": True})
    with (folder / "2_Dense/pytorch_model.bin").open("wb") as file:
        pickle.dump(Bomb(folder.parent / RAN), file)
    dense = {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    write(folder / "modules.json", [*modules(), dense])


def an_activation(folder: Path) -> None:
    pickled_layer(folder)
    (folder / "2_Dense/model.safetensors").write_bytes(b"")
    changed(folder / "2_Dense/config.json", activation_function="os.getcwd")


def elsewhere(folder: Path) -> None:
    write(folder / "modules.json", modules(path="../other"))


def a_kernel(folder: Path) -> None:
    changed(folder / "config.json", attn_implementation="somebody/kernel")


def an_adapter(folder: Path) -> None:
    write(folder / "adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "/somewhere/else"})


def a_pickled_adapter(folder: Path) -> None:
    write(folder / "adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "a/b"})
    with (folder / "adapter_model.bin").open("wb") as file:
        pickle.dump(Bomb(folder.parent / RAN), file)


HOSTILE: dict[str, Callable[[Path], None]] = {
    item.__name__: item
    for item in (
        of_its_own,
        of_its_own_below,
        any_function,
        remote,
        remote_tokenizer,
        trusted,
        pickled,
        pickled_layer,
        an_activation,
        elsewhere,
        a_kernel,
        an_adapter,
        a_pickled_adapter,
    )
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return encoder(tmp_path_factory.mktemp("encoder") / "model")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_folder_that_would_run_code_is_refused(folder: Path, name: str) -> None:
    HOSTILE[name](folder)
    with pytest.raises(ForeignCodeError):
        check_encoder(folder)
    assert not (folder.parent / RAN).exists()


def test_a_folder_that_would_not_is_not(folder: Path) -> None:
    check_encoder(folder)
    (folder / "modules.json").unlink()
    check_encoder(folder)
    (folder / "README.py").write_text("raise SystemExit")  # nothing names it
    check_encoder(folder)


def test_while_a_model_is_read_its_code_is_not_run_and_nothing_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_of_a_model.py").write_text(code(tmp_path / "x"))
    (tmp_path / "code_of_a_model.py").write_text("FINE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    bomb = pickle.dumps(Bomb(tmp_path / RAN))
    with only_read(tmp_path):
        with pytest.raises(ForeignCodeError, match="would run"):
            __import__("evil_of_a_model")
        with pytest.raises(ForeignCodeError, match="pickled"):
            pickle.loads(bomb)
        assert eval("1 + 1") == 2
    assert not (tmp_path / RAN).exists()
    assert __import__("code_of_a_model").FINE == 1  # afterwards all is as it was
    assert pickle.loads(pickle.dumps(Path("x"))) == Path("x")


@pytest.mark.parametrize("name", [None, *HOSTILE])
def test_the_package_itself_runs_none_of_it(folder: Path, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the check and without: of what slips through it, Python itself runs nothing."""
    pytest.importorskip("sentence_transformers")
    from pdual.dsl.diagnostics import Refusal
    from pdual.dsl.spans import NOWHERE
    from pdual.packs.workflows.sources import sentences

    if name is None:
        encode = sentences.load_encoder(str(folder), 1, None, NOWHERE)
        assert encode(["one two", "two"]).shape == (2, 8)
        return
    HOSTILE[name](folder)
    monkeypatch.chdir(folder)
    with pytest.raises(Refusal) as refused:
        sentences.load_encoder(str(folder), 1, None, NOWHERE)
    assert [item.code for item in refused.value.diagnostics] == ["PD546"]
    monkeypatch.setattr(sentences, "check_encoder", lambda folder: None)
    with suppress(Refusal):
        sentences.load_encoder(str(folder), 1, None, NOWHERE)
    assert not (folder.parent / RAN).exists()
