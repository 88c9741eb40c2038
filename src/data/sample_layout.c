// SPDX-License-Identifier: Apache-2.0
/* Cuts the corpus into samples: T + 1 tokens that overlap by one, or several whole documents packed
 * into one sample with attention spans (VSL). */
#include "sample_layout.h"
#include "corpus.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SCAN_TOKENS = 1 << 16 };

struct data_samples {
    struct data_corpus *corpus;
    const struct data_make *make;
    int64_t n, n_tokens;
    FILE *first; /* of VSL: int64 (n + 1), first token of each sample and the end of the last */
    char *first_path;
    int32_t *ids; /* ids of a sample, and one more */
};

/* ---- cutting by texts ------------------------------------------------------------------------ */

/* True if @p id ends a text, of which @p n tokens precede it. If BOS and EOS are one id, it begins
 * a text that has no token yet: each text has a BOS then, and none has an EOS inside (corpus.c). */
static bool ends_text(const struct data_make *make, int32_t id, int64_t n)
{
    return id == make->eos_id && (n > 0 || make->bos_id != make->eos_id);
}

/* State while texts are put into samples in their order. */
struct layout {
    struct data_samples *s;
    int64_t used; /* used positions of the current sample */
    int64_t text; /* first token of the current text */
};

static enum wsc_err put_first(struct data_samples *s, int64_t token)
{
    if (fwrite(&token, sizeof token, 1, s->first) == 1) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", s->first_path, strerror(errno));
}

/* Put @p n tokens from @p first on into the current sample if they fit; otherwise begin a new
 * sample. */
static enum wsc_err lay_piece(struct layout *l, int64_t first, int64_t n)
{
    const int64_t T = l->s->make->T;
    if (l->s->n && l->used + n <= T) {
        l->used += n;
        return WSC_OK;
    }
    l->used = n;
    l->s->n++;
    return put_first(l->s, first);
}

/* Put the text that ends with the EOS at @p end into samples. */
static enum wsc_err lay_text(struct layout *l, int64_t end)
{
    const int64_t T = l->s->make->T;
    for (int64_t first = l->text; first < end; first += T)
        TRY(lay_piece(l, first, end - first < T ? end - first : T));
    l->text = end + 1;
    return WSC_OK;
}

/* Divide the corpus at each EOS. A text without a last EOS is left out, because no token follows
 * it. */
static enum wsc_err scan(struct layout *l, int32_t *ids)
{
    struct data_samples *s = l->s;
    for (int64_t at = 0, n; at < s->n_tokens; at += n) {
        n = s->n_tokens - at < SCAN_TOKENS ? s->n_tokens - at : SCAN_TOKENS;
        TRY(data_corpus_read(s->corpus, at, n, ids));
        for (int64_t i = 0; i < n; i++)
            if (ends_text(s->make, ids[i], at + i - l->text)) TRY(lay_text(l, at + i));
    }
    TRY(put_first(s, s->n_tokens));
    if (!fflush(s->first)) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s: cannot be written: %s", s->first_path, strerror(errno));
}

/* The first tokens of all samples are written to a file, because their number has no limit. */
static enum wsc_err cut_by_texts(struct data_samples *s, const char *folder)
{
    struct layout l = {.s = s};
    int32_t *ids;
    TRY_MEM(s->first_path, wsc_asprintf(WSC_MEM_DATA, "%s/samples", folder));
    s->first = fopen(s->first_path, "w+b");
    if (!s->first)
        return WSC_RAISE(WSC_IO, "%s: cannot be made: %s", s->first_path, strerror(errno));
    TRY_NEW(ids, WSC_MEM_DATA, SCAN_TOKENS);
    enum wsc_err rc = scan(&l, ids);
    wsc_free(ids);
    return rc;
}

