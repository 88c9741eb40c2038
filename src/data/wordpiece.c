// SPDX-License-Identifier: Apache-2.0
/* WordPiece as BERT has it (Devlin et al. 2019; tokenization.py of its release): text becomes words
 * at white space, punctuation and Chinese characters, and a word the longest pieces of the
 * vocabulary from its start on, of which all but the first begin with "##"; a word without such
 * pieces is [UNK].  Lower case and the removal of accents cover Latin, Greek and Cyrillic letters.
 * encoder_samples.c reads tables with it. */
#include "wordpiece.h"
#include "utf8.h"
#include "word_table.h"
#include "wordpiece_json.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <string.h>

enum {
    LONGEST_WORD = 100, /* characters of a word that is not [UNK] */
    WORD_BYTES = 400,
    MOST_BYTES = 1 << 28
};

struct data_wordpiece {
    struct data_words *words; /* tokens, each once */
    int32_t *id_of_word;      /* the last of equal ones */
    char **text;              /* of each id */
    int64_t n;
    bool lowered;
    struct data_special special;
};

/* ---- letters ----------------------------------------------------------------------------------
 */

/* Letters of Latin-1 (from U+00C0) and of Latin Extended-A (from U+0100) without their accents; '.'
 * is a letter that has none. */
static const char latin[] = "AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y"
                            "AaAaAaCcCcCcCcDd..EeEeEeEeEeGgGgGgGgHh..IiIiIiIiI...JjKk.LlLlLl."
                            "...NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz.";

static int32_t without_accent(int32_t c)
{
    static const int32_t pairs[][2] = {
        {0x401, 0x435}, {0x451, 0x435}, {0x419, 0x438}, {0x439, 0x438}, {0x386, 0x3B1},
        {0x388, 0x3B5}, {0x389, 0x3B7}, {0x38A, 0x3B9}, {0x38C, 0x3BF}, {0x38E, 0x3C5},
        {0x38F, 0x3C9}, {0x3AC, 0x3B1}, {0x3AD, 0x3B5}, {0x3AE, 0x3B7}, {0x3AF, 0x3B9},
        {0x3CC, 0x3BF}, {0x3CD, 0x3C5}, {0x3CE, 0x3C9}};
    if (c >= 0xC0 && c < 0x180) return latin[c - 0xC0] == '.' ? c : latin[c - 0xC0];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == c) return pairs[i][1];
    return c;
}

static int32_t lower(int32_t c)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7)) return c + 32;
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177)) return c | 1;
    if (c >= 0x139 && c <= 0x148) return c + (c & 1);
    if (c >= 0x391 && c <= 0x3A9) return c + 32;
    if (c >= 0x410 && c <= 0x42F) return c + 32;
    return c >= 0x400 && c <= 0x40F ? c + 80 : c;
}

static bool within(int32_t c, const int32_t (*range)[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= range[i][0] && c <= range[i][1]) return true;
    return false;
}

