// SPDX-License-Identifier: Apache-2.0
/* Makes a dataset for an encoder such as BERT: tokens of all documents in a corpus (corpus.c, which
 * resumes a killed run), or questions in memory (squad_windows.c); samples of them (bert_layout.c);
 * masks (mask_tokens.c); files for the data loader (bert_files.c), each of which is complete or
 * absent. A sample is a function of text, request and seed. cmd_data.c calls. */
#include <wsc/data_bert.h>

#include "bert_files.h"
#include "bert_layout.h"
#include "dataset_folder.h"
#include "dataset_params.h"
#include "documents.h"
#include "mask_tokens.h"
#include "squad_windows.h"
#include "tokenizer.h"

#include <wsc/file.h>
#include <wsc/hash.h>
#include <wsc/mem.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 2, ROWS = 6 };

/* State of one run. */
struct job {
    const struct data_make *make;
    struct data_make of_corpus; /* `make`, with marks of documents */
    const struct data_bert *bert;
    const struct data_bert_loader *loader;
    const struct data_wordpiece *words;
    struct data_made *made;
    struct data_inputs inputs;
    char *work; /* folder of the corpus */
    struct data_corpus *corpus;
    struct data_bert_layout layout;
    struct data_squad squad;
    int64_t n, n_train;
    int32_t *piece; /* tokens of the corpus, with marks */
    int64_t piece_room;
    int32_t *rows, *order; /* owned: rows of a sample, scratch */
    struct data_bert_row row;
};

/* ---- the request ----------------------------------------------------------------------------- */

static enum wsc_err check_length(const struct job *j)
{
    const struct data_bert *b = j->bert;
    const int64_t T = j->make->T, least = j->loader->answers ? b->most_question + 4 : 5;
    if (T < least || T > 1 << 20)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "max_seq_length is %lld, expected %lld to %d",
                                      (long long)T, (long long)least, 1 << 20),
                            j->loader->answers
                                ? "a question of --max_query_length tokens, three marks and a "
                                  "token of the text must fit"
                                : "two texts of a token each and three marks must fit");
    if (j->loader->masks && (b->most < 1 || b->most >= T))
        return WSC_RAISE(
            WSC_USAGE, "max_predictions_per_seq is %lld, expected 1 to below max_seq_length, %lld",
            (long long)b->most, (long long)T);
    return WSC_OK;
}

static enum wsc_err check(struct job *j)
{
    const struct data_make *m = j->make;
    const double share = m->share[DATA_VAL];
    j->loader = data_bert_loader_find(j->bert->loader);
    j->words = data_tokenizer_wordpiece(m->tokenizer);
    if (!j->loader)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "data_processor %s is not known", j->bert->loader),
                            "one of " DATA_BERT_LOADERS);
    if (!j->words)
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "%s needs a tokenizer of the WordPiece kind", j->loader->name),
            "--tokenizer wordpiece --vocab vocab.txt; `wsc data train-wordpiece` "
            "makes one from text");
    if (m->n_inputs < 1) return WSC_RAISE(WSC_USAGE, "no input: give at least one file");
    if (!(share >= 0 && share < 1))
        return WSC_RAISE(WSC_USAGE, "split is %g, expected a share from 0 to below 1", share);
    if (m->samples_per_file < 1)
        return WSC_RAISE(WSC_USAGE, "samples per file is %lld, expected at least 1",
                         (long long)m->samples_per_file);
    if (j->bert->dupe_factor < 1 || j->bert->dupe_factor > DATA_BERT_MOST_ROUNDS)
        return WSC_RAISE(WSC_USAGE, "dupe_factor is %lld, expected 1 to %d",
                         (long long)j->bert->dupe_factor, DATA_BERT_MOST_ROUNDS);
    if (!j->loader->masks && j->bert->dupe_factor > 1)
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "dupe_factor: %s has no masks in its files", j->loader->name),
            "dupe_factor 1: a loader that masks has other masks in every epoch");
    if (j->loader->masks && !j->loader->may_pair && !j->bert->disable_nsp)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s reads no pairs of sentences", j->loader->name),
                            "--disable_nsp, or --data_processor BertCSVDataProcessor");
    if (m->use_vsl && !j->loader->packed)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s packs no texts", j->loader->name),
                            "--data_processor BertHDF5DataProcessor, or no --use_vsl");
    return check_length(j);
}

/* ---- what samples are made of ---------------------------------------------------------------- */

/* Hash of the settings that determine the samples, besides those of struct data_make. */
static uint64_t variant_of(const struct data_bert *b)
{
    const int64_t number[] = {b->disable_nsp, b->whole_word, b->most, b->dupe_factor};
    const double share[] = {b->share, b->short_share};
    const uint64_t hash = wsc_hash64(b->loader, strlen(b->loader), 0);
    return wsc_hash64(share, sizeof share, wsc_hash64(number, sizeof number, hash));
}

