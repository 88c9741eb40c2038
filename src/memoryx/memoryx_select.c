// SPDX-License-Identifier: Apache-2.0
/* The k largest keys of tensors that are cut over shards, exactly: a radix selection over 32-bit
 * keys, three rounds of 11, 11 and 10 bits from the top.  In a round every shard counts its
 * eligible elements by the next digit; shard 0 adds the counts, which is exact in any order, finds
 * the digit in which the k-th largest key lies, and sends it back.  After the last round the
 * threshold is known: larger keys are taken, and of equal ones as many as are left, shard by shard
 * in the order of elements.  So the result does not depend on the number of shards.
 * Called by memoryx_mask.c. */
#include "memoryx_select.h"

#include "memoryx_exchange.h"

#include <wsc/mem.h>
#include <wsc/rng.h>

#include <string.h>

enum { N_ROUNDS = 3, N_DIGITS = 1 << 11, CHUNK_BLOCKS = 64 };
/* Lowest bit of the digit of each round; the last digit has 10 bits. */
static const int shift_of[N_ROUNDS] = {21, 10, 0};
static const uint32_t digits_of[N_ROUNDS] = {1U << 11, 1U << 11, 1U << 10};

/* What shard 0 sends about one selection after a round. */
struct found {
    uint32_t prefix;  /* bits of the threshold so far, in their places */
    int64_t left;     /* elements to take among keys with this prefix */
    int64_t of_shard; /* last round, for each shard in turn: how many of these are its own */
};

/* A round of all selections. */
struct round {
    struct memoryx *mx;
    const struct memoryx_selection *list;
    int n, index;
    const struct found *found; /* (n) of the round before */
};

/* ---- keys ------------------------------------------------------------------------------------ */

void memoryx_keys_random(const struct memoryx_selection *s, int64_t first, int64_t n, uint32_t *key)
{
    wsc_rng_words(key, s->seed, s->stream, (uint64_t)(s->mx->part[s->tensor].first + first), n);
}

/* Floats of one sign are ordered as their bits. */
void memoryx_keys_magnitude(const struct memoryx_selection *s, int64_t first, int64_t n,
                            uint32_t *key)
{
    memcpy(key, s->of + first, (size_t)n * sizeof *key);
    for (int64_t i = 0; i < n; i++)
        key[i] &= 0x7fffffffU;
}

/* Eligible elements among the 64 of word @p word of the part; bits past its end are 0. */
static uint64_t eligible(const struct memoryx_selection *s, int64_t word, int64_t n)
{
    const int64_t left = n - word * MEMORYX_WORD_BITS;
    const uint64_t inside = left >= MEMORYX_WORD_BITS ? ~0ULL : (1ULL << left) - 1;
    if (!s->mask) return inside;
    return (s->outside ? ~s->mask[word] : s->mask[word]) & inside;
}

/* ---- counting -------------------------------------------------------------------------------- */

struct count_job {
    const struct round *round;
    const struct memoryx_selection *s;
    uint32_t prefix;
    int64_t *count; /* threads x N_DIGITS */
};

/* The elements of one block whose upper bits are the prefix, by their next digit. */
static void count_block(const struct count_job *job, int64_t first, int64_t n, int64_t *count)
{
    const int shift = shift_of[job->round->index];
    const uint32_t digits = digits_of[job->round->index];
    const uint32_t above = ~((digits << shift) - 1);
    uint32_t key[STREAM_BLOCK_ELEMS];
    job->s->keys(job->s, first, n, key);
    for (int64_t w = 0; w * MEMORYX_WORD_BITS < n; w++) {
        uint64_t bits =
            eligible(job->s, first / MEMORYX_WORD_BITS + w, job->s->mx->part[job->s->tensor].n);
        for (; bits; bits &= bits - 1) {
            const uint32_t k = key[w * MEMORYX_WORD_BITS + __builtin_ctzll(bits)];
            if (job->round->index && (k & above) != job->prefix) continue;
            count[k >> shift & (digits - 1)]++;
        }
    }
}

