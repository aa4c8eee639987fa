#!/usr/bin/env bash
# A second build of hnswlib, for x86-64-v3 (AVX2, FMA), beside the portable one of an environment. memsidecar takes it on
# a CPU that has all of that: memsidecar/adapters/hnsw_vectors/cpu_build.py.
#   hnswlib-v3.sh ENVIRONMENT PIP...     PIP is the command, with all that it takes to install into that environment
set -euo pipefail
[ "$(uname -m)" = x86_64 ] || exit 0
target=$1/lib/x86-64-v3
shift
# Past pip's cache, which may hold a build for another CPU.
CFLAGS=-march=x86-64-v3 CXXFLAGS=-march=x86-64-v3 HNSWLIB_NO_NATIVE=1 "$@" install -q --no-cache-dir --no-deps --no-binary hnswlib --upgrade \
  --target "$target" -c constraints.txt hnswlib
# The package is listed once, where the portable build is.
rm -rf "$target"/*.dist-info
