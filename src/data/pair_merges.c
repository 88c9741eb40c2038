// SPDX-License-Identifier: Apache-2.0
/* Merges neighbours by their counts: all pairs with their counts and lists of words, and a heap of
 * pairs, whose counts may be out of date, which is detected when they are at its top. A merge
 * changes only words that have the pair. bpe_train.c and wordpiece_train.c call. */
#include "pair_merges.h"
#include "word_table.h"

#include <wsc/mem.h>

#include <string.h>

/* The symbols of a word: a word only becomes shorter, so its position stays. */
struct span {
    int64_t at, count;
    int32_t n;
};

struct entry {
    int64_t count, pair; /* number of a pair, and its count when it was put into the heap */
};

/* A list, in `node`, of the words that have a pair or had it; the merge detects which of them still
 * have it. */
struct node {
    int32_t word;
    int64_t next; /* -1: end of the list */
};

struct data_merges {
    int32_t *symbol; /* symbols of all words, one word after the other */
    int64_t n_symbols, symbol_room;
    struct span *word;
    int64_t n_words, word_room;
    bool started;
    struct data_words *pair; /* pairs, by the bytes of two ids */
    struct pair {
        int64_t count, first; /* first: node of the first word of the list; -1: none */
        bool is_fresh;        /* in `fresh` */
    } * pairs;
    int64_t pair_room;
    struct node *node;
    int64_t n_nodes, node_room;
    struct entry *heap;
    int64_t n_heap, heap_room;
    int64_t *fresh; /* pairs that the current merge makes */
    int64_t n_fresh, fresh_room;
    int32_t joined; /* symbol of the current merge; -1: none */
};

enum wsc_err data_merges_create(struct data_merges **out)
{
    struct data_merges *m = NULL;
    *out = NULL;
    TRY_NEW(m, WSC_MEM_DATA, 1);
    m->joined = -1;
    const enum wsc_err rc = data_words_create(&m->pair);
    if (rc) data_merges_destroy(&m);
    *out = m;
    return rc;
}

void data_merges_destroy(struct data_merges **merges)
{
    struct data_merges *m = *merges;
    *merges = NULL;
    if (!m) return;
    data_words_destroy(&m->pair);
    void *const block[] = {m->symbol, m->word, m->pairs, m->node, m->heap, m->fresh};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        wsc_free(block[i]);
    wsc_free(m);
}

enum wsc_err data_merges_add(struct data_merges *m, const int32_t *symbol, int64_t n, int64_t count)
{
    TRY_GROW(m->symbol, WSC_MEM_DATA, m->symbol_room, m->n_symbols + n);
    TRY_GROW(m->word, WSC_MEM_DATA, m->word_room, m->n_words + 1);
    m->word[m->n_words++] = (struct span){m->n_symbols, count, (int32_t)n};
    memcpy(m->symbol + m->n_symbols, symbol, (size_t)n * sizeof *symbol);
    m->n_symbols += n;
    return WSC_OK;
}

/* ---- the heap -------------------------------------------------------------------------------- */

/* True for the more frequent pair, and of equally frequent ones for that with the smaller ids:
 * big-endian bytes have the order of the ids. */
static bool goes_first(const struct data_merges *m, const struct entry *a, const struct entry *b)
{
    int64_t n;
    if (a->count != b->count) return a->count > b->count;
    const unsigned char *left = data_words_text(m->pair, a->pair, &n);
    return memcmp(left, data_words_text(m->pair, b->pair, &n), (size_t)n) < 0;
}

/* Put a pair into the heap with its current count; later changes of counts do not change the heap
 * (data_merges_next). */