static void count_chunk(void *ctx, int64_t i, int thread)
{
    const struct count_job *job = ctx;
    const int64_t n = job->s->mx->part[job->s->tensor].n;
    const int64_t chunk = (int64_t)CHUNK_BLOCKS * STREAM_BLOCK_ELEMS;
    const int64_t end = (i + 1) * chunk < n ? (i + 1) * chunk : n;
    for (int64_t at = i * chunk; at < end; at += STREAM_BLOCK_ELEMS)
        count_block(job, at, end - at < STREAM_BLOCK_ELEMS ? end - at : STREAM_BLOCK_ELEMS,
                    job->count + (int64_t)thread * N_DIGITS);
}

/* This shard's counts of all selections, N_DIGITS each. */
static enum wsc_err own_counts(const struct round *r, struct comm_buf **out)
{
    const int64_t bytes = (int64_t)r->n * N_DIGITS * (int64_t)sizeof(int64_t);
    int64_t *scratch;
    TRY_NEW(scratch, WSC_MEM_MEMORYX, (int64_t)num_threads() * N_DIGITS);
    enum wsc_err rc = comm_buf_create(r->mx->net->comm, out, bytes);
    int64_t *total = rc ? NULL : comm_buf_data(*out);
    if (total) memset(total, 0, (size_t)bytes);
    for (int k = 0; total && k < r->n; k++, total += N_DIGITS) {
        struct count_job job = {r, &r->list[k], r->found[k].prefix, scratch};
        const int64_t chunk = (int64_t)CHUNK_BLOCKS * STREAM_BLOCK_ELEMS;
        memset(scratch, 0, (size_t)num_threads() * N_DIGITS * sizeof *scratch);
        num_parallel((r->mx->part[r->list[k].tensor].n + chunk - 1) / chunk, count_chunk, &job);
        for (int i = 0; i < num_threads() * N_DIGITS; i++)
            total[i % N_DIGITS] += scratch[i];
    }
    wsc_free(scratch);
    return rc;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* The digit, from the highest, in which `left` elements are used up; the sum over shards of counts
 * of digit @p d of selection @p k is at hand through the parts. */
static int64_t count_of(struct comm_buf *const *part, int n_shards, int k, uint32_t d)
{
    int64_t sum = 0;
    for (int m = 0; m < n_shards; m++)
        sum += ((const int64_t *)comm_buf_data(part[m]))[(int64_t)k * N_DIGITS + d];
    return sum;
}

static struct found find_digit(const struct round *r, struct comm_buf *const *part, int k,
                               uint32_t *digit)
{
    struct found f = r->found[k];
    uint32_t d = digits_of[r->index];
    while (d-- > 1) {
        const int64_t n = count_of(part, r->mx->n_shards, k, d);
        if (n >= f.left) break;
        f.left -= n;
    }
    *digit = d;
    f.prefix |= d << shift_of[r->index];
    return f;
}

/* n_shards records for each selection: what is found, and how many of equal keys each takes. */
static enum wsc_err join_counts(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                                struct comm_buf **total)
{
    const struct round *r = ctx;
    TRY(comm_buf_create(mx->net->comm, total,
                        (int64_t)r->n * mx->n_shards * (int64_t)sizeof(struct found)));
    struct found *out = comm_buf_data(*total);
    for (int k = 0; k < r->n; k++) {
        uint32_t digit;
        const struct found f = find_digit(r, part, k, &digit);
        int64_t left = f.left;
        for (int m = 0; m < mx->n_shards; m++) {
            const int64_t *count = comm_buf_data(part[m]);
            const int64_t n = count[(int64_t)k * N_DIGITS + digit];
            *out = f;
            out->of_shard = n < left ? n : left;
            left -= out++->of_shard;
        }
    }
    return WSC_OK;
}

/* ---- taking ---------------------------------------------------------------------------------- */

struct take_job {
    const struct memoryx_selection *s;
    uint32_t threshold;
    int64_t *equal; /* by block: eligible elements whose key is the threshold */
};

/* Bits of larger keys are set at once; equal ones are counted. */
static void take_block(void *ctx, int64_t i, int thread)
{
    const struct take_job *job = ctx;
    const int64_t first = i * STREAM_BLOCK_ELEMS, n = job->s->mx->part[job->s->tensor].n;
    const int64_t m = n - first < STREAM_BLOCK_ELEMS ? n - first : STREAM_BLOCK_ELEMS;
    uint32_t key[STREAM_BLOCK_ELEMS];
    (void)thread;
    job->s->keys(job->s, first, m, key);
    job->equal[i] = 0;
    for (int64_t w = first / MEMORYX_WORD_BITS; w * MEMORYX_WORD_BITS < first + m; w++) {
        const uint32_t *k = key + (w * MEMORYX_WORD_BITS - first);
        for (uint64_t bits = eligible(job->s, w, n); bits; bits &= bits - 1) {
            const int b = __builtin_ctzll(bits);
            if (k[b] > job->threshold) job->s->taken[w] |= 1ULL << b;
            job->equal[i] += k[b] == job->threshold;
        }
    }
}

/* The first @p quota elements of block @p i whose key is the threshold. */
static void take_equal(const struct take_job *job, int64_t i, int64_t quota)
{
    const int64_t first = i * STREAM_BLOCK_ELEMS, n = job->s->mx->part[job->s->tensor].n;
    const int64_t m = n - first < STREAM_BLOCK_ELEMS ? n - first : STREAM_BLOCK_ELEMS;
    uint32_t key[STREAM_BLOCK_ELEMS];
    job->s->keys(job->s, first, m, key);
    for (int64_t w = first / MEMORYX_WORD_BITS; quota && w * MEMORYX_WORD_BITS < first + m; w++) {
        const uint32_t *k = key + (w * MEMORYX_WORD_BITS - first);
        for (uint64_t bits = eligible(job->s, w, n); bits && quota; bits &= bits - 1) {
            const int b = __builtin_ctzll(bits);
            if (k[b] != job->threshold) continue;
            job->s->taken[w] |= 1ULL << b;
            quota--;
        }
    }
}

/* @p taken may be the mask that says which elements are eligible outside it: a block's own bits
 * are written only after they were read. */
static enum wsc_err take(const struct memoryx_selection *s, struct found found)
{
    const int64_t blocks = (s->mx->part[s->tensor].n + STREAM_BLOCK_ELEMS - 1) / STREAM_BLOCK_ELEMS;
    struct take_job job = {.s = s, .threshold = found.prefix};
    if (!blocks || !s->k) return WSC_OK;
    TRY_NEW(job.equal, WSC_MEM_MEMORYX, blocks);
    num_parallel(blocks, take_block, &job);
    for (int64_t i = 0; i < blocks && found.of_shard; i++) {
        const int64_t n = job.equal[i] < found.of_shard ? job.equal[i] : found.of_shard;
        if (n) take_equal(&job, i, n);
        found.of_shard -= n;
    }
    wsc_free(job.equal);
    return WSC_OK;
}

/* ---- all rounds ------------------------------------------------------------------------------ */

static enum wsc_err run_round(struct round *r, int64_t step, struct found *found)
{
    const struct memoryx_round round = {
        .step = step, .index = MEMORYX_ROUND_SELECT, .combine = join_counts, .ctx = r};
    struct comm_buf *own = NULL, *total = NULL;
    struct vtime ignored = {0};
    TRY(own_counts(r, &own));
    TRY(memoryx_exchange(r->mx, &round, own, &total, &ignored));
    const struct found *all = comm_buf_data(total);
    for (int k = 0; k < r->n; k++)
        found[k] = all[(int64_t)k * r->mx->n_shards + r->mx->shard];
    comm_buf_unref(&total);
    return WSC_OK;
}

enum wsc_err memoryx_select(struct memoryx *mx, int64_t step, const struct memoryx_selection *list,
                            int n)
{
    struct found *found;
    enum wsc_err rc = WSC_OK;
    if (!n) return WSC_OK;
    TRY_NEW(found, WSC_MEM_MEMORYX, n);
    for (int k = 0; k < n; k++)
        found[k].left = list[k].k;
    struct round r = {.mx = mx, .list = list, .n = n, .found = found};
    for (; r.index < N_ROUNDS && !rc; r.index++)
        rc = run_round(&r, step, found);
    for (int k = 0; k < n && !rc; k++)
        rc = take(&list[k], found[k]);
    wsc_free(found);
    return rc;
}
