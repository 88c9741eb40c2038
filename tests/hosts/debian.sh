#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The committed tree on a bare Debian, in a folder that debootstrap fills: packages built and checked
# by lintian, packages installed, used and purged, a build with MPICH, a build for aarch64 whose tests
# run under emulation (qemu-user).  Mounts and the emulator's registration live in a namespace of
# their own and end with the script.  Each part takes minutes; docs/INSTALL.md has the outcomes.
#
# usage, as root:  sh tests/hosts/debian.sh FOLDER SUITE PART      SUITE: bookworm, trixie
#   package [OUT]  build the Debian packages into OUT (build/debian)
#   install [OUT]  install those, wsc doctor, a run on three ranks, a sweep, Python, C, purge
#   mpich          build with MPICH, unit and MPI tests
#   aarch64        cross build, unit tests (TESTS="num_ host." picks some) and a run under emulation
# env: MIRROR (http://deb.debian.org/debian)
# shellcheck disable=SC2016 # for the shells inside
set -eu
folder=${1:?usage: sh tests/hosts/debian.sh FOLDER SUITE package|install|mpich|aarch64}
suite=${2:?bookworm or trixie}
part=${3:?package, install, mpich or aarch64}
out=${4:-build/debian}
top=$(cd "$(dirname "$0")/../.." && pwd)
needs='build-essential git ca-certificates pkg-config libyaml-dev libjansson-dev libxxhash-dev
    zlib1g-dev libzstd-dev libdeflate-dev liblz4-dev libcunit1-dev libdnnl-dev'
open_mpi='openmpi-bin libopenmpi-dev libhdf5-openmpi-dev'

[ "$(id -u)" -eq 0 ] || { echo "$0: needs root, for chroot" >&2 && exit 2; }
if [ -z "${WSC_OWN_MOUNTS:-}" ]; then
    WSC_OWN_MOUNTS=1 exec unshare --mount --propagation private sh "$0" "$@"
fi
[ -e "$folder/etc/debian_version" ] ||
    debootstrap --variant=minbase "$suite" "$folder" "${MIRROR:-http://deb.debian.org/debian}"
folder=$(cd "$folder" && pwd)
cp /etc/resolv.conf "$folder/etc/"
mountpoint -q "$folder/proc" || mount -t proc proc "$folder/proc"
mountpoint -q "$folder/sys" || mount -t sysfs sys "$folder/sys"
mountpoint -q "$folder/dev" || mount --rbind /dev "$folder/dev"
mount -t tmpfs tmp "$folder/tmp"

inside() { # COMMAND
    chroot "$folder" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive OMP_WAIT_POLICY=passive \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe sh -euc "$1"
}

install_packages() {
    inside "apt-get -q -y update >/dev/null && apt-get -q -y --no-install-recommends install $(echo "$*" | tr '\n' ' ') >/dev/null"
}

# The committed tree in /root/src; of an earlier time objects alone stay.
take_sources() {
    mkdir -p "$folder/root/src"
    find "$folder/root/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    git -C "$top" archive HEAD | tar x -C "$folder/root/src"
}

