// SPDX-License-Identifier: Apache-2.0
/* Scoring: the requests of an evaluation harness as samples of an ordinary evaluation, whose loss
 * mask is 1 on the tokens of a continuation.  A micro-shard is one sample, so that each sample's
 * sum of -log p comes from one wafer in one order: the same bits on any number of systems and
 * ranks.
 *
 * Metrics as EleutherAI's harness defines them (lm_eval/api/task.py, metrics.py): acc takes the
 * choice with the largest log-likelihood, acc_norm that with the largest per character; word and
 * byte perplexity are exp(-sum of log-likelihoods / words or bytes).  score_requests.c reads. */
#include "job_scoring.h"
#include "score_requests.h"

#include <wsc/file.h>
#include <wsc/log.h>
#include <wsc/mem.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job_scoring {
    struct job_score_requests requests;
    int64_t *request_of;           /* owned, of each sample; -1: padding of the last batch */
    int64_t n_samples;             /* whole batches */
    struct stream_score *in_order; /* owned, of the samples of a batch */
    char *folder;                  /* owned: of the samples of this rank; NULL: none was written */
    bool done;                     /* this rank has the scores */
};

/* ---- samples --------------------------------------------------------------------------------- */

/* The last batch is filled with samples that have no token to score. */
static enum wsc_err fill_batches(struct job_scoring *g, int64_t batch)
{
    struct job_score_requests *q = &g->requests;
    g->n_samples = (q->n_samples + batch - 1) / batch * batch;
    TRY_GROW(q->sample, WSC_MEM_RUN, q->sample_room, g->n_samples * 3 * q->T);
    TRY_NEW(g->request_of, WSC_MEM_RUN, g->n_samples);
    TRY_NEW(g->in_order, WSC_MEM_RUN, batch);
    for (int64_t i = 0; i < g->n_samples; i++)
        g->request_of[i] = -1;
    for (int i = 0; i < q->n_requests; i++)
        for (int64_t k = 0; k < q->request[i].n_samples; k++)
            g->request_of[q->request[i].first_sample + k] = i;
    return WSC_OK;
}

static enum wsc_err read_requests(struct job_state *s, struct job_scoring *g)
{
    const struct job *job = s->job;
    struct job_score_tokens tokens = {
        .T = s->cluster->model->T, .V = s->cluster->model->V, .prefix = job->eos_id};
    TRY(data_tokenizer_open(&tokens.tokenizer,
                            job->tokenizer ? job->tokenizer : DATA_DEFAULT_TOKENIZER, job->vocab,
                            job->merges));
    const enum wsc_err rc = job_score_requests_read(&g->requests, job->requests, &tokens);
    data_tokenizer_close(&tokens.tokenizer);
    return rc ? rc : fill_batches(g, s->eval.batch.batch_size);
}

/* Keys that would limit the requests: every request is scored once. */
static void warn_of_unused(const struct job_state *s)
{
    const struct zoo_params *p = s->job->params;
    if (comm_rank(s->comm)) return;
    if (p->runconfig.eval_steps != CONF_NULL)
        WSC_WARNING("runconfig.eval_steps: without effect: --requests scores every request");
    if (p->eval_input.num_samples > 0)
        WSC_WARNING("eval_input.num_samples: without effect: --requests scores every request");
}

enum wsc_err job_scoring_create(struct job_state *s)
{
    warn_of_unused(s);
    TRY_NEW(s->scoring, WSC_MEM_RUN, 1);
    return read_requests(s, s->scoring);
}

/* The samples' file is of this run alone. */
static void remove_folder(const char *folder)
{
    char *path = wsc_asprintf(WSC_MEM_RUN, "%s/requests.h5", folder);
    if (path) (void)unlink(path);
    (void)rmdir(folder);
    wsc_free(path);
}

void job_scoring_destroy(struct job_scoring **scoring)
{
    struct job_scoring *g = *scoring;
    if (!g) return;
    if (g->folder) remove_folder(g->folder);
    job_score_requests_fini(&g->requests);
    wsc_free(g->request_of);
    wsc_free(g->in_order);
    wsc_free(g->folder);
    wsc_free(g);
    *scoring = NULL;
}

