// SPDX-License-Identifier: Apache-2.0
/* The files of a source: finds them in the folders of its data sets, checks each once, keeps a few
 * open at a time and reads sample by sample; computes their sizes and hashes. batch_source.c calls.
 */
#include "bert_files.h"
#include "encoder_shared.h"
#include "file_sum.h"
#include "meta_files.h"
#include "source_state.h"

#include <wsc/mem.h>
#include <wsc/store.h>
#include <wsc/text.h>
#include <wsc/zoo.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_OPEN = 16 };

/* ---- the list of files ----------------------------------------------------------------------- */

/* Takes over @p path. */
static enum wsc_err add_file(struct data_source *s, char *path)
{
    TRY_GROW(s->file, WSC_MEM_DATA, s->room, s->n_files + 1);
    s->file[s->n_files++] =
        (struct data_file){.path = path, .listed = DATA_NOT_LISTED, .n_tokens = -1};
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
    char *path;
    TRY(data_meta_path(dir, name, &path));
    enum wsc_err rc = add_file(s, path);
    if (rc) wsc_free(path);
    return rc;
}

/* The options with which `wsc data` makes such samples; false if it makes none. */
static bool options_to_make(const struct data_source *s, const struct zoo_input *input, char *out,
                            size_t size)
{
    static const char bpe[] = " --tokenizer bpe --vocab FILE --merges FILE";
    const struct data_bert_loader *loader =
        input->data_processor ? data_bert_loader_find(input->data_processor) : NULL;
    const bool pairs = input->samples == ZOO_SAMPLES_PAIRS;
    if (pairs || input->samples == ZOO_SAMPLES_GPT)
        (void)snprintf(out, size, "%s%s", pairs ? " --chat_template NAME" : "",
                       s->vocab == 256 ? "" : bpe);
    else if (loader)
        (void)snprintf(
            out, size, " --data_processor %s --tokenizer wordpiece --vocab FILE%s", loader->name,
            loader->answers || (loader->may_pair && input->pairs) ? "" : " --disable_nsp");
    else
        return false;
    return true;
}

/* Hint for missing data: remove the part of the path that `wsc data` adds.  A file lies in the
 * folder to name. */
static enum wsc_err hint_to_make(enum wsc_err rc, const struct data_source *s,
                                 const struct zoo_input *input, const char *dir)
{
    static const char *const part[] = {"/train", "/val", "/test"};
    char options[160];
    size_t n = strlen(dir);
    const char *name = strrchr(dir, '/');
    struct stat st;
    if (!stat(dir, &st) && S_ISREG(st.st_mode))
        return wsc_err_hint(rc, "name its folder, %.*s", name > dir ? (int)(name - dir) : 1,
                            name ? dir : ".");
    if (!options_to_make(s, input, options, sizeof options)) return rc;
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
                        (int)n, dir, (long long)s->T, options);
}

static enum wsc_err add_directory(struct data_source *s, const struct zoo_input *input,
                                  const char *dir)
{
    DIR *d = opendir(dir);
    if (!d)
        return hint_to_make(
            WSC_RAISE(WSC_IO, "data_dir %s: cannot be listed: %s", dir, strerror(errno)), s, input,
            dir);
    enum wsc_err rc = WSC_OK;
    for (struct dirent *e = readdir(d); e && !rc; e = readdir(d))
        if (is_sample_file(e->d_name)) rc = add_entry(s, dir, e->d_name);
    (void)closedir(d);
    return rc;
}

/* Files of tokens are named themselves, because a folder has one for each part of a text. */
static enum wsc_err add_tokens(struct data_source *s, const char *name)
{
    char *path;
    TRY_MEM(path, wsc_strdup(WSC_MEM_DATA, name));
    const enum wsc_err rc = add_file(s, path);
    if (rc) wsc_free(path);
    return rc;
}

/* The next part of a path, after empty parts and those that are ".", as "./a//b" is a/b. */
static const char *part_at(const char *p)
{
    while (*p == '/' || (*p == '.' && (p[1] == '/' || !p[1])))
        p++;
    return p;
}

/* Rank of the next character of a path: its end, the end of a part, the bytes. */
static int next_rank(const char **path)
{
    const char *p = *path, *part = *p == '/' ? part_at(p) : p;
    if (!*part) return 0;
    *path = part == p ? p + 1 : part;
    return part == p ? (unsigned char)*p + 1 : 1;
}

/* The Model Zoo sorts paths part by part, of which the root is one: a/x.h5 is before a-b/x.h5,
 * although '-' is before '/'. */
