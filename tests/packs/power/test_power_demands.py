"""The rows of `power.demands`: drawn, cached, resumed, read from a file."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from power_oracle import CASES, SHIPPED, cost, known, parts, refused
from pydantic import ValidationError

from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import GivenReference
from pdual.packs.power.declarations.sources import POWER_DEMANDS, PowerDemandsSettings, split_sizes
from pdual.packs.power.optima import cache as power_cache
from pdual.packs.power.optima import chunks as power_chunks
from pdual.packs.power.optima.demands import load_demands
from pdual.runtime.data.context import Progress, SourceContext

GRID = known("six.m")


class Heard(Progress):
    def __init__(self):
        self.total = self.done = 0
        self.notes = []

    def start(self, title, total):
        self.total += total

    def advance(self, steps=1, note=""):
        self.done += steps
        self.notes += [note] if note else []


def settings(**values):
    return PowerDemandsSettings(**{"grid": GivenReference("grid"), "samples": 200, **values})


def load(tmp_path, grid=GRID, progress=None, workers=1, limit=None, **values):
    context = SourceContext(
        knowns={"grid": grid},
        folder=tmp_path,
        cache=tmp_path / "cache",
        workers=workers,
        limit=limit,
        progress=progress or Progress(),
    )
    return load_demands(settings(**values), context)


def rows(table, split):
    batch = table.batch(table.splits[split]).values
    return torch.cat([column.reshape(len(column), -1) for column in batch.values()], dim=1)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demands")
    return folder, load(folder)


@pytest.fixture
def table(solved):
    return solved[1]


@pytest.fixture
def warm(solved, tmp_path):
    """A folder whose cache holds the table."""
    shutil.copytree(solved[0] / "cache", tmp_path / "cache")
    return tmp_path


def test_columns_are_float64_with_the_shapes_of_the_offer(table):
    shapes = {name: tuple(column.shape) for name, column in table.columns.items()}
    assert shapes == {
        **dict.fromkeys(("load.re", "load.im", "v.re", "v.im"), (200, 6)),
        **dict.fromkeys(("s.re", "s.im"), (200, 3)),
        "optimum": (200,),
    }
    assert {column.dtype for column in table.columns.values()} == {torch.float64}
    assert {name: len(ids) for name, ids in table.splits.items()} == {"train": 160, "val": 20, "test": 20}
    assert POWER_DEMANDS.rows(settings()) == {"train": 160, "val": 20, "test": 20}


def test_every_row_is_an_optimum_within_the_limits(table):
    for row in (0, 150, 170, 199):
        values = {name: column[row].numpy() for name, column in table.columns.items()}
        v, s = values["v.re"] + 1j * values["v.im"], values["s.re"] + 1j * values["s.im"]
        residuals = parts(GRID, values["load.re"] + 1j * values["load.im"], v, s)
        assert values["optimum"] == pytest.approx(cost(GRID, s), rel=1e-9)
        for part, entries in residuals.items():
            held = np.abs(entries) if part.startswith(("balance", "reference")) else entries
            assert held.max() < 1e-7, part
            assert table.multipliers[part].shape == (200, len(entries))


def test_loads_are_scaled_independently_and_uniformly(table):
    nominal = np.array(GRID.fields["load"])
    loaded = np.flatnonzero(nominal.real)
    p = table.columns["load.re"].numpy()[:, loaded] / nominal.real[loaded]
    q = table.columns["load.im"].numpy()[:, loaded] / nominal.imag[loaded]
    factors = np.concatenate([p, q], axis=1)
    assert factors.min() >= 0.8
    assert factors.max() <= 1.2
    # 200 draws of U[0.8, 1.2]: mean 1 with a standard error of 0.0082, sd 0.1155
    assert np.abs(factors.mean(axis=0) - 1).max() < 0.04
    assert factors.std(axis=0) == pytest.approx(np.full(10, 0.1155), rel=0.15)
    correlation = np.corrcoef(factors.T) - np.eye(10)
    assert np.abs(correlation).max() < 0.3
    assert (table.columns["load.re"][:, 0] == 0).all()


def test_the_result_does_not_depend_on_the_number_of_workers(table, tmp_path):
    both = load(tmp_path, workers=2)
    assert both.fingerprint == table.fingerprint
    assert all(torch.equal(both.columns[name], table.columns[name]) for name in table.columns)
    assert all(torch.equal(both.multipliers[name], table.multipliers[name]) for name in table.multipliers)


def test_a_limited_table_is_the_beginning_of_every_split(table, tmp_path):
    few = load(tmp_path, limit=7, samples=10_000)
    assert len(few) == 21
    for split in ("train", "val", "test"):
        assert torch.equal(rows(few, split), rows(table, split)[:7])
    assert [few.address(row) for row in (0, 6, 7, 14)] == ["0", "6", "8000", "9000"]
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == 3


def test_another_draw_changes_the_test_split_alone(table, tmp_path):
    other = load(tmp_path, limit=20, draw=1)
    assert torch.equal(rows(other, "train"), rows(table, "train")[:20])
    assert torch.equal(rows(other, "val"), rows(table, "val"))
    assert not torch.isclose(rows(other, "test"), rows(table, "test"))[:, 1:6].any()
    assert not torch.isclose(rows(table, "test"), rows(table, "val"))[:, 1:6].any()


def test_another_seed_changes_every_split(table, tmp_path):
    other = load(tmp_path, limit=20, seed=1)
    for split in ("train", "val", "test"):
        assert not torch.isclose(rows(other, split), rows(table, split)[:20])[:, 1:6].any()


def test_draws_without_an_optimum_are_not_kept(tmp_path):
    grid = known(SHIPPED)
    found = load(tmp_path, grid, samples=40, split=[1, 0, 0])
    (chunk,) = (tmp_path / "cache").rglob("*.npz")
    kept = np.load(chunk)["kept"]
    assert list(found.splits) == ["train"]
    assert 40 <= len(kept) < power_cache.CHUNK
    drawn = power_chunks.draw_loads(np.array(grid.fields["load"]), 0.2, (0, 0, 0), range(power_cache.CHUNK))
    assert np.array_equal(found.columns["load.re"].numpy(), drawn[kept[:40]].real)
    # what is missing asks for more than the grid can carry: 295 MW (notes of the feasibility study)
    missing = np.setdiff1d(np.arange(power_cache.CHUNK), kept)
    assert drawn[missing].real.sum(axis=1).min() > 2.95
    assert np.median(drawn[kept].real.sum(axis=1)) < 2.95


def test_progress_counts_rows(warm):
    heard = Heard()
    load(warm, progress=heard)
    assert heard.total == 200
    assert heard.done >= 200


def test_a_second_time_nothing_is_solved(table, warm, monkeypatch):
    def forbidden(*_):
        raise AssertionError("solved again")

    monkeypatch.setattr(power_chunks, "solve_chunk", forbidden)
    assert load(warm).fingerprint == table.fingerprint


@pytest.mark.parametrize("damage", ["cut", "words", "shape", "object", "empty"])
def test_a_damaged_chunk_is_solved_again_and_said(damage, table, warm):
    place = sorted((warm / "cache").rglob("000001.npz"))[0]
    content = place.read_bytes()
    if damage == "shape":
        np.savez(place, kept=np.arange(2), rows=np.zeros((2, 3)))
    elif damage == "object":
        np.savez(place, kept=np.array([{}], dtype=object), rows=np.zeros((1, 3)))
    else:
        place.write_bytes({"cut": content[:-500], "words": b"not an archive", "empty": b""}[damage])
    heard = Heard()
    assert load(warm, progress=heard).fingerprint == table.fingerprint
    assert [("damaged" in note, str(place) in note) for note in heard.notes] == [(True, True)]
    assert place.read_bytes() == content


def test_a_flipped_bit_is_noticed(table, warm):
    place = sorted((warm / "cache").rglob("000000.npz"))[0]
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)
    assert load(warm).fingerprint == table.fingerprint


def test_what_was_solved_before_an_interruption_is_kept(table, tmp_path, monkeypatch):
    class Interrupting(Heard):
        def advance(self, steps=1, note=""):
            super().advance(steps, note)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(tmp_path, limit=5, progress=Interrupting())
    solved, solve = [], power_chunks.solve_chunk
    monkeypatch.setattr(power_chunks, "solve_chunk", lambda *given: solved.append(1) or solve(*given))
    assert torch.equal(rows(load(tmp_path, limit=5), "train"), rows(table, "train")[:5])
    assert len(solved) == 2  # the chunk of train was solved before, those of val and test were not
    assert not list((tmp_path / "cache").rglob("*.tmp"))


def test_without_a_second_process_the_first_does_the_work(table, tmp_path, monkeypatch):
    def no_pool(*_, **__):
        raise OSError("no semaphores here")

    monkeypatch.setattr(power_chunks, "Parallel", no_pool)
    alone = load(tmp_path, workers=2, samples=80, split=[1, 0, 0])
    assert torch.equal(rows(alone, "train"), rows(table, "train")[:80])


def test_a_cache_that_cannot_be_written_is_said_and_harmless(table, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    heard = Heard()
    found = load(tmp_path, progress=heard, limit=5)
    assert torch.equal(rows(found, "test"), rows(table, "test")[:5])
    assert heard.notes
    assert all("nothing can be kept" in note for note in heard.notes)


def test_workers_start_without_torch():
    code = "import sys, pdual.packs.power.optima.chunks; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_script_without_a_main_guard_is_not_run_again_by_its_workers(tmp_path):
    """Many a script has no `if __name__ == "__main__"`: a spawned pool would start its work anew in each worker."""
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import pathlib, sys
from pdual.packs.power.declarations.sources import PowerCaseSettings
from pdual.runtime.data.context import Progress, SourceContext
from pdual.packs.power.optima.cache import ChunkStore
from pdual.packs.power.cases.case import load_case
from pdual.packs.power.optima.chunks import ChunkSolver, GridProblem
from pdual.packs.power.optima.grid import grid_of
from pdual.packs.power.optima.record import record_width
folder = pathlib.Path({str(tmp_path)!r})
with (folder / "runs").open("a") as file:
    file.write("run ")
grid = grid_of(load_case(PowerCaseSettings(name={str(CASES / "six.m")!r}), SourceContext()))
store = ChunkStore(folder, ("script",), record_width(grid), Progress())
solver = ChunkSolver(GridProblem("six", 300, grid), store, 2, Progress())
print([len(chunk.kept) for chunk in solver.chunks(range(2), lambda index: grid.load.reshape(1, -1))])
"""
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1, 1]"
    assert (tmp_path / "runs").read_text() == "run "


