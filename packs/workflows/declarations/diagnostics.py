"""Wording of mistakes in workflows, tasks and embeddings of their texts."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import SAMPLE_NOTE, Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD541",
        "no rows of `{domain}` were found",
        label="named here",
        notes=("looked for {searched}", SAMPLE_NOTE),
        help=(
            "download `train.jsonl`, `val.jsonl` and `test.jsonl` of this domain from {publisher} into `{folder}`, "
            "where `PDUAL_DATA` names a folder of yours",
            "did you mean `{near}`?",
            "put `train.jsonl`, `val.jsonl` and `test.jsonl` into `{folder}`, where `PDUAL_DATA` names a folder of yours",
        ),
        reason="FLORA-Bench has no published checksums. Download it by hand.",
    ),
    Entry(
        "PD542",
        "`{folder}` has no `{file}`",
        label="read here",
        notes=("its files are {files}",),
        help=("did you mean `{near}`?",),
        reason="The folder of a data set has to hold certain files. One of them is missing.",
    ),
    Entry(
        "PD544",
        "`{field}` is declared with {declared} numbers, the embeddings of the texts have {found}",
        label="declared here",
        reason="The embeddings have the width of the sentence encoder. The spec declares another width.",
    ),
    Entry(
        "PD545",
        "{count} texts have no embedding yet, and `{package}`, which a sentence encoder needs, is not installed",
        label="needed here",
        help=(
            "`pip install 'pdual[language]'`, or put `embeddings.npz` into `{folder}`: `sha1` and `embedding` of each text",
            "`pip install 'pdual[language]'`",
        ),
        reason="A sentence encoder embeds each text once. It is an optional dependency.",
    ),
    Entry(
        "PD546",
        "the sentence encoder `{encoder}` cannot be used: {reason}",
        label="needed here",
        notes=("{count} texts have no embedding yet",),
        help=(
            "name a folder that holds the model as `encoder`, or put `embeddings.npz` into `{folder}`: `sha1` and "
            "`embedding` of each text",
            "name a folder that holds the model as `encoder`",
        ),
        reason=(
            "The sentence encoder could not be loaded. Either it is not in the cache and cannot be downloaded, or the folder named does not "
            "hold one."
        ),
    ),
)
