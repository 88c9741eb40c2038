// SPDX-License-Identifier: Apache-2.0
/* Copies values from one side to the other a block at a time, so that memory does not grow with a
 * tensor. Lines that are consecutive on both sides are copied together; a transposed tensor is
 * copied by blocks of its columns. tensor_map.c matches the lines; from_hf.c and to_hf.c call. */
#include "tensor_mover.h"
#include "hf_family.h"
#include "json_file.h"
#include "safetensors_writer.h"
#include "tensor_map.h"
#include "weight_files.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/model_stored.h>

#include <math.h>

/* Both blocks hold at least one line of the widest pair. */
enum wsc_err convert_mover_init(struct convert_mover *m, const struct convert_map *map,
                                const struct convert_job *job)
{
    int64_t elems = CONVERT_BLOCK_ELEMS;
    *m = (struct convert_mover){.job = job};
    for (int i = 0; i < map->n_pairs; i++) {
        const struct convert_pair *p = &map->pair[i];
        const int64_t longest = p->width > p->n_lines ? p->width : p->n_lines;
        if (p->n_dims > 1 && longest > elems) elems = longest;
        m->total += p->n_lines * p->width;
    }
    m->elems = elems;
    TRY_NEW(m->block, WSC_MEM_CONVERT, elems);
    TRY_NEW(m->source, WSC_MEM_CONVERT, elems);
    return WSC_OK;
}

void convert_mover_fini(struct convert_mover *m)
{
    wsc_free(m->block);
    wsc_free(m->source);
    *m = (struct convert_mover){0};
}

/* Every run with such a value ends at it, and its message cannot say where it came from. */
static void warn_of_not_finite(struct convert_mover *m, const char *name, const float *x, int64_t n)
{
    int64_t i = 0;
    while (i < n && isfinite(x[i]))
        i++;
    if (i == n || m->warned) return;
    m->warned = true;
    WSC_WARNING("tensor %s has values that are not finite, such as %g", name, (double)x[i]);
}

static void tell(struct convert_mover *m, const struct convert_pair *p, int64_t n)
{
    warn_of_not_finite(m, p->hf, m->block, n);
    m->done += n;
    if (m->job->progress) m->job->progress(m->job->progress_ctx, m->done, m->total);
}

/* In place; without a factor and a difference no bits change. */
static void scale(float *x, int64_t n, float factor, float difference)
{
    if (factor == 1 && difference == 0) return;
    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] * factor + difference;
}

enum { TILE = 32 };

/* Transpose: out (columns, rows; a row every @p stride) = in (rows, columns), for columns [c0, c1).
 */
static void transpose_strip(float *out, int64_t stride, const float *in, int64_t rows,
                            int64_t columns, int64_t c0, int64_t c1)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = c0; c < c1; c++)
            out[c * stride + r] = in[r * columns + c];
}

/* Transpose in strips of TILE columns, so that the output stays in the cache. */
static void transpose(float *out, int64_t stride, const float *in, int64_t rows, int64_t columns)
{
    for (int64_t c0 = 0; c0 < columns; c0 += TILE)
        transpose_strip(out, stride, in, rows, columns, c0,
                        c0 + TILE < columns ? c0 + TILE : columns);
}

/* ---- from Hugging Face ----------------------------------------------------------------------- */

/* Number of rows of part @p part from @p row on whose lines are consecutive, at most @p most. */
static int64_t run_of_rows(const struct convert_pair *p, int part, int64_t row, int64_t most)
{
    const int64_t line = convert_pair_line(p, part, row);
    int64_t k = 1;
    while (k < most && convert_pair_line(p, part, row + k) == line + k)
        k++;
    return k;
}

/* Read rows [row, row + n) of a part into the block, one run of consecutive lines at a time. */
static enum wsc_err read_rows(struct convert_mover *m, const struct convert_pair *p, int part,
                              int64_t row, int64_t n)
{
    for (int64_t done = 0; done < n;) {
        const int64_t line = convert_pair_line(p, part, row + done);
        const int64_t k = run_of_rows(p, part, row + done, n - done);
        const struct store_box rows = {line, k, 0, p->width}, columns = {0, p->width, line, k};
        const bool transposed = p->layout & CONVERT_TRANSPOSED;
        float *to = m->block + done * p->width;
        TRY(convert_files_read(m->files, m->from, transposed ? &columns : &rows,
                               transposed ? m->source : to));
        if (transposed) transpose(to, p->width, m->source, p->width, k);
        done += k;
    }
    return WSC_OK;
}

