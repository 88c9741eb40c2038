// SPDX-License-Identifier: Apache-2.0
/* The training data as batches: finds sample files in the folders, maps a global sample index to
 * file and row, shuffles, cuts longer sequences, and checks ids against the vocabulary. */
#include "batch_rows.h"
#include "encoder_rows.h"
#include "encoder_samples.h"
#include "file_sum.h"
#include "length_buckets.h"
#include "pair_samples.h"
#include "permute.h"

#include <wsc/check.h>
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/mem.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_OPEN = 16 };
__extension__ typedef __int128 wide; /* products of two numbers of samples */
static const int64_t max_samples = (int64_t)1 << 62;

struct file {
    char *path;
    int64_t first; /* index in its data set of its first sample */
    struct store_samples *open;
    struct data_pairs *pairs;       /* open, instead of `open` */
    struct data_examples *examples; /* of encoders, open once and for all */
    int64_t used;                   /* tick of its last use */
};

/* A data set: the files of its directories, of which parts may be left out. */
struct set {
    int first_file, n_files;
    int64_t n;      /* samples in its files */
    int64_t n_used; /* of them in its subset */
    int n_ranges;
    int64_t from[ZOO_MAX_RANGES], n_before[ZOO_MAX_RANGES]; /* of each range: its first sample,
                                                                 samples of the ranges before */
    int64_t n_epoch; /* samples that it gives to an epoch of the mixture */
};

struct data_source {
    struct file *file;
    int n_files, room, n_open;
    struct set *set;
    int n_sets;
    int64_t n;       /* samples of an epoch, before num_samples */
    int64_t n_epoch; /* with it */
    int64_t T;       /* tokens of a sample in the files */
    int64_t sinks;   /* put before them */
    int64_t sink_id, vocab, tick;
    bool shuffle, repeat;
    bool packed;     /* several texts in a sample */
    int n_rows;      /* of a sequence: 3, with spans and of encoders 5, of both 7 */
    int sequences;   /* of a sample: 1, or 2 of a pair */
    bool own_length; /* T is that of the input, a model of pairs may know longer sequences */
    uint64_t seed;
    int32_t *sample;                     /* (sequences, rows, T) */
    struct data_buckets *buckets;        /* NULL: batches of samples in their order */
    struct data_examples_shared *shared; /* of encoders; NULL: samples of GPT */
    int64_t n_labels, n_types, n_classes;
    float target; /* of the sample */
};

/* ---- the list of files ----------------------------------------------------------------------- */

/* Takes over @p path. */
static enum wsc_err add_file(struct data_source *s, char *path)
{
    TRY_GROW(s->file, WSC_MEM_DATA, s->room, s->n_files + 1);
    s->file[s->n_files++] = (struct file){.path = path};
    return WSC_OK;
}

/* Hidden files are left out, such as those that an editor or a copy in progress leaves. */
static bool is_sample_file(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && name[0] != '.' && !strcmp(name + length - 3, ".h5");
}

static enum wsc_err add_entry(struct data_source *s, const char *dir, const char *name)
{
    size_t length = strlen(dir);
    const char *slash = length && dir[length - 1] == '/' ? "" : "/";
    char *path = wsc_asprintf(WSC_MEM_DATA, "%s%s%s", dir, slash, name);
    enum wsc_err rc = path ? add_file(s, path) : WSC_NOMEM;
    if (rc) wsc_free(path);
    return rc;
}

/* How to make what is missing: the folder's part goes, `wsc data` adds it. */
static enum wsc_err hint_to_make(enum wsc_err rc, const struct data_source *s, const char *dir)
{
    static const char *const part[] = {"/train", "/val", "/test"};
    const char *tokenizer = s->vocab == 256 ? "" : " --tokenizer bpe --vocab FILE --merges FILE";
    size_t n = strlen(dir);
    while (n && dir[n - 1] == '/')
        n--;
    for (int i = 0; i < (int)(sizeof part / sizeof *part); i++) {
        const size_t length = strlen(part[i]);
        if (n > length && !strncmp(dir + n - length, part[i], length)) {
            n -= length;
            break;
        }
    }
    return wsc_err_hint(rc, "wsc data --input TEXT... --out %.*s --max_seq_length %lld%s makes it",
                        (int)n, dir, (long long)s->T, tokenizer);
}

