// SPDX-License-Identifier: Apache-2.0
/* Who gets which leaves of a batch and which elements of a tensor: always all of it, once. */
#include "../../../src/stream/stream_striping.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/mem.h>

#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------- */

static struct stream_batch batch_of(int64_t size, int64_t leaf, int64_t n_micro, int n_wafers)
{
    return (struct stream_batch){size, leaf, (size + leaf - 1) / leaf, n_micro, n_wafers, NULL};
}

/* Micro-batch after micro-batch, wafer after wafer, leaves follow without gap or overlap. */
static bool covers_all_leaves(const struct stream_batch *b)
{
    int64_t at = 0, samples = 0, most = 0;
    for (int64_t micro = 0; micro < b->n_micro; micro++)
        for (int w = 0; w < b->n_wafers; w++) {
            int64_t first, end;
            stream_micro_shards(b, micro, w, w + 1, &first, &end);
            if (first != at || end < first) return false;
            int64_t n = stream_samples(b, first, end);
            samples += n;
            if (n > most) most = n;
            at = end;
        }
    return at == b->n_micro_shards && samples == b->batch_size && most == stream_max_samples(b);
}

/* Shares of one micro-batch differ by at most one leaf. */
static bool is_even(const struct stream_batch *b)
{
    for (int64_t micro = 0; micro < b->n_micro; micro++) {
        int64_t least = b->n_micro_shards, most = 0;
        for (int w = 0; w < b->n_wafers; w++) {
            int64_t first, end;
            stream_micro_shards(b, micro, w, w + 1, &first, &end);
            if (end - first < least) least = end - first;
            if (end - first > most) most = end - first;
        }
        if (most - least > 1) return false;
    }
    return true;
}

/* What a SwarmX node asks for its subtree is what its wafers ask one by one. */
static bool subtrees_agree(const struct stream_batch *b, int64_t micro)
{
    for (int w = 0; w < b->n_wafers; w++) {
        int64_t first, end, w_first, w_end, unused;
        const int stop = w + 1 + (b->n_wafers - w - 1) / 2;
        stream_micro_shards(b, micro, w, stop, &first, &end);
        stream_micro_shards(b, micro, w, w + 1, &w_first, &unused);
        stream_micro_shards(b, micro, stop - 1, stop, &unused, &w_end);
        if (first != w_first || end != w_end) return false;
    }
    return true;
}

static int wrong_batches(int64_t size, int64_t leaf)
{
    const int64_t n_leaves = (size + leaf - 1) / leaf;
    int n_wrong = 0;
    for (int64_t n_micro = 1; n_micro <= n_leaves && n_micro <= 7; n_micro++)
        for (int n_wafers = 1; n_wafers <= 67; n_wafers += n_wafers < 10 ? 1 : 19) {
            const struct stream_batch b = batch_of(size, leaf, n_micro, n_wafers);
            n_wrong += !covers_all_leaves(&b) || !is_even(&b) || !subtrees_agree(&b, n_micro - 1);
        }
    return n_wrong;
}

TEST(stream_shares, leaves_partition_every_batch_evenly)
{
    int n_wrong = 0;
    for (int64_t size = 1; size <= 130; size += size < 40 ? 1 : 15)
        for (int64_t leaf = 1; leaf <= 5; leaf++)
            n_wrong += wrong_batches(size, leaf);
    T_EQ(n_wrong, 0);
}

TEST(stream_shares, the_last_leaf_may_be_short)
{
    const struct stream_batch b = batch_of(10, 4, 1, 2);
    T_EQ(b.n_micro_shards, 3);
    T_EQ(stream_samples(&b, 2, 3), 2);
    T_EQ(stream_samples(&b, 0, 3), 10);
    T_EQ(stream_max_samples(&b), 8);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static bool slices_cover(int64_t n_elems, int n_shards)
{
    int64_t at = 0;
    for (int m = 0; m < n_shards; m++) {
        int64_t first, n;
        stream_part(n_elems, m, n_shards, &first, &n);
        if (first != at || n < 0) return false;
        at = first + n;
        if (n && at != n_elems && at % STREAM_BLOCK_ELEMS) return false;
    }
    return at == n_elems;
}

TEST(stream_slices, whole_blocks_partition_every_tensor)
{
    static const int64_t size[] = {1, 7, 1023, 1024, 1025, 4096, 10240, 99999, INT64_C(6442450944)};
    int n_wrong = 0;
    for (int i = 0; i < (int)(sizeof size / sizeof *size); i++)
        for (int n_shards = 1; n_shards <= 64; n_shards++)
            n_wrong += !slices_cover(size[i], n_shards);
    T_EQ(n_wrong, 0);
}

/* Scatter a part range by range, as it comes; false: a range of the whole is no range of it. */
static bool scatter_ranges(const struct model *model, int stage, struct stream_part_of of,
                           const float *part, float *whole)
{
    const int64_t n = model->stage[stage].n_elems, step = n / 7 + 1;
    float *copy = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *copy);
    bool same = copy != NULL;
    for (int64_t first = 0; same && first < n; first += step) {
        const struct stream_range range = {first, first + step < n ? first + step : n};
        const int64_t at = stream_part_before(model, stage, of, false, range.first);
        const int64_t end = stream_part_before(model, stage, of, false, range.end);
        memset(copy, 0xff, (size_t)n * sizeof *copy); /* NaN where the part has not come */
        memcpy(copy + at, part + at, (size_t)(end - at) * sizeof *copy);
        stream_part_scatter(model, stage, of, range, sizeof *copy, copy, whole);
        memset(copy, 0xff, (size_t)n * sizeof *copy);
        stream_part_gather(model, stage, of, range, whole, copy);
        same = !memcmp(copy + at, part + at, (size_t)(end - at) * sizeof *copy);
    }
    wsc_free(copy);
    return same;
}

