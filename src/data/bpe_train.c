// SPDX-License-Identifier: Apache-2.0
/* Learning merges (Sennrich et al. 2016, algorithm 1): the pair of neighbours that is most frequent
 * in all words becomes a token, again and again.  Of equally frequent pairs the one of the smaller
 * ids is taken, so that text and size decide the result. */
#include "bpe.h"
#include "dataset_folder.h"
#include "dataset_params.h"
#include "document_feed.h"
#include "documents.h"
#include "word_split.h"
#include "word_table.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 1024, N_BYTES = 256 };

/* Words that differ: beyond this the table would take gigabytes. */
static const int64_t max_words = (int64_t)1 << 24;

/* The symbols of a word: a word only gets shorter, so its place stays. */
struct span {
    int64_t at;
    int32_t n;
};

struct entry {
    int64_t count, pair; /* number of a pair, and its count when this was put into the heap */
};

/* A list of the words that have a pair or had it, in `node`; who has lost it is found out at the
 * merge. */
struct node {
    int32_t word;
    int64_t next; /* -1: the last */
};

/* Words with their counts, their symbols, pairs with counts and lists of words, a heap of pairs. */
struct trainer {
    const struct data_train_bpe *request;
    struct data_inputs inputs;
    struct data_feed feed;
    unsigned char *class;
    struct data_words *word;
    int64_t *word_count, word_room, n_bytes;
    int32_t *symbol;         /* of all words one after the other */
    struct span *word_span;  /* of each word in symbol */
    struct data_words *pair; /* by the bytes of two ids */
    struct pair {
        int64_t count, first; /* first: node of a word that has or had it; -1: none */
        bool is_new;          /* arose in the merge that is being done */
    } * pairs;
    int64_t pair_room;
    struct node *node;
    int64_t n_nodes, node_room;
    struct entry *heap;
    int64_t n_heap, heap_room;
    int64_t *fresh; /* pairs that are new */
    int64_t n_fresh, fresh_room;
    struct data_bpe *bpe; /* what is learned */
    int32_t (*merge)[2];
    int64_t n_merges;
};

/* ---- counting words -------------------------------------------------------------------------- */

/* Words of more than MAX_WORD bytes are no words of a language; they are passed over. */
static enum wsc_err count_word(struct trainer *t, const unsigned char *text, int64_t n)
{
    int64_t number = 0;
    if (n > MAX_WORD) return WSC_OK;
    TRY(data_words_add(t->word, text, n, &number, NULL));
    if (number >= max_words)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "the text has more than %lld different words",
                                      (long long)max_words),
                            "train on less of it: --max_bytes");
    TRY_GROW(t->word_count, WSC_MEM_DATA, t->word_room, number + 1);
    t->word_count[number]++;
    return WSC_OK;
}

/* The whole words of the text at hand; what is left stays for the next piece. */
static enum wsc_err count_piece(struct trainer *t)
{
    struct data_feed *f = &t->feed;
    int64_t used = 0, n;
    while ((n = data_split_word(t->class, f->text + used, f->n - used, f->ended))) {
        TRY(count_word(t, f->text + used, n));
        used += n;
    }
    t->n_bytes += used;
    data_feed_drop(f, used);
    if (t->request->progress)
        t->request->progress(t->request->progress_ctx, "bytes", data_docs_done(&f->docs),
                             t->inputs.bytes);
    return WSC_OK;
}

static bool wants_more(const struct trainer *t)
{
    return t->n_bytes < t->request->max_bytes;
}

static enum wsc_err count_document(struct trainer *t)
{
    do {
        TRY(data_feed_more(&t->feed));
        TRY(count_piece(t));
    } while (!t->feed.ended && wants_more(t));
    return WSC_OK;
}

