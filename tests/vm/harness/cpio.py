"""Archives for the guest: a newc cpio that is appended to an initramfs, and a tar on a raw disk."""

import io
import stat
import tarfile


class Cpio:
    """Builds a newc archive in memory; folders are added as they are needed."""

    def __init__(self):
        self._out = io.BytesIO()
        self._ino = 1_000_000
        self._known = set()

    def _entry(self, name: str, mode: int, body: bytes, device=(0, 0)):
        self._ino += 1
        encoded = name.encode() + b"\0"
        fields = [self._ino, mode, 0, 0, 1, 0, len(body), 0, 0, device[0], device[1], len(encoded), 0]
        self._out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + encoded)
        self._pad()
        self._out.write(body)
        self._pad()

    def _pad(self):
        self._out.write(b"\0" * (-self._out.tell() % 4))

    def _parents(self, name: str):
        parts = name.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            folder = "/".join(parts[:end])
            if folder not in self._known:
                self._known.add(folder)
                self._entry(folder, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, body, mode=0o755):
        self._parents(name)
        self._entry(name, stat.S_IFREG | mode, body.encode() if isinstance(body, str) else body)

    def link(self, name: str, target: str):
        self._parents(name)
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def done(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"")
        return self._out.getvalue() + b"\0" * (-self._out.tell() % 512)


def tar_disk(files: dict, path):
    """A raw disk that holds a tar of `files` (name -> bytes or text, all executable), padded to whole MiB."""
    with open(path, "wb") as handle:
        with tarfile.open(fileobj=handle, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name, body in sorted(files.items()):
                body = body.encode() if isinstance(body, str) else body
                info = tarfile.TarInfo(name)
                info.mode = 0o755
                info.size = len(body)
                archive.addfile(info, io.BytesIO(body))
        handle.truncate((handle.tell() + 0x100000) & ~0xFFFFF)
