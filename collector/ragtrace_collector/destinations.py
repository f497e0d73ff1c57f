"""The destinations that the settings name, each with its part of the disk, and what earlier ones left."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

from ragtrace_collector.config import Config
from ragtrace_collector.exporters import (
    Destination,
    Exporters,
    Outlet,
    PatientOutlet,
    make_file_outlet,
    make_outlet,
)
from ragtrace_collector.spool import Spool
from ragtrace_collector.spool_file import count_requests
from ragtrace_collector.telemetry import Figure, Telemetry

_log = logging.getLogger(__name__)
_PREFIX, _NAME = "away-", "destination"


def build_exporters(config: Config, telemetry: Telemetry) -> Exporters:
    """All destinations. With others beside it, and a spool, one that is away does not hold those up."""
    outlets: list[Outlet | PatientOutlet] = []
    shelves: dict[str, list[Spool]] = {}
    for destination, folder in _with_shelves(config):
        outlet = make_outlet(destination, telemetry)
        if folder is None:
            outlets.append(outlet)
            continue
        shelf = Spool(folder, max_bytes=config.spool.max_bytes, fsync=config.spool.fsync)
        shelves.setdefault(destination.name, []).append(shelf)
        outlets.append(PatientOutlet(outlet, shelf, telemetry))
    for name, own in shelves.items():
        telemetry.watch(Figure.SHELF_BYTES, _bytes_on(own), destination=name)
    if config.out is not None:
        outlets.append(make_file_outlet(config.out, telemetry))
    return Exporters(outlets)


def tell_orphans(config: Config, telemetry: Telemetry) -> None:
    """Say what waits on disk for destinations that the settings do not name any more; count it.

    To be called when the shelves in use stand: each is given its destination's name, for later.
    """
    root, used = config.spool.folder(), dict[Path, Destination]()
    if root is None:
        return
    for destination, folder in _with_shelves(config):
        if folder is not None:
            used[folder] = destination
            with contextlib.suppress(OSError):  # a name is a help to the reader, and nothing more
                (folder / _NAME).write_text(destination.name, encoding="utf-8")
    for folder in sorted(root.glob(f"{_PREFIX}*")):
        if folder in used or (requests := count_requests(folder)) == 0:
            continue
        telemetry.count(Figure.ORPHANED, requests or 0)
        _log.warning(
            "%s holds %s requests for %s, which is not among the destinations any more: "
            "name it under export again to have them sent, or delete that folder",
            folder,
            "an unknown number of" if requests is None else requests,
            _name_in(folder),
        )


def _with_shelves(config: Config) -> Iterator[tuple[Destination, Path | None]]:
    """Each destination with the folder of its shelf; ``None`` where it needs none."""
    root, seen = config.spool.folder(), dict[str, int]()
    is_alone = len(config.export) + (config.out is not None) < 2
    for destination in config.export:
        nth = seen[destination.url] = seen.get(destination.url, 0) + 1
        folder = None if root is None else _shelf(root, destination.url, nth)
        # What waits there from a time when it was not alone is to be sent, too.
        yield destination, None if folder is None or (is_alone and not folder.exists()) else folder


def _shelf(root: Path, url: str, nth: int) -> Path:
    """The folder of the ``nth`` destination with this url: two tenants may differ in headers only."""
    key = url if nth == 1 else f"{url} {nth}"
    return root / f"{_PREFIX}{blake2b(key.encode(), digest_size=6).hexdigest()}"


def _bytes_on(shelves: list[Spool]) -> Callable[[], float]:
    return lambda: float(sum(shelf.bytes for shelf in shelves))


def _name_in(folder: Path) -> str:
    try:
        return (folder / _NAME).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "a destination"
