"""What an attempt was told to keep is known to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.errors import RunFolderUnwritable
from pitstop.store.best_rule import BestRule
from pitstop.store.retention import RETENTION_FILE, RetentionPolicy, last_policy, write_policy
from pitstop.store.run_folder import RunFolder, open_or_create

POLICY = RetentionPolicy(5, 3600.0, (BestRule("val_loss", 2, "min"),))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return open_or_create(tmp_path / "run", ["python"], tmp_path)


def test_the_last_attempt_counts(folder: RunFolder) -> None:
    for _ in range(10):
        write_policy(folder, folder.next_attempt(), RetentionPolicy(7))
    write_policy(folder, folder.next_attempt(), POLICY)
    assert last_policy(folder) == POLICY
    folder.next_attempt()
    assert last_policy(folder) == POLICY


def test_without_one_it_is_the_usual_one(folder: RunFolder) -> None:
    folder.next_attempt()
    assert last_policy(folder) == RetentionPolicy()


@pytest.mark.parametrize("content", ["", "[]", '{"keep_last": "x"}'])
def test_one_that_is_damaged_is_passed_over(folder: RunFolder, content: str) -> None:
    write_policy(folder, folder.next_attempt(), POLICY)
    (folder.attempt_dir(folder.next_attempt()) / RETENTION_FILE).write_text(content)
    assert last_policy(folder) == POLICY


def test_a_folder_that_is_gone_is_named(folder: RunFolder) -> None:
    with pytest.raises(RunFolderUnwritable, match="folder is gone"):
        write_policy(folder, 4, POLICY)
