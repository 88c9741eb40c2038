// SPDX-License-Identifier: Apache-2.0
/* A signal stops all ranks after the same step: they look together, about once a second of the
 * host.  Where a run is cut changes neither values nor virtual time. */
#include "job_stop.h"
#include "job_checkpoint.h"

#include <wsc/clock.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/stop.h>

#include <stdlib.h>
#include <unistd.h>

/* One step at first: how long it takes is not known, and it may be minutes. */
void job_stop_restart(struct job_state *s)
{
    s->stop.steps_per_look = 1;
    s->stop.looked_s = wsc_clock_s();
}

void job_stop_begin(struct job_state *s)
{
    job_stop_restart(s);
    wsc_stop_watch(true);
}

void job_stop_end(void)
{
    wsc_stop_watch(false);
}

/* A launcher that begins when it gets a signal may pass it on to no rank: the launch scripts leave
 * a file too. */
static bool file_asks(const struct comm *comm)
{
    const char *path = comm_rank(comm) ? NULL : getenv("WSC_STOP_FILE");
    return path && !access(path, F_OK);
}

/* What asked any of the ranks, the signal on all of them; collective. */
static int agree_on_signal(struct comm *comm)
{
    const int asked = wsc_stop_asked();
    return (int)comm_max(comm, !asked && file_asks(comm) ? WSC_STOP_CALL : asked);
}

void job_stop_look(struct job_state *s, int64_t n_steps)
{
    /* A look is a collective call: so many steps between two that they take about a second on the
     * slowest rank.  Growth is bounded because the first steps of a run can be untypically short.
     */
    enum { US_BETWEEN_LOOKS = 1000000, MOST_GROWTH = 8 };
    const double now = wsc_clock_s();
    int64_t us = (int64_t)((now - s->stop.looked_s) * 1e6);
    us = comm_max(s->comm, us > 1 ? us : 1) / n_steps + 1;
    s->stop.looked_s = now;
    int64_t n = US_BETWEEN_LOOKS / us;
    if (n > MOST_GROWTH * s->stop.steps_per_look) n = MOST_GROWTH * s->stop.steps_per_look;
    s->stop.steps_per_look = n > 1 ? n : 1;
    s->stop.signal = agree_on_signal(s->comm);
}

static bool writes_checkpoints(const struct job *job)
{
    return job->values && job->params->runconfig.checkpoint_steps > 0;
}

static enum wsc_err hint_at_nothing_saved(enum wsc_err rc, const struct job *job)
{
    return wsc_err_hint(rc, "no checkpoint was written, as %s",
                        job->values ? "runconfig asks for none"
                                    : "--numerics none computes no weights");
}

enum wsc_err job_stop_here(struct job_state *s)
{
    if (!job_trains(s))
        return wsc_err_hint(WSC_RAISE(WSC_INTERRUPTED, "stopped by %s in an evaluation",
                                      wsc_stop_name(s->stop.signal)),
                            "started again, it begins again");
    const bool saves = writes_checkpoints(s->job);
    if (saves && s->checkpoint.saved_step != s->at.step) TRY(job_save(s));
    enum wsc_err rc = WSC_RAISE(WSC_INTERRUPTED, "stopped by %s after step %lld of %lld",
                                wsc_stop_name(s->stop.signal), (long long)s->at.step,
                                (long long)s->run.last_step);
    if (!saves) return hint_at_nothing_saved(rc, s->job);
    const struct store_folder folder = job_folder(s);
    char *path = NULL;
    TRY(store_step_path(&folder, s->at.step, &path));
    rc = wsc_err_hint(rc, "started again, it resumes from %s", path);
    wsc_free(path);
    return rc;
}

/* Does each start train as many steps more?  With an ID all starts are one run, and max_steps
 * counts those of all starts. */
static bool counts_own_steps(const struct job *job)
{
    const struct zoo_runconfig *rc = &job->params->runconfig;
    return !job->run_id && (rc->num_steps != CONF_NULL || rc->num_epochs != CONF_NULL);
}

enum wsc_err job_stop_after_phase(struct comm *comm, const struct job *job)
{
    const struct zoo_params *p = job->params;
    const int asked = agree_on_signal(comm);
    if (!asked) return WSC_OK;
    const enum wsc_err rc = WSC_RAISE(WSC_INTERRUPTED, "stopped by %s after phase %d of %d",
                                      wsc_stop_name(asked), p->phase, p->n_phases);
    if (!zoo_mode_trains(p->runconfig.mode))
        return wsc_err_hint(rc, "started again, it repeats phase %d", p->phase);
    if (!writes_checkpoints(job)) return hint_at_nothing_saved(rc, job);
    if (counts_own_steps(job))
        return wsc_err_hint(rc,
                            "--phase %d continues, and each later one after it; started again, "
                            "phase %d trains as many steps more, as without --run_id",
                            p->phase + 1, p->phase);
    return wsc_err_hint(rc, "started again, it continues with phase %d", p->phase + 1);
}
