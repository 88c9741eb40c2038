// SPDX-License-Identifier: Apache-2.0
/* Writes a second operand that many products have in common in the order in which the product
 * library reads it fastest, once, so that no product transposes or packs it again. fp32: an operand
 * that is stored transposed is transposed, because the library multiplies by rows of B an eighth
 * faster than by its columns. Rows whose cache lines share few sets of the first-level cache are
 * moved apart, because they cost the library up to two fifths of its speed. bfloat16: the format
 * BA16a64b2a of the library, [n / 64][k / 32][16][64][2], which has blocks of 64 columns of pairs
 * of rows, and zeros after the last row and column. A block of 64 columns is one item of a parallel
 * loop. */
#include "library.h"
#include "num_impl.h"

#include <wsc/check.h>
#include <wsc/num_math.h>

#include <string.h>

enum { COLS = NUM_ARRANGED_COLS, ROWS = NUM_ARRANGED_ROWS, TILE = NUM_TRANSPOSE_TILE };

static int64_t up_to(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Words of a cache line. */
enum { LINE = 16 };

/* An odd number of cache lines: consecutive rows then begin in all sets of a cache. */
int64_t num_row_stride(int64_t n)
{
    const int64_t lines = (n + LINE - 1) / LINE;
    return num_library_minds_strides() ? (lines | 1) * LINE : n;
}

/* Rows at a distance of a multiple of four lines begin in at most a quarter of the sets of a
 * cache. */
bool num_is_crowded(int64_t ld)
{
    return ld % (4 * (int64_t)LINE) == 0 && num_library_minds_strides();
}

int64_t num_arranged_bytes(enum num_format format, int64_t k, int64_t n)
{
    if (num_multiplies_16(format)) return up_to(k, ROWS) * up_to(n, COLS) * 2;
    return format == NUM_FP32 ? k * num_row_stride(n) * 4 : 0;
}

bool num_arranges(enum num_format format, const struct num_product *p)
{
    if (p->m <= 0 || p->n <= 0 || p->k <= 0) return false;
    if (format == NUM_FP32)
        return p->trans_b ? !p->trans_a && num_library_prefers_rows() : num_is_crowded(p->ldb);
    return num_multiplies_16(format) && num_library_has_arranged(p);
}

/* Rows at large distances are not a stream for the processor, so it does not prefetch them. Later
 * rows are prefetched here; their addresses may lie after the end of the operand. */
enum { AHEAD = 16 };
static inline void fetch_rows(const char *row, int64_t ld, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        __builtin_prefetch(row + i * ld);
}

/* Transpose a tile, or the part of a tile at an edge, word by word. */
static void transpose_words(char *restrict out, int64_t ld_out, const char *restrict in, int64_t ld,
                            int64_t rows, int64_t cols)
{
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(out + c * ld_out + r * 4, in + r * ld + c * 4, 4);
}

/* Transpose words of 32 bits (rows, cols) to (cols, rows), strides in bytes. It goes tile by tile,
 * so that what a tile reads and writes stays in the cache. Addresses need not be aligned. */
static void transpose_tiles(char *restrict out, int64_t ld_out, const char *restrict in, int64_t ld,
                            int64_t rows, int64_t cols)
{
    const num_transpose_fn avx512 = num_transpose_avx512(),
                           transpose_tile = avx512 ? avx512 : num_transpose_avx2();
    for (int64_t r = 0; r < rows; r += TILE) {
        const int64_t n_rows = rows - r < TILE ? rows - r : TILE;
        for (int64_t c = 0; c < cols; c += TILE) {
            const int64_t n_cols = cols - c < TILE ? cols - c : TILE;
            char *to = out + c * ld_out + r * 4;
            const char *from = in + r * ld + c * 4;
            fetch_rows(from + AHEAD * ld, ld, n_rows);
            if (transpose_tile && n_rows == TILE && n_cols == TILE)
                transpose_tile(to, ld_out, from, ld);
            else
                transpose_words(to, ld_out, from, ld, n_rows, n_cols);
        }
    }
}

/* Interleave pairs of rows k, k + 1 of B, column by column: @p out has the words [k / 2][64]. */
NUM_CLONES static void pair_rows(uint16_t *restrict out, const uint16_t *restrict b, int64_t ldb,
                                 int64_t k, int64_t n)
{
    for (int64_t r = 0; r + 1 < k; r += 2) {
        const uint16_t *restrict low = b + r * ldb, *restrict high = low + ldb;
        uint16_t *restrict to = out + r * COLS;
        fetch_rows((const char *)(low + AHEAD * ldb), ldb * 2, 2);
        fetch_rows((const char *)(low + AHEAD * ldb + COLS / 2), ldb * 2, 2);
        for (int64_t c = 0; c < n; c++) {
            to[2 * c] = low[c];
            to[2 * c + 1] = high[c];
        }
    }
    for (int64_t c = 0; k % 2 && c < n; c++)
        out[(k - 1) * COLS + 2 * c] = b[(k - 1) * ldb + c];
}

/* An operand that is stored transposed already has each pair in one word, so words are
 * transposed. */
static void pair_columns(uint16_t *out, const uint16_t *b, int64_t ldb, int64_t k, int64_t n)
{
    transpose_tiles((char *)out, (int64_t)COLS * 4, (const char *)b, ldb * 2, n, k / 2);
    for (int64_t c = 0; k % 2 && c < n; c++)
        out[(k - 1) * COLS + 2 * c] = b[c * ldb + k - 1];
}

/* Split the words of a transposed row, which are pairs of elements, into an even column and the
 * odd column after it. */
NUM_CLONES static void split(uint16_t *restrict even, uint16_t *restrict odd,
                             const uint32_t *restrict words, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        even[i] = (uint16_t)words[i];
        odd[i] = (uint16_t)(words[i] >> 16);
    }
}

