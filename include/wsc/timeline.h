/** Timeline: one step of the emulated cluster taken apart.  Layer 7.
 *
 *  The cluster's virtual time is a graph: every event happens when the last of the events that it
 *  waits for has happened, plus the time that it takes.  This module walks the plan of a step once
 *  more, in the order of the plan, and keeps that graph: who waited for whom, who carried what,
 *  when.  From it come the critical path, the load of the links, a trace for a viewer and a
 *  schedule for another simulator.  Costs come from the same functions as in a run, and the end of
 *  every step is compared with a run of the roles, to the picosecond: a difference is a bug and
 *  ends the program.  Start reading at timeline_create.
 */
#ifndef WSC_TIMELINE_H
#define WSC_TIMELINE_H
#include <wsc/err.h>
#include <wsc/hw.h>

#include <wsc/out.h>
#include <wsc/vtime.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- one step, taken apart ------------------------------------------------------------------- */

/** A stretch of the critical path. */
struct timeline_segment {
    const char *part; /**< what takes the time; static */
    char who[48];     /**< whose event: "wafer 3" */
    char what[64];    /**< about what: "layers.3 backward" */
    int64_t begin_ps, end_ps;
};
/** One direction of a link in a step. */
struct timeline_link {
    char from[48], to[48];
    int64_t rate_bytes_per_s; /**< 0: no limit */
    int64_t bytes, busy_ps, n_messages;
};
/** Time of a module of the model in a step. */
struct timeline_module {
    char name[96];
    int64_t ps;
};
/** All of them, of one step of @p num_csx systems. */
struct timeline_step {
    const char *model;
    int64_t num_csx, step_time_ps, n_events;
    const struct timeline_segment *path;
    int n_path;
    const struct timeline_link *link;
    int n_links;
    const struct timeline_module *module;
    int n_modules;
};

struct timeline;

/** What to take apart; all borrowed until timeline_create() returns. */
struct timeline_job {
    const struct zoo_params *params;
    const struct hw_machine *cluster;
    int64_t num_csx, global_batch;
    int64_t first_step; /**< finished steps before the first one that is looked at */
    int64_t n_steps;    /**< to look at, 1 or more; path, links, profile and schedule are of the
                             last one */
    bool trace;         /**< collect slices for timeline_trace() */
    bool schedule;      /**< keep what timeline_goal() writes */
};
/** Walk the steps.  Virtual time starts at 0 two steps before the first one, or with step 0.
 *  Errors: those of a run; WSC_CAPACITY when a step has more events than are kept. */
enum wsc_err timeline_create(struct timeline **out, const struct timeline_job *job) WSC_CHECKED;
void timeline_destroy(struct timeline **t);

/** The step's time and parts, by the run of the roles. */
void timeline_step(const struct timeline *t, int64_t *step_time_ps,
                   struct vtime_breakdown *breakdown);
/** Events of the step, for tables. */
int64_t timeline_n_events(const struct timeline *t);

/** The critical path of the step: from the end of the last wafer back through what each event
 *  waited for, to the start of the step.  Stretches in time order, without a gap: they add up to
 *  the step.  *@p path is owned by the caller. */
enum wsc_err timeline_path(const struct timeline *t, struct timeline_segment **path,
                           int *n) WSC_CHECKED;
/** Bytes and busy time of every link in the step, parents first; owned by the caller. */
enum wsc_err timeline_links(const struct timeline *t, struct timeline_link **links,
                            int *n) WSC_CHECKED;
/** Time of the slowest wafer by module of the model, with rows for what it waited for; adds up to
 *  the step; longest first; owned by the caller. */
enum wsc_err timeline_profile(const struct timeline *t, struct timeline_module **rows,
                              int *n) WSC_CHECKED;
/** Write chrome_trace.json of the steps: all roles when they have at most @p max_events events,
 *  else the slowest wafer with its way to the root, and as many others as there is room for. */
enum wsc_err timeline_trace(const struct timeline *t, const char *path,
                            int64_t max_events) WSC_CHECKED;
/** Write the step as a GOAL schedule (Hoefler, Siebert, Lumsdaine 2009; text form of LogGOPSim):
 *  a rank for each role, a `calc` for everything that takes time, 1 for 1 ps, and messages that
 *  take none (L = o = g = G = O = 0).  The schedule ends with the step; what the step does not
 *  wait for, such as its update, is left out.  The head of the file says when the step begins: the
 *  end less that is its time. */
enum wsc_err timeline_goal(const struct timeline *t, const char *path) WSC_CHECKED;
#endif
