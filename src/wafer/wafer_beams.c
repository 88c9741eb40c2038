// SPDX-License-Identifier: Apache-2.0
/* Beam search by the rules of the transformers library (BeamSearchScorer), so that texts and scores
 * are those that its users know. The sum of a text is that of the log-probabilities of its new
 * tokens, in double precision. Of all continuations of a prompt's B texts, the 2 B with the largest
 * sums are processed in order: the first B that do not end stay open; one that ends is kept if it
 * is among the first B. The B kept texts are those with the largest scores, sum / length^penalty,
 * where the length counts new tokens and the end token. The search ends when B texts are kept and,
 * unless it stops early, no open text can score more at its present length. After the last step
 * open texts are kept too. Of equal sums, the lower text and token come first. */
#include "wafer_beams.h"

#include <wsc/mem.h>

#include <math.h>
#include <string.h>

/* A sum lower than that of any text with a likely token. All texts of a prompt but the first one
 * start with it, because they are equal. */
static const double no_text = -1e9;

/* A continuation: token @c token after text @c text of the prompt. */
struct choice {
    double sum;
    int text;
    int32_t token;
};

/* A kept text, or an empty entry for one. */
struct kept {
    double score;
    int64_t length;
    int32_t *tokens; /* borrowed from beams->tokens */
};

struct wafer_beams {
    int n;                 /* number of texts of a prompt */
    double *sum;           /* owned (texts): sum of each text */
    int64_t *from;         /* owned (texts): the text that each text continues */
    int *n_kept;           /* owned (prompts): number of kept texts */
    struct kept *kept;     /* owned (prompts, n + 1) */
    int32_t *tokens;       /* owned (prompts, n + 1, length_max): tokens of the kept texts */
    struct choice *choice; /* owned (2 n): best continuations of a prompt, in order */
    int32_t *copy;         /* owned (n, length_max): copy of the texts before a step */
};

void wafer_beams_destroy(struct wafer_beams **beams)
{
    struct wafer_beams *b = *beams;
    *beams = NULL;
    if (!b) return;
    wsc_free(b->sum);
    wsc_free(b->from);
    wsc_free(b->n_kept);
    wsc_free(b->kept);
    wsc_free(b->tokens);
    wsc_free(b->choice);
    wsc_free(b->copy);
    wsc_free(b);
}

static enum wsc_err allocate(struct wafer_beams *b, const struct wafer_texts *g)
{
    const int64_t places = (int64_t)g->n_prompts * (b->n + 1);
    TRY_NEW(b->sum, WSC_MEM_WAFER, g->n);
    TRY_NEW(b->from, WSC_MEM_WAFER, g->n);
    TRY_NEW(b->n_kept, WSC_MEM_WAFER, g->n_prompts);
    TRY_NEW(b->kept, WSC_MEM_WAFER, places);
    TRY_NEW(b->tokens, WSC_MEM_WAFER, places * g->length_max);
    TRY_NEW(b->choice, WSC_MEM_WAFER, 2 * b->n);
    TRY_NEW(b->copy, WSC_MEM_WAFER, b->n * g->length_max);
    for (int64_t i = 0; i < places; i++)
        b->kept[i].tokens = b->tokens + i * g->length_max;
    for (int i = 0; i < g->n; i++) {
        b->sum[i] = i % b->n ? no_text : 0;
        b->from[i] = i;
    }
    return WSC_OK;
}

enum wsc_err wafer_beams_create(struct wafer_texts *g)
{
    if (g->n_beams < 2) return WSC_OK;
    TRY_NEW(g->beams, WSC_MEM_WAFER, 1);
    g->beams->n = g->n_beams;
    return allocate(g->beams, g);
}

const int64_t *wafer_beams_from(const struct wafer_texts *g)
{
    return g->beams ? g->beams->from : NULL;
}

/* ---- texts that are kept --------------------------------------------------------------------- */

/* Score of a text with @p n_new new tokens whose log-probabilities have the sum @p sum. */
static double score_of(const struct wafer_texts *g, double sum, int64_t n_new)
{
    return sum / pow((double)n_new, g->w->work.prompts->length_penalty);
}

/* Number of new tokens of the texts of prompt @p i, which is equal for all of them. */
static int64_t n_new(const struct wafer_texts *g, int i)
{
    const struct wafer_prompts *p = g->w->work.prompts;
    return g->length[(int64_t)i * g->n_beams] - (g->pairs ? 1 : p->n_tokens[g->first + i]);
}

static struct kept *kept_of(const struct wafer_texts *g, int i)
{
    return g->beams->kept + (int64_t)i * (g->beams->n + 1);
}

/* Index of the kept text of the prompt with the lowest score; of equal ones the earliest. */
static int lowest(const struct wafer_texts *g, int i)
{
    const struct kept *kept = kept_of(g, i);
    int low = 0;
    for (int k = 1; k < g->beams->n_kept[i]; k++)
        if (kept[k].score < kept[low].score) low = k;
    return low;
}

/* Keep the text of @p length tokens, followed by @p end (-1: by nothing), if there is room or its
 * score is larger than the lowest one, which is replaced. */
