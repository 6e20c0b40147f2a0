"""Files that become an archive, and tar archives whose bytes depend on nothing but those files."""
import gzip
import io
import os
import pathlib
import stat
import tarfile
from dataclasses import dataclass

FILE, FOLDER, LINK = "file", "folder", "link"


@dataclass(frozen=True)
class Entry:
    path: str  # in the archive, without a leading slash
    kind: str
    mode: int
    content: bytes = b""  # of a file
    target: str = ""  # of a link


def file(path, content, mode=0o644):
    content = content.encode() if isinstance(content, str) else content
    return Entry(path, FILE, mode, content)


def copied(path, source, mode=0o644):
    return file(path, pathlib.Path(source).read_bytes(), mode)


def folder(path, mode=0o755):
    return Entry(path, FOLDER, mode)


def link(path, target):
    return Entry(path, LINK, 0o777, target=target)


def with_folders(entries):
    """The entries and every folder above them, each once, sorted: a folder comes before what is in it."""
    by_path = {entry.path: entry for entry in entries}
    if len(by_path) != len(entries):
        raise ValueError("a path occurs twice among the files of an archive")
    for path in list(by_path):
        for above in pathlib.PurePosixPath(path).parents:
            if str(above) != ".":
                by_path.setdefault(str(above), folder(str(above)))
    return [by_path[path] for path in sorted(by_path)]


def tar(entries, epoch):
    """An uncompressed archive; everything belongs to root and was changed at `epoch`."""
    bytes_ = io.BytesIO()
    with tarfile.open(fileobj=bytes_, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in with_folders(entries):
            info = tarfile.TarInfo(entry.path)
            info.mode, info.mtime = entry.mode, epoch
            info.type = {FILE: tarfile.REGTYPE, FOLDER: tarfile.DIRTYPE, LINK: tarfile.SYMTYPE}[entry.kind]
            info.size, info.linkname = len(entry.content), entry.target
            archive.addfile(info, io.BytesIO(entry.content) if entry.kind == FILE else None)
    return bytes_.getvalue()


def gzipped(content):
    """Without a name and a time in its header."""
    bytes_ = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=bytes_, mode="wb", compresslevel=6, mtime=0) as stream:
        stream.write(content)
    return bytes_.getvalue()


def write_tree(entries, root, epoch):
    """The same files below a folder of this machine."""
    for entry in with_folders(entries):
        path = root / entry.path
        if entry.kind == FOLDER:
            path.mkdir(parents=True, exist_ok=True)
        elif entry.kind == LINK:
            path.symlink_to(entry.target)
            continue
        else:
            path.write_bytes(entry.content)
        path.chmod(stat.S_IMODE(entry.mode))
    for entry in reversed(with_folders(entries)):
        if entry.kind != LINK:
            os.utime(root / entry.path, (epoch, epoch))
