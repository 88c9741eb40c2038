// SPDX-License-Identifier: Apache-2.0
/* Reads sample files of the Model Zoo: `data` of shape (n, 3, T), (n, 5, T) or a corpus of rank 1,
 * and files of tokens alone, which are a corpus without HDF5. It checks the header data of the file
 * first; sample_writer.c writes the files of shape (n, 3, T) and (n, 5, T). */
#include "h5.h"
#include "h5_error.h"
#include "h5_info.h"
#include "h5_lz4.h"
#include "h5_number.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/store.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most tokens of a sample, which is read as a whole; no model takes more. */
static const int64_t max_T = (int64_t)1 << 26;
enum { MAX_ROWS = 6, TOKEN_BYTES = 2 }; /* most rows of a sample, those of a pair; a raw token */

/* An open file of samples with the two dataspaces of a read. */
struct store_samples {
    char *path;
    hid_t file, dset, file_space, mem_space;
    int tokens;       /* descriptor of a file of tokens alone; -1: HDF5 */
    const char *name; /* name of the dataset; static */
    bool corpus, any_rows;
    bool turned;            /* uint32 in the other byte order */
    int64_t n, T, n_tokens; /* n_tokens: of a corpus */
    int rows, n_dims;
    struct store_info info;
    char type[40]; /* with the byte order where it is not the host's */
};

int64_t store_corpus_n(int64_t n_tokens, int64_t T)
{
    return n_tokens > 0 ? (n_tokens - 1) / T : 0;
}

static enum wsc_err set_layout(struct store_samples *s, const struct store_info *info,
                               int64_t corpus_T)
{
    if (info->kind != H5T_INTEGER)
        return WSC_RAISE(WSC_FORMAT, "%s: dataset %s holds %s, expected integer token ids", s->path,
                         s->name, info->type);
    s->corpus = info->n_dims == 1;
    s->n_dims = info->n_dims;
    if (s->corpus && corpus_T <= 0)
        return wsc_err_hint(
            WSC_RAISE(WSC_FORMAT,
                      "%s: dataset data has rank 1 (a corpus), its sequence length is "
                      "not known",
                      s->path),
            "set max_sequence_length in the input section");
    if (s->corpus) {
        s->T = corpus_T;
        s->rows = 3;
        s->n_tokens = info->n;
        s->n = store_corpus_n(info->n, corpus_T);
    } else if (info->n_dims == 3) {
        s->n = info->shape[0];
        s->rows = (int)(info->shape[1] > MAX_ROWS ? 0 : info->shape[1]);
        s->T = info->shape[2];
    } else if (info->n_dims == 2 && s->any_rows) {
        s->n = info->shape[0];
        s->rows = 1;
        s->T = info->shape[1];
    }
    if (s->any_rows ? s->corpus || s->rows < 1 : s->rows != 3 && s->rows != 5)
        return WSC_RAISE(WSC_FORMAT,
                         "%s: dataset %s has rank %d, second extent %lld, expected "
                         "(n, %s, T)",
                         s->path, s->name, info->n_dims,
                         (long long)(info->n_dims > 1 ? info->shape[1] : 0),
                         s->any_rows ? "rows" : "3");
    if (s->T < 1 || s->T > max_T)
        return WSC_RAISE(WSC_FORMAT, "%s: sequence length %lld is out of range 1 to %lld", s->path,
                         (long long)s->T, (long long)max_T);
    return WSC_OK;
}

/* The Model Zoo uses this attribute; if it contradicts the data, the file is incomplete. */
static enum wsc_err check_count(const struct store_samples *s)
{
    int64_t n = 0;
    bool present = false;
    TRY(store_h5_get_i64(s->file, s->path, "n_examples", &n, &present));
    if (present && !s->corpus && n != s->n)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT,
                                      "%s: attribute n_examples is %lld but data has %lld samples",
                                      s->path, (long long)n, (long long)s->n),
                            "the file may be incomplete: make it again");
    return WSC_OK;
}

/* Describe the type of the numbers, which differs between byte orders too. */
static void describe_type(struct store_samples *s)
{
    const hid_t type = H5Dget_type(s->dset);
    const H5T_order_t order = H5Tget_order(type);
    const bool native = H5Tget_size(type) == 1 || order == H5Tget_order(H5T_NATIVE_INT32);
    (void)snprintf(s->type, sizeof s->type, "%s%s", s->info.type,
                   native                  ? ""
                   : order == H5T_ORDER_BE ? " (big-endian)"
                                           : " (little-endian)");
    (void)H5Tclose(type);
}