# --- settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("samples", "split", "sizes"),
    [
        (10_000, (0.8, 0.1, 0.1), {"train": 8000, "val": 1000, "test": 1000}),
        (7, (0.5, 0.25, 0.25), {"train": 3, "val": 2, "test": 2}),
        (1, (0.2, 0.4, 0.4), {"train": 1}),
        (2, (0.2, 0.4, 0.4), {"train": 1, "val": 1}),
        (5, (1.0, 0.0, 0.0), {"train": 5}),
        (3, (0.8, 0.1, 0.1), {"train": 3}),
    ],
)
def test_split_sizes_add_up_and_leave_rows_to_train(samples, split, sizes):
    assert split_sizes(samples, split) == sizes
    assert sum(sizes.values()) == samples


@pytest.mark.parametrize(
    "wrong",
    [
        {"spread": 0},
        {"spread": 1},
        {"samples": 0},
        {"seed": -1},
        {"iterations": 0},
        {"split": [0.8, 0.1]},
        {"split": [0.8, 0.1, 0.2]},
        {"split": [0, 0.5, 0.5]},
        {"split": [1.1, -0.1, 0]},
        {"spreed": 0.1},
    ],
)
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(ValidationError):
        settings(**wrong)


def test_settings_at_the_edge_are_accepted():
    chosen = settings(spread=0.999, samples=1, split=[1, 0, 0], seed=0, iterations=1)
    assert chosen.split == (1.0, 0.0, 0.0)


