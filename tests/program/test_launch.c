// SPDX-License-Identifier: Apache-2.0
/* The launch scripts ask for the right ranks on the right hosts, and know when a job has to come
 * back.  Schedulers, ssh and mpirun are stand-ins here that write down how they were called;
 * tests/hosts has the real ones. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/clock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A folder with stand-ins: `mpirun` writes its words to `mpirun.words`, one per line, its hosts
 * file to `mpirun.hosts`, and ends with $MPIRUN_STATUS; `scontrol` writes what is put back; `ssh`
 * is a machine with eight cores, unless its name begins with "dead"; `sbatch` and `qsub` run the
 * script at once, as the first task, on two machines of 16 slots. */
static const char *stand_ins(void)
{
    static char dir[160];
    static const char *const script[][2] = {
        {"mpirun",
         "[ \"$1\" != --version ] || { echo \"${MPIRUN_VERSION:-mpirun (Open MPI) 4.1.4}\"; "
         "exit; }; while [ $# -gt 0 ]; do printf '%s\\n' \"$1\"; [ \"$1\" != --hostfile ] || "
         "cat \"$2\" >$0.hosts; shift; done >$0.words; exit ${MPIRUN_STATUS:-0}"},
        {"scontrol", "[ $1 != requeue ] || echo \"$*\" >$0.words"},
        {"sbatch", "while :; do case $1 in --array=*) task=${1#--array=} ;; -n) n=$2; shift ;; "
                   "-*) ;; *) break ;; esac; shift; done; SLURM_SUBMIT_DIR=$PWD SLURM_NTASKS=$n "
                   "SLURM_ARRAY_TASK_ID=${task%%-*} exec sh \"$@\""},
        {"qsub",
         "while :; do case $1 in -l) ;; -v) export \"$2\" ;; *) break ;; esac; shift 2; done; "
         "yes node01 | head -n 32 >$0.nodes; "
         "PBS_O_WORKDIR=$PWD PBS_NODEFILE=$0.nodes exec sh \"$@\""},
        {"ssh", "for w; do case $w in dead*) exit 255 ;; esac; done; echo 8"}};
    if (dir[0]) return dir;
    (void)snprintf(dir, sizeof dir, "%s", job_path("stand_ins"));
    CU_ASSERT_FATAL(spawn_ok("mkdir %s", dir));
    for (int i = 0; i < (int)(sizeof script / sizeof *script); i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "%s/%s", dir, script[i][0]);
        FILE *f = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        (void)fprintf(f, "#!/bin/sh\n%s\n", script[i][1]);
        (void)fclose(f);
        CU_ASSERT_FATAL(spawn_ok("chmod +x %s", path));
    }
    return dir;
}

/* What a stand-in wrote: lines joined by blanks; empty when it was not called. */
static void written(const char *name, char *text, size_t size)
{
    struct spawn_result r;
    spawn_run(&r, "cat %s/%s 2>/dev/null | tr '\\n' ' '", stand_ins(), name);
    (void)snprintf(text, size, " %s", r.out);
    spawn_free(&r);
}

/* Run a script among the stand-ins; returns its status. */
static int launch(const char *environment, const char *command, char **said)
{
    struct spawn_result r;
    CU_ASSERT(spawn_ok("rm -f %s/*.words %s/*.hosts", stand_ins(), stand_ins()));
    spawn_run(&r, "PATH=%s:$PATH; export %s; %s", stand_ins(), environment, command);
    const int status = r.status;
    T_EQ(r.n_left, 0);
    if (said) {
        *said = r.err;
        r.err = NULL;
    }
    spawn_free(&r);
    return status;
}

static bool was_called_with(const char *name, const char *words)
{
    char text[4096];
    written(name, text, sizeof text);
    const bool found = strstr(text, words) != NULL;
    if (!found) (void)fprintf(stderr, "no \"%s\" in \"%s\"\n", words, text);
    return found;
}

TEST(launch, every_script_is_a_shell_script)
{
    CU_ASSERT(
        spawn_ok("for f in mpi_launch/*.sh mpi_launch/*.sbatch; do sh -n $f || exit 1; done"));
}

/* What the scripts ask their scheduler for is what four systems need. */
TEST(launch, default_requests_are_the_roles_of_four_systems)
{
    CU_ASSERT(spawn_ok("n=$(\"$WSC\" ranks --num_csx 4) && "
                       "grep -qx \"#SBATCH --ntasks=$n\" mpi_launch/slurm.sbatch && "
                       "grep -qx \"#SBATCH --ntasks=$n\" mpi_launch/slurm_sweep.sbatch && "
                       "grep -qx \"#PBS -l select=1:ncpus=$n:mpiprocs=$n\" mpi_launch/pbs.sh"));
}

/* A file that is read is warned of, as in a run. */
TEST(launch, ranks_have_the_warnings_of_their_params)
{
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" ranks --params configs/params/tiny.yaml --num_csx 4 --set "
                  "train_input.whole_word_masking=true");
    T_EQ(r.status, 0);
    T_STR(r.out, "17\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "without effect here: train_input.whole_word_masking"));
    spawn_free(&r);
}

