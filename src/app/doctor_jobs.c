// SPDX-License-Identifier: Apache-2.0
/* Checks of `wsc doctor` that start programs: a job of two ranks, a training step with its
 * checkpoint, a picture.  The jobs run in a folder of their own, which is removed, for at most two
 * minutes each; the shell gets names through its environment, so that no name needs quotes.  The
 * table of checks is in cmd_doctor.c. */
#include "doctor.h"
#include "shipped.h"

#include <wsc/comm.h>
#include <wsc/out.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More ranks than processors, and root, are allowed here: mpirun of Open MPI 4 and 5. */
#define MPIRUN                                                                                     \
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "                            \
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 "                          \
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1; "                     \
    "timeout 120 mpirun -n 2 \"$WSC_DOCTOR_PROGRAM\" "

/* Run a command of the shell; returns its exit status, and in @p said the end of what it printed,
 * on one line. */
static int run(const char *command, char *said, size_t size)
{
    size_t n = 0;
    int c;
    char line[1024];
    (void)snprintf(line, sizeof line, "(%s); echo \"@$?\"", command);
    FILE *pipe = popen(line, "r"); // NOLINT(cert-env33-c): fixed texts, names are variables
    said[0] = '\0';
    if (!pipe) return -1;
    while ((c = fgetc(pipe)) != EOF) {
        if (n + 1 == size) { /* the end counts */
            memmove(said, said + size / 2, n - size / 2);
            n -= size / 2;
        }
        said[n++] = (char)(c == '\n' || c == '\t' ? ' ' : c);
        said[n] = '\0';
    }
    if (pclose(pipe)) return -1;
    char *mark = strrchr(said, '@'); /* the shell's last word: the status */
    if (!mark) return -1;
    *mark = '\0';
    return (int)strtol(mark + 1, NULL, 10);
}

/* A new folder, named in the environment of the commands; false when there can be none. */
static bool make_folder(char dir[PATH_MAX])
{
    const char *set = getenv("TMPDIR");
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    const int length = snprintf(dir, PATH_MAX, "%s/wsc-doctor-XXXXXX", set && *set ? set : "/tmp");
    if (length >= PATH_MAX) errno = ENAMETOOLONG;
    if (n <= 0 || length < 0 || length >= PATH_MAX || !mkdtemp(dir)) return false;
    program[n] = '\0';
    return !setenv("WSC_DOCTOR_PROGRAM", program, 1) && !setenv("WSC_DOCTOR_DIR", dir, 1);
}

static void remove_folder(void)
{
    char said[64];
    (void)run("rm -rf \"$WSC_DOCTOR_DIR\"", said, sizeof said);
}

/* The job did not do what it should: say so with the end of what it printed. */
static void complain(struct app_finding *f, int status, const char *said, const char *advice)
{
    const size_t n = strlen(said), most = 110;
    app_found(f, "status %d: %s%s", status, n > most ? "..." : "",
              said + (n > most ? n - most : 0));
    app_advise(f, APP_DOCTOR_FAILED, "%s", advice);
}

/* Rank 0 of `wsc help` prints: two lines of usage are two jobs of one rank, which is what an mpirun
 * of another MPI library starts. */
void app_doctor_mpi(struct app_finding *f)
{
    static const char usage[] = "usage: ";
    char dir[PATH_MAX], said[4096], library[120];
    comm_library(library, sizeof library);
    if (!make_folder(dir)) {
        app_found(f, "no folder for the job: %s", strerror(errno));
        app_advise(f, APP_DOCTOR_FAILED, "export TMPDIR to a folder that can be written");
        return;
    }
    const int status = run("cd \"$WSC_DOCTOR_DIR\" && command -v mpirun >/dev/null || "
                           "{ echo there is no mpirun in PATH; exit 127; }; " MPIRUN "help ranks "
                           "2>&1",
                           said, sizeof said);
    const char *first = strstr(said, usage);
    const bool twice = first && strstr(first + 1, usage);
    remove_folder();
    if (status || !first)
        complain(f, status, said,
                 "install openmpi-bin (Debian) or load the MPI module of the site");
    else if (twice)
        complain(f, status, "two jobs of one rank",
                 "mpirun belongs to another MPI library: put the one of the build into PATH");
    else
        app_found(f, "%s, two ranks", library);
}

void app_doctor_training(struct app_finding *f)
{
    char dir[PATH_MAX], params[PATH_MAX], said[4096];
    if (!app_find_folder(APP_PARAMS, params, sizeof params)) {
        app_found(f, "not tried: there are no params %s", app_find_place());
        f->state = APP_DOCTOR_SKIPPED;
        return;
    }
    if (setenv("WSC_DOCTOR_PARAMS", params, 1) || !make_folder(dir)) {
        app_found(f, "no folder for the job");
        app_advise(f, APP_DOCTOR_FAILED, "export TMPDIR to a folder that can be written");
        return;
    }
    const int status = run("cd \"$WSC_DOCTOR_PARAMS/../..\" && " MPIRUN "run --params "
                           "configs/params/tiny.yaml --num_csx 1 --num_steps 1 --model_dir "
                           "\"$WSC_DOCTOR_DIR/run\" 2>&1 && "
                           "test -s \"$WSC_DOCTOR_DIR/run/checkpoint_1.mdl\"",
                           said, sizeof said);
    remove_folder();
    if (status)
        complain(f, status, said, "the message says what is missing; first look at MPI and HDF5");
    else
        app_found(f, "one step on two ranks, checkpoint written by both");
}

void app_doctor_gnuplot(struct app_finding *f)
{
    char dir[PATH_MAX];
    struct wsc_text script = {0};
    if (!make_folder(dir)) {
        app_found(f, "no folder for the picture");
        app_advise(f, APP_DOCTOR_FAILED, "export TMPDIR to a folder that can be written");
        return;
    }
    out_gnuplot_output(&script, "doctor", "plot sin(x)\n", 400);
    const enum wsc_err rc = out_gnuplot(dir, "doctor", &script);
    remove_folder();
    if (!rc) {
        app_found(f, "SVG and PNG");
        return;
    }
    app_found(f, "%.150s", wsc_err_message());
    app_advise(f, APP_DOCTOR_WARNING, "no pictures, all else works: install gnuplot-nox");
}
