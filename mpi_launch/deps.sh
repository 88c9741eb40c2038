#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks for what the build, the tests and the main job need.  On Debian and Ubuntu it installs
# what is missing (as root or through sudo without a password); elsewhere it names the packages
# and ends with status 1.  Does nothing, quickly, when all is there.
# usage: deps.sh [hosts|optional]      hosts: also what `make test-hosts` needs; optional: also what
# tests use where it is there (mandoc, zsh, Chromium, modules of Python)
set -u

PATH=$PATH:/usr/sbin:/sbin
purpose=${1:-}

jargon=/usr/share/doc/jargon-text/jargon.txt.gz
missing= # what was not found, for people
wanted=  # Debian packages that provide it

need() { # WHAT PACKAGE...
    missing="$missing $1"
    shift
    wanted="$wanted $*"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# What was chosen for the build is not asked for: MPICC and HDF5 name others, ONEDNN=no and
# GNUPLOT=no do without (the Makefile passes on what is given to it).
mpicc=${MPICC:-mpicc}
products=oneapi/dnnl/dnnl.h
[ "${ONEDNN:-}" != no ] || products=math.h

# One run of the preprocessor shows whether compiler, C library, MPI and oneDNN headers are there.
headers_work() {
    have "${mpicc%% *}" && printf '#include <mpi.h>\n#include <omp.h>\n#include <stdlib.h>\n%s\n' \
        "#include <$products>" | $mpicc -fopenmp -E -x c - >/dev/null 2>&1
}

check_modules() {
    while read -r module package; do
        pkg-config --exists "$module" 2>/dev/null || need "$module" "$package"
    done <<EOF
yaml-0.1 libyaml-dev
jansson libjansson-dev
libxxhash libxxhash-dev
zlib zlib1g-dev
libzstd libzstd-dev
libdeflate libdeflate-dev
liblz4 liblz4-dev
cunit libcunit1-dev
EOF
}

check_hosts() {
    { have munged && have slurmctld && have slurmd && have sbatch; } ||
        need slurm munge slurmctld slurmd slurm-client
    { have sshd && have ssh; } || need sshd openssh-server openssh-client
    have ip || need ip iproute2
    have nsenter || need nsenter util-linux
}

check_optional() {
    have mandoc || need mandoc mandoc
    have zsh || need zsh zsh
    have chromedriver || need chromedriver chromium chromium-driver
    for module in jsonschema yaml numpy pandas matplotlib nbconvert ipykernel; do
        /usr/bin/python3 -c "import $module" 2>/dev/null || need "Python's $module" "python3-$module"
    done
}

check() {
    missing=
    wanted=
    [ "$purpose" != hosts ] || check_hosts
    [ "$purpose" != optional ] || check_optional
    { have gcc && have make; } || need compiler build-essential
    have pkg-config || need pkg-config pkg-config
    have mpirun || need mpirun openmpi-bin
    headers_work || need "$mpicc $products" build-essential libopenmpi-dev libdnnl-dev
    [ -n "${HDF5:-$(sh "${0%/*}/packaging/detect.sh" hdf5 "$mpicc")}" ] ||
        need 'parallel HDF5' libhdf5-openmpi-dev
    check_modules
    have gnuplot || [ "${GNUPLOT:-}" = no ] || need gnuplot gnuplot-nox
    # The text is a Debian package only; elsewhere `make run TEXT=file` takes any text.
    if [ ! -r "$jargon" ] && have apt-get; then need "$jargon" jargon-text; fi
    [ -z "$missing" ]
}

explain() {
    [ "$purpose" != hosts ] ||
        echo 'deps: tests of schedulers and several hosts need Slurm, munge, sshd, iproute2' >&2
    cat >&2 <<EOF
deps: missing:$missing
  apt:   apt-get install build-essential pkg-config openmpi-bin libopenmpi-dev libhdf5-openmpi-dev libyaml-dev libdnnl-dev libjansson-dev libxxhash-dev zlib1g-dev libzstd-dev libdeflate-dev liblz4-dev libcunit1-dev gnuplot-nox jargon-text
  dnf:   dnf install gcc make pkgconf-pkg-config openmpi-devel hdf5-openmpi-devel libyaml-devel onednn-devel jansson-devel xxhash-devel zlib-devel libzstd-devel libdeflate-devel lz4-devel CUnit-devel gnuplot
  spack: spack install openmpi hdf5+mpi libyaml onednn jansson xxhash zlib zstd libdeflate lz4 cunit gnuplot pkgconf
EOF
    exit 1
}

as_root() {
    set -- env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 "$@" # which starts no services
    [ "$(id -u)" -eq 0 ] || set -- sudo -n "$@"
    "$@"
}

# Small images leave documentation out when they install; the text is documentation.
# shellcheck disable=SC2086 # a list of package names
install() {
    as_root apt-get -q -y -o DPkg::Lock::Timeout=300 update </dev/null &&
        as_root apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends \
            -o 'Dpkg::Options::=--path-include=/usr/share/doc/jargon-text/*' \
            "$@" install $wanted </dev/null
}

check && exit 0
have apt-get || explain
[ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null || explain
echo "deps: missing:$missing; installing$wanted" >&2
install || explain
check && exit 0
# A package that is there without its file was installed under another rule.
[ "$wanted" = ' jargon-text' ] && install --reinstall && check && exit 0
explain