/* A phase that runs alone may need other ranks than the least of all phases, which each get. */
TEST(launch, ranks_are_those_of_the_phase_that_runs)
{
    static const struct {
        const char *options;
        int ranks;
    } job[] = {{"", 13}, {"--phase 1", 13}, {"--phase=2", 17}, {"--ph 2", 17}};
    const char *params = job_path("two_phases.yaml");
    CU_ASSERT(spawn_ok("awk '/init:$/ { n++ } { print } n == 1 && /loop:/ { print \"      backend: "
                       "{cluster_config: {num_csx: 4}}\" }' configs/params/tiny_phases.yaml >%s",
                       params));
    for (int i = 0; i < (int)(sizeof job / sizeof *job); i++) {
        char environment[512], words[256];
        (void)snprintf(environment, sizeof environment,
                       "PBS_O_WORKDIR=$PWD PBS_NODEFILE=%s/nodes WSC_ARGS='--params %s %s'; "
                       "yes node01 | head -n 32 >%s/nodes",
                       stand_ins(), params, job[i].options, stand_ins());
        T_EQ(launch(environment, "sh mpi_launch/pbs.sh", NULL), 0);
        (void)snprintf(words, sizeof words, "/nodes -n %d ", job[i].ranks);
        CU_ASSERT(was_called_with("mpirun.words", words));
    }
}

/* ---- PBS ------------------------------------------------------------------------------------- */

#define TINY "--params configs/params/tiny.yaml --num_csx 4"

TEST(launch, pbs_starts_a_rank_per_slot_and_no_more_than_roles)
{
    static const struct {
        const char *args;
        int slots, ranks;
    } job[] = {{TINY, 32, 17},
               {TINY, 5, 5},
               {TINY " --set cluster.memoryx.shards=2", 32, 7},
               {"--par configs/params/tiny.yaml --num-csx=8", 32, 23}};
    for (int i = 0; i < (int)(sizeof job / sizeof *job); i++) {
        char environment[512], words[256];
        (void)snprintf(environment, sizeof environment,
                       "PBS_O_WORKDIR=$PWD PBS_JOBID=77 PBS_NODEFILE=%s/nodes WSC_ARGS='%s'; "
                       "yes node01 | head -n %d >%s/nodes",
                       stand_ins(), job[i].args, job[i].slots, stand_ins());
        T_EQ(launch(environment, "sh mpi_launch/pbs.sh", NULL), 0);
        (void)snprintf(words, sizeof words, " --hostfile %s/nodes -n %d ", stand_ins(),
                       job[i].ranks);
        CU_ASSERT(was_called_with("mpirun.words", words));
        (void)snprintf(words, sizeof words, " run --run_id pbs-77 %s ", job[i].args);
        CU_ASSERT(was_called_with("mpirun.words", words));
    }
}

/* Patterns of tensors in WSC_ARGS are not names of files. */
TEST(launch, pbs_leaves_patterns_as_they_are)
{
    char environment[512];
    (void)snprintf(environment, sizeof environment,
                   "PBS_O_WORKDIR=$PWD PBS_JOBID=77 PBS_NODEFILE=%s/nodes WSC_ARGS='" TINY
                   " --model_dir README*'; echo node01 >%s/nodes",
                   stand_ins(), stand_ins());
    T_EQ(launch(environment, "sh mpi_launch/pbs.sh", NULL), 0);
    CU_ASSERT(was_called_with("mpirun.words", " --model_dir README* "));
}

/* The paths of a job are relative to where it was submitted; the program is that of WSC_HOME. */
TEST(launch, pbs_stays_in_the_folder_of_the_job)
{
    char environment[512], said[256];
    CU_ASSERT_FATAL(spawn_ok("d=%s/submitted && mkdir $d && cp configs/params/tiny.yaml $d/my.yaml "
                             "&& echo node01 >$d/nodes && printf '#!/bin/sh\\n[ \"$1\" = "
                             "--version ] || pwd >%s/mpirun.words\\n' >$d/mpirun && "
                             "chmod +x $d/mpirun",
                             stand_ins(), stand_ins()));
    (void)snprintf(environment, sizeof environment,
                   "PBS_O_WORKDIR=%s/submitted PBS_NODEFILE=%s/submitted/nodes WSC_HOME=. "
                   "WSC_ARGS='--params my.yaml'; PATH=$PBS_O_WORKDIR:$PATH",
                   stand_ins(), stand_ins());
    T_EQ(launch(environment, "sh mpi_launch/pbs.sh", NULL), 0);
    written("mpirun.words", said, sizeof said);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "/submitted "));
}

/* PBS signals all processes of a job at once, mpirun too: the script asks before the limit. */
TEST(launch, pbs_asks_for_a_checkpoint_before_the_time_limit)
{
    static const char *const limit[] = {"PBS_WALLTIME=5", "WSC_UNUSED=1"};
    CU_ASSERT_FATAL(
        spawn_ok("d=%s/limit && mkdir $d && "
                 "printf '#!/bin/sh\\necho \"    Resource_List.walltime = 00:00:05\"\\n'"
                 " >$d/qstat && "
                 "printf '#!/bin/sh\\n[ \"$1\" != --version ] || exit 0\\n"
                 "trap \"exit 5\" USR1\\nsleep 60 &\\nwait\\n'"
                 " >$d/mpirun && chmod +x $d/*",
                 stand_ins()));
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        const double began = wsc_clock_s();
        spawn_run(&r,
                  "d=%s; export PBS_O_WORKDIR=$PWD PBS_JOBID=77 PBS_NODEFILE=$d/limit/nodes "
                  "WSC_STOP_SECONDS=3 WSC_ARGS='" TINY "' %s; yes n | head -n 3 >$d/limit/nodes; "
                  "PATH=$d/limit:$PATH exec sh mpi_launch/pbs.sh",
                  stand_ins(), limit[i]);
        T_EQ(r.status, 5);
        CU_ASSERT(wsc_clock_s() - began < 40);
        spawn_free(&r);
    }
}

