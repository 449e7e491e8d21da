"""A virtual machine: QEMU under TCG, console and results on two serial ports, QMP for hot-plug."""

import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from .env import Broken, Failure, run

# Nothing asserts how long a boot takes; this only ends a machine that hangs.
DEADLINE = int(os.environ.get("ORIGINBOOT_VM_DEADLINE", "420"))
# Clearing each page at its allocation and the mitigations cost more under TCG than all the rest: clearing pages that
# held code takes seconds a megabyte. On a busy build machine the timer check fails by chance, and the kernel panics.
KERNEL = "console=ttyS0,115200 net.ifnames=0 init_on_alloc=0 mitigations=off no_timer_check"


class Disk:
    """One virtio disk: `serial` is how the guest knows it, `file` a qcow2 or raw file or an nbd:unix: address."""

    def __init__(self, serial: str, file, fmt="qcow2", readonly=False, extra=(), options=()):
        self.serial, self.file, self.fmt, self.readonly = serial, str(file), fmt, readonly
        # Options of a blkdebug node below the format, as {"inject-error.0.event": …} for read errors.
        self.extra = dict(extra)
        # More words of -drive, as "throttling.iops-write=15".
        self.options = tuple(options)

    def drive(self, node: str) -> str:
        """The value of -drive."""
        words = [f"if=none,id={node}", "cache=writeback"]
        if self.file.startswith("nbd"):
            words += [f"file={self.file}", "format=raw"]
        elif self.extra:
            words += [f"driver={self.fmt}", "file.driver=blkdebug", f"file.image.filename={self.file}"]
            words += [f"file.{key}={value}" for key, value in self.extra.items()]
        else:
            words += [f"file={self.file}", f"format={self.fmt}"]
        if self.readonly:
            words.append("readonly=on")
        return ",".join([*words, *self.options])


