#!/usr/bin/env bash
# Vet, lint and race tests of the Go client and of its example agent, against the sidecar of this checkout.
#   check.sh PYTHON      the interpreter that has memsidecar's dependencies
set -euo pipefail
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")"

# An older Go fetches the one that go.mod asks for from the module proxy; one before 1.21 cannot.
export GOTOOLCHAIN=auto
if ! command -v go >/dev/null || ! go list -m >/dev/null 2>&1; then
  echo "clients/go is NOT tested: it needs Go 1.21 or newer, which then fetches the version of go.mod" >&2
  exit 0
fi

# Built once a machine: it takes minutes, and Go's cache has no place for the programs of other modules.
version=v2.15.0
tools=${XDG_CACHE_HOME:-$HOME/.cache}/memsidecar/golangci-lint-$version
if [ ! -x "$tools/golangci-lint" ]; then
  echo "installing golangci-lint $version (minutes, once)"
  GOBIN=$tools go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
fi

for module in . examples; do
  (cd "$module" && go mod tidy -diff && go vet ./... && "$tools/golangci-lint" run ./...)
done
MEMSIDECAR_PYTHON=$python go test -race -count 1 -parallel 3 -timeout 10m ./...

# Its tests are those of the Python agent: both do and show the same.
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
(cd examples && go build -race -o "$built/agent" ./agent)
cd ../..
MEMSIDECAR_AGENT=$built/agent "$python" -m pytest -q -n 2 --dist worksteal tests/clients/agents
