// SPDX-License-Identifier: Apache-2.0
/* Learns a WordPiece vocabulary by counts, as Hugging Face's trainer does. Words of BERT
 * (bert_words.c) begin as characters, of which all but the first are written with "##". The most
 * frequent pair of neighbours becomes a piece, repeatedly (Sennrich et al. 2016, algorithm 1;
 * pair_merges.c), until the vocabulary is full. Two pairs with equal text become one piece. Order
 * of vocab.txt: special tokens, characters that begin words, characters that continue them, both by
 * code point, then pieces in the order of learning. cmd_train_bpe.c calls; wordpiece.c reads
 * the file. */
#include "bert_words.h"
#include "dataset_folder.h"
#include "pair_merges.h"
#include "utf8.h"
#include "word_counts.h"

#include <wsc/check.h>
#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = DATA_BERT_WORD_BYTES + 4, MARK = 2 };

static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
enum { N_SPECIAL = sizeof special / sizeof *special };

/* Words with their counts, characters, and pieces by id. */
struct trainer {
    const struct data_train_bpe *request;
    bool lower;
    struct data_word_counts words;
    struct data_words *character; /* characters in the spelling of the vocabulary */
    int64_t *character_count, character_room;
    struct data_words *piece;
    struct data_merges *merges;
};

static enum wsc_err count_words(void *trainer, struct data_word_counts *c,
                                const unsigned char *text, int64_t n, bool ended, int64_t *used)
{
    const struct trainer *t = trainer;
    char word[DATA_BERT_WORD_BYTES];
    *used = ended ? n : data_bert_whole(text, n);
    for (int64_t at = 0;;) {
        const int64_t length = data_bert_word(t->lower, (const char *)text, *used, &at, word);
        if (!length) return WSC_OK;
        if (!data_bert_too_long(word, length))
            TRY(data_word_count(c, (const unsigned char *)word, length));
    }
}

/* ---- characters ------------------------------------------------------------------------------ */

/* The character at @p at of a word, with "##" if it continues the word; *length: bytes of the
 * character alone. Returns the bytes of the text. */
static int64_t character_at(const unsigned char *word, int64_t n, int64_t at, char text[8],
                            int *length)
{
    const int mark = at ? MARK : 0;
    *length = data_utf8_length(word + at, n - at);
    memcpy(text, "##", MARK);
    memcpy(text + mark, word + at, (size_t)*length);
    return mark + *length;
}

static enum wsc_err count_character(struct trainer *t, const char *text, int64_t n, int64_t times)
{
    int64_t number = 0;
    bool added = false;
    TRY(data_words_add(t->character, (const unsigned char *)text, n, &number, &added));
    TRY_GROW(t->character_count, WSC_MEM_DATA, t->character_room, number + 1);
    if (added) t->character_count[number] = 0;
    t->character_count[number] += times;
    return WSC_OK;
}

/* Count the characters of word number @p w. */
static enum wsc_err count_word(struct trainer *t, int64_t w)
{
    char text[8];
    int length = 0;
    int64_t n;
    const unsigned char *word = data_words_text(t->words.word, w, &n);
    for (int64_t at = 0; at < n; at += length) {
        const int64_t m = character_at(word, n, at, text, &length);
        TRY(count_character(t, text, m, t->words.count[w]));
    }
    return WSC_OK;
}

static enum wsc_err count_characters(struct trainer *t)
{
    for (int64_t w = 0; w < data_words_count(t->words.word); w++)
        TRY(count_word(t, w));
    return WSC_OK;
}

/* Order of pieces by their texts, which end with NUL: those that begin words come first. */
static int by_text(const void *a, const void *b)
{
    const char *left = a, *right = b;
    const bool continues = !strncmp(left, "##", MARK) && left[MARK];
    const bool other = !strncmp(right, "##", MARK) && right[MARK];
    return continues != other ? (int)continues - (int)other : strcmp(left, right);
}

static enum wsc_err add_piece(struct trainer *t, const char *text)
{
    int64_t number = 0;
    return data_words_add(t->piece, (const unsigned char *)text, (int64_t)strlen(text), &number,
                          NULL);
}