static enum wsc_err add_directory(struct data_source *s, const char *dir)
{
    DIR *d = opendir(dir);
    if (!d)
        return hint_to_make(
            WSC_RAISE(WSC_IO, "data_dir %s: cannot be listed: %s", dir, strerror(errno)), s, dir);
    enum wsc_err rc = WSC_OK;
    for (struct dirent *e = readdir(d); e && !rc; e = readdir(d))
        if (is_sample_file(e->d_name)) rc = add_entry(s, dir, e->d_name);
    (void)closedir(d);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

/* The files of encoders that a folder's own list names. */
static enum wsc_err add_listed(struct data_source *s, const struct zoo_input *input,
                               const char *dir)
{
    for (int k = 0;; k++) {
        char *name;
        TRY(data_examples_file(input, dir, k, &name));
        if (!name) return WSC_OK;
        const enum wsc_err rc = add_entry(s, dir, name);
        wsc_free(name);
        TRY(rc);
    }
}

/* The files of data set @p k, after those of the ones before. */
static enum wsc_err list_set(struct data_source *s, const struct zoo_input *input, int k)
{
    struct set *set = &s->set[k];
    const char *dir = "(none)";
    set->first_file = s->n_files;
    for (int i = 0; i < input->n_data_dirs; i++) {
        if (input->data_set[i] != k) continue;
        dir = input->data_dir[i];
        if (s->shared && !data_examples_are_h5(input))
            TRY(add_listed(s, input, dir));
        else
            TRY(add_directory(s, dir));
    }
    set->n_files = s->n_files - set->first_file;
    if (!set->n_files)
        return hint_to_make(WSC_RAISE(WSC_IO, "data_dir %s: holds no .h5 file", dir), s, dir);
    qsort(s->file + set->first_file, (size_t)set->n_files, sizeof *s->file, by_path);
    return WSC_OK;
}

/* ---- open files ------------------------------------------------------------------------------ */

static bool is_open(const struct file *f)
{
    return f->open || f->pairs;
}

/* Descriptors are few and samples come in any order: the file that was used longest ago goes. */
static void close_oldest(struct data_source *s)
{
    struct file *oldest = NULL;
    for (int i = 0; i < s->n_files; i++)
        if (is_open(&s->file[i]) && (!oldest || s->file[i].used < oldest->used))
            oldest = &s->file[i];
    store_samples_close(&oldest->open);
    data_pairs_close(&oldest->pairs);
    s->n_open--;
}

/* Have the file open and mark it as used now. */
static enum wsc_err use_file(struct data_source *s, struct file *f)
{
    f->used = ++s->tick;
    if (is_open(f)) return WSC_OK;
    if (s->n_open == MAX_OPEN) close_oldest(s);
    if (s->sequences > 1)
        TRY(data_pairs_open(&f->pairs, f->path));
    else
        TRY(store_samples_open(&f->open, f->path, s->T));
    s->n_open++;
    return WSC_OK;
}

/* Tokens of a sequence, and samples, of an open file. */
static int64_t T_of(const struct file *f)
{
    return f->pairs ? data_pairs_T(f->pairs) : store_samples_T(f->open);
}

static int64_t n_of(const struct file *f)
{
    return f->pairs ? data_pairs_n(f->pairs) : store_samples_n(f->open);
}

/* Files with spans belong to use_vsl and files without do not: each mistake gets the hint that
 * ends it. */
static enum wsc_err check_rows(const struct data_source *s, const struct file *f)
{
    int rows = store_samples_rows(f->open);
    if (rows == s->n_rows) return WSC_OK;
    if (rows == 5)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                      "%s: its samples have 5 rows (VSL: attention_span and "
                                      "position_ids), but use_vsl is false",
                                      f->path),
                            "set use_vsl: true in the input section");
    return wsc_err_hint(
        WSC_RAISE(WSC_FORMAT, "%s: its samples have %d rows, but use_vsl is true", f->path, rows),
        "make the dataset with wsc data --use_vsl");
}