class Machine:
    """A running QEMU. Use as a context manager: it is always ended, by its own process id."""

    def __init__(self, name, kernel, initrd, disks, append="", memory=512, extra=(), say=None):
        self.name, self.disks = name, disks
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="originboot-vm-"))
        self.console, self.results = "", ""
        self.timeline = []
        self._lock = threading.Condition()
        self._open = 2
        self._say = say
        self.argv = ["qemu-system-x86_64", "-accel", "tcg", "-machine", "pc", "-cpu", "qemu64", "-smp", "1"]
        self.argv += ["-m", str(memory), "-nodefaults", "-display", "none", "-no-reboot", "-no-user-config"]
        self.argv += ["-kernel", str(kernel), "-initrd", str(initrd)]
        self.argv += ["-append", f"{KERNEL} {append}".strip()]
        for port, chardev in enumerate(("console", "results")):
            path = self.folder / chardev
            self.argv += ["-chardev", f"socket,id={chardev},path={path},server=on,wait=on", "-serial", f"chardev:{chardev}"]
            del port
        self.argv += ["-qmp", f"unix:{self.folder / 'qmp'},server=on,wait=off"]
        for index, disk in enumerate(disks):
            self.argv += ["-drive", disk.drive(f"disk{index}")]
            self.argv += ["-device", f"virtio-blk-pci,drive=disk{index},id=dev{index},serial={disk.serial}"]
        self.argv += list(extra)

    def command_line(self) -> str:
        """The command as a reader would type it."""
        return shlex.join(self.argv)

    def __enter__(self):
        self.started = time.monotonic()
        try:
            self.process = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
        except FileNotFoundError as error:
            raise Broken("qemu-system-x86_64 is not installed (make deps)") from error
        self._ports = {}
        for name in ("console", "results"):
            self._ports[name] = self._connect(name)
            threading.Thread(target=self._read, args=(name,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.kill()
        for port in self._ports.values():
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _connect(self, name):
        path = str(self.folder / name)
        for _ in range(600):
            if self.process.poll() is not None:
                raise Broken(f"QEMU ended at once: {self.process.stderr.read().decode(errors='replace').strip()}")
            try:
                port = socket.socket(socket.AF_UNIX)
                port.connect(path)
                return port
            except OSError:
                port.close()
                time.sleep(0.05)
        raise Broken("QEMU opened no serial port within 30 s")

    def _read(self, name):
        port = self._ports[name]
        while True:
            try:
                chunk = port.recv(65536)
            except OSError:
                chunk = b""
            with self._lock:
                text = chunk.decode(errors="replace").replace("\r", "")
                if name == "console":
                    self._stamp(text)
                    self.console += text
                else:
                    self.results += text
                if not chunk:
                    self._open -= 1
                self._lock.notify_all()
            if not chunk:
                return

    def _stamp(self, text):
        now = time.monotonic() - self.started
        self._line = getattr(self, "_line", "") + text
        *lines, self._line = self._line.split("\n")
        for line in lines:
            self.timeline.append((now, line))
            if self._say:
                self._say(now, line)

    def log(self) -> str:
        """The console with the seconds since the start of QEMU before each line."""
        rest = [(time.monotonic() - self.started, self._line)] if getattr(self, "_line", "") else []
        return "".join(f"[{when:7.2f}] {line}\n" for when, line in self.timeline + rest)

    def wait(self, pattern, deadline=DEADLINE, port="console", start=0):
        """The match of `pattern` in what the port said since offset `start`; Failure when it ends without."""
        end = time.monotonic() + deadline
        compiled = re.compile(pattern, re.MULTILINE)
        with self._lock:
            while True:
                found = compiled.search(getattr(self, port), start)
                if found:
                    return found
                left = end - time.monotonic()
                if self._open == 0 or left <= 0:
                    why = "the machine ended" if self._open == 0 else f"{deadline} s passed"
                    raise Failure(f"{self.name}: {why} without /{pattern}/ on the {port}")
                self._lock.wait(min(left, 1))

    def type(self, line: str):
        """Type a line at the console, slowly enough for a 16-byte FIFO."""
        for start in range(0, len(line) + 1, 12):
            self._ports["console"].sendall((line + "\n")[start : start + 12].encode())
            time.sleep(0.05)

    def shell(self, command: str, deadline=DEADLINE) -> str:
        """Run a command in the (initramfs) shell; what it printed, its status as last line `rc=N`."""
        with self._lock:
            start = len(self.console)
        # The marks are split so that the echo of the typed line does not match.
        self.type(f"echo AN''FANG; {command}; echo rc=$? EN''DE")
        found = self.wait(r"ANFANG\n((?:.*\n)*?)(rc=\d+) ENDE", deadline, start=start)
        return found.group(1) + found.group(2)

    def ended(self, deadline=DEADLINE):
        """Wait until the guest has switched itself off."""
        try:
            self.process.wait(deadline)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{self.name}: still running after {deadline} s") from error
        end = time.monotonic() + 10
        with self._lock:
            while self._open and time.monotonic() < end:
                self._lock.wait(0.2)

    def age(self) -> float:
        """Seconds since QEMU was started."""
        return time.monotonic() - self.started

    def kill(self):
        """Cut the power."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def qmp(self, *commands) -> list:
        """Send QMP commands, each (name, arguments); the returned values."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(60)
            link.connect(str(self.folder / "qmp"))
            stream = link.makefile("rw")
            stream.readline()
            answers = []
            for name, arguments in [("qmp_capabilities", {}), *commands]:
                stream.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
                stream.flush()
                while True:
                    answer = json.loads(stream.readline())
                    if "error" in answer:
                        raise Broken(f"QMP {name}: {answer['error']['desc']}")
                    if "return" in answer:
                        answers.append(answer["return"])
                        break
            return answers[1:]

    def plug(self, disk: Disk):
        """Hot-plug a disk."""
        node = f"late{disk.serial}"
        self.qmp(
            (
                "blockdev-add",
                {
                    "driver": disk.fmt,
                    "node-name": node,
                    "read-only": disk.readonly,
                    "file": {"driver": "file", "filename": disk.file},
                },
            ),
            ("device_add", {"driver": "virtio-blk-pci", "drive": node, "id": f"dev{node}", "serial": disk.serial}),
        )


def overlay(backing, path) -> pathlib.Path:
    """A fresh qcow2 over `backing`, which stays as it is."""
    path = pathlib.Path(path)
    path.unlink(missing_ok=True)
    run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(backing), path])
    return path