/* Tokens [*first, *end) of sample @p i. */
static enum wsc_err find_tokens(struct data_samples *s, int64_t i, int64_t *first, int64_t *end)
{
    int64_t place[2];
    const off_t at = (off_t)(i * (int64_t)sizeof *place);
    if (pread(fileno(s->first), place, sizeof place, at) != (ssize_t)sizeof place)
        return WSC_RAISE(WSC_IO, "%s: cannot be read", s->first_path);
    *first = place[0];
    *end = place[1];
    return WSC_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Without use_vsl, every token except the first one is a label once. */
static enum wsc_err cut(struct data_samples *s, const char *folder)
{
    const int64_t T = s->make->T;
    /* each position may have an EOS after it */
    const int64_t most = s->make->use_vsl ? 2 * T + 1 : T + 1;
    TRY_MEM(s->ids, wsc_alloc_raw(WSC_MEM_DATA, (size_t)most, sizeof *s->ids));
    if (s->make->use_vsl) return cut_by_texts(s, folder);
    s->n = s->n_tokens > 1 ? (s->n_tokens - 1 + T - 1) / T : 0;
    return WSC_OK;
}

enum wsc_err data_samples_open(struct data_samples **out, struct data_corpus *corpus,
                               const struct data_make *make, const char *folder)
{
    struct data_samples *s = NULL;
    *out = NULL;
    TRY_NEW(s, WSC_MEM_DATA, 1);
    s->corpus = corpus;
    s->make = make;
    s->n_tokens = data_corpus_counts(corpus).n_tokens;
    enum wsc_err rc = cut(s, folder);
    if (rc) data_samples_close(&s);
    *out = s;
    return rc;
}

void data_samples_close(struct data_samples **samples)
{
    struct data_samples *s = *samples;
    if (!s) return;
    if (s->first) (void)fclose(s->first);
    wsc_free(s->first_path);
    wsc_free(s->ids);
    wsc_free(s);
    *samples = NULL;
}

int64_t data_samples_n(const struct data_samples *s)
{
    return s->n;
}

int data_samples_rows(const struct data_samples *s)
{
    return s->make->use_vsl ? DATA_MOST_ROWS : 3;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Padding has mask 0 and pad_id as input. */
static void pad(const struct data_samples *s, int32_t *rows, int64_t n_places)
{
    const int64_t T = s->make->T;
    const int32_t filling[DATA_MOST_ROWS] = {(int32_t)s->make->pad_id, 0, (int32_t)s->make->pad_id};
    for (int r = 0; r < data_samples_rows(s); r++)
        for (int64_t t = n_places; t < T; t++)
            rows[r * T + t] = filling[r];
}

/* Inputs are the tokens from i T on, labels the tokens after them. */
static enum wsc_err read_plain(struct data_samples *s, int64_t i, int32_t *rows, int64_t *n_places)
{
    const int64_t T = s->make->T, left = s->n_tokens - 1 - i * T, n = left < T ? left : T;
    TRY(data_corpus_read(s->corpus, i * T, n + 1, s->ids));
    memcpy(rows, s->ids, (size_t)n * sizeof *rows);
    memcpy(rows + 2 * T, s->ids + 1, (size_t)n * sizeof *rows);
    for (int64_t t = 0; t < n; t++)
        rows[T + t] = 1;
    *n_places = n;
    return WSC_OK;
}

/* Set position t: input @p id, and as label the next token of its text. */
static void put_place(const struct data_samples *s, int32_t *rows, int64_t t, const int32_t *id,
                      int32_t position)
{
    const int64_t T = s->make->T;
    rows[t] = id[0];
    rows[T + t] = 1;
    rows[2 * T + t] = id[1];
    rows[4 * T + t] = position;
}

/* Positions begin at 0 in each text; the span of a token is the number of tokens after it in its
 * text. */
static enum wsc_err read_texts(struct data_samples *s, int64_t i, int32_t *rows, int64_t *n_places)
{
    const int64_t T = s->make->T;
    int64_t first = 0, end = 0, n = 0;
    int32_t position = 0;
    TRY(find_tokens(s, i, &first, &end));
    const int64_t n_ids = end - first + (end < s->n_tokens);
    TRY(data_corpus_read(s->corpus, first, n_ids, s->ids));
    for (int64_t k = 0; k < end - first; k++) {
        if (ends_text(s->make, s->ids[k], position))
            position = 0;
        else
            put_place(s, rows, n++, s->ids + k, position++);
    }
    int32_t span = 0;
    for (int64_t t = n - 1; t >= 0; t--) {
        rows[3 * T + t] = span;
        span = rows[4 * T + t] ? span + 1 : 0;
    }
    *n_places = n;
    return WSC_OK;
}

enum wsc_err data_samples_read(struct data_samples *s, int64_t i, int32_t *rows, int64_t *n_places)
{
    WSC_CHECK(i >= 0 && i < s->n, "sample %lld of %lld", (long long)i, (long long)s->n);
    TRY(s->make->use_vsl ? read_texts(s, i, rows, n_places) : read_plain(s, i, rows, n_places));
    pad(s, rows, *n_places);
    return WSC_OK;
}
