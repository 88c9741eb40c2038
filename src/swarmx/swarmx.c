// SPDX-License-Identifier: Apache-2.0
/* Life of a SwarmX node, and the fibers of its two programs (swarmx_step.c).  A node outlives the
 * trees that are formed after losses: its index and links are those of the run in progress. */
#include <wsc/swarmx.h>

#include "swarmx_state.h"
#include "swarmx_step.h"

#include <wsc/mem.h>

#include <stdio.h>

enum wsc_err swarmx_create(struct swarmx **out, struct stream_net *net, int position)
{
    TRY_NEW(*out, WSC_MEM_SWARMX, 1);
    **out = (struct swarmx){.net = net, .position = position};
    return WSC_OK;
}

void swarmx_destroy(struct swarmx **swarmx)
{
    if (*swarmx) stream_sums_clear(&(*swarmx)->sums);
    wsc_free(*swarmx);
    *swarmx = NULL;
}

enum wsc_err swarmx_spawn(struct swarmx *swarmx, int index, const struct stream_pass *pass)
{
    struct stream_net *net = swarmx->net;
    const int role = stream_role_of_node(net->topology, index);
    char name[48];
    swarmx->index = index;
    swarmx->node = &net->topology->node[index];
    swarmx->ports = &net->ports[role];
    swarmx->pass = pass;
    (void)snprintf(name, sizeof name, "SwarmX node %d (down)", swarmx->position);
    TRY(comm_spawn(net->comm, role, swarmx_run_down, swarmx, 0, name));
    (void)snprintf(name, sizeof name, "SwarmX node %d (up)", swarmx->position);
    return comm_spawn(net->comm, role, swarmx_run_up, swarmx, 0, name);
}
