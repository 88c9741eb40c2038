// SPDX-License-Identifier: Apache-2.0
/* A job from start to end: set-up, the work of its mode, the end.
 *
 * Until the first pass ranks agree on every error; later an error is one rank's alone and ends the
 * job.  Set-up is in job_setup.c, the loops in job_training.c, job_evaluation.c and job_generate.c,
 * checkpoints in job_checkpoint.c, signals in job_stop.c, what is logged in job_log.c. */
#include "job_checkpoint.h"
#include "job_classes.h"
#include "job_evaluation.h"
#include "job_events.h"
#include "job_generate.h"
#include "job_history.h"
#include "job_scoring.h"
#include "job_setup.h"
#include "job_stop.h"
#include "job_training.h"

#include <wsc/log.h>
#include <wsc/mem.h>

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With signals as questions, until it returns. */
static enum wsc_err until_told(struct job_state *s, enum wsc_err (*run)(struct job_state *s))
{
    job_stop_begin(s);
    enum wsc_err rc = run(s);
    job_stop_end();
    return rc;
}

static enum wsc_err work(struct job_state *s)
{
    TRY(cluster_make_masks(s->cluster));
    switch (s->job->params->runconfig.mode) {
    case ZOO_TRAIN:
    case ZOO_TRAIN_AND_EVAL:
        return until_told(s, job_train);
    case ZOO_EVAL:
        return until_told(s, job_evaluate);
    case ZOO_GENERATE:
        return job_generate(s);
    }
    return WSC_OK;
}

/* After success and failure, at any point: everything is closed only if it was opened. */
static void tear_down(struct job_state *s)
{
    out_progress_hide();
    job_metrics_close(&s->log.metrics);
    job_events_close(s);
    data_source_close(&s->train.source);
    data_source_close(&s->eval.source);
    job_scoring_destroy(&s->scoring);
    job_classes_fini(&s->classes);
    wsc_log_close();
    store_release(s->checkpoint.claim);
    cluster_destroy(&s->cluster);
    wsc_free(s->checkpoint.start_path);
    wsc_free(s->run.start_ps);
    wsc_free(s->result.fault);
    wsc_free(s->result.carried);
}

/* Several ranks may fail over the same thing, and the first that reports ends the others: it holds
 * a lock on run.log until its process has ended, which the others wait for in vain.  A rank that
 * cannot lock, as on a host without that folder, reports. */
static void take_turn(const struct job_state *s)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = job_log_path(s);
    const int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1; /* stays open to the end */
    wsc_free(path);
    if (fd >= 0) (void)fcntl(fd, F_SETLKW, &whole);
}

/* An error in the middle of a run is this rank's alone; the others wait for its messages. */
static void end_job(const struct job_state *s, enum wsc_err rc)
{
    if (comm_size(s->comm) == 1) return;
    out_progress_end();
    take_turn(s);
    (void)fprintf(stderr, "wsc: error: %s\n", wsc_err_message());
    wsc_err_show_trace();
    comm_abort(wsc_err_exit_status(rc));
}

static struct job_state state_of(struct comm *comm, const struct job *job)
{
    return (struct job_state){.comm = comm,
                              .job = job,
                              .run.planned_last_step = -1,
                              .at.reached_step = -1,
                              .checkpoint = {.claim = -1, .saved_step = -1, .n_lines = -1},
                              .log.noise_scale = NAN};
}

/* A checkpoint in a folder that an earlier phase writes to is not there yet, or not yet what it
 * will be.  Of two folders that are missing nothing is known. */
static bool comes_later(const char *path, const struct job_folders *earlier)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    const bool missing = slash && access(folder, F_OK);
    for (int i = 0; i < earlier->n; i++) {
        if (job_lies_in(path, earlier->dir[i])) return true;
        if (missing && access(earlier->dir[i], F_OK)) return true;
    }
    return false;
}

enum wsc_err job_check_ahead(struct comm *comm, const struct job *job,
                             const struct job_folders *earlier, bool *report)
{
    struct job_state s = state_of(comm, job);
    const char *path = job->params->runconfig.checkpoint_path;
    enum wsc_err rc = job_set_up_inputs(&s, true);
    if (!rc && path && job->values && comm_rank(comm) == 0 && !comes_later(path, earlier))
        rc = job_check_start(&s, path);
    rc = comm_agree(comm, rc, report);
    tear_down(&s);
    return rc;
}

enum wsc_err job_run(struct comm *comm, const struct job *job, bool *report)
{
    struct job_state s = state_of(comm, job);
    *report = true;
    enum wsc_err rc = job_set_up(&s, report);
    if (!rc) {
        *report = true; /* from here on an error is this rank's own */
        rc = work(&s);
        if (rc == WSC_INTERRUPTED)
            *report = comm_rank(comm) == 0; /* all ranks agree on that */
        else if (s.failure.everywhere)
            *report = s.failure.reports;
        else if (rc)
            end_job(&s, rc);
    }
    tear_down(&s);
    return rc;
}
