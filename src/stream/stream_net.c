// SPDX-License-Identifier: Apache-2.0
/* The links of a machine. A parent and a child have three: for weights, for credits and for
 * messages to the parent. Shard 0 and every other shard have a pair. Inside a shard, one leads from
 * the receiving program to the sending one. Every rank opens the links in the same order
 * (comm_link_open). cluster creates the net, and forms it again after a fault. */
#include "stream_ledger.h"
#include "stream_parts.h"
#include "stream_topology.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

/* Payloads of gradients that may wait at one link; credits bound those of weights. */
enum { GRADS_WAITING = 1 };

/* ---- what joins two roles -------------------------------------------------------------------- */

/* An edge: three links between a parent and a child. */
struct edge {
    int parent, child; /* roles */
    int n_down, n_up;  /* number of the edge among those of the parent, and of the child */
    int64_t latency_ps;
    struct stream_link link;
};
enum link_of_edge { WEIGHTS, CREDIT, DATA, N_LINKS };

/* Rate of the edge to the parent: gradients of all planes arrive at a port of MemoryX at the same
 * time, which may slow it (incast). */
static int64_t rate_of(const struct stream_net *net, const struct edge *j, enum link_of_edge link)
{
    const double incast = net->hw->cluster->memoryx.incast;
    const bool crowded = link == DATA && j->parent < net->topology->n_shards &&
                         net->hw->cluster->swarmx.planes > 1 && incast > 0 && incast < 1;
    const int64_t rate = j->link.rate_bytes_per_s;
    const int64_t left = (int64_t)((double)rate * incast);
    if (!crowded) return rate;
    return left > 0 ? left : 1;
}

/* True when messages are forwarded or used as they arrive: by SwarmX nodes and wafers. Shards add
 * complete gradients. */
static bool is_early(const struct stream_net *net, const struct edge *j, enum link_of_edge link)
{
    return link == WEIGHTS || (link == DATA && j->parent >= net->topology->n_shards);
}

/* Rate and latency of the edge; with latency in the direction of the root only where the reduction
 * takes time. */
static struct comm_link_spec spec_of(const struct stream_net *net, const struct edge *j,
                                     enum link_of_edge link)
{
    static const char *const name[N_LINKS] = {"weights", "credit", "gradients"};
    const struct hw_retransmit *r = &net->hw->cluster->retransmit;
    const uint64_t which = ((uint64_t)j->child << 8 | (uint64_t)j->n_up) * N_LINKS + link;
    if (link == DATA && !net->hw->cluster->effects.reduce)
        return (struct comm_link_spec){.part = VTIME_GRADIENTS,
                                       .max_waiting = GRADS_WAITING,
                                       .early = is_early(net, j, link),
                                       .name = name[link]};
    return (struct comm_link_spec){.part = link == DATA ? VTIME_GRADIENTS : VTIME_WEIGHTS,
                                   .rate_bytes_per_s = rate_of(net, j, link),
                                   .latency_ps = j->latency_ps,
                                   .max_waiting = link == DATA ? GRADS_WAITING : 0,
                                   .name = name[link],
                                   .keeps = link == WEIGHTS,
                                   .early = is_early(net, j, link),
                                   .loss = {j->link.loss, r->packet_bytes, r->timeout_ps, net->seed,
                                            wsc_rng_stream(WSC_RNG_LOSS, which)}};
}

/* The counter of an edge is kept when the tree is formed again. It belongs to the child; the top of
 * the tree has one for each shard. */
static struct stream_carried *carried_by(struct stream_net *net, const struct edge *j)
{
    const int n_shards = net->topology->n_shards;
    struct stream_carried *c =
        &net->carried[j->parent < n_shards ? j->parent : n_shards + j->child];
    c->parent = j->parent;
    c->child = j->child;
    c->between_ranks = comm_is_local(net->comm, j->parent) != comm_is_local(net->comm, j->child);
    return c;
}

static enum wsc_err open_edge(struct stream_net *net, const struct edge *j)
{
    struct stream_side *down = &net->ports[j->parent].down, *up = &net->ports[j->child].up;
    struct comm_link *link[N_LINKS];
    for (int i = 0; i < N_LINKS; i++) {
        const struct comm_link_spec spec = spec_of(net, j, (enum link_of_edge)i);
        const bool downwards = i == WEIGHTS;
        TRY(comm_link_open(net->comm, &link[i], downwards ? j->parent : j->child,
                           downwards ? j->child : j->parent, &spec));
    }
    down->weights[j->n_down] = up->weights[j->n_up] = link[WEIGHTS];
    down->credit[j->n_down] = up->credit[j->n_up] = link[CREDIT];
    down->data[j->n_down] = up->data[j->n_up] = link[DATA];
    down->carried[j->n_down] = up->carried[j->n_up] = carried_by(net, j);
    down->n = j->n_down + 1;
    up->n = j->n_up + 1;
    const bool has_parts = up->n > 1 && comm_is_local(net->comm, j->child);
    return has_parts ? stream_parts_create(&net->ports[j->child]) : WSC_OK;
}