/* Add special tokens and the characters that are frequent enough. */
static enum wsc_err start_pieces(struct trainer *t)
{
    const int64_t n = data_words_count(t->character), size = t->request->vocab_size;
    char(*text)[8];
    int64_t m = 0;
    enum wsc_err rc = WSC_OK;
    for (int i = 0; i < N_SPECIAL; i++)
        TRY(add_piece(t, special[i]));
    TRY_NEW(text, WSC_MEM_DATA, n + 1);
    for (int64_t c = 0; c < n; c++) {
        int64_t length;
        const unsigned char *bytes = data_words_text(t->character, c, &length);
        if (t->character_count[c] >= t->request->min_frequency)
            memcpy(text[m++], bytes, (size_t)length);
    }
    qsort(text, (size_t)m, sizeof *text, by_text);
    if (N_SPECIAL + m > size)
        rc = wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                    "vocab_size is %lld, but the text has %lld characters that "
                                    "begin or continue words, and there are %d special tokens",
                                    (long long)size, (long long)m, N_SPECIAL),
                          "a larger --vocab_size or --min_frequency");
    for (int64_t c = 0; c < m && !rc; c++)
        rc = add_piece(t, text[c]);
    wsc_free(text);
    return rc;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Add words as their characters; a word with a rare character is [UNK] and is left out. */
static enum wsc_err add_words(struct trainer *t)
{
    int32_t id[DATA_BERT_WORD_BYTES];
    char text[8];
    int length = 0;
    for (int64_t w = 0; w < data_words_count(t->words.word); w++) {
        int64_t n, n_ids = 0;
        bool whole = true;
        const unsigned char *word = data_words_text(t->words.word, w, &n);
        for (int64_t at = 0; at < n; at += length) {
            const int64_t m = character_at(word, n, at, text, &length);
            id[n_ids] = (int32_t)data_words_find(t->piece, (const unsigned char *)text, m);
            whole = whole && id[n_ids++] >= 0;
        }
        if (whole) TRY(data_merges_add(t->merges, id, n_ids, t->words.count[w]));
    }
    return WSC_OK;
}

/* The second of two neighbours continues a word, so its "##" is removed. */
static enum wsc_err join(void *trainer, const int32_t ids[2], int32_t *id)
{
    struct trainer *t = trainer;
    const struct data_train_bpe *r = t->request;
    unsigned char text[2 * PIECE_BYTES];
    int64_t n = 0, m = 0, number = 0;
    const unsigned char *left = data_words_text(t->piece, ids[0], &n);
    memcpy(text, left, (size_t)n);
    const unsigned char *right = data_words_text(t->piece, ids[1], &m);
    memcpy(text + n, right + MARK, (size_t)(m - MARK));
    TRY(data_words_add(t->piece, text, n + m - MARK, &number, NULL));
    *id = (int32_t)number;
    if (r->progress)
        r->progress(r->progress_ctx, "merges", data_words_count(t->piece), r->vocab_size);
    return WSC_OK;
}

static enum wsc_err learn(struct trainer *t)
{
    const struct data_train_bpe *r = t->request;
    bool more = true;
    TRY(add_words(t));
    while (more && data_words_count(t->piece) < r->vocab_size)
        TRY(data_merges_next(t->merges, r->min_frequency, join, t, &more));
    return WSC_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_vocab(FILE *f, const void *trainer)
{
    const struct trainer *t = trainer;
    for (int64_t id = 0; id < data_words_count(t->piece); id++) {
        int64_t n;
        const unsigned char *text = data_words_text(t->piece, id, &n);
        (void)fprintf(f, "%.*s\n", (int)n, (const char *)text);
    }
}

static enum wsc_err train(struct trainer *t)
{
    TRY(data_word_counts_check(t->request, N_SPECIAL));
    TRY(data_words_create(&t->character));
    TRY(data_words_create(&t->piece));
    TRY(data_merges_create(&t->merges));
    TRY(data_word_counts_read(&t->words, t->request, count_words, t));
    TRY(count_characters(t));
    TRY(start_pieces(t));
    TRY(learn(t));
    TRY(wsc_file_mkdir(t->request->out_dir));
    return data_file_write(t->request->out_dir, "vocab.txt", put_vocab, t);
}

enum wsc_err data_train_wordpiece(const struct data_train_bpe *request, bool lower,
                                  struct data_trained *trained)
{
    struct trainer t = {.request = request, .lower = lower};
    *trained = (struct data_trained){0};
    const enum wsc_err rc = train(&t);
    if (!rc) {
        const int64_t n = data_words_count(t.piece);
        int64_t n_characters = 0;
        const int64_t seen = data_words_count(t.character);
        WSC_CHECK(t.character_count || !seen, "%lld characters without counts", (long long)seen);
        for (int64_t c = 0; c < seen; c++)
            n_characters += t.character_count[c] >= request->min_frequency;
        *trained = (struct data_trained){.n_bytes = t.words.n_bytes,
                                         .n_words = data_words_count(t.words.word),
                                         .n_merges = n - n_characters - N_SPECIAL,
                                         .vocab_size = n};
    }
    data_word_counts_fini(&t.words);
    data_words_destroy(&t.character);
    data_words_destroy(&t.piece);
    data_merges_destroy(&t.merges);
    wsc_free(t.character_count);
    return rc;
}
