// SPDX-License-Identifier: Apache-2.0
/* Joins the weights of several shards, and cuts gradients into parts for them, at the role below
 * the shards. If messages are transferred while ranks compute, the whole vector is written as far
 * as all parts have arrived, from its first element on, or from its last one in the backward pass;
 * a piece of gradients is written into the parts when it is final. A whole vector is kept until the
 * next update, so that the links below recognize it when it is sent again, as with one shard
 * (docs/decisions/0031). Elements, order and messages are equal to those of whole vectors. */
#include "stream_parts.h"

#include "stream_packed.h"
#include "stream_striping.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

/* Elements of each shard that are joined at a time: 60 KiB of fp32. */
enum { PIECE_ELEMS = 15360 };

enum wsc_err stream_parts_create(struct stream_ports *ports)
{
    if (ports->parts) return WSC_OK;
    TRY_NEW(ports->parts, WSC_MEM_STREAM, 1);
    ports->parts->updates = -1; /* none */
    return WSC_OK;
}

static void release(struct comm_buf **part)
{
    for (int m = 0; m < STREAM_MAX_FANOUT; m++)
        comm_buf_unref(&part[m]);
}

void stream_parts_destroy(struct comm *comm, struct stream_parts **parts)
{
    if (!*parts) return;
    release((*parts)->weights);
    release((*parts)->gradients);
    comm_buf_unref(&(*parts)->whole);
    comm_keep_drop(comm, &(*parts)->kept);
    wsc_free(*parts);
    *parts = NULL;
}

/* ---- weights --------------------------------------------------------------------------------- */

static bool is_early(const struct stream_ports *ports)
{
    return comm_link_is_early(ports->up.weights[0]);
}

static int64_t elem_bytes(const struct stream_ports *ports)
{
    return num_format_bytes(ports->net->model->format);
}

/* Write elements [first, end) of the whole vector as soon as the parts have them. */
static void join_range(const struct stream_ports *ports, int stage, struct stream_range range)
{
    const struct model *model = ports->net->model;
    const struct stream_parts *p = ports->parts;
    for (int m = 0; m < ports->up.n; m++) {
        const struct stream_part_of of = {m, ports->up.n};
        const int64_t first = stream_part_before(model, stage, of, false, range.first);
        const int64_t end = stream_part_before(model, stage, of, false, range.end);
        if (end == first) continue;
        comm_buf_wait(ports->up.weights[m], p->weights[m], first * elem_bytes(ports),
                      end * elem_bytes(ports));
        stream_part_scatter(model, stage, of, range, elem_bytes(ports),
                            comm_buf_data(p->weights[m]), comm_buf_data(p->whole));
    }
}

enum wsc_err stream_parts_join_until(const struct stream_ports *ports, const struct stream_at *at,
                                     int64_t n_wanted)
{
    struct stream_parts *p = ports->parts;
    const int64_t n_elems = ports->net->model->stage[at->stage].n_elems;
    const int64_t most = is_early(ports) ? (int64_t)PIECE_ELEMS * ports->up.n : n_elems;
    if (!p->whole) return WSC_OK;
    while (p->n_joined < n_wanted) {
        const int64_t left = n_elems - p->n_joined, n = left < most ? left : most;
        const int64_t first = at->backward ? left - n : p->n_joined;
        join_range(ports, at->stage, (struct stream_range){first, first + n});
        p->n_joined += n;
        TRY(comm_buf_fill(p->whole, p->n_joined * elem_bytes(ports)));
    }
    if (p->n_joined < n_elems) return WSC_OK;
    release(p->weights);
    comm_buf_unref(&p->whole);
    return WSC_OK;
}

/* Join packed parts. The positions of the tensors are known only when all parts are there. */
static enum wsc_err join_packed(const struct stream_ports *ports, const struct stream_at *at,
                                struct comm_buf **whole)
{
    struct comm_buf **part = ports->parts->weights;
    for (int m = 0; m < ports->up.n; m++)
        comm_buf_wait(ports->up.weights[m], part[m], 0, comm_buf_bytes(part[m]));
    const enum wsc_err rc = stream_packed_join(ports->net->comm, ports->net->model, at->stage, part,
                                               ports->up.n, whole);
    release(part);
    return rc;
}

static enum wsc_err join(const struct stream_ports *ports, const struct stream_at *at,
                         struct comm_buf **whole)
{
    struct stream_parts *p = ports->parts;
    const int64_t n_elems = ports->net->model->stage[at->stage].n_elems;
    if (stream_is_packed(ports->net->model, at->stage)) return join_packed(ports, at, whole);
    TRY(comm_buf_create_open(ports->net->comm, whole, n_elems * elem_bytes(ports), at->backward));
    p->whole = comm_buf_ref(*whole);
    p->n_joined = 0;
    return is_early(ports) ? WSC_OK : stream_parts_join_until(ports, at, n_elems);
}