static enum wsc_err wrong_length(const struct data_source *s, const struct file *f, int64_t T)
{
    const char *sinks = s->sinks ? " without sink tokens" : "";
    const char *key =
        s->own_length ? "max_sequence_length of the input" : "model.max_position_embeddings";
    (void)WSC_RAISE(WSC_CONFIG, "%s: its sequences have %lld tokens, but %s%s is %lld", f->path,
                    (long long)T, key, sinks, (long long)s->T);
    return wsc_err_hint(
        WSC_CONFIG, "make the dataset again with --max_seq_length %lld, or change %s%s",
        (long long)s->T, s->own_length ? "the key" : "the model",
        s->sinks || s->own_length || T > s->T ? "" : "; sink tokens need data_transforms here too");
}

/* Each file is looked at once before the run: first in another process (store_probe), since a
 * damaged file can bring HDF5 down; then rows, length and number of samples. */
static enum wsc_err check_gpt_file(struct data_source *s, struct file *f)
{
    TRY(store_probe(f->path));
    TRY(use_file(s, f));
    if (!f->pairs) TRY(check_rows(s, f));
    const int64_t T = T_of(f);
    return T == s->T ? WSC_OK : wrong_length(s, f, T);
}

static enum wsc_err check_file(struct data_source *s, struct set *set, struct file *f)
{
    if (s->shared)
        TRY(data_examples_open(&f->examples, f->path, s->shared));
    else
        TRY(check_gpt_file(s, f));
    const int64_t n = s->shared ? data_examples_n(f->examples) : n_of(f);
    f->first = set->n;
    if (__builtin_add_overflow(set->n, n, &set->n) || set->n > max_samples)
        return WSC_RAISE(WSC_FORMAT, "%s: too many samples", f->path);
    return WSC_OK;
}

/* Sink tokens before a sample are part of what the model sees. */
static enum wsc_err check_length(const struct data_source *s, const struct zoo_input *input)
{
    const int64_t target =
        input->samples >= ZOO_SAMPLES_SEQ2SEQ ? input->tgt_max_sequence_length : 0;
    const int64_t length = input->max_sequence_length + (target > 0 ? target : 0);
    if (s->T < 1)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                      "data_transforms: %lld sink tokens leave no place for text, "
                                      "model.max_position_embeddings is %lld",
                                      (long long)s->sinks, (long long)(s->T + s->sinks)),
                            "max_position_embeddings counts the sink tokens too: change it, "
                            "num_sink_tokens and attention_sink_tokens together");
    if (s->sinks && s->sink_id >= s->vocab)
        return WSC_RAISE(WSC_CONFIG, "data_transforms: sink_token_id is %lld, expected 0 to %lld",
                         (long long)s->sink_id, (long long)s->vocab - 1);
    if (input->max_sequence_length == CONF_NULL || length == s->T) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "max_sequence_length of the input is %lld, but the sequences of the run have "
                     "%lld tokens%s",
                     (long long)length, (long long)s->T, s->sinks ? " beside sink tokens" : "");
}

/* Ranges of samples: shares are cut to whole samples downwards, as the Model Zoo does. */
static void choose_subset(struct set *set, const struct zoo_subset *subset)
{
    for (int i = 0; i < subset->n; i++) {
        int64_t from = (int64_t)((double)set->n * subset->from[i]);
        int64_t to = (int64_t)((double)set->n * subset->to[i]);
        set->from[i] = from;
        set->n_before[i] = set->n_used;
        set->n_used += to - from;
    }
    set->n_ranges = subset->n;
    if (!subset->n) set->n_used = set->n;
}

