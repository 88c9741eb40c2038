// SPDX-License-Identifier: Apache-2.0
/* Makes samples of an encoder with a decoder from lines of tokens. Span corruption (Raffel et al.
 * 2020, 3.1.4) replaces 15 % of a piece's tokens, in spans of 3 on average: in the source by one
 * sentinel per span; the target has the sentinels and the replaced tokens. Number and lengths of
 * spans are those of the Model Zoo's loader; their positions are a function of (seed, draw).
 * Translations pair the lines of two files and leave out lines that are too long. */
#include "pair_texts.h"
#include "encoder_rows.h"

#include <wsc/data.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <math.h>
#include <string.h>

static const double noise_density = 0.15, mean_span = 3;

/* A sample: a line, and the index of its first token. */
struct piece {
    int64_t line, first;
};

struct data_pair_texts {
    const struct data_pair_rules *rules;
    struct data_lines source, target; /* target: only for translations */
    bool spans;
    int64_t most;        /* tokens of a piece */
    struct piece *piece; /* owned */
    int64_t n, room;
    int32_t *tokens; /* owned, of one piece */
    bool *noise;     /* owned, of one piece */
};

/* ---- which samples there are ------------------------------------------------------------------
 */

/* Tokens that are replaced, and their spans. */
struct noise {
    int64_t tokens, spans;
};

/* What is replaced of a piece of @p n tokens, as the Model Zoo counts before it cuts pieces. */
static struct noise planned_noise(int64_t n)
{
    const double tokens = rint((double)n * noise_density);
    return (struct noise){(int64_t)tokens, (int64_t)rint(tokens / mean_span)};
}

/* What is replaced of a sample of @p n tokens, at least two: at least one token each is replaced
 * and kept. */
static struct noise noise_of(int64_t n)
{
    struct noise noise = planned_noise(n);
    if (noise.tokens < 1) noise.tokens = 1;
    if (noise.tokens > n - 1) noise.tokens = n - 1;
    noise.spans = (int64_t)rint((double)noise.tokens / mean_span);
    if (noise.spans < 1) noise.spans = 1;
    return noise;
}

/* Tokens of the longest piece whose source fits, with one more for the end. */
static int64_t longest_piece(int64_t T_source)
{
    for (int64_t n = T_source;; n++) {
        const struct noise noise = planned_noise(n);
        if (n - noise.tokens + noise.spans + 1 >= T_source) return n;
    }
}

int64_t data_span_sentinels(int64_t T_source)
{
    const int64_t n = longest_piece(T_source);
    return noise_of(n < 2 ? 2 : n).spans;
}

/* The longest pieces have the longest targets: their tokens, a sentinel for each span that is kept,
 * and the end. */
static enum wsc_err set_most(struct data_pair_texts *t)
{
    t->most = longest_piece(t->rules->T_source);
    const struct noise noise = noise_of(t->most < 2 ? 2 : t->most);
    const int64_t target = noise.tokens + noise.spans + 1;
    if (target <= t->rules->T_target) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "tgt_max_sequence_length: %lld tokens, but the spans of sources of %lld need "
                     "%lld",
                     (long long)t->rules->T_target, (long long)t->rules->T_source,
                     (long long)target);
}

static enum wsc_err add_piece(struct data_pair_texts *t, int64_t line, int64_t first)
{
    TRY_GROW(t->piece, WSC_MEM_DATA, t->room, t->n + 1);
    t->piece[t->n++] = (struct piece){line, first};
    return WSC_OK;
}

static enum wsc_err cut_lines(struct data_pair_texts *t)
{
    TRY(set_most(t));
    for (int64_t i = 0; i < t->source.n; i++) {
        const int64_t n = data_lines_count(&t->source, i);
        for (int64_t first = 0; first < n; first += t->most)
            TRY(add_piece(t, i, first));
    }
    return WSC_OK;
}

static enum wsc_err pair_lines(struct data_pair_texts *t)
{
    const struct data_pair_rules *r = t->rules;
    t->most = r->T_source > r->T_target ? r->T_source : r->T_target;
    for (int64_t i = 0; i < t->source.n; i++) {
        const int64_t n = data_lines_count(&t->source, i), m = data_lines_count(&t->target, i);
        if (n > 0 && n < r->T_source && m > 0 && m < r->T_target) TRY(add_piece(t, i, 0));
    }
    return WSC_OK;
}

static enum wsc_err open_files(struct data_pair_texts *t, const char *path, const char *targets)
{
    TRY(data_lines_open(&t->source, path));
    if (targets) TRY(data_lines_open(&t->target, targets));
    if (targets && t->target.n != t->source.n)
        return WSC_RAISE(WSC_FORMAT, "%s: has %lld lines, but its targets in %s have %lld", path,
                         (long long)t->source.n, targets, (long long)t->target.n);
    TRY(t->spans ? cut_lines(t) : pair_lines(t));
    TRY_NEW(t->tokens, WSC_MEM_DATA, t->most + 1);
    TRY_NEW(t->noise, WSC_MEM_DATA, t->most + 1);
    return WSC_OK;
}

enum wsc_err data_pair_texts_open(struct data_pair_texts **out, const char *path,
                                  const char *targets, const struct data_pair_rules *rules)
{
    struct data_pair_texts *t = NULL;
    *out = NULL;
    TRY_NEW(t, WSC_MEM_DATA, 1);
    t->rules = rules;
    t->spans = !targets;
    const enum wsc_err rc = open_files(t, path, targets);
    if (rc) data_pair_texts_close(&t);
    *out = t;
    return rc;
}