/* HDF5 converts uint32 of the other byte order to int32 bit by bit, without checking the sign. */
static bool is_turned(hid_t dset)
{
    const hid_t type = H5Dget_type(dset);
    const bool turned = H5Tget_size(type) == sizeof(int32_t) && H5Tget_sign(type) == H5T_SGN_NONE &&
                        H5Tget_order(type) != H5Tget_order(H5T_NATIVE_INT32);
    (void)H5Tclose(type);
    return turned;
}

/* A cache for a whole row of chunks, so that neighbouring samples do not expand them again. It is
 * bounded, because several files are open at a time. */
static hid_t cache_for(const struct store_info *info)
{
    enum { SLOTS = 521, MIN_CACHE = 1 << 20, MAX_CACHE = 1 << 25 };
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    int64_t rows = info->n_dims ? info->shape[0] : 1;
    int64_t across = info->chunk_rows > 0 && rows > 0 ? info->n / rows : 0;
    size_t bytes = (size_t)(across < MAX_CACHE ? across : MAX_CACHE);
    bytes = info->chunk_rows < 1 << 20 ? bytes * 8 * (size_t)info->chunk_rows : MAX_CACHE;
    bytes = bytes < MIN_CACHE ? MIN_CACHE : bytes > MAX_CACHE ? MAX_CACHE : bytes;
    /* A chunk larger than the cache would be expanded for every sample of it. */
    if (bytes < info->chunk_bytes) bytes = info->chunk_bytes;
    (void)H5Pset_chunk_cache(dapl, SLOTS, bytes, 1.0);
    return dapl;
}

/* Inspect the dataset first, because its properties determine how to open it. */
static enum wsc_err open_dataset(struct store_samples *s, int64_t corpus_T)
{
    struct store_info *const info = &s->info;
    htri_t there = H5Lexists(s->file, s->name, H5P_DEFAULT);
    if (there <= 0)
        return wsc_err_hint(H5_RAISE(WSC_FORMAT, "%s: has no dataset `%s`", s->path, s->name),
                            s->any_rows ? "a file of masked tokens holds `data` of shape (n, 2, T) "
                                          "and `labels`, one of pairs `data` of shape (n, 6, T) or "
                                          "six datasets chosen_..., rejected_..."
                                        : "a GPT sample file holds `data` of shape (n, 3, T)");
    TRY(store_h5_dataset(&s->dset, s->file, s->path, s->name, H5P_DEFAULT));
    TRY(store_h5_inspect(s->path, s->name, s->dset, info));
    TRY(set_layout(s, info, corpus_T));
    TRY(check_count(s));
    (void)H5Dclose(s->dset);
    hid_t dapl = cache_for(info);
    enum wsc_err rc = store_h5_dataset(&s->dset, s->file, s->path, s->name, dapl);
    (void)H5Pclose(dapl);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "open with cache");
    /* With a memory space of another rank HDF5 would copy element by element. */
    const hsize_t tokens = (hsize_t)s->T + 1, line[2] = {1, (hsize_t)s->T},
                  box[3] = {1, (hsize_t)s->rows, (hsize_t)s->T};
    const hsize_t *const extents[] = {NULL, &tokens, line, box};
    s->turned = is_turned(s->dset);
    describe_type(s);
    s->file_space = H5Dget_space(s->dset);
    s->mem_space = H5Screate_simple(s->n_dims, extents[s->n_dims], NULL);
    if (s->file_space < 0 || s->mem_space < 0)
        return H5_RAISE(WSC_FORMAT, "%s: dataset %s has no usable shape", s->path, s->name);
    return WSC_OK;
}

/* A reader without a file; NULL without memory. */
static struct store_samples *create(const char *path, const char *name)
{
    struct store_samples *s = wsc_alloc(WSC_MEM_STORE, 1, sizeof *s);
    if (!s) return NULL;
    s->name = name;
    s->tokens = -1;
    s->file = s->dset = s->file_space = s->mem_space = H5I_INVALID_HID;
    s->path = wsc_strdup(WSC_MEM_STORE, path);
    if (!s->path) store_samples_close(&s);
    return s;
}

static enum wsc_err open_samples(struct store_samples **out, const char *path, int64_t corpus_T,
                                 const char *name, bool any_rows)
{
    struct store_samples *s = NULL;
    *out = NULL;
    TRY_MEM(s, create(path, name));
    s->any_rows = any_rows;
    enum wsc_err rc = store_h5_open(&s->file, path);
    if (!rc) rc = open_dataset(s, corpus_T);
    if (rc) store_samples_close(&s);
    *out = s;
    return rc;
}

enum wsc_err store_samples_open(struct store_samples **out, const char *path, int64_t corpus_T)
{
    return open_samples(out, path, corpus_T, "data", false);
}

enum wsc_err store_samples_open_dataset(struct store_samples **out, const char *path,
                                        const char *name)
{
    return open_samples(out, path, 0, name, true);
}