/* Files of a data set with weight 0 are not even listed. */
static enum wsc_err open_set(struct data_source *s, const struct zoo_input *input, int k)
{
    struct set *set = &s->set[k];
    if (input->n_sets && !(input->weight[k] > 0)) return WSC_OK; /* as if it were not there */
    TRY(list_set(s, input, k));
    for (int i = 0; i < set->n_files; i++)
        TRY(check_file(s, set, &s->file[set->first_file + i]));
    choose_subset(set, &input->data_subset[k]);
    if (set->n_used < 1)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: the files of its data set hold %lld samples, %lld of "
                         "them in data_subset",
                         s->file[set->first_file].path, (long long)set->n, (long long)set->n_used);
    set->n_epoch = set->n_used;
    return WSC_OK;
}

/* An epoch of a mixture is as long as it takes to see every sample of every data set whose share
 * is above 5 %, as the Model Zoo defines it; of all of them when none is. */
static enum wsc_err mix(struct data_source *s, const struct zoo_input *input)
{
    double sum = 0, total = 0, all = 0;
    for (int k = 0; k < s->n_sets; k++)
        sum += input->weight[k];
    for (int k = 0; k < s->n_sets; k++) {
        double share = input->weight[k] / sum, wanted;
        if (!(share > 0)) continue;
        wanted = (double)s->set[k].n_used / share;
        all = wanted > all ? wanted : all;
        if (share > 0.05 && wanted > total) total = wanted;
    }
    if (!(total > 0)) total = all;
    if (total > (double)max_samples)
        return WSC_RAISE(WSC_CONFIG, "mixture: an epoch of %.3g samples is too long", total);
    for (int k = 0; k < s->n_sets; k++) /* a product that is whole stays so */
        s->set[k].n_epoch = (int64_t)(total * (input->weight[k] / sum) + 1e-6);
    return WSC_OK;
}

static bool of_encoders(const struct zoo_input *input)
{
    return input->samples != ZOO_SAMPLES_GPT && input->samples != ZOO_SAMPLES_PAIRS;
}

/* Rows of a sequence. */
static int rows_of_input(const struct zoo_input *input)
{
    if (of_encoders(input)) return input->use_vsl ? DATA_PACKED_ROWS : DATA_ENCODER_ROWS;
    return input->use_vsl ? 5 : 3;
}

static enum wsc_err group(struct data_source *s, const struct zoo_input *input);

/* Lengths, then the sets in their order, then the length of an epoch: num_samples, or all there
 * are. */
static enum wsc_err open_all(struct data_source *s, const struct zoo_input *input)
{
    TRY(check_length(s, input));
    if (of_encoders(input)) TRY(data_examples_share(&s->shared, input, s->T, s->vocab));
    for (int k = 0; k < s->n_sets; k++)
        TRY(open_set(s, input, k));
    if (input->n_sets) TRY(mix(s, input));
    for (int k = 0; k < s->n_sets; k++)
        s->n += s->set[k].n_epoch;
    s->n_epoch = input->num_samples > 0 ? input->num_samples : s->n;
    if (s->n < 1 || s->n > max_samples || s->n_epoch > max_samples)
        return WSC_RAISE(WSC_CONFIG, "an epoch of %lld samples, %lld of them different",
                         (long long)s->n_epoch, (long long)s->n);
    return input->n_buckets ? group(s, input) : WSC_OK;
}

