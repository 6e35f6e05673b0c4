"""Which URLs name a folder for a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.remote.place import PlaceInvalid, is_url, parse


@pytest.mark.parametrize("text", ["s3://b/x", "gs://b/x", "file:///x/y", "abfs+x://b/c"])
def test_urls(text: str) -> None:
    assert is_url(text)


@pytest.mark.parametrize("text", ["runs/cnn", "s3:/b/x", "./s3://x", "/a://b", "C:\\x"])
def test_paths(text: str) -> None:
    assert not is_url(text)


@pytest.mark.parametrize(
    ("text", "url", "name"),
    [
        ("s3://bucket/runs/cnn", "s3://bucket/runs/cnn", "cnn"),
        ("s3://bucket/cnn/", "s3://bucket/cnn", "cnn"),
        ("file:///data/cnn", "file:///data/cnn", "cnn"),
        ("gs://bucket/a b", "gs://bucket/a b", "a b"),
    ],
)
def test_a_place(text: str, url: str, name: str) -> None:
    place = parse(text)
    assert (place.url, place.name, place.working_copy) == (url, name, Path("runs") / name)
    assert str(place) == url


@pytest.mark.parametrize(
    "text", ["s3://bucket", "s3://bucket/", "s3:///x", "file:///", "s3://b/.."]
)
def test_no_place(text: str) -> None:
    with pytest.raises(PlaceInvalid, match="does not name a folder"):
        parse(text)
