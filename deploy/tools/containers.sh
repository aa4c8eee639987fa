#!/usr/bin/env bash
# Builds the image and runs it, and whole pods, with podman: for tests, also where there is no registry and no Docker engine.
#   containers.sh setup                     install podman and runc (Debian); make the base image if it cannot be pulled
#   containers.sh build TAG CONTEXT [ARGS]  build an image
#   containers.sh play POD.yaml [ARGS]      run a Pod manifest, without a network
#   containers.sh down POD.yaml             remove what it started; volumes stay
#   containers.sh podman ARGS               anything else
set -euo pipefail
conf=${XDG_RUNTIME_DIR:-/tmp}/memsidecar-containers.conf
# runc: it also runs where this is a container itself.
cat >"$conf" <<'C'
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
C
export CONTAINERS_CONF=$conf
[ "${1:-}" = setup ] || command -v podman >/dev/null || {
  echo "podman is missing; on Debian, as root: deploy/tools/containers.sh setup" >&2
  exit 1
}
base=docker.io/library/python:3.11-slim-bookworm
case ${1:-} in
setup)
  install() {
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  }
  command -v podman >/dev/null && command -v runc >/dev/null || install podman buildah runc fuse-overlayfs catatonit
  podman image exists "$base" || podman pull -q "$base" 2>/dev/null || {
    # No registry: the same Debian with the same Python, from Debian itself.
    command -v debootstrap >/dev/null || install debootstrap
    root=$(mktemp -d)
    debootstrap --variant=minbase --include=python3,python3-venv,python3-dev,python3-pip,gcc,g++,make,ca-certificates \
      bookworm "$root" >/dev/null
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    tar -C "$root" -c . | podman import -q - "$base"
    rm -rf "$root"
  }
  ;;
build)
  tag=$2 context=$3
  shift 3
  # docker's format, because the other one has no HEALTHCHECK.
  podman image exists "$base" || "$0" setup
  exec podman build --format docker --isolation=chroot --pull=never -t "$tag" \
    -v /etc/ssl/certs:/etc/ssl/certs:ro -v /etc/resolv.conf:/etc/resolv.conf:ro "$@" "$context"
  ;;
play)
  file=$2
  shift 2
  exec podman kube play --network=none "$@" "$file"
  ;;
down) exec podman kube down "$2" ;;
podman)
  shift
  exec podman "$@"
  ;;
*)
  sed -n '2,7p' "$0"
  exit 2
  ;;
esac
