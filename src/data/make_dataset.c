// SPDX-License-Identifier: Apache-2.0
/* The second half of making a dataset: cuts the corpus of tokens into samples, divides these among
 * the parts, and writes the files. */
#include "corpus.h"
#include "dataset_folder.h"
#include "dataset_params.h"
#include "documents.h"
#include "permute.h"
#include "sample_layout.h"
#include "tokenizer.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { BATCH_BYTES = 1 << 22 };

/* Longer than any sequence, short enough to hold one in memory; with five rows of 32 bits below the
 * largest chunk that the reader takes (src/store/h5.c). */
static const int64_t max_T = (int64_t)1 << 23;

/* State of one run of data_make_dataset(). */
struct job {
    const struct data_make *make;
    struct data_made *made;
    struct data_inputs inputs;
    struct data_corpus *corpus;
    struct data_samples *samples;
    char *work; /* folder of the corpus */
    bool out_is_new;
    int64_t n_samples, n_written;
    struct token {
        int32_t n_bytes, n_chars;
    } * token;     /* indexed by id */
    int32_t *rows; /* batch x (R, T) */
    int64_t batch; /* number of samples in `rows` */
    struct data_part part[DATA_N_PARTS];
    char *dir[DATA_N_PARTS], *tmp[DATA_N_PARTS];
};

/* ---- the request ----------------------------------------------------------------------------- */

/* Check a special id: any that a table of 2^22 tokens may have; BOS and EOS may be missing. */
static enum wsc_err check_id(const char *name, int64_t id, bool may_miss)
{
    if ((may_miss && id == DATA_NO_ID) || (id >= 0 && id < 1 << 22)) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "%s is %lld, expected 0 to %d", name, (long long)id, (1 << 22) - 1);
}

/* Check the fractions of val and test; train has the remaining samples, at least one. */
static enum wsc_err check_shares(const struct data_make *make)
{
    double sum = 0;
    for (int p = DATA_VAL; p < DATA_N_PARTS; p++) {
        double share = make->share[p];
        if (!(share >= 0 && share < 1))
            return WSC_RAISE(WSC_USAGE, "split is %g, expected a share from 0 to below 1", share);
        sum += share;
    }
    if (sum < 1) return WSC_OK;
    return WSC_RAISE(WSC_USAGE,
                     "--split, --test_split: fractions add up to %g, expected less than 1", sum);
}

/* Check that rows of positions and spans fit the type of the ids. */
static enum wsc_err check_spans(const struct data_make *make)
{
    if (!make->use_vsl) return WSC_OK;
    if (make->eos_id == DATA_NO_ID)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "use_vsl needs an EOS, which separates texts"),
                            "--eos_id %lld", (long long)data_tokenizer_vocab_size(make->tokenizer));
    if (make->type != STORE_UINT16 || make->T <= 1 << 16) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "uint16 holds positions up to 65535"),
                        "--dtype int32");
}

/* Check the request before anything is read or made. */
static enum wsc_err check_make(const struct data_make *make)
{
    if (make->n_inputs < 1) return WSC_RAISE(WSC_USAGE, "no input: give at least one text file");
    if (make->T < 1 || make->T > max_T)
        return WSC_RAISE(WSC_USAGE, "max_seq_length is %lld, expected 1 to %lld",
                         (long long)make->T, (long long)max_T);
    TRY(check_shares(make));
    TRY(check_id("bos_id", make->bos_id, true));
    TRY(check_id("eos_id", make->eos_id, true));
    TRY(check_id("pad_id", make->pad_id, false));
    if (make->samples_per_file < 1)
        return WSC_RAISE(WSC_USAGE, "samples per file is %lld, expected at least 1",
                         (long long)make->samples_per_file);
    TRY(check_spans(make));
    if (!make->out_dir || !*make->out_dir) return WSC_RAISE(WSC_USAGE, "no output folder");
    if (make->type == STORE_UINT16 && data_make_vocab_size(make) > 1 << 16)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "uint16 holds ids up to 65535, the largest is %lld",
                                      (long long)data_make_vocab_size(make) - 1),
                            "--dtype int32");
    return WSC_OK;
}

