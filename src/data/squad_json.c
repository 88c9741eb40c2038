// SPDX-License-Identifier: Apache-2.0
/* Reads SQuAD-style JSON, versions 1.1 and 2.0, as a stream: `data`, a list of articles, each with
 * `paragraphs`, each with `context` and `qas`, in any order. Other members are skipped.
 * squad_windows.c makes samples of the paragraphs. */
#include "squad_json.h"
#include "json_documents.h"

#include <wsc/mem.h>

#include <string.h>

enum { NAME_BYTES = 256 };

struct reader {
    struct data_json json;
    struct data_squad_paragraph paragraph;
    struct data_squad_question *question; /* the question that is being read */
    bool has_context, has_data;
    bool has_answers, has_truth; /* of the question */
    data_squad_fn take;
    void *ctx;
};
typedef enum wsc_err (*member_fn)(struct reader *r, const char *name);
typedef enum wsc_err (*element_fn)(struct reader *r);

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Read the opening brace or bracket; *empty: the closing one follows. */
static enum wsc_err open_and_peek(struct reader *r, char opens, char closes, bool *empty)
{
    int c = 0;
    TRY(data_json_expect(&r->json, opens));
    TRY(data_json_peek(&r->json, &c));
    *empty = c == closes;
    return *empty ? data_json_expect(&r->json, closes) : WSC_OK;
}

static enum wsc_err each_member(struct reader *r, member_fn member)
{
    char name[NAME_BYTES];
    bool empty = false, more;
    TRY(open_and_peek(r, '{', '}', &empty));
    for (more = !empty; more;) {
        TRY(data_json_word(&r->json, name, sizeof name));
        TRY(data_json_expect(&r->json, ':'));
        TRY(member(r, name));
        TRY(data_json_more(&r->json, '}', &more));
    }
    return WSC_OK;
}

static enum wsc_err each_element(struct reader *r, element_fn element)
{
    bool empty = false, more;
    TRY(open_and_peek(r, '[', ']', &empty));
    for (more = !empty; more;) {
        TRY(element(r));
        TRY(data_json_more(&r->json, ']', &more));
    }
    return WSC_OK;
}

static enum wsc_err read_text(struct reader *r, struct data_squad_text *t)
{
    enum { PIECE = 1 << 12, MOST = 1 << 26 };
    t->n = 0;
    TRY(data_json_expect(&r->json, '"'));
    for (bool ended = false; !ended;) {
        int64_t got = 0;
        if (t->n >= MOST) return data_stream_raise(r->json.stream, "a text of more than 64 MB");
        TRY_GROW(t->bytes, WSC_MEM_DATA, t->room, t->n + PIECE + 1);
        TRY(data_json_string(&r->json, (unsigned char *)t->bytes + t->n, PIECE, &got, &ended));
        t->n += got;
    }
    t->bytes[t->n] = '\0';
    return WSC_OK;
}

/* A member that was there already is an error: one of the two would be dropped. */
static enum wsc_err once(struct reader *r, const char *name, bool again)
{
    return again ? data_stream_raise(r->json.stream, "\"%s\" stands there twice", name) : WSC_OK;
}

/* ---- questions ------------------------------------------------------------------------------- */

static enum wsc_err answer_member(struct reader *r, const char *name)
{
    struct data_squad_question *q = r->question;
    if (!strcmp(name, "text")) {
        TRY(once(r, name, q->answer.n >= 0));
        return read_text(r, &q->answer);
    }
    if (!strcmp(name, "answer_start")) {
        TRY(once(r, name, q->start >= 0));
        return data_json_index(&r->json, INT32_MAX, &q->start);
    }
    return data_json_skip(&r->json);
}

/* The first answer counts. */
static enum wsc_err read_answer(struct reader *r)
{
    struct data_squad_question *q = r->question;
    if (q->answer.n >= 0) {
        q->n_further++;
        return data_json_skip(&r->json);
    }
    TRY(each_member(r, answer_member));
    if (q->answer.n >= 0 && q->start >= 0) return WSC_OK;
    return data_stream_raise(r->json.stream, "the answer before here has no %s",
                             q->answer.n < 0 ? "text" : "answer_start");
}

