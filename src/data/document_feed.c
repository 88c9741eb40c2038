// SPDX-License-Identifier: Apache-2.0
/* A buffer between documents and the tokenizer: it grows while it does not end with a complete
 * word, and shrinks as words are used. */
#include "document_feed.h"
#include "documents.h"
#include "text_stream.h"

#include <wsc/mem.h>

#include <string.h>

enum { TEXT_BYTES = 1 << 18, MAX_WORD = 1 << 24, LEAST_ROOM = 8 };

enum wsc_err data_feed_open(struct data_feed *f, const struct data_inputs *inputs, const char *key,
                            enum data_errors errors)
{
    *f = (struct data_feed){.docs = {.inputs = inputs, .key = key, .errors = errors},
                            .room = TEXT_BYTES};
    f->text = wsc_alloc_raw(WSC_MEM_DATA, (size_t)f->room, 1);
    return f->text ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "text");
}

void data_feed_close(struct data_feed *f)
{
    data_docs_close(&f->docs);
    wsc_free(f->text);
    f->text = NULL;
}

enum wsc_err data_feed_next(struct data_feed *f, bool *found)
{
    f->n = 0;
    f->ended = false;
    return data_docs_next(&f->docs, found);
}

/* Enlarge the buffer to four times its size if a word fills it; a word of MAX_WORD bytes is not
 * text. */
static enum wsc_err more_room(struct data_feed *f)
{
    if (f->room >= MAX_WORD)
        return wsc_err_hint(data_stream_raise(f->docs.stream,
                                              "a word of more than %d MB ends after this place",
                                              MAX_WORD >> 20),
                            "is this text? GPT-2's pattern finds no place to cut it");
    unsigned char *text;
    TRY_MEM(text, wsc_realloc(WSC_MEM_DATA, f->text, 4 * (size_t)f->room, 1));
    f->text = text;
    f->room *= 4;
    return WSC_OK;
}

enum wsc_err data_feed_more(struct data_feed *f)
{
    int64_t n = 0;
    if (f->ended) return WSC_OK;
    if (f->room - f->n < LEAST_ROOM) TRY(more_room(f));
    TRY(data_docs_read(&f->docs, f->text + f->n, f->room - f->n, &n, &f->ended));
    f->n += n;
    return WSC_OK;
}

/* The remaining text is moved to the front, so that a word is always contiguous. */
void data_feed_drop(struct data_feed *f, int64_t n)
{
    f->n -= n;
    memmove(f->text, f->text + n, (size_t)f->n);
}

enum wsc_err data_feed_skip(struct data_feed *f, int64_t n)
{
    for (;;) {
        TRY(data_feed_more(f));
        int64_t k = f->n < n ? f->n : n;
        data_feed_drop(f, k);
        n -= k;
        if (!n) return WSC_OK;
        if (f->ended) return WSC_RAISE(WSC_IO, "%s: is shorter than it was", f->docs.stream->path);
    }
}
