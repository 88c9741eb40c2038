// SPDX-License-Identifier: Apache-2.0
#include "data_impl.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <math.h>
#include <string.h>

enum { BATCH_BYTES = 1 << 22, PART_TRAIN = 0, PART_VAL = 1 };

/* Longer than any sequence, short enough to hold one in memory. */
static const int64_t max_T = (int64_t)1 << 24;

/* One run of data_make_bytes(). */
struct job {
    const struct data_make *make;
    int64_t n_bytes, n_samples, bytes_done;
    struct data_text *text;
    unsigned char *bytes; /* T + 1: the current sample, its first byte is the last one's last */
    int32_t *rows;        /* batch x (3, T) */
    int64_t batch;        /* samples that rows holds */
    struct data_part part[2];
    char *dir[2], *tmp[2];
};

static enum wsc_err check_make(const struct data_make *make)
{
    if (make->n_inputs < 1) return WSC_RAISE(WSC_USAGE, "no input: give at least one text file");
    if (make->T < 1 || make->T > max_T)
        return WSC_RAISE(WSC_USAGE, "max_seq_length is %lld, expected 1 to %lld",
                         (long long)make->T, (long long)max_T);
    if (!(make->split >= 0 && make->split < 1))
        return WSC_RAISE(WSC_USAGE, "split is %g, expected a share from 0 to below 1", make->split);
    if (make->samples_per_file < 1)
        return WSC_RAISE(WSC_USAGE, "samples per file is %lld, expected at least 1",
                         (long long)make->samples_per_file);
    if (!make->out_dir || !*make->out_dir) return WSC_RAISE(WSC_USAGE, "no output folder");
    return WSC_OK;
}

/* Every byte but the first is a label once; a part with one label is still a sample. */
static enum wsc_err count_samples(struct job *j)
{
    const struct data_make *m = j->make;
    TRY(data_text_size(m->input, m->n_inputs, &j->n_bytes));
    if (j->n_bytes < 2)
        return WSC_RAISE(WSC_USAGE, "%s: the input has %lld bytes, expected at least 2",
                         m->input[0], (long long)j->n_bytes);
    j->n_samples = (j->n_bytes - 1 + m->T - 1) / m->T;
    int64_t held = llround((double)j->n_samples * m->split);
    if (m->split > 0 && held < 1) held = 1;
    if (m->split > 0 && j->n_samples < 2)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "%s: the input makes one sample of length %lld, "
                                      "which cannot be split",
                                      m->input[0], (long long)m->T),
                            "give more text, a smaller max_seq_length, or split 0");
    if (held > j->n_samples - 1) held = j->n_samples - 1;
    j->part[PART_TRAIN].n_samples = j->n_samples - held;
    j->part[PART_VAL].n_samples = held;
    j->part[PART_VAL].first = j->n_samples - held;
    return WSC_OK;
}

static enum wsc_err prepare(struct job *j)
{
    static const char *const name[2] = {"train", "val"};
    const struct data_make *m = j->make;
    TRY(check_make(m));
    TRY(count_samples(j));
    j->batch = BATCH_BYTES / (12 * m->T) + 1;
    j->bytes = wsc_alloc(WSC_MEM_DATA, (size_t)m->T + 1, 1);
    j->rows = wsc_alloc(WSC_MEM_DATA, (size_t)(j->batch * m->T), 3 * sizeof *j->rows);
    if (!j->bytes || !j->rows) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "buffers");
    for (int p = 0; p < 2; p++) {
        j->dir[p] = wsc_asprintf(WSC_MEM_DATA, "%s/%s", m->out_dir, name[p]);
        j->tmp[p] = wsc_asprintf(WSC_MEM_DATA, "%s/%s.tmp", m->out_dir, name[p]);
        if (!j->dir[p] || !j->tmp[p])
            return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "output paths");
        TRY(data_folder_check(j->dir[p]));
    }
    TRY(data_text_open(&j->text, m->input, m->n_inputs));
    return WSC_OK;
}

/* Fill bytes[from ..] of the sample; *n is how many came, fewer only at the end. */
static enum wsc_err fill_bytes(struct job *j, int64_t from, int64_t *n)
{
    int64_t room = j->make->T + 1 - from, got = 1;
    for (*n = 0; *n < room && got > 0; *n += got)
        TRY(data_text_read(j->text, j->bytes + from + *n, room - *n, &got));
    j->bytes_done += *n;
    return WSC_OK;
}

