#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests of the recipes in mpi_launch/packaging/: one version everywhere, the packages that mpi_launch/deps.sh
# asks for, and a syntax that can be read here.  Tools that are not installed (apptainer, docker,
# spack, eb, desktop tools of Debian) would only read the same files; their syntax is checked by
# what Python and make know of it.  Prints `N passed, N failed` as the other suites.
# usage: tests/packaging.sh PROGRAM
# shellcheck disable=SC2046,SC2317 # flags of pkg-config; functions that check() calls by name
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
version=$("$program" --version | awk '{ print $2; exit }')

check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "packaging: $what: failed" >&2
    fi
}

# FILE and the text before its version; every match in a file must be the program's version.
versions_agree() {
    bad=0
    while read -r file pattern; do
        found=$(sed -n "s/$pattern/\\1/p" "$file" | sort -u)
        [ "$found" = "$version" ] && continue
        echo "$file: version '$found', the program has $version" >&2
        bad=1
    done <<'EOF'
mpi_launch/packaging/CITATION.cff ^version: *\(.*\)
mpi_launch/packaging/python/pyproject.toml ^version = "\(.*\)"
mpi_launch/packaging/debian/changelog ^wsc (\([^-]*\)-[^)]*).*
mpi_launch/packaging/spack/package.py .*version("\([^"]*\)".*
mpi_launch/packaging/spack/package.py .*wsc-\(.*\)\.tar\.gz.*
mpi_launch/packaging/containers/Containerfile .*image\.version="\([^"]*\)".*
mpi_launch/packaging/containers/wsc.def ^ *Version \(.*\)
EOF
    for file in mpi_launch/packaging/easybuild/*.eb; do
        case $file in */wsc-"$version"-*) ;; *) bad=1 ;; esac
        grep -q "^version = '$version'" "$file" || bad=1
    done
    grep -q "^## $version" docs/CHANGELOG.md || bad=1
    return $bad
}

# The -dev packages and programs of deps.sh, as a sorted list.
deps_of_debian() {
    sed -n 's/.*apt:   apt-get install //p' mpi_launch/deps.sh | tr ' ' '\n'
}
deps_of_spack() {
    sed -n 's/.*spack: spack install //p' mpi_launch/deps.sh | tr ' ' '\n' | sed 's/[+@].*//'
}

# Build-Depends of Debian; what every build has, pictures and texts are not needed for it.
debian_needs_what_deps_needs() {
    deps_of_debian | grep -vE '^(build-essential|gnuplot-nox|jargon-text)$' | sort >"$work/deps"
    sed -n '/^Build-Depends:/,/^Standards/p' mpi_launch/packaging/debian/control |
        sed 's/^Build-Depends://;/^Standards/d;s/(.*)//;s/,//' | tr -d ' ' |
        grep -vE '^(debhelper-compat|dh-python|python3)$' | sort >"$work/control"
    diff "$work/deps" "$work/control"
}

containers_need_what_deps_needs() {
    for file in mpi_launch/packaging/containers/Containerfile mpi_launch/packaging/containers/wsc.def; do
        for package in $(deps_of_debian | grep -vE '^(libcunit1-dev|jargon-text)$'); do
            grep -qw -- "$package" "$file" || { echo "$file: $package" >&2 && return 1; }
        done
    done
}

spack_needs_what_deps_needs() {
    for package in $(deps_of_spack); do
        case $package in
        openmpi) package=mpi ;;
        pkgconf) package=pkgconfig ;;
        zlib) package=zlib-api ;;
        esac
        grep -q "depends_on(\"${package}[\"@+ ]" mpi_launch/packaging/spack/package.py ||
            { echo "mpi_launch/packaging/spack/package.py: $package" >&2 && return 1; }
    done
}

# Every make variable and target that a recipe names is one of the Makefile's.
targets_exist() {
    for target in all library install check-unit check-library; do
        grep -q "^$target:" Makefile || return 1
    done
    for variable in ARCH ONEDNN HDF5 MPICC LIBDIR PREFIX DESTDIR; do
        grep -qE "\\$\\($variable\\)|^$variable " Makefile || return 1
    done
}