enum wsc_err stream_parts_join(const struct stream_ports *ports, const struct stream_at *at,
                               struct comm_buf *const *take_part, struct comm_buf **whole)
{
    struct stream_parts *p = ports->parts;
    struct comm *comm = ports->net->comm;
    WSC_CHECK(!p->whole, "weights that nobody waited for");
    memcpy(p->weights, take_part, (size_t)ports->up.n * sizeof *take_part);
    if (p->updates != at->updates) comm_keep_drop(comm, &p->kept);
    p->updates = at->updates;
    *whole = comm_keep_find(comm, &p->kept, at->stage);
    if (*whole) {
        release(p->weights);
        return WSC_OK;
    }
    enum wsc_err rc = join(ports, at, whole);
    if (!rc && is_early(ports)) rc = comm_keep(comm, &p->kept, at->stage, *whole);
    if (rc) comm_buf_unref(whole);
    return rc;
}

/* ---- gradients ------------------------------------------------------------------------------- */

static int64_t part_bytes(const struct stream_ports *ports, int stage, int m, int n_sums)
{
    return n_sums * (int64_t)sizeof(float) *
           stream_stage_part_grads(ports->net->model, stage, m, ports->up.n);
}

/* Copy elements [first, end) of vector @p i of the list @p whole into the part of shard @p m. */
static void cut_range(const struct stream_ports *ports, int stage, int m, int i,
                      struct stream_range range, const float *whole, struct comm_buf *part)
{
    const struct model *model = ports->net->model;
    const struct stream_part_of of = {m, ports->up.n};
    const int64_t n_part = stream_stage_part_grads(model, stage, m, ports->up.n);
    stream_part_gather(model, stage, of, range, whole + i * model->stage[stage].n_grads,
                       (float *)comm_buf_data(part) + i * n_part);
}

enum wsc_err stream_parts_cut(const struct stream_ports *ports, int stage, int m,
                              struct comm_buf *whole, int n_sums, struct comm_buf **part)
{
    const struct model *model = ports->net->model;
    *part = NULL;
    if (!whole) return WSC_OK;
    if (stream_is_packed(model, stage))
        return stream_packed_cut(ports->net->comm, model, stage,
                                 (struct stream_part_of){m, ports->up.n}, whole, n_sums, part);
    TRY(comm_buf_create(ports->net->comm, part, part_bytes(ports, stage, m, n_sums)));
    for (int i = 0; i < n_sums; i++)
        cut_range(ports, stage, m, i, (struct stream_range){0, model->stage[stage].n_grads},
                  comm_buf_data(whole), *part);
    return WSC_OK;
}

enum wsc_err stream_parts_open(const struct stream_ports *ports, int stage, int n_sums,
                               struct comm_buf **part)
{
    struct stream_parts *p = ports->parts;
    release(p->gradients); /* parts of an earlier stage */
    p->n_cut = 0;
    for (int m = 0; m < ports->up.n; m++) {
        TRY(comm_buf_create_open(ports->net->comm, &p->gradients[m],
                                 part_bytes(ports, stage, m, n_sums), true));
        part[m] = comm_buf_ref(p->gradients[m]);
    }
    return WSC_OK;
}

/* Bytes of the part of shard @p m after the first @p n_before elements of the list. */
static int64_t bytes_after(const struct stream_ports *ports, int stage, int m, int n_sums,
                           int64_t n_before)
{
    const struct model *model = ports->net->model;
    const struct stream_part_of of = {m, ports->up.n};
    const int64_t n_grads = model->stage[stage].n_grads;
    const int64_t n_part = stream_stage_part_grads(model, stage, m, ports->up.n);
    if (!n_grads) return 0;
    const int64_t i = n_before / n_grads;
    const int64_t before = stream_part_before(model, stage, of, true, n_before % n_grads);
    return ((n_sums - i) * n_part - before) * (int64_t)sizeof(float);
}

enum wsc_err stream_parts_cut_until(const struct stream_ports *ports, int stage, int n_sums,
                                    const float *whole, int64_t n_final)
{
    struct stream_parts *p = ports->parts;
    const int64_t n_grads = ports->net->model->stage[stage].n_grads, n_all = n_sums * n_grads;
    if (!p->gradients[0]) return WSC_OK; /* all parts have been sent */
    while (p->n_cut < n_final) {
        /* A step stays within one vector. */
        const int64_t end = n_all - p->n_cut, i = (end - 1) / n_grads;
        const int64_t wanted = n_all - n_final, first = wanted > i * n_grads ? wanted : i * n_grads;
        for (int m = 0; m < ports->up.n; m++)
            cut_range(ports, stage, m, (int)i,
                      (struct stream_range){first - i * n_grads, end - i * n_grads}, whole,
                      p->gradients[m]);
        p->n_cut = n_all - first;
    }
    for (int m = 0; m < ports->up.n; m++)
        TRY(comm_buf_fill(p->gradients[m], bytes_after(ports, stage, m, n_sums, n_all - n_final)));
    if (n_final == n_all) release(p->gradients);
    return WSC_OK;
}
