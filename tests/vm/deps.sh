#!/bin/sh
# Install what the build and the virtual machines need and this machine lacks. Says nothing when all is there.
set -eu

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
updated=

have() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1; }
get() {
    if [ -z "$updated" ]; then
        $sudo apt-get update -qq
        updated=yes
    fi
    # One package at a time, without the recommended ones: where a newer qemu-utils is installed already, asking for
    # both QEMU packages at once ends with "held broken packages".
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
need() {
    have "$1" && return
    echo "installing $2"
    if ! have apt-get; then
        echo "$1 is missing: install it, this machine has no apt-get" >&2
        exit 3
    fi
    get "$2" || $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --allow-downgrades "$2"
    have "$1" || { echo "$1 is still missing after installing $2" >&2; exit 3; }
}

need python3 python3
need qemu-system-x86_64 qemu-system-x86
# Behind it: a newer qemu-utils, of backports, is removed by apt when qemu-system-x86 is installed.
need qemu-img qemu-utils
[ -f /usr/share/seabios/bios-256k.bin ] || get seabios
need debootstrap debootstrap
need cpio cpio
need zstd zstd
need shellcheck shellcheck
need dash dash
need cc gcc
need cargo cargo-web
version=$(cargo --version | sed 's/cargo 1\.\([0-9]*\).*/\1/')
[ "$version" -ge 95 ] 2>/dev/null || {
    echo "$(cargo --version) is too old: Rust 1.95 or newer is needed; remove it and install cargo-web" >&2
    exit 3
}
