#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The rules that need nothing but the sources and the objects of a build, one case for each script.
# The last line is `lint: N passed, N failed`.
# usage: CC=cc sh tests/lint/run.sh OBJ
set -u
here=$(cd "$(dirname "$0")" && pwd)
passed=0
failed=0

try() { # SCRIPT [ARGUMENT]
    if sh "$here/$1" ${2:+"$2"}; then
        passed=$((passed + 1))
    else
        echo "FAILED: tests/lint/$1"
        failed=$((failed + 1))
    fi
}

try layers.sh
try rules.sh
try selftest.sh
OBJ=$1 try check.sh
try fetches.sh "$1"
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
