// SPDX-License-Identifier: Apache-2.0
/* Writers of samples for the Model Zoo's data loaders of BERT, one row of the table each: HDF5 of
 * masked tokens (create_hdf5_files.py), CSV of masked tokens and of tokens that are masked when
 * they are read (create_csv*.py), CSV of questions (write_csv_qa.py). Lists have the form of
 * Python's print(); fields are quoted as in RFC 4180. encoder_samples.c reads the files. */
#include "bert_files.h"

#include <wsc/data_bert.h>
#include <wsc/file.h>
#include <wsc/mem.h>
#include <wsc/store.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_ROWS = 2, PACKED_ROWS = 4, LABEL_ROWS = 3 };

struct data_bert_file {
    struct data_bert_shape shape;
    char *path, *tmp;
    FILE *csv;
    struct store_samples_writer *h5;
    int32_t *rows, *labels; /* HDF5: (2 or 4, T), (3, most) */
    int64_t n_questions;
};

#define MASKED "\"labels\", \"masked_lm_positions\", \"masked_lm_weights\""
static const struct data_bert_loader loaders[] = {
    {.name = "BertHDF5DataProcessor",
     .ending = ".h5",
     .features = "[\"input_ids\", \"attention_mask\", " MASKED "]",
     .packed =
         "[\"input_ids\", \"attention_mask\", \"attention_span\", \"position_ids\", " MASKED "]",
     .masks = true},
    {.name = "BertCSVDataProcessor",
     .ending = ".csv",
     .features = "[\"input_ids\", \"attention_mask\", " MASKED
                 ", \"token_type_ids\", \"next_sentence_label\"]",
     .masks = true,
     .may_pair = true},
    {.name = "BertCSVDynamicMaskDataProcessor",
     .ending = ".csv",
     .features = "[\"tokens\", \"segment_ids\", \"is_random_next\"]",
     .may_pair = true},
    {.name = "BertQADataProcessor",
     .ending = ".csv",
     .features = "[\"input_ids\", \"input_mask\", \"segment_ids\", \"start_position\", "
                 "\"end_position\"]",
     .answers = true},
};
#undef MASKED

const struct data_bert_loader *data_bert_loader_find(const char *name)
{
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
        if (!strcmp(loaders[i].name, name)) return &loaders[i];
    return NULL;
}

