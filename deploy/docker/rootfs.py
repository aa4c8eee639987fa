"""Copies what runs out of a build stage: the interpreter, a virtual environment, and the libraries they are linked to.

    python3 rootfs.py /opt/memsidecar /rootfs

What stays behind: pip, headers, tests, compilers, the shell. What is copied keeps its place, so that the interpreter
finds itself and its environment as it does in the stage it comes from.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

# Parts of the standard library that nothing here imports; the test of the image imports everything that memsidecar has.
UNUSED = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "config-*", "dist-packages")
UNUSED_LIBRARIES = ("_tkinter*", "*_test*")
# What TLS, the loader, name resolution and text look for by name.
FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ld.so.cache",
    "/etc/nsswitch.conf",
    "/usr/lib/locale/C.utf8",
    "/etc/mime.types",
)
DIRECTORIES = {
    "tmp": 0o1777,
    "usr/share/sbom": 0o755,
    "var/lib/memsidecar": 0o770,
    "run/memsidecar": 0o770,
    "etc": 0o755,
    "proc": 0o755,
}
ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/:/nologin\nmemsidecar:x:65532:0:memsidecar:/tmp:/nologin\n",
    "etc/group": "root:x:0:\nmemsidecar:x:65532:\n",
}


def main(environment: Path, root: Path) -> None:
    interpreter = Path(sys.executable).resolve()
    standard = Path(sysconfig.get_path("stdlib"))
    copy(interpreter, root)
    copy_tree(standard, root, UNUSED, UNUSED_LIBRARIES)
    copy_tree(environment, root, ("__pycache__",), ("*.pyx", "*.hpp"))
    # The environment's interpreter is a link to this one; a link to a link would need what is in between.
    for link in (root / environment.relative_to("/") / "bin").glob("python*"):
        link.unlink()
        link.symlink_to(interpreter)
    for name in FILES:
        if Path(name).is_dir():
            copy_tree(Path(name), root)
        elif Path(name).exists():
            copy(Path(name), root)
    for library in libraries(root):
        copy(library, root)
    for name, mode in DIRECTORIES.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name).chmod(mode)
    for name, text in ACCOUNTS.items():
        (root / name).write_text(text)
    # Checked by nothing at run time: the file system is read-only, and the sources never change.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(root, maxlevels=20, quiet=2, invalidation_mode=mode, stripdir=str(root), workers=0)


def copy(source: Path, root: Path) -> None:
    """A file at its place, with every link on the way to it."""
    target = root / source.relative_to("/")
    if target.exists() or target.is_symlink():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        copy(Path(os.path.normpath(source.parent / source.readlink())), root)
    else:
        shutil.copy2(source, target)


def copy_tree(source: Path, root: Path, folders: Iterable[str] = (), files: Iterable[str] = ()) -> None:
    target = root / source.relative_to("/")
    ignored = shutil.ignore_patterns(*folders, *files, "__pycache__")
    shutil.copytree(source, target, symlinks=True, ignore=ignored, dirs_exist_ok=True)


def libraries(root: Path) -> set[Path]:
    """The shared libraries outside the tree that programs and extensions in it are linked to, and the loader."""
    found: set[Path] = set()
    for path in root.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        # The original, so that libraries beside it are found by its own rpath.
        original = Path("/") / path.relative_to(root)
        listed = subprocess.run(["ldd", str(original)], capture_output=True, text=True).stdout
        for name in re.findall(r"(?:=> |^\s*)(/\S+)", listed, re.MULTILINE):
            # Debian's /lib is a link to /usr/lib; the loader is asked for by the first.
            found.add(Path(name))
    return {path for path in found if not (root / path.relative_to("/")).exists()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
