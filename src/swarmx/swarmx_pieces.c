// SPDX-License-Identifier: Apache-2.0
/* Cut-through of gradients on the host (docs/decisions/0035): a node takes the messages of its
 * children with their headers, sends its own at once, and adds each piece as soon as all children's
 * are there; what is added leaves while the rest still comes.
 *
 * Which vectors are added follows from the lists of subtrees alone, along the canonical tree and in
 * the order in which swarmx_reduce.c adds whole vectors, so the bits are the same. */
#include "swarmx_pieces.h"

#include "swarmx_reduce.h"

#include <wsc/mem.h>

#include <string.h>

/* Elements that are added at a time: a piece of 60 KiB, which stays in the cache. */
enum { PIECE_ELEMS = 15360 };

/* Where a vector of a child's message is. */
struct slot {
    int child;
    int64_t vector; /* its number in the message */
    int result;     /* the vector of the node's message that it goes into */
};
/* The vectors of all children and the additions among them. */
struct plan {
    int n_slots, n_steps;
    struct slot *slot;           /* owned */
    struct num_merge_step *step; /* owned, fewer than n_slots; numbers of slots */
    struct num_merge merge;      /* scratch */
    struct num_nodes result;     /* subtrees that the node sends */
    int slot_of[NUM_MAX_NODES];  /* where the sum of each is */
};
/* One message on its way through the node. */
struct passage {
    struct swarmx *sx;
    int64_t n_elems;
    struct comm_buf *in[STREAM_MAX_FANOUT]; /* one reference each */
    struct comm_buf *out;
    struct plan plan;
};

/* True when gradients are added while they arrive: values, dense, and links that hand messages over
 * early. */
static bool adds_pieces(const struct swarmx *sx, const struct stream_at *at)
{
    return sx->pass->values && !stream_is_packed(sx->net->model, at->stage) &&
           comm_link_is_early(sx->ports->down.data[0]);
}

/* ---- what is added --------------------------------------------------------------------------- */

/* The list of child @p c follows those before it. */
static void append_child(struct plan *p, int c, const struct num_nodes *nodes, int64_t n_items)
{
    const int n_left = p->result.n, base = p->n_slots;
    int slot[2 * NUM_MAX_NODES];
    num_merge_plan(&p->merge, &p->result, nodes, n_items);
    for (int i = 0; i < n_left; i++)
        slot[i] = p->slot_of[i];
    for (int i = 0; i < nodes->n; i++) {
        slot[n_left + i] = base + i;
        p->slot[p->n_slots++] = (struct slot){.child = c, .vector = i};
    }
    for (int i = 0; i < p->merge.n_steps; i++)
        p->step[p->n_steps++] = (struct num_merge_step){.into = slot[p->merge.step[i].into],
                                                        .from = slot[p->merge.step[i].from]};
    p->result = p->merge.result;
    for (int i = 0; i < p->result.n; i++)
        p->slot_of[i] = slot[p->merge.slot[i]];
}

/* Say of each slot where it ends: what is added last is known first. */
static void find_results(struct plan *p)
{
    for (int i = 0; i < p->result.n; i++)
        p->slot[p->slot_of[i]].result = i;
    for (int i = p->n_steps - 1; i >= 0; i--)
        p->slot[p->step[i].from].result = p->slot[p->step[i].into].result;
}

