// SPDX-License-Identifier: Apache-2.0
/* Faults over the steps of a run.  The faults of a machine file become a list of events, each with
 * a place, a first step and an end: at a fixed step, or after geometrically distributed waiting
 * times (inversion of a counter-based random number, so that every rank samples the same events).
 * For each step the list of events in force answers what a wafer or link suffers.  A kind of fault
 * is a row of the table `effect`: how several at one place combine, the recovery time, its traits;
 * its name and keys are the row of the same kind in fault_keys.c.  The cluster module moves from
 * step to step. */
#include "fault_events.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/rng.h>
#include <wsc/vtime.h>

#include <math.h>
#include <stdlib.h>

/* ---- the kinds ------------------------------------------------------------------------------- */

/* How the amounts of several faults of a kind at one place combine. */
static double multiply(double a, double b)
{
    return a * b;
}
static double add(double a, double b)
{
    return a + b;
}
static double add_squares(double a, double b)
{
    return sqrt(a * a + b * b);
}
/* Two independent losses: a packet passes when it passes both. */
static double add_losses(double a, double b)
{
    return 1 - (1 - a) * (1 - b);
}
/* Lost parts have no amount: what counts is that there is one. */
static double count(double a, double b)
{
    (void)b;
    return a + 1;
}

/* Recovery time, ps: detection, then what the rest of the machine does. */
static int64_t recover_wafer(const struct hw_machine *c, int64_t shard_bytes)
{
    (void)shard_bytes;
    return c->recovery.detection_ps + c->recovery.redistribution_ps;
}
static int64_t recover_node(const struct hw_machine *c, int64_t shard_bytes)
{
    (void)shard_bytes;
    return c->recovery.detection_ps + c->recovery.reroute_ps;
}
static int64_t recover_shard(const struct hw_machine *c, int64_t shard_bytes)
{
    return c->recovery.detection_ps +
           vtime_duration_ps(shard_bytes, c->recovery.restore_rate_bytes_per_s);
}

/* Kinds by enum hw_fault_kind. */
static const struct effect {
    double none; /* value without a fault */
    double (*join)(double a, double b);
    int64_t (*recover)(const struct hw_machine *c, int64_t shard_bytes); /* NULL: nothing to do */
    unsigned traits;                                                     /* enum hw_fault_trait */
} effect[HW_N_FAULT_KINDS] = {
    [HW_FAULT_STRAGGLER] = {.none = 1, .join = multiply},
    [HW_FAULT_JITTER] = {.none = 0, .join = add_squares, .traits = HW_FAULT_IS_SAMPLED},
    [HW_FAULT_LOST_WAFER] = {.none = 0,
                             .join = count,
                             .recover = recover_wafer,
                             .traits = HW_FAULT_IS_FOREVER},
    [HW_FAULT_SLOW_LINK] = {.none = 1, .join = multiply},
    [HW_FAULT_LOSSY_LINK] = {.none = 0, .join = add_losses, .traits = HW_FAULT_IS_SAMPLED},
    [HW_FAULT_LOST_PLANES] = {.none = 0, .join = add},
    [HW_FAULT_LOST_NODE] = {.none = 0,
                            .join = count,
                            .recover = recover_node,
                            .traits = HW_FAULT_IS_FOREVER},
    [HW_FAULT_LOST_SHARD] = {.none = 0,
                             .join = count,
                             .recover = recover_shard,
                             .traits = HW_FAULT_LOSES_MEMORY},
    [HW_FAULT_SLOW_INPUT] = {.none = 1, .join = multiply},
};

bool hw_fault_has(const struct hw_fault *fault, enum hw_fault_trait trait)
{
    return effect[fault->kind].traits & (unsigned)trait;
}

/* Places by enum hw_place, in the words of messages. */
static const char *const place_title[HW_N_PLACES] = {"wafer", "SwarmX node", "MemoryX shard"};

/* ---- the events ------------------------------------------------------------------------------ */