void data_pair_texts_close(struct data_pair_texts **texts)
{
    struct data_pair_texts *t = *texts;
    *texts = NULL;
    if (!t) return;
    data_lines_close(&t->source);
    data_lines_close(&t->target);
    wsc_free(t->piece);
    wsc_free(t->tokens);
    wsc_free(t->noise);
    wsc_free(t);
}

int64_t data_pair_texts_n(const struct data_pair_texts *t)
{
    return t->n;
}

int64_t data_pair_texts_lines(const struct data_pair_texts *t)
{
    return t->source.n;
}

int64_t data_pair_texts_left_out(const struct data_pair_texts *t)
{
    return t->spans ? 0 : t->source.n - t->n;
}

/* ---- spans ------------------------------------------------------------------------------------
 */

/* A sequence of random numbers for one sample. */
struct draws {
    uint64_t seed, stream, next;
};

static int64_t below(struct draws *d, int64_t n)
{
    return (int64_t)((wsc_rng_u64(d->seed, d->stream, d->next++) >> 32) * (uint64_t)n >> 32);
}

/* Cut @p n tokens into @p parts non-empty parts at random, all divisions equally likely: of the n -
 * 1 positions between tokens, parts - 1 are ends (Knuth, TAOCP 2, algorithm S). */
static void cut(struct draws *d, int64_t n, int64_t parts, int32_t *length)
{
    int64_t wanted = parts - 1, part = 0;
    length[0] = 1;
    for (int64_t left = n - 1; left > 0; left--) {
        if (below(d, left) < wanted) {
            wanted--;
            length[++part] = 0;
        }
        length[part]++;
    }
}

/* Choose which of the first @p n tokens are noise: spans without and with noise alternate. */
static void choose_noise(const struct data_pair_texts *t, int64_t n, struct draws *d,
                         int32_t *lengths)
{
    const int64_t N = n < 2 ? 2 : n;
    const struct noise noise = noise_of(N);
    int64_t at = 0;
    int32_t *kept = lengths, *left_out = lengths + noise.spans;
    cut(d, noise.tokens, noise.spans, left_out);
    cut(d, N - noise.tokens, noise.spans, kept);
    for (int64_t s = 0; s < noise.spans; s++) {
        for (int32_t i = 0; i < kept[s] && at < n; i++)
            t->noise[at++] = false;
        for (int32_t i = 0; i < left_out[s] && at < n; i++)
            t->noise[at++] = true;
    }
}

/* Copy the tokens that are not @p hidden, and for each run of hidden ones a sentinel, highest
 * number first. Returns the length. */
static int64_t with_sentinels(const struct data_pair_texts *t, int64_t n, bool hidden, int32_t *out)
{
    const struct data_pair_rules *r = t->rules;
    int32_t sentinel = (int32_t)(data_vocabulary_n(r->words) + r->extra_ids);
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool run = t->noise[i] == hidden;
        if (!run)
            out[m++] = t->tokens[i];
        else if (i == 0 || t->noise[i - 1] != hidden)
            out[m++] = --sentinel;
    }
    return m;
}

/* ---- samples ----------------------------------------------------------------------------------
 */

/* Complete the rows of a sample: @p n tokens of the source are there, and @p m of the target from
 * its second position on. */
static void finish(const struct data_pair_texts *t, int64_t n, int64_t m, int32_t *rows)
{
    const struct data_pair_rules *r = t->rules;
    const int64_t T = r->T_source + r->T_target, first = r->T_source;
    int32_t *ids = rows + DATA_ROW_IDS * T, *labels = rows + DATA_ROW_LABELS * T;
    int32_t *mask = rows + DATA_ROW_MASK * T, *attends = rows + DATA_ROW_ATTENDS * T;
    for (int64_t i = 0; i < r->T_source; i++) {
        attends[i] = i < n;
        if (i >= n) ids[i] = r->words->pad;
    }
    ids[first] = r->words->sos;
    for (int64_t i = 0; i < r->T_target; i++) {
        mask[first + i] = attends[first + i] = i <= m;
        if (i < m) labels[first + i] = ids[first + i + 1];
        if (i > m) ids[first + i] = r->words->pad;
    }
    labels[first + m] = r->words->eos;
}

void data_pair_texts_read(struct data_pair_texts *t, int64_t i, uint64_t draw, int32_t *rows)
{
    const struct data_pair_rules *r = t->rules;
    const struct piece *p = &t->piece[i];
    int32_t *source = rows + DATA_ROW_IDS * (r->T_source + r->T_target);
    int32_t *target = source + r->T_source + 1;
    int64_t n, m;
    if (t->spans) {
        struct draws d = {r->seed, wsc_rng_stream(WSC_RNG_SPANS, draw), 0};
        const int64_t all =
            data_lines_ids(&t->source, r->words, p->line, p->first, t->most, t->tokens);
        /* the lengths of the spans are stored in the row of token types, which pairs do not use */
        int32_t *lengths = rows + DATA_ROW_TYPES * (r->T_source + r->T_target);
        choose_noise(t, all, &d, lengths);
        memset(lengths, 0, (size_t)(r->T_source + r->T_target) * sizeof *lengths);
        n = with_sentinels(t, all, true, source);
        m = with_sentinels(t, all, false, target);
    } else {
        n = data_lines_ids(&t->source, r->words, p->line, 0, r->T_source, source);
        m = data_lines_ids(&t->target, r->words, p->line, 0, r->T_target - 1, target);
    }
    finish(t, n, m, rows);
}
