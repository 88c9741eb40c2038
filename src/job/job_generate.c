// SPDX-License-Identifier: Apache-2.0
/* --mode generate: texts that a model continues, or with an encoder targets of sources.
 *
 * Prompts become tokens (data), one pass of the cluster continues all of them a token a step, and
 * shard 0 hands the tokens back, which become texts.  Every wafer holds the keys and values of its
 * texts, so that a generation is refused when they would not fit at its end.  Which token comes
 * next the wafers choose (wafer_generate.c); what the steps cost is added up in job_log.c. */
#include "job_generate.h"
#include "job_log.h"
#include "job_mesh.h"
#include "job_record.h"

#include <wsc/data.h>
#include <wsc/host.h>
#include <wsc/mem.h>
#include <wsc/units.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- prompts to tokens ----------------------------------------------------------------------- */

struct prompts {
    int n;
    int32_t **tokens;  /* owned, each owned */
    int64_t *n_tokens; /* owned */
};

/* "1,2,3" */
static enum wsc_err read_ids(const char *text, int32_t *ids, int64_t *n)
{
    char item[24];
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        int64_t id = -1;
        (void)snprintf(item, sizeof item, "%.*s", (int)(length < 23 ? length : 23), at);
        if (wsc_units_int(item, &id) || id < 0 || id > INT32_MAX)
            return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--prompt_ids: \"%s\" is no token id", item),
                                "--prompt_ids 464,3290");
        ids[(*n)++] = (int32_t)id;
        at += length;
        if (!*at) return WSC_OK;
    }
}

/* Ids pass as they are; a text is tokenized whole, without a token for its end. */
static enum wsc_err encode(const struct job_state *s, const char *text, int32_t *ids, int64_t *n)
{
    const struct data_text piece = {(const unsigned char *)text, (int64_t)strlen(text), true};
    int64_t used = 0;
    if (s->job->prompts_are_ids) return read_ids(text, ids, n);
    return data_tokenizer_encode(s->tokenizer, &piece, ids, n, &used);
}

static enum wsc_err tokenize(const struct job_state *s, int i, struct prompts *p)
{
    const char *text = s->job->prompt[i];
    const int64_t V = s->cluster->model->stack[0].V;
    const bool are_ids = s->job->prompts_are_ids;
    const char *option = are_ids ? "--prompt_ids" : "--prompt";
    if (!*text) return WSC_RAISE(WSC_USAGE, "%s: an empty text", option);
    /* A token is a byte or more of the text, so that there are never more tokens than bytes. */
    TRY_NEW(p->tokens[i], WSC_MEM_RUN, strlen(text) + 1);
    TRY(encode(s, text, p->tokens[i], &p->n_tokens[i]));
    for (int64_t k = 0; k < p->n_tokens[i]; k++)
        if (p->tokens[i][k] >= V)
            return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: token %d, the model has %lld", option,
                                          p->tokens[i][k], (long long)V),
                                are_ids ? "ids are below model.vocab_size"
                                        : "is it the tokenizer that the model was trained with?");
    return WSC_OK;
}

/* ---- tokens to texts ------------------------------------------------------------------------- */

static void write_ids(struct wsc_text *out, const int32_t *ids, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        wsc_text_add(out, "%s%d", i ? "," : "", ids[i]);
}

enum { MARK_BYTES = 32 };

/* The bytes of a token, borrowed; of an id that the tokenizer lacks a mark: sentinels count down
 * from the end of the vocabulary, <extra_id_0> being the last id, as Hugging Face names them. */
static const unsigned char *bytes_of(const struct job_state *s, int32_t id, char mark[MARK_BYTES],
                                     int64_t *n)
{
    const struct model *m = s->cluster->model;
    const unsigned char *token = data_tokenizer_bytes(s->tokenizer, id, n);
    const int64_t from_end = m->V - 1 - id;
    if (token) return token;
    if (m->n_stacks > 1 && from_end < s->job->params->model.extra_ids)
        (void)snprintf(mark, MARK_BYTES, "<extra_id_%lld>", (long long)from_end);
    else
        (void)snprintf(mark, MARK_BYTES, "<%d>", id);
    *n = (int64_t)strlen(mark);
    return (const unsigned char *)mark;
}

/* The bytes of @p ids, one each; counted alone when @p bytes is NULL. */
static int64_t gather_bytes(const struct job_state *s, const int32_t *ids, int64_t n,
                            int32_t *bytes)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;
        char mark[MARK_BYTES];
        const unsigned char *token = bytes_of(s, ids[i], mark, &length);
        for (int64_t k = 0; k < length && bytes; k++)
            bytes[total + k] = token[k];
        total += length;
    }
    return total;
}

/* Through bytes: a character can be cut between two tokens, and data_decode_bytes() looks at all of
 * them together. */
