"""A disk whose writes are counted: an NBD server that applies the first N writes and then cuts the power.

Old data stays in a raw file that is never changed; written blocks are kept in memory until `save`.
"""

import os
import pathlib
import shutil
import socket
import struct
import threading

BLOCK = 4096
MAGIC, OPTION_MAGIC, OPTION_REPLY = 0x4E42444D41474943, 0x49484156454F5054, 0x0003E889045565A9
REQUEST, REPLY = 0x25609513, 0x67446698
OPT_EXPORT_NAME, OPT_ABORT, OPT_GO, OPT_INFO = 1, 2, 7, 6
REP_ACK, REP_INFO, REP_UNSUPPORTED = 1, 3, 0x80000001
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
# HAS_FLAGS, SEND_FLUSH
FLAGS = 0x0005
EIO = 5


class Server:
    """Serves the raw file `path` at `address`. After the `cut`-th write `on_cut()` is called and nothing is applied
    any more. `writes` lists (offset, length) of each write in order. `area` (offset, length): only writes into it are
    listed and counted. `torn`: of the last write only so many bytes are applied. `fail_reads` makes every read an I/O
    error."""

    def __init__(self, path, folder, cut=None, on_cut=None, fail_reads=False, area=None, torn=None):
        self.path, self.cut, self.on_cut, self.fail_reads = pathlib.Path(path), cut, on_cut, fail_reads
        self.area, self.torn = area, torn
        self.size = self.path.stat().st_size
        self.writes, self._pages, self.was_cut = [], {}, cut == 0
        self._file = open(self.path, "rb")
        self.socket = pathlib.Path(folder) / f"nbd-{os.getpid()}-{id(self):x}"
        self.address = f"nbd:unix:{self.socket}"
        self._listen = socket.socket(socket.AF_UNIX)
        self._listen.bind(str(self.socket))
        self._listen.listen(4)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        """Stop serving."""
        self._listen.close()
        self.socket.unlink(missing_ok=True)
        self._file.close()

    def save(self, target) -> pathlib.Path:
        """Write the disk as it is after the writes that were applied, as a raw file."""
        shutil.copyfile(self.path, target)
        with open(target, "r+b") as handle:
            for page, body in self._pages.items():
                handle.seek(page * BLOCK)
                handle.write(body)
        return pathlib.Path(target)

    def _serve(self):
        while True:
            try:
                link, _ = self._listen.accept()
            except OSError:
                return
            threading.Thread(target=self._client, args=(link,), daemon=True).start()

    def _client(self, link):
        with link:
            try:
                self._handshake(link)
                while self._request(link):
                    pass
            except (OSError, EOFError, struct.error):
                return

    def _handshake(self, link):
        link.sendall(struct.pack(">QQH", MAGIC, OPTION_MAGIC, 0x0001))
        _receive(link, 4)
        while True:
            _, option, length = struct.unpack(">QII", _receive(link, 16))
            _receive(link, length)
            if option == OPT_EXPORT_NAME:
                link.sendall(struct.pack(">QH", self.size, FLAGS) + b"\0" * 124)
                return
            if option in (OPT_GO, OPT_INFO):
                info = struct.pack(">HQH", 0, self.size, FLAGS)
                link.sendall(struct.pack(">QIII", OPTION_REPLY, option, REP_INFO, len(info)) + info)
                link.sendall(struct.pack(">QIII", OPTION_REPLY, option, REP_ACK, 0))
                if option == OPT_GO:
                    return
                continue
            if option == OPT_ABORT:
                raise EOFError
            link.sendall(struct.pack(">QIII", OPTION_REPLY, option, REP_UNSUPPORTED, 0))

    def _request(self, link) -> bool:
        magic, _, kind, handle, offset, length = struct.unpack(">IHHQQI", _receive(link, 28))
        if magic != REQUEST or kind == DISCONNECT:
            return False
        error, body = 0, b""
        if kind == WRITE:
            data = _receive(link, length)
            if self.was_cut:
                # The power is off: no answer, so that nobody believes in this write.
                if self.on_cut:
                    self.on_cut()
                return False
            last = self._counts(offset, len(data)) and len(self.writes) == self.cut
            self._write(offset, data[: self.torn] if last else data)
            if last:
                self.was_cut = True
                if self.on_cut:
                    self.on_cut()
                return False
        elif kind == READ:
            if self.fail_reads:
                error = EIO
            else:
                body = self._read(offset, length)
        link.sendall(struct.pack(">IIQ", REPLY, error, handle) + body)
        return True

    def _counts(self, offset, length) -> bool:
        if self.area and not (offset < sum(self.area) and self.area[0] < offset + length):
            return False
        self.writes.append((offset, length))
        return True

    def _write(self, offset, data):
        at = 0
        while at < len(data):
            page, inner = divmod(offset + at, BLOCK)
            step = min(BLOCK - inner, len(data) - at)
            old = self._pages.get(page)
            if old is None:
                old = bytearray(self._base(page))
                self._pages[page] = old
            old[inner : inner + step] = data[at : at + step]
            at += step

    def _base(self, page) -> bytes:
        body = os.pread(self._file.fileno(), BLOCK, page * BLOCK)
        return body + b"\0" * (BLOCK - len(body))

    def _read(self, offset, length) -> bytes:
        body = bytearray(os.pread(self._file.fileno(), length, offset))
        body += b"\0" * (length - len(body))
        for page in range(offset // BLOCK, (offset + length + BLOCK - 1) // BLOCK):
            data = self._pages.get(page)
            if data is None:
                continue
            start = page * BLOCK - offset
            low, high = max(start, 0), min(start + BLOCK, length)
            body[low:high] = data[low - start : high - start]
        return bytes(body)


def _receive(link, length) -> bytes:
    parts = []
    while length:
        chunk = link.recv(min(length, 1 << 20))
        if not chunk:
            raise EOFError
        parts.append(chunk)
        length -= len(chunk)
    return b"".join(parts)
