// SPDX-License-Identifier: Apache-2.0
/* Encodes by merges of ranked pairs (Sennrich et al. 2016; byte level as in GPT-2, encoder.py): a
 * word begins as its bytes; of all pairs of neighbours, the pair with the lowest rank is merged
 * wherever it occurs, from left to right, until no pair has a rank. This definition takes O(n^2)
 * steps for n bytes. Here the symbols are a linked list and the ranked pairs a heap, which takes
 * O(n log n), because a merge changes only the pairs with its two neighbours. Ids of earlier words
 * are looked up. bpe_load.c and bpe_train.c make the merges. */
#include "bpe.h"
#include "word_split.h"
#include "word_table.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

/* Words are kept with their ids while the table has at most this size; then it is emptied. */
static const int64_t cache_bytes = (int64_t)64 << 20;
enum { MAX_CACHED = 64 }; /* longer words rarely occur again */

/* A slot of the hash table of merges, which is at most half full. */
struct merge {
    uint64_t pair; /* left id and right id + 1, so that 0 is free */
    int32_t rank, id;
};

/* A token of the word; its index is that of its first byte. */
struct symbol {
    int32_t id, next, before; /* neighbours; -1 at the ends */
};

/* A pair that may be merged; invalid when the symbols have changed. */
struct candidate {
    int32_t rank, at, left, right;
};

struct data_bpe {
    struct data_words *token;
    int32_t *id_of;     /* indexed by number in `token` */
    int32_t *number_of; /* by id; -1: no such token */
    int32_t n_ids, room;
    int32_t byte_id[256];
    struct merge *merge;
    int64_t n_merges, n_slots;
    unsigned char *class;
    struct data_words *cache;
    int64_t *cache_end; /* end of each word's ids */
    int32_t *cache_id;
    int64_t cache_room, ids_room;
    struct symbol *symbol;
    struct candidate *heap, *batch;
    int64_t n_heap, n_batch, word_room;
};

/* ---- tokens and merges ----------------------------------------------------------------------- */

enum wsc_err data_bpe_create(struct data_bpe **out)
{
    struct data_bpe *b = NULL;
    *out = NULL;
    TRY_NEW(b, WSC_MEM_DATA, 1);
    b->n_slots = 1 << 10;
    b->merge = wsc_alloc(WSC_MEM_DATA, (size_t)b->n_slots, sizeof *b->merge);
    enum wsc_err rc = b->merge ? data_words_create(&b->token) : WSC_NOMEM;
    if (!rc) rc = data_words_create(&b->cache);
    if (!rc) rc = data_classes_create(&b->class);
    if (rc) data_bpe_destroy(&b);
    *out = b;
    return rc;
}

void data_bpe_destroy(struct data_bpe **bpe)
{
    struct data_bpe *b = *bpe;
    if (!b) return;
    data_words_destroy(&b->token);
    data_words_destroy(&b->cache);
    void *const block[] = {b->id_of,    b->number_of, b->merge, b->class, b->cache_end,
                           b->cache_id, b->symbol,    b->heap,  b->batch};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        wsc_free(block[i]);
    wsc_free(b);
    *bpe = NULL;
}

/* Allocate memory for ids up to @p id and as many tokens. */
static enum wsc_err make_room(struct data_bpe *b, int32_t id)
{
    int32_t need = id + 1 > b->room ? id + 1 : b->room;
    if (data_words_count(b->token) >= need) need = (int32_t)data_words_count(b->token) + 1;
    if (need <= b->room) return WSC_OK;
    int32_t room = need + need / 2 + 256;
    int32_t *id_of = wsc_realloc(WSC_MEM_DATA, b->id_of, (size_t)room, sizeof *id_of);
    if (id_of) b->id_of = id_of;
    int32_t *number_of = wsc_realloc(WSC_MEM_DATA, b->number_of, (size_t)room, sizeof *number_of);
    if (number_of) b->number_of = number_of;
    if (!id_of || !number_of) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "tokens");
    for (int32_t i = b->room; i < room; i++)
        b->number_of[i] = -1;
    b->room = room;
    return WSC_OK;
}

enum wsc_err data_bpe_add_token(struct data_bpe *b, const unsigned char *bytes, int64_t n,
                                int32_t id)
{
    int64_t number = 0;
    bool added = false;
    TRY(make_room(b, id));
    TRY(data_words_add(b->token, bytes, n, &number, &added));
    WSC_CHECK(added && b->number_of[id] < 0, "token %d is there", (int)id);
    b->id_of[number] = id;
    b->number_of[id] = (int32_t)number;
    if (id >= b->n_ids) b->n_ids = id + 1;
    return WSC_OK;
}

int32_t data_bpe_find(const struct data_bpe *b, const unsigned char *bytes, int64_t n)
{
    int64_t number = data_words_find(b->token, bytes, n);
    return number < 0 ? -1 : b->id_of[number];
}

int32_t data_bpe_vocab_size(const struct data_bpe *b)
{
    return b->n_ids;
}

