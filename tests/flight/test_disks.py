"""Which file systems a run uses, and how full they are."""

from __future__ import annotations

import os
from pathlib import Path

from pitstop.flight import disks
from pitstop.flight.disks import DiskReader, in_use, mount_of
from pitstop.machine.kernel_file import Mount, mounts

MOUNTINFO = (
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 8:2 / /data rw - xfs /dev/sdb rw\n"
    "31 22 0:5 / /data/a\\040b ro,nosuid - nfs4 server:/x rw\n"
    "32 22 0:6 / /proc rw - proc proc rw\n"
    "33 22 8:3 / /data rw - ext4 /dev/sdc rw\n"
)
AMONG = mounts(MOUNTINFO)


def test_mounts_are_read() -> None:
    first, third = AMONG[0], AMONG[2]
    assert first == Mount("/", "ext4", read_only=False, super_options=frozenset({"rw"}))
    assert (third.path, third.kind) == ("/data/a b", "nfs4")
    assert third.read_only


def test_a_path_is_on_its_nearest_mount_and_the_newest_there() -> None:
    def place(path: str) -> str:
        mount = mount_of(path, AMONG)
        return f"{mount.path} {mount.kind}" if mount else ""

    assert place("/home/x") == "/ ext4"
    assert place("/data/x") == "/data ext4"
    assert place("/database") == "/ ext4"
    assert place("/data/a b/file") == "/data/a b nfs4"


def test_each_disk_is_there_once_with_what_it_is_for() -> None:
    places = {"run": Path("/data/run"), "cwd": Path("/data"), "tmp": Path("/tmp")}
    files = ["/data/a b/x.tfrecord", "/data/y", "/proc/self/stat", "(deleted)"]
    found = in_use(places, files, AMONG)
    assert {disk.mount: disk.used_by for disk in found} == {
        "/data": ["run", "cwd"],
        "/": ["tmp"],
        "/data/a b": ["files"],
    }


def test_this_machines_disk(tmp_path: Path) -> None:
    reader = DiskReader({"run": tmp_path}, lambda: 0)
    [disk] = reader.read()
    status = os.statvfs(tmp_path)
    assert disk.used_by == ["run"]
    assert disk.size_bytes == status.f_blocks * status.f_frsize
    assert abs(disk.free_bytes - status.f_bavail * status.f_frsize) < 1 << 30
    assert disk.answers
    assert reader.asking == ""


def test_open_files_of_a_process_lead_to_its_disks(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with path.open("w"):
        assert str(path) in disks.open_files(os.getpid())
    assert str(path) not in disks.open_files(os.getpid())
    assert disks.open_files(0) == []


def test_the_one_that_does_not_answer_is_marked() -> None:
    found = in_use({"run": Path("/data"), "tmp": Path("/tmp")}, [], AMONG)
    marked = disks.unanswered(found, "/data")
    assert {disk.mount: disk.answers for disk in marked} == {"/data": False, "/": True}