/* More events would make every step slow; docs/FAULTS.md states it. */
enum { MOST_EVENTS = 10000 };

struct hw_faults {
    const struct hw_machine *cluster; /* borrowed */
    struct hw_fault_scope scope;
    struct hw_event *event; /* owned, by first_step */
    int n, capacity;
    const struct hw_event **now; /* owned (n): those in force in the present step */
    int n_now;
    int64_t step;
    int64_t reached; /* the latest step of hw_faults_move() */
    bool first_time; /* the present step is no repetition after a restore */
};

/* Append an event.  A rate near 1 over a long run is an error rather than a list without end. */
static enum wsc_err keep(struct hw_faults *f, const struct hw_event *e)
{
    if (f->n == MOST_EVENTS)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "fault %s: more than %d events in %lld steps",
                                      e->fault->text, MOST_EVENTS, (long long)f->scope.last_step),
                            "a smaller rate, or faults of single systems and links");
    TRY_GROW(f->event, WSC_MEM_HW, f->capacity, f->n + 1);
    f->event[f->n++] = *e;
    return WSC_OK;
}

/* Steps that fault number @p i waits at @p place before it begins for the @p k-th time. */
static int64_t sample_wait(const struct hw_faults *f, int i, int place, uint64_t k)
{
    const double longest = 1e15;
    const double rate = f->cluster->faults.item[i].rate;
    const uint64_t stream = wsc_rng_stream(WSC_RNG_FAULT, (uint64_t)i << 16 | (uint64_t)place);
    /* Inversion of the geometric distribution; -inf below the line where the rate is 1. */
    const double wait = floor(log(wsc_rng_uniform(f->scope.seed, stream, k)) / log1p(-rate));
    return (int64_t)fmin(wait, longest);
}

/* The first step after a fault that begins with step @p first. */
static int64_t end_of(const struct hw_fault *fault, int64_t first)
{
    if (hw_fault_has(fault, HW_FAULT_LOSES_MEMORY)) return first + 1;
    return fault->steps ? first + fault->steps : INT64_MAX;
}

/* Events of fault @p i at @p place: one without a rate, else one after another up to the last step.
 */
static enum wsc_err add_events(struct hw_faults *f, int i, int place)
{
    const struct hw_fault *fault = &f->cluster->faults.item[i];
    int64_t first = fault->from - 1;
    for (uint64_t k = 0; first < f->scope.last_step; k++) {
        if (fault->rate > 0) first += sample_wait(f, i, place, k);
        if (first >= f->scope.last_step) break;
        const struct hw_event e = {fault, place, first, end_of(fault, first)};
        TRY(keep(f, &e));
        if (!(fault->rate > 0) || e.end_step == INT64_MAX) break;
        first = e.end_step;
    }
    return WSC_OK;
}

/* Events of fault @p i at its place or at every one, after checks against the size of the machine.
 * A fault that is left out is checked too. */
static enum wsc_err add_fault(struct hw_faults *f, int i)
{
    const struct hw_fault *fault = &f->cluster->faults.item[i];
    const int n = f->scope.n_places[fault->place];
    if (fault->where != CONF_NULL && fault->where >= n)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "fault %s: no %s %lld, the machine has %d",
                                      fault->text, place_title[fault->place],
                                      (long long)fault->where, n),
                            n ? "the first is 0" : "one system has no SwarmX node");
    if (fault->kind == HW_FAULT_LOST_PLANES && fault->amount >= (double)f->cluster->swarmx.planes)
        return WSC_RAISE(WSC_CONFIG, "fault %s: must be less than swarmx.planes, %lld", fault->text,
                         (long long)f->cluster->swarmx.planes);
    if (i == f->scope.without) return WSC_OK;
    const int first = fault->where == CONF_NULL ? 0 : (int)fault->where;
    const int end = fault->where == CONF_NULL ? n : first + 1;
    for (int place = first; place < end; place++)
        TRY(add_events(f, i, place));
    return WSC_OK;
}