/* ---- how many samples go where --------------------------------------------------------------- */

/* Divide the samples by the fractions: test at the end of the order, val before it, train before
 * both; each requested part gets at least one sample. */
static enum wsc_err count_samples(struct job *j)
{
    const struct data_make *m = j->make;
    int64_t n_tokens = j->made->n_tokens, left;
    int n_parts = 1;
    if (n_tokens < 2)
        return WSC_RAISE(WSC_USAGE, "%s: the input has %lld tokens, expected at least 2",
                         m->input[0], (long long)n_tokens);
    TRY(data_samples_open(&j->samples, j->corpus, m, j->work));
    j->n_samples = left = data_samples_n(j->samples);
    for (int p = DATA_VAL; p < DATA_N_PARTS; p++)
        n_parts += m->share[p] > 0;
    if (j->n_samples < n_parts)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "%s: the input makes %lld samples of length %lld, which "
                                      "cannot be split into %d parts",
                                      m->input[0], (long long)j->n_samples, (long long)m->T,
                                      n_parts),
                            "give more text, a smaller max_seq_length, or split 0");
    for (int p = DATA_N_PARTS - 1; p >= DATA_VAL; p--) {
        int64_t n = llround((double)j->n_samples * m->share[p]);
        n_parts -= m->share[p] > 0;
        if (m->share[p] > 0 && n < 1) n = 1;
        if (n > left - n_parts) n = left - n_parts;
        left -= n;
        j->part[p].first = left;
        j->part[p].n_samples = n;
    }
    j->part[DATA_TRAIN].n_samples = left;
    return WSC_OK;
}

/* Bytes and characters of each token, for the counts of text; BOS and EOS have none. */
static void measure_tokens(struct job *j)
{
    for (int64_t id = 0; id < data_tokenizer_vocab_size(j->make->tokenizer); id++) {
        int64_t n = 0;
        const unsigned char *bytes = data_tokenizer_bytes(j->make->tokenizer, (int32_t)id, &n);
        j->token[id].n_bytes = (int32_t)n;
        for (int64_t i = 0; i < n; i++) /* all but continuation bytes of UTF-8 */
            j->token[id].n_chars += (bytes[i] & 0xC0) != 0x80;
    }
    const int64_t mark[] = {j->make->bos_id, j->make->eos_id};
    for (int i = 0; i < 2; i++)
        if (mark[i] != DATA_NO_ID) j->token[mark[i]] = (struct token){0, 0};
}

/* Allocate rows of a few samples, about BATCH_BYTES. */
static enum wsc_err make_buffers(struct job *j)
{
    int64_t T = j->make->T, V = j->made->vocab_size;
    const size_t sample = (size_t)data_samples_rows(j->samples) * (size_t)T;
    j->batch = BATCH_BYTES / (12 * T) + 1;
    j->rows = wsc_alloc_raw(WSC_MEM_DATA, (size_t)j->batch, sample * sizeof *j->rows);
    j->token = wsc_alloc(WSC_MEM_DATA, (size_t)V, sizeof *j->token);
    if (!j->rows || !j->token) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "buffers");
    for (int p = 0; p < DATA_N_PARTS; p++) {
        TRY_NEW(j->part[p].label_count, WSC_MEM_DATA, V);
        j->part[p].of_text = true;
    }
    measure_tokens(j);
    return WSC_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void add_text(const struct job *j, struct data_part *part, int32_t id, int64_t times)
{
    part->n_bytes += j->token[id].n_bytes * times;
    part->n_chars += j->token[id].n_chars * times;
}

/* Count each token of the text once: by labels, or by inputs if texts are not consecutive. */
static void count_places(struct job *j, struct data_part *part, const int32_t *rows, int64_t n)
{
    const int32_t *label = rows + 2 * j->make->T;
    for (int64_t t = 0; t < n; t++)
        part->label_count[label[t]]++;
    for (int64_t t = 0; j->make->use_vsl && t < n; t++)
        add_text(j, part, rows[t], 1);
    part->n_tokens += j->make->T;
    part->n_masked += j->make->T - n;
    part->n_pad += j->make->T - n;
}

