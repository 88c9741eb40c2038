# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the launch scripts share; they source it.  Who does what is asked of `wsc ranks`.

mpirun= # words of the launcher; none: the program is started without one
shared= # folder with files of this start
mark=   # NAME=VALUE in the environment of the processes of this job on this host

# The program: $WSC, or else the build of the tree $1, an installation around it, the PATH.
find_wsc() {
    for candidate in "$1/build/wsc" "$1/../../bin/wsc" "$(command -v wsc)"; do
        candidate=${WSC:-$candidate}
        if [ -f "$candidate" ] && [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    echo "$0: no program wsc: run make first, or set WSC=/path/to/wsc" >&2
    return 1
}

# Is it an option of `wsc ranks`?  Names may have dashes for underscores and be cut short.
is_of_ranks() { # --NAME
    name=$(printf %s "${1#--}" | tr - _)
    for known in num_csx params phase cluster set; do
        case $known in "${name:-none}"*) return 0 ;; esac
    done
    return 1
}

# Ranks for one role per rank: `wsc ranks` with those options of `wsc run` that it knows.  Its
# warnings are left to `wsc run`, which has the same ones.
count_ranks() { # PROGRAM OPTION...
    program=$1
    shift
    left=$#
    while [ "$left" -gt 0 ]; do
        option=$1
        shift
        left=$((left - 1))
        case $option in
        --*=*) ! is_of_ranks "${option%%=*}" || set -- "$@" "$option" ;;
        --*)
            is_of_ranks "$option" || continue
            [ "$left" -gt 0 ] || break # its value is missing; `wsc run` will say so
            set -- "$@" "$option" "$1"
            shift
            left=$((left - 1))
            ;;
        esac
    done
    "$program" ranks "$@" 2>/dev/null || "$program" ranks "$@"
}

# Ten digits may be more than the shell compares.
whole_number() { # OPTION TEXT SMALLEST
    case $2 in
    '' | *[!0-9]* | 0?* | ??????????*) ;;
    *) [ "$2" -lt "$3" ] || return 0 ;;
    esac
    echo "$0: $1: expected a whole number from $3 to 999999999, got \"$2\"" >&2
    exit 2
}

# A whole number in the environment, or its default: into $number.
number_of() { # VARIABLE DEFAULT
    number=
    eval "number=\${$1:-$2}"
    whole_number "$1" "$number" 0
}

given_once() { # OPTION EARLIER_VALUE
    [ -n "$2" ] || return 0
    echo "$0: $1: given twice" >&2
    exit 2
}

# -n RANKS and --max-restarts K in front of the options of `wsc run`: into $ranks and $max_restarts;
# $taken says how many words they were.
take_launch_options() { # OPTION...
    ranks=
    max_restarts=
    taken=0
    while :; do
        case ${1:-} in
        -h | --help)
            usage
            exit 0
            ;;
        -n)
            given_once -n "$ranks"
            ranks=${2:-}
            whole_number -n "$ranks" 1
            ;;
        --max[-_]restarts)
            given_once --max-restarts "$max_restarts"
            max_restarts=${2:-}
            whole_number --max-restarts "$max_restarts" 0
            ;;
        *) break ;;
        esac
        shift 2
        taken=$((taken + 2))
    done
    max_restarts=${max_restarts:-0}
    refuse_late "$@"
}

refuse_late() { # OPTION...
    for word; do
        case $word in -n | --max[-_]restarts | --max[-_]restarts=*) ;; *) continue ;; esac
        echo "$0: $word: comes before the options of wsc run, its number is a word of its own" >&2
        exit 2
    done
}

# Shared memory and mpirun's own files in a folder that goes even when mpirun was killed: $shared.
own_folder() {
    shared=$(mktemp -d "${WSC_SHM:-/dev/shm}/wsc.XXXXXX" 2>/dev/null) || return 0
    own_processes
}
mark_of_folder() {
    mark=OMPI_MCA_btl_vader_backing_directory=$shared
}
own_processes() {
    mark_of_folder
    trap clean_up EXIT
    export OMPI_MCA_btl_vader_backing_directory="$shared" OMPI_MCA_orte_tmpdir_base="$shared"
    export WSC_STOP_FILE="$shared/stop"
}