/* Rows of the sample whose first @p valid labels exist; the rest is padding. */
static void spread_sample(const struct job *j, int64_t valid, int32_t *row, struct data_part *part)
{
    int64_t T = j->make->T;
    memset(row, 0, (size_t)T * 3 * sizeof *row);
    for (int64_t t = 0; t < valid; t++) {
        row[t] = j->bytes[t];
        row[T + t] = 1;
        row[2 * T + t] = j->bytes[t + 1];
        part->label_count[j->bytes[t + 1]]++;
        part->n_chars += (j->bytes[t + 1] & 0xC0) != 0x80; /* not a continuation byte of UTF-8 */
    }
    part->n_bytes += valid;
    part->n_tokens += T;
    part->n_masked += T - valid;
}

static enum wsc_err next_sample(struct job *j, int32_t *row, struct data_part *part)
{
    bool start = j->bytes_done == 0;
    int64_t n = 0, T = j->make->T;
    if (!start) j->bytes[0] = j->bytes[T];
    TRY(fill_bytes(j, start ? 0 : 1, &n));
    int64_t valid = start ? n - 1 : n;
    if (valid < 1 || (valid < T && j->bytes_done != j->n_bytes))
        return WSC_RAISE(WSC_IO, "%s: the input changed while it was read", j->make->input[0]);
    if (start) { /* the only byte that is never a label */
        part->n_bytes++;
        part->n_chars += (j->bytes[0] & 0xC0) != 0x80;
    }
    spread_sample(j, valid, row, part);
    return WSC_OK;
}

static enum wsc_err append_samples(struct job *j, struct data_part *part,
                                   struct store_samples_writer *w, int64_t n)
{
    for (int64_t done = 0; done < n;) {
        int64_t k = n - done < j->batch ? n - done : j->batch;
        for (int64_t i = 0; i < k; i++)
            TRY(next_sample(j, j->rows + i * 3 * j->make->T, part));
        TRY(store_samples_append(w, j->rows, k));
        done += k;
        if (j->make->progress) j->make->progress(j->make->progress_ctx, j->bytes_done, j->n_bytes);
    }
    return WSC_OK;
}

static enum wsc_err write_file(struct job *j, int p, int64_t index, int64_t n)
{
    struct store_samples_writer *w = NULL;
    char *path = wsc_asprintf(WSC_MEM_DATA, "%s/data-%05lld.h5", j->tmp[p], (long long)index);
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "path");
    enum wsc_err rc = store_samples_create(&w, path, n, j->make->T);
    wsc_free(path);
    if (!rc) rc = append_samples(j, &j->part[p], w, n);
    if (rc)
        store_samples_discard(&w);
    else
        rc = store_samples_finish(&w);
    return rc;
}

static enum wsc_err write_part(struct job *j, int p)
{
    int64_t n = j->part[p].n_samples, per_file = j->make->samples_per_file;
    if (!n) return WSC_OK;
    TRY(data_folder_begin(j->tmp[p]));
    for (int64_t done = 0, index = 0; done < n; done += per_file, index++)
        TRY(write_file(j, p, index, n - done < per_file ? n - done : per_file));
    TRY(data_params_write(j->tmp[p], j->make, &j->part[p]));
    return WSC_OK;
}

/* A val/ of an earlier run must not stay beside a train/ that now has its text. */
static enum wsc_err put_in_place(struct job *j)
{
    for (int p = 0; p < 2; p++) {
        if (j->part[p].n_samples)
            TRY(data_folder_finish(j->tmp[p], j->dir[p]));
        else
            data_folder_remove(j->dir[p]);
    }
    return WSC_OK;
}

static void release(struct job *j)
{
    for (int p = 0; p < 2; p++) {
        if (j->tmp[p]) data_folder_remove(j->tmp[p]);
        wsc_free(j->tmp[p]);
        wsc_free(j->dir[p]);
    }
    data_text_close(&j->text);
    wsc_free(j->bytes);
    wsc_free(j->rows);
    wsc_free(j);
}

enum wsc_err data_make_bytes(const struct data_make *make, struct data_made *made)
{
    struct job *j = NULL;
    TRY_NEW(j, WSC_MEM_DATA, 1);
    j->make = make;
    enum wsc_err rc = prepare(j);
    if (!rc) rc = write_part(j, PART_TRAIN);
    if (!rc) rc = write_part(j, PART_VAL);
    if (!rc) rc = put_in_place(j);
    if (!rc)
        *made = (struct data_made){.n_bytes = j->n_bytes,
                                   .n_train = j->part[PART_TRAIN].n_samples,
                                   .n_val = j->part[PART_VAL].n_samples,
                                   .vocab_size = 256,
                                   .unigram_entropy_nats = data_part_entropy(&j->part[PART_TRAIN])};
    release(j);
    return rc;
}
