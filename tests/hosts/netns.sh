#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs over several hosts: namespaces of this machine, each with its own network, name, processes,
# shared memory and sshd, joined by a bridge; files are shared.  Needs root.  Prints `netns: N passed,
# N failed`, or `skipped: ...` where rights or programs are missing.
# usage: tests/hosts/netns.sh [CASE...]
# shellcheck disable=SC2317 # functions are called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/hosts/common.sh
PATH=$PATH:/usr/sbin:/sbin

hosts='node1 node2 node3'

# ---- the machines ----------------------------------------------------------------------------

# Keys of this test alone, for a client and for all servers.
write_ssh() {
    mkdir "$dir/ssh" "$dir/ssh_config.d" &&
        ssh-keygen -q -t ed25519 -N '' -f "$dir/ssh/client" &&
        ssh-keygen -q -t ed25519 -N '' -f "$dir/ssh/host" || return
    cat >"$dir/ssh_config.d/test.conf" <<END
Host *
    IdentityFile $dir/ssh/client
    UserKnownHostsFile /dev/null
    StrictHostKeyChecking no
    LogLevel ERROR
END
    cat >"$dir/ssh/sshd_config" <<END
HostKey $dir/ssh/host
AuthorizedKeysFile $dir/ssh/client.pub
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
SetEnv WSC_HOSTS_TEST=$dir
END
}

# What runs as process 1 of a machine; it ends with its sshd.
write_init() {
    cat >"$dir/init" <<END
hostname \$1 && ip link set lo up && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run &&
    mount --bind $dir/hosts /etc/hosts && mount --bind $dir/ssh_config.d /etc/ssh/ssh_config.d &&
    mkdir -p /run/sshd && touch $dir/\$1.up || exit 1
until ip addr add \$2/24 dev eth0 2>/dev/null; do sleep 0.1; done
ip link set eth0 up
exec /usr/sbin/sshd -D -f $dir/ssh/sshd_config
END
}

start_host() { # NAME NUMBER
    unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
        sh "$dir/init" "$1" "10.77.0.$2" >"$dir/$1.log" 2>&1 &
    unshare_pid=$!
    wait_until 10 test -e "$dir/$1.up" || return
    init_pid=$(cat "/proc/$unshare_pid/task/$unshare_pid/children")
    init_pid=${init_pid% }
    echo "$init_pid" >"$dir/$1.pid"
    ip link add "$1" type veth peer name eth0 netns "$init_pid" &&
        ip link set "$1" master br0 && ip link set "$1" up
}

on() { # HOST COMMAND...
    name=$1
    shift
    nsenter --target "$(cat "$dir/$name.pid")" --all --wd="$PWD" env -u WSC_HOSTS_TEST "$@"
}

# The same, and `ssh` may come in.
answers() { # HOST
    on node1 ssh -o BatchMode=yes -o ConnectTimeout=2 "$1" true
}

bring_up() {
    ip link set lo up && ip link add br0 type bridge && ip link set br0 up || return
    number=0
    echo '127.0.0.1 localhost' >"$dir/hosts"
    for name in $hosts; do
        number=$((number + 1))
        echo "10.77.0.$number $name" >>"$dir/hosts"
    done
    write_ssh && write_init || return
    number=0
    for name in $hosts; do
        number=$((number + 1))
        start_host "$name" "$number" || return
    done
    for name in $hosts; do
        wait_until 20 answers "$name" || return
    done
    printf 'node1 slots=2\nnode2 slots=2 # two more\n\nnode3 slots=1\n' >"$dir/hostfile"
}

take_down() {
    for name in $hosts; do
        [ ! -r "$dir/$name.pid" ] || kill -KILL "$(cat "$dir/$name.pid")" 2>/dev/null
    done
}

# ---- runs ------------------------------------------------------------------------------------

run_on_hosts() { # MODEL_DIR OPTION_OF_HOSTS_SH...
    model_dir=$1
    shift
    # shellcheck disable=SC2046,SC2086 # lists of options
    on node1 mpi_launch/hosts.sh "$dir/hostfile" "$@" $(small_run "$model_dir") ${more:-} \
        >"$model_dir.log" 2>&1
}

# Processes of runs that are left on any machine.
left_on_hosts() {
    for name in $hosts; do
        on "$name" sh -c 'cat /proc/[0-9]*/comm' 2>/dev/null |
            grep -xE 'wsc|mpirun|orted|agent.sh|ssh' | sed "s/^/$name: /"
    done
}