static enum wsc_err tune_edge(struct stream_net *net, const struct edge *j)
{
    const struct stream_side *down = &net->ports[j->parent].down;
    struct comm_link *const link[N_LINKS] = {down->weights[j->n_down], down->credit[j->n_down],
                                             down->data[j->n_down]};
    for (int i = 0; i < N_LINKS; i++) {
        const struct comm_link_spec spec = spec_of(net, j, (enum link_of_edge)i);
        comm_link_change(link[i], &spec);
    }
    return WSC_OK;
}

typedef enum wsc_err (*edge_fn)(struct stream_net *net, const struct edge *j);

static enum wsc_err visit_children(struct stream_net *net, int i, edge_fn visit)
{
    const struct stream_topology *t = net->topology;
    const struct stream_node *node = &t->node[i];
    for (int k = 0; k < node->n_children; k++) {
        const int c = node->first_child + k;
        const struct edge j = {.parent = stream_role_of_node(t, i),
                               .child = node->leaf_switch ? stream_role_of_wafer(t, c)
                                                          : stream_role_of_node(t, c),
                               .n_down = k,
                               .latency_ps = net->hw->cluster->swarmx.link_latency_ps,
                               .link = stream_link_below(net->hw, t, i, c)};
        TRY(visit(net, &j));
    }
    return WSC_OK;
}

/* Call @p visit for every edge, in the same order on every rank. */
static enum wsc_err visit_edges(struct stream_net *net, edge_fn visit)
{
    const struct stream_topology *t = net->topology;
    const int top = t->n_nodes ? stream_role_of_node(t, 0) : stream_role_of_wafer(t, 0);
    for (int m = 0; m < t->n_shards; m++) {
        const struct edge j = {.parent = stream_role_of_shard(t, m),
                               .child = top,
                               .n_up = m,
                               .latency_ps = net->hw->cluster->memoryx.link_latency_ps,
                               .link = stream_link_below(net->hw, t, -1, 0)};
        TRY(visit(net, &j));
    }
    for (int i = 0; i < t->n_nodes; i++)
        TRY(visit_children(net, i, visit));
    return WSC_OK;
}

enum wsc_err stream_net_form(struct stream_net *net, struct stream_topology *take_topology)
{
    for (int r = 0; r < take_topology->n_roles; r++)
        net->ports[r].up.n = net->ports[r].down.n = 0;
    stream_topology_destroy(&net->topology);
    net->topology = take_topology;
    return visit_edges(net, open_edge);
}

void stream_net_tune(struct stream_net *net)
{
    WSC_CHECK(visit_edges(net, tune_edge) == WSC_OK, "links cannot be tuned");
}

/* ---- the net --------------------------------------------------------------------------------- */

static enum wsc_err join_peers(struct stream_net *net)
{
    const struct stream_topology *t = net->topology;
    const struct hw_memoryx *mx = &net->hw->cluster->memoryx;
    const struct comm_link_spec between = {.rate_bytes_per_s = mx->link_rate_bytes_per_s,
                                           .latency_ps = mx->link_latency_ps,
                                           .part = VTIME_GRADIENTS,
                                           .name = "norms"};
    const struct comm_link_spec inside = {.rate_bytes_per_s = mx->link_rate_bytes_per_s,
                                          .name = "updated weights"};
    for (int m = 0; m < t->n_shards; m++)
        TRY(comm_link_open(net->comm, &net->ports[m].ready, m, m, &inside));
    for (int m = 1; m < t->n_shards; m++) {
        struct comm_link *to_first, *from_first;
        struct stream_ports *first = &net->ports[0], *other = &net->ports[m];
        TRY(comm_link_open(net->comm, &to_first, m, 0, &between));
        TRY(comm_link_open(net->comm, &from_first, 0, m, &between));
        first->peer_in[first->n_peers] = other->peer_out[0] = to_first;
        first->peer_out[first->n_peers++] = other->peer_in[0] = from_first;
        other->n_peers = 1;
    }
    return WSC_OK;
}

static enum wsc_err place_roles(struct stream_net *net)
{
    const struct stream_topology *t = net->topology;
    int *rank_of_role;
    TRY_NEW(rank_of_role, WSC_MEM_STREAM, t->n_roles);
    enum wsc_err rc =
        stream_place(t, comm_size(net->comm), comm_host_of_rank(net->comm), rank_of_role);
    if (!rc) rc = comm_place(net->comm, t->n_roles, rank_of_role);
    wsc_free(rank_of_role);
    return rc;
}

static enum wsc_err set_up(struct stream_net *net)
{
    const struct hw_machine *c = net->hw->cluster;
    TRY(stream_ledger_create(&net->ledger, net->model));
    TRY_NEW(net->ports, WSC_MEM_STREAM, net->topology->n_roles);
    net->n_carried = net->topology->n_shards + net->topology->n_roles;
    TRY_NEW(net->carried, WSC_MEM_STREAM, net->n_carried);
    for (int role = 0; role < net->topology->n_roles; role++) {
        net->ports[role].net = net;
        net->ports[role].role = role;
    }
    TRY(place_roles(net));
    comm_set_chunks(net->comm, c->stream.chunk_bytes, c->stream.chunks_in_flight);
    comm_set_keep(net->comm, c->stream.keep_bytes);
    TRY(visit_edges(net, open_edge));
    return join_peers(net);
}

