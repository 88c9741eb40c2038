/** SwarmX: one node of the broadcast and reduce tree.
 *
 *  Two sequential programs that share no data: weights go down, sums come up (docs/decisions/0001).
 *  The node forwards weights cut-through to all its children, and adds what its children send along
 *  the canonical tree, two siblings as soon as both have arrived; it keeps nothing between steps.
 *  Its virtual times: first byte out after the node's latency, sums at the rate of the links.  The
 *  step as one page is src/swarmx/swarmx_step.c; the messages are those of <wsc/stream.h>.
 *
 *  Life: swarmx_create() once for each local node, swarmx_spawn() before each pass, comm_run(),
 *  swarmx_destroy().  cluster_run_pass() does all of it. */
#ifndef WSC_SWARMX_H
#define WSC_SWARMX_H
#include <wsc/err.h>
#include <wsc/stream.h>

/** One SwarmX node of this rank; its fields are private to src/swarmx. */
struct swarmx;
/** Make the node at @p position, 0 .. n_machine_nodes - 1, in the machine; @p net is borrowed for
 *  the node's life.  WSC_NOMEM; NULL in *@p out after an error.  Not collective: called on the rank
 *  of the node's role. */
enum wsc_err swarmx_create(struct swarmx **out, struct stream_net *net, int position) WSC_CHECKED;
/** Release *@p swarmx and null it; NULL inside allowed.  Not during a pass. */
void swarmx_destroy(struct swarmx **swarmx);
/** Make the node's two programs for @p pass (borrowed until comm_run() returns) ready to run; @p
 *  index: its number in net->topology->node, which differs from its position after losses.
 *  WSC_NOMEM. */
enum wsc_err swarmx_spawn(struct swarmx *swarmx, int index,
                          const struct stream_pass *pass) WSC_CHECKED;
#endif