/* Gather every shard's part, scatter them into an empty vector: the same vector again. */
static bool returns_whole(const struct model *model, int stage, int n_shards)
{
    const int64_t n = model->stage[stage].n_elems;
    const struct stream_range all = {0, n};
    float *whole = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *whole);
    float *again = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *again);
    float *slice = wsc_alloc(WSC_MEM_TEST, (size_t)n, sizeof *slice);
    int64_t total = 0;
    bool same = whole && again && slice;
    if (same) test_fill(whole, n, (uint64_t)stage);
    for (int m = 0; same && m < n_shards; m++) {
        total += stream_stage_part_elems(model, stage, m, n_shards);
        const struct stream_part_of of = {m, n_shards};
        stream_part_gather(model, stage, of, all, whole, slice);
        same = scatter_ranges(model, stage, of, slice, again);
    }
    same = same && total == n && !memcmp(whole, again, (size_t)n * sizeof *whole);
    wsc_free(whole);
    wsc_free(again);
    wsc_free(slice);
    return same;
}

static int wrong_stages(const struct zoo_params *params, enum hw_granularity grain)
{
    struct model *model = NULL;
    int n_wrong = 0;
    T_OK(model_create(&model, params, grain));
    for (int i = 0; i < model->n_stages * 12; i++)
        n_wrong += !returns_whole(model, i / 12, i % 12 + 1);
    model_destroy(&model);
    return n_wrong;
}

TEST(stream_slices, gather_and_scatter_return_the_vector)
{
    struct small_config c;
    T_OK(small_config_init(&c, 1, NULL));
    T_EQ(wrong_stages(&c.params, HW_STREAM_BLOCK), 0);
    T_EQ(wrong_stages(&c.params, HW_STREAM_MATRIX), 0);
    small_config_fini(&c);
}

TEST(stream_slices, stripes_of_all_shards_hold_the_bytes)
{
    for (int n = 1; n <= 64; n++) {
        CU_ASSERT(stream_per_shard(1000003, n) * n >= 1000003);
        CU_ASSERT((stream_per_shard(1000003, n) - 1) * n < 1000003);
    }
    T_EQ(stream_per_shard(0, 12), 0);
}

/* ---- the window ------------------------------------------------------------------------------ */

static int64_t bytes_of(const struct model *m, bool training, int64_t q)
{
    const int per_pass = model_n_transfers(m, training);
    return m->stage[model_transfer_at(m, (int)(q % per_pass)).stage].n_elems *
           num_format_bytes(m->format);
}

/* Transfers need+1 .. q are what may be on its way at once: they fit the window, or q is alone.
 * And the bound is tight: one more would not have fitted. */
static bool need_is_right(const struct model *m, bool training, const struct stream_window *w,
                          int64_t q, int64_t window)
{
    const int64_t need = w->need[q];
    int64_t inside = 0;
    if (need < -1 || need >= q || (q && need < w->need[q - 1])) return false;
    for (int64_t i = need + 1; i <= q; i++)
        inside += bytes_of(m, training, i);
    if (inside > window && need != q - 1) return false;
    return need < 0 || inside + bytes_of(m, training, need) > window;
}

static int wrong_needs(const struct model *m, bool training, int64_t window)
{
    enum { MICRO = 3 };
    const struct hw_machine machine = {0};
    const struct hw hw = {.cluster = &machine};
    struct stream_window *w = NULL;
    int n_wrong = 0;
    const struct stream_pass pass = {.mode = training ? STREAM_TRAIN : STREAM_EVAL,
                                     .batch = {.n_micro = MICRO}};
    T_OK(stream_window_create(&w, &hw, m, &pass, window));
    T_EQ(w->n_transfers, (int64_t)MICRO * model_n_transfers(m, training));
    for (int64_t q = 0; q < w->n_transfers; q++)
        n_wrong += !need_is_right(m, training, w, q, window);
    stream_window_destroy(&w);
    return n_wrong;
}

TEST(stream_window, bytes_ahead_never_exceed_the_window)
{
    struct small_config c;
    struct model *model = NULL;
    int n_wrong = 0;
    T_OK(small_config_init(&c, 1, NULL));
    T_OK(model_create(&model, &c.params, HW_STREAM_MATRIX));
    for (int64_t window = 0; window <= 400000; window = window * 3 / 2 + 100)
        for (int training = 0; training < 2; training++)
            n_wrong += wrong_needs(model, training, window);
    T_EQ(n_wrong, 0);
    model_destroy(&model);
    small_config_fini(&c);
    T_EQ(wsc_mem_in_use(WSC_MEM_STREAM), 0);
}
