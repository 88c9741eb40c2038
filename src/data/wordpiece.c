// SPDX-License-Identifier: Apache-2.0
/* WordPiece as in BERT (Devlin et al. 2019; tokenization.py of its release): a text is divided into
 * words (bert_words.c), and a word into the longest pieces of the vocabulary from its start on, of
 * which all but the first begin with "##"; a word without such pieces is [UNK]. encoder_samples.c
 * converts tables, tokenizer.c texts; wordpiece_train.c learns vocabularies. */
#include "wordpiece.h"
#include "bert_characters.h"
#include "bert_words.h"
#include "word_table.h"
#include "wordpiece_json.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <string.h>

enum { MOST_BYTES = 1 << 28 };

struct data_wordpiece {
    struct data_words *words; /* tokens, each once */
    int32_t *id_of_word;      /* index of the last of equal lines */
    char **text;              /* of each id */
    int64_t n;
    bool lowered;
    struct data_special special;
};

/* ---- vocabulary -------------------------------------------------------------------------------
 */

static enum wsc_err add_token(struct data_wordpiece *w, char *line)
{
    int64_t number, n = (int64_t)strlen(line);
    TRY(data_words_add(w->words, (const unsigned char *)line, n, &number, NULL));
    w->text[w->n] = line;
    w->id_of_word[number] = (int32_t)w->n++;
    return WSC_OK;
}

/* The @p n bytes of a token as a text that the caller owns, in lower case if the vocabulary is. */
static enum wsc_err spell(const char *bytes, int64_t n, bool lowered, char **out)
{
    enum { MOST_GROWTH = 2 };
    TRY_MEM(*out, wsc_alloc(WSC_MEM_DATA, (size_t)(MOST_GROWTH * n + 1), 1));
    if (lowered)
        n = data_bert_lower(bytes, n, *out, MOST_GROWTH * n);
    else
        memcpy(*out, bytes, (size_t)n);
    (*out)[n] = 0;
    return WSC_OK;
}

/* Read one token per line, without surrounding white space; a last line without newline counts. */
static enum wsc_err take_lines(struct data_wordpiece *w, const char *bytes, int64_t n, bool lowered)
{
    for (int64_t at = 0; at < n;) {
        const char *end = memchr(bytes + at, '\n', (size_t)(n - at));
        int64_t length = end ? end - (bytes + at) : n - at, first = at;
        at += length + 1;
        while (length && strchr(" \t\r", bytes[first + length - 1]))
            length--;
        char *line;
        TRY(spell(bytes + first, length, lowered, &line));
        const enum wsc_err rc = add_token(w, line);
        if (rc) wsc_free(line);
        TRY(rc);
    }
    return WSC_OK;
}

/* Find a special token in the vocabulary, in lower case if the vocabulary is. */
static enum wsc_err find_special(struct data_wordpiece *w, const char *path, bool lowered)
{
    static const char *const names[2][5] = {{"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"},
                                            {"[unk]", "[cls]", "[sep]", "[pad]", "[mask]"}};
    int32_t *const ids[5] = {&w->special.unk, &w->special.cls, &w->special.sep, &w->special.pad,
                             &w->special.mask};
    for (int i = 0; i < 5; i++) {
        const char *name = names[lowered][i];
        const int64_t number =
            data_words_find(w->words, (const unsigned char *)name, (int64_t)strlen(name));
        if (number < 0) return WSC_RAISE(WSC_FORMAT, "%s: has no token %s", path, names[0][i]);
        *ids[i] = w->id_of_word[number];
    }
    return WSC_OK;
}

static enum wsc_err load(struct data_wordpiece *w, const char *path, bool lowered)
{
    char *bytes = NULL;
    size_t n = 0;
    TRY(data_words_create(&w->words));
    TRY(data_wordpiece_is_json(path) ? data_wordpiece_json(path, lowered, &bytes, &n)
                                     : wsc_file_read(WSC_MEM_DATA, path, MOST_BYTES, &bytes, &n));
    int64_t lines = 1;
    w->lowered = lowered;
    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    w->text = wsc_alloc(WSC_MEM_DATA, (size_t)lines, sizeof *w->text);
    w->id_of_word = wsc_alloc(WSC_MEM_DATA, (size_t)lines, sizeof *w->id_of_word);
    enum wsc_err rc =
        w->text && w->id_of_word ? take_lines(w, bytes, (int64_t)n, lowered) : WSC_NOMEM;
    wsc_free(bytes);
    TRY(rc);
    return find_special(w, path, lowered);
}