/* A job that is shorter than the time before its limit. */
TEST(launch, pbs_says_that_it_cannot_ask_before_a_short_time_limit)
{
    struct spawn_result r;
    CU_ASSERT_FATAL(
        spawn_ok("d=%s/short && mkdir $d && printf '#!/bin/sh\nsleep 1\n' >$d/mpirun && "
                 "chmod +x $d/mpirun && echo n >$d/nodes",
                 stand_ins()));
    spawn_run(&r,
              "d=%s/short; export PBS_O_WORKDIR=$PWD PBS_NODEFILE=$d/nodes PBS_WALLTIME=60 "
              "WSC_STOP_SECONDS=60 WSC_ARGS='" TINY "'; PATH=$d:$PATH exec sh mpi_launch/pbs.sh",
              stand_ins());
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "the time limit of 60 s is not longer than "
                                         "WSC_STOP_SECONDS (60 s)"));
    spawn_free(&r);
}

/* ---- Slurm ----------------------------------------------------------------------------------- */

TEST(launch, slurm_starts_a_rank_per_task_and_no_more_than_roles)
{
    T_EQ(launch("SLURM_SUBMIT_DIR=$PWD SLURM_NTASKS=4", "sh mpi_launch/slurm.sbatch " TINY, NULL),
         0);
    CU_ASSERT(was_called_with("mpirun.words", " -n 4 "));
    T_EQ(launch("SLURM_SUBMIT_DIR=$PWD SLURM_NTASKS=99", "sh mpi_launch/slurm.sbatch " TINY, NULL),
         0);
    CU_ASSERT(was_called_with("mpirun.words", " -n 17 "));
}

/* MPICH's mpirun takes none of Open MPI's words; over several hosts its way is not written here. */
TEST(launch, mpich_gets_the_words_that_it_knows)
{
    char *said = NULL;
    char words[4096];
    const char *mpich = "MPIRUN_VERSION='HYDRA build details:' SLURM_SUBMIT_DIR=$PWD "
                        "PBS_NODEFILE=$PWD/Makefile PBS_O_WORKDIR=$PWD";
    T_EQ(launch(mpich, "mpi_launch/local.sh -n 3 " TINY, NULL), 0);
    written("mpirun.words", words, sizeof words);
    CU_ASSERT(!strncmp(words, " -n 3 /", 7) && !strstr(words, "--mca"));
    T_EQ(launch(mpich, "SLURM_NTASKS=4 sh mpi_launch/slurm.sbatch " TINY, NULL), 0);
    written("mpirun.words", words, sizeof words);
    CU_ASSERT(!strncmp(words, " -n 4 /", 7));
    T_EQ(launch(mpich, "WSC_ARGS='" TINY "' sh mpi_launch/pbs.sh", NULL), 0);
    written("mpirun.words", words, sizeof words);
    CU_ASSERT(strstr(words, " -f ") && !strstr(words, " -x "));
    T_EQ(launch(mpich, "mpi_launch/hosts.sh Makefile " TINY, &said), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "Open MPI"));
    free(said);
}

