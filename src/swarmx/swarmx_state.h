/** The state of a SwarmX node, which the files of swarmx share.
 *  Its links, its children and the run in progress; no functions.
 */
#ifndef WSC_SWARMX_STATE_H
#define WSC_SWARMX_STATE_H
#include <wsc/swarmx.h>

struct swarmx {
    struct stream_net *net;           /* borrowed */
    const struct stream_ports *ports; /* borrowed */
    const struct stream_node *node;   /* borrowed */
    int position;                     /* which one of the machine */
    int index;                        /* in the tree of the run in progress */
    const struct stream_pass *pass;   /* borrowed, of the run in progress */
    struct stream_sums sums;          /* of the stage at hand, empty between stages */
};
#endif