static enum wsc_err write_text(const struct job_state *s, struct wsc_text *out, const int32_t *ids,
                               int64_t n)
{
    const int64_t n_bytes = gather_bytes(s, ids, n, NULL);
    int32_t *bytes;
    char *text = wsc_alloc(WSC_MEM_RUN, (size_t)n_bytes + 1, 1);
    if (!text) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "text");
    bytes = wsc_alloc(WSC_MEM_RUN, (size_t)n_bytes + 1, sizeof *bytes);
    if (bytes) {
        (void)gather_bytes(s, ids, n, bytes);
        data_decode_bytes(bytes, n_bytes, text);
        wsc_text_bytes(out, text, strlen(text));
    }
    wsc_free(text);
    wsc_free(bytes);
    return bytes ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "text");
}

/* Texts go to stdout, a line each, or wait for the JSON object that holds them. */
enum wsc_err job_on_texts(void *ctx, const int32_t *words, int64_t n_words)
{
    struct job_state *s = ctx;
    struct job_generated *g = &s->result.generated;
    struct wsc_text *out = &g->texts;
    g->new_tokens = s->cluster->model->n_stacks > 1 ? 0 : -g->prompt_tokens;
    if (s->job->n_beams > 1) TRY_NEW(g->scores, WSC_MEM_RUN, g->n_prompts);
    int i = 0;
    for (int64_t at = 0; at < n_words; i++) {
        struct stream_text text;
        at += stream_text_get(words + at, &text);
        g->new_tokens += text.n;
        if (text.n_live_steps > g->steps) g->steps = text.n_live_steps;
        if (g->scores) g->scores[i] = text.score;
        if (s->job->prompts_are_ids)
            write_ids(out, text.tokens, text.n);
        else
            TRY(write_text(s, out, text.tokens, text.n));
        wsc_text_bytes(out, s->job->json ? "" : "\n", 1);
    }
    TRY(wsc_text_check(out));
    if (s->job->json) return WSC_OK;
    out_progress_hide();
    (void)fwrite(out->bytes, 1, out->n, stdout);
    (void)fflush(stdout);
    wsc_text_free(out);
    return WSC_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Texts of a prompt. */
static int64_t beams_of(const struct job *job)
{
    return job->n_beams > 1 ? job->n_beams : 1;
}

/* Texts of the wafer that has most of them, the longest at the end, and the longest source. */
struct texts {
    int64_t n, n_tokens, n_source;
};

/* With an encoder prompts are sources, and a text has a first token of its own.  The last new token
 * does not pass the wafer. */
static struct texts count_texts(const struct job_state *s, const struct prompts *p)
{
    const struct model *m = s->cluster->model;
    const int64_t n_wafers = s->cluster->net->topology->n_wafers;
    const int64_t T = m->stack[m->n_stacks - 1].T;
    struct texts t = {.n = (p->n + n_wafers - 1) / n_wafers * beams_of(s->job)};
    for (int i = 0; i < p->n; i++) {
        const int64_t before = m->n_stacks > 1 ? 1 : p->n_tokens[i];
        const int64_t more = s->job->max_new_tokens - 1;
        const int64_t most = more < T - before ? before + more : T;
        if (most > t.n_tokens) t.n_tokens = most;
        if (m->n_stacks > 1 && p->n_tokens[i] > t.n_source) t.n_source = p->n_tokens[i];
    }
    return t;
}

/* A source must pass the encoder whole, and a target begins with a token of its vocabulary. */
static enum wsc_err check_sources(const struct job_state *s, const struct prompts *p)
{
    const struct model *m = s->cluster->model;
    const int64_t start = s->job->params->model.decoder_start_token_id;
    for (int i = 0; i < p->n; i++)
        if (p->n_tokens[i] > m->stack[0].T)
            return WSC_RAISE(WSC_USAGE, "--prompt: a source of %lld tokens, the encoder takes %lld",
                             (long long)p->n_tokens[i], (long long)m->stack[0].T);
    if (start < m->V) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "%s: model.decoder_start_token_id: token %lld, the decoder "
                     "has %lld",
                     s->job->params->file, (long long)start, (long long)m->V);
}

/* Targets and beams have no window that moves on. */
static enum wsc_err check_lengths(const struct job_state *s, const struct prompts *p)
{
    const struct model *m = s->cluster->model;
    const int64_t T = m->stack[m->n_stacks - 1].T, n_new = s->job->max_new_tokens;
    const bool pairs = m->n_stacks > 1;
    int64_t before = pairs ? 1 : 0;
    if (pairs) TRY(check_sources(s, p));
    if (!pairs && s->job->n_beams == 1) return WSC_OK;
    for (int i = 0; i < p->n && !pairs; i++)
        before = p->n_tokens[i] > before ? p->n_tokens[i] : before;
    if (before + n_new - 1 <= T) return WSC_OK;
    (void)WSC_RAISE(WSC_USAGE,
                    "--max_new_tokens: %lld tokens after %lld are more than the %lld positions "
                    "that %s",
                    (long long)n_new, (long long)before, (long long)T,
                    pairs ? "the decoder has" : "the model has, and --num_beams needs all");
    if (before > T) return wsc_err_hint(WSC_USAGE, "a shorter --prompt, or no --num_beams");
    const int64_t room = T - before + 1;
    return wsc_err_hint(WSC_USAGE, "--max_new_tokens %lld", (long long)room);
}