/* With fewer open files than its ranks need mpirun would wait forever. */
TEST(launch, a_limit_of_open_files_is_raised_or_refused)
{
    char *said = NULL;
    T_EQ(launch("ROOM=1; ulimit -n 80", "mpi_launch/local.sh -n 17 " TINY, &said), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "17 ranks need 108 open files, the limit is 80; hint: "
                                        "ulimit -n 108, or start fewer ranks"));
    free(said);
    char words[64];
    written("mpirun.words", words, sizeof words);
    T_STR(words, " ");
    T_EQ(launch("ROOM=1; ulimit -n 80", "mpi_launch/local.sh -n 10 " TINY, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.words", " -n 10 "));
    T_EQ(launch("ROOM=1; ulimit -S -n 80", "mpi_launch/local.sh -n 17 " TINY, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.words", " -n 17 "));
}

/* Of the ranks of several hosts only those of one host need files of its mpirun or daemon. */
TEST(launch, open_files_are_checked_by_the_ranks_of_a_host)
{
    static const struct {
        const char *environment, *command;
        int status;
    } job[] = {
        {"SLURM_NTASKS=17", "sh mpi_launch/slurm.sbatch " TINY, 2},
        {"SLURM_NTASKS=17 SLURM_TASKS_PER_NODE='4(x2),9'", "sh mpi_launch/slurm.sbatch " TINY, 0},
        {"NODES=one", "sh mpi_launch/pbs.sh", 2},
        {"NODES=two", "sh mpi_launch/pbs.sh", 0},
        {"LC_ALL=C", "mpi_launch/hosts.sh $STAND_INS/one " TINY, 2},
        {"LC_ALL=C", "mpi_launch/hosts.sh $STAND_INS/two " TINY, 0}};
    CU_ASSERT_FATAL(spawn_ok("cd %s && yes node01 | head -n 17 >nodes.one && "
                             "{ head -n 9 nodes.one; yes node02 | head -n 8; } >nodes.two && "
                             "echo node01 slots=17 >one && "
                             "printf 'node01 slots=9\\nnode02 slots=8\\n' >two",
                             stand_ins()));
    for (int i = 0; i < (int)(sizeof job / sizeof *job); i++) {
        char environment[400], *said;
        (void)snprintf(environment, sizeof environment,
                       "STAND_INS=%s SLURM_SUBMIT_DIR=$PWD PBS_O_WORKDIR=$PWD WSC_ARGS='" TINY
                       "' %s; export PBS_NODEFILE=$STAND_INS/nodes.${NODES:-one}; ulimit -n 80",
                       stand_ins(), job[i].environment);
        T_EQ(launch(environment, job[i].command, &said), job[i].status);
        T_EQ(strstr(said, "17 ranks need 108 open files, the limit is 80") != NULL,
             job[i].status == 2);
        free(said);
    }
}

/* Processes that have no role would all start before the first of them can say so. */
TEST(launch, more_ranks_than_roles_are_refused_before_they_start)
{
    char *said = NULL, words[64];
    T_EQ(launch("", "mpi_launch/local.sh -n 18 " TINY, &said), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "-n: 18 ranks for 17 roles; hint: at most -n 17"));
    free(said);
    written("mpirun.words", words, sizeof words);
    T_STR(words, " ");
}

/* What the scripts count by is a whole number that the shell can compare, given once. */
TEST(launch, wrong_numbers_of_the_scripts_are_refused)
{
    static const struct {
        const char *environment, *command, *says;
    } wrong[] = {
        {"", "mpi_launch/local.sh -n 2 -n 3 " TINY, "-n: given twice"},
        {"", "mpi_launch/local.sh --max-restarts 1 --max_restarts 2 " TINY,
         "--max-restarts: given twice"},
        {"", "mpi_launch/local.sh " TINY " -n 2", "-n: comes before the options of wsc run"},
        {"", "mpi_launch/local.sh --max-restarts=3 " TINY,
         "--max-restarts=3: comes before the options of wsc run, its number is a word of its own"},
        {"", "mpi_launch/local.sh -n 99999999999999999999 " TINY,
         "-n: expected a whole number from 1 to 999999999, got \"99999999999999999999\""},
        {"SLURM_SUBMIT_DIR=$PWD WSC_MAX_RESTARTS=many", "sh mpi_launch/slurm.sbatch " TINY,
         "WSC_MAX_RESTARTS: expected a whole number from 0 to 999999999, got \"many\""},
        {"SLURM_SUBMIT_DIR=$PWD WSC_MAX_REQUEUES=-1", "sh mpi_launch/slurm.sbatch " TINY,
         "WSC_MAX_REQUEUES: expected a whole number"},
        {"PBS_O_WORKDIR=$PWD PBS_NODEFILE=/dev/null WSC_ARGS='" TINY "' WSC_STOP_SECONDS=2m",
         "sh mpi_launch/pbs.sh", "WSC_STOP_SECONDS: expected a whole number"},
        {"PBS_O_WORKDIR=$PWD PBS_NODEFILE=/dev/null WSC_ARGS='" TINY "' WSC_MAX_RESTARTS=1.5",
         "sh mpi_launch/pbs.sh", "WSC_MAX_RESTARTS: expected a whole number"}};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        char *said = NULL, words[64];
        T_EQ(launch(wrong[i].environment, wrong[i].command, &said), 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, wrong[i].says));
        free(said);
        written("mpirun.words", words, sizeof words);
        T_STR(words, " ");
    }
}

/* Asked to stop (5) and failures go back into the queue; what cannot change, and the eleventh
 * failure, do not. */
TEST(launch, slurm_jobs_come_back_when_that_may_help)
{
    static const struct {
        const char *count;
        int status;
        bool comes_back;
    } end[] = {{"0", 5, true},   {"50", 5, true}, {"0", 1, true},  {"9", 137, true},
               {"10", 1, false}, {"0", 2, false}, {"0", 3, false}, {"0", 4, false}};
    for (int i = 0; i < (int)(sizeof end / sizeof *end); i++) {
        char environment[256], said[256];
        (void)snprintf(environment, sizeof environment,
                       "SLURM_SUBMIT_DIR=$PWD SLURM_JOB_ID=9 SLURM_RESTART_COUNT=%s "
                       "MPIRUN_STATUS=%d WSC_MAX_RESTARTS=0",
                       end[i].count, end[i].status);
        T_EQ(launch(environment, "sh mpi_launch/slurm.sbatch " TINY, NULL),
             end[i].comes_back ? 0 : end[i].status);
        written("scontrol.words", said, sizeof said);
        T_STR(said, end[i].comes_back ? " requeue 9 " : " ");
    }
}

