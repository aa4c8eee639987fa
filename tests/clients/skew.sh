#!/usr/bin/env bash
# The client's tests where the server is not installed, with the oldest and with the newest grpcio, protobuf and
# OpenTelemetry that the client allows. Its stubs are generated once, by an old compiler, so that both ends work.
# googleapis-common-protos is there for the tests' own server, OpenTelemetry for the application that traces: the client
# does without. A test marked slow brings versions of its own, the same in any environment: `make test` runs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}

run() { # run NAME REQUIREMENT...
  local venv=.venv-skew-$1
  shift
  local wanted="$* googleapis-common-protos pytest pytest-asyncio pytest-timeout hypothesis"
  if [ ! -f "$venv/wanted" ] || [ "$(cat "$venv/wanted")" != "$wanted" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    # shellcheck disable=SC2086 # the words are the requirements
    "$venv/bin/pip" install -q --disable-pip-version-check $wanted
    echo "$wanted" >"$venv/wanted"
  fi
  "$venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -E '^(grpcio|protobuf) ' | xargs
  "$venv/bin/python" -m pytest -q -p no:cacheprovider -m "not slow" tests/clients/python
}

# 1.62.3 is the last of the 1.62 line and has wheels for Python 3.11 and 3.12; 3.13 begins at 1.66.
oldest_grpcio=$("$python" -c 'import sys; print("1.62.3" if sys.version_info < (3, 13) else "1.66.2")')
# Side by side: each installs and waits more than it computes. One log after the other.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run newest "grpcio>=1.85" "protobuf>=7,<8" "opentelemetry-sdk>=1.40" >"$log" 2>&1 &
newest=$!
run oldest "grpcio==$oldest_grpcio" "protobuf==4.25.8" "opentelemetry-sdk==1.20.0" &
status=0
wait $! || status=$?
wait $newest || status=$?
cat "$log"
exit $status