enum wsc_err data_source_open(struct data_source **out, const struct zoo_input *input, int64_t T,
                              int64_t vocab_size)
{
    struct data_source *s = NULL;
    WSC_CHECK(T > 0 && vocab_size > 0, "T %lld, vocabulary %lld", (long long)T,
              (long long)vocab_size);
    *out = NULL;
    TRY_NEW(s, WSC_MEM_DATA, 1);
    s->sinks = input->sink_tokens;
    s->sink_id = input->sink_token_id;
    s->T = T - s->sinks;
    s->vocab = vocab_size;
    s->shuffle = input->shuffle;
    s->repeat = input->repeat;
    s->seed = (uint64_t)input->shuffle_seed;
    s->packed = input->use_vsl;
    s->n_rows = rows_of_input(input);
    s->sequences = input->samples == ZOO_SAMPLES_PAIRS ? 2 : 1;
    s->own_length = input->max_sequence_length != CONF_NULL;
    s->n_labels = input->n_labels;
    s->n_types = input->n_types ? input->n_types : INT32_MAX;
    s->n_classes = input->n_classes;
    s->n_sets = input->n_sets ? input->n_sets : 1;
    s->set = wsc_alloc(WSC_MEM_DATA, (size_t)s->n_sets, sizeof *s->set);
    s->sample = wsc_alloc_raw(WSC_MEM_DATA, (size_t)(s->sequences * T),
                              (size_t)s->n_rows * sizeof *s->sample);
    enum wsc_err rc = s->sample && s->set ? open_all(s, input) : WSC_NOMEM;
    if (rc) data_source_close(&s);
    *out = s;
    return rc;
}

void data_source_close(struct data_source **source)
{
    struct data_source *s = *source;
    if (!s) return;
    for (int i = 0; i < s->n_files; i++) {
        store_samples_close(&s->file[i].open);
        data_pairs_close(&s->file[i].pairs);
        data_examples_close(&s->file[i].examples);
        wsc_free(s->file[i].path);
    }
    wsc_free(s->file);
    wsc_free(s->set);
    wsc_free(s->sample);
    data_buckets_destroy(&s->buckets);
    data_examples_unshare(&s->shared);
    wsc_free(s);
    *source = NULL;
}

int64_t data_source_n_samples(const struct data_source *source)
{
    return source->n_epoch;
}

/* Bytes of all files; INT64_MAX when one cannot be looked at, which its sum then says. */
static int64_t bytes_of(const struct data_source *s)
{
    int64_t sum = 0;
    for (int i = 0; i < s->n_files; i++) {
        struct stat st;
        if (stat(s->file[i].path, &st)) return INT64_MAX;
        sum += (int64_t)st.st_size;
    }
    return sum;
}

