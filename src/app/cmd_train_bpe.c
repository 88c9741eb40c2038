// SPDX-License-Identifier: Apache-2.0
/* `wsc data train-bpe` and `wsc data train-wordpiece`: learn a vocabulary from text, one of
 * byte-level BPE or one of WordPiece.  The work is module data's: bpe_train.c, wordpiece_train.c.
 */
#include "cmd.h"
#include "text_input.h"

#include <wsc/report.h>

#include <stdio.h>

/* The request from the options. */
static enum wsc_err fill_in(struct app_call *call)
{
    struct app_train_bpe *o = call->request;
    struct data_train_bpe *r = &o->request;
    TRY(app_check_text_input(call, &o->text));
    r->input = o->text.path.item;
    r->n_inputs = o->text.path.n;
    r->format = o->text.format;
    r->key = app_text_key(&o->text);
    r->errors = (enum data_errors)o->text.errors; /* strict comes first */
    r->out_dir = o->text.out;
    r->progress = app_show_text_progress;
    return WSC_OK;
}

/* Counts, and what they were made of: "merges" or "pieces". */
static void print_trained(const struct data_train_bpe *r, const struct data_trained *made,
                          const char *what)
{
    (void)printf("%lld bytes, %lld different words, %lld %s, vocabulary %lld\n",
                 (long long)made->n_bytes, (long long)made->n_words, (long long)made->n_merges,
                 what, (long long)made->vocab_size);
    if (made->vocab_size < r->vocab_size)
        (void)printf("no further pair occurs %lld times: the vocabulary is smaller than %lld\n",
                     (long long)r->min_frequency, (long long)r->vocab_size);
}

enum wsc_err app_run_train_bpe(struct app_call *call)
{
    const struct app_train_bpe *o = call->request;
    struct data_trained made;
    TRY(fill_in(call));
    out_progress_start("read", 0);
    enum wsc_err rc = data_train_bpe(&o->request, &made);
    out_progress_end();
    TRY(rc);
    print_trained(&o->request, &made, "merges");
    (void)printf("wrote %s/vocab.json %s/merges.txt\n", o->text.out, o->text.out);
    return WSC_OK;
}

enum wsc_err app_run_train_wordpiece(struct app_call *call)
{
    const struct app_train_bpe *o = call->request;
    struct data_trained made;
    TRY(fill_in(call));
    out_progress_start("read", 0);
    enum wsc_err rc = data_train_wordpiece(&o->request, o->do_lower, &made);
    out_progress_end();
    TRY(rc);
    print_trained(&o->request, &made, "pieces");
    (void)printf("wrote %s/vocab.txt\n", o->text.out);
    return WSC_OK;
}
