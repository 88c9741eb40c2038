// SPDX-License-Identifier: Apache-2.0
/* Learns a byte-level BPE (Sennrich et al. 2016, algorithm 1): counts the words of GPT-2's pattern,
 * merges neighbours (pair_merges.c), writes vocab.json and merges.txt. cmd_train_bpe.c calls;
 * wordpiece_train.c learns WordPiece. */
#include "bpe.h"
#include "dataset_folder.h"
#include "dataset_params.h"
#include "pair_merges.h"
#include "word_counts.h"
#include "word_split.h"

#include <wsc/file.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 1024, N_BYTES = 256 };

/* Words with their counts, and the vocabulary that is learned. */
struct trainer {
    const struct data_train_bpe *request;
    unsigned char *class;
    struct data_word_counts words;
    struct data_merges *merges;
    struct data_bpe *bpe;
    int32_t (*merge)[2];
    int64_t n_merges, n_wanted;
};

/* ---- counting words -------------------------------------------------------------------------- */

/* Count the words of GPT-2's pattern. Words of more than MAX_WORD bytes are not words of a
 * language; they are skipped. */
static enum wsc_err count_words(void *trainer, struct data_word_counts *c,
                                const unsigned char *text, int64_t n, bool ended, int64_t *used)
{
    const struct trainer *t = trainer;
    int64_t length;
    *used = 0;
    while ((length = data_split_word(t->class, text + *used, n - *used, ended))) {
        if (length <= MAX_WORD) TRY(data_word_count(c, text + *used, length));
        *used += length;
    }
    return WSC_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Add words as the ids of their bytes. */
static enum wsc_err add_words(struct trainer *t)
{
    int32_t id[MAX_WORD];
    int64_t n = 0;
    for (int64_t w = 0; w < data_words_count(t->words.word); w++) {
        const unsigned char *text = data_words_text(t->words.word, w, &n);
        for (int64_t i = 0; i < n; i++)
            id[i] = data_bpe_find(t->bpe, text + i, 1);
        TRY(data_merges_add(t->merges, id, n, t->words.count[w]));
    }
    return WSC_OK;
}

/* Add a token with the bytes of two others. If two merges have equal bytes, the later one is left
 * out, because a token stands for one text. */
static enum wsc_err join(void *trainer, const int32_t ids[2], int32_t *id)
{
    struct trainer *t = trainer;
    const struct data_train_bpe *r = t->request;
    unsigned char bytes[2 * MAX_WORD];
    int64_t n = 0, m = 0;
    bool known = false;
    const unsigned char *left = data_bpe_token(t->bpe, ids[0], &n);
    /* separate statements: the order of evaluation in one call is not defined */
    memcpy(bytes, left, (size_t)n);
    const unsigned char *right = data_bpe_token(t->bpe, ids[1], &m);
    memcpy(bytes + n, right, (size_t)m);
    *id = -1;
    if (data_bpe_find(t->bpe, bytes, n + m) >= 0) return WSC_OK;
    *id = data_bpe_vocab_size(t->bpe);
    TRY(data_bpe_add_token(t->bpe, bytes, n + m, *id));
    TRY(data_bpe_add_merge(t->bpe, ids[0], ids[1], *id, &known));
    t->merge[t->n_merges][0] = ids[0];
    t->merge[t->n_merges++][1] = ids[1];
    if (r->progress) r->progress(r->progress_ctx, "merges", t->n_merges, t->n_wanted);
    return WSC_OK;
}

/* Merge until the vocabulary is full, except for <|endoftext|>, or no pair is frequent enough. */
static enum wsc_err learn(struct trainer *t)
{
    const struct data_train_bpe *r = t->request;
    bool more = true;
    t->n_wanted = r->vocab_size - N_BYTES - 1;
    TRY_NEW(t->merge, WSC_MEM_DATA, t->n_wanted);
    TRY(add_words(t));
    while (more && t->n_merges < t->n_wanted)
        TRY(data_merges_next(t->merges, r->min_frequency, join, t, &more));
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

/* Write tokens in the order of their ids. */
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

/* <|endoftext|> is the last token, unless it was learned from the text. */
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

/* Add the bytes in the order of GPT-2: that of the characters by which they are written. */
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

static enum wsc_err train(struct trainer *t)
{
    TRY(data_word_counts_check(t->request, N_BYTES));
    TRY(data_classes_create(&t->class));
    TRY(data_merges_create(&t->merges));
    TRY(start_tokens(t));
    TRY(data_word_counts_read(&t->words, t->request, count_words, t));
    TRY(learn(t));
    return write_files(t);
}

static void release(struct trainer *t)
{
    data_word_counts_fini(&t->words);
    data_merges_destroy(&t->merges);
    data_bpe_destroy(&t->bpe);
    wsc_free(t->class);
    wsc_free(t->merge);
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
        *trained = (struct data_trained){.n_bytes = t->words.n_bytes,
                                         .n_words = data_words_count(t->words.word),
                                         .n_merges = t->n_merges,
                                         .vocab_size = data_bpe_vocab_size(t->bpe)};
    release(t);
    return rc;
}
