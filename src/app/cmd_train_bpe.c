// SPDX-License-Identifier: Apache-2.0
/* `wsc data train-bpe`: learns a byte-level BPE vocabulary from text.  The work is module data's.
 */
#include "cmd.h"
#include "text_input.h"

#include <wsc/report.h>

#include <stdio.h>

enum wsc_err app_run_train_bpe(struct app_call *call)
{
    struct app_train_bpe *o = call->request;
    struct data_train_bpe *r = &o->request;
    struct data_trained made;
    TRY(app_check_text_input(call, &o->text));
    r->input = o->text.path.item;
    r->n_inputs = o->text.path.n;
    r->format = o->text.format;
    r->key = app_text_key(&o->text);
    r->errors = (enum data_errors)o->text.errors; /* strict comes first */
    r->out_dir = o->text.out;
    r->progress = app_show_text_progress;
    out_progress_start("read", 0);
    enum wsc_err rc = data_train_bpe(r, &made);
    out_progress_end();
    TRY(rc);
    (void)printf("%lld bytes, %lld different words, %lld merges, vocabulary %lld\n"
                 "wrote %s/vocab.json %s/merges.txt\n",
                 (long long)made.n_bytes, (long long)made.n_words, (long long)made.n_merges,
                 (long long)made.vocab_size, r->out_dir, r->out_dir);
    if (made.vocab_size < r->vocab_size)
        (void)printf("no further pair occurs %lld times: the vocabulary is smaller than %lld\n",
                     (long long)r->min_frequency, (long long)r->vocab_size);
    return WSC_OK;
}