static enum wsc_err make_corpus(struct job *j)
{
    const struct data_special special = data_wordpiece_special(j->words);
    const struct data_bert_source source = {NULL, j->make, j->bert, j->words};
    struct data_bert_source with = source;
    j->of_corpus = *j->make;
    j->of_corpus.variant = variant_of(j->bert);
    j->of_corpus.bos_id = DATA_NO_ID;
    j->of_corpus.eos_id = j->of_corpus.pad_id = special.pad;
    TRY(data_inputs_list(&j->inputs, j->make->input, j->make->n_inputs, j->make->format));
    TRY(wsc_file_mkdir_above(j->work));
    TRY(data_corpus_open(&j->corpus, j->work, &j->of_corpus, &j->inputs));
    TRY(data_corpus_make(j->corpus));
    const struct data_corpus_counts counts = data_corpus_counts(j->corpus);
    j->made->n_documents = counts.n_documents;
    j->made->n_empty = counts.n_empty;
    j->made->n_bytes = counts.n_bytes;
    j->made->n_tokens = counts.n_tokens;
    j->made->n_resumed = counts.n_resumed;
    with.corpus = j->corpus;
    TRY(data_bert_lay(&j->layout, &with));
    j->n = j->layout.n;
    j->n_train = j->layout.n_train;
    return WSC_OK;
}

static enum wsc_err read_questions(struct job *j, const char *path)
{
    struct data_stream *stream = NULL;
    TRY(data_stream_open(&stream, path, j->make->errors));
    const enum wsc_err rc = data_squad_read(stream, data_squad_take, &j->squad);
    data_stream_close(&stream);
    return rc;
}

/* Put all samples of a question into one part. */
static enum wsc_err split_questions(struct job *j)
{
    const double share = j->make->share[DATA_VAL];
    const struct data_squad *s = &j->squad;
    int64_t held = llround((double)s->n_questions * share);
    if (share > 0 && held < 1) held = 1;
    j->n = j->n_train = s->n;
    while (j->n_train && s->sample[j->n_train - 1].example >= s->n_questions - held)
        j->n_train--;
    if (j->n_train >= 1) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: %lld questions with answers, too few",
                                  j->make->input[0], (long long)s->n_questions),
                        s->n_questions ? "--split 0" : "answers must stand in their texts");
}

