// SPDX-License-Identifier: Apache-2.0
/* `wsc data`: makes a dataset from text.  The work is module data's; here the defaults that depend
 * on the tokenizer are filled in and the result is printed.  `wsc data train-bpe`: cmd_train_bpe.c;
 * what the two share: text_input.c. */
#include "cmd.h"
#include "option_parse.h"
#include "text_input.h"

#include <wsc/data_bert.h>
#include <wsc/data_chat.h>
#include <wsc/report.h>

#include <stdio.h>

/* Words of --tokenizer. */
enum { BYTE, BPE, WORDPIECE };

/* Samples are permuted, or masked and paired. */
static enum wsc_err check_seed(const struct app_call *call, const struct app_data *o)
{
    if (!app_given(call, "seed") || o->make.shuffle || o->bert.loader) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--seed: has no effect without --shuffle"),
                        "--shuffle");
}

static enum wsc_err open_tokenizer(const struct app_data *o, struct data_tokenizer **out)
{
    static const char *const kind[] = {"byte", "bpe"};
    if (o->tokenizer == WORDPIECE)
        return data_tokenizer_open_wordpiece(out, o->vocab, o->do_lower, data_bert_pairs(&o->bert));
    return data_tokenizer_open(out, kind[o->tokenizer], o->vocab, o->merges);
}

static enum wsc_err make_samples(const struct app_data *o, struct data_made *made)
{
    if (o->bert.loader) return data_make_bert(&o->make, &o->bert, made);
    if (o->chat_template) return data_make_chats(&o->make, o->chat_template, made);
    return data_make_dataset(&o->make, made);
}

/* What depends on the tokenizer where the user says nothing. */
static void fill_in(const struct app_call *call, struct app_data *o, bool words)
{
    static const char end[] = "<|endoftext|>";
    struct data_make *m = &o->make;
    m->input = o->text.path.item;
    m->n_inputs = o->text.path.n;
    m->format = o->text.format;
    m->key = app_text_key(&o->text);
    m->out_dir = o->text.out;
    m->type = (enum store_int)o->dtype;
    m->errors = app_given(call, "errors") ? (enum data_errors)o->text.errors
                : words                   ? DATA_ERRORS_STRICT
                                          : DATA_ERRORS_KEEP;
    if (!app_given(call, "eos_id"))
        m->eos_id = data_tokenizer_find(m->tokenizer, end, sizeof end - 1);
    if (!app_given(call, "pad_id")) m->pad_id = m->eos_id == DATA_NO_ID ? 0 : m->eos_id;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Counts of the dataset, by part. */
static void print_made(const struct data_make *m, const struct data_made *made)
{
    const int64_t n_held = made->n_samples[DATA_VAL] + made->n_samples[DATA_TEST];
    if (made->n_resumed)
        (void)printf("resumed an interrupted run after %lld tokens\n", (long long)made->n_resumed);
    if (made->n_ignored)
        (void)printf("left out %lld file%s whose ending is not known\n", (long long)made->n_ignored,
                     wsc_plural(made->n_ignored));
    const int64_t n_trained = made->n_samples[DATA_TRAIN];
    (void)printf("%lld bytes, %lld training sample%s, %lld held out, %lld tokens each\n",
                 (long long)made->n_bytes, (long long)n_trained, wsc_plural(n_trained),
                 (long long)n_held, (long long)m->T);
    (void)printf("%lld document%s in %lld file%s, %lld of them empty, %lld tokens\n",
                 (long long)made->n_documents, wsc_plural(made->n_documents),
                 (long long)made->n_files, wsc_plural(made->n_files), (long long)made->n_empty,
                 (long long)made->n_tokens);
    if (made->n_further)
        (void)printf("left out %lld further answer%s; the first one of a question is learned\n",
                     (long long)made->n_further, wsc_plural(made->n_further));
    (void)printf("vocabulary %lld", (long long)made->vocab_size);
    if (made->unigram_entropy_nats > 0)
        (void)printf(", unigram entropy %.4f nats per token", made->unigram_entropy_nats);
    (void)printf("\nwrote");
    static const char *const name[DATA_N_PARTS] = {"train", "val", "test"};
    for (int p = 0; p < DATA_N_PARTS; p++)
        if (made->n_samples[p]) (void)printf(" %s/%s", m->out_dir, name[p]);
    (void)printf("\n");
}

enum wsc_err app_run_data(struct app_call *call)
{
    struct app_data *o = call->request;
    struct data_made made;
    struct data_tokenizer *tokenizer = NULL;
    TRY(check_seed(call, o));
    if (!o->chat_template) TRY(app_check_text_input(call, &o->text));
    TRY(open_tokenizer(o, &tokenizer));
    o->make.tokenizer = tokenizer;
    o->make.progress = app_show_text_progress;
    fill_in(call, o, o->tokenizer != BYTE);
    out_progress_start("read", 0);
    enum wsc_err rc = make_samples(o, &made);
    out_progress_end();
    data_tokenizer_close(&tokenizer);
    TRY(rc);
    print_made(&o->make, &made);
    return WSC_OK;
}
