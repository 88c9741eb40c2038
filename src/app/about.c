// SPDX-License-Identifier: Apache-2.0
/* Texts on the program as a whole for `wsc --help` (option_help.c) and wsc(1) (manual.c):
 * its purpose, exit statuses, environment variables. */
#include "about.h"

const char app_subject[] = "an emulator of a wafer-scale cluster";
const char app_purpose[] =
    "It emulates CS-2 wafers, the MemoryX weight store and the SwarmX tree, trains\n"
    "transformers by weight streaming and keeps the virtual time of the emulated machine.";

const char *const app_statuses[APP_N_STATUSES] = {"success",
                                                  "the run failed",
                                                  "usage or configuration",
                                                  "does not fit the emulated machine",
                                                  "non-finite numbers",
                                                  "stopped by SIGTERM, SIGUSR1 or SIGHUP"};

const struct app_variable app_variables[] = {
    {"WSC_DATA_DIR", "folder with the files that come with the program: the top of a source tree "
                     "or PREFIX/share/wsc (default: beside the program)"},
    {"WSC_AHEAD",
     "1: messages move while a rank computes, by a thread of each rank; 0: they do not "
     "(default: 1 when the ranks are on several hosts)"},
    {"WSC_HEARTBEAT_SECONDS", "a job ends when a rank has been silent for so long (default 60; 0: "
                              "off)"},
    {"WSC_STALL_SECONDS", "a rank that rank 0 cannot watch ends when no message has arrived for so "
                          "long (default 1800)"},
    {"WSC_MAX_RESTARTS", "launch scripts: restarts of a run that died (default 3)"},
    {"WSC_MAX_REQUEUES", "slurm.sbatch: times that a job is requeued (default 10)"},
    {"WSC_STOP_SECONDS", "pbs.sh: seconds before the time limit at which a run is asked to stop "
                         "(default 120)"},
    {"WSC_SHM", "launch scripts: folder of shared memory (default /dev/shm)"},
    {"WSC_PROGRESS_SECONDS", "where stderr is no terminal: work so long is reported by a line of "
                             "progress, later lines come at six times that (default 5; 0: none)"},
    {"WSC_TRACE", "1: errors name the place in the program where they arose"},
    {"TMPDIR", "folder of temporary files (default /tmp)"},
    {"OMP_NUM_THREADS", "threads of a rank (default: its processors, those that several ranks may "
                        "use divided by them); results do not depend on it"},
    {0}};
