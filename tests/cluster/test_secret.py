"""The secret of a cluster: from the environment, or from a file that only the user can read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pitstop.cluster import secret
from pitstop.cluster.secret import SecretUnusable


def key_file(home: Path) -> Path:
    return home / ".config" / "pitstop" / "cluster.key"


def test_the_environment_holds_it(tmp_path: Path) -> None:
    text = "a secret that all members know"
    assert secret.find({secret.VARIABLE: text}, tmp_path) == text.encode()
    assert not key_file(tmp_path).exists()


def test_a_file_is_made_once_and_only_the_user_can_read_it(tmp_path: Path) -> None:
    first = secret.find({}, tmp_path)
    assert len(first) >= 32
    assert secret.find({}, tmp_path) == first
    assert stat.S_IMODE(key_file(tmp_path).stat().st_mode) == 0o600
    assert list(key_file(tmp_path).parent.iterdir()) == [key_file(tmp_path)]
    assert secret.find({}, tmp_path / "another") != first


def test_the_folder_of_settings_may_be_elsewhere(tmp_path: Path) -> None:
    secret.find({"XDG_CONFIG_HOME": str(tmp_path / "settings")}, tmp_path)
    assert (tmp_path / "settings" / "pitstop" / "cluster.key").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_or_write_is_not_used(tmp_path: Path, mode: int) -> None:
    secret.find({}, tmp_path)
    key_file(tmp_path).chmod(mode)
    with pytest.raises(SecretUnusable, match="others"):
        secret.find({}, tmp_path)


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_damaged_file_is_not_used(tmp_path: Path, content: bytes) -> None:
    secret.find({}, tmp_path)
    key_file(tmp_path).write_bytes(content)
    with pytest.raises(SecretUnusable):
        secret.find({}, tmp_path)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x" * 64)
    key_file(tmp_path).parent.mkdir(parents=True)
    key_file(tmp_path).symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        secret.find({}, tmp_path)


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SecretUnusable, match="characters"):
        secret.find({secret.VARIABLE: "short"}, tmp_path)
