/** Timeline: recorded steps of the emulated cluster taken apart.
 *
 *  The cluster's virtual time is a graph: every event happens when the last of the events that it
 *  waits for has happened, plus the time that passes after it.  The roles record that graph while
 *  they run, see <wsc/vtime.h>; this module reads the record: the critical path, the load of the
 *  links, the profile of the slowest wafer, a trace for a viewer and a schedule for another
 *  simulator.  It works for every kind of pass, with faults and losses, folded or distributed, and
 *  gives the same files whoever ran which role.
 *
 *      struct timeline_want want = {.first_step = 2, .n_steps = 1, .trace = true};
 *      TRY(timeline_create(&t, params, machine, &want));
 *      TRY(timeline_measure(t, params, machine));
 *      TRY(timeline_path(t, &path, &n));
 *      TRY(timeline_trace(t, "chrome_trace.json", 1000000));
 *      wsc_free(path);
 *      timeline_destroy(&t);
 *
 *  Instead of timeline_measure() a run hands its records to timeline_add().  Not collective: rank 0
 *  has the records.  Start reading at timeline_add(). */
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
    const char *part; /**< what takes the time; static */
    char who[48];     /**< whose event: "wafer 3" */
    char what[64];    /**< about what: "layers.3 backward" */
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
    /** Name as the Model Zoo's profiler has it, or what was waited for. */
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

/** Steps of a recorded run; on rank 0.  Memory is bounded: of earlier steps only what the next one
 *  can reach is kept. */
struct timeline;

/** What is wanted of the steps that are added. */
struct timeline_want {
    int64_t first_step; /**< finished steps before the first one that is shown; those before it are
                             only what its critical path may reach back to */
    int64_t n_steps;    /**< to show, 1 or more; path, links, profile and schedule are of the last
                             one that was added */
    bool trace;         /**< keep the bars for timeline_trace() */
    bool schedule;      /**< keep what timeline_goal() writes */
};
/** Make an empty timeline of @p machine with a model of @p params, whose runconfig.num_csx systems
 *  it has; both are only read during the call.  Errors as those of model_create(); *@p out is NULL
 *  then. */
enum wsc_err timeline_create(struct timeline **out, const struct zoo_params *params,
                             const struct hw_machine *machine,
                             const struct timeline_want *want) WSC_CHECKED;
/** Release; NULL inside allowed. */
void timeline_destroy(struct timeline **t);
/** Add the steps of @p record, which follow those that were added before.  A record that does not
 *  end when the roles say that the step ends is a bug and ends the program.  Errors: WSC_CAPACITY
 *  when a step has more events than are kept. */
enum wsc_err timeline_add(struct timeline *t, const struct cluster_record *record) WSC_CHECKED;
/** Record a training without values in this process alone and add the wanted steps: up to two steps
 *  before them, where virtual time starts at 0, then they.  Params and machine are those of
 *  timeline_create(). */
enum wsc_err timeline_measure(struct timeline *t, const struct zoo_params *params,
                              const struct hw_machine *machine) WSC_CHECKED;
/** Number of steps that were added and are shown, not counting those before first_step. */
int64_t timeline_n_shown(const struct timeline *t);

/** Time of the newest step, ps, and its parts, as the roles reported them. */
void timeline_step(const struct timeline *t, int64_t *step_time_ps,
                   struct vtime_breakdown *breakdown);
/** Number of recorded events of the newest step. */
int64_t timeline_n_events(const struct timeline *t);

/** The critical path of the step: from the end of the last wafer back through what each event
 *  waited for, to the start of the step.  Segments in time order, without a gap: they add up to
 *  the step.  What waits for something before the record, as the first step after a restart does,
 *  has it as a segment "before the record".  *@p path is owned by the caller. */
enum wsc_err timeline_path(const struct timeline *t, struct timeline_segment **path,
                           int *n) WSC_CHECKED;
/** Bytes and busy time of every link in the step, parents first; *@p links is owned by the caller.
 */
enum wsc_err timeline_links(const struct timeline *t, struct timeline_link **links,
                            int *n) WSC_CHECKED;
/** Time of the slowest wafer by module of the model, with rows for what it waited for; adds up to
 *  the step; longest first; owned by the caller.
 *  @param by_layer  a row for each layer, "...layers.18.self_attn.fwd"; false: one for the same
 *                   module of all layers, "...layers.*.self_attn.fwd" */
enum wsc_err timeline_profile(const struct timeline *t, bool by_layer,
                              struct timeline_module **rows, int *n) WSC_CHECKED;
/** Write chrome_trace.json of the steps to @p path, for chrome://tracing and Perfetto: all roles
 *  when they have at most @p max_events events, else the slowest wafer with its way to the root,
 *  and as many others as there is room for.  Needs want.trace. */
enum wsc_err timeline_trace(const struct timeline *t, const char *path,
                            int64_t max_events) WSC_CHECKED;
/** Write the step as a GOAL schedule (Hoefler, Siebert, Lumsdaine 2009; text form of LogGOPSim):
 *  a rank for each role, a `calc` for everything that takes time, 1 for 1 ps, and messages that
 *  take none (L = o = g = G = O = 0).  The schedule ends with the step; what the step does not
 *  wait for, such as its update, is left out.  The head of the file says when the step begins: the
 *  end less that is its time. */
enum wsc_err timeline_goal(const struct timeline *t, const char *path) WSC_CHECKED;
#endif
