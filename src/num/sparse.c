// SPDX-License-Identifier: Apache-2.0
/* Sorts a sparse matrix for products. Its non-zeros arrive in row-major order. The products need
 * them by blocks of inputs that fit the L1 cache; the gradient of the input needs the transposed
 * matrix in such an order too. Read next: sparse_product.c, sparse_loops.h. */
#include <wsc/num_sparse.h>

#include "sparse_kernels.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

static const struct num_sparse_unit *fastest_unit(void)
{
    static const struct num_sparse_unit *const unit[] = {&num_sparse_avx512, &num_sparse_avx2};
    for (int i = 0; i < 2; i++)
        if (unit[i]->here()) return unit[i];
    return &num_sparse_portable;
}

enum wsc_err num_sparse_create(struct num_sparse **out)
{
    TRY_NEW(*out, WSC_MEM_NUM, 1);
    (*out)->unit = fastest_unit();
    return WSC_OK;
}

static void order_clear(struct num_sparse_order *o)
{
    wsc_free(o->start);
    wsc_free(o->input);
    wsc_free(o->value);
    *o = (struct num_sparse_order){0};
}

static void clear(struct num_sparse *w)
{
    order_clear(&w->forward);
    order_clear(&w->back);
    wsc_free(w->first);
    wsc_free(w->wide);
    *w = (struct num_sparse){.unit = w->unit};
}

void num_sparse_destroy(struct num_sparse **w)
{
    if (*w) clear(*w);
    wsc_free(*w);
    *w = NULL;
}