enum wsc_err stream_net_create(struct stream_net **out, struct comm *comm, const struct hw *hw,
                               const struct model *model, struct stream_topology *take_topology,
                               uint64_t seed)
{
    enum wsc_err rc = WSC_OK;
    *out = wsc_alloc(WSC_MEM_STREAM, 1, sizeof **out);
    if (!*out) {
        stream_topology_destroy(&take_topology);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "create net");
    }
    **out = (struct stream_net){
        .comm = comm, .hw = hw, .model = model, .topology = take_topology, .seed = seed};
    rc = set_up(*out);
    if (rc) stream_net_destroy(out);
    return rc;
}

void stream_net_destroy(struct stream_net **net)
{
    if (!*net) return;
    for (int role = 0; (*net)->ports && role < (*net)->topology->n_roles; role++)
        stream_parts_destroy((*net)->comm, &(*net)->ports[role].parts);
    stream_topology_destroy(&(*net)->topology);
    stream_ledger_destroy(&(*net)->ledger);
    wsc_free((*net)->ports);
    wsc_free((*net)->carried);
    wsc_free((*net)->cut);
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

/* ---- kept weights ---------------------------------------------------------------------------- */

/* Most bytes that one list keeps of the weights of stages, of which it gets one of @p n_parts. */
static int64_t most_in_list(const struct stream_net *net, int n_parts)
{
    const int64_t limit = net->hw->cluster->stream.keep_bytes;
    int64_t sum = 0;
    for (int s = 0; s < net->model->n_stages; s++) {
        const int64_t bytes =
            net->model->stage[s].n_elems * num_format_bytes(net->model->format) / n_parts;
        if (bytes <= limit) sum += bytes;
    }
    return sum < limit ? sum : limit;
}

/* Number of edges of @p side that lead to another rank and keep their payloads. */
static int n_keeping(const struct stream_side *side)
{
    int n = 0;
    for (int i = 0; i < side->n; i++)
        n += side->carried[i]->between_ranks && comm_link_is_early(side->weights[i]);
    return n;
}

/* Bytes that a role keeps: a shard keeps its packed weights; links that forward whole vectors name
 * the same payloads. */
static int64_t kept_by_role(const struct stream_net *net, int role)
{
    const struct stream_ports *p = &net->ports[role];
    const int n_up = p->up.n;
    if (!n_up) return p->down.n ? most_in_list(net, net->topology->n_shards) : 0;
    const int64_t received = n_keeping(&p->up) * most_in_list(net, n_up);
    const bool joins = n_up > 1 && comm_link_is_early(p->up.weights[0]);
    const int64_t whole = joins || n_keeping(&p->down) ? most_in_list(net, 1) : 0;
    if (n_up > 1) return received + whole;
    return received > whole ? received : whole;
}

int64_t stream_net_kept_bytes(const struct stream_net *net)
{
    int64_t sum = 0;
    if (comm_size(net->comm) == 1) return 0;
    for (int r = 0; r < net->topology->n_roles; r++)
        if (comm_is_local(net->comm, r)) sum += kept_by_role(net, r);
    return sum;
}

/* ---- what was carried ------------------------------------------------------------------------ */

/* Add the counters of a rank, which has counted the bytes that its own roles sent. */
static void add_carried(struct stream_carried *all, const struct stream_carried *one)
{
    all->between_ranks |= one->between_ranks;
    all->weights += one->weights;
    all->dense_weights += one->dense_weights;
    all->gradients += one->gradients;
    all->dense_gradients += one->dense_gradients;
    all->least_gradients += one->least_gradients;
}

enum wsc_err stream_net_carried(const struct stream_net *net, struct stream_carried **out, int *n)
{
    const int n_ranks = comm_size(net->comm), per_rank = net->n_carried;
    struct stream_carried *all; /* counters of edge i and rank r at i n_ranks + r */
    *out = NULL;
    *n = 0;
    TRY_NEW(all, WSC_MEM_STREAM, (int64_t)n_ranks * per_rank);
    for (int i = 0; i < per_rank; i++)
        all[(int64_t)i * n_ranks + comm_rank(net->comm)] = net->carried[i];
    const enum wsc_err rc = comm_collect(net->comm, all, sizeof *all, (int64_t)n_ranks * per_rank);
    if (rc) {
        wsc_free(all);
        return rc;
    }
    for (int i = 0; i < per_rank; i++) {
        struct stream_carried sum = all[(int64_t)i * n_ranks];
        for (int r = 1; r < n_ranks; r++)
            add_carried(&sum, &all[(int64_t)i * n_ranks + r]);
        if (sum.parent != sum.child) all[(*n)++] = sum;
    }
    *out = all;
    return WSC_OK;
}