const unsigned char *data_bpe_token(const struct data_bpe *b, int32_t id, int64_t *n)
{
    *n = 0;
    if (id < 0 || id >= b->n_ids || b->number_of[id] < 0) return NULL;
    return data_words_text(b->token, b->number_of[id], n);
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | ((uint32_t)right + 1);
}

/* The slot of a pair, or the free slot for it; multiplier: Knuth, TAOCP 3, 6.4. */
static struct merge *find_pair(struct merge *merge, int64_t n_slots, uint64_t pair)
{
    uint64_t i = pair * 0x9E3779B97F4A7C15U >> 20;
    for (;; i++) {
        struct merge *m = &merge[i & (uint64_t)(n_slots - 1)];
        if (!m->pair || m->pair == pair) return m;
    }
}

/* Double the slots, so that the table stays at most half full. */
static enum wsc_err more_merges(struct data_bpe *b)
{
    int64_t n_slots = 2 * b->n_slots;
    struct merge *bigger;
    TRY_MEM(bigger, wsc_alloc(WSC_MEM_DATA, (size_t)n_slots, sizeof *bigger));
    for (int64_t i = 0; i < b->n_slots; i++)
        if (b->merge[i].pair) *find_pair(bigger, n_slots, b->merge[i].pair) = b->merge[i];
    wsc_free(b->merge);
    b->merge = bigger;
    b->n_slots = n_slots;
    return WSC_OK;
}

/* The order of the calls is the rank. */
enum wsc_err data_bpe_add_merge(struct data_bpe *b, int32_t left, int32_t right, int32_t id,
                                bool *known)
{
    if (2 * (b->n_merges + 1) > b->n_slots) TRY(more_merges(b));
    struct merge *m = find_pair(b->merge, b->n_slots, pair_of(left, right));
    *known = m->pair != 0;
    if (!*known) *m = (struct merge){pair_of(left, right), (int32_t)b->n_merges++, id};
    return WSC_OK;
}

/* If each byte has a token, every text can be encoded with any merges. */
enum wsc_err data_bpe_finish(struct data_bpe *b, const char *path)
{
    for (int i = 0; i < 256; i++) {
        unsigned char byte = (unsigned char)i;
        b->byte_id[i] = data_bpe_find(b, &byte, 1);
        if (b->byte_id[i] < 0)
            return wsc_err_hint(
                WSC_RAISE(WSC_FORMAT, "%s: has no token for byte 0x%02X", path, (unsigned)i),
                "a byte-level vocabulary has one for each of the 256 bytes");
    }
    return WSC_OK;
}

/* ---- one word -------------------------------------------------------------------------------- */

/* The order of the heap: by rank, then from left to right. */
static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* A binary heap: parent (i - 1) / 2. */
static void push(struct data_bpe *b, struct candidate c)
{
    int64_t i = b->n_heap++;
    for (; i && before(&c, &b->heap[(i - 1) / 2]); i = (i - 1) / 2)
        b->heap[i] = b->heap[(i - 1) / 2];
    b->heap[i] = c;
}

static struct candidate pop(struct data_bpe *b)
{
    struct candidate top = b->heap[0], last = b->heap[--b->n_heap];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < b->n_heap; i = child) {
        if (child + 1 < b->n_heap && before(&b->heap[child + 1], &b->heap[child])) child++;
        if (!before(&b->heap[child], &last)) break;
        b->heap[i] = b->heap[child];
    }
    b->heap[i] = last;
    return top;
}

/* Add the pair that begins with symbol @p at to the heap, if it has a rank. */
static void consider(struct data_bpe *b, int32_t at)
{
    if (at < 0 || b->symbol[at].next < 0) return;
    int32_t left = b->symbol[at].id, right = b->symbol[b->symbol[at].next].id;
    const struct merge *m = find_pair(b->merge, b->n_slots, pair_of(left, right));
    if (m->pair) push(b, (struct candidate){m->rank, at, left, right});
}

/* True when a candidate is valid. A merge does not remove candidates that it invalidates; this test
 * detects them later. */
static bool is_current(const struct data_bpe *b, const struct candidate *c)
{
    const struct symbol *s = &b->symbol[c->at];
    return s->id == c->left && s->next >= 0 && b->symbol[s->next].id == c->right;
}

/* Merge the symbol at @p at with the next one. */
static void merge_at(struct data_bpe *b, int32_t at, int32_t id)
{
    struct symbol *s = &b->symbol[at], *gone = &b->symbol[s->next];
    gone->id = -1;
    s->id = id;
    s->next = gone->next;
    if (s->next >= 0) b->symbol[s->next].before = at;
}

/* Merge the pair with the lowest rank wherever it occurs, from left to right. New pairs wait until
 * this is done, as in the definition, where a merge processes the whole word before the next merge
 * is chosen. */