static enum wsc_err make_questions(struct job *j)
{
    j->squad = (struct data_squad){.words = j->words,
                                   .T = j->make->T,
                                   .stride = j->bert->stride,
                                   .most_question = j->bert->most_question};
    TRY(data_inputs_list(&j->inputs, j->make->input, j->make->n_inputs, "jsonl"));
    for (int i = 0; i < j->inputs.n; i++)
        TRY(read_questions(j, j->inputs.file[i].path));
    j->made->n_documents = j->squad.n_questions + j->squad.n_left_out;
    j->made->n_empty = j->squad.n_left_out;
    j->made->n_further = j->squad.n_further;
    j->made->n_bytes = j->squad.n_bytes;
    j->made->n_tokens = j->squad.n_ids;
    return split_questions(j);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_id(struct data_bert_row *r, int32_t id, int32_t type)
{
    r->ids[r->n] = id;
    r->types[r->n++] = type;
}

/* Append a piece of the corpus to the row, without the marks of sentences. */
static enum wsc_err put_piece(struct job *j, const struct data_bert_piece *p, int32_t type)
{
    const struct data_special special = data_wordpiece_special(j->words);
    int64_t k = 0;
    TRY_GROW(j->piece, WSC_MEM_DATA, j->piece_room, p->length);
    TRY(data_corpus_read(j->corpus, p->first, p->length, j->piece));
    for (int64_t i = 0; i < p->length; i++) {
        if (j->piece[i] == special.sep) continue;
        if (k >= p->skip && k < p->skip + p->n) put_id(&j->row, j->piece[i], type);
        k++;
    }
    put_id(&j->row, special.sep, type);
    return WSC_OK;
}

/* Write [CLS] and one text or two, each with [SEP]. */
static enum wsc_err put_text(struct job *j, const struct data_bert_piece *piece, int n_pieces)
{
    struct data_bert_row *r = &j->row;
    const int64_t first = r->n;
    put_id(r, data_wordpiece_special(j->words).cls, 0);
    for (int k = 0; k < n_pieces; k++)
        TRY(put_piece(j, &piece[k], k));
    for (int64_t t = first; t < r->n; t++) {
        r->positions[t] = (int32_t)(t - first);
        r->spans[t] = (int32_t)(r->n - 1 - t);
    }
    return WSC_OK;
}

/* Masks of packed texts are chosen among all tokens of the sample, as in the Model Zoo. */
static enum wsc_err lay_text(struct job *j, int64_t i)
{
    const struct data_bert_sample *s = &j->layout.sample[i];
    struct data_bert_row *r = &j->row;
    const struct data_cloze cloze = {.words = j->words,
                                     .share = j->bert->share,
                                     .most = j->bert->most,
                                     .whole_word = j->bert->whole_word,
                                     .seed = (uint64_t)j->make->seed,
                                     .draw = s->draw};
    for (int64_t k = 0; k < s->n_texts; k++)
        TRY(put_text(j, &j->layout.text[s->first_text + k], 1));
    if (!s->n_texts) TRY(put_text(j, s->piece, s->pair ? 2 : 1));
    r->random = s->random;
    if (j->loader->masks) data_mask_tokens(&cloze, r->n, r->ids, r->labels, r->mask, j->order);
    return WSC_OK;
}

static void lay_question(struct job *j, int64_t i)
{
    const struct data_squad_sample *s = &j->squad.sample[i];
    struct data_bert_row *r = &j->row;
    for (int64_t t = 0; t < s->n; t++)
        put_id(r, j->squad.ids[s->at + t], t >= s->n_question);
    r->first = s->first;
    r->last = s->last;
    r->example = s->example;
    r->window = s->window;
    r->impossible = s->impossible;
}

/* Count the tokens that a model of the training part predicts: masked tokens, or all that may be
 * masked. */
static void count_labels(const struct job *j, struct data_part *part)
{
    const struct data_special special = data_wordpiece_special(j->words);
    const struct data_bert_row *r = &j->row;
    int64_t n = 0;
    for (int64_t t = 0; t < r->n; t++) {
        const int32_t id = r->ids[t];
        if (j->loader->answers || (j->loader->masks && !r->mask[t])) continue;
        if (!j->loader->masks && (id == special.cls || id == special.sep)) continue;
        part->label_count[j->loader->masks ? r->labels[t] : id]++;
        n++;
    }
    part->n_tokens += j->make->T;
    part->n_masked += j->make->T - n;
    part->n_pad += j->make->T - r->n;
}

static enum wsc_err read_sample(struct job *j, int64_t i, struct data_part *part)
{
    const int64_t T = j->make->T;
    struct data_bert_row *r = &j->row;
    memset(j->rows, 0, (size_t)(ROWS * T) * sizeof *j->rows);
    for (int64_t t = 0; t < T; t++)
        j->rows[t] = data_wordpiece_special(j->words).pad;
    *r = (struct data_bert_row){.ids = j->rows,
                                .types = j->rows + T,
                                .labels = j->rows + 2 * T,
                                .mask = j->rows + 3 * T,
                                .spans = j->rows + 4 * T,
                                .positions = j->rows + 5 * T};
    if (j->loader->answers)
        lay_question(j, i);
    else
        TRY(lay_text(j, i));
    count_labels(j, part);
    return WSC_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Write samples [first, first + n); without a file they are only counted. */
static enum wsc_err put_samples(struct job *j, struct data_part *part, int64_t first, int64_t n,
                                struct data_bert_file *f)
{
    const struct data_make *m = j->make;
    for (int64_t i = first; i < first + n; i++) {
        TRY(read_sample(j, i, part));
        if (f) TRY(data_bert_file_put(f, &j->row));
        if (m->progress) m->progress(m->progress_ctx, "samples", i + 1, j->n);
    }
    return WSC_OK;
}

static enum wsc_err write_file(struct job *j, struct data_part *part, const char *path,
                               int64_t first, int64_t n)
{
    const struct data_bert_shape shape = {.loader = j->loader,
                                          .words = j->words,
                                          .n = n,
                                          .T = j->make->T,
                                          .most = j->loader->masks ? j->bert->most : 0,
                                          .pairs = data_bert_pairs(j->bert),
                                          .packed = j->make->use_vsl};
    struct data_bert_file *f = NULL;
    if (!access(path, F_OK)) return put_samples(j, part, first, n, NULL);
    TRY(data_bert_file_create(&f, path, &shape));
    const enum wsc_err rc = put_samples(j, part, first, n, f);
    if (!rc) return data_bert_file_finish(&f);
    data_bert_file_discard(&f);
    return rc;
}

/* The entries of meta.dat. */
struct list {
    const struct data_part *part;
    int64_t per_file;
};

static void put_meta(FILE *f, const void *what)
{
    const struct list *l = what;
    for (int64_t done = 0, i = 0; done < l->part->n_samples; done += l->per_file, i++) {
        const int64_t left = l->part->n_samples - done;
        (void)fprintf(f, "data-%05lld.csv %lld\n", (long long)i,
                      (long long)(left < l->per_file ? left : l->per_file));
    }
}

static enum wsc_err write_files(struct job *j, struct data_part *part, const char *dir)
{
    const int64_t n = part->n_samples, per_file = j->make->samples_per_file;
    for (int64_t done = 0; done < n; done += per_file) {
        char *path;
        TRY_MEM(path, wsc_asprintf(WSC_MEM_DATA, "%s/data-%05lld%s", dir,
                                   (long long)(done / per_file), j->loader->ending));
        const enum wsc_err rc = write_file(j, part, path, part->first + done,
                                           n - done < per_file ? n - done : per_file);
        wsc_free(path);
        TRY(rc);
    }
    if (strcmp(j->loader->ending, ".csv") != 0) return WSC_OK;
    return data_file_write(dir, "meta.dat", put_meta, &(struct list){part, per_file});
}

/* If a run of this request was killed, complete files are in the folder with .tmp and are kept;
 * questions begin again. */
static enum wsc_err write_part(struct job *j, struct data_part *part, const char *name)
{
    char *dir = wsc_asprintf(WSC_MEM_DATA, "%s/%s", j->make->out_dir, name);
    char *tmp = wsc_asprintf(WSC_MEM_DATA, "%s/%s.tmp", j->make->out_dir, name);
    const uint64_t identity = j->corpus ? data_corpus_identity(j->corpus) : 0;
    enum wsc_err rc = dir && tmp ? data_folder_begin(tmp, identity) : WSC_NOMEM;
    if (!rc) rc = write_files(j, part, tmp);
    if (!rc) rc = data_params_write(tmp, &j->of_corpus, j->made, part);
    if (!rc) rc = data_folder_finish(tmp, dir);
    wsc_free(dir);
    wsc_free(tmp);
    return rc;
}

static enum wsc_err write_parts(struct job *j)
{
    struct data_part part[PARTS] = {{.n_samples = j->n_train},
                                    {.first = j->n_train, .n_samples = j->n - j->n_train}};
    enum wsc_err rc = WSC_OK;
    for (int p = 0; p < PARTS && !rc; p++) {
        part[p].loader = j->loader->name;
        part[p].features = j->make->use_vsl ? j->loader->packed : j->loader->features;
        part[p].label_count =
            wsc_alloc(WSC_MEM_DATA, (size_t)j->made->vocab_size, sizeof *part[p].label_count);
        rc = part[p].label_count ? WSC_OK : WSC_NOMEM;
        if (!rc && part[p].n_samples) rc = write_part(j, &part[p], data_part_folder[p]);
        j->made->n_samples[p] = part[p].n_samples;
    }
    if (!rc) rc = data_folder_remove_empty(j->make->out_dir, j->made->n_samples);
    if (!rc) j->made->unigram_entropy_nats = data_part_entropy(&part[0], j->made->vocab_size);
    for (int p = 0; p < PARTS; p++)
        wsc_free(part[p].label_count);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum wsc_err run(struct job *j)
{
    TRY(check(j));
    TRY(data_folder_check_parts(j->make));
    TRY_MEM(j->work, wsc_asprintf(WSC_MEM_DATA, "%s/wsc-data.tmp", j->make->out_dir));
    j->of_corpus = *j->make;
    j->made->vocab_size = data_wordpiece_n(j->words);
    TRY(j->loader->answers ? make_questions(j) : make_corpus(j));
    j->made->n_files = j->inputs.n;
    j->made->n_ignored = j->inputs.n_ignored;
    TRY_NEW(j->rows, WSC_MEM_DATA, ROWS * j->make->T);
    TRY_NEW(j->order, WSC_MEM_DATA, j->make->T);
    return write_parts(j);
}

/* The corpus of a failed run is kept, so that a later run can resume it. */
static void release(struct job *j, enum wsc_err rc)
{
    const bool made_work = j->corpus;
    data_corpus_close(&j->corpus);
    if (made_work && rc != WSC_IO) data_folder_remove(j->work);
    data_squad_fini(&j->squad);
    data_inputs_fini(&j->inputs);
    data_bert_layout_fini(&j->layout);
    wsc_free(j->work);
    wsc_free(j->piece);
    wsc_free(j->rows);
    wsc_free(j->order);
}

enum wsc_err data_make_bert(const struct data_make *make, const struct data_bert *bert,
                            struct data_made *made)
{
    struct job j = {.make = make, .bert = bert, .made = made};
    *made = (struct data_made){0};
    const enum wsc_err rc = run(&j);
    release(&j, rc);
    return rc;
}