/* Until the documents or max_bytes end. */
static enum wsc_err count_words(struct trainer *t)
{
    const struct data_train_bpe *r = t->request;
    bool found = false;
    TRY(data_inputs_list(&t->inputs, r->input, r->n_inputs, r->format));
    TRY(data_feed_open(&t->feed, &t->inputs, r->key, r->errors));
    TRY(data_feed_next(&t->feed, &found));
    while (found && wants_more(t)) {
        TRY(count_document(t));
        if (t->feed.ended) TRY(data_feed_next(&t->feed, &found));
    }
    return WSC_OK;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* The most frequent pair, and among equally frequent ones that of the smaller ids: big-endian bytes
 * compare like the ids. */
static bool goes_first(const struct trainer *t, const struct entry *a, const struct entry *b)
{
    int64_t n;
    if (a->count != b->count) return a->count > b->count;
    const unsigned char *left = data_words_text(t->pair, a->pair, &n);
    return memcmp(left, data_words_text(t->pair, b->pair, &n), (size_t)n) < 0;
}

/* Into the heap with its count of now; counts change without the heap (next_pair). */
static enum wsc_err push(struct trainer *t, int64_t pair)
{
    const struct entry e = {t->pairs[pair].count, pair};
    TRY_GROW(t->heap, WSC_MEM_DATA, t->heap_room, t->n_heap + 1);
    int64_t i = t->n_heap++;
    for (; i && goes_first(t, &e, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = e;
    return WSC_OK;
}

static struct entry pop(struct trainer *t)
{
    struct entry top = t->heap[0], last = t->heap[--t->n_heap];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < t->n_heap; i = child) {
        if (child + 1 < t->n_heap && goes_first(t, &t->heap[child + 1], &t->heap[child])) child++;
        if (!goes_first(t, &t->heap[child], &last)) break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = last;
    return top;
}

/* Big-endian, so that the bytes compare like the ids. */
static void pair_key(int32_t left, int32_t right, unsigned char key[8])
{
    for (int b = 0; b < 4; b++) {
        key[b] = (unsigned char)((uint32_t)left >> (24 - 8 * b));
        key[4 + b] = (unsigned char)((uint32_t)right >> (24 - 8 * b));
    }
}

static void ids_of(const struct trainer *t, int64_t pair, int32_t ids[2])
{
    int64_t n;
    const unsigned char *key = data_words_text(t->pair, pair, &n);
    for (int i = 0; i < 2; i++, key += 4)
        ids[i] = (int32_t)((uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 | (uint32_t)key[2] << 8 |
                           key[3]);
}

/* The pair of the symbols at @p at in @p word: @p times more of it. */
static enum wsc_err add_pair(struct trainer *t, int32_t word, int64_t at, int64_t times)
{
    unsigned char key[8];
    int64_t pair = 0;
    bool added = false;
    pair_key(t->symbol[at], t->symbol[at + 1], key);
    TRY(data_words_add(t->pair, key, sizeof key, &pair, &added));
    TRY_GROW(t->pairs, WSC_MEM_DATA, t->pair_room, pair + 1);
    struct pair *p = &t->pairs[pair];
    if (added) {
        *p = (struct pair){.first = -1, .is_new = true};
        TRY_GROW(t->fresh, WSC_MEM_DATA, t->fresh_room, t->n_fresh + 1);
        t->fresh[t->n_fresh++] = pair;
    }
    p->count += times;
    if (!p->is_new || (p->first >= 0 && t->node[p->first].word == word)) return WSC_OK;
    TRY_GROW(t->node, WSC_MEM_DATA, t->node_room, t->n_nodes + 1);
    t->node[t->n_nodes] = (struct node){word, p->first};
    p->first = t->n_nodes++;
    return WSC_OK;
}

/* Pairs that arose in a merge enter the heap with their final counts, once. */
static enum wsc_err push_fresh(struct trainer *t)
{
    for (int64_t i = 0; i < t->n_fresh; i++) {
        t->pairs[t->fresh[i]].is_new = false;
        TRY(push(t, t->fresh[i]));
    }
    t->n_fresh = 0;
    return WSC_OK;
}

static enum wsc_err add_pairs(struct trainer *t, int32_t word, int64_t times)
{
    const struct span *s = &t->word_span[word];
    for (int32_t i = 0; i + 1 < s->n; i++)
        TRY(add_pair(t, word, s->at + i, times));
    return WSC_OK;
}

/* Words as the ids of their bytes, and the counts of all pairs in them. */
static enum wsc_err start_pairs(struct trainer *t)
{
    int64_t n_words = data_words_count(t->word), n = 0, at = 0;
    for (int64_t w = 0; w < n_words; w++) {
        (void)data_words_text(t->word, w, &n);
        at += n;
    }
    t->symbol = wsc_alloc_raw(WSC_MEM_DATA, (size_t)at, sizeof *t->symbol);
    t->word_span = wsc_alloc_raw(WSC_MEM_DATA, (size_t)n_words, sizeof *t->word_span);
    if (!t->symbol || !t->word_span)
        return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "symbols of words");
    at = 0;
    for (int32_t w = 0; w < n_words; w++) {
        const unsigned char *text = data_words_text(t->word, w, &n);
        t->word_span[w] = (struct span){at, (int32_t)n};
        for (int64_t i = 0; i < n; i++)
            t->symbol[at + i] = data_bpe_find(t->bpe, text + i, 1);
        at += n;
        TRY(add_pairs(t, w, t->word_count[w]));
    }
    return push_fresh(t);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Replace the pair in a word; false: it is not there any more. */
static bool has_pair(const struct trainer *t, const struct span *s, const int32_t ids[2])
{
    for (int32_t i = 0; i + 1 < s->n; i++)
        if (t->symbol[s->at + i] == ids[0] && t->symbol[s->at + i + 1] == ids[1]) return true;
    return false;
}

/* In place, from left to right: of overlapping pairs the left one is merged. */
static void replace_pair(struct trainer *t, struct span *s, const int32_t ids[2], int32_t id)
{
    int32_t *symbol = t->symbol + s->at, n = 0;
    for (int32_t i = 0; i < s->n; n++) {
        bool here = i + 1 < s->n && symbol[i] == ids[0] && symbol[i + 1] == ids[1];
        symbol[n] = here ? id : symbol[i];
        i += here ? 2 : 1;
    }
    s->n = n;
}

/* A new token of the bytes of two others. */
static enum wsc_err add_token(struct trainer *t, const int32_t ids[2], int32_t id)
{
    unsigned char bytes[MAX_WORD];
    int64_t n = 0, m = 0;
    bool known = false;
    const unsigned char *left = data_bpe_token(t->bpe, ids[0], &n);
    WSC_CHECK(left && n < MAX_WORD, "token of %lld bytes", (long long)n);
    memcpy(bytes, left, (size_t)n);
    const unsigned char *right = data_bpe_token(t->bpe, ids[1], &m);
    WSC_CHECK(right && n + m <= MAX_WORD, "token of %lld bytes", (long long)(n + m));
    memcpy(bytes + n, right, (size_t)m);
    TRY(data_bpe_add_token(t->bpe, bytes, n + m, id));
    TRY(data_bpe_add_merge(t->bpe, ids[0], ids[1], id, &known));
    t->merge[t->n_merges][0] = ids[0];
    t->merge[t->n_merges++][1] = ids[1];
    return WSC_OK;
}

/* The words that have the pair lose their pairs and count again after the merge; other words are
 * not touched, which makes a merge cheap. */
static enum wsc_err merge_pair(struct trainer *t, int64_t pair)
{
    int32_t ids[2], id = data_bpe_vocab_size(t->bpe);
    ids_of(t, pair, ids);
    TRY(add_token(t, ids, id));
    for (int64_t node = t->pairs[pair].first; node >= 0; node = t->node[node].next) {
        int32_t word = t->node[node].word;
        struct span *s = &t->word_span[word];
        if (!has_pair(t, s, ids)) continue;
        TRY(add_pairs(t, word, -t->word_count[word]));
        replace_pair(t, s, ids, id);
        TRY(add_pairs(t, word, t->word_count[word]));
    }
    return push_fresh(t);
}

/* Two merges may give the same bytes: a token stands for one text, so the later is left out. */
static bool is_known(const struct trainer *t, int64_t pair)
{
    unsigned char bytes[2 * MAX_WORD];
    int32_t ids[2];
    int64_t n = 0, m = 0;
    ids_of(t, pair, ids);
    const unsigned char *left = data_bpe_token(t->bpe, ids[0], &n);
    memcpy(bytes, left, (size_t)n); /* not in one call: n would be read before it is set */
    const unsigned char *right = data_bpe_token(t->bpe, ids[1], &m);
    memcpy(bytes + n, right, (size_t)m);
    return data_bpe_find(t->bpe, bytes, n + m) >= 0;
}

/* The pair that is most frequent now; -1: none is left that is frequent enough. */
static enum wsc_err next_pair(struct trainer *t, int64_t *pair)
{
    for (*pair = -1; t->n_heap;) {
        struct entry top = pop(t);
        int64_t count = t->pairs[top.pair].count;
        if (count < t->request->min_frequency || is_known(t, top.pair)) continue;
        *pair = top.pair;
        if (count == top.count) return WSC_OK;
        *pair = -1;
        TRY(push(t, top.pair)); /* it has become rarer since */
    }
    return WSC_OK;
}

/* Until the vocabulary is full but for <|endoftext|>, or no pair is frequent enough. */
static enum wsc_err learn(struct trainer *t)
{
    const struct data_train_bpe *r = t->request;
    int64_t wanted = r->vocab_size - N_BYTES - 1, pair = -1;
    TRY_NEW(t->merge, WSC_MEM_DATA, wanted);
    while (t->n_merges < wanted) {
        TRY(next_pair(t, &pair));
        if (pair < 0) return WSC_OK;
        TRY(merge_pair(t, pair));
        if (r->progress) r->progress(r->progress_ctx, "merges", t->n_merges, wanted);
    }
    return WSC_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *text_of(const struct trainer *t, int32_t id, char text[2 * MAX_WORD + 1])
{
    int64_t n = 0;
    const unsigned char *bytes = data_bpe_token(t->bpe, id, &n);
    data_bpe_text(bytes, n, text);
    return text;
}

/* Tokens in the order of their ids. */
static void put_vocab(FILE *f, const void *trainer)
{
    const struct trainer *t = trainer;
    char text[2 * MAX_WORD + 1];
    int32_t n = data_bpe_vocab_size(t->bpe);
    for (int32_t id = 0; id < n; id++) {
        (void)fputs(id ? ", " : "{", f);
        data_params_string(f, text_of(t, id, text));
        (void)fprintf(f, ": %d", (int)id);
    }
    (void)fputs("}\n", f);
}

static void put_merges(FILE *f, const void *trainer)
{
    const struct trainer *t = trainer;
    char left[2 * MAX_WORD + 1], right[2 * MAX_WORD + 1];
    (void)fputs("#version: 0.2\n", f);
    for (int64_t i = 0; i < t->n_merges; i++)
        (void)fprintf(f, "%s %s\n", text_of(t, t->merge[i][0], left),
                      text_of(t, t->merge[i][1], right));
}

/* <|endoftext|> is the last token unless the text has made it one already. */
static enum wsc_err write_files(struct trainer *t)
{
    static const char end[] = "<|endoftext|>";
    char *below;
    TRY_MEM(below, wsc_asprintf(WSC_MEM_DATA, "%s/", t->request->out_dir));
    enum wsc_err rc = wsc_file_mkdir_above(below);
    wsc_free(below);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "make folder");
    if (data_bpe_find(t->bpe, (const unsigned char *)end, sizeof end - 1) < 0)
        TRY(data_bpe_add_token(t->bpe, (const unsigned char *)end, sizeof end - 1,
                               data_bpe_vocab_size(t->bpe)));
    TRY(data_file_write(t->request->out_dir, "vocab.json", put_vocab, t));
    return data_file_write(t->request->out_dir, "merges.txt", put_merges, t);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The bytes as GPT-2 numbers them: in the order of the characters by which they are written. */
static enum wsc_err start_tokens(struct trainer *t)
{
    int32_t id = 0;
    TRY(data_bpe_create(&t->bpe));
    for (int32_t c = 0; id < N_BYTES; c++)
        for (int byte = 0; byte < N_BYTES; byte++) {
            const unsigned char one = (unsigned char)byte;
            if (data_bpe_char(byte) == c) TRY(data_bpe_add_token(t->bpe, &one, 1, id++));
        }
    return WSC_OK;
}

static enum wsc_err check(const struct data_train_bpe *r)
{
    if (r->n_inputs < 1) return WSC_RAISE(WSC_USAGE, "no input: give at least one text file");
    if (r->vocab_size <= N_BYTES || r->vocab_size > 1 << 20)
        return WSC_RAISE(WSC_USAGE, "vocab_size is %lld, expected %d to %d",
                         (long long)r->vocab_size, N_BYTES + 1, 1 << 20);
    if (r->min_frequency < 1 || r->max_bytes < 1)
        return WSC_RAISE(WSC_USAGE, "min_frequency and max_bytes are at least 1");
    return WSC_OK;
}

static enum wsc_err train(struct trainer *t)
{
    TRY(check(t->request));
    TRY(data_classes_create(&t->class));
    TRY(data_words_create(&t->word));
    TRY(data_words_create(&t->pair));
    TRY(start_tokens(t));
    TRY(count_words(t));
    if (!data_words_count(t->word))
        return WSC_RAISE(WSC_USAGE, "%s: the input has no text", t->request->input[0]);
    TRY(start_pairs(t));
    TRY(learn(t));
    return write_files(t);
}

static void release(struct trainer *t)
{
    data_feed_close(&t->feed);
    data_inputs_fini(&t->inputs);
    data_words_destroy(&t->word);
    data_words_destroy(&t->pair);
    data_bpe_destroy(&t->bpe);
    void *const block[] = {t->class, t->word_count, t->symbol, t->word_span, t->pairs,
                           t->node,  t->heap,       t->fresh,  t->merge};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        wsc_free(block[i]);
    wsc_free(t);
}

enum wsc_err data_train_bpe(const struct data_train_bpe *request, struct data_trained *trained)
{
    struct trainer *t = NULL;
    *trained = (struct data_trained){0};
    TRY_NEW(t, WSC_MEM_DATA, 1);
    t->request = request;
    enum wsc_err rc = train(t);
    if (!rc)
        *trained = (struct data_trained){.n_bytes = t->n_bytes,
                                         .n_words = data_words_count(t->word),
                                         .n_merges = t->n_merges,
                                         .vocab_size = data_bpe_vocab_size(t->bpe)};
    release(t);
    return rc;
}