/* Transpose at most SOME rows of @p n_words pairs of columns. */
enum { SOME = 256 };
static void transpose_pairs(uint16_t *restrict out, int64_t ld_out, const uint16_t *restrict in,
                            int64_t ld, int64_t rows, int64_t n_words)
{
    uint32_t words[TILE][SOME];
    transpose_tiles((char *)words, sizeof *words, (const char *)in, ld * 2, rows, n_words);
    for (int64_t i = 0; i < n_words; i++)
        split(out + 2 * i * ld_out, out + (2 * i + 1) * ld_out, words[i], rows);
}

void num_transpose_16(uint16_t *restrict out, int64_t ld_out, const uint16_t *restrict in,
                      int64_t ld, int64_t rows, int64_t cols)
{
    for (int64_t c = 0; c + 1 < cols; c += (int64_t)2 * TILE) {
        const int64_t left = (cols - c) / 2, n_words = left < TILE ? left : TILE;
        for (int64_t r = 0; r < rows; r += SOME)
            transpose_pairs(out + c * ld_out + r, ld_out, in + r * ld + c, ld,
                            rows - r < SOME ? rows - r : SOME, n_words);
    }
    for (int64_t r = 0; cols % 2 && r < rows; r++)
        out[(cols - 1) * ld_out + r] = in[r * ld + cols - 1];
}

struct arrange_job {
    enum num_format format;
    const struct num_product *p;
    const char *b;
    char *out;
};

static void arrange_columns(void *ctx, int64_t i, int thread)
{
    const struct arrange_job *job = ctx;
    const struct num_product *p = job->p;
    const int64_t first = i * COLS, left = p->n - first, n = left < COLS ? left : COLS;
    (void)thread;
    if (job->format == NUM_FP32) {
        transpose_tiles(job->out + first * 4, num_row_stride(p->n) * 4, job->b + first * p->ldb * 4,
                        p->ldb * 4, n, p->k);
        return;
    }
    const int64_t k = up_to(p->k, ROWS), size = k * COLS;
    uint16_t *out = (uint16_t *)(void *)job->out + i * size;
    const uint16_t *b = (const uint16_t *)(const void *)job->b;
    if (n < COLS || p->k < k) memset(out, 0, (size_t)size * sizeof *out);
    if (p->trans_b)
        pair_columns(out, b + first * p->ldb, p->ldb, p->k, n);
    else
        pair_rows(out, b + first, p->ldb, p->k, n);
}

void num_set_apart(float *restrict out, const float *restrict x, int64_t ld, int64_t rows,
                   int64_t cols)
{
    const int64_t apart = num_row_stride(cols);
    for (int64_t i = 0; i < rows; i++)
        memcpy(out + i * apart, x + i * ld, (size_t)cols * sizeof *x);
}

/* Copy block @p i of the rows of an fp32 operand to rows with another stride. */
static void arrange_rows(void *ctx, int64_t i, int thread)
{
    const struct arrange_job *job = ctx;
    const struct num_product *p = job->p;
    const int64_t first = i * ROWS, left = p->k - first;
    (void)thread;
    num_set_apart((float *)(void *)job->out + first * num_row_stride(p->n),
                  (const float *)(const void *)job->b + first * p->ldb, p->ldb,
                  left < ROWS ? left : ROWS, p->n);
}

void num_arrange(enum num_format format, const struct num_product *p, const void *b, void *out)
{
    struct arrange_job job = {format, p, b, out};
    WSC_CHECK(num_arranges(format, p), "a product %lld x %lld x %lld takes no arranged operand",
              (long long)p->m, (long long)p->n, (long long)p->k);
    if (format == NUM_FP32 && !p->trans_b)
        num_parallel((p->k + ROWS - 1) / ROWS, arrange_rows, &job);
    else
        num_parallel((p->n + COLS - 1) / COLS, arrange_columns, &job);
}

bool num_gemm_arranged(enum num_format format, const struct num_product *p, const void *a,
                       const void *arranged, float *c)
{
    struct num_product q = *p;
    if (num_multiplies_16(format))
        return num_product_prepare(p, c) && num_library_bf16_arranged(p, a, arranged, c);
    if (!num_arranges(format, p) || !num_product_prepare(p, c)) return false;
    q.trans_b = false;
    q.ldb = num_row_stride(p->n);
    num_library_gemm(&q, a, arranged, c);
    return true;
}