TEST(launch, a_sweep_gives_each_task_its_value)
{
    char command[512];
    const char *out = job_path("sweep");
    (void)snprintf(command, sizeof command,
                   "sh mpi_launch/slurm_sweep.sbatch num_csx=1,2,8 %s "
                   "--params configs/params/tiny.yaml",
                   out);
    T_EQ(launch("SLURM_SUBMIT_DIR=$PWD SLURM_ARRAY_TASK_ID=3", command, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.words", " --num_csx 8 "));
    (void)snprintf(command, sizeof command,
                   "sh mpi_launch/slurm_sweep.sbatch num_csx=1,2,8 %s --num-csx 4 "
                   "--params configs/params/tiny.yaml --num_c=3",
                   out);
    T_EQ(launch("SLURM_SUBMIT_DIR=$PWD SLURM_ARRAY_TASK_ID=2", command, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.words", "tiny.yaml --num_csx 2 "));
    (void)snprintf(command, sizeof command,
                   "sh mpi_launch/slurm_sweep.sbatch cluster.swarmx.link_latency=1us,1ms %s.2 %s",
                   out, TINY);
    T_EQ(launch("SLURM_SUBMIT_DIR=$PWD SLURM_ARRAY_TASK_ID=1", command, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.words", " --set cluster.swarmx.link_latency=1us "));
}

/* Another value neither continues the training of a folder nor gets its result. */
TEST(launch, a_sweep_has_other_folders_for_other_values)
{
    static const char *const task[] = {"SLURM_SUBMIT_DIR=$PWD SLURM_ARRAY_TASK_ID=1",
                                       "SLURM_SUBMIT_DIR=$PWD SLURM_ARRAY_TASK_ID=2"};
    char command[2][512], *said;
    const char *out = job_path("sweep values");
    for (int i = 0; i < 2; i++)
        (void)snprintf(command[i], sizeof command[i],
                       "sh mpi_launch/slurm_sweep.sbatch num_csx=%s '%s' "
                       "--params configs/params/tiny.yaml",
                       i ? "1,8" : "1,2", out);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(spawn_ok("mkdir -p '%s/%d' && echo '{\"steps\": 7%d}' >'%s/%d/performance.json'",
                           out, i + 1, i, out, i + 1));
        T_EQ(launch(task[i], command[0], NULL), 0);
    }
    CU_ASSERT(
        spawn_ok("grep -q '^1,70,' '%s/sweep.csv' && grep -q '^2,71,' '%s/sweep.csv'", out, out));
    T_EQ(launch(task[1], command[1], &said), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "/2 has the training of num_csx=2, not of num_csx=8"));
    free(said);
    T_EQ(launch(task[0], command[1], NULL), 0);
    CU_ASSERT(
        spawn_ok("grep -q '^1,70,' '%s/sweep.csv' && ! grep '^[28],' '%s/sweep.csv'", out, out));
}

/* A training that is stopped writes performance.json too, for the steps until then. */
TEST(launch, a_sweep_lists_trainings_that_are_complete)
{
    static const struct {
        const char *status, *rows;
        int task;
    } end[] = {{"5", "", 1}, {"0", "2", 2}, {"0", "12", 1}, {"5", "12", 2}, {"0", "1", 1}};
    const char *out = job_path("sweep ends");
    char environment[128], command[512];
    (void)snprintf(command, sizeof command,
                   "sh mpi_launch/slurm_sweep.sbatch num_csx=1,2 '%s' "
                   "--params configs/params/tiny.yaml",
                   out);
    for (int i = 1; i <= 2; i++)
        CU_ASSERT(spawn_ok("mkdir -p '%s/%d' && echo '{\"steps\": 7}' >'%s/%d/performance.json'",
                           out, i, out, i));
    for (int i = 0; i < (int)(sizeof end / sizeof *end); i++) {
        struct spawn_result r;
        (void)snprintf(environment, sizeof environment,
                       "SLURM_SUBMIT_DIR=$PWD SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=7 "
                       "SLURM_ARRAY_TASK_ID=%d MPIRUN_STATUS=%s",
                       end[i].task, end[i].status);
        T_EQ(launch(environment, command, NULL), 0);
        spawn_run(&r, "sed 1d '%s/sweep.csv' 2>/dev/null | cut -d, -f1 | tr -d '\n'", out);
        T_STR(r.out, end[i].rows);
        spawn_free(&r);
    }
}

/* The first task alone says so, since a part of a sweep may be trained again. */
TEST(launch, a_sweep_with_fewer_tasks_than_values_says_so)
{
    static const char left[] = "num_csx has 3 values, this array 2 tasks: ";
    static const struct {
        const char *tasks;
        bool says;
    } arrays[] = {{"ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=2", true},
                  {"ID=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=2", false},
                  {"ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=3", false}};
    for (int i = 0; i < 3; i++) {
        char environment[160], command[256], *said;
        (void)snprintf(environment, sizeof environment, "SLURM_SUBMIT_DIR=$PWD SLURM_ARRAY_TASK_%s",
                       arrays[i].tasks);
        (void)snprintf(command, sizeof command,
                       "sh mpi_launch/slurm_sweep.sbatch num_csx=1,2,8 %s "
                       "--params configs/params/tiny.yaml",
                       job_path("part"));
        T_EQ(launch(environment, command, &said), 0);
        CU_ASSERT((strstr(said, left) != NULL) == arrays[i].says);
        free(said);
    }
}

TEST(launch, a_sweep_without_a_value_for_its_task_is_refused)
{
    static const struct {
        const char *task, *words, *says;
    } wrong[] = {{"4", "num_csx=1,2,4 out", "task 4 has no value in num_csx=1,2,4"},
                 {"1", "1,2,4 out", "\"1,2,4\": expected KEY=VALUE,..."},
                 {"", "num_csx=1,2,4 out", "not a task of an array"},
                 {"1", "num_csx=1,,4 out", "num_csx=1,,4: an empty value in the list"},
                 {"1", "num_csx=1,2,4 --params my.yaml", "no folder for the results"}};
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        char environment[128], command[256], *said;
        (void)snprintf(environment, sizeof environment,
                       "SLURM_SUBMIT_DIR=$PWD SLURM_ARRAY_TASK_ID=%s", wrong[i].task);
        (void)snprintf(command, sizeof command, "sh mpi_launch/slurm_sweep.sbatch %s",
                       wrong[i].words);
        T_EQ(launch(environment, command, &said), 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, wrong[i].says));
        free(said);
    }
}

/* ---- a hosts file ---------------------------------------------------------------------------- */

/* node01 and node02 say how many ranks they take, node03 has eight cores: 4 + 2 + 8. */
TEST(launch, ranks_are_shared_among_the_hosts_that_answer)
{
    static const struct {
        const char *options, *hosts;
    } job[] = {{TINY, " node01 slots=4 node02 slots=2 node03 slots=8 "},
               {"-n 7 " TINY, " node01 slots=2 node02 slots=1 node03 slots=4 "},
               {"-n 1 " TINY, " node03 slots=1 "},
               {"-n 15 " TINY, " node01 slots=4 node02 slots=2 node03 slots=8 "}};
    CU_ASSERT(spawn_ok("printf '# four\\nnode01 slots=4\\nnode02 slots=2 # few\\n\\n"
                       "dead01 slots=9\\nnode03\\n' >%s/four",
                       stand_ins()));
    for (int i = 0; i < (int)(sizeof job / sizeof *job); i++) {
        char command[512], hosts[512], *said;
        (void)snprintf(command, sizeof command, "mpi_launch/hosts.sh %s/four %s", stand_ins(),
                       job[i].options);
        T_EQ(launch("WSC_STALL_SECONDS=900", command, &said), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, "dead01 does not answer; left out"));
        T_EQ(strstr(said, "-n 15: the machines that answer have 14 slots") != NULL, i == 3);
        written("mpirun.hosts", hosts, sizeof hosts);
        T_STR(hosts, job[i].hosts);
        CU_ASSERT(was_called_with("mpirun.words", " -x WSC_STALL_SECONDS "));
        free(said);
    }
}

/* Open MPI takes a name that comes twice for a mistake. */
TEST(launch, slots_of_a_repeated_host_add_up)
{
    char command[256];
    CU_ASSERT(spawn_ok("printf 'node01 slots=4\\nnode02\\nnode01 slots=2\\nnode02\\n' >%s/twice",
                       stand_ins()));
    (void)snprintf(command, sizeof command, "mpi_launch/hosts.sh %s/twice -n 14 " TINY,
                   stand_ins());
    T_EQ(launch("LC_ALL=C", command, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.hosts", " node01 slots=6 node02 slots=8 "));
}

/* mpirun hands its words for other machines to their shell. */
TEST(launch, hosts_files_of_any_name_and_ends_of_lines_are_read)
{
    static const char command[] =
        "printf 'node01 slots=4\\r\\n\\r\\nnode02 slots=8 #\\r\\n' >a=b; h=$OLDPWD; "
        "timeout 60 $h/mpi_launch/hosts.sh a=b -n 9 --num_csx 4 </dev/null";
    T_EQ(launch("N=; cd ${PATH%%:*}", command, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.hosts", " node01 slots=3 node02 slots=6 "));
}

TEST(launch, a_tree_with_a_blank_in_its_path_is_launched_on_hosts)
{
    const char *tree = job_path("a tree");
    char command[900], agent[400];
    CU_ASSERT_FATAL(spawn_ok("mkdir '%s' && cp -r mpi_launch '%s'", tree, tree));
    (void)snprintf(command, sizeof command,
                   "'%s/mpi_launch/hosts.sh' mpi_launch/hosts.example " TINY, tree);
    (void)snprintf(agent, sizeof agent, "--mca orte_launch_agent '%s/mpi_launch/agent.sh' '/",
                   tree);
    T_EQ(launch("WSC=$(realpath $WSC)", command, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.words", agent));
}

TEST(launch, the_example_of_a_hosts_file_is_one)
{
    T_EQ(launch("LC_ALL=C", "mpi_launch/hosts.sh mpi_launch/hosts.example " TINY, NULL), 0);
    CU_ASSERT(was_called_with("mpirun.hosts", " node01 slots=8 node02 slots=9 "));
}

TEST(launch, wrong_hosts_files_are_refused_with_their_line)
{
    static const char *const wrong[][2] = {
        {"node01\\nnode02 slots=two\\n", "/wrong:2: expected NAME or NAME slots=N"},
        {"node01 slots=0\\n", "/wrong:1: expected NAME or NAME slots=N"},
        {"node01 4\\n", "/wrong:1: expected NAME or NAME slots=N"},
        {"# nobody\\n", "/wrong: no machine in it"}};
    char command[256], *said;
    (void)snprintf(command, sizeof command, "mpi_launch/hosts.sh %s/wrong " TINY, stand_ins());
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        CU_ASSERT(spawn_ok("printf '%s' >%s/wrong", wrong[i][0], stand_ins()));
        T_EQ(launch("LC_ALL=C", command, &said), 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, wrong[i][1]));
        free(said);
    }
    T_EQ(launch("LC_ALL=C", "mpi_launch/hosts.sh /nowhere/hosts " TINY, &said), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "/nowhere/hosts: cannot be read"));
    free(said);
    T_EQ(launch("LC_ALL=C", "mpi_launch/hosts.sh tests " TINY, &said), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, ": tests: cannot be read, or is a folder"));
    free(said);
    CU_ASSERT(spawn_ok("echo dead02 >%s/wrong", stand_ins()));
    T_EQ(launch("LC_ALL=C", command, &said), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "answers"));
    free(said);
}

/* ---- documentation --------------------------------------------------------------------------- */

/* The lines of docs/RUNNING.md for schedulers and several machines, typed in a tree of links. */
TEST(launch, commands_of_the_documentation_start_a_run)
{
    const char *tree = job_path("tree");
    CU_ASSERT_FATAL(
        spawn_ok("mkdir %s && ln -s \"$PWD\"/build \"$PWD\"/configs "
                 "\"$PWD\"/mpi_launch %s && sed -n '/^```sh/,/^```/p' docs/RUNNING.md | "
                 "grep -E '^(sbatch|qsub|mpi_launch/hosts.sh) ' >%s/lines",
                 tree, tree, tree));
    CU_ASSERT(spawn_ok("test $(wc -l <%s/lines) -ge 5", tree));
    CU_ASSERT(
        spawn_ok("PATH=%s:$PATH; cd %s && while read -r line; do rm -f %s/*.words; "
                 "eval \"$line\" </dev/null 2>said && grep -qx -e --params %s/mpirun.words || "
                 "{ echo \"$line\"; cat said; exit 1; }; done <lines",
                 stand_ins(), tree, stand_ins(), stand_ins()));
}

/* ---- benchmarks ------------------------------------------------------------------------------ */

/* One part that would take a minute is ended, the others are not begun, and all of it is said.
   The half file that the first one leaves is not in the results. */
TEST(launch, benchmarks_end_when_their_time_is_over)
{
    struct spawn_result r;
    const double began = wsc_clock_s();
    spawn_run(
        &r,
        "d=%s/bench; mkdir -p $d/bin $d/benchmarks && ln -s \"$(realpath $WSC)\" $d/bin/wsc && "
        "for p in sgemm_peak simulate sparse_products mesh_speed; do printf '#!/bin/sh\\necho "
        "{>$2\\nexec sleep 60\\n' >$d/benchmarks/$p; done; chmod +x $d/benchmarks/*; "
        "sed 's/ \\* 60))$/ * 2))/' benchmarks/common.sh >$d/common.sh; cp benchmarks/run.sh $d; "
        "BENCH_MINUTES=1 sh $d/run.sh $d && python3 -m json.tool $d/benchmarks/results.json "
        ">$d/tidy && grep -e '\"sgemm\": null' -e '\"kind\": \"host\"' $d/tidy",
        stand_ins());
    CU_ASSERT(wsc_clock_s() - began < 30);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "products: skipped what does not fit BENCH_MINUTES=1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "simulation: skipped what does not fit"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "mesh: skipped what does not fit"));
    T_EQ(r.status, 0);
    spawn_free(&r);
}

/* A program that is not built ends the run before anything is measured, with the target of it. */
TEST(launch, benchmarks_name_the_target_of_a_missing_program)
{
    struct spawn_result r;
    spawn_run(&r,
              "d=%s/unbuilt; mkdir -p $d/bin && sh benchmarks/run.sh $d 2>&1; "
              "ln -s \"$(realpath $WSC)\" $d/bin/wsc && sh benchmarks/run.sh $d 2>&1",
              stand_ins());
    T_EQ(r.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "/bin/wsc: not built; hint: make all\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "/sgemm_peak: not built; hint: make benches\n"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "=="));
    spawn_free(&r);
}

/* Weights and tokens in llm.c's formats give the loss of `wsc run`; what does not fit is left out
   with its reason. */
TEST(launch, training_benchmark_takes_llm_c_from_the_same_weights)
{
    struct spawn_result r;
    if (!spawn_has("/usr/bin/python3")) return;
    spawn_run(&r, "/usr/bin/python3 tests/bench_llmc.py $WSC %s/bench_llmc", stand_ins());
    T_EQ(r.status, 0);
    if (!strstr(r.out, "skipped:")) {
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ": valid\n"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ": NOT VALID\n"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "T 1024, the model B 4, T 16: change them"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "none/train_gpt2 does not exist"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "GiB of memory are needed"));
    }
    spawn_free(&r);
}

/* A picture from the table of an earlier run, and a line where gnuplot is missing. */
TEST(launch, cost_of_a_simulation_is_drawn)
{
    struct spawn_result r;
    if (!spawn_has("gnuplot")) return;
    spawn_run(&r,
              "d=%s/cost; mkdir -p $d/benchmarks $d/none; "
              "for b in block matrix; do for n in 1 10 100; do "
              "echo $b 10 12 $n 1 62 1 0.00$n 1; done; printf '\\n\\n'; done "
              ">$d/benchmarks/simulation_cost.dat; "
              "echo '# slope 1 from_1000 1 peak_mib 1' >>$d/benchmarks/simulation_cost.dat; "
              "DRAW=1 sh benchmarks/simulation_cost.sh $d $d/cost.png && head -c 4 $d/cost.png | "
              "grep -q PNG && for p in dirname tail; do ln -s \"$(command -v $p)\" $d/none; done; "
              "DRAW=1 PATH=$d/none /bin/sh benchmarks/simulation_cost.sh $d $d/no.png 2>&1; "
              "echo status $?",
              stand_ins());
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "/cost.png\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "gnuplot is not installed: no picture; hint: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "status 1\n"));
    spawn_free(&r);
}

