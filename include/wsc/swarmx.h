/** SwarmX: one node of the broadcast and reduce tree.
 *
 *  A node forwards weights to all its children cut-through, and adds the gradients of its children
 *  along the canonical tree: two siblings are added as soon as both have arrived. It runs two
 *  sequential programs that share no data, one for weights and one for sums (docs/decisions/0001).
 *  It keeps nothing between steps. In virtual time the first byte leaves after the node's latency,
 *  and sums are formed at the rate of the links. src/swarmx/swarmx_step.c shows one step;
 *  <wsc/stream.h> declares the messages.
 *
 *  Order of calls: swarmx_create() once for each local node; swarmx_spawn() and comm_run() for each
 *  pass; swarmx_destroy(). The module cluster makes all of them. */
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
