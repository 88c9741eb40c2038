// SPDX-License-Identifier: Apache-2.0
#include <wsc/check.h>
#include <wsc/data.h>
#include <wsc/mem.h>
#include <wsc/store.h>

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPEN = 16 };

struct file {
    char *path;
    int64_t first; /* global index of its first sample */
    struct store_samples *open;
    int64_t used; /* tick of its last use */
};

struct data_source {
    struct file *file;
    int n_files, room, n_open;
    int64_t n, T, vocab, tick;
    bool shuffle;
    uint64_t seed;
    int32_t *sample; /* (3, T) */
};

/* ---- batches --------------------------------------------------------------------------------- */

enum wsc_err data_batch_create(struct data_batch **out, int64_t n_max, int64_t T)
{
    struct data_batch *b = NULL;
    WSC_CHECK(n_max >= 0 && T > 0, "batch of %lld x %lld", (long long)n_max, (long long)T);
    *out = NULL;
    TRY_NEW(b, WSC_MEM_DATA, 1);
    b->n_max = n_max;
    b->T = T;
    size_t row = (size_t)T * sizeof(int32_t);
    b->input_ids = wsc_alloc(WSC_MEM_DATA, (size_t)n_max, row);
    b->labels = wsc_alloc(WSC_MEM_DATA, (size_t)n_max, row);
    b->mask = wsc_alloc(WSC_MEM_DATA, (size_t)n_max, row);
    if (!b->input_ids || !b->labels || !b->mask) {
        data_batch_destroy(&b);
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "allocate batch");
    }
    *out = b;
    return WSC_OK;
}

void data_batch_destroy(struct data_batch **batch)
{
    if (!*batch) return;
    wsc_free((*batch)->input_ids);
    wsc_free((*batch)->labels);
    wsc_free((*batch)->mask);
    wsc_free(*batch);
    *batch = NULL;
}

/* ---- the list of files ----------------------------------------------------------------------- */

/* Takes over @p path. */
static enum wsc_err add_file(struct data_source *s, char *path)
{
    if (s->n_files == s->room) {
        int room = s->room ? 2 * s->room : 16;
        struct file *bigger = wsc_realloc(WSC_MEM_DATA, s->file, (size_t)room, sizeof *bigger);
        if (!bigger) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "list of files");
        s->file = bigger;
        s->room = room;
    }
    s->file[s->n_files++] = (struct file){.path = path};
    return WSC_OK;
}

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

static enum wsc_err add_directory(struct data_source *s, const char *dir)
{
    DIR *d = opendir(dir);
    if (!d)
        return wsc_err_hint(
            WSC_RAISE(WSC_IO, "data_dir %s: cannot be listed: %s", dir, strerror(errno)),
            "make a dataset with `wsc data --input TEXT... --out DIR`");
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

static enum wsc_err list_files(struct data_source *s, const struct conf_input *input)
{
    for (int i = 0; i < input->n_data_dirs; i++)
        TRY(add_directory(s, input->data_dir[i]));
    if (!s->n_files)
        return wsc_err_hint(WSC_RAISE(WSC_IO, "data_dir %s: holds no .h5 file",
                                      input->n_data_dirs ? input->data_dir[0] : "(none)"),
                            "make a dataset with `wsc data --input TEXT... --out DIR`");
    qsort(s->file, (size_t)s->n_files, sizeof *s->file, by_path);
    return WSC_OK;
}

/* ---- open files ------------------------------------------------------------------------------ */

static void close_oldest(struct data_source *s)
{
    struct file *oldest = NULL;
    for (int i = 0; i < s->n_files; i++)
        if (s->file[i].open && (!oldest || s->file[i].used < oldest->used)) oldest = &s->file[i];
    store_samples_close(&oldest->open);
    s->n_open--;
}

static enum wsc_err use_file(struct data_source *s, struct file *f)
{
    f->used = ++s->tick;
    if (f->open) return WSC_OK;
    if (s->n_open == MAX_OPEN) close_oldest(s);
    TRY(store_samples_open(&f->open, f->path, s->T));
    s->n_open++;
    return WSC_OK;
}

static enum wsc_err check_file(struct data_source *s, struct file *f)
{
    TRY(use_file(s, f));
    if (store_samples_rows(f->open) != 3)
        return wsc_err_hint(
            WSC_RAISE(WSC_FORMAT, "%s: VSL datasets are not supported by this release", f->path),
            "make the dataset without use_vsl");
    int64_t T = store_samples_T(f->open);
    if (T != s->T)
        return wsc_err_hint(
            WSC_RAISE(WSC_CONFIG,
                      "%s: its sequences have %lld tokens, but "
                      "model.max_position_embeddings is %lld",
                      f->path, (long long)T, (long long)s->T),
            "make the dataset again with --max_seq_length %lld, or change the model",
            (long long)s->T);
    f->first = s->n;
    if (__builtin_add_overflow(s->n, store_samples_n(f->open), &s->n))
        return WSC_RAISE(WSC_FORMAT, "%s: too many samples", f->path);
    return WSC_OK;
}

static enum wsc_err check_length(const struct conf_input *input, int64_t T)
{
    int64_t length = input->max_sequence_length;
    if (length == CONF_NULL || length == T) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "max_sequence_length of the input is %lld, but model.max_position_embeddings "
                     "is %lld",
                     (long long)length, (long long)T);
}

