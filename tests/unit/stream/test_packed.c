// SPDX-License-Identifier: Apache-2.0
/* Payloads of stages with sparse tensors: parts of shards put together, gradients cut into parts,
 * and the tensors that travel whole. */
#include "../../../src/stream/stream_packed.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/num_sparse.h>
#include <wsc/rng.h>

#include <string.h>

/* A vector, a matrix with a mask, a matrix with a mask that all elements have, a matrix without. */
enum { N_VIEWS = 4, MAX_ELEMS = 6000 };
static const int64_t lengths[N_VIEWS] = {37, 5000, 1100, 2048};

struct stage {
    struct zoo_sparsity entry;
    struct model_tensor tensor[N_VIEWS];
    struct model_view view[N_VIEWS];
    struct model_stage stage;
    struct model model;
    uint64_t bits[N_VIEWS][MAX_ELEMS / 64 + 1];
    float values[N_VIEWS][MAX_ELEMS];
    struct comm *comm;
};

static bool has_mask(int v)
{
    return v == 1 || v == 2;
}

static bool is_kept(const struct stage *s, int v, int64_t i)
{
    return !has_mask(v) || (s->bits[v][i / 64] >> i % 64 & 1);
}

static void stage_init(struct stage *s)
{
    memset(s, 0, sizeof *s);
    s->model = (struct model){.n_tensors = N_VIEWS,
                              .tensor = s->tensor,
                              .n_stages = 1,
                              .stage = &s->stage,
                              .sparsity = &s->entry};
    s->stage.n_views = N_VIEWS;
    s->stage.view = s->view;
    for (int v = 0; v < N_VIEWS; v++) {
        s->tensor[v] = (struct model_tensor){
            .kind = MODEL_Q_W, .n_elems = lengths[v], .sparsity = has_mask(v) ? 0 : -1};
        s->view[v] = (struct model_view){.tensor = v, .offset = s->stage.n_elems};
        s->stage.n_elems += lengths[v];
        test_fill(s->values[v], lengths[v], (uint64_t)v + 1);
        for (int64_t i = 0; i < lengths[v]; i++) {
            const double u = wsc_rng_uniform(1, wsc_rng_stream(WSC_RNG_TEST, 3), (uint64_t)i);
            if (v == 2 || u < 0.2) s->bits[v][i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    T_OK(comm_create(&s->comm, false));
}

static void stage_fini(struct stage *s)
{
    comm_destroy(&s->comm);
}

/* What shard @p m sends. */
static struct comm_buf *part_of(struct stage *s, int m, int n_shards)
{
    struct model_weights w[N_VIEWS] = {0};
    const struct stream_part_of of = {m, n_shards};
    struct comm_buf *buf;
    int64_t first[N_VIEWS], n[N_VIEWS];
    for (int v = 0; v < N_VIEWS; v++) {
        stream_part(lengths[v], m, n_shards, &first[v], &n[v]);
        w[v].bits = has_mask(v) ? s->bits[v] : NULL;
        w[v].n_kept = num_packed_count(s->bits[v], first[v], n[v]);
        w[v].dense_gradient = v == 2;
    }
    T_OK(comm_buf_create(s->comm, &buf, stream_packed_layout(&s->model, 0, of, w, NULL)));
    (void)stream_packed_layout(&s->model, 0, of, w, comm_buf_data(buf));
    for (int v = 0; v < N_VIEWS; v++) {
        float *to = (float *)(uintptr_t)w[v].values;
        if (has_mask(v))
            memcpy((void *)(uintptr_t)w[v].bits, &s->bits[v][first[v] / 64],
                   (size_t)((n[v] + 63) / 64) * 8);
        for (int64_t i = first[v]; i < first[v] + n[v]; i++)
            if (is_kept(s, v, i)) *to++ = s->values[v][i];
    }
    return buf;
}

static void check_whole(const struct stage *s, const struct model_weights *w)
{
    for (int v = 0; v < N_VIEWS; v++) {
        const float *at = w[v].values;
        CU_ASSERT_EQUAL(w[v].bits != NULL, has_mask(v));
        CU_ASSERT_EQUAL(w[v].dense_gradient, v == 2);
        if (has_mask(v)) {
            T_EQ(w[v].n_kept, num_packed_count(s->bits[v], 0, lengths[v]));
            T_TRUE(!memcmp(w[v].bits, s->bits[v], (size_t)((lengths[v] + 63) / 64) * 8));
        }
        for (int64_t i = 0; i < lengths[v]; i++)
            if (is_kept(s, v, i)) T_TRUE(*at++ == s->values[v][i]);
    }
}

/* Vector @p which of the gradients: number i of view v is a function of (v, i, which). */
static float gradient_at(int v, int64_t i, int which)
{
    return (float)(v * INT64_C(10000) + i) + (float)which * 0.5F;
}

static struct comm_buf *gradients(struct stage *s, const struct model_weights *w, int n_shards,
                                  int n_sums)
{
    const int64_t head = stream_packed_grad_head(&s->model, 0, n_shards);
    int64_t n = 0;
    struct comm_buf *buf;
    for (int v = 0; v < N_VIEWS; v++)
        n += model_gradient_elems(&s->model.tensor[v], &w[v]);
    T_OK(comm_buf_create(s->comm, &buf, head + n_sums * n * 4));
    stream_packed_grad_start(&s->model, 0, n_shards, w, comm_buf_data(buf));
    T_EQ(stream_grad_elems(&s->model, 0, n_shards, comm_buf_data(buf)), n);
    float *to = (float *)(void *)((char *)comm_buf_data(buf) + head);
    for (int which = 0; which < n_sums; which++)
        for (int v = 0; v < N_VIEWS; v++)
            for (int64_t i = 0; i < lengths[v]; i++)
                if (v != 1 || is_kept(s, v, i)) *to++ = gradient_at(v, i, which);
    return buf;
}

static void check_gradient_part(struct stage *s, struct comm_buf *part, int m, int n_shards,
                                int n_sums)
{
    const float *at = (const float *)(void *)((char *)comm_buf_data(part) +
                                              stream_packed_grad_head(&s->model, 0, 1));
    for (int which = 0; which < n_sums; which++)
        for (int v = 0; v < N_VIEWS; v++) {
            int64_t first, n, count = 0;
            stream_part(lengths[v], m, n_shards, &first, &n);
            for (int64_t i = first; i < first + n; i++) {
                if (v == 1 && !is_kept(s, v, i)) continue;
                T_TRUE(*at++ == gradient_at(v, i, which));
                count++;
            }
            T_EQ(stream_packed_grad_count(comm_buf_data(part), 1, v, 0), count);
        }
    T_EQ((const char *)at - (const char *)comm_buf_data(part), comm_buf_bytes(part));
}

static void check_shards(struct stage *s, int n_shards)
{
    enum { MOST = 8, N_SUMS = 3 };
    struct comm_buf *part[MOST], *whole, *sums;
    struct model_weights w[N_VIEWS];
    for (int m = 0; m < n_shards; m++)
        part[m] = part_of(s, m, n_shards);
    T_OK(stream_packed_join(s->comm, &s->model, 0, part, n_shards, &whole));
    stream_packed_open(&s->model, 0, (struct stream_part_of){0, 1}, comm_buf_data(whole), w);
    check_whole(s, w);
    sums = gradients(s, w, n_shards, N_SUMS);
    for (int m = 0; m < n_shards; m++) {
        struct comm_buf *cut;
        T_OK(stream_packed_cut(s->comm, &s->model, 0, (struct stream_part_of){m, n_shards}, sums,
                               N_SUMS, &cut));
        check_gradient_part(s, cut, m, n_shards, N_SUMS);
        comm_buf_unref(&cut);
        comm_buf_unref(&part[m]);
    }
    comm_buf_unref(&whole);
    comm_buf_unref(&sums);
}

TEST(stream_packed, parts_of_shards_are_the_whole_stage)
{
    static struct stage s;
    stage_init(&s);
    CU_ASSERT(stream_is_packed(&s.model, 0));
    for (int n_shards = 1; n_shards <= 8; n_shards++) /* the last ones have no block of some */
        check_shards(&s, n_shards);
    stage_fini(&s);
}

TEST(stream_packed, a_tensor_travels_whole_where_that_takes_fewer_bytes)
{
    static struct stage s;
    stage_init(&s);
    CU_ASSERT(stream_packs_tensor(&s.model, 1, 1000));
    CU_ASSERT(stream_packs_tensor(&s.model, 1, 4843));
    CU_ASSERT(!stream_packs_tensor(&s.model, 1, 4844)); /* 4 n_kept + 625 >= 20,000 */
    s.model.format = NUM_BF16;
    CU_ASSERT(stream_packs_tensor(&s.model, 1, 4687));
    CU_ASSERT(!stream_packs_tensor(&s.model, 1, 4688));
    s.model.tied = true;
    s.tensor[1].kind = MODEL_WTE;
    CU_ASSERT(!stream_packs_tensor(&s.model, 1, 1000));
    s.tensor[1].sparsity = s.tensor[2].sparsity = -1;
    CU_ASSERT(!stream_is_packed(&s.model, 0));
    stage_fini(&s);
}
