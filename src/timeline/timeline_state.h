/** The state of a timeline, which the files of timeline share: the recorded steps that were added
 * so far, and the graph of their events (timeline_graph.h). */
#ifndef WSC_TIMELINE_STATE_H
#define WSC_TIMELINE_STATE_H
#include "timeline_graph.h"

#include <wsc/cluster.h>
#include <wsc/timeline.h>

/* A bar on the row of a role in a viewer. */
enum timeline_bar_kind { TIMELINE_DOWN, TIMELINE_STAGE, TIMELINE_UP, TIMELINE_UPDATE };
struct timeline_bar {
    int64_t step;
    int32_t role, transfer; /* transfer VTIME_NO_TRANSFER: end of the step */
    int32_t kind;
    int32_t order; /* order of recording among bars of a step with equal role, transfer and kind */
    /* role at the other end of a link that has a row of its own; -1: the row of the sender's first
     * link, which stands for all links that carry the transfer at the same time */
    int32_t link;
    int64_t begin_ps, end_ps, bytes;
};
/* The link of a parent and a child, with the load of both directions in the newest step. */
struct timeline_joint {
    int32_t parent, child;        /* roles */
    struct timeline_link load[2]; /* down, up */
};
/* The links of the steps whose bars begin at first_bar, until those of the next tree. */
struct timeline_branch {
    int32_t parent, child; /* roles */
};
struct timeline_tree {
    int64_t first_bar;
    int n_branches;
    struct timeline_branch *branch; /* owned; by child, then by parent */
};
struct timeline {
    struct timeline_want want;
    struct model *model;             /* owned */
    struct model *by_part;           /* owned: the model with a stage for each part of a block */
    struct stream_topology *machine; /* owned: names of roles */
    char name[64];                   /* name of the machine */
    struct timeline_graph graph;     /* of the newest step */

    int64_t step; /* the newest step: number of finished steps before it */
    enum stream_mode mode;
    int64_t n_micro;
    int n_wafers, n_nodes;      /* wafers and nodes that were left in this step */
    struct memoryx_batch batch; /* results of the step, reported by shard 0 */
    int64_t start_ps;
    int32_t end; /* last event of the step */
    int slowest; /* role of the wafer that ended last */
    /* owned (n_wafer_ends): the event at which each wafer ended its last stage */
    int32_t *wafer_end;
    int n_wafer_ends;
    int n_joints;
    struct timeline_joint *joint; /* owned */
    struct timeline_bar *bar;     /* owned: of all steps, in the order of their plans */
    int64_t n_bars, bars_size;
    struct timeline_tree *tree; /* owned: of the steps with bars, one for each change */
    int n_trees, trees_size;
    struct timeline_module *module; /* owned: profile by layer */
    int n_modules;
};

/* Transfers of a micro-batch in the newest step. */
static inline int timeline_n_transfers(const struct timeline *t)
{
    return model_n_transfers(t->model, t->mode == STREAM_TRAIN);
}
/* "layers.3 backward, micro-batch 2" */
void timeline_transfer_name(const struct timeline *t, int32_t transfer, char *text, int size);

/* timeline_bars.c: loads of links, then bars, from the events of one step */
enum wsc_err timeline_joints_find(struct timeline *t, const struct vtime_recorder *program,
                                  int n_programs) WSC_CHECKED;
enum wsc_err timeline_bars_add(struct timeline *t, const struct vtime_recorder *program,
                               int n_programs) WSC_CHECKED;
void timeline_bars_fini(struct timeline *t);

/* timeline_profile.c: the profile of the slowest wafer, whose events are @p wafer */
enum wsc_err timeline_profile_find(struct timeline *t, const struct cluster_record *record,
                                   const struct vtime_recorder *wafer) WSC_CHECKED;
#endif
