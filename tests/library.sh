#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests of the shared library: what it exports, the example in C, the Python module, each against
# the program.  Called by `make check-library`; prints `N passed, N failed` as the other suites.
# usage: tests/library.sh PROGRAM FOLDER-OF-THE-LIBRARY
# shellcheck disable=SC2046,SC2317 # flags of pkg-config; functions that check() calls by name
set -u
program=$(readlink -f "$1")
lib=$(readlink -f "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "library: $what: failed" >&2
    fi
}

# Symbols that a program could see are those of the header, each of them.
exports_are_the_header() {
    nm -D --defined-only "$lib/libwsc.so.1" | sed -n 's/.* [A-Z] \(.*\)@@.*/\1/p' | grep -v '^LIBWSC' | sort >"$work/exported"
    grep -o 'libwsc_[a-z_]*(' include/libwsc.h | tr -d '(' | sort -u >"$work/declared"
    diff "$work/exported" "$work/declared"
}

header_is_plain_c_and_cxx() {
    echo '#include <libwsc.h>' >"$work/header.c"
    gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$work/header.c" &&
        { ! command -v g++ >/dev/null || g++ -x c++ -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$work/header.c"; }
}

# A plain compiler, without MPI's; the numbers are those of scaling.csv.
example_agrees() {
    gcc -std=c11 -Wall -Wextra -Werror -Iinclude mpi_launch/packaging/examples/predict.c -o "$work/predict" \
        -L"$lib" -lwsc -Wl,-rpath,"$lib" &&
        "$work/predict" configs/params/gpt3_111m.yaml >"$work/said" &&
        "$program" scale --params configs/params/gpt3_111m.yaml --num_csx 1,2,4,8,16 \
            --out "$work/scale" >/dev/null &&
        awk -F, 'NR > 1 { printf "%d systems: %.0f tokens/s, efficiency %.3f\n", $3, $6, $9 }' \
            "$work/scale/scaling.csv" | diff - "$work/said" &&
        ! "$work/predict" nowhere.yaml 2>/dev/null
}

make_plain() {
    env -u MAKEFLAGS -u MAKELEVEL make -s -o all BUILD="${program%/bin/wsc}" "$@"
}

# Of the installation $work/p, while Python keeps compiled copies in it.
module_works() {
    command -v python3 >/dev/null || return 0
    (cd / && env -u PYTHONDONTWRITEBYTECODE -u PYTHONPYCACHEPREFIX \
        PYTHONPATH="$work/p/share/wsc/python:$work/p/share/doc/wsc/examples" \
        python3 -c 'import throughput, wsc; print(wsc.version())' >/dev/null) &&
        test -d "$work/p/share/wsc/python/wsc/__pycache__"
}

uninstalls() {
    make_plain uninstall PREFIX="$work/p" && test -z "$(find "$work/p" 2>/dev/null)"
}

# The static library of the installation $work/p, by its own file of pkg-config.
static_links() {
    mpicc "$work/p/share/doc/wsc/examples/predict.c" -o "$work/static" \
        $(PKG_CONFIG_PATH=$work/p/lib/pkgconfig pkg-config --cflags --libs wsc) &&
        "$work/static" configs/params/tiny.yaml >/dev/null
}

# An installation that was moved: the example through pkg-config, the module without a variable.
installed_works() {
    make_plain install PREFIX="$work/first" && mv "$work/first" "$work/p" &&
        gcc $(PKG_CONFIG_PATH=$work/p/lib/pkgconfig pkg-config --cflags libwsc) \
            "$work/p/share/doc/wsc/examples/predict.c" -o "$work/installed" \
            $(PKG_CONFIG_PATH=$work/p/lib/pkgconfig pkg-config --libs libwsc) \
            -Wl,-rpath,"$work/p/lib" &&
        "$work/installed" configs/params/tiny.yaml >/dev/null &&
        static_links && module_works && uninstalls
}

# In Debian's folder of libraries, from a tree in which Python has imported the example.
installed_elsewhere_works() {
    machine=$(gcc -print-multiarch)
    kept=mpi_launch/packaging/examples/__pycache__
    mkdir -p "$kept" && make_plain install PREFIX="$work/p" LIBDIR="lib/$machine" &&
        { [ -z "$machine" ] || module_works; } && uninstalls
    done=$?
    rmdir "$kept" 2>/dev/null
    return "$done"
}

# The first interpreter that has a module, else the first: packages of the system belong to its own.
python_with() { # MODULE
    for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
        command -v "$candidate" >/dev/null || continue
        "$candidate" -c "import $1" 2>/dev/null && echo "$candidate" && return
    done
    command -v python3
}

check exports exports_are_the_header
check header header_is_plain_c_and_cxx
check example example_agrees
check installation installed_works
check 'another folder of libraries' installed_elsewhere_works
echo "library: $passed passed, $failed failed"
status=$failed
python=$(python_with numpy)
if [ -n "$python" ]; then
    WSC_LIBRARY=$lib/libwsc.so.1 WSC_PROGRAM=$program PYTHONPATH=$PWD/mpi_launch/packaging/python \
        PYTHONDONTWRITEBYTECODE=1 "$python" tests/library_check.py "$program" "$work" || status=1
else
    echo 'skipped: library: python3 is not installed'
fi
exit "$status"