enum wsc_err job_scoring_open_data(struct job_state *s, struct data_source **out)
{
    struct job_scoring *g = s->scoring;
    const struct zoo_params *p = s->job->params;
    struct zoo_input input = {.present = true,
                              .data_processor = p->eval_input.data_processor,
                              .n_data_dirs = 1,
                              .num_samples = CONF_NULL,
                              .batch_size = p->eval_input.batch_size,
                              .num_workers = CONF_NULL,
                              .repeat = true,
                              .max_sequence_length = CONF_NULL};
    TRY_MEM(g->folder, wsc_asprintf(WSC_MEM_RUN, "%s/requests.%d.tmp", p->runconfig.model_dir,
                                    comm_rank(s->comm)));
    TRY(wsc_file_mkdir(g->folder));
    char *path = wsc_asprintf(WSC_MEM_RUN, "%s/requests.h5", g->folder);
    enum wsc_err rc =
        path ? store_samples_write(path, g->requests.sample, g->n_samples, g->requests.T)
             : WSC_NOMEM;
    wsc_free(path);
    TRY(rc);
    input.data_dir[0] = g->folder;
    return data_source_open(out, &input, g->requests.T, s->cluster->model->V);
}

int64_t job_scoring_batches(const struct job_state *s)
{
    return s->scoring->n_samples / s->eval.batch.batch_size;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Windows of a text come in the order of its tokens, because batches and, within a batch, samples
 * are added in their order. */
enum wsc_err job_on_scores(void *ctx, int64_t step, const struct stream_score *score, int64_t n)
{
    struct job_state *s = ctx;
    struct job_scoring *g = s->scoring;
    const int64_t first = step * s->eval.batch.batch_size;
    g->done = true;
    for (int64_t i = 0; i < n; i++)
        g->in_order[(int64_t)score[i].sample] = score[i];
    for (int64_t i = 0; i < n; i++) {
        const int64_t request = g->request_of[first + i];
        if (request < 0) continue;
        struct job_score_request *q = &g->requests.request[request];
        q->nats += g->in_order[i].nats;
        q->n_tokens += (int64_t)g->in_order[i].n_tokens;
        q->n_correct += (int64_t)g->in_order[i].n_correct;
    }
    return WSC_OK;
}

/* A metric: its mean over documents with the standard error of it, or a perplexity. */
struct metric {
    const char *name;
    enum job_score_kind kind;
    double value, error; /* error NAN: none */
};

/* The first choice with the largest log-likelihood, per character or not. */
static int best_choice(const struct job_score_requests *q, const struct job_score_document *d,
                       bool per_char)
{
    int best = 0;
    double most = -INFINITY;
    for (int i = 0; i < d->n; i++) {
        const struct job_score_request *r = &q->request[d->first + i];
        const double value = -r->nats / (per_char ? (double)r->n_chars : 1);
        if (value > most) {
            most = value;
            best = i;
        }
    }
    return best;
}

static bool is_greedy(const struct job_score_request *r)
{
    return r->n_correct == r->n_tokens;
}

/* Is the document solved, in terms of metric @p m? */
static bool is_right(const struct job_score_requests *q, const struct job_score_document *d,
                     const struct metric *m)
{
    if (d->kind == SCORE_CONTINUATION) return is_greedy(&q->request[d->first]);
    return best_choice(q, d, !strcmp(m->name, "acc_norm")) == d->gold;
}

/* Mean of zeros and ones with the standard error of a sample. */
static void fill_fraction(const struct job_score_requests *q, struct metric *m)
{
    double n = 0, right = 0;
    for (int i = 0; i < q->n_documents; i++) {
        if (q->document[i].kind != m->kind) continue;
        n++;
        right += is_right(q, &q->document[i], m);
    }
    m->value = right / n;
    m->error = n > 1 ? sqrt(m->value * (1 - m->value) / (n - 1)) : NAN;
}

/* exp of the nats over documents, words or bytes; bits of a byte. */
static void fill_perplexity(const struct job_score_requests *q, struct metric *m)
{
    double nats = 0, documents = 0, words = 0, bytes = 0;
    for (int i = 0; i < q->n_documents; i++) {
        const struct job_score_request *r = &q->request[q->document[i].first];
        if (q->document[i].kind != m->kind) continue;
        nats += r->nats;
        documents++;
        words += (double)r->n_words;
        bytes += (double)r->n_bytes;
    }
    m->error = NAN;
    if (!strcmp(m->name, "bits_per_byte"))
        m->value = nats / bytes / log(2);
    else if (!strcmp(m->name, "byte_perplexity"))
        m->value = exp(nats / bytes);
    else
        m->value = exp(nats / (strcmp(m->name, "word_perplexity") != 0 ? documents : words));
}

static const struct {
    const char *name;
    enum job_score_kind kind;
    void (*fill)(const struct job_score_requests *q, struct metric *m);
} metrics[] = {{"acc", SCORE_CHOICES, fill_fraction},
               {"acc_norm", SCORE_CHOICES, fill_fraction},
               {"acc", SCORE_CONTINUATION, fill_fraction},
               {"perplexity", SCORE_CONTINUATION, fill_perplexity},
               {"word_perplexity", SCORE_TEXT, fill_perplexity},
               {"byte_perplexity", SCORE_TEXT, fill_perplexity},
               {"bits_per_byte", SCORE_TEXT, fill_perplexity}};
enum { N_METRICS = sizeof metrics / sizeof *metrics };

/* The metrics of the kinds that the file has; how many. */
static int fill_metrics(const struct job_score_requests *q, struct metric *m)
{
    int n = 0;
    for (int i = 0; i < N_METRICS; i++) {
        if (!q->of_kind[metrics[i].kind]) continue;
        m[n] = (struct metric){.name = metrics[i].name, .kind = metrics[i].kind};
        metrics[i].fill(q, &m[n++]);
    }
    return n;
}

static enum wsc_err print_metrics(const struct job_score_requests *q, const struct metric *m, int n)
{
    static const char *const head[] = {"requests", "documents", "metric", "value", "stderr"};
    struct out_table *t;
    TRY(out_table_new(&t, "lrlrr", head));
    for (int i = 0; i < n; i++) {
        out_table_cell(t, "%s", job_score_kind_name(m[i].kind));
        out_table_cell(t, "%lld", (long long)q->of_kind[m[i].kind]);
        out_table_cell(t, "%s", m[i].name);
        out_table_cell(t, "%.6g", m[i].value);
        if (isnan(m[i].error))
            out_table_cell(t, "%s", "");
        else
            out_table_cell(t, "%.4g", m[i].error);
    }
    const enum wsc_err rc = out_table_print(t, stdout, 0);
    out_table_free(&t);
    return rc;
}

/* One document with the log-likelihood of each of its requests. */
static json_t *document_json(const struct job_score_requests *q, const struct job_score_document *d)
{
    json_t *of = json_array(), *greedy = json_array();
    for (int i = d->first; i < d->first + d->n; i++) {
        (void)json_array_append_new(of, json_real(-q->request[i].nats));
        (void)json_array_append_new(greedy, json_boolean(is_greedy(&q->request[i])));
    }
    return json_pack("{s:I, s:s, s:o, s:o}", "doc_id", (json_int_t)d->id, "kind",
                     job_score_kind_name(d->kind), "loglikelihood", of, "is_greedy", greedy);
}

static json_t *scores_json(const struct job *job, const struct job_score_requests *q,
                           const struct metric *m, int n)
{
    json_t *results = json_array(), *documents = json_array();
    for (int i = 0; i < n; i++) {
        json_t *one = json_pack("{s:s, s:s, s:I, s:f}", "kind", job_score_kind_name(m[i].kind),
                                "metric", m[i].name, "documents", (json_int_t)q->of_kind[m[i].kind],
                                "value", m[i].value);
        if (!isnan(m[i].error)) (void)json_object_set_new(one, "stderr", json_real(m[i].error));
        (void)json_array_append_new(results, one);
    }
    for (int i = 0; i < q->n_documents; i++)
        (void)json_array_append_new(documents, document_json(q, &q->document[i]));
    return json_pack("{s:s, s:I, s:o, s:o}", "file", job->requests, "requests",
                     (json_int_t)q->n_requests, "results", results, "documents", documents);
}

static enum wsc_err write_scores(const struct job *job, json_t *scores)
{
    char *text = json_dumps(scores, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    char *path = wsc_asprintf(WSC_MEM_RUN, "%s/scores.json", job->params->runconfig.model_dir);
    const enum wsc_err rc = text && path ? out_write_text(path, text)
                                         : WSC_RAISE(WSC_NOMEM, "no memory for scores.json");
    wsc_free(path);
    free(text);
    return rc;
}

enum wsc_err job_scoring_end(struct job_state *s)
{
    const struct job_score_requests *q = &s->scoring->requests;
    struct metric m[N_METRICS];
    if (!s->scoring->done) return WSC_OK; /* another rank has shard 0, or there are no values */
    const int n = fill_metrics(q, m);
    json_t *scores = scores_json(s->job, q, m, n);
    const enum wsc_err rc = write_scores(s->job, scores);
    json_decref(scores);
    TRY(rc);
    return s->job->json ? WSC_OK : print_metrics(q, m, n);
}
