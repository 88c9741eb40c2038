// SPDX-License-Identifier: Apache-2.0
/* Makes samples of SQuAD by the rules of BERT's program (run_squad.py of its release, which the
 * Model Zoo's write_csv_qa.py follows): words of the text at white space, the answer as words,
 * words as pieces, the answer narrowed to the pieces that spell it, windows of the text at a
 * distance of doc_stride pieces. If a window does not have the whole answer, both positions are 0,
 * that of [CLS]. bert_dataset.c calls; squad_json.c reads. */
#include "squad_windows.h"
#include "utf8.h"

#include <wsc/mem.h>

#include <string.h>

enum { MARKS = 3 };

/* A word of the text: its bytes, and the first of its pieces. */
struct word {
    int64_t at, n, piece;
};

/* Words, pieces and texts of the current paragraph. */
struct data_squad_scratch {
    struct word *word;
    int64_t n_words, word_room;
    int32_t *word_of; /* for each character: the last word that has begun, -1: none */
    int64_t n_chars, char_room;
    int32_t *piece; /* ids of the text */
    int64_t n_pieces, piece_room;
    int32_t *question, *answer; /* ids */
    int64_t n_question, question_room, n_answer, answer_room;
    struct data_squad_text spelled, clean; /* words of the answer in the text; the answer itself */
};

/* Bytes of the character; *space: it separates words. */
static int64_t character(const char *text, int64_t n, bool *space)
{
    const int length = data_utf8_length((const unsigned char *)text, n);
    *space = *text == ' ' || *text == '\t' || *text == '\r' || *text == '\n' ||
             (length == 3 && !memcmp(text, "\xE2\x80\xAF", 3));
    return length > 0 ? length : length < 0 ? -length : n;
}

static enum wsc_err begin_word(struct data_squad_scratch *x, int64_t at)
{
    TRY_GROW(x->word, WSC_MEM_DATA, x->word_room, x->n_words + 1);
    x->word[x->n_words++] = (struct word){.at = at};
    return WSC_OK;
}

/* Find the words of the text, and the word of each of its characters. */
static enum wsc_err find_words(struct data_squad_scratch *x, const struct data_squad_text *t)
{
    bool space, after_space = true;
    x->n_words = x->n_chars = 0;
    for (int64_t at = 0, n; at < t->n; at += n) {
        n = character(t->bytes + at, t->n - at, &space);
        if (!space && after_space) TRY(begin_word(x, at));
        if (!space) x->word[x->n_words - 1].n = at + n - x->word[x->n_words - 1].at;
        after_space = space;
        TRY_GROW(x->word_of, WSC_MEM_DATA, x->char_room, x->n_chars + 1);
        x->word_of[x->n_chars++] = (int32_t)x->n_words - 1;
    }
    return WSC_OK;
}

/* Add the pieces of a text. */
static enum wsc_err add_pieces(const struct data_squad *s, const char *text, int64_t n,
                               int32_t **ids, int64_t *n_ids, int64_t *room)
{
    int64_t more = 0;
    TRY_GROW(*ids, WSC_MEM_DATA, *room, *n_ids + n + 1);
    data_wordpiece_encode(s->words, text, n, *ids + *n_ids, n, &more);
    *n_ids += more;
    return WSC_OK;
}

