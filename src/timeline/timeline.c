// SPDX-License-Identifier: Apache-2.0
/* Steps of a recorded run, one after the other: the graph of events of the newest one, what it
 * reported, the bars of all that are shown.  A step is compared with what the roles reported of
 * it, to the picosecond.  timeline_measure() records a run of its own, without values, for those
 * who have none, such as a sweep. */
#include "timeline_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

/* Steps before the first one that is looked at: from the third on they are alike. */
enum { WARM_UP = 2 };

/* ---- one step -------------------------------------------------------------------------------- */

/* The part of a program's record that belongs to one step; borrowed. Steps follow each other in a
 * record, so a step is a slice of it. */
static struct vtime_recorder part_of(const struct vtime_recorder *r, int64_t step)
{
    struct vtime_recorder part = {
        .id = r->id, .n_before = r->n_before, .event = r->event, .edge = r->edge, .bar = r->bar};
    int64_t i = 0, k = 0;
    for (; i < r->n_events && r->event[i].step < step; i++)
        part.edge += r->event[i].n_edges;
    part.event += i;
    part.n_before += i;
    for (; i < r->n_events && r->event[i].step == step; i++) {
        part.n_events++;
        part.n_edges += r->event[i].n_edges;
    }
    for (; k < r->n_bars && r->bar[k].step < step; k++)
        part.bar++;
    for (; k < r->n_bars && r->bar[k].step == step; k++)
        part.n_bars++;
    return part;
}

/* Each wafer ends its step with its last stage. */
static enum wsc_err find_wafer_ends(struct timeline *t, const struct vtime_recorder *program,
                                    int n_programs)
{
    wsc_free(t->wafer_end);
    t->wafer_end = NULL;
    t->n_wafer_ends = 0;
    TRY_NEW(t->wafer_end, WSC_MEM_TIMELINE, n_programs + 1);
    for (int p = 0; p < n_programs; p++) {
        int64_t i = program[p].n_bars;
        while (i > 0 && program[p].bar[i - 1].kind != VTIME_BAR_STAGE)
            i--;
        if (!i) continue;
        const int32_t end = timeline_graph_find(&t->graph, program[p].bar[i - 1].end.event);
        WSC_CHECK(end >= 0, "the end of a wafer's step is not recorded");
        t->wafer_end[t->n_wafer_ends++] = end;
    }
    return WSC_OK;
}

/* The record and the report of the roles must give the same picosecond. */
static void find_end(struct timeline *t)
{
    const struct memoryx_batch *b = &t->batch;
    t->start_ps = b->end.ps - b->time_ps;
    t->end = timeline_graph_find(&t->graph, b->end.event);
    WSC_CHECK(t->end >= 0 && t->graph.event[t->end].ps == b->end.ps,
              "step %lld: the record has no event at its end, %lld ps", (long long)t->step,
              (long long)b->end.ps);
    t->slowest = comm_role_of_program(vtime_event_program(b->end.event));
    for (int i = 0; i < t->n_wafer_ends; i++)
        WSC_CHECK(t->graph.event[t->wafer_end[i]].ps <= b->end.ps,
                  "step %lld: a wafer ends after the step", (long long)t->step);
}

/* Steps before the first wanted one are added to the graph as well, because their events are
 * causes of later ones; nothing else is kept of them. */
static enum wsc_err add_step(struct timeline *t, const struct cluster_record *record,
                             const struct vtime_recorder *program)
{
    const int n = record->n_programs;
    const bool shown = t->step >= t->want.first_step;
    t->graph.keep_edges = shown && t->want.schedule;
    TRY(timeline_graph_cut(&t->graph, t->batch.end.ps - t->batch.time_ps));
    TRY(timeline_graph_add(&t->graph, program, n));
    TRY(find_wafer_ends(t, program, n));
    find_end(t);
    if (!shown) return WSC_OK;
    TRY(timeline_joints_find(t, program, n));
    if (t->want.trace) TRY(timeline_bars_add(t, program, n));
    int role = 0;
    while (role < n && (program[role].n_bars == 0 || comm_role_of_program(role) != t->slowest))
        role++;
    WSC_CHECK(role < n, "the slowest wafer has no record");
    return timeline_profile_find(t, record, &program[role]);
}