/* Rates and times the way that more is better; what fell is marked, what one file lacks counted. */
TEST(launch, benchmarks_are_compared_with_committed_ones)
{
    static const char about[] =
        "\\\"date\\\": \\\"d\\\", \\\"program\\\": \\\"p\\\", \\\"cpu\\\": \\\"c\\\", "
        "\\\"processors\\\": 2, \\\"load_before\\\": \\\"0\\\"";
    static const char shape[] =
        "\\\"sgemm\\\": {\\\"products\\\": [{\\\"shape\\\": \\\"square\\\", "
        "\\\"format\\\": \\\"fp32\\\", \\\"one_gflop_per_cpu_s\\\": ";
    static const char sweep[] =
        "\\\"simulate\\\": {\\\"messages_per_cpu_s\\\": 5, \\\"sweep_cpu_s\\\": ";
    struct spawn_result r;
    if (!spawn_has("python3")) return;
    spawn_run(&r,
              "d=%s/compare; mkdir -p $d/old; echo \"{%s, %s 80}]}, %s 0.5}}\" >$d/now.json; "
              "echo \"{%s, %s 1}]}}\" >$d/old/1.json; "
              "echo \"{%s, %s 100}]}, %s 1}}\" >$d/old/2.json; "
              "python3 benchmarks/compare.py $d/now.json $d/old; "
              "python3 benchmarks/compare.py $d/old/1.json $d/old",
              stand_ins(), about, shape, sweep, about, shape, about, shape, sweep);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "        80        100    0.80  fell\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "       0.5          1    2.00\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "3 figures; only now 0, only committed 0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "1 figures; only now 0, only committed 2"));
    spawn_free(&r);
}