/* Keys and values of all texts of a wafer lie on it, beside what one text needs while it is
 * computed.  The programs of the mesh keep none. */
static enum wsc_err check_cache(struct job_state *s, const struct prompts *p)
{
    const struct cycles_plan *plan = &s->eval.plan;
    const struct model *model = s->cluster->model;
    const struct texts t = count_texts(s, p);
    const int64_t n_sources = t.n / beams_of(s->job);
    const double bytes = (double)t.n * (double)host_cache_bytes(model, t.n_tokens) +
                         (double)n_sources * (double)host_cache_bytes(model, t.n_source);
    const double room = (double)plan->act_bytes_available - (double)plan->work_bytes_per_sequence;
    if (s->job->numerics == KERNELS_MESH) return WSC_OK;
    s->result.generated.cache_bytes = (int64_t)fmin(bytes, 0x1p62);
    if (bytes <= room) return WSC_OK;
    char need_text[32], have_text[32];
    out_si_unit(need_text, sizeof need_text, bytes, "B");
    out_si_unit(have_text, sizeof have_text, fmax(room, 0), "B");
    return wsc_err_hint(
        WSC_RAISE(WSC_CAPACITY,
                  "--max_new_tokens: keys and values of %lld texts of %lld tokens need %s on a "
                  "wafer, %s are free",
                  (long long)t.n, (long long)t.n_tokens, need_text, have_text),
        "fewer tokens, fewer prompts, or a larger --num_csx");
}

static enum wsc_err generate_from(struct job_state *s, const struct prompts *p)
{
    const struct job *job = s->job;
    const struct wafer_prompts prompts = {.n = p->n,
                                          .tokens = (const int32_t *const *)p->tokens,
                                          .n_tokens = p->n_tokens,
                                          .temperature = job->temperature,
                                          .top_k = job->top_k,
                                          .top_p = job->top_p,
                                          .eos_id = job->eos_id,
                                          .stop = &job->params->model.generation.stop,
                                          .n_beams = (int)beams_of(job),
                                          .length_penalty = job->length_penalty,
                                          .early_stopping = job->early_stopping,
                                          .start_id =
                                              (int32_t)job->params->model.decoder_start_token_id,
                                          .seed = cluster_seed(job->params)};
    struct zoo_input input = {.batch_size = p->n, .micro_batch_size = CONF_NULL};
    struct stream_pass pass = {.mode = STREAM_GENERATE,
                               .n_steps = job->max_new_tokens,
                               .updates = s->at.step - s->at.uncounted,
                               .values = job->values};
    TRY(cluster_plan_batch(s->cluster, &input, false, &s->eval.plan, &pass.batch));
    TRY(job_mesh_plan(s, &input, &pass.batch, false, false, &s->eval.plan));
    pass.batch.n_micro = 1;
    s->result.generated.most_texts = stream_max_samples(&pass.batch) * prompts.n_beams;
    TRY(check_lengths(s, p));
    TRY(check_cache(s, p));
    const struct wafer_work work = {
        .plan = &s->eval.plan, .numerics = job->numerics, .prompts = &prompts};
    s->result.generated.n_prompts = p->n;
    for (int i = 0; i < p->n; i++)
        s->result.generated.prompt_tokens += p->n_tokens[i];
    s->result.generated.new_tokens = p->n * job->max_new_tokens; /* unless some texts end before */
    job_record_plan(s, 0, pass.n_steps);
    TRY(job_run_pass(s, &pass, &work));
    if (!job->values) s->result.generated.steps = s->result.generated.n_passed;
    job_measure_host(s);
    TRY(job_log_carried(s));
    return comm_rank(s->comm) == 0 ? job_write_generated(s) : WSC_OK;
}

static enum wsc_err generate(struct job_state *s, struct prompts *p)
{
    TRY_NEW(p->tokens, WSC_MEM_RUN, p->n);
    TRY_NEW(p->n_tokens, WSC_MEM_RUN, p->n);
    const struct job *job = s->job;
    TRY(data_tokenizer_open(&s->tokenizer, job->tokenizer ? job->tokenizer : DATA_DEFAULT_TOKENIZER,
                            job->vocab, job->merges));
    for (int i = 0; i < p->n; i++)
        TRY(tokenize(s, i, p));
    return generate_from(s, p);
}

enum wsc_err job_generate(struct job_state *s)
{
    struct prompts p = {.n = s->job->n_prompts};
    enum wsc_err rc = generate(s, &p);
    for (int i = 0; p.tokens && i < p.n; i++)
        wsc_free(p.tokens[i]);
    wsc_free(p.tokens);
    wsc_free(p.n_tokens);
    wsc_text_free(&s->result.generated.texts);
    wsc_free(s->result.generated.step);
    s->result.generated.step = NULL;
    wsc_free(s->result.generated.scores);
    s->result.generated.scores = NULL;
    data_tokenizer_close(&s->tokenizer);
    return rc;
}