python_recipes_parse() {
    python3 - mpi_launch/packaging/spack/package.py mpi_launch/packaging/easybuild/*.eb <<'EOF'
import ast, sys
spack, easyconfigs = sys.argv[1], sys.argv[2:]
calls = {node.func.id for node in ast.walk(ast.parse(open(spack).read()))
         if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
wrong = calls - {"version", "variant", "depends_on", "license", "make", "join_path", "Executable",
                 "run_after", "on_package_attributes"}
assert not wrong, f"{spack}: {wrong}"
for path in easyconfigs:
    names = {}
    exec(compile(open(path).read(), path, "exec"), names)
    for name in ("easyblock", "name", "version", "homepage", "description", "toolchain",
                 "moduleclass"):
        assert name in names, f"{path}: {name}"
    for entry in names["dependencies"] + names["builddependencies"]:
        assert len(entry) in (2, 3), f"{path}: {entry}"
EOF
}

# Instructions of the Dockerfile reference, continued lines joined; shell of RUN parses.
containerfile_parses() {
    sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' mpi_launch/packaging/containers/Containerfile |
        grep -vE '^(#|$)' >"$work/lines"
    ! grep -vE '^(FROM|RUN|COPY|LABEL|ENV|ENTRYPOINT) ' "$work/lines" &&
        sed -n 's/^RUN //p' "$work/lines" | sh -n
}

# Sections of an Apptainer definition; the scripts in it parse.
apptainer_definition_parses() {
    file=mpi_launch/packaging/containers/wsc.def
    grep -q '^Bootstrap: docker$' $file && grep -q '^From: ' $file &&
        ! grep '^%' $file | grep -vE '^%(files|post|environment|test|runscript|labels)$' || return 1
    for section in post environment test runscript; do
        sed -n "/^%$section\$/,/^\$/p" $file | sed 1d | sh -n || return 1
    done
}

# An archive has its revision where git is not at hand.
archive_knows_its_revision() {
    git rev-parse HEAD >/dev/null 2>&1 || return 0 # an archive itself
    git archive HEAD mpi_launch/packaging/revision | tar -xO >"$work/revision" &&
        grep -qE '^[0-9a-f]{7,} [0-9]{4}-[0-9]{2}-[0-9]{2}$' "$work/revision"
}

# Unpacked in a repository of something else, it is not that one's revision that it has.
archive_in_another_repository() {
    git rev-parse HEAD >/dev/null 2>&1 || return 0
    mkdir "$work/other" && git archive HEAD --prefix=tree/ | tar -x -C "$work/other" &&
        cp Makefile "$work/other/tree" &&
        (cd "$work/other" && git init -q && git -c user.name=a -c user.email=b commit -q \
            --allow-empty -m other && cd tree && env -u MAKEFLAGS -u MAKELEVEL \
            make -n build/release/revision | grep -qF "'$(cat mpi_launch/packaging/revision)'")
}

# A program with HDF5 and the library, by what an installation of a build with h5pcc says.
pkg_config_knows_h5pcc() {
    line=$(env -u MAKEFLAGS -u MAKELEVEL make -n install HDF5=h5pcc.openmpi PREFIX="$work/p" |
        grep 'install\.sh')
    eval "$line" && printf '%s\n' '#include <hdf5.h>' '#include <wsc/out.h>' \
        'int main(void) { return H5open() < 0 || !out_version(); }' >"$work/client.c" &&
        mpicc -c "$work/client.c" -o "$work/client.o" \
            $(PKG_CONFIG_PATH=$work/p/lib/pkgconfig pkg-config --cflags wsc) &&
        mpicc "$work/client.o" -o "$work/client" \
            $(PKG_CONFIG_PATH=$work/p/lib/pkgconfig pkg-config --libs --static wsc) &&
        "$work/client"
}

config_is_complete() {
    env -u MAKEFLAGS -u MAKELEVEL make -s config >"$work/config" && ! grep -q missing "$work/config" &&
        ! env -u MAKEFLAGS -u MAKELEVEL make -s config MPICC=no_such_mpicc >"$work/config" 2>&1 &&
        grep -q 'compiler  *missing' "$work/config"
}

check versions versions_agree
check 'debian/control' debian_needs_what_deps_needs
check containers containers_need_what_deps_needs
check spack spack_needs_what_deps_needs
check targets targets_exist
check Containerfile containerfile_parses
check 'Apptainer definition' apptainer_definition_parses
check revision archive_knows_its_revision
check 'revision in another repository' archive_in_another_repository
if command -v h5pcc.openmpi >/dev/null; then
    check 'wsc.pc with h5pcc' pkg_config_knows_h5pcc
else
    echo 'skipped: packaging: wsc.pc with h5pcc: h5pcc.openmpi is not installed'
fi
check 'make config' config_is_complete
if command -v python3 >/dev/null; then
    check 'recipes in Python' python_recipes_parse
else
    echo 'skipped: packaging: recipes in Python: python3 is not installed'
fi
if command -v dpkg-parsechangelog >/dev/null; then
    check 'debian/changelog' sh -c 'dpkg-parsechangelog -l mpi_launch/packaging/debian/changelog >/dev/null'
else
    echo 'skipped: packaging: debian/changelog: dpkg-dev is not installed'
fi
echo "packaging: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