static int by_path(const void *a, const void *b)
{
    const char *x = ((const struct data_file *)a)->path, *y = ((const struct data_file *)b)->path;
    const char *left = part_at(x), *right = part_at(y);
    if (*x == '/' && *y != '/') return '/' < *right ? -1 : 1;
    if (*x != '/' && *y == '/') return *left < '/' ? -1 : 1;
    for (;;) {
        const int l = next_rank(&left), r = next_rank(&right);
        if (l != r) return l < r ? -1 : 1;
        if (!l) return 0;
    }
}

/* Add the files of encoders that the list of a folder names. */
static enum wsc_err add_listed(struct data_source *s, const struct zoo_input *input,
                               const char *dir)
{
    for (int k = 0;; k++) {
        char *name;
        enum wsc_err rc = data_examples_file(input, dir, k, &name);
        if (rc) return rc == WSC_IO ? hint_to_make(rc, s, input, dir) : rc;
        if (!name) return WSC_OK;
        rc = add_entry(s, dir, name);
        wsc_free(name);
        TRY(rc);
        struct data_file *file = &s->file[s->n_files - 1];
        TRY(data_examples_listed(input, dir, k, &file->listed));
        TRY(data_examples_targets(input, dir, k, &file->targets));
    }
}

/* Append the files of data set @p k to those of the sets before it. */
enum wsc_err data_source_list(struct data_source *s, const struct zoo_input *input, int k)
{
    struct data_set *set = &s->set[k];
    const bool listed = s->shared && !data_examples_are_h5(input);
    const char *dir = "(none)";
    set->first_file = s->n_files;
    for (int i = 0; i < input->n_data_dirs; i++) {
        if (input->data_set[i] != k) continue;
        dir = input->data_dir[i];
        if (listed)
            TRY(add_listed(s, input, dir));
        else if (s->tokens_alone)
            TRY(add_tokens(s, dir));
        else
            TRY(add_directory(s, input, dir));
    }
    set->n_files = s->n_files - set->first_file;
    if (!set->n_files)
        return hint_to_make(
            WSC_RAISE(WSC_IO,
                      listed ? "%s/meta.dat: names no file" : "data_dir %s: holds no .h5 file",
                      dir),
            s, input, dir);
    qsort(s->file + set->first_file, (size_t)set->n_files, sizeof *s->file, by_path);
    return WSC_OK;
}

/* ---- open files ------------------------------------------------------------------------------ */

static bool is_open(const struct data_file *f)
{
    return f->open || f->pairs;
}

/* Close the least recently used file: descriptors are few, and samples come in any order. */
static void close_oldest(struct data_source *s)
{
    struct data_file *oldest = NULL;
    for (int i = 0; i < s->n_files; i++)
        if (is_open(&s->file[i]) && (!oldest || s->file[i].used < oldest->used))
            oldest = &s->file[i];
    store_samples_close(&oldest->open);
    data_pairs_close(&oldest->pairs);
    s->n_open--;
}

/* Open the file if needed, and mark it as used. */
static enum wsc_err use_file(struct data_source *s, struct data_file *f)
{
    f->used = ++s->tick;
    if (is_open(f)) return WSC_OK;
    if (s->n_open == MAX_OPEN) close_oldest(s);
    if (s->sequences > 1)
        TRY(data_pairs_open(&f->pairs, f->path));
    else if (s->tokens_alone)
        TRY(store_samples_open_tokens(&f->open, f->path, s->T));
    else
        TRY(store_samples_open(&f->open, f->path, s->T));
    s->n_open++;
    return WSC_OK;
}

/* Tokens of a sequence of an open file; below, its number of samples. */
static int64_t T_of(const struct data_file *f)
{
    return f->pairs ? data_pairs_T(f->pairs) : store_samples_T(f->open);
}

static int64_t n_of(const struct data_file *f)
{
    return f->pairs ? data_pairs_n(f->pairs) : store_samples_n(f->open);
}

/* Files with spans need use_vsl, files without need that it is off: each mistake has its own hint.
 */
static enum wsc_err check_rows(const struct data_source *s, const struct data_file *f)
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

static enum wsc_err wrong_length(const struct data_source *s, const struct data_file *f, int64_t T)
{
    const char *sinks = s->sinks ? " without sink tokens" : "";
    const bool of_model = wsc_ends_with(s->length_key, "model.max_position_embeddings");
    char other[96] = "change the key";
    if (of_model && T > s->T) (void)snprintf(other, sizeof other, "change the model");
    if (of_model && T < s->T)
        (void)snprintf(other, sizeof other, "--set %s.max_sequence_length=%lld", s->section,
                       (long long)T);
    (void)WSC_RAISE(WSC_CONFIG, "%s: its sequences have %lld tokens, but %s%s is %lld", f->path,
                    (long long)T, s->length_key, sinks, (long long)s->T);
    return wsc_err_hint(
        WSC_CONFIG, "make the dataset again with --max_seq_length %lld, or %s%s", (long long)s->T,
        other,
        s->sinks || !of_model || T > s->T ? "" : "; sink tokens need data_transforms here too");
}

