"""The cache folder, and files that are whole or not there."""

from pathlib import Path

import pytest

from pdual.runtime.data.cache import cache_root, whole_file
from pdual.runtime.data.context import SourceContext


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("PDUAL_CACHE", raising=False)
    assert cache_root(SourceContext()) == tmp_path / "xdg" / "pdual"
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "own"))
    assert cache_root(SourceContext()) == tmp_path / "own"
    assert cache_root(SourceContext(cache=tmp_path)) == tmp_path


def test_a_file_is_there_once_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "new" / "file"
    with whole_file(place) as file:
        file.write(b"all of it")
        assert not place.exists()
    assert place.read_bytes() == b"all of it"
    assert list(place.parent.iterdir()) == [place]


def interrupted(place: Path, by: type[BaseException]) -> None:
    with whole_file(place) as file:
        file.write(b"half")
        raise by


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_what_was_there(tmp_path: Path, interruption: type[BaseException]) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"old")
    with pytest.raises(interruption):
        interrupted(place, interruption)
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]