static int64_t blocks_of(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

/* Number of segments of an order, including unused ones after the last output. */
static int64_t segments_of(const struct num_sparse_order *o)
{
    return blocks_of(o->n_out, NUM_SPARSE_OUTPUTS) * o->n_in_blocks * NUM_SPARSE_OUTPUTS;
}

static enum wsc_err order_create(struct num_sparse_order *o, int64_t n_out, int64_t n_in,
                                 int64_t n_kept)
{
    o->n_out = n_out;
    o->n_in = n_in;
    o->n_in_blocks = blocks_of(n_in, NUM_SPARSE_INPUTS);
    TRY_NEW(o->start, WSC_MEM_NUM, segments_of(o) + 2);
    TRY_NEW(o->input, WSC_MEM_NUM, n_kept + 1);
    TRY_NEW(o->value, WSC_MEM_NUM, n_kept + 1);
    return WSC_OK;
}

/* ---- the counting sort ----------------------------------------------------------------------- */

/* Both orders come from one counting sort in two passes over the mask: the first pass counts the
 * non-zeros of each segment, the second one stores each non-zero at the current end of its segment.
 * Threads divide the matrix by blocks of rows. A block of rows is one input block of the transposed
 * matrix, so no two threads write the same segment. */
struct sort {
    struct num_sparse *w;
    const uint64_t *bits;
    const float *values; /* in row-major order */
    bool transposed;
};

/* Iterator over the non-zeros of row @p row in input block @p block, one word of the mask at a
 * time. */
struct piece {
    int64_t at, end; /* elements of the mask */
    int64_t column;  /* of `at`, in its block */
};

static struct piece piece_of(const struct num_sparse *w, int64_t row, int64_t block)
{
    const int64_t column = block * NUM_SPARSE_INPUTS, left = w->cols - column;
    const int64_t at = row * w->cols + column;
    return (struct piece){at, at + (left < NUM_SPARSE_INPUTS ? left : NUM_SPARSE_INPUTS), 0};
}

/* The next word of a piece and the column of its lowest bit; false after the last one. */
static bool next_word(struct piece *p, const uint64_t *bits, uint64_t *word, int64_t *column)
{
    if (p->at == p->end) return false;
    const int64_t n = num_mask_length(p->at, p->end);
    *word = num_mask_bits(bits, p->at, n);
    *column = p->column;
    p->at += n;
    p->column += n;
    return true;
}

/* Counts are stored one segment later: after running_sums(), start[s + 1] is the beginning of
 * segment s; when the second pass has advanced it over the segment's non-zeros, it is the end. */
static void count_back(const struct sort *s, int64_t row, int64_t first_column, uint64_t word)
{
    const struct num_sparse_order *o = &s->w->back;
    for (; s->transposed && word; word &= word - 1) {
        const int64_t out = first_column + __builtin_ctzll(word);
        o->start[1 + num_sparse_segment(o, out, row / NUM_SPARSE_INPUTS)]++;
    }
}

static void count_row(const struct sort *s, int64_t row)
{
    const struct num_sparse *w = s->w;
    uint32_t n_row = 0;
    for (int64_t b = 0; b < w->forward.n_in_blocks; b++) {
        struct piece p = piece_of(w, row, b);
        uint64_t word;
        int64_t column;
        uint32_t n = 0;
        while (next_word(&p, s->bits, &word, &column)) {
            n += (uint32_t)__builtin_popcountll(word);
            count_back(s, row, b * NUM_SPARSE_INPUTS + column, word);
        }
        w->forward.start[1 + num_sparse_segment(&w->forward, row, b)] = n;
        n_row += n;
    }
    w->first[row + 1] = n_row;
}

static void count_rows(void *ctx, int64_t i, int thread)
{
    const struct sort *s = ctx;
    const int64_t first = i * NUM_SPARSE_INPUTS, end = first + NUM_SPARSE_INPUTS;
    (void)thread;
    for (int64_t row = first; row < end && row < s->w->rows; row++)
        count_row(s, row);
}

/* Replace the counts by the beginnings of the segments. */
static void running_sums(struct num_sparse_order *o)
{
    const int64_t n = segments_of(o);
    uint32_t at = 0;
    for (int64_t i = 1; i <= n; i++) {
        const uint32_t count = o->start[i];
        o->start[i] = at;
        at += count;
    }
}

static void put(struct num_sparse_order *o, int64_t out, int64_t block, int64_t input, float value)
{
    const uint32_t at = o->start[1 + num_sparse_segment(o, out, block)]++;
    o->input[at] = (uint8_t)input;
    o->value[at] = value;
}

/* Store the elements of one word of row @p row, whose lowest bit is column @p column of block @p
 * b, from index @p at on. Returns their number. */
static uint32_t put_word(const struct sort *s, int64_t row, int64_t b, int64_t column,
                         uint64_t word, uint32_t at, const float *value)
{
    struct num_sparse *w = s->w;
    uint32_t n = 0;
    for (; word; word &= word - 1, n++) {
        const int64_t input = column + __builtin_ctzll(word);
        w->forward.input[at + n] = (uint8_t)input;
        w->forward.value[at + n] = value[n];
        if (s->transposed)
            put(&w->back, b * NUM_SPARSE_INPUTS + input, row / NUM_SPARSE_INPUTS,
                row % NUM_SPARSE_INPUTS, value[n]);
    }
    return n;
}

static void put_row(const struct sort *s, int64_t row)
{
    struct num_sparse *w = s->w;
    const float *value = s->values + w->first[row];
    for (int64_t b = 0; b < w->forward.n_in_blocks; b++) {
        struct piece p = piece_of(w, row, b);
        uint64_t word;
        int64_t column;
        uint32_t *at = &w->forward.start[1 + num_sparse_segment(&w->forward, row, b)];
        while (next_word(&p, s->bits, &word, &column)) {
            const uint32_t n = put_word(s, row, b, column, word, *at, value);
            *at += n;
            value += n;
        }
    }
}

static void put_rows(void *ctx, int64_t i, int thread)
{
    const struct sort *s = ctx;
    const int64_t first = i * NUM_SPARSE_INPUTS, end = first + NUM_SPARSE_INPUTS;
    (void)thread;
    for (int64_t row = first; row < end && row < s->w->rows; row++)
        put_row(s, row);
}

static enum wsc_err allocate(struct num_sparse *w, const struct num_packed *p,
                             enum num_format format, bool transposed)
{
    w->rows = p->rows;
    w->cols = p->cols;
    TRY_NEW(w->first, WSC_MEM_NUM, p->rows + 1);
    TRY(order_create(&w->forward, p->rows, p->cols, p->n_kept));
    if (transposed) TRY(order_create(&w->back, p->cols, p->rows, p->n_kept));
    if (format != NUM_FP32) TRY_NEW(w->wide, WSC_MEM_NUM, p->n_kept + 1);
    return WSC_OK;
}

static void sort(const struct sort *s, int64_t n_kept)
{
    struct num_sparse *w = s->w;
    const int64_t n_blocks = blocks_of(w->rows, NUM_SPARSE_INPUTS);
    struct sort copy = *s;
    num_parallel(n_blocks, count_rows, &copy);
    for (int64_t row = 0; row < w->rows; row++)
        w->first[row + 1] += w->first[row];
    WSC_CHECK(w->first[w->rows] == n_kept, "%lld bits for %lld non-zeros",
              (long long)w->first[w->rows], (long long)n_kept);
    running_sums(&w->forward);
    if (s->transposed) running_sums(&w->back);
    num_parallel(n_blocks, put_rows, &copy);
}

enum wsc_err num_sparse_load(struct num_sparse *w, const struct num_packed *packed,
                             enum num_format format, bool transposed)
{
    WSC_CHECK(packed->n_kept < UINT32_MAX, "%lld non-zeros of one matrix",
              (long long)packed->n_kept);
    clear(w);
    const enum wsc_err rc = allocate(w, packed, format, transposed);
    if (rc) {
        clear(w);
        return rc;
    }
    if (w->wide) num_widen(format, w->wide, packed->values, packed->n_kept);
    const struct sort s = {w, packed->bits, w->wide ? w->wide : packed->values, transposed};
    sort(&s, packed->n_kept);
    return WSC_OK;
}

int64_t num_sparse_first(const struct num_sparse *w, int64_t row)
{
    return w->first[row];
}
