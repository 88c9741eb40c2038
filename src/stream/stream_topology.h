/** Rate and loss of the links of a topology.
 *  stream_net.c opens the links with them.
 */
#ifndef WSC_STREAM_TOPOLOGY_H
#define WSC_STREAM_TOPOLOGY_H
#include <wsc/stream.h>

/* Rate and loss of a link between two roles, faults included. */
struct stream_link {
    int64_t rate_bytes_per_s;
    double loss; /* probability for a packet */
};
/* The link from node @p parent (-1: a shard) to its child @p child: a node, or a wafer of a leaf
 * switch. The child of a shard is the root, or the only wafer. If a node has more children than its
 * fan-out, they share the rate of as many links as the fan-out. */
struct stream_link stream_link_below(const struct hw *hw, const struct stream_topology *t,
                                     int parent, int child);
#endif
