// SPDX-License-Identifier: Apache-2.0
/* Finds the k largest keys of tensors that are divided over shards, exactly: a radix selection over
 * 32-bit keys in three rounds of 11, 11 and 10 bits from the top. In a round every shard counts its
 * eligible elements by the next digit. Shard 0 adds the counts, which is exact in any order, finds
 * the digit of the k-th largest key, and sends it back. After the last round the threshold is
 * known: larger keys are taken, and of equal ones the number that is left, shard by shard in the
 * order of elements. So the result does not depend on the number of shards. A tensor may have
 * groups of rows or columns, each with its own k. memoryx_mask.c and memoryx_regrow.c call. */
#include "memoryx_select.h"

#include "memoryx_exchange.h"

#include <wsc/mem.h>
#include <wsc/rng.h>

#include <string.h>

enum { N_ROUNDS = 3, N_DIGITS = 1 << 11, CHUNK_BLOCKS = 64, MOST_SLOTS = 256 };
/* Lowest bit of the digit of each round; the last digit has 10 bits. */
static const int shift_of[N_ROUNDS] = {21, 10, 0};
static const uint32_t digits_of[N_ROUNDS] = {1U << 11, 1U << 11, 1U << 10};

/* The result of a round for one group, which shard 0 sends. */
struct found {
    uint32_t prefix;  /* bits of the threshold that are known, at their positions */
    int64_t left;     /* number of elements to take among keys with this prefix */
    int64_t of_shard; /* last round: number of elements of `left` that the receiving shard takes */
};

/* Groups [first, first + n) of one selection; their counts and results begin at `slot`. */
struct piece {
    const struct memoryx_selection *s;
    int64_t first;
    int n, slot;
};

/* A round for the pieces that are processed together. */
struct round {
    struct memoryx *mx;
    const struct piece *piece;
    int n_pieces, n_slots, index;
    const struct found *found; /* (n_slots), results of the round before */
};

/* ---- keys ------------------------------------------------------------------------------------ */

void memoryx_keys_random(const struct memoryx_selection *s, int64_t first, int64_t n, uint32_t *key)
{
    wsc_rng_words(key, s->seed, s->stream, (uint64_t)(s->mx->part[s->tensor].first + first), n);
}

/* Non-negative floats have the order of their bits. */
void memoryx_keys_magnitude(const struct memoryx_selection *s, int64_t first, int64_t n,
                            uint32_t *key)
{
    memcpy(key, s->of + first, (size_t)n * sizeof *key);
    for (int64_t i = 0; i < n; i++)
        key[i] &= 0x7fffffffU;
}

void memoryx_keys_kept(const struct memoryx_selection *s, int64_t first, int64_t n, uint32_t *key)
{
    const uint64_t *mask = s->mx->part[s->tensor].mask;
    memoryx_keys_magnitude(s, first, n, key);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = first + i;
        key[i] =
            key[i] << 1 | (uint32_t)(mask[at / MEMORYX_WORD_BITS] >> at % MEMORYX_WORD_BITS & 1);
    }
}

