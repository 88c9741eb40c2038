// SPDX-License-Identifier: Apache-2.0
/* `wsc doctor`: a table of checks of the host, run in order, one line for each.  The checks are in
 * doctor_host.c (the operating system) and doctor_jobs.c (programs that are started); a new one is
 * a row here and a function there. */
#include "cmd.h"
#include "doctor.h"
#include "requests.h"

#include <wsc/out.h>

#include <stdio.h>

/* In the order in which later checks build on earlier ones. */
static const struct {
    const char *name;
    void (*look)(struct app_finding *f);
    bool starts; /* programs */
} checks[] = {
    {"program", app_doctor_program, false},
    {"processor", app_doctor_processor, false},
    {"products", app_doctor_products, false},
    {"cores", app_doctor_cores, false},
    {"memory", app_doctor_memory, false},
    {"huge pages", app_doctor_huge_pages, false},
    {"locked memory", app_doctor_memlock, false},
    {"open files", app_doctor_files, false},
    {"stack", app_doctor_stack, false},
    {"clock", app_doctor_clock, false},
    {"network", app_doctor_network, false},
    {"shared memory", app_doctor_shared_memory, false},
    {"temporary files", app_doctor_temporary, false},
    {"HDF5", app_doctor_hdf5, false},
    {"MPI", app_doctor_mpi, true},
    {"training", app_doctor_training, true},
    {"gnuplot", app_doctor_gnuplot, true},
};
enum { N_CHECKS = sizeof checks / sizeof *checks };

static const char *const states[] = {[APP_DOCTOR_OK] = "ok",
                                     [APP_DOCTOR_WARNING] = "warning",
                                     [APP_DOCTOR_FAILED] = "failed",
                                     [APP_DOCTOR_SKIPPED] = "skipped"};

/* One check, and its line as soon as it is known. */
static void run_check(int i, const struct app_doctor *o, struct out_json *j, int count[4])
{
    struct app_finding f = {0};
    if (checks[i].starts && o->quick) {
        app_found(&f, "not tried");
        f.state = APP_DOCTOR_SKIPPED;
    } else {
        out_progress(i, checks[i].name);
        checks[i].look(&f);
    }
    out_progress_hide();
    count[f.state]++;
    if (o->json) {
        out_json_open(j, NULL);
        out_json_str(j, "check", checks[i].name);
        out_json_str(j, "state", states[f.state]);
        out_json_str(j, "found", f.found);
        if (*f.action) out_json_str(j, "action", f.action);
        out_json_close(j);
        return;
    }
    (void)printf("%-8s %-16s %s\n", states[f.state], checks[i].name, f.found);
    if (*f.action) (void)printf("%25s -> %s\n", "", f.action);
    (void)fflush(stdout);
}

enum wsc_err app_run_doctor(struct app_call *call)
{
    const struct app_doctor *o = call->request;
    struct out_json j = {.pretty = true};
    int count[4] = {0};
    out_json_open_list(&j, NULL);
    out_progress_start("checks", N_CHECKS);
    for (int i = 0; i < N_CHECKS; i++)
        run_check(i, o, &j, count);
    out_progress_end();
    out_json_close_list(&j);
    enum wsc_err rc = out_json_check(&j, "the checks");
    if (!rc && o->json) (void)printf("%s\n", j.text.bytes);
    wsc_text_free(&j.text);
    if (rc || !count[APP_DOCTOR_FAILED]) return rc;
    return wsc_err_hint(
        WSC_RAISE(WSC_IO, "%d of %d checks failed", count[APP_DOCTOR_FAILED], (int)N_CHECKS),
        "docs/RUNNING.md, Checking the host");
}