# In a job of a scheduler mpirun keeps its own folders, which are those of all nodes.
own_folder_in_job() {
    shared=$(mktemp -d "${TMPDIR:-/tmp}/wsc.XXXXXX" 2>/dev/null) || return 0
    mark=WSC_LAUNCH=$shared
    trap clean_up EXIT
    export WSC_LAUNCH="$shared" WSC_STOP_FILE="$shared/stop"
}

# What mpirun leaves when it is killed or crashes itself: ranks that were stopped or that still hold
# the lock of the run's folder.  Waits until they have ended.
end_processes() {
    [ -n "$mark" ] || return 0
    for second in 0 1 2 3 4 5; do
        set -- /proc/[0-9]*/environ # before grep is one of them
        processes=$(grep -ls "$mark" "$@")
        [ -n "$processes" ] || return 0
        [ "$second" -le 1 ] || sleep 1
        for process in $processes; do
            process=${process#/proc/}
            kill -KILL "${process%/environ}" 2>/dev/null
        done
    done
}

# shellcheck disable=SC2317 # called by the trap
clean_up() {
    end_processes
    rm -rf "$shared"
}

# The value of "NAME": in the last line of a file of JSON objects that has one.
last_value() { # NAME FILE
    sed -n "s/.*\"$1\": *\\([-+0-9.eE]*\\).*/\1/p" "$2" | tail -n 1
}

# mpirun as a list of words, into $mpirun.  Open MPI's needs some to let an idle rank's core do other
# work, which is the difference between minutes and hours where ranks outnumber cores; MPICH's needs
# none.
find_mpirun() {
    case $(mpirun --version 2>&1) in
    *HYDRA*) mpirun=mpirun ;;
    *) mpirun='mpirun --mca mpi_yield_when_idle 1' ;;
    esac
}
is_open_mpi() { [ -n "$mpirun" ] && [ "$mpirun" != mpirun ]; }

# Open MPI opens four files for each rank that it starts and some thirty for itself, and where they
# are too many it waits forever: the limit is raised as far as it goes, or refused.  POSIX has ulimit
# for sizes of files alone; every shell that is an sh has these options too.
# shellcheck disable=SC3045
enough_files() { # RANKS_OF_A_HOST
    is_open_mpi || return 0
    need=$(($1 * 4 + 40))
    for limit in "$(ulimit -n)" "$(ulimit -H -n)"; do
        if [ "$limit" = unlimited ] || [ "$limit" -ge "$need" ]; then
            ulimit -S -n "$limit"
            return
        fi
    done
    echo "$0: $1 ranks need $need open files, the limit is $limit; hint: ulimit -n $need," \
        "or start fewer ranks" >&2
    exit 2
}

# mpirun's words that give the program's variables to ranks on other hosts too; MPICH's gives all.
forwarded_variables() {
    is_open_mpi || return 0
    env | sed -n 's/^\(WSC_[A-Z_]*\|OMP_[A-Z_]*\)=.*/-x \1/p'
}

# The word before a command that shall get signals from its script alone: a session of its own.  A
# terminal sends Ctrl-C to the whole group, and mpirun would end the ranks before they have written
# a checkpoint.  Schedulers find the processes of a job by their session: not for them.
# shellcheck disable=SC2034 # the scripts that source this file use it
apart=$(command -v setsid)

