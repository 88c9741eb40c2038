#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs and uninstalls; called by `make install` and `make uninstall` at the top of the tree.
# Everything lies below PREFIX and finds its neighbours from there, so the folder may be moved.
# share/wsc/manifest lists what was made, folders first: uninstall removes that and nothing else.
# usage: mpi_launch/packaging/install.sh install|uninstall PREFIX [BUILD]    with $DESTDIR before PREFIX
set -eu
umask 022

root=${DESTDIR:-}$2
manifest=$root/share/wsc/manifest
libdir=${LIBDIR:-lib} # below PREFIX: lib, lib64, lib/x86_64-linux-gnu
up=$(echo "$libdir/pkgconfig" | sed 's|[^/][^/]*|..|g')

# Make the folder PREFIX/$1 and what is missing above it, up to PREFIX.
folder() {
    [ ! -d "$root/$1" ] || return 0
    case $1 in
    .) mkdir -p "$(dirname "$root")" && mkdir "$root" ;;
    */*) folder "${1%/*}" && mkdir "$root/$1" ;;
    *) folder . && mkdir "$root/$1" ;;
    esac
    echo "d $1" >>"$list"
}

# Install files into the folder PREFIX/$2 with mode $1.
put() { # MODE FOLDER FILE...
    mode=$1 to=$2
    shift 2
    folder "$to"
    for file; do
        install -m "$mode" "$file" "$root/$to/"
        echo "f $to/${file##*/}" >>"$list"
    done
}

# The same for a folder of the tree with all that is below it.
put_tree() { # MODE-OF-FILES FOLDER SOURCE
    find "$3" -type f | LC_ALL=C sort >"$made/tree"
    while IFS= read -r path; do
        inside=${path#"$3"}
        put "$1" "$2${inside%/*}" "$path"
    done <"$made/tree"
}

# There is a static library alone, so that each program needs all it is linked with.
write_pkg_config() {
    cat <<EOF
prefix=\${pcfiledir}/$up
Name: wsc
Description: emulator of a wafer-scale AI cluster
Version: $("$build/bin/wsc" --version | awk '{ print $2; exit }')
Cflags: -I\${prefix}/include${FLAGS:+ $FLAGS}
Libs: -L\${prefix}/$libdir/wsc -l:libwsc.a -fopenmp $LIBS -lm
Requires: $PKGS
EOF
}

write_library_pkg_config() {
    cat <<EOF
prefix=\${pcfiledir}/$up
Name: libwsc
Description: C interface of wsc, an emulator of a wafer-scale AI cluster
Version: $("$build/bin/wsc" --version | awk '{ print $2; exit }')
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/$libdir -lwsc
EOF
}

# The C interface and the Python module, where `make library` has built them.  The static library
# with the internal headers has another folder: -lwsc takes what stands in lib.
install_library() {
    shared=${build%/*}/shared
    [ -f "$shared/libwsc.so.1" ] || return 0
    put 755 "$libdir" "$shared/libwsc.so.1"
    ln -sf libwsc.so.1 "$root/$libdir/libwsc.so"
    echo "f $libdir/libwsc.so" >>"$list"
    put 644 include include/libwsc.h
    write_library_pkg_config >"$made/libwsc.pc"
    put 644 "$libdir/pkgconfig" "$made/libwsc.pc"
    put 644 share/wsc/python mpi_launch/packaging/python/pyproject.toml
    put 644 share/wsc/python/wsc mpi_launch/packaging/python/wsc/__init__.py
    put 644 share/doc/wsc/examples mpi_launch/packaging/examples/*.* # without what Python keeps beside them
}

install_all() {
    put 755 bin "$build/bin/wsc"
    put_tree 644 share/wsc/configs configs
    put 644 share/wsc/reference benchmarks/reference/*.csv benchmarks/reference/exhibits.yaml
    put 644 share/wsc/reference/products benchmarks/reference/products/*.csv
    put 755 share/wsc/mpi_launch mpi_launch/local.sh mpi_launch/hosts.sh mpi_launch/agent.sh \
        mpi_launch/pbs.sh mpi_launch/slurm.sbatch mpi_launch/slurm_sweep.sbatch
    put 644 share/wsc/mpi_launch mpi_launch/common.sh mpi_launch/hosts.example
    put 644 include/wsc include/wsc/*.h
    put 644 "$libdir/wsc" "$build/libwsc.a"
    install_library
    write_pkg_config >"$made/wsc.pc"
    put 644 "$libdir/pkgconfig" "$made/wsc.pc"
    for page in $("$build/bin/wsc" help --man list); do
        "$build/bin/wsc" help --man "$page" >"$made/$page"
        put 644 "share/man/man${page##*.}" "$made/$page"
    done
    "$build/bin/wsc" help --completion bash >"$made/wsc"
    put 644 share/bash-completion/completions "$made/wsc"
    "$build/bin/wsc" help --completion zsh >"$made/_wsc"
    put 644 share/zsh/site-functions "$made/_wsc"
    "$build/bin/wsc" params --schema >"$made/params.schema.json"
    "$build/bin/wsc" params --schema cluster >"$made/cluster.schema.json"
    put 644 share/wsc/schema "$made/params.schema.json" "$made/cluster.schema.json"
    put 644 share/doc/wsc LICENSE docs/*.md
}

# Python's compiled copies of the module PREFIX/$1.
remove_compiled() {
    kept=$root/${1%/*}/__pycache__ name=${1##*/}
    [ -d "$kept" ] || return 0
    rm -f "$kept/${name%.py}".*.pyc
    rmdir "$kept" 2>/dev/null || :
}

uninstall_all() {
    [ -f "$manifest" ] || return 0
    sed -n 's/^f //p' "$manifest" | while IFS= read -r path; do
        rm -f "$root/$path"
        case $path in *.py) remove_compiled "$path" ;; esac
    done
    folders=$(sed -n 's/^d //p' "$manifest" | LC_ALL=C sort -r)
    rm "$manifest"
    # A folder that holds something of somebody else stays.
    echo "$folders" | while IFS= read -r path; do
        [ -z "$path" ] || rmdir "$root/${path#.}" 2>/dev/null || :
    done
}

case $1 in
install)
    build=$3
    made=$(mktemp -d)
    list=$made/list
    : >"$list"
    # Also after a failure, so that what was made can be removed.
    trap 'install -m 644 "$list" "$manifest"; rm -rf "$made"' EXIT
    uninstall_all
    folder share/wsc
    install_all
    ;;
uninstall)
    if [ ! -f "$manifest" ]; then
        echo "$root: no installation: there is no share/wsc/manifest" >&2
        exit 1
    fi
    uninstall_all
    ;;
esac
