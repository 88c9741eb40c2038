// SPDX-License-Identifier: Apache-2.0
/* Counts the words of documents, piece by piece, so that memory grows only with the number of
 * different words. bpe_train.c and wordpiece_train.c define the words. */
#include "word_counts.h"

#include <wsc/mem.h>

/* Most different words; more would take gigabytes of memory. */
static const int64_t max_words = (int64_t)1 << 24;

enum wsc_err data_word_count(struct data_word_counts *c, const unsigned char *word, int64_t n)
{
    int64_t number = 0;
    TRY(data_words_add(c->word, word, n, &number, NULL));
    if (number >= max_words)
        return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "the text has more than %lld different words",
                                      (long long)max_words),
                            "train on less of it: --max_bytes");
    TRY_GROW(c->count, WSC_MEM_DATA, c->room, number + 1);
    c->count[number]++;
    return WSC_OK;
}

/* Read a document and count its text by @p count. */
static enum wsc_err read_document(struct data_word_counts *c, const struct data_train_bpe *r,
                                  data_count_fn count, void *ctx)
{
    struct data_feed *f = &c->feed;
    do {
        int64_t used = 0;
        TRY(data_feed_more(f));
        TRY(count(ctx, c, f->text, f->n, f->ended, &used));
        c->n_bytes += used;
        data_feed_drop(f, used);
        if (r->progress)
            r->progress(r->progress_ctx, "bytes", data_docs_done(&f->docs), c->inputs.bytes);
    } while (!f->ended && c->n_bytes < r->max_bytes);
    return WSC_OK;
}

enum wsc_err data_word_counts_check(const struct data_train_bpe *request, int n_start)
{
    const int64_t most = 1 << 20;
    if (request->n_inputs < 1) return WSC_RAISE(WSC_USAGE, "no input: give at least one text file");
    if (request->vocab_size <= n_start || request->vocab_size > most)
        return WSC_RAISE(WSC_USAGE, "vocab_size is %lld, expected %d to %lld",
                         (long long)request->vocab_size, n_start + 1, (long long)most);
    if (request->min_frequency < 1 || request->max_bytes < 1)
        return WSC_RAISE(WSC_USAGE, "min_frequency and max_bytes are at least 1");
    return WSC_OK;
}

enum wsc_err data_word_counts_read(struct data_word_counts *c, const struct data_train_bpe *request,
                                   data_count_fn count, void *ctx)
{
    bool found = false;
    *c = (struct data_word_counts){0};
    TRY(data_words_create(&c->word));
    TRY(data_inputs_list(&c->inputs, request->input, request->n_inputs, request->format));
    TRY(data_feed_open(&c->feed, &c->inputs, request->key, request->errors));
    TRY(data_feed_next(&c->feed, &found));
    while (found && c->n_bytes < request->max_bytes) {
        TRY(read_document(c, request, count, ctx));
        if (c->feed.ended) TRY(data_feed_next(&c->feed, &found));
    }
    if (data_words_count(c->word)) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "%s: the input has no text", request->input[0]);
}

void data_word_counts_fini(struct data_word_counts *c)
{
    data_feed_close(&c->feed);
    data_inputs_fini(&c->inputs);
    data_words_destroy(&c->word);
    wsc_free(c->count);
    *c = (struct data_word_counts){0};
}