static enum wsc_err open_all(struct data_source *s, const struct conf_input *input)
{
    TRY(check_length(input, s->T));
    TRY(list_files(s, input));
    for (int i = 0; i < s->n_files; i++)
        TRY(check_file(s, &s->file[i]));
    if (s->n < 1 || s->n > (int64_t)1 << 62)
        return WSC_RAISE(WSC_FORMAT, "%s: its files hold %lld samples", input->data_dir[0],
                         (long long)s->n);
    return WSC_OK;
}

enum wsc_err data_source_open(struct data_source **out, const struct conf_input *input, int64_t T,
                              int64_t vocab_size)
{
    struct data_source *s = NULL;
    WSC_CHECK(T > 0 && vocab_size > 0, "T %lld, vocabulary %lld", (long long)T,
              (long long)vocab_size);
    *out = NULL;
    TRY_NEW(s, WSC_MEM_DATA, 1);
    s->T = T;
    s->vocab = vocab_size;
    s->shuffle = input->shuffle;
    s->seed = (uint64_t)input->shuffle_seed;
    s->sample = wsc_alloc_raw(WSC_MEM_DATA, (size_t)T, 3 * sizeof *s->sample);
    enum wsc_err rc = s->sample ? open_all(s, input) : WSC_NOMEM;
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
        wsc_free(s->file[i].path);
    }
    wsc_free(s->file);
    wsc_free(s->sample);
    wsc_free(s);
    *source = NULL;
}

int64_t data_source_n_samples(const struct data_source *source)
{
    return source->n;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The last file that begins at or before sample @p i; empty files begin where the next one does. */
static struct file *file_of(const struct data_source *s, int64_t i)
{
    int lo = 0, hi = s->n_files - 1;
    while (lo < hi) {
        int mid = lo + (hi - lo + 1) / 2;
        if (s->file[mid].first <= i)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &s->file[lo];
}

/* Position t of the sample just read: the row that is out of range, or -1. */
static int bad_row(struct data_source *s, int64_t t)
{
    int64_t vocab = s->vocab;
    int32_t input = s->sample[t], mask = s->sample[s->T + t], *label = &s->sample[2 * s->T + t];
    if (input < 0 || input >= vocab) return 0;
    if (mask != 0 && mask != 1) return 1;
    if (*label >= 0 && *label < vocab) return -1;
    if (mask) return 2;
    *label = 0; /* does not count; in range it can be used as an index */
    return -1;
}

static enum wsc_err check_ids(struct data_source *s, const struct file *f, int64_t i)
{
    static const char *const name[] = {"input_ids", "attention_mask", "labels"};
    for (int64_t t = 0; t < s->T; t++) {
        int row = bad_row(s, t);
        if (row < 0) continue;
        long long last = row == 1 ? 1 : (long long)s->vocab - 1;
        const char *hint = row == 1
                               ? "the mask says which labels count in the loss"
                               : "does model.vocab_size belong to the tokenizer of this dataset?";
        (void)WSC_RAISE(WSC_FORMAT, "%s: sample %lld, position %lld: %s is %d, expected 0 to %lld",
                        f->path, (long long)(i - f->first), (long long)t, name[row],
                        (int)s->sample[row * s->T + t], last);
        return wsc_err_hint(WSC_FORMAT, "%s", hint);
    }
    return WSC_OK;
}

static enum wsc_err read_sample(struct data_source *s, int64_t i)
{
    struct file *f = file_of(s, i);
    TRY(use_file(s, f));
    /* Another program may have replaced the file since it was first looked at. */
    if (i - f->first >= store_samples_n(f->open) || store_samples_T(f->open) != s->T ||
        store_samples_rows(f->open) != 3)
        return WSC_RAISE(WSC_IO, "%s: was changed while it is in use", f->path);
    TRY(store_samples_read(f->open, i - f->first, s->sample));
    TRY(check_ids(s, f, i));
    return WSC_OK;
}

enum wsc_err data_source_read(struct data_source *s, int64_t first, int64_t n,
                              struct data_batch *batch)
{
    WSC_CHECK(first >= 0 && n >= 0 && n <= batch->n_max && batch->T == s->T, "samples %lld, +%lld",
              (long long)first, (long long)n);
    size_t row = (size_t)s->T * sizeof *s->sample;
    batch->n = n;
    for (int64_t k = 0; k < n; k++) {
        int64_t g = first + k, epoch = g / s->n, i = g % s->n;
        if (s->shuffle) i = data_permute(i, s->n, s->seed, (uint64_t)epoch);
        TRY(read_sample(s, i));
        memcpy(batch->input_ids + k * s->T, s->sample, row);
        memcpy(batch->mask + k * s->T, s->sample + s->T, row);
        memcpy(batch->labels + k * s->T, s->sample + 2 * s->T, row);
    }
    return WSC_OK;
}