static void merge_lowest(struct data_bpe *b)
{
    b->n_batch = 0;
    do {
        b->batch[b->n_batch++] = pop(b);
    } while (b->n_heap && b->heap[0].rank == b->batch[0].rank);
    int32_t id = find_pair(b->merge, b->n_slots, pair_of(b->batch[0].left, b->batch[0].right))->id;
    int64_t n_merged = 0;
    for (int64_t i = 0; i < b->n_batch; i++) {
        if (!is_current(b, &b->batch[i])) continue;
        merge_at(b, b->batch[i].at, id);
        b->batch[n_merged++] = b->batch[i];
    }
    for (int64_t i = 0; i < n_merged; i++) {
        int32_t at = b->batch[i].at;
        consider(b, b->symbol[at].before);
        consider(b, at);
    }
}

/* Allocate scratch memory for a word of @p n bytes; it grows and is kept. */
static enum wsc_err word_room(struct data_bpe *b, int64_t n)
{
    if (n <= b->word_room) return WSC_OK;
    int64_t room = n + n / 2 + 64;
    struct symbol *symbol = wsc_realloc(WSC_MEM_DATA, b->symbol, (size_t)room, sizeof *symbol);
    if (symbol) b->symbol = symbol;
    /* each pair at the start, and two for each merge */
    size_t most = 3 * (size_t)room;
    struct candidate *heap = wsc_realloc(WSC_MEM_DATA, b->heap, most, sizeof *heap);
    if (heap) b->heap = heap;
    struct candidate *batch = wsc_realloc(WSC_MEM_DATA, b->batch, most, sizeof *batch);
    if (batch) b->batch = batch;
    if (!symbol || !heap || !batch)
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "a long word");
    b->word_room = room;
    return WSC_OK;
}

/* Ids of one word: at most n, because a symbol has at least one byte. */
static enum wsc_err encode_word(struct data_bpe *b, const unsigned char *text, int64_t n,
                                int32_t *ids, int64_t *n_ids)
{
    TRY(word_room(b, n));
    for (int32_t i = 0; i < n; i++)
        b->symbol[i] = (struct symbol){b->byte_id[text[i]], i + 1 < n ? i + 1 : -1, i - 1};
    b->n_heap = 0;
    for (int32_t i = 0; i < n; i++)
        consider(b, i);
    while (b->n_heap)
        merge_lowest(b);
    *n_ids = 0;
    for (int32_t i = 0; i >= 0; i = b->symbol[i].next)
        ids[(*n_ids)++] = b->symbol[i].id;
    return WSC_OK;
}

/* ---- words that come again ------------------------------------------------------------------- */

static enum wsc_err cache_room(struct data_bpe *b, int64_t number, int64_t n_ids)
{
    int64_t start = number ? b->cache_end[number - 1] : 0;
    TRY_GROW(b->cache_end, WSC_MEM_DATA, b->cache_room, number + 1);
    TRY_GROW(b->cache_id, WSC_MEM_DATA, b->ids_room, start + n_ids);
    return WSC_OK;
}

/* Keep a word with its ids; a full table is emptied, which costs less than choosing what to keep.
 */
static enum wsc_err remember(struct data_bpe *b, const unsigned char *word, int64_t n,
                             const int32_t *ids, int64_t n_ids)
{
    int64_t number = 0;
    if (data_words_bytes(b->cache) > cache_bytes) data_words_clear(b->cache);
    TRY(cache_room(b, data_words_count(b->cache), n_ids));
    TRY(data_words_add(b->cache, word, n, &number, NULL));
    int64_t start = number ? b->cache_end[number - 1] : 0;
    memcpy(b->cache_id + start, ids, (size_t)n_ids * sizeof *ids);
    b->cache_end[number] = start + n_ids;
    return WSC_OK;
}

/* Copy the ids of a word that occurred before; encode other words. */
static enum wsc_err take_word(struct data_bpe *b, const unsigned char *word, int64_t n,
                              int32_t *ids, int64_t *n_ids)
{
    int64_t number = n <= MAX_CACHED ? data_words_find(b->cache, word, n) : -1;
    if (number < 0) {
        TRY(encode_word(b, word, n, ids, n_ids));
        return n <= MAX_CACHED ? remember(b, word, n, ids, *n_ids) : WSC_OK;
    }
    int64_t start = number ? b->cache_end[number - 1] : 0;
    *n_ids = b->cache_end[number] - start;
    memcpy(ids, b->cache_id + start, (size_t)*n_ids * sizeof *ids);
    return WSC_OK;
}

enum wsc_err data_bpe_encode(struct data_bpe *b, const struct data_text *text, int32_t *ids,
                             int64_t *n_ids, int64_t *used)
{
    int64_t length;
    *n_ids = *used = 0;
    while ((length = data_split_word(b->class, text->bytes + *used, text->n - *used, text->end))) {
        int64_t n = 0;
        TRY(take_word(b, text->bytes + *used, length, ids + *n_ids, &n));
        *n_ids += n;
        *used += length;
    }
    return WSC_OK;
}