static enum wsc_err read_truth(struct reader *r, bool *value)
{
    int c = 0;
    TRY(data_json_peek(&r->json, &c));
    *value = c == 't';
    if (c == 't' || c == 'f') return data_json_skip(&r->json);
    return data_stream_raise(r->json.stream, "true or false was expected");
}

static enum wsc_err question_member(struct reader *r, const char *name)
{
    struct data_squad_question *q = r->question;
    if (!strcmp(name, "question")) {
        TRY(once(r, name, q->text.n >= 0));
        return read_text(r, &q->text);
    }
    if (!strcmp(name, "answers")) {
        TRY(once(r, name, r->has_answers));
        r->has_answers = true;
        return each_element(r, read_answer);
    }
    if (!strcmp(name, "is_impossible")) {
        TRY(once(r, name, r->has_truth));
        r->has_truth = true;
        return read_truth(r, &q->impossible);
    }
    return data_json_skip(&r->json);
}

/* Reuses the memory of questions of the paragraph before. */
static enum wsc_err next_question(struct reader *r)
{
    struct data_squad_paragraph *p = &r->paragraph;
    const int64_t before = p->room;
    TRY_GROW(p->question, WSC_MEM_DATA, p->room, p->n + 1);
    for (int64_t i = before; i < p->room; i++)
        p->question[i] = (struct data_squad_question){.start = -1};
    r->question = &p->question[p->n++];
    r->question->text.n = r->question->answer.n = r->question->start = -1;
    r->question->impossible = false;
    r->question->n_further = 0;
    r->has_answers = r->has_truth = false;
    return WSC_OK;
}

static enum wsc_err read_question(struct reader *r)
{
    TRY(next_question(r));
    TRY(each_member(r, question_member));
    if (r->question->text.n < 0)
        return data_stream_raise(r->json.stream, "the question before here has no text");
    if (r->question->impossible || r->question->answer.n >= 0) return WSC_OK;
    return wsc_err_hint(data_stream_raise(r->json.stream, "the question before here has no answer"),
                        "training needs one, or is_impossible: true");
}

/* ---- paragraphs ------------------------------------------------------------------------------ */

static enum wsc_err paragraph_member(struct reader *r, const char *name)
{
    if (!strcmp(name, "context")) {
        TRY(once(r, name, r->has_context));
        r->has_context = true;
        return read_text(r, &r->paragraph.context);
    }
    return strcmp(name, "qas") != 0 ? data_json_skip(&r->json) : each_element(r, read_question);
}

static enum wsc_err read_paragraph(struct reader *r)
{
    r->paragraph.n = 0;
    r->has_context = false;
    TRY(each_member(r, paragraph_member));
    if (!r->has_context)
        return data_stream_raise(r->json.stream, "the paragraph before here has no context");
    return r->take(r->ctx, &r->paragraph);
}

static enum wsc_err article_member(struct reader *r, const char *name)
{
    return strcmp(name, "paragraphs") != 0 ? data_json_skip(&r->json)
                                           : each_element(r, read_paragraph);
}

static enum wsc_err read_article(struct reader *r)
{
    return each_member(r, article_member);
}

static enum wsc_err file_member(struct reader *r, const char *name)
{
    if (strcmp(name, "data") != 0) return data_json_skip(&r->json);
    r->has_data = true;
    return each_element(r, read_article);
}

static enum wsc_err read_file(struct reader *r)
{
    int c = 0;
    TRY(data_stream_skip_mark(r->json.stream));
    TRY(each_member(r, file_member));
    if (!r->has_data)
        return wsc_err_hint(data_stream_raise(r->json.stream, "has no member data"),
                            "questions come as in SQuAD: data, paragraphs, context and qas");
    TRY(data_json_peek(&r->json, &c));
    return c < 0 ? WSC_OK : data_stream_raise(r->json.stream, "something follows the object");
}

enum wsc_err data_squad_read(struct data_stream *stream, data_squad_fn take, void *ctx)
{
    struct reader r = {.json = {.stream = stream}, .take = take, .ctx = ctx};
    const enum wsc_err rc = read_file(&r);
    struct data_squad_paragraph *p = &r.paragraph;
    for (int64_t i = 0; i < p->room; i++) {
        wsc_free(p->question[i].text.bytes);
        wsc_free(p->question[i].answer.bytes);
    }
    wsc_free(p->question);
    wsc_free(p->context.bytes);
    return rc;
}