/* Check each file once before the run: first in another process (store_probe), because a damaged
 * file can crash HDF5; then its rows, length and number of samples. */
static enum wsc_err check_gpt_file(struct data_source *s, struct data_file *f)
{
    if (!s->tokens_alone) TRY(store_probe(f->path));
    TRY(use_file(s, f));
    if (!f->pairs) TRY(check_rows(s, f));
    const int64_t T = T_of(f);
    return T == s->T ? WSC_OK : wrong_length(s, f, T);
}

/* A file of lines is listed with their number, of which samples are made. */
static enum wsc_err check_listed(const struct data_file *f)
{
    if (f->listed == DATA_NOT_LISTED) return WSC_OK;
    const int64_t lines = data_examples_lines(f->examples);
    if (f->listed == lines) return WSC_OK;
    return wsc_err_hint(
        WSC_RAISE(WSC_FORMAT, "%s: has %lld %s, but meta.dat lists %lld", f->path, (long long)lines,
                  data_examples_are_lines(f->examples) ? "lines" : "samples", (long long)f->listed),
        "the file may be incomplete; else correct the list");
}

/* The files of a data set are either samples or one corpus, whose tokens have one type. */
static enum wsc_err check_kind(const struct data_source *s, struct data_set *set,
                               const struct data_file *f)
{
    const struct data_file *first = &s->file[set->first_file];
    const bool corpus = f->n_tokens >= 0;
    if (f == first && corpus)
        (void)snprintf(set->type, sizeof set->type, "%s", store_samples_type(f->open));
    if (corpus != (first->n_tokens >= 0))
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: holds %s, but %s holds %s", f->path,
                                      corpus ? "a corpus" : "samples", first->path,
                                      corpus ? "samples" : "a corpus"),
                            "one kind of files in a data set; a mixture may have both");
    if (!corpus || !strcmp(store_samples_type(f->open), set->type)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: its tokens are %s, those of %s are %s", f->path,
                                  store_samples_type(f->open), first->path, set->type),
                        "one type of tokens in all files of a corpus");
}

static enum wsc_err too_many(const struct data_file *f)
{
    return WSC_RAISE(WSC_FORMAT, "%s: too many samples", f->path);
}

/* Add a corpus: the files of a data set are one stream of tokens, and a sample may begin in one
 * file and end in another. */
static enum wsc_err add_corpus(const struct data_source *s, struct data_set *set,
                               struct data_file *f)
{
    const struct data_file *before = f == &s->file[set->first_file] ? NULL : f - 1;
    int64_t end;
    f->first_token = before ? before->first_token + before->n_tokens : 0;
    if (__builtin_add_overflow(f->first_token, f->n_tokens, &end) || end > DATA_MAX_SAMPLES)
        return too_many(f);
    f->first = (f->first_token + s->T - 1) / s->T;
    set->n = store_corpus_n(end, s->T);
    return WSC_OK;
}