build_packages() {
    # shellcheck disable=SC2086 # lists
    install_packages $needs $open_mpi debhelper dh-python python3 lintian
    rm -rf "$folder/root/git"
    git clone -q "$top" "$folder/root/git"
    inside 'cd /root/git && DEB_BUILD_OPTIONS=nocheck make deb && lintian --fail-on error build/deb/*.changes'
    mkdir -p "$out"
    cp "$folder"/root/git/build/deb/*.deb "$out"
}

# What is there but logs and the lists of packages.
list_files='find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /root -o -path /tmp -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/log -o -path /var/cache \) -prune -o -print | sort'

try_packages() {
    rm -rf "$folder/root/deb" "$folder/root/run" "$folder/root/sweep"
    mkdir "$folder/root/deb"
    cp "$out"/*.deb "$folder/root/deb"
    rm -f "$folder"/root/deb/*dbgsym*
    install_packages gcc libc6-dev pkg-config python3-numpy
    # What others bring along is installed first, so that the purge can be judged by the file.
    inside "cd /root/deb && apt-get -q -y --no-install-recommends install ./*.deb >/dev/null &&
        apt-get -q -y purge wsc libwsc1 libwsc-dev python3-wsc >/dev/null && $list_files >/root/before"
    inside 'cd /root/deb && apt-get -q -y --no-install-recommends install ./*.deb >/dev/null; wsc doctor
        cd /usr/share/wsc && mpirun -n 3 wsc run --params configs/params/tiny.yaml --num_csx 2 \
            --num_steps 3 --model_dir /root/run >/dev/null && cut -c1-40 /root/run/metrics.jsonl
        cd /root && wsc scale --params /usr/share/wsc/configs/params/gpt3_13b.yaml --num_csx 1,64 \
            --out sweep >/dev/null 2>&1 || test -s sweep/scaling.csv
        python3 -c "import wsc, os; s = wsc.scale(os.path.join(wsc.configs(), \"params/gpt3_13b.yaml\"), num_csx=[1, 64]); assert s.csv() == open(\"sweep/scaling.csv\").read(); print(\"Python:\", wsc.version())"
        gcc /usr/share/doc/libwsc-dev/examples/predict.c $(pkg-config --cflags --libs libwsc) -o predict
        ./predict /usr/share/wsc/configs/params/tiny.yaml | tail -n 1'
    inside "apt-get -q -y purge wsc libwsc1 libwsc-dev python3-wsc >/dev/null && $list_files >/root/after
        diff /root/before /root/after && echo 'purged: nothing is left'"
}

build_with_mpich() {
    # shellcheck disable=SC2086 # lists
    install_packages $needs mpich libmpich-dev libhdf5-mpich-dev
    take_sources
    inside 'cd /root/src && make WERROR=1 all build/release/tests/unit build/release/tests/mpi && make check-unit &&
        NPS="1 2 3" make check-mpi && for n in 1 3; do mpi_launch/local.sh -n $n --params configs/params/tiny.yaml \
            --num_csx 2 --num_steps 3 --model_dir out/$n && cut -c1-40 out/$n/metrics.jsonl; done'
}

# Open MPI's libraries of arm64 below a cross compiler; kept from the compiler's own architecture.
cross_compiler='#!/bin/sh
[ "$1" != -show ] || exec echo aarch64-linux-gnu-gcc -lmpi
at=/usr/lib/aarch64-linux-gnu
exec aarch64-linux-gnu-gcc -I$at/openmpi/include -I/usr/include/aarch64-linux-gnu "$@" -L$at -L$at/openmpi/lib \
    -Wl,-rpath-link,$at -lmpi'

# Programs of aarch64 start by themselves inside the namespace of a user (Linux 6.7), which the
# program needs: it starts its own file to look at HDF5 files.
emulated() { # COMMAND
    COMMAND=$1 FOLDER=$folder unshare --user --map-root-user --mount sh -euc '
        mount -t binfmt_misc formats /proc/sys/fs/binfmt_misc
        printf "%s" ":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$FOLDER/usr/bin/qemu-aarch64-static:F" \
            >/proc/sys/fs/binfmt_misc/register
        exec chroot "$FOLDER" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin OMP_WAIT_POLICY=passive WSC_TEST_PATIENCE=30 \
            OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -euc "$COMMAND"'
}

build_for_aarch64() {
    arm=
    for package in libc6 libgomp1 libyaml-dev libjansson-dev libxxhash-dev zlib1g-dev libzstd-dev libdeflate-dev \
        liblz4-dev libcunit1-dev libdnnl-dev libopenmpi-dev libhdf5-openmpi-dev; do
        arm="$arm $package:arm64"
    done
    inside 'dpkg --add-architecture arm64'
    # shellcheck disable=SC2086 # a list
    install_packages make pkg-config gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static $arm
    take_sources
    printf '%s\n' "$cross_compiler" >"$folder/usr/local/bin/mpicc-aarch64"
    chmod +x "$folder/usr/local/bin/mpicc-aarch64"
    inside 'cd /root/src && export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig &&
        make WERROR=1 MPICC=mpicc-aarch64 AR=aarch64-linux-gnu-ar build/wsc build/release/tests/unit'
    emulated "cd /root/src && build/wsc run --params configs/params/tiny.yaml --num_csx 2 --num_steps 3 \
        --model_dir out/aarch64 >/dev/null && cut -c1-40 out/aarch64/metrics.jsonl &&
        for t in ${TESTS:-''}; do build/release/tests/unit \$t || true; done"
}

case $part in
package) build_packages ;;
install) try_packages ;;
mpich) build_with_mpich ;;
aarch64) build_for_aarch64 ;;
*) echo "$0: $part: expected package, install, mpich or aarch64" >&2 && exit 2 ;;
esac