# Open MPI's mpirun reports the failure of a rank, of which wsc has written a line, in blocks between
# two lines of dashes, and its own failures too.  Passes other lines on as they come.  Blocks of its
# own failures go to $shared/launcher; $shared/wsc exists once a line came that is neither of
# mpirun nor of the script; $shared/signalled says which rank a signal ended.
pass_lines_on() {
    trap '' TERM USR1 INT HUP # which are for the others of the group; ended by the end of its input
    block=
    while IFS= read -r line || [ -n "$line" ]; do
        case $block$line in
        "$dashes") block=$line$newline ;;
        "$dashes$newline"*"$dashes")
            keep_block "$block$line$newline"
            block=
            ;;
        "$dashes$newline"*) block=$block$line$newline ;;
        'mpirun: '* | *'sent help message'* | *'Set MCA parameter "orte_base_help'*) ;;
        '['*'] *** '*) printf '%s\n' "$line" >>"$shared/launcher" ;;
        *)
            printf '%s\n' "$line" >&2
            case $line in "$0: "* | '['*:*) ;; *) : >"$shared/wsc" ;; esac
            ;;
        esac
    done
    printf %s "$block" >&2
}
newline='
'
dashes=--------------------------------------------------------------------------

keep_block() { # TEXT
    case $1 in
    *"${newline}Primary job "* | *"${newline}mpirun detected that"*) ;;
    *"${newline}mpirun noticed that"*)
        printf %s "$1" | sed -n 's/.* process \(rank [0-9]*\) .* on node \(.*\) exited on \(signal .*)\)\./\1 on \2 was ended by \3/p' >"$shared/signalled"
        ;;
    *"${newline}mpirun has exited"*) ;;
    *"${newline}MPI_ABORT was invoked"*) ;;
    *) printf %s "$1" >>"$shared/launcher" ;;
    esac
}

# A launcher that failed before a rank could say why says so itself; a rank that was killed could
# not.
report_launcher() { # STATUS
    [ "$1" -ne 0 ] && [ -z "$asked" ] || return 0
    [ -e "$shared/wsc" ] || [ ! -e "$shared/launcher" ] || cat "$shared/launcher" >&2
    [ "$1" -gt 128 ] && [ -s "$shared/signalled" ] || return 0
    hint=
    [ "$1" -ne 137 ] || hint='; hint: killed by hand, or as the memory of the machine was full'
    echo "$0: $(cat "$shared/signalled")$hint" >&2
}

smaller() {
    if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi
}

# Did a run end in a way that starting it again may mend?  What is wrong with the options, the
# machine's size or the numbers (2, 3, 4), or was asked for (5), stays as it is.
worth_a_restart() { # STATUS
    case $1 in
    0 | 2 | 3 | 4 | 5) return 1 ;;
    *) return 0 ;;
    esac
}

# Those that have ended and were not waited for are among them.
children() { # PID
    cat "/proc/$1/task/"*/children 2>/dev/null
}

# With WORD in its environment; a process that has ended has none.
has_live_child() { # PID WORD
    for process in $(children "$1"); do
        grep -qs "$2" "/proc/$process/environ" && return 0
    done
    return 1
}

# mpirun, and its daemon on other hosts, can lock themselves up over ranks that died while the job
# started, and wait for hosts that are gone: when they have had ranks, or without ranks here
# connections to other hosts, and for 15 s none of them lives, they are ended.  Ranks that a request
# to stop met before they knew what to do with it are gone within a second: the request or their
# remains count as having had ranks.  10 s after a second request ($shared/now) it is ended in any
# case.  SIGPIPE is ignored: the reader of stderr may be gone with the connection.
watch_launcher() { # PID
    trap '' TERM USR1 INT HUP PIPE # which are for the others of the group; ended by SIGKILL
    seen=
    word=
    alone=0
    ending=0
    while [ "$alone" -lt 15 ] && [ "$ending" -lt 10 ]; do
        sleep 1
        kill -0 "$1" 2>/dev/null || return
        [ ! -e "$shared/now" ] || ending=$((ending + 1))
        [ -z "$(children "$1")" ] && [ ! -e "$shared/stop" ] || seen=yes
        has_live_child "$1" OMPI_COMM_WORLD_RANK= && word=OMPI_COMM_WORLD_RANK=
        if has_live_child "$1" "$word"; then
            alone=0
        elif [ -n "$seen" ]; then
            alone=$((alone + 1))
        fi
    done
    echo "$0: the launcher does not end after its ranks; ending it" >&2
    kill -KILL "$1" 2>/dev/null
}