/* In plain samples each token is a label once, so the counts of labels give the text. */
static void count_labels(const struct job *j, struct data_part *part)
{
    for (int64_t id = 0; !j->make->use_vsl && id < j->made->vocab_size; id++)
        add_text(j, part, (int32_t)id, part->label_count[id]);
}

/* Read the rows of the sample at index @p at of the order. */
static enum wsc_err read_sample(struct job *j, int64_t at, int32_t *rows, struct data_part *part)
{
    const struct data_make *m = j->make;
    int64_t i = m->shuffle ? data_permute(at, j->n_samples, (uint64_t)m->seed, 0) : at, n = 0;
    TRY(data_samples_read(j->samples, i, rows, &n));
    if (!i && !m->use_vsl) add_text(j, part, rows[0], 1); /* the only token that is never a label */
    count_places(j, part, rows, n);
    return WSC_OK;
}

/* Write the samples of one file; without a writer they are only counted. */
static enum wsc_err take_samples(struct job *j, struct data_part *part, int64_t first, int64_t n,
                                 struct store_samples_writer *w)
{
    const int64_t size = data_samples_rows(j->samples) * j->make->T;
    for (int64_t done = 0; done < n;) {
        int64_t k = n - done < j->batch ? n - done : j->batch;
        for (int64_t i = 0; i < k; i++)
            TRY(read_sample(j, first + done + i, j->rows + i * size, part));
        if (w) TRY(store_samples_append(w, j->rows, k));
        done += k;
        j->n_written += k;
        if (j->make->progress)
            j->make->progress(j->make->progress_ctx, "samples", j->n_written, j->n_samples);
    }
    return WSC_OK;
}

/* A file that is there is complete, and was written by an interrupted run of this request. */
static enum wsc_err write_file(struct job *j, struct data_part *part, const char *path,
                               int64_t first, int64_t n)
{
    struct store_samples_writer *w = NULL;
    const struct store_samples_shape shape = {
        .n = n, .T = j->make->T, .type = j->make->type, .vsl = j->make->use_vsl};
    if (access(path, F_OK) == 0) return take_samples(j, part, first, n, NULL);
    enum wsc_err rc = store_samples_create(&w, path, &shape);
    if (!rc) rc = take_samples(j, part, first, n, w);
    if (rc)
        store_samples_discard(&w);
    else
        rc = store_samples_finish(&w);
    return rc;
}

static enum wsc_err write_part(struct job *j, int p)
{
    struct data_part *part = &j->part[p];
    int64_t n = part->n_samples, per_file = j->make->samples_per_file;
    if (!n) return WSC_OK;
    TRY(data_folder_begin(j->tmp[p], data_corpus_identity(j->corpus)));
    for (int64_t done = 0, index = 0; done < n; done += per_file, index++) {
        char *path;
        TRY_MEM(path, wsc_asprintf(WSC_MEM_DATA, "%s/data-%05lld.h5", j->tmp[p], (long long)index));
        enum wsc_err rc = write_file(j, part, path, part->first + done,
                                     n - done < per_file ? n - done : per_file);
        wsc_free(path);
        if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "write samples");
    }
    count_labels(j, part);
    return data_params_write(j->tmp[p], j->make, j->made, part);
}