/* Part by part, in blocks of whole rows; the tensors of this program are written in their order. */
enum wsc_err convert_move_to_cs(struct convert_mover *m, const struct convert_pair *p,
                                const struct model *model)
{
    const int64_t most = m->elems / p->width;
    m->warned = false;
    for (int part = 0; part < p->n_parts; part++)
        for (int64_t row = 0; row < p->lines[part]; row += most) {
            const int64_t left = p->lines[part] - row, n = left < most ? left : most;
            TRY(read_rows(m, p, part, row, n));
            scale(m->block, n * p->width, 1, p->offset);
            TRY(store_write(m->store, model->tensor[p->tensor[part]].name, row * p->width,
                            n * p->width, m->block));
            tell(m, p, n * p->width);
        }
    return WSC_OK;
}

/* ---- to Hugging Face ------------------------------------------------------------------------- */

/* A segment: lines that are consecutive rows of one of our tensors. */
struct segment {
    int64_t row, n;
    float factor;
    bool pruned; /* its tensor is sparse according to the params */
    char name[STORE_NAME_BYTES];
};

/* The segment that begins at @p line, with at most @p most lines; `name`: its tensor in the
 * checkpoint. */
static void segment_of_lines(const struct convert_mover *m, const struct convert_pair *p,
                             const struct model *model, int64_t line, int64_t most,
                             struct segment *s)
{
    int part, other;
    s->row = convert_pair_row(p, line, &part);
    s->n = 1;
    while (s->n < most && convert_pair_row(p, line + s->n, &other) == s->row + s->n &&
           other == part)
        s->n++;
    const struct model_tensor *t = &model->tensor[p->tensor[part]];
    const struct store_tensor tensor = model_stored(t);
    (void)store_find_tensor(m->store, &tensor, s->name);
    s->factor = p->factor[part];
    s->pruned = t->sparsity >= 0;
}

/* Releases 1.7 to 1.9 mark pruned weights with NaN; other programs expect zeros. */
static void zero_pruned(const struct segment *s, float *x, int64_t n)
{
    for (int64_t i = 0; i < n && s->pruned; i++)
        x[i] = isnan(x[i]) ? 0.0F : x[i];
}

/* Gather lines [line, line + n) as rows of the block. */
static enum wsc_err gather_rows(struct convert_mover *m, const struct convert_pair *p,
                                const struct model *model, int64_t line, int64_t n)
{
    struct segment s;
    for (int64_t done = 0; done < n; done += s.n) {
        segment_of_lines(m, p, model, line + done, n - done, &s);
        TRY(store_read(m->store, s.name, STORE_F32, s.row * p->width, s.n * p->width,
                       m->block + done * p->width));
        zero_pruned(&s, m->block + done * p->width, s.n * p->width);
        scale(m->block + done * p->width, s.n * p->width, s.factor, -p->offset);
    }
    return WSC_OK;
}

/* Gather input features [first, first + n) as rows of the block, with all lines as its columns. */
static enum wsc_err gather_columns(struct convert_mover *m, const struct convert_pair *p,
                                   const struct model *model, int64_t first, int64_t n)
{
    struct segment s;
    for (int64_t line = 0; line < p->n_lines; line += s.n) {
        segment_of_lines(m, p, model, line, p->n_lines - line, &s);
        const struct store_box box = {s.row, s.n, first, n};
        TRY(store_read_box(m->store, s.name, &box, m->source));
        zero_pruned(&s, m->source, s.n * n);
        scale(m->source, s.n * n, s.factor, -p->offset);
        transpose(m->block + line, p->n_lines, m->source, s.n, n);
    }
    return WSC_OK;
}

/* In blocks of whole rows of the folder's tensor, because the writer takes values in their order.
 */
enum wsc_err convert_move_to_hf(struct convert_mover *m, const struct convert_pair *p,
                                const struct model *model)
{
    const bool transposed = p->layout & CONVERT_TRANSPOSED;
    int64_t shape[2];
    convert_pair_shape(p, shape);
    const int64_t most = m->elems / shape[1];
    m->warned = false;
    for (int64_t row = 0; row < shape[0]; row += most) {
        const int64_t n = shape[0] - row < most ? shape[0] - row : most;
        if (transposed)
            TRY(gather_columns(m, p, model, row, n));
        else
            TRY(gather_rows(m, p, model, row, n));
        TRY(convert_writer_append(m->writer, m->block, n * shape[1]));
        tell(m, p, n * shape[1]);
    }
    return WSC_OK;
}