# Two pipes for what mpirun writes, and nothing of the start before.
make_pipes() {
    rm -f "$shared/wsc" "$shared/launcher" "$shared/signalled" "$shared/stdout" "$shared/stderr"
    mkfifo "$shared/stdout" "$shared/stderr" 2>/dev/null
}

# mpirun does not notice that its output cannot be written; cat does.  Takes the rest all the same,
# so that the run does not end.  Without the mark, by which end_processes() finds what is left.
pass_output_on() {
    trap '' TERM USR1 INT HUP # as above
    unset "${mark%%=*}"
    cat && return
    failed=$?
    cat >/dev/null
    return "$failed"
}

# Output that is lost makes a good run a bad one; a reader that has gone, as head does, wanted no
# more.
report_output() { # STATUS_OF_CAT
    [ "$1" -ne 0 ] && [ "$1" -lt 128 ] && [ "$status" -eq 0 ] || return 0
    echo "$0: standard output could not be written" >&2
    status=1
}

# Run a command once, with what the launcher itself reports, until all of its processes have ended.
# Leaves the command's exit status in $status.
run_once() { # COMMAND...
    if is_open_mpi && [ -n "$shared" ] && make_pipes; then
        pass_lines_on <"$shared/stderr" &
        reader=$!
        pass_output_on <"$shared/stdout" &
        copier=$!
        start_and_wait "$@" >"$shared/stdout" 2>"$shared/stderr"
        end_processes
        wait "$reader"
        report_launcher "$status"
        wait "$copier"
        report_output $?
    else
        [ -z "$mpirun" ] || export OMPI_MCA_orte_execute_quiet=1
        start_and_wait "$@"
        end_processes
    fi
    stopped_before_the_first_step
}

# A request that came before the ranks knew what to do with it ended them by its signal.
stopped_before_the_first_step() {
    [ -n "$asked" ] && [ "$status" -eq 138 ] || return 0
    echo "$0: stopped on request before the first step of this start" >&2
    status=5
}

start_and_wait() { # COMMAND...
    "$@" &
    child=$!
    [ -z "$asked" ] || kill -USR1 "$child" 2>/dev/null
    watcher=
    if [ -n "$mpirun" ]; then # a program without a launcher may have children that end
        watch_launcher "$child" &
        watcher=$!
    fi
    wait "$child"
    status=$?
    # A trapped signal ends `wait` early, with a status above 128, also when the child has ended by
    # then and been reaped: the next `wait` has its status, or 127 when the first one had it.
    while [ "$status" -gt 128 ]; do
        alive=
        ! kill -0 "$child" 2>/dev/null || alive=yes
        wait "$child" 2>/dev/null
        again=$?
        [ "$again" -ne 127 ] || break
        [ "$again" -ne "$status" ] || [ -n "$alive" ] || break
        status=$again
    done
    child=
    [ -z "$watcher" ] || {
        kill -KILL "$watcher" 2>/dev/null
        wait "$watcher" 2>/dev/null
    }
}

# mpirun passes a signal on to nobody while it begins: the file asks the run as well.
forward() { # SIGNAL
    [ -z "$shared" ] || : >"$shared/stop"
    if [ -z "$child" ]; then
        asked=$1
    elif [ -n "$asked" ]; then
        [ -z "$shared" ] || : >"$shared/now"
        kill -TERM "$child" 2>/dev/null
    else
        asked=$1
        kill -USR1 "$child" 2>/dev/null
    fi
}