/* Order of events for qsort(): by first step, then by the order of the machine file's list, which
 * is the order of addresses of its array, then by place. */
static int earlier(const void *x, const void *y)
{
    const struct hw_event *a = x, *b = y;
    if (a->first_step != b->first_step) return a->first_step < b->first_step ? -1 : 1;
    if (a->fault != b->fault) return a->fault < b->fault ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* True when two events hit the same part of the machine. */
static bool same_part(const struct hw_event *a, const struct hw_event *b)
{
    return a->fault->place == b->fault->place && a->place == b->place;
}

/* Drop events at parts that are lost already; refuse to lose the last wafer or node. */
static enum wsc_err lose_once(struct hw_faults *f)
{
    int kept = 0, lost[HW_N_PLACES] = {0};
    for (int i = 0; i < f->n; i++) {
        const struct hw_event e = f->event[i];
        const int of = (int)e.fault->place;
        bool gone = false;
        for (int k = 0; k < kept && !gone; k++)
            gone =
                hw_fault_has(f->event[k].fault, HW_FAULT_IS_FOREVER) && same_part(&f->event[k], &e);
        if (gone) continue;
        f->event[kept++] = e;
        if (hw_fault_has(e.fault, HW_FAULT_IS_FOREVER) && ++lost[of] == f->scope.n_places[of])
            return wsc_err_hint(
                WSC_RAISE(WSC_CONFIG, "fault %s: the last %s would be lost at step %lld",
                          e.fault->text, place_title[of], (long long)e.first_step + 1),
                "fewer or later losses, or fewer steps");
    }
    f->n = kept;
    return WSC_OK;
}

/* Refuse event @p i when its SwarmX node has then lost all planes, with the losses still in force.
 */
static enum wsc_err check_planes(const struct hw_faults *f, int i)
{
    const struct hw_event *last = &f->event[i];
    double lost = 0;
    if (last->fault->kind != HW_FAULT_LOST_PLANES) return WSC_OK;
    for (int k = 0; k <= i; k++)
        if (f->event[k].fault->kind == last->fault->kind && same_part(&f->event[k], last) &&
            f->event[k].end_step > last->first_step)
            lost += f->event[k].fault->amount;
    if (lost < (double)f->cluster->swarmx.planes) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "fault %s: with those lost before %s %d has lost all of its %lld planes at "
                     "step %lld",
                     last->fault->text, place_title[last->fault->place], last->place,
                     (long long)f->cluster->swarmx.planes, (long long)last->first_step + 1);
}

/* Events of all faults, sorted, checked; then room for those in force. */
static enum wsc_err make(struct hw_faults *f)
{
    for (int i = 0; i < f->cluster->faults.n; i++)
        TRY(add_fault(f, i));
    if (f->n) qsort(f->event, (size_t)f->n, sizeof *f->event, earlier);
    TRY(lose_once(f));
    for (int i = 0; i < f->n; i++)
        TRY(check_planes(f, i));
    TRY_NEW(f->now, WSC_MEM_HW, f->n + 1);
    f->reached = -1;
    return WSC_OK;
}

enum wsc_err hw_faults_create(struct hw_faults **out, const struct hw_machine *cluster,
                              const struct hw_fault_scope *scope)
{
    TRY_NEW(*out, WSC_MEM_HW, 1);
    (*out)->cluster = cluster;
    (*out)->scope = *scope;
    enum wsc_err rc = make(*out);
    if (rc) hw_faults_destroy(out);
    return rc;
}

void hw_faults_destroy(struct hw_faults **faults)
{
    if (!*faults) return;
    wsc_free((*faults)->event);
    wsc_free((void *)(*faults)->now);
    wsc_free(*faults);
    *faults = NULL;
}

const struct hw_event *hw_faults_events(const struct hw_faults *faults, int *n)
{
    *n = faults->n;
    return faults->event;
}

/* ---- a step ---------------------------------------------------------------------------------- */

