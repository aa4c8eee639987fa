#!/usr/bin/env bash
# Fail when the protos break somebody who uses the last release: compared with the newest tag v*, or before the first
# release with the first commit that has protos.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! git rev-parse --git-dir >/dev/null 2>&1; then
  echo "not a git checkout: nothing to compare with"
  exit 0
fi
against=$(git tag --list 'v*' --sort=-version:refname --merged HEAD | sed -n 1p)
[ -n "$against" ] || against=$(git log --format=%h --diff-filter=A --reverse -- 'proto/*.proto' | sed -n 1p)
if [ -z "$against" ]; then
  echo "no release and no commit with protos yet: nothing to compare with"
  exit 0
fi
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
git archive "$against" proto | tar -x -C "$before"
buf breaking proto --against "$before/proto"
echo "the protos break nothing since $against"