/* Results of several hosts are compared with the last ones of their kind, by ratios alone: a file
   of `make bench` is none, and a rate over DDP that fell is marked. */
TEST(launch, benchmarks_of_hosts_are_compared_with_their_kind)
{
    static const char about[] = "\"kind\": \"cluster\", \"date\": \"d\", \"program\": \"p\", "
                                "\"cpu\": \"c\", \"processors\": 2, \"load_before\": \"0\"";
    static const char rows[] =
        "\"two_threads\": {\"wafers\": 1, \"threads\": 2, \"links\": \"kernel\", \"rows\": [{"
        "\"program\": 0, \"rate_gbit_s\": 0.5, \"delay_ms\": 1, \"step_s\": %s, \"ratio\": 1.5, "
        "\"of_phases\": 1.2, \"of_ddp\": %s}]}, \"scaling\": {\"hosts\": \"one\", \"rows\": [{"
        "\"program\": 0, \"job\": \"weak\", \"ranks\": 4, \"efficiency\": 0.4}]}, "
        "\"ranks\": {\"rows\": [{\"program\": 0, \"case\": \"folded\", \"ratio\": 1}, "
        "{\"program\": 0, \"case\": \"2 ranks\", \"ratio\": 1.1}]}";
    struct spawn_result r;
    if (!spawn_has("python3")) return;
    const char *dir = job_path("kinds");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s/old", dir));
    for (int i = 0; i < 2; i++) {
        char path[200], text[1024];
        (void)snprintf(path, sizeof path, "%s/%s.json", dir, i ? "old/2026-01-02-cluster" : "now");
        FILE *f = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        (void)snprintf(text, sizeof text, rows, i ? "1" : "9", i ? "1.25" : "1");
        (void)fprintf(f, "{%s, %s}\n", about, text);
        (void)fclose(f);
    }
    spawn_run(&r, "python3 benchmarks/compare.py %s/now.json %s/old", dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "2 hosts, 2 threads, 0.5 Gbit/s, 1 ms, rate over DDP"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "         1       1.25    0.80  fell\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "weak scaling, 4 ranks on one host, efficiency"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "4 systems, folded"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "5 figures; only now 0, only committed 0"));
    spawn_free(&r);
    spawn_run(&r,
              "cp benchmarks/results/2026-11-23.json %s/host.json && rm %s/old/* && "
              "mv %s/host.json %s/old && python3 benchmarks/compare.py %s/now.json %s/old",
              dir, dir, dir, dir, dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "no committed results of kind cluster in"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "/old/DATE-cluster.json\n"));
    spawn_free(&r);
}