void hw_faults_go_on(struct hw_faults *f, int64_t reached)
{
    f->reached = reached;
    f->n_now = 0;
}

int64_t hw_faults_reached(const struct hw_faults *f)
{
    return f->reached;
}

/* The list is in order, so the walk ends at the first event that no step has reached. */
void hw_faults_move(struct hw_faults *f, int64_t step)
{
    f->first_time = step > f->reached;
    if (f->first_time) f->reached = step;
    f->step = step;
    f->n_now = 0;
    for (int i = 0; i < f->n && f->event[i].first_step <= f->reached; i++) {
        const struct hw_event *e = &f->event[i];
        const bool lasts = e->first_step <= step && e->end_step > step;
        if (lasts || hw_fault_has(e->fault, HW_FAULT_IS_FOREVER)) f->now[f->n_now++] = e;
    }
}

/* A repeated step recovers from nothing: its events were paid for the first time. */
const struct hw_event *hw_faults_new(const struct hw_faults *f, int i)
{
    for (int k = 0; k < f->n_now && f->first_time; k++)
        if (f->now[k]->first_step == f->step && !i--) return f->now[k];
    return NULL;
}

int64_t hw_faults_next(const struct hw_faults *f)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < f->n; i++) {
        const struct hw_event *e = &f->event[i];
        const int64_t at = e->first_step > f->step ? e->first_step : e->end_step;
        if (at > f->step && at < next) next = at;
    }
    return next;
}

/* The faults of a kind in force at one place, combined in the order of the events, so that every
 * rank gets the same bits. */
static double combined(const struct hw *hw, enum hw_fault_kind kind, enum hw_place place, int which)
{
    const struct hw_faults *f = hw->faults;
    double all = effect[kind].none;
    for (int i = 0; f && i < f->n_now; i++) {
        const struct hw_event *e = f->now[i];
        if (e->fault->kind == kind && e->fault->place == place && e->place == which)
            all = effect[kind].join(all, e->fault->amount);
    }
    return all;
}

double hw_straggler(const struct hw *hw, int wafer)
{
    return combined(hw, HW_FAULT_STRAGGLER, HW_PLACE_WAFER, wafer);
}

double hw_jitter(const struct hw *hw, int wafer)
{
    if (!hw->cluster->effects.jitter) return 0;
    const double more = combined(hw, HW_FAULT_JITTER, HW_PLACE_WAFER, wafer);
    return more > 0 ? add_squares(hw->cluster->jitter, more) : hw->cluster->jitter;
}

double hw_input_slowness(const struct hw *hw, int wafer)
{
    return combined(hw, HW_FAULT_SLOW_INPUT, HW_PLACE_WAFER, wafer);
}

double hw_link_slowness(const struct hw *hw, enum hw_place place, int which)
{
    return combined(hw, HW_FAULT_SLOW_LINK, place, which);
}

double hw_link_loss(const struct hw *hw, enum hw_place place, int which)
{
    return combined(hw, HW_FAULT_LOSSY_LINK, place, which);
}

int64_t hw_lost_planes(const struct hw *hw, int node)
{
    return (int64_t)combined(hw, HW_FAULT_LOST_PLANES, HW_PLACE_NODE, node);
}

bool hw_is_lost(const struct hw *hw, enum hw_place place, int which)
{
    const enum hw_fault_kind kind =
        place == HW_PLACE_WAFER ? HW_FAULT_LOST_WAFER : HW_FAULT_LOST_NODE;
    return combined(hw, kind, place, which) > 0;
}

int64_t hw_recovery_ps(const struct hw *hw, int64_t shard_bytes)
{
    const struct hw_event *event;
    int64_t longest = 0;
    for (int i = 0; hw->faults && (event = hw_faults_new(hw->faults, i)); i++) {
        const struct effect *e = &effect[event->fault->kind];
        const int64_t ps = e->recover ? e->recover(hw->cluster, shard_bytes) : 0;
        if (ps > longest) longest = ps;
    }
    return longest;
}