nothing_is_left() {
    [ -z "$(left_on_hosts)" ] || return 1
    for name in $hosts; do
        [ -z "$(on "$name" ls /dev/shm)" ] || return 1
    done
}

sent_by() { # HOST, bytes
    ip -s link show "$1" | sed -n '/RX:/{n;s/^ *\([0-9]*\).*/\1/p;}'
}

# ---- cases -----------------------------------------------------------------------------------

# 121 k parameters of 4 bytes go out and come back in each of 60 steps, in part over the wire.
three_hosts_equal_one() {
    before=$(sent_by node2)
    run_on_hosts "$dir/three" && same_as_reference "$dir/three" &&
        grep -q '"ranks": 5,' "$dir/three/performance.json" &&
        [ $(($(sent_by node2) - before)) -gt 10000000 ] && wait_until 5 nothing_is_left
}

folded_and_turned_ranks_equal_one_host() {
    run_on_hosts "$dir/folded" -n 3 && same_as_reference "$dir/folded" || return
    # shellcheck disable=SC2046 # a list of options
    on node1 mpirun --quiet --hostfile "$dir/hostfile" --map-by node -n 4 "$wsc" run \
        $(small_run "$dir/turned") && same_as_reference "$dir/turned"
}

# 4 wafers below 3 nodes of fan-out 2, 3 shards: 10 roles.
placement_names_hosts_and_keeps_nodes_beside_wafers() {
    printf 'node1 slots=4\nnode2 slots=3\nnode3 slots=3\n' >"$dir/ten"
    on node1 mpi_launch/hosts.sh "$dir/ten" --params configs/params/tiny.yaml --num_csx 4 \
        --set cluster.memoryx.shards=3 --set cluster.swarmx.fanout=2 --print_placement |
        tee "$dir/placement" && [ "$(wc -l <"$dir/placement")" -eq 10 ] &&
        [ "$(sed -n 's/.* on \(.*\): \[MemoryX.*/\1/p' "$dir/placement" | sort -u | wc -l)" -ge 2 ] &&
        same_host 'SwarmX node 0' 'wafer 0' && same_host 'SwarmX node 1' 'wafer 0' &&
        same_host 'SwarmX node 2' 'wafer 2'
}

host_of() { # ROLE
    sed -n "s/.* on \(.*\):.*\[$1\].*/\1/p" "$dir/placement"
}

same_host() { # ROLE ROLE
    [ -n "$(host_of "$1")" ] && [ "$(host_of "$1")" = "$(host_of "$2")" ]
}

# Cut node2 off once the run has come to step 6.
cut_off() { # MODEL_DIR
    wait_until 60 has_passed_step "$1" 6 && ip link set node2 down
}

mend() {
    ip link set node2 up && wait_until 20 answers node2
}

# Heartbeat 3 s, then 15 s until the launchers on both sides give up; the rest is slack.
a_host_that_is_cut_off_ends_the_job() {
    WSC_HEARTBEAT_SECONDS=3 run_on_hosts "$dir/cut" &
    job=$!
    cut_off "$dir/cut" || return
    since=$(date +%s)
    wait "$job"
    status=$?
    took=$(($(date +%s) - since))
    echo "status $status after $took s"
    wait_until 30 nothing_is_left || {
        left_on_hosts
        return 1
    }
    mend && [ "$status" -ne 0 ] && [ "$took" -le 40 ] &&
        grep -E 'rank [0-9] on node2 has not been heard from for [3-6] s' "$dir/cut.log"
}

the_other_hosts_go_on_after_a_cut() {
    WSC_HEARTBEAT_SECONDS=3 run_on_hosts "$dir/goes_on" --max-restarts 3 &
    job=$!
    cut_off "$dir/goes_on" && wait "$job" && grep 'node2 does not answer; left out' "$dir/goes_on.log" &&
        same_as_reference "$dir/goes_on" && wait_until 30 nothing_is_left && mend &&
        grep -q '"ranks": 3,' "$dir/goes_on/performance.json"
}

# The machine answers again about when the launchers give up, before its own processes have ended.
a_host_that_comes_back_takes_part_again() {
    WSC_HEARTBEAT_SECONDS=3 run_on_hosts "$dir/back" --max-restarts 3 &
    job=$!
    cut_off "$dir/back" && sleep 17 && mend && wait "$job" && same_as_reference "$dir/back" &&
        wait_until 30 nothing_is_left
}