enum wsc_err data_source_sums(const struct data_source *source, int64_t most,
                              struct data_file_sum **sums, int *n)
{
    const struct data_source *s = source;
    const int64_t part = bytes_of(s) <= most ? most : most / (s->n_files ? s->n_files : 1);
    *n = 0;
    TRY_NEW(*sums, WSC_MEM_DATA, s->n_files);
    enum wsc_err rc = WSC_OK;
    for (; *n < s->n_files && !rc; (*n)++)
        rc = data_sum_file(s->file[*n].path, part, &(*sums)[*n]);
    if (rc) {
        wsc_free(*sums);
        *sums = NULL;
    }
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The last file that begins at or before sample @p i; empty files begin where the next one does. */
static struct file *file_of(const struct data_source *s, const struct set *set, int64_t i)
{
    int lo = set->first_file, hi = set->first_file + set->n_files - 1;
    while (lo < hi) {
        int mid = lo + (hi - lo + 1) / 2;
        if (s->file[mid].first <= i)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &s->file[lo];
}

/* Rows of samples of GPT. */
static const char *const row_name[] = {"input_ids", "attention_mask", "labels", "attention_span",
                                       "position_ids"};
static const char *const row_hint[] = {
    "does model.vocab_size belong to the tokenizer of this dataset?",
    "the mask says which labels count in the loss",
    "does model.vocab_size belong to the tokenizer of this dataset?",
    "a span is the number of places after a token that may see it",
    "positions begin at 0 with each text of a sample"};

/* Largest value of a row: ids below the vocabulary, mask 0 or 1, spans up to T, positions below T.
 */
static int64_t row_limit(const struct data_source *s, int row)
{
    const int64_t limit[] = {s->vocab - 1, 1, s->vocab - 1, s->T, s->T - 1};
    return limit[row];
}

/* Rows of sequence @p k of the sample just read. */
static int32_t *rows_of(const struct data_source *s, int k)
{
    return s->sample + (int64_t)k * s->n_rows * s->T;
}

/* Position t of a sequence of the sample: the row that is out of range, or -1. */
static int bad_row(const struct data_source *s, int32_t *rows, int64_t t)
{
    const int32_t mask = rows[s->T + t];
    for (int row = 0; row < s->n_rows; row++) {
        int32_t *x = &rows[row * s->T + t];
        if (*x >= 0 && *x <= row_limit(s, row)) continue;
        if (row != 2 || mask) return row;
        *x = 0; /* does not count; in range it can be used as an index */
    }
    return -1;
}

/* What samples of encoders, packed or not, may hold; labels of classes are checked against the
 * model by the run. */
static enum wsc_err check_example(struct data_source *s, const struct file *f, int64_t i)
{
    static const char *const name[DATA_PACKED_ROWS] = {
        "input_ids",      "mask",           "labels",      "attention_mask",
        "token_type_ids", "attention_span", "position_ids"};
    const int64_t limit[DATA_PACKED_ROWS] = {s->vocab - 1,   1,    s->n_labels - 1, 1,
                                             s->n_types - 1, s->T, s->T - 1};
    int64_t attends = 0;
    for (int64_t k = 0; k < s->n_rows * s->T; k++) {
        const int64_t row = k / s->T;
        if (s->sample[k] < 0 || s->sample[k] > limit[row])
            return WSC_RAISE(WSC_FORMAT,
                             "%s: sample %lld, position %lld: %s is %d, expected 0 to %lld",
                             f->path, (long long)(i - f->first), (long long)(k % s->T), name[row],
                             (int)s->sample[k], (long long)limit[row]);
        if (row == DATA_ROW_ATTENDS) attends += s->sample[k];
    }
    if (s->n_classes &&
        !(s->target >= 0 && s->target < (float)s->n_classes && s->target == floorf(s->target)))
        return WSC_RAISE(WSC_FORMAT, "%s: sample %lld: class %g, expected 0 to %lld", f->path,
                         (long long)(i - f->first), (double)s->target, (long long)s->n_classes - 1);
    if (attends) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "%s: sample %lld has no token that attention may see", f->path,
                     (long long)(i - f->first));
}

/* Which text of a pair, of both one after the other, for the names of its rows. */
static const char *text_name(const struct data_source *s, int64_t at)
{
    if (s->sequences == 1) return "";
    return at < s->T ? "chosen_" : "rejected_";
}

/* Value @p at of the sample just read, in digits.  One of a pair that is beyond int32 came from one
 * of several files or datasets; it is not looked up there. */
static enum wsc_err digits_of(const struct data_source *s, const struct file *f, int64_t i,
                              int64_t at, char text[STORE_DIGITS])
{
    const int32_t value = s->sample[at];
    const bool beyond = value == INT32_MAX || value == INT32_MIN;
    if (beyond && f->open) return store_samples_digits(f->open, i, at, text);
    (void)snprintf(text, STORE_DIGITS, "%d%s", (int)value,
                   !beyond     ? ""
                   : value > 0 ? " or more"
                               : " or less");
    return WSC_OK;
}

/* Values are used as indices later, so each is checked when it is read. */
static enum wsc_err check_ids(struct data_source *s, const struct file *f, int64_t i)
{
    for (int64_t at = 0; at < s->sequences * s->T; at++) {
        const int64_t t = at % s->T;
        int32_t *rows = rows_of(s, (int)(at / s->T));
        int row = bad_row(s, rows, t);
        if (row < 0) continue;
        char digits[STORE_DIGITS];
        TRY(digits_of(s, f, i - f->first, rows + row * s->T + t - s->sample, digits));
        (void)WSC_RAISE(WSC_FORMAT,
                        "%s: sample %lld, position %lld: %s%s is %s, expected 0 to %lld", f->path,
                        (long long)(i - f->first), (long long)t, text_name(s, at), row_name[row],
                        digits, (long long)row_limit(s, row));
        return wsc_err_hint(WSC_FORMAT, "%s", row_hint[row]);
    }
    return WSC_OK;
}

/* Sample @p i of those of a data set that are used, the @p g-th of the stream. */
static enum wsc_err read_sample(struct data_source *s, const struct set *set, int64_t i, int64_t g)
{
    for (int r = set->n_ranges - 1; r >= 0; r--) {
        if (i < set->n_before[r]) continue;
        i += set->from[r] - set->n_before[r];
        break;
    }
    struct file *f = file_of(s, set, i);
    if (s->shared) {
        TRY(data_examples_read(f->examples, i - f->first, (uint64_t)g, s->sample, &s->target));
        return check_example(s, f, i);
    }
    TRY(use_file(s, f));
    /* Another program may have replaced the file since it was first looked at. */
    if (i - f->first >= n_of(f) || T_of(f) != s->T ||
        (f->open && store_samples_rows(f->open) != s->n_rows))
        return WSC_RAISE(WSC_IO, "%s: was changed while it is in use", f->path);
    TRY(f->pairs ? data_pairs_read(f->pairs, i - f->first, s->sample)
                 : store_samples_read(f->open, i - f->first, s->sample));
    return check_ids(s, f, i);
}

/* Place @p at of an epoch of s->n, which is mixed without shuffling: each data set spreads its
 * samples evenly, the j-th of M at (2 j + 1) / (2 M) of the epoch, and of equal places the set that
 * is named first comes first.  This is the number of samples of @p set before the j-th of @p of. */
static int64_t count_before(const struct data_source *s, int set, int of, int64_t j)
{
    wide M = s->set[set].n_epoch, N = s->set[of].n_epoch;
    wide limit = (2 * (wide)j + 1) * M; /* l counts while (2 l + 1) N < limit */
    if (set < of) limit += 1;
    wide n = (limit - N + 2 * N - 1) / (2 * N);
    return (int64_t)(n < 0 ? 0 : n > M ? M : n);
}

/* Place in the epoch of sample @p j of a set: j, and those of the other sets before it. */
static int64_t place_of(const struct data_source *s, int set, int64_t j)
{
    int64_t place = j;
    for (int k = 0; k < s->n_sets; k++)
        if (k != set && s->set[k].n_epoch) place += count_before(s, k, set, j);
    return place;
}

/* The data set whose sample stands at @p at, and which of its samples. */
static const struct set *find_mixed(const struct data_source *s, int64_t at, int64_t *j)
{
    for (int k = 0; k < s->n_sets; k++) {
        int64_t lo = 0, hi = s->set[k].n_epoch - 1;
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2;
            if (place_of(s, k, mid) < at)
                lo = mid + 1;
            else
                hi = mid;
        }
        *j = lo;
        if (s->set[k].n_epoch && place_of(s, k, lo) == at) return &s->set[k];
    }
    WSC_CHECK(false, "place %lld of the mixture is empty", (long long)at);
    return NULL;
}