# --- refusals ----------------------------------------------------------------------------------------------


def test_a_given_that_is_no_grid_is_refused(tmp_path):
    fields = {name: values for name, values in GRID.fields.items() if name not in ("tap", "rate")}
    (diagnostic,) = refused(lambda: load(tmp_path, Known(GRID.sets, fields)))
    assert (diagnostic.code, diagnostic.fact["missing"]) == ("PD520", "`tap`, `rate`")


def test_demands_beyond_what_the_grid_carries_are_refused(tmp_path):
    heavy = {**GRID.fields, "load": [3 * load for load in GRID.fields["load"]]}
    given = Known(GRID.sets, heavy, "heavy")
    (diagnostic,) = refused(lambda: load(tmp_path, given, samples=2000, iterations=10))
    assert diagnostic.code == "PD515"
    assert diagnostic.fact["kept"] == "0"
    assert diagnostic.fact["drawn"] == "256"


def own(tmp_path, name="own.npz", factor=1.0, count=20, **changes):
    loads = np.outer(np.linspace(0.9, 1.1, count), np.array(GRID.fields["load"]))
    loads[-1] *= factor
    np.savez(tmp_path / name, **{"load_re": loads.real, "load_im": loads.imag, **changes})
    return loads


def test_demands_of_ones_own_keep_their_order(tmp_path):
    loads = own(tmp_path)
    found = load(tmp_path, file="own.npz", split=[0.5, 0.25, 0.25])
    assert {name: ids.tolist() for name, ids in found.splits.items()} == {
        "train": list(range(10)),
        "val": list(range(10, 15)),
        "test": list(range(15, 20)),
    }
    assert np.array_equal(found.columns["load.re"].numpy(), loads.real)
    assert POWER_DEMANDS.rows(settings(file="own.npz")) is None