bool data_bert_pairs(const struct data_bert *bert)
{
    const struct data_bert_loader *loader = data_bert_loader_find(bert->loader ? bert->loader : "");
    return loader && loader->may_pair && !bert->disable_nsp;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Write a list of numbers, "[1, 2]" in quotes, and the separator of the next field. */
static void put_list(FILE *f, const int32_t *x, int64_t n, char after)
{
    (void)fputs("\"[", f);
    for (int64_t i = 0; i < n; i++)
        (void)fprintf(f, i ? ", %d" : "%d", (int)x[i]);
    (void)fprintf(f, "]\"%c", after);
}

static void put_ones(FILE *f, int64_t n_ones, int64_t n)
{
    (void)fputs("\"[", f);
    for (int64_t i = 0; i < n; i++)
        (void)fprintf(f, i ? ", %d" : "%d", i < n_ones);
    (void)fputs("]\",", f);
}

/* Write a text in the form of Python's repr(), inside a quoted field: quotes are doubled. */
static void put_repr(FILE *f, const char *text)
{
    const bool doubled = strchr(text, '\'') && !strchr(text, '"');
    (void)fputs(doubled ? "\"\"" : "'", f);
    for (const char *c = text; *c; c++) {
        if (*c == '\\' || (*c == '\'' && !doubled)) (void)fputc('\\', f);
        (void)fputs(*c == '"' ? "\"\"" : (char[]){*c, '\0'}, f);
    }
    (void)fputs(doubled ? "\"\"" : "'", f);
}

static void put_tokens(FILE *f, const struct data_wordpiece *words, const struct data_bert_row *row)
{
    (void)fputs("\"[", f);
    for (int64_t i = 0; i < row->n; i++) {
        if (i) (void)fputs(", ", f);
        put_repr(f, data_wordpiece_text(words, row->ids[i]));
    }
    (void)fputs("]\"", f);
}

/* Gather labels, weights and positions of the masked tokens, each a list of
 * shape.most numbers. */
static void gather(const struct data_bert_file *file, const struct data_bert_row *row,
                   int32_t *labels, int32_t *places, int32_t *weights)
{
    const int64_t most = file->shape.most;
    int64_t k = 0;
    for (int64_t i = 0; i < most; i++)
        labels[i] = places[i] = weights[i] = 0;
    for (int64_t t = 0; t < row->n && k < most; t++) {
        if (!row->mask[t]) continue;
        labels[k] = row->labels[t];
        places[k] = (int32_t)t;
        weights[k++] = 1;
    }
}

static void put_masked(struct data_bert_file *file, const struct data_bert_row *row)
{
    FILE *f = file->csv;
    const int64_t T = file->shape.T, P = file->shape.most;
    int32_t *labels = file->labels, *places = labels + P, *weights = places + P;
    gather(file, row, labels, places, weights);
    put_list(f, row->ids, T, ',');
    put_ones(f, row->n, T);
    put_list(f, labels, P, ',');
    put_list(f, weights, P, ',');
    put_list(f, places, P, file->shape.pairs ? ',' : '\n');
    if (!file->shape.pairs) return;
    put_list(f, row->types, T, ',');
    (void)fprintf(f, "%d\n", row->random);
}

static void put_dynamic(struct data_bert_file *file, const struct data_bert_row *row)
{
    put_tokens(file->csv, file->shape.words, row);
    if (file->shape.pairs) {
        (void)fputc(',', file->csv);
        put_list(file->csv, row->types, row->n, ',');
        (void)fprintf(file->csv, "%d", row->random);
    }
    (void)fputc('\n', file->csv);
}

/* unique_id has the numbering of the Model Zoo. */
static void put_question(struct data_bert_file *file, const struct data_bert_row *row)
{
    const int64_t first_id = 1000000000;
    FILE *f = file->csv;
    const int64_t id = first_id + file->n_questions++;
    (void)fprintf(f, "%lld,%lld,%lld,", (long long)id, (long long)row->example,
                  (long long)row->window);
    put_list(f, row->ids, file->shape.T, ',');
    put_ones(f, row->n, file->shape.T);
    put_list(f, row->types, file->shape.T, ',');
    (void)fprintf(f, "%lld,%lld,%s\n", (long long)row->first, (long long)row->last,
                  row->impossible ? "True" : "False");
}

/* Write the names of the columns. */
static void put_head(struct data_bert_file *file)
{
    const struct data_bert_shape *s = &file->shape;
    const char *head = "tokens", *pairs = ",segment_ids,is_random_next";
    if (s->loader->masks) {
        head = "input_ids,attention_mask,labels,masked_lm_weights,masked_lm_positions";
        pairs = ",token_type_ids,next_sentence_label";
    } else if (s->loader->answers) {
        head = "unique_id,example_index,doc_span_index,input_ids,input_mask,segment_ids,"
               "start_position,end_position,is_impossible";
    }
    (void)fprintf(file->csv, "%s%s\n", head, s->pairs ? pairs : "");
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum wsc_err cannot_write(const struct data_bert_file *f)
{
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", f->tmp, strerror(errno));
}

static enum wsc_err begin(struct data_bert_file *f, const char *path)
{
    const struct data_bert_shape *s = &f->shape;
    TRY_NEW(f->labels, WSC_MEM_DATA, LABEL_ROWS * s->most + 1);
    if (!strcmp(s->loader->ending, ".h5")) {
        const struct store_samples_shape shape = {
            .n = s->n, .T = s->T, .vsl = s->packed, .predictions = s->most};
        TRY_NEW(f->rows, WSC_MEM_DATA, PACKED_ROWS * s->T);
        return store_samples_create(&f->h5, path, &shape);
    }
    TRY_MEM(f->path, wsc_strdup(WSC_MEM_DATA, path));
    TRY_MEM(f->tmp, wsc_asprintf(WSC_MEM_DATA, "%s.tmp", path));
    f->csv = fopen(f->tmp, "w");
    if (!f->csv) return cannot_write(f);
    put_head(f);
    return WSC_OK;
}

enum wsc_err data_bert_file_create(struct data_bert_file **out, const char *path,
                                   const struct data_bert_shape *shape)
{
    struct data_bert_file *f = NULL;
    *out = NULL;
    TRY_NEW(f, WSC_MEM_DATA, 1);
    f->shape = *shape;
    const enum wsc_err rc = begin(f, path);
    if (rc) data_bert_file_discard(&f);
    *out = f;
    return rc;
}

static enum wsc_err put_h5(struct data_bert_file *f, const struct data_bert_row *row)
{
    const int64_t T = f->shape.T, P = f->shape.most;
    for (int64_t t = 0; t < T; t++) {
        f->rows[t] = row->ids[t];
        f->rows[T + t] = t < row->n;
        if (!f->shape.packed) continue;
        f->rows[INPUT_ROWS * T + t] = row->spans[t];
        f->rows[(INPUT_ROWS + 1) * T + t] = row->positions[t];
    }
    gather(f, row, f->labels, f->labels + P, f->labels + 2 * P);
    TRY(store_samples_append(f->h5, f->rows, 1));
    return store_samples_append_labels(f->h5, f->labels, 1);
}

enum wsc_err data_bert_file_put(struct data_bert_file *f, const struct data_bert_row *row)
{
    if (f->h5) return put_h5(f, row);
    if (f->shape.loader->answers)
        put_question(f, row);
    else if (f->shape.loader->masks)
        put_masked(f, row);
    else
        put_dynamic(f, row);
    return ferror(f->csv) ? cannot_write(f) : WSC_OK;
}

static enum wsc_err finish(struct data_bert_file *f)
{
    if (f->h5) return store_samples_finish(&f->h5);
    enum wsc_err rc = fflush(f->csv) || ferror(f->csv) ? cannot_write(f) : WSC_OK;
    if (fclose(f->csv) && !rc) rc = cannot_write(f);
    f->csv = NULL;
    return rc ? rc : wsc_file_publish(f->tmp, f->path);
}

enum wsc_err data_bert_file_finish(struct data_bert_file **file)
{
    const enum wsc_err rc = finish(*file);
    if (!rc && (*file)->tmp) {
        wsc_free((*file)->tmp);
        (*file)->tmp = NULL;
    }
    data_bert_file_discard(file);
    return rc;
}

void data_bert_file_discard(struct data_bert_file **file)
{
    struct data_bert_file *f = *file;
    *file = NULL;
    if (!f) return;
    store_samples_discard(&f->h5);
    if (f->csv) (void)fclose(f->csv);
    if (f->tmp) (void)unlink(f->tmp);
    wsc_free(f->tmp);
    wsc_free(f->path);
    wsc_free(f->rows);
    wsc_free(f->labels);
    wsc_free(f);
}