/* One data set after the other: for orders that are shuffled. */
static const struct set *find_stacked(const struct data_source *s, int64_t at, int64_t *j)
{
    const struct set *set = s->set;
    for (; at >= set->n_epoch; set++)
        at -= set->n_epoch;
    *j = at;
    return set;
}

/* Element @p i of an epoch in [0, s->n): whole copies of the data and a part of one when
 * num_samples is more than there are. */
static int64_t order(const struct data_source *s, int64_t i, uint64_t epoch)
{
    const uint64_t last_copy = (uint64_t)1 << 55 | epoch;
    if (!s->shuffle) return i % s->n;
    if (s->n_epoch <= s->n) return data_permute(i, s->n, s->seed, epoch);
    int64_t whole = (s->n_epoch - 1) / s->n * s->n;
    i = data_permute(i, s->n_epoch, s->seed, epoch);
    return i < whole ? i % s->n : data_permute(i - whole, s->n, s->seed, last_copy);
}

static int64_t in_order(const void *source, int64_t i, uint64_t epoch)
{
    return order(source, i, epoch);
}

/* The sample that stands at @p at of the order, number @p g of the stream. */
static enum wsc_err read_place(struct data_source *s, int64_t at, int64_t g)
{
    int64_t j = 0;
    const struct set *set =
        s->shuffle || s->n_sets == 1 ? find_stacked(s, at, &j) : find_mixed(s, at, &j);
    return read_sample(s, set, j % set->n_used, g);
}

