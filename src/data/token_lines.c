// SPDX-License-Identifier: Apache-2.0
/* Reads vocabularies and lines of tokens as texts. A file is read as a whole; a token that the
 * vocabulary does not have is <unk>. pair_texts.c makes samples of the lines. */
#include "token_lines.h"
#include "bert_characters.h"
#include "word_table.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <string.h>

enum { TOKEN_BYTES = 1024 };

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* The token at @p text in @p out, in lower case where the vocabulary is. */
static int64_t spelling(const struct data_vocabulary *v, const char *text, int64_t n,
                        char out[TOKEN_BYTES])
{
    if (v->lower) return data_bert_lower(text, n, out, TOKEN_BYTES);
    if (n > TOKEN_BYTES) n = TOKEN_BYTES;
    memcpy(out, text, (size_t)n);
    return n;
}

static int64_t find(const struct data_vocabulary *v, const char *text, int64_t n)
{
    char token[TOKEN_BYTES];
    const int64_t length = spelling(v, text, n, token);
    return data_words_find(v->words, (const unsigned char *)token, length);
}

static enum wsc_err add_tokens(struct data_vocabulary *v, const char *path,
                               const struct data_lines *l)
{
    for (int64_t i = 0; i < l->n; i++) {
        const char *text = l->bytes + l->start[i];
        int64_t n = l->start[i + 1] - l->start[i], number;
        char token[TOKEN_BYTES];
        bool added;
        while (n > 0 && is_space(text[n - 1]))
            n--;
        n = spelling(v, text, n, token);
        TRY(data_words_add(v->words, (const unsigned char *)token, n, &number, &added));
        if (!added)
            return WSC_RAISE(WSC_FORMAT, "%s:%lld: the token of line %lld again", path,
                             (long long)i + 1, (long long)number + 1);
    }
    return WSC_OK;
}

static enum wsc_err find_special(struct data_vocabulary *v, const char *path)
{
    const struct {
        const char *text;
        int32_t *id;
    } special[] = {{"<unk>", &v->unk}, {"<s>", &v->sos}, {"</s>", &v->eos}, {"<pad>", &v->pad}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        *special[i].id = (int32_t)find(v, special[i].text, (int64_t)strlen(special[i].text));
        if (*special[i].id < 0)
            return WSC_RAISE(WSC_FORMAT, "%s: has no token %s", path, special[i].text);
    }
    return WSC_OK;
}

enum wsc_err data_vocabulary_open(struct data_vocabulary *v, const char *path, bool lower)
{
    struct data_lines lines = {0};
    *v = (struct data_vocabulary){.lower = lower};
    TRY(data_words_create(&v->words));
    enum wsc_err rc = data_lines_open(&lines, path);
    if (!rc) rc = add_tokens(v, path, &lines);
    if (!rc) rc = find_special(v, path);
    data_lines_close(&lines);
    if (rc) data_vocabulary_close(v);
    return rc;
}

void data_vocabulary_close(struct data_vocabulary *v)
{
    data_words_destroy(&v->words);
}

int64_t data_vocabulary_n(const struct data_vocabulary *v)
{
    return data_words_count(v->words);
}

static enum wsc_err find_lines(struct data_lines *l, int64_t n)
{
    for (int64_t at = 0; at <= n;) {
        TRY_GROW(l->start, WSC_MEM_DATA, l->room, l->n + 2);
        l->start[l->n] = at;
        if (at == n) break;
        const char *end = memchr(l->bytes + at, '\n', (size_t)(n - at));
        at = end ? end + 1 - l->bytes : n;
        l->n++;
    }
    return WSC_OK;
}

enum wsc_err data_lines_open(struct data_lines *l, const char *path)
{
    const size_t most = (size_t)1 << 40;
    size_t n = 0;
    *l = (struct data_lines){0};
    TRY(wsc_file_read(WSC_MEM_DATA, path, most, &l->bytes, &n));
    const enum wsc_err rc = find_lines(l, (int64_t)n);
    if (rc) data_lines_close(l);
    return rc;
}

void data_lines_close(struct data_lines *l)
{
    wsc_free(l->bytes);
    wsc_free(l->start);
    *l = (struct data_lines){0};
}

/* The next token from *@p at on. Returns its bytes, 0 at the end of the line. */
static int64_t next_token(const struct data_lines *l, int64_t end, int64_t *at)
{
    while (*at < end && is_space(l->bytes[*at]))
        ++*at;
    int64_t n = 0;
    while (*at + n < end && !is_space(l->bytes[*at + n]))
        n++;
    return n;
}

int64_t data_lines_count(const struct data_lines *l, int64_t i)
{
    int64_t count = 0;
    for (int64_t at = l->start[i], n; (n = next_token(l, l->start[i + 1], &at)); at += n)
        count++;
    return count;
}

int64_t data_lines_ids(const struct data_lines *l, const struct data_vocabulary *v, int64_t i,
                       int64_t first, int64_t n, int32_t *ids)
{
    int64_t k = 0;
    for (int64_t at = l->start[i], bytes; k < first + n; at += bytes, k++) {
        bytes = next_token(l, l->start[i + 1], &at);
        if (!bytes) break;
        if (k < first) continue;
        const int64_t id = find(v, l->bytes + at, bytes);
        ids[k - first] = id < 0 ? v->unk : (int32_t)id;
    }
    return k > first ? k - first : 0;
}