# Ask the script PID for a checkpoint so many seconds before the end of a job of LIMIT seconds.
stop_before_limit() { # PID LIMIT SECONDS
    case $2 in '' | *[!0-9]*) return ;; esac
    [ "$2" -gt "$3" ] || {
        echo "$0: the time limit of $2 s is not longer than WSC_STOP_SECONDS ($3 s): the run is" \
            "not asked for a checkpoint before it; hint: set a smaller WSC_STOP_SECONDS" >&2
        return
    }
    at=$(($(date +%s) + $2 - $3))
    while [ "$(date +%s)" -lt "$at" ]; do
        sleep 1
        kill -0 "$1" 2>/dev/null || return
    done
    kill -USR1 "$1"
}

# Run a command, and again, at most $1 times, while it dies; $status is that of the last time.
# SIGTERM, SIGUSR1, SIGINT and SIGHUP are passed on to it as SIGUSR1, which mpirun forwards to all
# ranks: they write a checkpoint and end with status 5.  A second signal ends it at once.
# Leaves in $asked the signal that came.
run_with_restarts() { # TIMES COMMAND...
    times=$1
    shift
    restarts=0
    asked=
    child=
    for name in TERM USR1 INT HUP; do
        # shellcheck disable=SC2064 # the name as it is now
        trap "forward $name" "$name"
    done
    run_while_it_dies "$@"
    trap - TERM USR1 INT HUP
}

run_while_it_dies() { # COMMAND...
    while :; do
        run_once "$@"
        { [ -z "$asked" ] && worth_a_restart "$status"; } || return 0
        [ "$restarts" -lt "$times" ] || return 0
        restarts=$((restarts + 1))
        echo "$0: wsc ended with status $status; restart $restarts of $times" >&2
    done
}

# The run of a Slurm job, on as many ranks as it has tasks, at most one per role.  The job goes back
# into the queue when SIGUSR1 asked it to stop (SIGTERM is a job that was cancelled), and after
# failures that restarts in its place did not mend, until it has been queued again WSC_MAX_REQUEUES
# times.  Leaves the run's status in $status; ends the script where the job comes back.
run_in_slurm_job() { # HOME OPTION...
    program=$(find_wsc "$1") || exit 2
    shift
    number_of WSC_MAX_REQUEUES 10
    most_requeues=$number
    number_of WSC_MAX_RESTARTS 3
    roles=$(count_ranks "$program" "$@") || exit
    id=slurm-${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-$$}}-${SLURM_ARRAY_TASK_ID:-0}
    find_mpirun
    ranks=$(smaller "$roles" "${SLURM_NTASKS:-$roles}")
    # "4(x2),3": tasks of each node
    most=$(echo "${SLURM_TASKS_PER_NODE:-$ranks}" | tr , '\n' | sort -n | tail -n 1)
    enough_files "$(smaller "$ranks" "${most%%(*}")"
    own_folder_in_job
    # shellcheck disable=SC2086 # a list of words
    run_with_restarts "$number" $mpirun -n "$ranks" "$program" run --run_id "$id" "$@"
    [ -n "${SLURM_JOB_ID:-}" ] || return 0
    # The number of the last task of an array stands for all of its tasks.
    slurm_job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
    slurm_job=${slurm_job:-$SLURM_JOB_ID}
    comes_back "$status" || return 0
    scontrol requeue "$slurm_job" && exit 0
}

# Was the job cancelled while it stopped for another reason?  It gets the same signals at its limit.
was_cancelled() {
    case $(scontrol --oneliner show job "$slurm_job" 2>/dev/null) in
    *" Reason=TimeLimit "*) return 1 ;;
    *" JobState=CANCELLED "* | *" JobState=COMPLETING "*) return 0 ;;
    *) return 1 ;;
    esac
}

comes_back() { # STATUS
    case $asked in TERM | INT) return 1 ;; esac
    ! was_cancelled || return 1
    [ "$1" -ne 5 ] || return 0
    worth_a_restart "$1" && [ "${SLURM_RESTART_COUNT:-0}" -lt "$most_requeues" ]
}
