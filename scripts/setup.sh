# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Shared by ./run and ./check: finds and installs what the build needs. Sourced from the root of the project.

say() {
    spoken=$(date +%s)
    printf '%s\n' "$*" >&2
}

die() {
    say "$*"
    exit 1
}

# have NAME: whether the tool or header of the Debian package NAME is present, however it was installed.
have() {
    case $1 in
    gcc) command -v cc ;;
    g++) command -v c++ ;;
    ninja-build) command -v ninja ;;
    libc6-dev) has_header stdlib.h ;;
    gcc-aarch64-linux-gnu) command -v aarch64-linux-gnu-gcc ;;
    libc6-dev-arm64-cross) ls /usr/aarch64-linux-gnu/include/stdlib.h ;;
    qemu-user) command -v qemu-aarch64 || command -v qemu-aarch64-static ;;
    libdnnl-dev) has_header dnnl.h ;;
    libjansson-dev) has_header jansson.h ;;
    libunistring-dev) has_header unictype.h ;;
    libpcre2-dev) printf '#define PCRE2_CODE_UNIT_WIDTH 8\n#include <pcre2.h>\n' | cc -E -x c - -o /dev/null ;;
    zlib1g-dev) has_header zlib.h ;;
    libzstd-dev) has_header zstd.h ;;
    libbz2-dev) has_header bzlib.h ;;
    libsentencepiece-dev) printf '#include <sentencepiece_trainer.h>\n' | c++ -E -x c++ - -o /dev/null ;;
    libopenmpi-dev) has_header mpi.h || pkg-config --exists ompi-c || mpicc --version ;;
    openmpi-bin) command -v mpirun ;;
    libopenblas0-pthread) ls /usr/lib/*/openblas-pthread/libblas.so.3 ;;
    mkdocs-material) mkdocs build --help | grep material ;;
    python3-numpy) python3 -c 'import numpy' || /usr/bin/python3 -c 'import numpy' ;;
    python3-venv) python3 -c 'import ensurepip, venv' ;;
    python3-torch) /usr/bin/python3 -c 'import torch' ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

has_header() {
    printf '#include <%s>\n' "$1" | cc -E -x c - -o /dev/null
}

missing_of() {
    for package in "$@"; do
        have "$package" || printf ' %s' "$package"
    done
}

# Runs a command as root, or through sudo. Without a terminal sudo must not ask for a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

can_install() {
    command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1; }
}

# How far the command is whose output is the log: what ninja counts, or the packages that apt-get has unpacked or set up.
count_in() {
    if grep -q '^\[[0-9]*/[0-9]*\]' "$1"; then
        sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 of \2, /p' "$1" | tail -n 1
        return
    fi
    packages=$(sed -n 's/^[0-9]* upgraded, \([0-9]*\) newly installed.*/\1/p' "$1" | tail -n 1)
    [ -z "$packages" ] || printf '%s packages, ' "$packages"
    for step in 'Setting up' Unpacking Get:; do
        many=$(grep -c "^$step" "$1") || continue
        case $step in Get:) step=fetched ;; Unpacking) step=unpacked ;; *) step='set up' ;; esac
        printf '%s %s, ' "$many" "$step"
        return
    done
}

# follow WHAT LOG COMMAND...: runs the command with its output in the log, and says meanwhile how far it is, in one line on
# a terminal and elsewhere in a line whenever nothing was said for nine seconds.
follow() {
    what=$1 log=$2
    shift 2
    "$@" </dev/null >>"$log" 2>&1 &
    pid=$!
    # Without job control a command in the background ignores Ctrl-C.
    trap 'kill $pid 2>/dev/null; exit 130' INT
    trap 'kill $pid 2>/dev/null; exit 143' TERM
    while kill -0 $pid 2>/dev/null; do
        sleep 1
        now=$(date +%s)
        : "${began:=$now}"
        if [ -t 2 ]; then
            printf '\r\033[K%s ... %s%d s ' "$what" "$(count_in "$log")" $((now - began)) >&2
        elif [ $((now - spoken)) -ge 9 ]; then
            say "$what ... $(count_in "$log")$((now - began)) s"
        fi
    done
    trap - INT TERM
    [ ! -t 2 ] || printf '\r\033[K' >&2
    wait $pid
}

apt_get() {
    follow "Installing" build/setup.log as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@"
}

# install PACKAGE...: tries to install missing packages. Sets `missing` to those still missing, and `why` to a hint.
install() {
    why=
    missing=$(missing_of "$@")
    [ -n "$missing" ] && can_install || return 0
    say "Installing from Debian:$missing"
    began=$spoken
    mkdir -p build
    : >build/setup.log
    # shellcheck disable=SC2086 # a list of words
    apt_get install --no-install-recommends $missing ||
        { apt_get update && apt_get install --no-install-recommends $missing; } ||
        why="; build/setup.log says why"
    missing=$(missing_of "$@")
}

# What every build needs, and what it does without.
need_build_tools() {
    install gcc libc6-dev cmake ninja-build libdnnl-dev libjansson-dev libunistring-dev
    [ -z "$missing" ] || die "These are missing and cannot be installed:$missing (names of Debian 12 packages$why). Install them and run this again."
    install g++ libsentencepiece-dev
    [ -z "$missing" ] || say "Continuing without:$missing (names of Debian 12 packages$why). The program will have no SentencePiece."
    install libpcre2-dev
    [ -z "$missing" ] || say "Continuing without:$missing (names of Debian 12 packages$why). The program will not read a tokenizer.json with regular expressions."
    install zlib1g-dev libzstd-dev libbz2-dev
    [ -z "$missing" ] || say "Continuing without:$missing (names of Debian 12 packages$why). The program will not read texts that they decompress."
}

# want PACKAGE...: like install, for packages without which only some tests are skipped.
want() {
    install "$@"
    [ -z "$missing" ] || say "Continuing without:$missing (names of Debian 12 packages$why). Tests that need them are skipped."
}

# build PRESET [ARGUMENTS...]: configures once, and builds what changed. ARGUMENTS go to cmake --build, and the variable
# `configure`, if it is set, to the first cmake. Prints the log only if the build fails.
build() {
    preset=$1 log=build/$1.log
    shift
    mkdir -p build
    say "Building ($preset) ..."
    began=$spoken
    : >"$log"
    if ! { { [ -f "build/$preset/build.ninja" ] ||
        follow "Configuring ($preset)" "$log" cmake --preset "$preset" ${configure:+"$configure"}; } &&
        follow "Building ($preset)" "$log" cmake --build --preset "$preset" "$@"; }; then
        tail -n 40 "$log" >&2
        die "Building ($preset) failed; the complete log is $log."
    fi
}
