// SPDX-License-Identifier: Apache-2.0
/* One interface to three tokenizers (bytes, BPE, WordPiece): a table with a row for each kind. The
 * byte tokenizer has the 256 bytes as ids; bpe.c and wordpiece.c have the others. */
#include "tokenizer.h"
#include "bert_words.h"
#include "bpe.h"

#include <wsc/file.h>
#include <wsc/hash.h>
#include <wsc/mem.h>

#include <string.h>

struct data_tokenizer {
    const struct kind *kind;
    struct data_bpe *bpe;
    struct data_wordpiece *words;
    bool sentences; /* WordPiece: ends of sentences and documents are marked */
    uint64_t identity;
};

/* A kind of tokenizer. */
struct kind {
    const char *name;
    enum wsc_err (*encode)(struct data_tokenizer *t, const struct data_text *text, int32_t *ids,
                           int64_t *n_ids, int64_t *used);
    int64_t (*vocab_size)(const struct data_tokenizer *t);
    int32_t (*find)(const struct data_tokenizer *t, const unsigned char *bytes, int64_t n);
    const unsigned char *(*bytes)(const struct data_tokenizer *t, int32_t id, int64_t *n);
};

/* ---- byte ------------------------------------------------------------------------------------ */

static enum wsc_err byte_encode(struct data_tokenizer *t, const struct data_text *text,
                                int32_t *ids, int64_t *n_ids, int64_t *used)
{
    (void)t;
    for (int64_t i = 0; i < text->n; i++)
        ids[i] = text->bytes[i];
    *n_ids = *used = text->n;
    return WSC_OK;
}

static int64_t byte_vocab_size(const struct data_tokenizer *t)
{
    (void)t;
    return 256;
}

static int32_t byte_find(const struct data_tokenizer *t, const unsigned char *bytes, int64_t n)
{
    (void)t;
    return n == 1 ? bytes[0] : -1;
}

/* The byte of an id as a pointer into a table of all 256. */
static const unsigned char *byte_bytes(const struct data_tokenizer *t, int32_t id, int64_t *n)
{
#define ROW(h) h, h + 1, h + 2, h + 3, h + 4, h + 5, h + 6, h + 7
#define ROWS(h)                                                                                    \
    ROW(h), ROW(h + 8), ROW(h + 16), ROW(h + 24), ROW(h + 32), ROW(h + 40), ROW(h + 48), ROW(h + 56)
    static const unsigned char every[256] = {ROWS(0), ROWS(64), ROWS(128), ROWS(192)};
#undef ROWS
#undef ROW
    (void)t;
    *n = id >= 0 && id < 256;
    return *n ? &every[id] : NULL;
}

/* ---- bpe ------------------------------------------------------------------------------------- */

static enum wsc_err bpe_encode(struct data_tokenizer *t, const struct data_text *text, int32_t *ids,
                               int64_t *n_ids, int64_t *used)
{
    return data_bpe_encode(t->bpe, text, ids, n_ids, used);
}

static int64_t bpe_vocab_size(const struct data_tokenizer *t)
{
    return data_bpe_vocab_size(t->bpe);
}

static int32_t bpe_find(const struct data_tokenizer *t, const unsigned char *bytes, int64_t n)
{
    return data_bpe_find(t->bpe, bytes, n);
}

static const unsigned char *bpe_bytes(const struct data_tokenizer *t, int32_t id, int64_t *n)
{
    return data_bpe_token(t->bpe, id, n);
}

/* ---- wordpiece ------------------------------------------------------------------------------- */

/* Write the ids of a sentence and the mark of its end; the white space of the sentence leaves room
 * for the mark. */
static int64_t put_sentence(const struct data_tokenizer *t, const unsigned char *text, int64_t n,
                            enum data_bert_end end, int32_t *ids)
{
    const struct data_special special = data_wordpiece_special(t->words);
    int64_t n_ids = 0;
    data_wordpiece_encode(t->words, (const char *)text, n, ids, n, &n_ids);
    if (end != DATA_BERT_OPEN && n_ids < n)
        ids[n_ids++] = end == DATA_BERT_DOCUMENT ? special.pad : special.sep;
    return n_ids;
}

static enum wsc_err wordpiece_encode(struct data_tokenizer *t, const struct data_text *text,
                                     int32_t *ids, int64_t *n_ids, int64_t *used)
{
    *used = text->end ? text->n : data_bert_whole(text->bytes, text->n);
    *n_ids = 0;
    for (int64_t at = 0, n; at < *used; at += n) {
        enum data_bert_end end = DATA_BERT_OPEN;
        n = *used - at;
        if (t->sentences) n = data_bert_sentence(text->bytes + at, n, &end);
        *n_ids += put_sentence(t, text->bytes + at, n, end, ids + *n_ids);
    }
    return WSC_OK;
}

static int64_t wordpiece_vocab_size(const struct data_tokenizer *t)
{
    return data_wordpiece_n(t->words);
}

static int32_t wordpiece_find(const struct data_tokenizer *t, const unsigned char *bytes, int64_t n)
{
    return data_wordpiece_find(t->words, (const char *)bytes, n);
}