static enum wsc_err make_plan(struct passage *x, const struct stream_at *at)
{
    const int64_t n_items = x->sx->pass->batch.n_micro_shards;
    struct plan *p = &x->plan;
    struct num_nodes nodes;
    int n = 1;
    for (int c = 0; c < x->sx->ports->down.n; c++) {
        swarmx_child_subtrees(x->sx, at->micro, c, &nodes);
        n += nodes.n;
    }
    TRY_NEW(p->slot, WSC_MEM_SWARMX, n);
    TRY_NEW(p->step, WSC_MEM_SWARMX, n);
    for (int c = 0; c < x->sx->ports->down.n; c++) {
        swarmx_child_subtrees(x->sx, at->micro, c, &nodes);
        append_child(p, c, &nodes, n_items);
    }
    find_results(p);
    return WSC_OK;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static float *element(const struct passage *x, int slot, int64_t first)
{
    const struct slot *s = &x->plan.slot[slot];
    return (float *)comm_buf_data(x->in[s->child]) + s->vector * x->n_elems + first;
}

/* Until the children's parts of elements [first, end) of result @p i are there. */
static void wait_for_children(const struct passage *x, int i, int64_t first, int64_t end)
{
    for (int k = 0; k < x->plan.n_slots; k++) {
        const struct slot *s = &x->plan.slot[k];
        const int64_t vector = s->vector * x->n_elems;
        if (s->result == i)
            comm_buf_wait(x->sx->ports->down.data[s->child], x->in[s->child],
                          (vector + first) * (int64_t)sizeof(float),
                          (vector + end) * (int64_t)sizeof(float));
    }
}

/* Elements [first, end) of the vector of result @p i, which then may leave. */
static enum wsc_err add_piece(const struct passage *x, const struct stream_at *at, int i,
                              int64_t first, int64_t end)
{
    const struct plan *p = &x->plan;
    const int64_t done = p->result.n * x->n_elems - (i * x->n_elems + first);
    float *out = (float *)comm_buf_data(x->out) + i * x->n_elems + first;
    wait_for_children(x, i, first, end);
    for (int k = 0; k < p->n_steps; k++)
        if (p->slot[p->step[k].into].result == i)
            num_add(element(x, p->step[k].into, first), element(x, p->step[k].from, first),
                    end - first);
    memcpy(out, element(x, p->slot_of[i], first), (size_t)(end - first) * sizeof *out);
    return stream_fill_gradients(x->sx->ports, at, x->out, p->result.n, done);
}

/* From the last element on, as gradients come. */
static enum wsc_err add_all(const struct passage *x, const struct stream_at *at)
{
    for (int i = x->plan.result.n - 1; i >= 0; i--)
        for (int64_t end = x->n_elems; end > 0; end -= PIECE_ELEMS)
            TRY(add_piece(x, at, i, end > PIECE_ELEMS ? end - PIECE_ELEMS : 0, end));
    return WSC_OK;
}

/* ---- the message ----------------------------------------------------------------------------- */

/* Take the children's headers: the times of the node's message follow from theirs. */
static enum wsc_err take_headers(struct passage *x, const struct stream_at *at,
                                 struct vtime_span *child)
{
    const struct stream_ports *ports = x->sx->ports;
    for (int c = 0; c < ports->down.n; c++) {
        struct stream_msg msg;
        TRY(stream_recv(ports, ports->down.data[c], STREAM_MSG_GRADIENTS, at->step, at->index,
                        &msg));
        child[c] = msg.span;
        x->in[c] = msg.payload;
    }
    return WSC_OK;
}

static enum wsc_err pass_through(struct passage *x, const struct stream_at *at)
{
    const struct stream_net *net = x->sx->net;
    const int64_t bytes = stream_amounts(net, at->stage, at->updates)->grad_bytes;
    struct vtime_span child[STREAM_MAX_FANOUT] = {0};
    TRY(take_headers(x, at, child));
    TRY(make_plan(x, at));
    TRY(stream_open_gradients(x->sx->ports, at, swarmx_reduce_span(x->sx, child, bytes),
                              x->plan.result.n, &x->out));
    return add_all(x, at);
}

static enum wsc_err reduce_pieces(struct swarmx *sx, const struct stream_at *at)
{
    struct passage *x;
    TRY_NEW(x, WSC_MEM_SWARMX, 1);
    x->sx = sx;
    x->n_elems = stream_grad_elems(sx->net->model, at->stage, sx->net->topology->n_shards, NULL);
    const enum wsc_err rc = pass_through(x, at);
    for (int c = 0; c < sx->ports->down.n; c++)
        comm_buf_unref(&x->in[c]);
    comm_buf_unref(&x->out);
    wsc_free(x->plan.slot);
    wsc_free(x->plan.step);
    wsc_free(x);
    return rc;
}

enum wsc_err swarmx_reduce_gradients(struct swarmx *sx, const struct stream_at *at)
{
    return adds_pieces(sx, at) ? reduce_pieces(sx, at) : swarmx_reduce_whole(sx, at);
}
