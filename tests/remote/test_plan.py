"""At every moment of an update, each manifest in the mirror has its files there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.remote.plan import (
    Action,
    LocalCheckpoint,
    LocalFile,
    Put,
    RemoteObject,
    RemoteState,
    Remove,
    apply,
    manifest_key,
    plan,
)


def _checkpoint(sequence: int, keys: dict[str, str], line: str = "a") -> LocalCheckpoint:
    """A checkpoint of one line of a run; `keys`: by key, the stamp of its content."""
    files = {key: LocalFile(Path(key), 1, stamp) for key, stamp in keys.items()}
    digest = f"{line}{sequence}{sorted(keys)}"
    name = f"{sequence:08d}"
    manifest = LocalFile(Path("m"), 1, digest)
    return LocalCheckpoint(name, sequence, manifest_key(name), manifest, files)


@dataclass(frozen=True)
class _Line:
    """The checkpoints that one line of a run has left, newest first."""

    checkpoints: tuple[LocalCheckpoint, ...]


@st.composite
def _lines(draw: st.DrawFn, line: str) -> _Line:
    """Some of the checkpoints 1 to 6; each refers to files of some earlier ones."""
    kept = draw(st.sets(st.integers(1, 6), max_size=4))
    made = []
    for sequence in sorted(kept):
        earlier = draw(st.sets(st.integers(1, sequence), max_size=3)) | {sequence}
        keys = {f"files/{number}": f"{line}{number}" for number in earlier}
        keys[f"{sequence:08d}/state"] = f"{line}{sequence}"
        made.append(_checkpoint(sequence, keys, line))
    return _Line(tuple(reversed(made)))


@dataclass
class _Bucket:
    """What a mirror really holds: contents by key, and what each manifest was written for."""

    contents: dict[str, str]
    manifests: dict[str, LocalCheckpoint]

    def take(self, action: Action) -> None:
        match action:
            case Put(_, _, LocalCheckpoint() as checkpoint):
                self.manifests[checkpoint.name] = checkpoint
            case Put(key, file):
                self.contents[key] = file.stamp
            case Remove(key) if key in self.contents:
                del self.contents[key]
            case Remove(key):
                [name] = [name for name in self.manifests if manifest_key(name) == key]
                del self.manifests[name]

    def is_whole(self) -> bool:
        return all(
            self.contents.get(key) == file.stamp
            for checkpoint in self.manifests.values()
            for key, file in checkpoint.files.items()
        )

    def seen_by(self, local: _Line) -> RemoteState:
        """What a reader knows of it: the content of what both sides refer to."""
        known = {key: RemoteObject("") for key in self.contents}
        for each in self.manifests.values():
            known[each.key] = RemoteObject(each.manifest.stamp, frozenset(each.files))
        for checkpoint in local.checkpoints:
            there = known.get(checkpoint.key)
            if there is not None and there.stamp == checkpoint.manifest.stamp:
                files = checkpoint.files.items()
                known |= {key: RemoteObject(file.stamp) for key, file in files}
        return known


def _bucket(line: _Line, orphans: set[int]) -> _Bucket:
    contents = {f"files/{number}": "lost" for number in orphans}
    for checkpoint in line.checkpoints:
        contents |= {key: file.stamp for key, file in checkpoint.files.items()}
    return _Bucket(contents, {each.name: each for each in line.checkpoints})


@given(
    local=_lines("a"),
    remote=st.sampled_from("ab").flatmap(_lines),
    orphans=st.sets(st.integers(1, 6), max_size=3),
)
def test_every_prefix_of_a_plan_leaves_whole_checkpoints(
    local: _Line, remote: _Line, orphans: set[int]
) -> None:
    bucket = _bucket(remote, orphans)
    assert bucket.is_whole()
    state = bucket.seen_by(local)
    for action in plan(local.checkpoints, state):
        bucket.take(action)
        state = apply(state, action)
        assert bucket.is_whole()
    if local.checkpoints:
        assert bucket.manifests == {each.name: each for each in local.checkpoints}
        wanted = {key: f.stamp for each in local.checkpoints for key, f in each.files.items()}
        assert bucket.contents == wanted
        assert not plan(local.checkpoints, state)


@given(
    local=_lines("a"),
    remote=st.sampled_from("ab").flatmap(_lines),
    done=st.integers(0, 20),
)
def test_an_update_that_was_cut_off_is_taken_up_again(
    local: _Line, remote: _Line, done: int
) -> None:
    bucket = _bucket(remote, set())
    for action in plan(local.checkpoints, bucket.seen_by(local))[:done]:
        bucket.take(action)
    for action in plan(local.checkpoints, bucket.seen_by(local)):
        bucket.take(action)
        assert bucket.is_whole()
    if local.checkpoints:
        assert set(bucket.manifests) == {each.name for each in local.checkpoints}


def test_the_newest_is_sent_first_and_shared_files_once() -> None:
    old = _checkpoint(1, {"files/1": "a1"})
    new = _checkpoint(2, {"files/1": "a1", "files/2": "a2"})
    sent = plan((new, old), {})
    shared = new.files["files/1"]
    assert sent == (
        Put("files/1", shared),
        Put("files/2", new.files["files/2"]),
        Put(new.key, new.manifest, new),
        Put(old.key, old.manifest, old),
    )


def test_a_folder_that_has_lost_everything_takes_nothing_along() -> None:
    manifest = RemoteObject("a1", frozenset({"files/1"}))
    assert plan((), {manifest_key("00000001"): manifest, "files/1": RemoteObject("")}) == ()


@pytest.mark.parametrize("key", ["files/9", "00000009/state"])
def test_files_that_nothing_refers_to_are_removed(key: str) -> None:
    local = _checkpoint(1, {"files/1": "a1"})
    remote = {
        local.key: RemoteObject(local.manifest.stamp, frozenset(local.files)),
        "files/1": RemoteObject("a1"),
        key: RemoteObject(""),
    }
    assert plan((local,), remote) == (Remove(key),)
