/** The graph of a recorded step: events of all programs, each with the one that it waited for
 *  longest, and, where asked for, all edges. */
#ifndef WSC_TIMELINE_GRAPH_H
#define WSC_TIMELINE_GRAPH_H
#include <wsc/err.h>
#include <wsc/vtime.h>

/** An edge into an event: wait for event number @c from, then let @c delay_ps pass. */
struct timeline_edge {
    int32_t from;
    int32_t part; /* enum vtime_part */
    int64_t delay_ps;
};
struct timeline_event {
    int64_t id; /* in the record; 0: before it */
    int64_t ps;
    int32_t cause;    /* the event that it waited for longest; -1: before the record */
    int32_t part;     /* enum vtime_part, of the time in between */
    int32_t role;     /* whose event it is */
    int32_t transfer; /* of the step's plan; VTIME_NO_TRANSFER: none */
};
struct timeline_graph {
    struct timeline_event *event; /* owned */
    int32_t n;
    int32_t first_new; /* events before it are of earlier steps */
    bool keep_edges;
    struct timeline_edge *edge; /* owned; of events from first_new on, one after the other */
    int64_t n_edges;
    int64_t *edge_end; /* owned; of event first_new + i */
};
/** Forget what the step that begins at @p ps cannot reach: keep the events after it and the one
 *  that each of them waited for longest. */
enum wsc_err timeline_graph_cut(struct timeline_graph *g, int64_t ps) WSC_CHECKED;
/** Add the events of one step: those of @p program (@p n_programs).  Events of earlier steps that
 *  they wait for and that the graph does not have become events without a cause. */
enum wsc_err timeline_graph_add(struct timeline_graph *g, const struct vtime_recorder *program,
                                int n_programs) WSC_CHECKED;
/** Number of event @p id among those that were added last; -1: it is not there. */
int32_t timeline_graph_find(const struct timeline_graph *g, int64_t id);
/** First edge of event @p event >= first_new; its last is before edge_end. */
static inline int64_t timeline_graph_first_edge(const struct timeline_graph *g, int32_t event)
{
    return event == g->first_new ? 0 : g->edge_end[event - g->first_new - 1];
}
void timeline_graph_fini(struct timeline_graph *g);
#endif
