#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a build would use, found on this host; called by the Makefile, which also takes the answers
# as variables.  `summary` prints all of it and ends with status 1 when something needed is missing.
# usage: mpi_launch/packaging/detect.sh hdf5|onednn|mpirun COMPILER
#        mpi_launch/packaging/detect.sh summary COMPILER HDF5 ONEDNN ARCH MODULE...
set -u
what=$1
cc=$2

compiles() { # TEXT FLAG...
    text=$1
    shift
    printf '%b' "$text" | $cc "$@" -E -x c - >/dev/null 2>&1
}

# Flags of a name that pkg-config knows, or of a compiler wrapper of HDF5.
hdf5_flags() { # NAME
    case $1 in
    *h5pcc*) "$1" -show 2>/dev/null | tr ' ' '\n' | grep -E '^-[ID]' ;;
    *) pkg-config --cflags "$1" 2>/dev/null ;;
    esac
}

is_parallel_hdf5() { # NAME
    case $1 in
    *h5pcc*) command -v "$1" >/dev/null 2>&1 || return 1 ;;
    *) pkg-config --exists "$1" 2>/dev/null || return 1 ;;
    esac
    # shellcheck disable=SC2046 # a list of flags
    compiles '#include <hdf5.h>\n#ifndef H5_HAVE_PARALLEL\n#error serial\n#endif\n' $(hdf5_flags "$1")
}

# The HDF5 that was built with the MPI of the compiler; Debian has one for each.
find_hdf5() {
    names='hdf5-openmpi hdf5 h5pcc h5pcc.openmpi'
    case $($cc -show 2>/dev/null) in *mpich*) names='hdf5-mpich hdf5 h5pcc.mpich h5pcc' ;; esac
    for name in $names; do
        is_parallel_hdf5 "$name" && echo "$name" && return
    done
}

has_onednn() {
    compiles '#include <oneapi/dnnl/dnnl.h>\n'
}

is_open_mpi() {
    mpirun --version 2>/dev/null | grep -q 'Open MPI'
}

bad=0
row() { # NAME WHAT
    printf '  %-12s %s\n' "$1" "$2"
}
missing() { # NAME WHAT
    row "$1" "missing: $2"
    bad=1
}

version_of_onednn() {
    printf '#include <oneapi/dnnl/dnnl_version.h>\nDNNL_VERSION_MAJOR.DNNL_VERSION_MINOR.DNNL_VERSION_PATCH\n' |
        $cc -E -P -x c - 2>/dev/null | tail -n 1 | tr -d ' '
}

version_of_hdf5() { # NAME
    # shellcheck disable=SC2046 # a list of flags
    printf '#include <H5pubconf.h>\nH5_VERSION\n' | $cc $(hdf5_flags "$1") -E -P -x c - 2>/dev/null |
        tail -n 1 | tr -d '"'
}

summary() { # HDF5 ONEDNN ARCH MODULE...
    hdf5=$1 onednn=$2 arch=$3
    shift 3
    if version=$($cc --version 2>/dev/null); then
        row compiler "$(echo "$version" | head -n 1), by $cc (MPICC=)"
    else
        missing compiler "$cc (MPICC=)"
    fi
    if version=$(mpirun --version 2>/dev/null | sed -n 's/^mpirun (\(.*\)) \(.*\)/\1 \2/p;s/^ *Version: */MPICH /p'); then
        row MPI "${version:-unknown}"
    fi
    if [ -n "$hdf5" ]; then
        row HDF5 "$(version_of_hdf5 "$hdf5"), parallel, by $hdf5 (HDF5=)"
    else
        missing HDF5 "a parallel HDF5 for this MPI, by pkg-config or h5pcc (HDF5=)"
    fi
    case $onednn in
    yes) row products "oneDNN $(version_of_onednn) (ONEDNN=)" ;;
    *) row products "our own loops, slower, other last bits than oneDNN's (ONEDNN=)" ;;
    esac
    row 'vector code' "${arch:-what the compiler assumes} (ARCH=)"
    for module; do
        if version=$(pkg-config --modversion "$module" 2>/dev/null); then
            row "$module" "$version"
        else
            missing "$module" 'pkg-config does not know it'
        fi
    done
    row cunit "$(pkg-config --modversion cunit 2>/dev/null || echo 'not installed: no tests in C')"
    row gnuplot "$(gnuplot --version 2>/dev/null || echo 'not installed: no pictures')"
    row python3 "$(python3 --version 2>/dev/null || echo 'not installed: module not tested')"
    return $bad
}

case $what in
hdf5) find_hdf5 ;;
onednn) if has_onednn; then echo yes; else echo no; fi ;;
mpirun) if is_open_mpi; then echo 'mpirun --timeout 1800'; else echo 'env MPIEXEC_TIMEOUT=1800 mpirun'; fi ;;
summary)
    shift 2
    summary "$@"
    ;;
esac