/* Steps of a record in their order; the newest is the one that results are about. */
enum wsc_err timeline_add(struct timeline *t, const struct cluster_record *record)
{
    struct vtime_recorder *part;
    TRY_NEW(part, WSC_MEM_TIMELINE, record->n_programs + 1);
    enum wsc_err rc = WSC_OK;
    t->mode = record->mode;
    t->n_micro = record->n_micro;
    t->n_wafers = record->n_wafers;
    t->n_nodes = record->n_nodes;
    for (int64_t i = 0; i < record->n_steps && !rc; i++) {
        t->step = record->first_step + i;
        t->batch = record->batch[i];
        for (int p = 0; p < record->n_programs; p++)
            part[p] = part_of(&record->program[p], t->step);
        rc = add_step(t, record, part);
    }
    wsc_free(part);
    return rc;
}

/* ---- create and destroy ---------------------------------------------------------------------- */

/* Two models of the same params: stages as they stream, and a stage for each part for the profile.
 */
static enum wsc_err make(struct timeline *t, const struct zoo_params *params,
                         const struct hw_machine *machine)
{
    (void)snprintf(t->name, sizeof t->name, "%s", machine->name);
    TRY(model_create(&t->model, params, machine->stream.granularity));
    TRY(model_create(&t->by_part, params, HW_STREAM_MATRIX));
    return stream_topology_create(&t->machine, cluster_n_shards(params, machine),
                                  (int)params->runconfig.num_csx, (int)machine->swarmx.fanout);
}

enum wsc_err timeline_create(struct timeline **out, const struct zoo_params *params,
                             const struct hw_machine *machine, const struct timeline_want *want)
{
    TRY_NEW(*out, WSC_MEM_TIMELINE, 1);
    (*out)->want = *want;
    enum wsc_err rc = make(*out, params, machine);
    if (rc) timeline_destroy(out);
    return rc;
}

void timeline_destroy(struct timeline **t)
{
    struct timeline *a = *t;
    *t = NULL;
    if (!a) return;
    timeline_graph_fini(&a->graph);
    wsc_free(a->wafer_end);
    wsc_free(a->joint);
    timeline_bars_fini(a);
    wsc_free(a->module);
    stream_topology_destroy(&a->machine);
    model_destroy(&a->by_part);
    model_destroy(&a->model);
    wsc_free(a);
}

/* ---- a run of its own ------------------------------------------------------------------------ */

/* One step with the recorder on, added to @p t. */
static enum wsc_err add_recorded(struct timeline *t, struct cluster *c,
                                 const struct stream_pass *pass, const struct wafer_work *work)
{
    struct cluster_record record;
    TRY(cluster_run_recorded(c, pass, work, pass->first_step, 1, &record));
    enum wsc_err rc = timeline_add(t, &record);
    cluster_record_fini(&record);
    return rc;
}

/* Steps before the recorded ones warm up; the last of them is recorded too, because events of the
 * first wanted step follow from it. */
static enum wsc_err run_steps(struct timeline *t, struct cluster *c,
                              const struct timeline_want *want)
{
    const int64_t before = want->first_step < WARM_UP ? want->first_step : WARM_UP;
    struct stream_pass pass = {.mode = STREAM_TRAIN, .first_step = want->first_step - before};
    struct cycles_plan plan;
    const struct wafer_work work = {.plan = &plan, .seed = cluster_seed(c->params)};
    struct cluster_change change;
    TRY(cluster_faults_plan(c, want->first_step + want->n_steps, -1));
    TRY(cluster_faults_enter(c, 0, &change));
    TRY(cluster_plan_batch(c, &c->params->train_input, true, &plan, &pass.batch));
    pass.n_steps = 1;
    for (int64_t i = 0; i < before + want->n_steps; i++, pass.first_step++) {
        if (i + 1 < before)
            TRY(cluster_run_pass(c, &pass, &work));
        else
            TRY(add_recorded(t, c, &pass, &work));
    }
    return WSC_OK;
}

