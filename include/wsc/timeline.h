/** Timeline: analyses recorded steps of the emulated cluster.
 *
 *  The roles record the events of virtual time as a graph while they run, see <wsc/vtime.h>. From
 *  this record the module computes the critical path, the load of the links and the profile of the
 *  slowest wafer, and writes a trace for a viewer and a schedule for another simulator. It works
 *  for every kind of pass, with faults and losses, folded or distributed. Its files do not depend
 *  on the placement of roles.
 *
 *      struct timeline_want want = {.first_step = 2, .n_steps = 1, .trace = true};
 *      TRY(timeline_create(&t, params, machine, &want));
 *      TRY(timeline_measure(t, params, machine));
 *      TRY(timeline_path(t, &path, &n));
 *      TRY(timeline_trace(t, "chrome_trace.json", 1000000, &size));
 *      wsc_free(path);
 *      timeline_destroy(&t);
 *
 *  Instead of timeline_measure() a run hands its records to timeline_add(). Not collective: rank 0
 *  has the records. Start reading at timeline_add(). */
#ifndef WSC_TIMELINE_H
#define WSC_TIMELINE_H
#include <wsc/cluster.h>
#include <wsc/err.h>
#include <wsc/hw.h>

#include <wsc/out.h>
#include <wsc/vtime.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- one step, taken apart ------------------------------------------------------------------- */

/** A segment of the critical path; the next one begins where it ends. */
struct timeline_segment {
    const char *part; /**< cause of the time; static */
    char who[48];     /**< role of the event: "wafer 3" */
    char what[64];    /**< stage and pass: "layers.3 backward" */
    /** Virtual time, ps, from the start of the run. */
    int64_t begin_ps, end_ps;
};
/** One direction of a link in a step, with the names of its ends. */
struct timeline_link {
    char from[48], to[48];
    int64_t rate_bytes_per_s; /**< 0: no limit */
    /** Bytes that it carried, time in which a message occupied its sending end, and messages. */
    int64_t bytes, busy_ps, n_messages;
};
/** Time of a module of the model on the slowest wafer in a step. */
struct timeline_module {
    /** Name as in the Model Zoo's profiler, or name of a wait. */
    char name[96];
    int64_t ps;
};
/** Critical path, links and modules of one step of @c num_csx systems, for reports; all borrowed.
 */
struct timeline_step {
    const char *model;
    int64_t num_csx, step_time_ps, n_events;
    const struct timeline_segment *path;
    int n_path;
    const struct timeline_link *link;
    int n_links;
    const struct timeline_module *module; /**< a row for a module of all layers together */
    int n_modules;
    const struct timeline_module *layer; /**< a row for each layer */
    int n_layers;
};

/** Steps of a recorded run; on rank 0. Memory is bounded, because only those events of earlier
 *  steps are kept that the next step can reach. */
struct timeline;

/** Selects the steps and results of a timeline. */
struct timeline_want {
    /** Finished steps before the first analysed one; earlier steps are kept only for its critical
     *  path. */
    int64_t first_step;
    /** Steps to analyse, at least 1; path, links, profile and schedule are those of the last added
     *  one. */
    int64_t n_steps;
    bool trace;    /**< keep the bars for timeline_trace() */
    bool schedule; /**< keep the data of timeline_goal() */
};
/** Make an empty timeline of @p machine with a model of @p params, whose runconfig.num_csx systems
 *  it has; both are only read during the call.  Errors as those of model_create(); *@p out is NULL
 *  then. */
enum wsc_err timeline_create(struct timeline **out, const struct zoo_params *params,
                             const struct hw_machine *machine,
                             const struct timeline_want *want) WSC_CHECKED;
/** Release; NULL inside allowed. */
void timeline_destroy(struct timeline **t);
/** Add the steps of @p record, which follow the steps added before. The end of the record must
 *  equal the end of the step that the roles report; otherwise a WSC_CHECK fails. WSC_CAPACITY when
 *  a step has more events than the limit. */
enum wsc_err timeline_add(struct timeline *t, const struct cluster_record *record) WSC_CHECKED;
/** Record a training without values in this process and add its steps: up to two steps before the
 *  selected ones, where virtual time starts at 0, then the selected ones. Params and machine are
 *  those of timeline_create(). Not collective. */
enum wsc_err timeline_measure(struct timeline *t, const struct zoo_params *params,
                              const struct hw_machine *machine) WSC_CHECKED;
/** Number of added steps that are analysed, without those before first_step. */
int64_t timeline_n_shown(const struct timeline *t);

/** Time of the newest step, ps, and its parts, as the roles reported them. */
void timeline_step(const struct timeline *t, int64_t *step_time_ps,
                   struct vtime_breakdown *breakdown);
/** Number of recorded events of the newest step. */
int64_t timeline_n_events(const struct timeline *t);

/** Compute the critical path of the step: the chain of events from the start of the step to the end
 *  of the last wafer, in which each event determines the time of the next one. Segments are in time
 *  order without a gap, so they add up to the step. A wait for an event before the record, as in
 *  the first step after a restart, is a segment "before the record". *@p path is owned by the
 *  caller. */
enum wsc_err timeline_path(const struct timeline *t, struct timeline_segment **path,
                           int *n) WSC_CHECKED;
/** Bytes and busy time of every link in the step, parents first; *@p links is owned by the caller.
 */
enum wsc_err timeline_links(const struct timeline *t, struct timeline_link **links,
                            int *n) WSC_CHECKED;
/** Time of the slowest wafer by module of the model, with rows for its waits, longest first; the
 *  rows add up to the step. Owned by the caller. @param by_layer a row for each layer,
 *  "...layers.18.self_attn.fwd"; false: one for the same
 *                   module of all layers, "...layers.*.self_attn.fwd" */
enum wsc_err timeline_profile(const struct timeline *t, bool by_layer,
                              struct timeline_module **rows, int *n) WSC_CHECKED;
/** Bars of a trace. */
struct timeline_trace_size {
    int64_t n_bars;  /**< of the roles that the trace shows, in its steps */
    int64_t n_drawn; /**< in the file: the first of them */
};

/** Write chrome_trace.json of the steps to @p path, for chrome://tracing and Perfetto: all roles
 *  when they have at most @p max_events events, otherwise the slowest wafer, its path to the root,
 *  and as many other roles as fit. When these alone have more events, the file has the first of
 *  their bars, and *@p size says so. Names of rows do not count. Requires want.trace. */
enum wsc_err timeline_trace(const struct timeline *t, const char *path, int64_t max_events,
                            struct timeline_trace_size *size) WSC_CHECKED;
/** Write the step as a GOAL schedule (Hoefler, Siebert, Lumsdaine 2009; text form of LogGOPSim): a
 *  rank for each role, a `calc` for each duration, 1 for 1 ps, and messages that take no time (L =
 *  o = g = G = O = 0). The schedule ends with the step; work for which the step does not wait, such
 *  as its update, is left out. The head of the file has the time at which the step begins; the time
 *  of the step is the end of the schedule minus this time. */
enum wsc_err timeline_goal(const struct timeline *t, const char *path) WSC_CHECKED;
#endif
