"""Paths, locks, hashes and child processes."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

VM_DIR = pathlib.Path(__file__).resolve().parent.parent
TREE = VM_DIR.parent.parent
GUEST = VM_DIR / "guest"


class Failure(Exception):
    """The scenario's answer is no: the text says why in one line."""


class Broken(Exception):
    """The harness could not look: a tool is missing, a build failed."""


def cache() -> pathlib.Path:
    """The folder outside the tree in which base systems, layouts, images and results are kept."""
    path = os.environ.get("ORIGINBOOT_VM_CACHE")
    if not path:
        path = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "originboot-vm")
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def locked(name: str):
    """One builder at a time for each artefact, across processes."""
    folder = cache() / "locks"
    folder.mkdir(exist_ok=True)
    with open(folder / f"{name}.lock", "w", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build_once(kind: str, key: str, build) -> pathlib.Path:
    """The folder `kind/key`, made by `build(empty folder)` when it is not there; complete or absent, never half."""
    final = cache() / kind / key
    if final.is_dir():
        os.utime(final)
        return final
    with locked(f"{kind}-{key}"):
        if final.is_dir():
            return final
        final.parent.mkdir(parents=True, exist_ok=True)
        work = pathlib.Path(tempfile.mkdtemp(prefix=f".{key}-", dir=final.parent))
        work.chmod(0o755)
        try:
            build(work)
            work.rename(final)
        except BaseException:
            if not os.environ.get("ORIGINBOOT_VM_KEEP"):
                shutil.rmtree(work, ignore_errors=True)
            raise
    return final


def digest(*parts) -> str:
    """Short key of texts, bytes and files."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, pathlib.Path):
            part = part.read_bytes()
        if isinstance(part, str):
            part = part.encode()
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()[:16]


def digest_tree(*roots) -> str:
    """Key of every file below the roots: names, modes, contents."""
    total = hashlib.sha256()
    for root in roots:
        root = pathlib.Path(root)
        files = [root] if root.is_file() else sorted(root.rglob("*"))
        for path in files:
            if "__pycache__" in path.parts:
                continue
            name = path.name if path == root else str(path.relative_to(root))
            if path.is_symlink():
                total.update(f"l {name} {os.readlink(path)}\n".encode())
            elif path.is_file():
                body = hashlib.sha256(path.read_bytes()).hexdigest()
                total.update(f"f {name} {path.stat().st_mode & 0o111:o} {body}\n".encode())
    return total.hexdigest()[:16]


def run(argv, log=None, timeout=1800, env=None, cwd=None) -> str:
    """Run a child without stdin; its output is returned, and quoted in the exception when it fails."""
    argv = [str(word) for word in argv]
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            env=env,
            cwd=cwd,
            check=False,
        )
    except FileNotFoundError as error:
        raise Broken(f"{argv[0]} is not installed (make deps)") from error
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{argv[0]} did not end within {timeout} s") from error
    text = done.stdout.decode(errors="replace")
    if log:
        pathlib.Path(log).write_text(text, encoding="utf-8")
    if done.returncode != 0:
        tail = "\n".join(text.strip().splitlines()[-15:])
        raise Broken(f"{' '.join(argv[:4])} … ended with {done.returncode}:\n{tail}")
    return text