# The machine that starts the run has no rank itself.
a_cut_is_noticed_from_a_host_without_ranks() {
    printf 'node2 slots=2\nnode3 slots=3\n' >"$dir/others"
    # shellcheck disable=SC2046 # a list of options
    WSC_HEARTBEAT_SECONDS=3 on node1 mpi_launch/hosts.sh "$dir/others" --max-restarts 3 \
        $(small_run "$dir/without") >"$dir/without.log" 2>&1 &
    job=$!
    cut_off "$dir/without" && wait "$job" && same_as_reference "$dir/without" &&
        wait_until 30 nothing_is_left && mend &&
        grep 'node2 does not answer; left out' "$dir/without.log"
}

kill_rank_on() { # HOST
    # shellcheck disable=SC2016 # the variable is of the other shell
    on "$1" sh -c 'for p in /proc/[0-9]*; do
        if grep -qs OMPI_COMM_WORLD_RANK= $p/environ; then exec kill -KILL ${p#/proc/}; fi
    done; exit 1'
}

a_killed_rank_is_restarted_on_all_hosts() {
    run_on_hosts "$dir/killed" --max-restarts 3 &
    job=$!
    wait_until 60 has_passed_step "$dir/killed" 6 && kill_rank_on node3 && wait "$job" &&
        grep 'restart 1 of 3' "$dir/killed.log" && same_as_reference "$dir/killed" &&
        grep -q '"ranks": 5,' "$dir/killed/performance.json"
}

a_signal_stops_all_hosts_and_a_second_start_goes_on() {
    run_on_hosts "$dir/signalled" &
    job=$!
    wait_until 60 has_passed_step "$dir/signalled" 6 || return
    on node1 pkill -TERM -o -f "hosts.sh $dir/hostfile .*$dir/signalled"
    wait "$job"
    [ $? -eq 5 ] && wait_until 5 nothing_is_left && run_on_hosts "$dir/signalled" &&
        same_as_reference "$dir/signalled"
}

a_folder_that_is_not_shared_is_refused() {
    mkdir "$dir/private" && on node2 mount -t tmpfs tmpfs "$dir/private" || return
    more='--set cluster.memoryx.shards=6' run_on_hosts "$dir/private"
    [ $? -eq 1 ] && grep -q 'private/: not the same place for rank 0 on node1 and rank [0-9]* on node2' "$dir/private.log"
}

wrong_hosts_files_are_refused() {
    printf 'node1 slots=2\nnode2 slots=two\n' >"$dir/wrong"
    on node1 mpi_launch/hosts.sh "$dir/wrong" --params configs/params/tiny.yaml 2>"$dir/said"
    [ $? -eq 2 ] && grep -q 'wrong:2: expected NAME or NAME slots=N' "$dir/said" || return
    echo '# nobody' >"$dir/wrong"
    on node1 mpi_launch/hosts.sh "$dir/wrong" --params configs/params/tiny.yaml 2>"$dir/said"
    [ $? -eq 2 ] && grep -q 'no machine in it' "$dir/said" || return
    echo 'nowhere' >"$dir/wrong"
    on node1 mpi_launch/hosts.sh "$dir/wrong" --params configs/params/tiny.yaml 2>"$dir/said"
    [ $? -eq 1 ] && grep -q 'nowhere does not answer; left out' "$dir/said"
}

# ---- all -------------------------------------------------------------------------------------

# The bridge lives in a network of this test alone.
if [ -z "${WSC_HOSTS_OWN_NET:-}" ]; then
    need_programs mpirun ip ssh ssh-keygen sshd unshare nsenter
    unshare --net --uts --mount --pid --fork --mount-proc sh -c 'mount -t tmpfs tmpfs /dev/shm &&
        ip link add br0 type bridge && ip link add port type veth peer name end' 2>/dev/null ||
        skip 'no right to make namespaces, bridges and mounts (root has it)'
    WSC_HOSTS_OWN_NET=1 exec unshare --net --mount sh "$0" "$@"
fi
begin
make_data && make_reference || exit 1
bring_up || {
    tail -n 30 "$dir"/*.log
    exit 1
}
check_chosen "$@" -- three_hosts_equal_one folded_and_turned_ranks_equal_one_host \
    placement_names_hosts_and_keeps_nodes_beside_wafers a_host_that_is_cut_off_ends_the_job \
    the_other_hosts_go_on_after_a_cut a_host_that_comes_back_takes_part_again \
    a_cut_is_noticed_from_a_host_without_ranks a_killed_rank_is_restarted_on_all_hosts \
    a_signal_stops_all_hosts_and_a_second_start_goes_on a_folder_that_is_not_shared_is_refused \
    wrong_hosts_files_are_refused
exit 0