/* The parts of several hosts are skipped by name without a right to namespaces, a part without time
   left too, and the file has the provenance of `make bench`. */
TEST(launch, benchmarks_of_hosts_say_what_they_skip)
{
    struct spawn_result r;
    if (!spawn_has("/usr/bin/python3")) return;
    spawn_run(&r,
              "d=%s/cluster; mkdir -p $d/bin $d/benchmarks/data/train $d/none && "
              "ln -s \"$(realpath $WSC)\" $d/bin/wsc && cp benchmarks/*.py benchmarks/*.sh $d && "
              "printf 'import sys\\nprint(\"no right to make namespaces\")\\nsys.exit(1)\\n' "
              ">$d/hosts.py; sed -i 's/ \\* 60))$/ * 0))/' $d/common.sh; mkdir $d/results; "
              "sh $d/cluster.sh $d && /usr/bin/python3 -m json.tool $d/benchmarks/cluster.json; "
              "PARTS=nothing sh $d/cluster.sh $d 2>&1",
              stand_ins());
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "three_hosts: skipped: no right to make namespaces\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "scaling: skipped what does not fit BENCH_MINUTES=20\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "no committed results of kind cluster in"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"kind\": \"cluster\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"load_before\": \""));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"ranks\": null"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"valid\": true"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "PARTS: nothing is none of: two_hosts"));
    spawn_free(&r);
}