/* The bytes of a file of tokens; a file of another kind has no size, or a mark at its start. */
static enum wsc_err inspect_tokens(struct store_samples *s, int64_t *bytes)
{
    static const unsigned char mark[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char start[sizeof mark];
    struct stat info;
    s->tokens = open(s->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (s->tokens < 0 || fstat(s->tokens, &info))
        return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", s->path, strerror(errno)),
                            "a file of tokens of 16 bits, as nanoGPT's prepare.py writes them");
    if (!S_ISREG(info.st_mode))
        return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: is not a regular file", s->path),
                            "name the file of tokens itself, such as train.bin");
    if (pread(s->tokens, start, sizeof start, 0) == sizeof start &&
        !memcmp(start, mark, sizeof mark))
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: is an HDF5 file", s->path),
                            "data_processor: GptHDF5MapDataProcessor, with its directory");
    *bytes = (int64_t)info.st_size;
    if (*bytes % TOKEN_BYTES == 0) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: has %lld bytes, expected an even number",
                                  s->path, (long long)*bytes),
                        "tokens have 16 bits each; the file may be incomplete");
}

enum wsc_err store_samples_open_tokens(struct store_samples **out, const char *path, int64_t T)
{
    struct store_samples *s = NULL;
    int64_t bytes = 0;
    *out = NULL;
    WSC_CHECK(T >= 1 && T <= max_T, "%lld tokens a sample", (long long)T);
    TRY_MEM(s, create(path, "tokens"));
    const enum wsc_err rc = inspect_tokens(s, &bytes);
    s->corpus = true;
    s->T = T;
    s->rows = 3;
    s->n_tokens = bytes / TOKEN_BYTES;
    s->n = store_corpus_n(s->n_tokens, T);
    if (rc) store_samples_close(&s);
    *out = s;
    return rc;
}

enum wsc_err store_samples_have(const char *path, const char *name, bool *have)
{
    hid_t file = H5I_INVALID_HID;
    TRY(store_h5_open(&file, path));
    *have = H5Lexists(file, name, H5P_DEFAULT) > 0;
    (void)H5Fclose(file);
    return WSC_OK;
}

void store_samples_close(struct store_samples **samples)
{
    struct store_samples *s = *samples;
    if (!s) return;
    if (s->mem_space >= 0) (void)H5Sclose(s->mem_space);
    if (s->file_space >= 0) (void)H5Sclose(s->file_space);
    if (s->dset >= 0) (void)H5Dclose(s->dset);
    if (s->file >= 0) (void)H5Fclose(s->file);
    if (s->tokens >= 0) (void)close(s->tokens);
    wsc_free(s->path);
    wsc_free(s);
    *samples = NULL;
}

int64_t store_samples_n(const struct store_samples *s)
{
    return s->n;
}

int64_t store_samples_T(const struct store_samples *s)
{
    return s->T;
}

int store_samples_rows(const struct store_samples *s)
{
    return s->rows;
}

int64_t store_samples_n_tokens(const struct store_samples *s)
{
    return s->corpus ? s->n_tokens : -1;
}

const char *store_samples_type(const struct store_samples *s)
{
    return s->type;
}

void store_corpus_rows(const int32_t *tokens, int64_t T, int32_t *out)
{
    for (int64_t t = 0; t < T; t++) {
        out[t] = tokens[t];
        out[T + t] = 1;
        out[2 * T + t] = tokens[t + 1];
    }
}

/* Read @p n numbers into the memory space @p mem; @p what, @p i: for the message. */
static enum wsc_err read_selected(struct store_samples *s, hid_t mem, int64_t n, int32_t *out,
                                  const char *what, int64_t i)
{
    const hid_t type = s->turned ? H5T_NATIVE_UINT32 : H5T_NATIVE_INT32;
    store_lz4_expect(&s->info);
    if (H5Dread(s->dset, type, mem, s->file_space, H5P_DEFAULT, out) < 0)
        return H5_RAISE(WSC_IO, "%s: %s %lld cannot be read", s->path, what, (long long)i);
    for (int64_t e = 0; s->turned && e < n; e++)
        if (out[e] < 0) out[e] = INT32_MAX; /* 2^31 and more */
    return WSC_OK;
}

