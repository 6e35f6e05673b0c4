"""The secret of a cluster: from the environment, or from a file that only the user can read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pitstop.cluster import secret
from pitstop.cluster.secret import SecretUnusable


def found(home: Path, **more: str) -> bytes:
    return secret.find({"HOME": str(home), **more})


def key_file(home: Path) -> Path:
    return home / ".config" / "pitstop" / "cluster.key"


def test_the_environment_holds_it(tmp_path: Path) -> None:
    text = "a secret that all members know"
    assert found(tmp_path, **{secret.VARIABLE: text}) == text.encode()
    assert not key_file(tmp_path).exists()


def test_a_file_is_made_once_and_only_the_user_can_read_it(tmp_path: Path) -> None:
    first = found(tmp_path)
    assert len(first) >= 32
    assert found(tmp_path) == first
    assert stat.S_IMODE(key_file(tmp_path).stat().st_mode) == 0o600
    assert list(key_file(tmp_path).parent.iterdir()) == [key_file(tmp_path)]
    assert found(tmp_path / "another") != first


def test_the_folder_of_settings_may_be_elsewhere(tmp_path: Path) -> None:
    found(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "settings"))
    assert (tmp_path / "settings" / "pitstop" / "cluster.key").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_or_write_is_not_used(tmp_path: Path, mode: int) -> None:
    found(tmp_path)
    key_file(tmp_path).chmod(mode)
    with pytest.raises(SecretUnusable, match="others"):
        found(tmp_path)


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_damaged_file_is_not_used(tmp_path: Path, content: bytes) -> None:
    found(tmp_path)
    key_file(tmp_path).write_bytes(content)
    with pytest.raises(SecretUnusable):
        found(tmp_path)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x" * 64)
    key_file(tmp_path).parent.mkdir(parents=True)
    key_file(tmp_path).symlink_to(tmp_path / "other")
    with pytest.raises(SecretUnusable, match="symbolic"):
        found(tmp_path)


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SecretUnusable, match="characters"):
        found(tmp_path, **{secret.VARIABLE: "short"})


@pytest.mark.parametrize("variables", [{}, {"HOME": "/proc/nowhere"}])
def test_where_no_file_can_be_the_variable_is_asked_for(variables: dict[str, str]) -> None:
    with pytest.raises(SecretUnusable) as caught:
        secret.find(variables)
    assert secret.VARIABLE in caught.value.remedy