static void keep(struct wafer_texts *g, int i, const int32_t *text, int64_t length, int64_t end,
                 double score)
{
    struct wafer_beams *b = g->beams;
    struct kept *kept = kept_of(g, i);
    if (b->n_kept[i] == b->n && !(score > kept[lowest(g, i)].score)) return;
    struct kept *k = &kept[b->n_kept[i]++];
    k->score = score;
    k->length = length;
    memcpy(k->tokens, text, (size_t)length * sizeof *text);
    if (end >= 0) k->tokens[k->length++] = (int32_t)end;
    if (b->n_kept[i] <= b->n) return;
    const int low = lowest(g, i);
    const struct kept room = kept[low];
    b->n_kept[i]--;
    for (int at = low; at < b->n_kept[i]; at++)
        kept[at] = kept[at + 1];
    kept[b->n_kept[i]] = room;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Insert a continuation into the list of the best ones; of equal ones, those in the list come
 * first. */
static void offer(struct wafer_beams *b, int *n, const struct choice *c)
{
    const int room = 2 * b->n;
    int at = *n;
    if (at == room && !(c->sum > b->choice[room - 1].sum)) return;
    if (at < room) ++*n;
    for (at = *n - 1; at > 0 && c->sum > b->choice[at - 1].sum; at--)
        b->choice[at] = b->choice[at - 1];
    b->choice[at] = *c;
}

/* Logarithm of the sum of the exponentials; log-probability = logit - log_sum. */
static double log_sum(const float *logits, int64_t n)
{
    double max = (double)logits[0];
    for (int64_t v = 1; v < n; v++)
        if ((double)logits[v] > max) max = (double)logits[v];
    double sum = exp((double)logits[0] - max);
    for (int64_t v = 1; v < n; v++)
        sum += exp((double)logits[v] - max);
    return max + log(sum);
}

/* Find the best continuations of the texts of prompt @p i. Returns their number. */
static int rank_choices(struct wafer_texts *g, int i)
{
    struct wafer_beams *b = g->beams;
    const int64_t V = g->w->net->model->V;
    int n = 0;
    for (int t = 0; t < b->n; t++) {
        const int64_t text = (int64_t)i * b->n + t;
        const float *logits = kernels_logits(g->w->values, text);
        const double all = log_sum(logits, V);
        for (int64_t v = 0; v < V; v++) {
            const struct choice c = {b->sum[text] + ((double)logits[v] - all), t, (int32_t)v};
            offer(b, &n, &c);
        }
    }
    return n;
}

/* Replace text @p t of prompt @p i by the continuation @p c; `copy` has the texts before the step.
 */
static void take(struct wafer_texts *g, int i, int t, const struct choice *c)
{
    struct wafer_beams *b = g->beams;
    const int64_t first = (int64_t)i * b->n, text = first + t, length = g->length[first];
    int32_t *to = g->text + text * g->length_max;
    memcpy(to, b->copy + c->text * g->length_max, (size_t)length * sizeof *to);
    to[length] = c->token;
    b->sum[text] = c->sum;
    b->from[text] = first + c->text;
}

/* True when no open text can score more than all kept ones, at its present length. */
static bool is_done(const struct wafer_texts *g, int i, double best)
{
    if (g->beams->n_kept[i] < g->beams->n) return false;
    if (g->w->work.prompts->early_stopping) return true;
    return kept_of(g, i)[lowest(g, i)].score >= score_of(g, best, n_new(g, i));
}

void wafer_beams_add(struct wafer_texts *g, int i)
{
    struct wafer_beams *b = g->beams;
    const int64_t eos = g->w->work.prompts->eos_id, first = (int64_t)i * b->n;
    const int n = rank_choices(g, i);
    int n_on = 0;
    memcpy(b->copy, g->text + first * g->length_max,
           (size_t)(b->n * g->length_max) * sizeof *b->copy);
    for (int rank = 0; rank < n && n_on < b->n; rank++) {
        const struct choice *c = &b->choice[rank];
        if (c->token != eos)
            take(g, i, n_on++, c);
        else if (rank < b->n)
            keep(g, i, b->copy + c->text * g->length_max, g->length[first], eos,
                 score_of(g, c->sum, n_new(g, i) + 1));
    }
    for (int t = 0; t < b->n; t++)
        g->length[first + t]++;
    const bool done = is_done(g, i, b->choice[0].sum);
    for (int t = 0; t < b->n; t++)
        g->ended[first + t] = done;
}

const int32_t *wafer_beams_best(struct wafer_texts *g, int i, int64_t *length, double *score)
{
    const struct wafer_beams *b = g->beams;
    const int64_t first = (int64_t)i * b->n;
    for (int t = 0; t < b->n && !g->ended[first]; t++)
        keep(g, i, g->text + (first + t) * g->length_max, g->length[first + t], -1,
             score_of(g, b->sum[first + t], n_new(g, i)));
    const struct kept *best = kept_of(g, i);
    for (int k = 1; k < b->n_kept[i]; k++)
        if (kept_of(g, i)[k].score >= best->score) best = &kept_of(g, i)[k];
    *length = best->length;
    *score = best->score;
    return best->tokens;
}
