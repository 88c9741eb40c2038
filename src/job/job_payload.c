// SPDX-License-Identifier: Apache-2.0
/* Bytes of weights and gradients that travelled between the roles of a run, as counted by the
 * senders (stream_transfer.c): beside the least that gradients can have, one vector for each link,
 * stage and micro-batch, and where weights are sparse beside those of dense tensors.  Totals on
 * standard output, every link in performance.json. */
#include "job_payload.h"

#include <wsc/log.h>

/* The sum over all links, or over those between ranks. */
static struct stream_carried total_of(const struct job_payload *p, bool between_ranks)
{
    struct stream_carried sum = {0};
    for (int i = 0; i < p->n; i++) {
        const struct stream_carried *c = &p->link[i];
        if (between_ranks && !c->between_ranks) continue;
        sum.weights += c->weights;
        sum.dense_weights += c->dense_weights;
        sum.gradients += c->gradients;
        sum.dense_gradients += c->dense_gradients;
        sum.least_gradients += c->least_gradients;
    }
    return sum;
}

static double ratio_of(int64_t bytes, int64_t dense)
{
    return dense ? (double)bytes / (double)dense : 0;
}

static void add_bytes(struct out_table *t, int64_t bytes, int64_t dense)
{
    char text[32];
    out_si_unit(text, sizeof text, (double)bytes, "B");
    out_table_cell(t, "%s", text);
    out_si_unit(text, sizeof text, (double)dense, "B");
    out_table_cell(t, "%s", text);
    out_table_cell(t, "%.3f", ratio_of(bytes, dense));
}

/* The link that carried most gradients for what it had to. */
static const struct stream_carried *worst_of(const struct job_payload *p)
{
    const struct stream_carried *worst = &p->link[0];
    for (int i = 1; i < p->n; i++)
        if (ratio_of(p->link[i].gradients, p->link[i].least_gradients) >
            ratio_of(worst->gradients, worst->least_gradients))
            worst = &p->link[i];
    return worst;
}

static void say_gradients(const struct job_payload *p)
{
    const struct stream_carried all = total_of(p, false), *worst = worst_of(p);
    char bytes[32], child[48];
    out_si_unit(bytes, sizeof bytes, (double)all.gradients, "B");
    stream_role_name(p->machine, worst->child, child, sizeof child);
    WSC_INFO("Gradients on all links: %s, %.3f times the minimum; at most %.3f times, from %s",
             bytes, ratio_of(all.gradients, all.least_gradients),
             ratio_of(worst->gradients, worst->least_gradients), child);
}

void job_payload_log(const struct job_payload *p)
{
    const struct stream_carried all = total_of(p, false), ranks = total_of(p, true);
    char bytes[32], dense[32];
    if (!p->n || !p->sparse || !all.dense_weights) return;
    out_si_unit(bytes, sizeof bytes, (double)all.weights, "B");
    out_si_unit(dense, sizeof dense, (double)all.dense_weights, "B");
    WSC_INFO("Weights on all links: %s, %.3f times those of dense weights, %s", bytes,
             ratio_of(all.weights, all.dense_weights), dense);
    if (!ranks.dense_weights) return;
    out_si_unit(bytes, sizeof bytes, (double)ranks.weights, "B");
    WSC_INFO("Weights on links between ranks: %s, %.3f times those of dense weights", bytes,
             ratio_of(ranks.weights, ranks.dense_weights));
}

static enum wsc_err print_sparse(const struct job_payload *p)
{
    static const char *const head[] = {"links",     "weights", "dense", "ratio",
                                       "gradients", "dense",   "ratio", NULL};
    struct out_table *t;
    TRY(out_table_new(&t, "lrrrrrr", head));
    for (int between_ranks = 0; between_ranks < 2; between_ranks++) {
        const struct stream_carried sum = total_of(p, between_ranks);
        out_table_cell(t, "%s", between_ranks ? "between ranks" : "all");
        add_bytes(t, sum.weights, sum.dense_weights);
        add_bytes(t, sum.gradients, sum.dense_gradients);
    }
    enum wsc_err rc = out_table_print(t, stdout, 0);
    out_table_free(&t);
    return rc;
}

enum wsc_err job_payload_print(const struct job_payload *p, bool table)
{
    if (!total_of(p, false).dense_gradients) return WSC_OK; /* no step was run */
    say_gradients(p);
    return table && p->sparse ? print_sparse(p) : WSC_OK;
}

static void add_counts(struct out_json *j, const struct stream_carried *c)
{
    out_json_int(j, "weights_bytes", c->weights);
    out_json_int(j, "weights_dense_bytes", c->dense_weights);
    out_json_int(j, "gradients_bytes", c->gradients);
    out_json_int(j, "gradients_dense_bytes", c->dense_gradients);
    out_json_int(j, "gradients_minimum_bytes", c->least_gradients);
}

static void add_total(struct out_json *j, const char *name, const struct job_payload *p,
                      bool between_ranks)
{
    const struct stream_carried sum = total_of(p, between_ranks);
    out_json_open(j, name);
    add_counts(j, &sum);
    out_json_close(j);
}

void job_payload_json(struct out_json *j, const struct job_payload *p)
{
    char name[48];
    if (!p->n) return;
    out_json_open(j, "payload");
    add_total(j, "all", p, false);
    add_total(j, "between_ranks", p, true);
    out_json_open_list(j, "links");
    for (int i = 0; i < p->n; i++) {
        const struct stream_carried *c = &p->link[i];
        out_json_open(j, NULL);
        stream_role_name(p->machine, c->parent, name, sizeof name);
        out_json_str(j, "parent", name);
        stream_role_name(p->machine, c->child, name, sizeof name);
        out_json_str(j, "child", name);
        out_json_bool(j, "between_ranks", c->between_ranks != 0);
        add_counts(j, c);
        out_json_close(j);
    }
    out_json_close_list(j);
    out_json_close(j);
}