static enum wsc_err push(struct data_merges *m, int64_t pair)
{
    const struct entry e = {m->pairs[pair].count, pair};
    TRY_GROW(m->heap, WSC_MEM_DATA, m->heap_room, m->n_heap + 1);
    int64_t i = m->n_heap++;
    for (; i && goes_first(m, &e, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = e;
    return WSC_OK;
}

static struct entry pop(struct data_merges *m)
{
    struct entry top = m->heap[0], last = m->heap[--m->n_heap];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < m->n_heap; i = child) {
        if (child + 1 < m->n_heap && goes_first(m, &m->heap[child + 1], &m->heap[child])) child++;
        if (!goes_first(m, &m->heap[child], &last)) break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = last;
    return top;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Big-endian, so that the bytes have the order of the ids. */
static void pair_key(int32_t left, int32_t right, unsigned char key[8])
{
    for (int b = 0; b < 4; b++) {
        key[b] = (unsigned char)((uint32_t)left >> (24 - 8 * b));
        key[4 + b] = (unsigned char)((uint32_t)right >> (24 - 8 * b));
    }
}

static void ids_of(const struct data_merges *m, int64_t pair, int32_t ids[2])
{
    int64_t n;
    const unsigned char *key = data_words_text(m->pair, pair, &n);
    for (int i = 0; i < 2; i++, key += 4)
        ids[i] = (int32_t)((uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 | (uint32_t)key[2] << 8 |
                           key[3]);
}

/* A pair with the new symbol may be new, or occur in additional words: mark it, so that its list
 * and its position in the heap are updated. */
static enum wsc_err freshen(struct data_merges *m, int64_t pair, int32_t word)
{
    struct pair *p = &m->pairs[pair];
    if (!p->is_fresh) {
        TRY_GROW(m->fresh, WSC_MEM_DATA, m->fresh_room, m->n_fresh + 1);
        m->fresh[m->n_fresh++] = pair;
        p->is_fresh = true;
    }
    if (p->first >= 0 && m->node[p->first].word == word) return WSC_OK;
    TRY_GROW(m->node, WSC_MEM_DATA, m->node_room, m->n_nodes + 1);
    m->node[m->n_nodes] = (struct node){word, p->first};
    p->first = m->n_nodes++;
    return WSC_OK;
}

/* Add @p times to the count of the pair at @p at in @p word. */
static enum wsc_err add_pair(struct data_merges *m, int32_t word, int64_t at, int64_t times)
{
    const int32_t left = m->symbol[at], right = m->symbol[at + 1];
    unsigned char key[8];
    int64_t pair = 0;
    bool added = false;
    pair_key(left, right, key);
    TRY(data_words_add(m->pair, key, sizeof key, &pair, &added));
    TRY_GROW(m->pairs, WSC_MEM_DATA, m->pair_room, pair + 1);
    if (added) m->pairs[pair] = (struct pair){.first = -1};
    m->pairs[pair].count += times;
    const bool made = m->joined < 0 || left == m->joined || right == m->joined;
    return made && times > 0 ? freshen(m, pair, word) : WSC_OK;
}

/* Put the pairs that a merge made into the heap, once, with their final counts. */
static enum wsc_err push_fresh(struct data_merges *m)
{
    for (int64_t i = 0; i < m->n_fresh; i++) {
        m->pairs[m->fresh[i]].is_fresh = false;
        TRY(push(m, m->fresh[i]));
    }
    m->n_fresh = 0;
    return WSC_OK;
}

static enum wsc_err add_pairs(struct data_merges *m, int32_t word, int64_t times)
{
    const struct span *s = &m->word[word];
    for (int32_t i = 0; i + 1 < s->n; i++)
        TRY(add_pair(m, word, s->at + i, times));
    return WSC_OK;
}

static enum wsc_err start(struct data_merges *m)
{
    m->started = true;
    for (int32_t w = 0; w < m->n_words; w++)
        TRY(add_pairs(m, w, m->word[w].count));
    return push_fresh(m);
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool has_pair(const struct data_merges *m, const struct span *s, const int32_t ids[2])
{
    for (int32_t i = 0; i + 1 < s->n; i++)
        if (m->symbol[s->at + i] == ids[0] && m->symbol[s->at + i + 1] == ids[1]) return true;
    return false;
}

/* In place, from left to right: of overlapping pairs the left one is merged. */
static void replace_pair(struct data_merges *m, struct span *s, const int32_t ids[2], int32_t id)
{
    int32_t *symbol = m->symbol + s->at, n = 0;
    for (int32_t i = 0; i < s->n; n++) {
        bool here = i + 1 < s->n && symbol[i] == ids[0] && symbol[i + 1] == ids[1];
        symbol[n] = here ? id : symbol[i];
        i += here ? 2 : 1;
    }
    s->n = n;
}

/* Subtract the pairs of the words that have the pair, merge, and add their pairs again. Other words
 * are not processed, which makes a merge cheap. */
static enum wsc_err merge_pair(struct data_merges *m, int64_t pair, const int32_t ids[2],
                               int32_t id)
{
    m->joined = id;
    for (int64_t node = m->pairs[pair].first; node >= 0; node = m->node[node].next) {
        const int32_t word = m->node[node].word;
        struct span *s = &m->word[word];
        if (!has_pair(m, s, ids)) continue;
        TRY(add_pairs(m, word, -s->count));
        replace_pair(m, s, ids, id);
        TRY(add_pairs(m, word, s->count));
    }
    return push_fresh(m);
}

/* The most frequent pair; -1: no pair is frequent enough. */
static enum wsc_err next_pair(struct data_merges *m, int64_t least, int64_t *pair)
{
    for (*pair = -1; m->n_heap;) {
        struct entry top = pop(m);
        int64_t count = m->pairs[top.pair].count;
        if (count < least) continue;
        *pair = top.pair;
        if (count == top.count) return WSC_OK;
        *pair = -1;
        TRY(push(m, top.pair)); /* its count has changed since it was put into the heap */
    }
    return WSC_OK;
}

enum wsc_err data_merges_next(struct data_merges *m, int64_t least, data_join_fn join, void *ctx,
                              bool *more)
{
    int32_t ids[2], id = -1;
    int64_t pair = -1;
    if (!m->started) TRY(start(m));
    do {
        TRY(next_pair(m, least, &pair));
        *more = pair >= 0;
        if (!*more) return WSC_OK;
        ids_of(m, pair, ids);
        TRY(join(ctx, ids, &id));
    } while (id < 0);
    return merge_pair(m, pair, ids, id);
}