def test_a_limit_takes_the_first_rows_of_each_part_of_a_file(tmp_path):
    loads = own(tmp_path)
    found = load(tmp_path, file="own.npz", split=[0.5, 0.25, 0.25], limit=2)
    assert np.array_equal(found.columns["load.im"].numpy(), loads.imag[[0, 1, 10, 11, 15, 16]])
    assert [found.address(row) for row in range(6)] == ["0", "1", "10", "11", "15", "16"]


def test_a_demands_file_that_is_not_there_names_the_nearest(tmp_path):
    own(tmp_path)
    (diagnostic,) = refused(lambda: load(tmp_path, file="owm.npz"))
    assert (diagnostic.code, diagnostic.fact["near"]) == ("PD516", "own.npz")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"load_re": np.zeros((20, 5))}, "`load_re` of shape [20, 5]"),
        ({"load_im": np.zeros(20)}, "`load_im` of shape [20]"),
        ({"load_im": np.zeros((19, 6))}, "20 rows of `load_re`, 19 of `load_im`"),
        ({"load_re": np.full((20, 6), "x")}, "type <U1"),
        ({"load_re": np.zeros((0, 6)), "load_im": np.zeros((0, 6))}, "shape [0, 6]"),
        ({"load_re": np.full((20, 6), None)}, "its array `load_re` cannot be read: it holds Python objects"),
    ],
)
def test_arrays_of_another_form_are_refused(changes, found, tmp_path):
    own(tmp_path, **changes)
    (diagnostic,) = refused(lambda: load(tmp_path, file="own.npz"))
    assert diagnostic.code == "PD517"
    assert found in diagnostic.fact["found"]


def test_other_names_and_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", p=np.zeros((2, 6)))
    (diagnostic,) = refused(lambda: load(tmp_path, file="other.npz"))
    assert (diagnostic.code, diagnostic.fact["found"]) == ("PD517", "`p`")
    for name, content in (("text.npz", b"load_re"), ("empty.npz", b"")):
        (tmp_path / name).write_bytes(content)
        assert refused(lambda name=name: load(tmp_path, file=name))[0].code == "PD517"
    np.save(tmp_path / "plain.npy", np.zeros((2, 6)))
    assert refused(lambda: load(tmp_path, file="plain.npy"))[0].code == "PD517"


def test_entries_that_are_no_numbers_are_refused_with_their_rows(tmp_path):
    loads = np.outer(np.ones(20), np.array(GRID.fields["load"]))
    loads.real[[3, 5, 7, 11], 2] = np.nan
    own(tmp_path, load_re=loads.real)
    (diagnostic,) = refused(lambda: load(tmp_path, file="own.npz"))
    assert diagnostic.code == "PD518"
    assert diagnostic.fact["rows"] == "rows `3`, `5`, `7` and 1 more"
    assert (diagnostic.fact["count"], diagnostic.fact["total"]) == ("4", "20")


def test_demands_of_ones_own_without_an_optimum_are_refused_with_their_rows(tmp_path):
    own(tmp_path, factor=9.0)
    (diagnostic,) = refused(lambda: load(tmp_path, file="own.npz"))
    assert (diagnostic.code, diagnostic.fact["rows"]) == ("PD519", "row `19`")
    own(tmp_path, factor=1.0)
    assert len(load(tmp_path, file="own.npz")) == 20
