/** The state of a SwarmX node, which the files of swarmx share: its links, its children and the run
 *  in progress. */
#ifndef WSC_SWARMX_STATE_H
#define WSC_SWARMX_STATE_H
#include <wsc/swarmx.h>

struct swarmx {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    const struct stream_node *node;   /* borrowed */
    int position;                     /* index among all nodes of the machine */
    int index;                        /* index in the tree of the current run */
    const struct stream_pass *pass;   /* borrowed: the current run */
    struct stream_sums sums;          /* sums of the current stage; empty between stages */
};
#endif