enum wsc_err data_source_look(struct data_source *s, struct data_set *set, struct data_file *f)
{
    if (s->shared)
        TRY(data_examples_open(&f->examples, f->path, f->targets, s->shared));
    else
        TRY(check_gpt_file(s, f));
    const int64_t n = s->shared ? data_examples_n(f->examples) : n_of(f);
    TRY(check_listed(f));
    if (f->open && !s->tokens_alone) f->n_tokens = store_samples_n_tokens(f->open);
    TRY(check_kind(s, set, f));
    if (f->n_tokens >= 0) return add_corpus(s, set, f);
    f->first = set->n;
    if (__builtin_add_overflow(set->n, n, &set->n) || set->n > DATA_MAX_SAMPLES) return too_many(f);
    return WSC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The last file whose first sample is @p i or one before it; a file in which no sample begins has
 * the first one of the next file. */
static struct data_file *file_of(const struct data_source *s, const struct data_set *set, int64_t i)
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

/* Check the file again, because another program may have replaced it. */
static enum wsc_err check_unchanged(const struct data_source *s, const struct data_file *f,
                                    int64_t i)
{
    const bool all = f->n_tokens < 0 ? i < n_of(f) : f->n_tokens == store_samples_n_tokens(f->open);
    if (all && T_of(f) == s->T && (!f->open || store_samples_rows(f->open) == s->n_rows))
        return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: was changed while it is in use", f->path);
}

/* The file, from @p f on, that has token @p *at, counted from the start of @p f; afterwards *@p at
 * is counted from the start of that file. */
static struct data_file *file_of_token(struct data_source *s, const struct data_file *f,
                                       int64_t *at)
{
    struct data_file *file = &s->file[f - s->file];
    for (; *at >= file->n_tokens; file++)
        *at -= file->n_tokens;
    return file;
}

/* Read the T + 1 tokens of sample @p i of a corpus, which begins in @p f. */
static enum wsc_err read_stream(struct data_source *s, const struct data_file *f, int64_t i,
                                int32_t *tokens)
{
    int64_t at = i * s->T - f->first_token;
    for (int64_t done = 0, left = s->T + 1; left;) {
        struct data_file *file = file_of_token(s, f, &at);
        const int64_t rest = file->n_tokens - at, n = rest < left ? rest : left;
        TRY(use_file(s, file));
        TRY(check_unchanged(s, file, 0));
        TRY(store_samples_read_tokens(file->open, at, n, tokens + done));
        f = file;
        at += n;
        done += n;
        left -= n;
    }
    return WSC_OK;
}

static enum wsc_err fetch_of_corpus(struct data_source *s, const struct data_file *f, int64_t i)
{
    int32_t *tokens;
    TRY_MEM(tokens, wsc_alloc_raw(WSC_MEM_DATA, (size_t)s->T + 1, sizeof *tokens));
    const enum wsc_err rc = read_stream(s, f, i, tokens);
    if (!rc) store_corpus_rows(tokens, s->T, s->sample);
    wsc_free(tokens);
    return rc;
}

enum wsc_err data_source_token(struct data_source *s, const struct data_file *f, int64_t at,
                               const struct data_file **from, int64_t *in_file,
                               char text[STORE_DIGITS])
{
    at -= f->first_token;
    struct data_file *file = file_of_token(s, f, &at);
    *from = file;
    *in_file = at;
    TRY(use_file(s, file));
    TRY(check_unchanged(s, file, 0));
    return store_samples_digits(file->open, at / s->T, at % s->T, text);
}

enum wsc_err data_source_fetch(struct data_source *s, const struct data_set *set, int64_t i,
                               int64_t g, const struct data_file **from)
{
    struct data_file *f = file_of(s, set, i);
    const int64_t in_file = i - f->first;
    *from = f;
    if (s->shared)
        return data_examples_read(f->examples, in_file, (uint64_t)g, s->sample, &s->target);
    if (f->n_tokens >= 0) return fetch_of_corpus(s, f, i);
    TRY(use_file(s, f));
    TRY(check_unchanged(s, f, in_file));
    return f->pairs ? data_pairs_read(f->pairs, in_file, s->sample)
                    : store_samples_read(f->open, in_file, s->sample);
}

/* ---- closing and comparing ------------------------------------------------------------------- */

void data_source_close_files(struct data_source *s)
{
    for (int i = 0; i < s->n_files; i++) {
        store_samples_close(&s->file[i].open);
        data_pairs_close(&s->file[i].pairs);
        data_examples_close(&s->file[i].examples);
        wsc_free(s->file[i].path);
        wsc_free(s->file[i].targets);
    }
    wsc_free(s->file);
    s->file = NULL;
    s->n_files = 0;
}

/* Files beside the samples that decide what their texts are: vocabulary and labels. */
enum { MOST_BESIDE = 2 };
static int files_beside(const struct data_source *s, const char *path[MOST_BESIDE])
{
    const struct data_examples_shared *shared = s->shared;
    int n = 0;
    if (shared && (shared->words || shared->tokens.words)) path[n++] = shared->in->vocab_file;
    if (shared && shared->labels.n) path[n++] = shared->in->label_vocab_file;
    return n;
}

/* Bytes of all files; INT64_MAX if one cannot be read, which the computation of its sum then
 * reports. */
static int64_t bytes_of(const char *const *path, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        struct stat st;
        if (stat(path[i], &st)) return INT64_MAX;
        sum += (int64_t)st.st_size;
    }
    return sum;
}

enum wsc_err data_source_sums(const struct data_source *source, int64_t most,
                              struct data_file_sum **sums, int *n)
{
    const struct data_source *s = source;
    const char **path;
    *n = 0;
    int all = 0;
    TRY_NEW(path, WSC_MEM_DATA, 2 * s->n_files + MOST_BESIDE);
    for (int i = 0; i < s->n_files; i++) {
        path[all++] = s->file[i].path;
        if (s->file[i].targets) path[all++] = s->file[i].targets;
    }
    all += files_beside(s, path + all);
    const int64_t part = bytes_of(path, all) <= most ? most : most / (all ? all : 1);
    *sums = wsc_alloc(WSC_MEM_DATA, (size_t)all + 1, sizeof **sums);
    enum wsc_err rc =
        *sums ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "sums of sample files");
    for (; *n < all && !rc; (*n)++)
        rc = data_sum_file(path[*n], part, &(*sums)[*n]);
    wsc_free(path);
    if (rc) {
        wsc_free(*sums);
        *sums = NULL;
    }
    return rc;
}
