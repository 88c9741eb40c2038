/** SwarmX: one node of the broadcast and reduce tree.  Layer 5.
 *
 *  Two sequential programs that share no data: weights go down, sums come up.  The node adds what
 *  its children send along the canonical tree and keeps nothing between steps.
 */
#ifndef WSC_SWARMX_H
#define WSC_SWARMX_H
#include <wsc/err.h>
#include <wsc/stream.h>

struct swarmx;
/** The node at @p position in the machine; @p net is borrowed.  NULL in *@p out after an error. */
enum wsc_err swarmx_create(struct swarmx **out, struct stream_net *net, int position) WSC_CHECKED;
/** Release *@p swarmx and null it; NULL allowed. */
void swarmx_destroy(struct swarmx **swarmx);
/** Make the node's programs for @p pass (borrowed until comm_run returns) ready to run; @p index:
 *  its number in net->topology->node. */
enum wsc_err swarmx_spawn(struct swarmx *swarmx, int index,
                          const struct stream_pass *pass) WSC_CHECKED;
#endif