/* Read every sample once for its length, tokens that are no padding. */
static enum wsc_err group(struct data_source *s, const struct zoo_input *input)
{
    TRY(data_buckets_create(&s->buckets, input, s->n));
    for (int64_t at = 0; at < s->n; at++) {
        int64_t length = 0;
        TRY(read_place(s, at, 0));
        for (int64_t t = 0; t < s->T; t++)
            length += s->sample[DATA_ROW_ATTENDS * s->T + t];
        data_buckets_put(s->buckets, at, length);
    }
    s->n_epoch = data_buckets_n(s->buckets);
    if (s->n_epoch) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "buckets: none of %d has a batch of %lld samples of like length",
                                  input->n_buckets + 1, (long long)input->batch_size),
                        "fewer buckets, or a smaller batch_size");
}

/* Sequence @p from of the sample as sequence @p k of the batch. */
static void put_rows(const struct data_source *s, int from, struct data_batch *batch, int64_t k)
{
    const bool encoder = s->shared != NULL;
    int32_t *const of_decoder[] = {batch->input_ids, batch->mask, batch->labels,
                                   batch->attention_span, batch->position_ids};
    int32_t *const of_encoder[] = {batch->input_ids,   batch->mask,        batch->labels,
                                   batch->attends,     batch->token_types, batch->attention_span,
                                   batch->position_ids};
    if (encoder) batch->targets[k] = s->target;
    for (int r = 0; r < s->n_rows; r++) {
        int32_t *out = (encoder ? of_encoder[r] : of_decoder[r]) + k * batch->T;
        for (int64_t t = 0; t < s->sinks; t++)
            out[t] = r ? 0 : (int32_t)s->sink_id; /* no label of theirs counts */
        memcpy(out + s->sinks, rows_of(s, from) + r * s->T, (size_t)s->T * sizeof *s->sample);
    }
}

/* Without repeat the data end after one epoch. */
static enum wsc_err check_end(const struct data_source *s, int64_t last)
{
    if (s->repeat || last <= s->n_epoch) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "the data end after %lld samples, and repeat is false: sample "
                                  "%lld is wanted",
                                  (long long)s->n_epoch, (long long)last),
                        "set repeat: true, or fewer steps");
}

/* Sample g of the stream is element g mod N of epoch g / N: a function of seed and epoch, so that
 * any rank reads its own samples without the others. */
enum wsc_err data_source_read(struct data_source *s, int64_t first, int64_t n,
                              struct data_batch *batch)
{
    WSC_CHECK(first >= 0 && n >= 0 && n <= batch->n_max / s->sequences &&
                  batch->T == s->sinks + s->T,
              "samples %lld, +%lld", (long long)first, (long long)n);
    TRY(data_batch_rows(batch, s->packed, s->shared != NULL));
    TRY(check_end(s, first + n));
    batch->n = n * s->sequences;
    for (int64_t k = 0; k < n; k++) {
        const int64_t g = first + k, place = g % s->n_epoch;
        const uint64_t epoch = (uint64_t)(g / s->n_epoch);
        const int64_t at = s->buckets ? data_buckets_at(s->buckets, place, epoch, in_order, s)
                                      : order(s, place, epoch);
        TRY(read_place(s, at, g));
        for (int i = 0; i < s->sequences; i++)
            put_rows(s, i, batch, k * s->sequences + i);
    }
    return WSC_OK;
}