/* A val/ of an earlier run must not remain beside a train/ that may contain its text. */
static enum wsc_err put_in_place(struct job *j)
{
    for (int p = 0; p < DATA_N_PARTS; p++)
        if (j->part[p].n_samples) TRY(data_folder_finish(j->tmp[p], j->dir[p]));
    return data_folder_remove_empty(j->make->out_dir, j->made->n_samples);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Set the folders of the parts and of the corpus; error for a folder of another program. */
static enum wsc_err name_folders(struct job *j)
{
    const char *out = j->make->out_dir;
    TRY_MEM(j->work, wsc_asprintf(WSC_MEM_DATA, "%s/wsc-data.tmp", out));
    for (int p = 0; p < DATA_N_PARTS; p++) {
        j->dir[p] = wsc_asprintf(WSC_MEM_DATA, "%s/%s", out, data_part_folder[p]);
        j->tmp[p] = wsc_asprintf(WSC_MEM_DATA, "%s/%s.tmp", out, data_part_folder[p]);
        if (!j->dir[p] || !j->tmp[p])
            return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "output paths");
    }
    TRY(data_folder_check_parts(j->make));
    j->out_is_new = access(out, F_OK) != 0;
    return wsc_file_mkdir_above(j->work);
}

/* The first half: tokens of all documents, resumed if there is a state. */
static enum wsc_err make_corpus(struct job *j)
{
    TRY(data_corpus_open(&j->corpus, j->work, j->make, &j->inputs));
    TRY(data_corpus_make(j->corpus));
    struct data_corpus_counts counts = data_corpus_counts(j->corpus);
    *j->made = (struct data_made){.n_files = j->inputs.n,
                                  .n_ignored = j->inputs.n_ignored,
                                  .n_documents = counts.n_documents,
                                  .n_empty = counts.n_empty,
                                  .n_bytes = counts.n_bytes,
                                  .n_tokens = counts.n_tokens,
                                  .n_resumed = counts.n_resumed,
                                  .vocab_size = data_make_vocab_size(j->make)};
    return WSC_OK;
}

/* The parts are renamed at the end, when all are complete. */
static enum wsc_err run(struct job *j)
{
    const struct data_make *m = j->make;
    TRY(check_make(m));
    TRY(data_inputs_list(&j->inputs, m->input, m->n_inputs, m->format));
    TRY(name_folders(j));
    TRY(make_corpus(j));
    TRY(count_samples(j));
    TRY(make_buffers(j));
    for (int p = 0; p < DATA_N_PARTS; p++)
        TRY(write_part(j, p));
    for (int p = 0; p < DATA_N_PARTS; p++)
        j->made->n_samples[p] = j->part[p].n_samples;
    TRY(put_in_place(j));
    j->made->unigram_entropy_nats = data_part_entropy(&j->part[DATA_TRAIN], j->made->vocab_size);
    return WSC_OK;
}

/* The files of a failed run are kept only if a later run can resume it. */
static void clean_up(struct job *j, enum wsc_err rc)
{
    char *state = j->work ? wsc_asprintf(WSC_MEM_DATA, "%s/state", j->work) : NULL;
    bool keep = rc == WSC_IO && state && access(state, F_OK) == 0;
    wsc_free(state);
    if (keep || !j->work) return;
    for (int p = 0; p < DATA_N_PARTS && j->corpus;
         p++) /* without a corpus the folder may belong to another run */
        data_folder_remove(j->tmp[p]);
    if (j->corpus) data_folder_remove(j->work);
    if (rc && j->out_is_new) {
        (void)rmdir(j->work);
        (void)rmdir(j->make->out_dir);
    }
}

static void release(struct job *j)
{
    for (int p = 0; p < DATA_N_PARTS; p++) {
        wsc_free(j->tmp[p]);
        wsc_free(j->dir[p]);
        wsc_free(j->part[p].label_count);
    }
    data_samples_close(&j->samples);
    data_corpus_close(&j->corpus);
    data_inputs_fini(&j->inputs);
    wsc_free(j->work);
    wsc_free(j->token);
    wsc_free(j->rows);
    wsc_free(j);
}

enum wsc_err data_make_dataset(const struct data_make *make, struct data_made *made)
{
    struct job *j = NULL;
    *made = (struct data_made){0};
    TRY_NEW(j, WSC_MEM_DATA, 1);
    j->make = make;
    j->made = made;
    enum wsc_err rc = run(j);
    clean_up(j, rc);
    release(j);
    return rc;
}