enum wsc_err data_wordpiece_open(struct data_wordpiece **out, const char *path, bool lowered)
{
    struct data_wordpiece *w = NULL;
    *out = NULL;
    TRY_NEW(w, WSC_MEM_DATA, 1);
    const enum wsc_err rc = load(w, path, lowered);
    if (rc) data_wordpiece_close(&w);
    *out = w;
    return rc;
}

void data_wordpiece_close(struct data_wordpiece **wordpiece)
{
    struct data_wordpiece *w = *wordpiece;
    *wordpiece = NULL;
    if (!w) return;
    for (int64_t i = 0; w->text && i < w->n; i++)
        wsc_free(w->text[i]);
    wsc_free(w->text);
    wsc_free(w->id_of_word);
    data_words_destroy(&w->words);
    wsc_free(w);
}

int64_t data_wordpiece_n(const struct data_wordpiece *w)
{
    return w->n;
}

struct data_special data_wordpiece_special(const struct data_wordpiece *w)
{
    return w->special;
}

int32_t data_wordpiece_find(const struct data_wordpiece *w, const char *bytes, int64_t n)
{
    const int64_t number = data_words_find(w->words, (const unsigned char *)bytes, n);
    return number < 0 ? -1 : w->id_of_word[number];
}

int32_t data_wordpiece_id(const struct data_wordpiece *w, const char *bytes, int64_t n)
{
    const int32_t id = data_wordpiece_find(w, bytes, n);
    return id < 0 ? w->special.unk : id;
}

const char *data_wordpiece_text(const struct data_wordpiece *w, int32_t id)
{
    return w->text[id];
}

bool data_wordpiece_continues(const struct data_wordpiece *w, int32_t id)
{
    return !strncmp(w->text[id], "##", 2);
}

/* ---- words into pieces ------------------------------------------------------------------------
 */

/* The longest token at the start of the @p n bytes of @p rest, with its number of bytes in *length;
 * -1: none. Pieces after the first one begin with "##" in the vocabulary. */
static int32_t longest(const struct data_wordpiece *w, const char *rest, int64_t n, bool first,
                       int64_t *length)
{
    char piece[DATA_BERT_WORD_BYTES + 2] = "##";
    const int64_t prefix = first ? 0 : 2;
    memcpy(piece + prefix, rest, (size_t)n);
    for (*length = n; *length > 0; --*length) {
        const int64_t number =
            data_words_find(w->words, (const unsigned char *)piece, prefix + *length);
        if (number >= 0) return w->id_of_word[number];
    }
    return -1;
}

/* Ids of the pieces of a word; [UNK] alone if no pieces spell it. */
static int64_t cut_word(const struct data_wordpiece *w, const char *word, int64_t n, int32_t *ids,
                        int64_t room)
{
    int64_t n_ids = 0, length;
    const int64_t most = data_bert_too_long(word, n) ? 0 : n;
    for (int64_t at = 0; at < most && n_ids < room; at += length) {
        const int32_t id = longest(w, word + at, n - at, at == 0, &length);
        if (id < 0) {
            n_ids = 0;
            break;
        }
        ids[n_ids++] = id;
    }
    if (!n_ids && room > 0) ids[n_ids++] = w->special.unk;
    return n_ids;
}

void data_wordpiece_encode(const struct data_wordpiece *w, const char *text, int64_t n,
                           int32_t *ids, int64_t room, int64_t *n_ids)
{
    char word[DATA_BERT_WORD_BYTES];
    *n_ids = 0;
    for (int64_t at = 0; *n_ids < room;) {
        const int64_t length = data_bert_word(w->lowered, text, n, &at, word);
        if (!length) break;
        *n_ids += cut_word(w, word, length, ids + *n_ids, room - *n_ids);
    }
}
