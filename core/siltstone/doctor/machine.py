"""The machine: room on the disk, the file system, the clock, memory, a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from ..stores.files import mounts
from .check import Check, hint, ok, wrong

_LEAST: Final = 100_000_000
"""Bytes that should be free on a disk, whatever the store."""
_GOES: Final = {
    "tmpfs": "is kept in memory, and gone when the machine restarts",
    "ramfs": "is kept in memory, and gone when the machine restarts",
    "overlay": "is the inside of a container, and gone with it",
}
"""File systems that do not last."""
_LITTLE_MEMORY: Final = 500_000_000
_EARLIEST: Final = 2024
_SKEW: Final = 60.0
"""Seconds by which two clocks may differ."""


def disk(root: str, parts: Mapping[str, int]) -> Iterator[Check]:
    """Yield whether there is room for a store to be written anew: a forget, a compaction and a migration do that."""
    free = shutil.disk_usage(standing(root)).free
    needed = max(_LEAST, parts.get("documents", 0) + parts.get("vectors", 0))
    told = f"{_size(free)} free on the disk of {root}"
    if free < _LEAST:
        yield wrong("disk", told, "make room: writes are refused on a full disk, and what is stored stays")
    elif free < needed:
        yield hint(
            "disk", f"{told}, less than the store has", "make room: a forget writes files anew before it is done"
        )
    else:
        yield ok("disk", told)


def file_system(root: str, mountinfo: str | None = None) -> Iterator[Check]:
    """Yield whether a folder lies where a store can live."""
    mount = _mount(standing(root), mountinfo)
    if mount is None:
        return
    told = f"{root} lies on {mount.kind} ({mount.place})"
    if mount.is_remote:
        yield hint(
            "file system",
            f"{told}, a file system of the network, whose locks may not hold between machines",
            "put the store on a local disk, or write to it from one machine at a time",
        )
    elif mount.kind in _GOES:
        yield hint(
            "file system",
            f"{told}, which {_GOES[mount.kind]}",
            "put the store on a disk, or on a volume that is mounted",
        )
    else:
        yield ok("file system", told)


def _mount(path: str, mountinfo: str | None) -> mounts.Mount | None:
    if mountinfo is None:
        try:
            mountinfo = Path(mounts.MOUNTINFO).read_text("utf-8", "surrogateescape")
        except OSError:  # not Linux
            return None
    return mounts.mount_of(os.path.realpath(path), mountinfo)


def clock(newest: datetime | None, now: datetime | None = None) -> Iterator[Check]:
    """Yield whether the clock can be right; ``newest`` is when the newest memory was stored."""
    now = now or datetime.now(timezone.utc)
    told = f"{now.astimezone():%Y-%m-%d %H:%M:%S %z}"
    fix = "set the clock (timedatectl set-ntp true): what expires, and what is newer, is decided by it"
    if now.year < _EARLIEST:
        yield wrong("clock", f"it says {told}", fix)
    elif newest is not None and (newest - now).total_seconds() > _SKEW:
        yield wrong("clock", f"it says {told}, and a memory was stored at {newest.astimezone():%Y-%m-%d %H:%M:%S}", fix)
    elif (skew := _skew()) > _SKEW:
        yield hint("clock", f"it says {told}, and the disk's clock is {skew:.0f} s from it", fix)
    else:
        yield ok("clock", told)


def _skew() -> float:
    """Return by how many seconds a new file's time differs from this machine's."""
    with tempfile.NamedTemporaryFile() as file:
        return abs(os.fstat(file.fileno()).st_mtime - datetime.now(timezone.utc).timestamp())


def memory() -> Iterator[Check]:
    """Yield how much memory is available, where that is told."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:  # not Linux
        return
    figures = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    available = figures.get("MemAvailable", 0)
    told = f"{_size(available)} available of {_size(figures.get('MemTotal', 0))}"
    if available < _LITTLE_MEMORY:
        yield hint(
            "memory", told, "the embedded model takes some 200 MB, a large one several times that: end something"
        )
    else:
        yield ok("memory", told)


def gpu() -> Iterator[Check]:
    """Yield what GPUs there are, and how full they are; nothing where there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return
    query = ["--query-gpu=name,memory.used,memory.total", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run([tool, *query], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as exc:
        yield hint("gpu", f"nvidia-smi does not answer: {exc}", "models run on the CPU until the driver is in order")
        return
    for line in told.splitlines():
        name, used, total = (part.strip() for part in line.rsplit(",", 2))
        seen = f"{name}: {_size(int(used) * 2**20)} of {_size(int(total) * 2**20)} in use"
        if int(used) > 0.9 * int(total):
            yield hint("gpu", seen, FEWER)
        else:
            yield ok("gpu", seen)


FEWER: Final = (
    "embed fewer texts at once (SILTSTONE_EMBED_BATCH=4, or embed_batch = 4 in siltstone.toml), end what else uses the "
    "GPU, or leave it alone: CUDA_VISIBLE_DEVICES= siltstone …"
)
"""What helps where the memory of a GPU is too small."""


def standing(root: str) -> str:
    """Return a folder, or the nearest one above it that is there."""
    place = os.path.abspath(root)
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return place


def _size(bytes: int) -> str:
    return f"{bytes / 1e9:.1f} GB" if bytes >= 1e9 else f"{bytes / 1e6:.0f} MB"