/* Read @p n bytes of a file of tokens, from token @p first on. */
static enum wsc_err read_bytes(struct store_samples *s, int64_t first, unsigned char *out,
                               int64_t n)
{
    for (int64_t done = 0; done < n;) {
        const ssize_t got =
            pread(s->tokens, out + done, (size_t)(n - done), first * TOKEN_BYTES + done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return WSC_RAISE(WSC_IO, "%s: sample %lld cannot be read: %s", s->path,
                             (long long)(first / s->T),
                             got ? strerror(errno) : "the file has become shorter");
        done += got;
    }
    return WSC_OK;
}

/* The bytes are read into the end of @p tokens, so that they are widened from the first on. */
static enum wsc_err read_tokens(struct store_samples *s, int64_t first, int64_t n, int32_t *tokens)
{
    const int64_t bytes = n * TOKEN_BYTES;
    unsigned char *from = (unsigned char *)(tokens + n) - bytes;
    TRY(read_bytes(s, first, from, bytes));
    for (int64_t t = 0; t < n; t++, from += TOKEN_BYTES)
        tokens[t] = from[0] | from[1] << 8;
    return WSC_OK;
}

enum wsc_err store_samples_read_tokens(struct store_samples *s, int64_t first, int64_t n,
                                       int32_t *out)
{
    const hsize_t from = (hsize_t)first, count = (hsize_t)n;
    WSC_CHECK(s->corpus && first >= 0 && n >= 1 && n <= s->n_tokens - first,
              "tokens %lld, +%lld of %lld", (long long)first, (long long)n, (long long)s->n_tokens);
    if (s->tokens >= 0) return read_tokens(s, first, n, out);
    (void)H5Sselect_hyperslab(s->file_space, H5S_SELECT_SET, &from, NULL, &count, NULL);
    const hid_t part = n == s->T + 1 ? H5I_INVALID_HID : H5Screate_simple(1, &count, NULL);
    const enum wsc_err rc =
        read_selected(s, part >= 0 ? part : s->mem_space, n, out, "token", first);
    if (part >= 0) (void)H5Sclose(part);
    return rc;
}

/* Tokens i T to (i + 1) T: the last one is the label of the one before. */
static enum wsc_err read_corpus(struct store_samples *s, int64_t i, int32_t *out)
{
    int32_t *tokens;
    TRY_MEM(tokens, wsc_alloc_raw(WSC_MEM_STORE, (size_t)s->T + 1, sizeof *tokens));
    enum wsc_err rc = store_samples_read_tokens(s, i * s->T, s->T + 1, tokens);
    if (!rc) store_corpus_rows(tokens, s->T, out);
    wsc_free(tokens);
    return rc;
}

enum wsc_err store_samples_read(struct store_samples *s, int64_t i, int32_t *out)
{
    WSC_CHECK(i >= 0 && i < s->n, "sample %lld of %lld", (long long)i, (long long)s->n);
    if (s->corpus) return read_corpus(s, i, out);
    hsize_t first[3] = {(hsize_t)i, 0, 0}, count[3] = {1, (hsize_t)s->rows, (hsize_t)s->T};
    if (s->n_dims == 2) count[1] = (hsize_t)s->T;
    (void)H5Sselect_hyperslab(s->file_space, H5S_SELECT_SET, first, NULL, count, NULL);
    return read_selected(s, s->mem_space, s->rows * s->T, out, "sample", i);
}

/* Find where the dataset has value @p at of sample @p i, in the numbering of store_samples_read().
 */
static void place_of(const struct store_samples *s, int64_t i, int64_t at, hsize_t place[3])
{
    const int64_t row = at / s->T, t = at % s->T;
    place[0] = (hsize_t)(s->corpus ? i * s->T + t + (row == 2 ? 1 : 0) : i);
    place[1] = (hsize_t)(s->n_dims == 2 ? t : row);
    place[2] = (hsize_t)t;
}

enum wsc_err store_samples_digits(struct store_samples *s, int64_t i, int64_t at,
                                  char text[STORE_DIGITS])
{
    hsize_t place[3];
    uint64_t value = 0;
    const hid_t type = H5Dget_type(s->dset);
    const bool natural = H5Tget_sign(type) == H5T_SGN_NONE;
    (void)H5Tclose(type);
    WSC_CHECK(at >= 0 && at < s->rows * s->T, "value %lld of sample %lld", (long long)at,
              (long long)i);
    place_of(s, i, at, place);
    store_lz4_expect(&s->info);
    hid_t one = H5Screate(H5S_SCALAR);
    (void)H5Sselect_elements(s->file_space, H5S_SELECT_SET, 1, place);
    const herr_t bad = H5Dread(s->dset, natural ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, one,
                               s->file_space, H5P_DEFAULT, &value);
    (void)H5Sclose(one);
    if (bad < 0) return H5_RAISE(WSC_IO, "%s: sample %lld cannot be read", s->path, (long long)i);
    if (natural)
        (void)snprintf(text, STORE_DIGITS, "%" PRIu64, value);
    else
        (void)snprintf(text, STORE_DIGITS, "%" PRId64, (int64_t)value);
    return WSC_OK;
}
