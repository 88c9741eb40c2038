// SPDX-License-Identifier: Apache-2.0
#include <wsc/stream.h>

#include <wsc/check.h>
#include <wsc/mem.h>

/* Payloads of gradients that may wait at one link; weights are bounded by credits. */
enum { GRADS_WAITING = 1 };

/* Three links between a parent and a child, with the rate and latency of the cable. */
static enum wsc_err join(struct stream_net *net, int parent, int child,
                         const struct comm_link_spec *cable)
{
    struct stream_side *down = &net->ports[parent].down, *up = &net->ports[child].up;
    struct comm_link *weights, *credit, *data;
    struct comm_link_spec spec = *cable;
    const bool reduce = net->hw->cluster->effects.reduce;
    spec.name = "weights";
    TRY(comm_link_open(net->comm, &weights, parent, child, &spec));
    spec.name = "credit";
    TRY(comm_link_open(net->comm, &credit, child, parent, &spec));
    spec.name = "gradients";
    spec.max_waiting = GRADS_WAITING;
    if (!reduce) spec.rate_bytes_per_s = spec.latency_ps = 0;
    TRY(comm_link_open(net->comm, &data, child, parent, &spec));
    down->weights[down->n] = up->weights[up->n] = weights;
    down->credit[down->n] = up->credit[up->n] = credit;
    down->data[down->n] = up->data[up->n] = data;
    down->n++;
    up->n++;
    return WSC_OK;
}

static enum wsc_err join_shards(struct stream_net *net)
{
    const struct stream_topology *t = net->topology;
    const struct conf_memoryx *mx = &net->hw->cluster->memoryx;
    int top = t->n_nodes ? stream_role_of_node(t, 0) : stream_role_of_wafer(t, 0);
    const struct comm_link_spec cable = {stream_rate_below(net->hw, t, -1, 0), mx->link_latency_ps,
                                         0, NULL};
    for (int m = 0; m < t->n_shards; m++)
        TRY(join(net, stream_role_of_shard(t, m), top, &cable));
    return WSC_OK;
}

static enum wsc_err join_children(struct stream_net *net, int i)
{
    const struct conf_swarmx *sx = &net->hw->cluster->swarmx;
    const struct stream_topology *t = net->topology;
    const struct stream_node *node = &t->node[i];
    for (int c = node->first_child; c < node->first_child + node->n_children; c++) {
        int child = node->leaf ? stream_role_of_wafer(t, c) : stream_role_of_node(t, c);
        const struct comm_link_spec cable = {stream_rate_below(net->hw, t, i, c),
                                             sx->link_latency_ps, 0, NULL};
        TRY(join(net, stream_role_of_node(t, i), child, &cable));
    }
    return WSC_OK;
}

static enum wsc_err join_tree(struct stream_net *net)
{
    const struct stream_topology *t = net->topology;
    for (int i = 0; i < t->n_nodes; i++)
        TRY(join_children(net, i));
    return WSC_OK;
}

static enum wsc_err join_peers(struct stream_net *net)
{
    const struct stream_topology *t = net->topology;
    const struct conf_memoryx *mx = &net->hw->cluster->memoryx;
    const struct comm_link_spec cable = {mx->link_rate_bytes_per_s, mx->link_latency_ps, 0,
                                         "norms"};
    const struct comm_link_spec inside = {mx->link_rate_bytes_per_s, 0, 0, "updated weights"};
    for (int m = 0; m < t->n_shards; m++)
        TRY(comm_link_open(net->comm, &net->ports[m].ready, m, m, &inside));
    for (int m = 1; m < t->n_shards; m++) {
        struct comm_link *to_first, *from_first;
        struct stream_ports *first = &net->ports[0], *other = &net->ports[m];
        TRY(comm_link_open(net->comm, &to_first, m, 0, &cable));
        TRY(comm_link_open(net->comm, &from_first, 0, m, &cable));
        first->peer_in[first->n_peers] = other->peer_out[0] = to_first;
        first->peer_out[first->n_peers++] = other->peer_in[0] = from_first;
        other->n_peers = 1;
    }
    return WSC_OK;
}

enum wsc_err stream_net_create(struct stream_net **out, struct comm *comm, const struct hw *hw,
                               const struct model *model, struct stream_topology *take_topology)
{
    struct stream_net *net = wsc_alloc(WSC_MEM_STREAM, 1, sizeof *net);
    *out = net;
    if (!net) {
        stream_topology_destroy(&take_topology);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "create net");
    }
    *net = (struct stream_net){comm, hw, model, take_topology, NULL};
    int *rank_of_role;
    TRY_NEW(net->ports, WSC_MEM_STREAM, take_topology->n_roles);
    TRY_NEW(rank_of_role, WSC_MEM_STREAM, take_topology->n_roles);
    enum wsc_err rc =
        stream_place(take_topology, comm_size(comm), comm_host_of_rank(comm), rank_of_role);
    if (!rc) rc = comm_place(comm, take_topology->n_roles, rank_of_role);
    wsc_free(rank_of_role);
    TRY(rc);
    comm_set_chunks(comm, hw->cluster->stream.chunk_bytes, hw->cluster->stream.chunks_in_flight);
    TRY(join_shards(net));
    TRY(join_tree(net));
    return join_peers(net);
}

void stream_net_destroy(struct stream_net **net)
{
    if (!*net) return;
    stream_topology_destroy(&(*net)->topology);
    wsc_free((*net)->ports);
    wsc_free(*net);
    *net = NULL;
}

void stream_net_bytes(const struct stream_net *net, int64_t *down, int64_t *up)
{
    *down = *up = 0;
    for (int r = 0; r < net->topology->n_roles; r++) {
        const struct stream_ports *p = &net->ports[r];
        if (!comm_is_local(net->comm, r)) continue;
        for (int i = 0; i < p->down.n; i++)
            *down += comm_link_time(p->down.weights[i])->bytes;
        for (int i = 0; i < p->up.n; i++)
            *up += comm_link_time(p->up.data[i])->bytes;
    }
}