/* Zs of Unicode, and the control characters that separate. */
static bool is_space(int32_t c)
{
    static const int32_t spaces[][2] = {
        {'\t', '\n'},     {'\r', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
        {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
    return within(c, spaces, sizeof spaces / sizeof *spaces);
}

/* Characters that are words of their own: punctuation and Chinese ones. */
static bool stands_alone(int32_t c)
{
    static const int32_t alone[][2] = {
        {'!', '/'},         {':', '@'},       {'[', '`'},         {'{', '~'},
        {0xA1, 0xA1},       {0xA7, 0xA7},     {0xAB, 0xAB},       {0xB6, 0xB7},
        {0xBB, 0xBB},       {0xBF, 0xBF},     {0x2010, 0x2027},   {0x2030, 0x205E},
        {0x3001, 0x3003},   {0x3008, 0x3011}, {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
        {0xF900, 0xFAFF},   {0xFF01, 0xFF0F}, {0x20000, 0x2A6DF}, {0x2A700, 0x2CEAF},
        {0x2F800, 0x2FA1F},
    };
    return within(c, alone, sizeof alone / sizeof *alone);
}

/* Control characters, marks that were composed with letters, and the replacement character. */
static bool is_dropped(int32_t c, bool lowered)
{
    static const int32_t dropped[][2] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},
                                         {0x200B, 0x200F}, {0x202A, 0x202E}, {0xFEFF, 0xFEFF},
                                         {0xFFFD, 0xFFFD}};
    if (lowered && c >= 0x300 && c <= 0x36F) return true;
    return within(c, dropped, sizeof dropped / sizeof *dropped);
}

/* The character at @p text, its length in *length; -1 for a byte that is none. */
static int32_t character(const char *text, int64_t n, int *length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    const int found = data_utf8_length(bytes, n);
    *length = found > 0 ? found : found < 0 ? -found : 1;
    return found > 0 ? data_utf8_point(bytes, found) : -1;
}

/* The next word of the text from *@p at on, in lower case and without accents with @p lowered, into
 * @p word (WORD_BYTES); its bytes, 0 after the last one. */
static int64_t next_word(bool lowered, const char *text, int64_t n, int64_t *at, char *word)
{
    int64_t used = 0;
    while (*at < n) {
        int length;
        int32_t c = character(text + *at, n - *at, &length);
        const bool space = c >= 0 && is_space(c), alone = c >= 0 && stands_alone(c);
        if (used && (space || alone)) return used;
        *at += length;
        if (c < 0 || space || is_dropped(c, lowered)) continue;
        if (lowered) c = lower(without_accent(c));
        if (used + 4 <= WORD_BYTES) used += data_utf8_put(c, (unsigned char *)word + used);
        if (alone) return used;
    }
    return used;
}

/* ---- vocabulary -------------------------------------------------------------------------------
 */

static enum wsc_err add_token(struct data_wordpiece *w, char *line, bool lowered)
{
    int64_t number, n = (int64_t)strlen(line);
    for (int64_t i = 0; lowered && i < n; i++)
        if (line[i] >= 'A' && line[i] <= 'Z') line[i] = (char)(line[i] + 32);
    TRY(data_words_add(w->words, (const unsigned char *)line, n, &number, NULL));
    w->text[w->n] = line;
    w->id_of_word[number] = (int32_t)w->n++;
    return WSC_OK;
}

/* One token a line, without white space around it; a last line without newline counts. */
static enum wsc_err take_lines(struct data_wordpiece *w, const char *bytes, int64_t n, bool lowered)
{
    for (int64_t at = 0; at < n;) {
        const char *end = memchr(bytes + at, '\n', (size_t)(n - at));
        int64_t length = end ? end - (bytes + at) : n - at, first = at;
        at += length + 1;
        while (length && strchr(" \t\r", bytes[first + length - 1]))
            length--;
        char *line;
        TRY_MEM(line, wsc_asprintf(WSC_MEM_DATA, "%.*s", (int)length, bytes + first));
        const enum wsc_err rc = add_token(w, line, lowered);
        if (rc) wsc_free(line);
        TRY(rc);
    }
    return WSC_OK;
}

/* Special tokens are in the vocabulary, in lower case when all is. */
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

int32_t data_wordpiece_id(const struct data_wordpiece *w, const char *bytes, int64_t n)
{
    const int64_t number = data_words_find(w->words, (const unsigned char *)bytes, n);
    return number < 0 ? w->special.unk : w->id_of_word[number];
}

bool data_wordpiece_continues(const struct data_wordpiece *w, int32_t id)
{
    return !strncmp(w->text[id], "##", 2);
}

/* ---- words into pieces ------------------------------------------------------------------------
 */

/* The longest token at the start of the @p n bytes of @p rest, whose number of bytes it returns in
 * *length; -1: none.  Pieces after the first begin with "##" in the vocabulary. */
static int32_t longest(const struct data_wordpiece *w, const char *rest, int64_t n, bool first,
                       int64_t *length)
{
    char piece[WORD_BYTES + 2] = "##";
    const int64_t prefix = first ? 0 : 2;
    memcpy(piece + prefix, rest, (size_t)n);
    for (*length = n; *length > 0; --*length) {
        const int64_t number =
            data_words_find(w->words, (const unsigned char *)piece, prefix + *length);
        if (number >= 0) return w->id_of_word[number];
    }
    return -1;
}

static int64_t characters(const char *word, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += ((unsigned char)word[i] & 0xC0) != 0x80;
    return count;
}

/* The pieces of a word; [UNK] alone where some part has none. */
static int64_t cut_word(const struct data_wordpiece *w, const char *word, int64_t n, int32_t *ids,
                        int64_t room)
{
    int64_t n_ids = 0, length;
    const int64_t most = characters(word, n) > LONGEST_WORD ? 0 : n;
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
    char word[WORD_BYTES];
    *n_ids = 0;
    for (int64_t at = 0; *n_ids < room;) {
        const int64_t length = next_word(w->lowered, text, n, &at, word);
        if (!length) break;
        *n_ids += cut_word(w, word, length, ids + *n_ids, room - *n_ids);
    }
}