static enum wsc_err cut_text(struct data_squad *s, const struct data_squad_text *t)
{
    struct data_squad_scratch *x = s->scratch;
    TRY(find_words(x, t));
    x->n_pieces = 0;
    for (int64_t i = 0; i < x->n_words; i++) {
        x->word[i].piece = x->n_pieces;
        TRY(add_pieces(s, t->bytes + x->word[i].at, x->word[i].n, &x->piece, &x->n_pieces,
                       &x->piece_room));
    }
    return WSC_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Pieces [first, last] of the answer. */
struct answer {
    int64_t first, last;
};

static enum wsc_err append(struct data_squad_text *to, const char *bytes, int64_t n)
{
    TRY_GROW(to->bytes, WSC_MEM_DATA, to->room, to->n + n + 2);
    if (to->n) to->bytes[to->n++] = ' ';
    memcpy(to->bytes + to->n, bytes, (size_t)n);
    to->n += n;
    to->bytes[to->n] = '\0';
    return WSC_OK;
}

/* Write the words of a text with single spaces, divided as by Python's str.split(), which takes
 * more characters for white space than character() does. */
static enum wsc_err clean(struct data_squad_text *to, const struct data_squad_text *t)
{
    to->n = 0;
    for (int64_t at = 0, n, first = -1; at <= t->n; at += n) {
        const int space = at < t->n ? data_space_length(t->bytes + at) : 1;
        n = space ? space : 1;
        if (space && first >= 0) TRY(append(to, t->bytes + first, at - first));
        first = space ? -1 : first < 0 ? at : first;
    }
    return WSC_OK;
}

static int64_t count_characters(const struct data_squad_text *t)
{
    int64_t count = 0;
    bool space;
    for (int64_t at = 0; at < t->n; count++)
        at += character(t->bytes + at, t->n - at, &space);
    return count;
}

/* Find the words of the answer; *found is false when the text does not have it at its position. */
static enum wsc_err find_answer(struct data_squad *s, const struct data_squad_paragraph *p,
                                const struct data_squad_question *q, struct answer *words,
                                bool *found)
{
    struct data_squad_scratch *x = s->scratch;
    const int64_t n = count_characters(&q->answer), end = q->start + n;
    *found = n > 0 && end <= x->n_chars && x->word_of[q->start] >= 0;
    if (!*found) return WSC_OK;
    *words = (struct answer){x->word_of[q->start], x->word_of[end - 1]};
    x->spelled.n = 0;
    for (int64_t i = words->first; i <= words->last; i++)
        TRY(append(&x->spelled, p->context.bytes + x->word[i].at, x->word[i].n));
    TRY(clean(&x->clean, &q->answer));
    *found = x->clean.n > 0 &&
             memmem(x->spelled.bytes, (size_t)x->spelled.n, x->clean.bytes, (size_t)x->clean.n);
    return WSC_OK;
}

/* Find the shortest range of pieces, within those of the words, that spells the answer; if there is
 * none, use all pieces of the words. */
static enum wsc_err narrow(struct data_squad *s, const struct data_squad_question *q,
                           const struct answer *words, struct answer *out)
{
    struct data_squad_scratch *x = s->scratch;
    const int64_t next = words->last + 1;
    out->first = x->word[words->first].piece;
    out->last = (next < x->n_words ? x->word[next].piece : x->n_pieces) - 1;
    x->n_answer = 0;
    TRY(add_pieces(s, q->answer.bytes, q->answer.n, &x->answer, &x->n_answer, &x->answer_room));
    const int64_t n = x->n_answer;
    for (int64_t at = out->first; n && at + n - 1 <= out->last; at++) {
        if (memcmp(x->piece + at, x->answer, (size_t)n * sizeof *x->answer) != 0) continue;
        *out = (struct answer){at, at + n - 1};
        break;
    }
    return WSC_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put(struct data_squad *s, const int32_t *ids, int64_t n)
{
    memcpy(s->ids + s->n_ids, ids, (size_t)n * sizeof *ids);
    s->n_ids += n;
}

/* Add pieces [first, first + n) of the text as a sample; @p answer NULL: the text has none. */
static enum wsc_err add_window(struct data_squad *s, int64_t first, int64_t n, int64_t window,
                               const struct answer *answer)
{
    const struct data_squad_scratch *x = s->scratch;
    const struct data_special special = data_wordpiece_special(s->words);
    const int64_t before = x->n_question + 2;
    struct data_squad_sample sample = {.at = s->n_ids,
                                       .n = x->n_question + n + MARKS,
                                       .n_question = before,
                                       .example = s->n_questions,
                                       .window = window,
                                       .impossible = !answer};
    if (answer && answer->first >= first && answer->last < first + n) {
        sample.first = answer->first - first + before;
        sample.last = answer->last - first + before;
    }
    TRY_GROW(s->ids, WSC_MEM_DATA, s->ids_room, s->n_ids + sample.n);
    TRY_GROW(s->sample, WSC_MEM_DATA, s->room, s->n + 1);
    put(s, &special.cls, 1);
    put(s, x->question, x->n_question);
    put(s, &special.sep, 1);
    put(s, x->piece + first, n);
    put(s, &special.sep, 1);
    s->sample[s->n++] = sample;
    return WSC_OK;
}

static enum wsc_err add_windows(struct data_squad *s, const struct answer *answer)
{
    const struct data_squad_scratch *x = s->scratch;
    const int64_t most = s->T - x->n_question - MARKS;
    for (int64_t first = 0, window = 0; first < x->n_pieces; window++) {
        const int64_t left = x->n_pieces - first, n = left < most ? left : most;
        TRY(add_window(s, first, n, window, answer));
        if (n == left) return WSC_OK;
        first += n < s->stride ? n : s->stride;
    }
    return WSC_OK;
}

static enum wsc_err take_question(struct data_squad *s, const struct data_squad_paragraph *p,
                                  const struct data_squad_question *q)
{
    struct data_squad_scratch *x = s->scratch;
    struct answer words = {0, 0}, answer = {0, 0};
    bool found = true;
    if (!q->impossible) TRY(find_answer(s, p, q, &words, &found));
    if (!found) {
        s->n_left_out++;
        return WSC_OK;
    }
    x->n_question = 0;
    TRY(add_pieces(s, q->text.bytes, q->text.n, &x->question, &x->n_question, &x->question_room));
    if (x->n_question > s->most_question) x->n_question = s->most_question;
    if (!q->impossible) TRY(narrow(s, q, &words, &answer));
    TRY(add_windows(s, q->impossible ? NULL : &answer));
    s->n_questions++;
    if (!q->impossible) s->n_further += q->n_further;
    return WSC_OK;
}

enum wsc_err data_squad_take(void *ctx, const struct data_squad_paragraph *p)
{
    struct data_squad *s = ctx;
    if (!s->scratch) TRY_NEW(s->scratch, WSC_MEM_DATA, 1);
    TRY(cut_text(s, &p->context));
    s->n_bytes += p->context.n;
    for (int64_t i = 0; i < p->n; i++) {
        s->n_bytes += p->question[i].text.n;
        TRY(take_question(s, p, &p->question[i]));
    }
    return WSC_OK;
}

void data_squad_fini(struct data_squad *s)
{
    struct data_squad_scratch *x = s->scratch;
    wsc_free(s->sample);
    wsc_free(s->ids);
    s->sample = NULL;
    s->ids = NULL;
    if (!x) return;
    void *const block[] = {x->word,   x->word_of,       x->piece,      x->question,
                           x->answer, x->spelled.bytes, x->clean.bytes};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        wsc_free(block[i]);
    wsc_free(x);
    s->scratch = NULL;
}