/* The bytes of a piece, without the mark of pieces that continue a word. */
static const unsigned char *wordpiece_bytes(const struct data_tokenizer *t, int32_t id, int64_t *n)
{
    *n = 0;
    if (id < 0 || id >= data_wordpiece_n(t->words)) return NULL;
    const char *text = data_wordpiece_text(t->words, id);
    if (data_wordpiece_continues(t->words, id)) text += 2;
    *n = (int64_t)strlen(text);
    return (const unsigned char *)text;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct kind kinds[] = {
    {"byte", byte_encode, byte_vocab_size, byte_find, byte_bytes},
    {"bpe", bpe_encode, bpe_vocab_size, bpe_find, bpe_bytes},
    {"wordpiece", wordpiece_encode, wordpiece_vocab_size, wordpiece_find, wordpiece_bytes},
};
enum { BYTE, BPE, WORDPIECE, N_KINDS };

/* Add the hash of a file's bytes, block by block, to @p hash. */
static enum wsc_err add_hash(const char *path, uint64_t *hash)
{
    enum { BLOCK = 4096 };
    char *bytes = NULL;
    size_t n = 0;
    TRY(wsc_file_read(WSC_MEM_DATA, path, INT32_MAX, &bytes, &n));
    for (size_t at = 0; at < n; at += BLOCK)
        *hash = wsc_hash64(bytes + at, n - at < BLOCK ? n - at : BLOCK, *hash);
    wsc_free(bytes);
    return WSC_OK;
}

static enum wsc_err open_bpe(struct data_tokenizer *t, const char *vocab, const char *merges)
{
    if (!vocab || !merges)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "tokenizer bpe needs a vocabulary and merges"),
                            "--vocab vocab.json --merges merges.txt; `wsc data train-bpe` makes "
                            "both from text");
    TRY(data_bpe_load(&t->bpe, vocab, merges));
    TRY(add_hash(vocab, &t->identity));
    return add_hash(merges, &t->identity);
}

static enum wsc_err open_kind(struct data_tokenizer *t, const char *kind, const char *vocab,
                              const char *merges)
{
    for (int k = 0; k < WORDPIECE; k++)
        if (!strcmp(kinds[k].name, kind)) t->kind = &kinds[k];
    if (!t->kind)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "tokenizer %s is not known", kind), "byte or bpe");
    if (t->kind == &kinds[BPE]) return open_bpe(t, vocab, merges);
    if (vocab || merges)
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "tokenizer byte takes no vocabulary or merges"),
                            "they belong to tokenizer bpe");
    return WSC_OK;
}

enum wsc_err data_tokenizer_open(struct data_tokenizer **out, const char *kind, const char *vocab,
                                 const char *merges)
{
    struct data_tokenizer *t = NULL;
    *out = NULL;
    TRY_NEW(t, WSC_MEM_DATA, 1);
    enum wsc_err rc = open_kind(t, kind, vocab, merges);
    if (rc) data_tokenizer_close(&t);
    *out = t;
    return rc;
}

static enum wsc_err open_wordpiece(struct data_tokenizer *t, const char *vocab, bool lower)
{
    t->kind = &kinds[WORDPIECE];
    TRY(data_wordpiece_open(&t->words, vocab, lower));
    return add_hash(vocab, &t->identity);
}

enum wsc_err data_tokenizer_open_wordpiece(struct data_tokenizer **out, const char *vocab,
                                           bool lower, bool sentences)
{
    struct data_tokenizer *t = NULL;
    *out = NULL;
    TRY_NEW(t, WSC_MEM_DATA, 1);
    t->sentences = sentences;
    t->identity = (uint64_t)lower + 2 * (uint64_t)sentences;
    const enum wsc_err rc = open_wordpiece(t, vocab, lower);
    if (rc) data_tokenizer_close(&t);
    *out = t;
    return rc;
}

const struct data_wordpiece *data_tokenizer_wordpiece(const struct data_tokenizer *t)
{
    return t->words;
}

void data_tokenizer_close(struct data_tokenizer **tokenizer)
{
    if (!*tokenizer) return;
    data_wordpiece_close(&(*tokenizer)->words);
    data_bpe_destroy(&(*tokenizer)->bpe);
    wsc_free(*tokenizer);
    *tokenizer = NULL;
}

const char *data_tokenizer_kind(const struct data_tokenizer *t)
{
    return t->kind->name;
}

uint64_t data_tokenizer_identity(const struct data_tokenizer *t)
{
    return t->identity;
}

int64_t data_tokenizer_vocab_size(const struct data_tokenizer *t)
{
    return t->kind->vocab_size(t);
}

int32_t data_tokenizer_find(const struct data_tokenizer *t, const char *bytes, int64_t n)
{
    return t->kind->find(t, (const unsigned char *)bytes, n);
}

const unsigned char *data_tokenizer_bytes(const struct data_tokenizer *t, int32_t id, int64_t *n)
{
    return t->kind->bytes(t, id, n);
}

enum wsc_err data_tokenizer_encode(struct data_tokenizer *t, const struct data_text *text,
                                   int32_t *ids, int64_t *n_ids, int64_t *used)
{
    return t->kind->encode(t, text, ids, n_ids, used);
}