/* Eligible elements among the 64 of word @p word of the part; bits past its end are 0. */
static uint64_t eligible(const struct memoryx_selection *s, int64_t word, int64_t n)
{
    const int64_t left = n - word * MEMORYX_WORD_BITS;
    const uint64_t inside = left >= MEMORYX_WORD_BITS ? ~0ULL : (1ULL << left) - 1;
    if (!s->mask) return inside;
    return (s->outside ? ~s->mask[word] : s->mask[word]) & inside;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int64_t n_groups_of(const struct memoryx_selection *s)
{
    return s->n_groups > 1 ? s->n_groups : 1;
}

/* Set the group of each of @p n elements of the part, counted from the first group of the piece. */
static void find_groups(const struct piece *p, int64_t first, int64_t n, int64_t *group)
{
    const struct memoryx_selection *s = p->s;
    const struct model_tensor *t = &s->mx->net->model->tensor[s->tensor];
    const int64_t rows = t->shape[0], cols = t->n_elems / rows;
    const int64_t size = t->n_elems / n_groups_of(s);
    memset(group, 0, (size_t)n * sizeof *group);
    for (int64_t i = 0; i < n && s->n_groups > 1; i++) {
        const int64_t at = s->mx->part[s->tensor].first + first + i;
        const int64_t position = s->by_columns ? at % cols * rows + at / cols : at;
        group[i] = position / size - p->first;
    }
}

/* Cut pieces of at most MOST_SLOTS groups in all, from group @p *group of selection @p *k on; both
 * are moved to the next group. */
static int cut_pieces(const struct memoryx_selection *list, int n, int *k, int64_t *group,
                      struct piece piece[MOST_SLOTS], int *n_slots)
{
    int n_pieces = 0;
    *n_slots = 0;
    while (*k < n && *n_slots < MOST_SLOTS) {
        const int64_t left = n_groups_of(&list[*k]) - *group;
        const int m = left < MOST_SLOTS - *n_slots ? (int)left : MOST_SLOTS - *n_slots;
        piece[n_pieces++] = (struct piece){&list[*k], *group, m, *n_slots};
        *n_slots += m;
        *group += m;
        if (m < left) break;
        *group = 0;
        ++*k;
    }
    return n_pieces;
}

/* ---- counting -------------------------------------------------------------------------------- */

struct count_job {
    const struct round *round;
    const struct piece *piece;
    int64_t *count; /* (threads, groups of the piece, N_DIGITS) */
};

/* Count the elements of one block whose upper bits are the prefix of their group, by the next
 * digit. */
static void count_block(const struct count_job *job, int64_t first, int64_t n, int64_t *count)
{
    const int shift = shift_of[job->round->index];
    const uint32_t digits = digits_of[job->round->index];
    const uint32_t above = ~((digits << shift) - 1);
    const struct piece *p = job->piece;
    const struct memoryx_selection *s = p->s;
    uint32_t key[STREAM_BLOCK_ELEMS];
    int64_t group[STREAM_BLOCK_ELEMS];
    s->keys(s, first, n, key);
    find_groups(p, first, n, group);
    for (int64_t w = 0; w * MEMORYX_WORD_BITS < n; w++) {
        uint64_t bits = eligible(s, first / MEMORYX_WORD_BITS + w, s->mx->part[s->tensor].n);
        for (; bits; bits &= bits - 1) {
            const int64_t i = w * MEMORYX_WORD_BITS + __builtin_ctzll(bits), g = group[i];
            if (g < 0 || g >= p->n) continue;
            const uint32_t prefix = job->round->found[p->slot + g].prefix;
            if (job->round->index && (key[i] & above) != prefix) continue;
            count[g * N_DIGITS + (key[i] >> shift & (digits - 1))]++;
        }
    }
}

static void count_chunk(void *ctx, int64_t i, int thread)
{
    const struct count_job *job = ctx;
    const struct memoryx_selection *s = job->piece->s;
    const int64_t n = s->mx->part[s->tensor].n;
    const int64_t chunk = (int64_t)CHUNK_BLOCKS * STREAM_BLOCK_ELEMS;
    const int64_t end = (i + 1) * chunk < n ? (i + 1) * chunk : n;
    for (int64_t at = i * chunk; at < end; at += STREAM_BLOCK_ELEMS)
        count_block(job, at, end - at < STREAM_BLOCK_ELEMS ? end - at : STREAM_BLOCK_ELEMS,
                    job->count + (int64_t)thread * job->piece->n * N_DIGITS);
}

/* This shard's counts of all slots, N_DIGITS each. */
static enum wsc_err own_counts(const struct round *r, struct comm_buf **out)
{
    const int64_t bytes = (int64_t)r->n_slots * N_DIGITS * (int64_t)sizeof(int64_t);
    const int64_t chunk = (int64_t)CHUNK_BLOCKS * STREAM_BLOCK_ELEMS;
    int64_t *scratch;
    TRY_NEW(scratch, WSC_MEM_MEMORYX, (int64_t)num_threads() * r->n_slots * N_DIGITS);
    enum wsc_err rc = comm_buf_create(r->mx->net->comm, out, bytes);
    int64_t *total = rc ? NULL : comm_buf_data(*out);
    if (total) memset(total, 0, (size_t)bytes);
    for (int k = 0; total && k < r->n_pieces; k++) {
        const int64_t n = (int64_t)r->piece[k].n * N_DIGITS;
        struct count_job job = {r, &r->piece[k], scratch};
        memset(scratch, 0, (size_t)(num_threads() * n) * sizeof *scratch);
        num_parallel((r->mx->part[r->piece[k].s->tensor].n + chunk - 1) / chunk, count_chunk, &job);
        for (int64_t i = 0; i < num_threads() * n; i++)
            total[r->piece[k].slot * (int64_t)N_DIGITS + i % n] += scratch[i];
    }
    wsc_free(scratch);
    return rc;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Sum over shards of the counts of digit @p d of slot @p slot. */
static int64_t count_of(struct comm_buf *const *part, int n_shards, int slot, uint32_t d)
{
    int64_t sum = 0;
    for (int m = 0; m < n_shards; m++)
        sum += ((const int64_t *)comm_buf_data(part[m]))[(int64_t)slot * N_DIGITS + d];
    return sum;
}

static struct found find_digit(const struct round *r, struct comm_buf *const *part, int slot,
                               uint32_t *digit)
{
    struct found f = r->found[slot];
    uint32_t d = digits_of[r->index];
    while (d-- > 1) {
        const int64_t n = count_of(part, r->mx->n_shards, slot, d);
        if (n >= f.left) break;
        f.left -= n;
    }
    *digit = d;
    f.prefix |= d << shift_of[r->index];
    return f;
}

/* Store a record for each shard and slot: the result, and the number of equal keys that the shard
 * takes. */
static enum wsc_err join_counts(const struct memoryx *mx, void *ctx, struct comm_buf *const *part,
                                struct comm_buf **total)
{
    const struct round *r = ctx;
    TRY(comm_buf_create(mx->net->comm, total,
                        (int64_t)r->n_slots * mx->n_shards * (int64_t)sizeof(struct found)));
    struct found *out = comm_buf_data(*total);
    for (int k = 0; k < r->n_slots; k++) {
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
    const struct piece *piece;
    struct found *found; /* results for the groups of the piece */
    /* for each block: eligible elements whose key is the threshold of their group */
    int64_t *equal;
};

/* Set the bits of elements with larger keys; count those with equal keys. */
static void take_block(void *ctx, int64_t i, int thread)
{
    const struct take_job *job = ctx;
    const struct memoryx_selection *s = job->piece->s;
    const int64_t first = i * STREAM_BLOCK_ELEMS, n = s->mx->part[s->tensor].n;
    const int64_t m = n - first < STREAM_BLOCK_ELEMS ? n - first : STREAM_BLOCK_ELEMS;
    uint32_t key[STREAM_BLOCK_ELEMS];
    int64_t group[STREAM_BLOCK_ELEMS];
    (void)thread;
    s->keys(s, first, m, key);
    find_groups(job->piece, first, m, group);
    job->equal[i] = 0;
    for (int64_t w = first / MEMORYX_WORD_BITS; w * MEMORYX_WORD_BITS < first + m; w++) {
        const int64_t at = w * MEMORYX_WORD_BITS - first;
        for (uint64_t bits = eligible(s, w, n); bits; bits &= bits - 1) {
            const int b = __builtin_ctzll(bits);
            const int64_t g = group[at + b];
            if (g < 0 || g >= job->piece->n) continue;
            if (key[at + b] > job->found[g].prefix) s->taken[w] |= 1ULL << b;
            job->equal[i] += key[at + b] == job->found[g].prefix;
        }
    }
}

/* Take elements of block @p i whose key is the threshold, while their group has some left to take.
 * Returns their number. */
static int64_t take_equal(const struct take_job *job, int64_t i)
{
    const struct memoryx_selection *s = job->piece->s;
    const int64_t first = i * STREAM_BLOCK_ELEMS, n = s->mx->part[s->tensor].n;
    const int64_t m = n - first < STREAM_BLOCK_ELEMS ? n - first : STREAM_BLOCK_ELEMS;
    uint32_t key[STREAM_BLOCK_ELEMS];
    int64_t group[STREAM_BLOCK_ELEMS], taken = 0;
    s->keys(s, first, m, key);
    find_groups(job->piece, first, m, group);
    for (int64_t w = first / MEMORYX_WORD_BITS; w * MEMORYX_WORD_BITS < first + m; w++) {
        const int64_t at = w * MEMORYX_WORD_BITS - first;
        for (uint64_t bits = eligible(s, w, n); bits; bits &= bits - 1) {
            const int b = __builtin_ctzll(bits);
            const int64_t g = group[at + b];
            if (g < 0 || g >= job->piece->n || !job->found[g].of_shard) continue;
            if (key[at + b] != job->found[g].prefix) continue;
            s->taken[w] |= 1ULL << b;
            job->found[g].of_shard--;
            taken++;
        }
    }
    return taken;
}

/* `taken` may be the mask that determines which elements are eligible outside it: the bits of a
 * block are written only after they were read. */
static enum wsc_err take(const struct piece *piece, struct found *found)
{
    const struct memoryx_selection *s = piece->s;
    const int64_t blocks = (s->mx->part[s->tensor].n + STREAM_BLOCK_ELEMS - 1) / STREAM_BLOCK_ELEMS;
    struct take_job job = {.piece = piece, .found = found};
    int64_t left = 0;
    if (!blocks || !s->k) return WSC_OK;
    for (int g = 0; g < piece->n; g++)
        left += found[g].of_shard;
    TRY_NEW(job.equal, WSC_MEM_MEMORYX, blocks);
    num_parallel(blocks, take_block, &job);
    for (int64_t i = 0; i < blocks && left; i++)
        if (job.equal[i]) left -= take_equal(&job, i);
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
    for (int k = 0; k < r->n_slots; k++)
        found[k] = all[(int64_t)k * r->mx->n_shards + r->mx->shard];
    comm_buf_unref(&total);
    return WSC_OK;
}

/* Run the rounds of the pieces that are processed together. */
static enum wsc_err select_pieces(struct memoryx *mx, int64_t step, const struct piece *piece,
                                  int n_pieces, int n_slots)
{
    struct found *found;
    enum wsc_err rc = WSC_OK;
    TRY_NEW(found, WSC_MEM_MEMORYX, n_slots);
    for (int k = 0; k < n_pieces; k++)
        for (int g = 0; g < piece[k].n; g++)
            found[piece[k].slot + g].left = piece[k].s->k;
    struct round r = {
        .mx = mx, .piece = piece, .n_pieces = n_pieces, .n_slots = n_slots, .found = found};
    for (; r.index < N_ROUNDS && !rc; r.index++)
        rc = run_round(&r, step, found);
    for (int k = 0; k < n_pieces && !rc; k++)
        rc = take(&piece[k], found + piece[k].slot);
    wsc_free(found);
    return rc;
}

enum wsc_err memoryx_select(struct memoryx *mx, int64_t step, const struct memoryx_selection *list,
                            int n)
{
    struct piece *piece;
    enum wsc_err rc = WSC_OK;
    int64_t group = 0;
    TRY_NEW(piece, WSC_MEM_MEMORYX, MOST_SLOTS);
    for (int k = 0; k < n && !rc;) {
        int n_slots;
        const int n_pieces = cut_pieces(list, n, &k, &group, piece, &n_slots);
        rc = select_pieces(mx, step, piece, n_pieces, n_slots);
    }
    wsc_free(piece);
    return rc;
}