/* A cluster without values on this process: times do not need them. */
enum wsc_err timeline_measure(struct timeline *t, const struct zoo_params *params,
                              const struct hw_machine *machine)
{
    const struct memoryx_hooks hooks = {0};
    struct comm *comm = NULL;
    struct cluster *c = NULL;
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = cluster_create(&c, comm, params, machine, false, &hooks);
    if (!rc) rc = run_steps(t, c, &t->want);
    cluster_destroy(&c);
    comm_destroy(&comm);
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Time and breakdown as the roles reported them; find_end() has compared them with the record. */
void timeline_step(const struct timeline *t, int64_t *step_time_ps,
                   struct vtime_breakdown *breakdown)
{
    const struct memoryx_batch *b = &t->batch;
    *step_time_ps = b->time_ps;
    *breakdown = b->breakdown;
}

/* Events of the newest step. */
int64_t timeline_n_events(const struct timeline *t)
{
    return t->graph.n - t->graph.first_new;
}

/* Steps with bars; 0 before the first. */
int64_t timeline_n_shown(const struct timeline *t)
{
    return t->graph.n && t->step >= t->want.first_step ? t->step + 1 - t->want.first_step : 0;
}

/* Transfers are numbered through the micro-batches of a step. */
void timeline_transfer_name(const struct timeline *t, int32_t transfer, char *text, int size)
{
    const int n = timeline_n_transfers(t);
    if (transfer < 0) {
        (void)snprintf(text, (size_t)size, "end of step");
        return;
    }
    const struct model_transfer what = model_transfer_at(t->model, transfer % n);
    int used = snprintf(text, (size_t)size, "%s %s", t->model->stage[what.stage].name,
                        what.backward ? "backward" : "forward");
    if (t->n_micro > 1 && used > 0 && used < size)
        (void)snprintf(text + used, (size_t)(size - used), ", micro-batch %d", transfer / n);
}

/* Critical path from the end of the step to its start: from each event to the one that it waited
 * for longest. Events at the time of their cause take no segment; the caller reverses the list. */
static enum wsc_err walk_back(const struct timeline *t, struct timeline_segment **path, int *n)
{
    const struct timeline_graph *g = &t->graph;
    int size = 0;
    int32_t next;
    for (int32_t i = t->end; i >= 0 && g->event[i].ps > t->start_ps; i = next) {
        const struct timeline_event *e = &g->event[i];
        int64_t begin = e->cause >= 0 ? g->event[e->cause].ps : t->start_ps;
        next = e->cause;
        if (begin < t->start_ps) begin = t->start_ps;
        if (begin == e->ps) continue;
        TRY_GROW(*path, WSC_MEM_TIMELINE, size, *n + 1);
        struct timeline_segment *s = &(*path)[(*n)++];
        s->part = vtime_part_name(e->cause >= 0 ? (enum vtime_part)e->part : VTIME_BEFORE);
        s->begin_ps = begin;
        s->end_ps = e->ps;
        stream_role_name(t->machine, e->role, s->who, sizeof s->who);
        timeline_transfer_name(t, e->transfer, s->what, sizeof s->what);
    }
    return WSC_OK;
}

enum wsc_err timeline_path(const struct timeline *t, struct timeline_segment **path, int *n)
{
    *path = NULL;
    *n = 0;
    enum wsc_err rc = walk_back(t, path, n);
    if (rc) {
        wsc_free(*path);
        *path = NULL;
        return rc;
    }
    for (int a = 0, b = *n - 1; a < b; a++, b--) {
        const struct timeline_segment s = (*path)[a];
        (*path)[a] = (*path)[b];
        (*path)[b] = s;
    }
    return WSC_OK;
}
