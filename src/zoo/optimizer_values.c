// SPDX-License-Identifier: Apache-2.0
/* Keys of `optimizer` with special values: lists of two numbers (betas, etas, step_sizes, the eps
 * of Adafactor) and loss_scaling_factor, a number or `dynamic`. Each has a reader and a writer that
 * the rows of params_keys.c name. */
#include "params_values.h"

#include <math.h>

/* ---- lists of two ---------------------------------------------------------------------------- */

/* Read `[a, b]`; false after an error. */
static bool read_two(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     double *first, double *second)
{
    char shown[CONF_QUOTE_BYTES];
    const bool list = node->kind == CONF_NODE_LIST;
    if (list && node->n == 2)
        return conf_read_double(p, key->path, node->entry[0].value, first) &&
               conf_read_double(p, key->path, node->entry[1].value, second);
    if (list)
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of two numbers, got %lld",
                        (long long)node->n);
    else
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of two numbers, got %s",
                        conf_node_describe(node, shown));
    return false;
}

static void write_two(struct wsc_text *out, double first, double second)
{
    wsc_text_add(out, " [");
    conf_text_double(out, first);
    wsc_text_add(out, ", ");
    conf_text_double(out, second);
    wsc_text_add(out, "]");
}

/* Sets both betas, so that the older keys beta1 and beta2 need no default. */
void zoo_read_betas(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *optimizer)
{
    struct zoo_optimizer *o = optimizer;
    if (!read_two(p, key, node, &o->beta1, &o->beta2)) return;
    p->seen[conf_keys_find(p->table, "optimizer.beta1")] = true;
    p->seen[conf_keys_find(p->table, "optimizer.beta2")] = true;
}

void zoo_write_betas(struct wsc_text *out, const void *optimizer, const struct conf_layout *at)
{
    const struct zoo_optimizer *o = optimizer;
    (void)at;
    write_two(out, o->beta1, o->beta2);
}

void zoo_read_etas(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *optimizer)
{
    struct zoo_optimizer *o = optimizer;
    (void)read_two(p, key, node, &o->eta_minus, &o->eta_plus);
}

void zoo_write_etas(struct wsc_text *out, const void *optimizer, const struct conf_layout *at)
{
    const struct zoo_optimizer *o = optimizer;
    (void)at;
    write_two(out, o->eta_minus, o->eta_plus);
}

void zoo_read_step_sizes(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *optimizer)
{
    struct zoo_optimizer *o = optimizer;
    (void)read_two(p, key, node, &o->step_min, &o->step_max);
}

void zoo_write_step_sizes(struct wsc_text *out, const void *optimizer, const struct conf_layout *at)
{
    const struct zoo_optimizer *o = optimizer;
    (void)at;
    write_two(out, o->step_min, o->step_max);
}

/* eps keeps a division by 0 away, in 32 bits. */
static void check_eps(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, double eps)
{
    if (!(eps > 0))
        conf_diag_error(p->diag, node->pos, key->path, "must be greater than 0, got %.15g", eps);
    else if (!((float)eps > 0) || isinf((float)eps))
        conf_diag_error(
            p->diag, node->pos, key->path,
            "%.15g is %s in 32 bits; hint: 1e-45 is the least number, 3e38 the greatest", eps,
            eps < 1 ? "0" : "infinite");
}

/* Adafactor has two eps, other optimizers one. */
void zoo_read_eps(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                  void *optimizer)
{
    struct zoo_optimizer *o = optimizer;
    const bool two = node->kind == CONF_NODE_LIST;
    if (!two && !conf_read_double(p, key->path, node, &o->eps)) return;
    if (two && !read_two(p, key, node, &o->eps, &o->eps_rms)) return;
    check_eps(p, key, node, o->eps);
    if (two) check_eps(p, key, node, o->eps_rms);
}

void zoo_write_eps(struct wsc_text *out, const void *optimizer, const struct conf_layout *at)
{
    const struct zoo_optimizer *o = optimizer;
    (void)at;
    if (o->two_eps) {
        write_two(out, o->eps, o->eps_rms);
        return;
    }
    wsc_text_add(out, " ");
    conf_text_double(out, o->eps);
}

/* ---- loss_scaling_factor --------------------------------------------------------------------- */

void zoo_read_loss_scale(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *field)
{
    static const struct conf_choice words[CONF_MAX_CHOICES] = {{"dynamic", 0}, {"null", 1}};
    char shown[CONF_QUOTE_BYTES];
    double *out = field, value;
    int word = conf_choice_find(words, node);
    if (word >= 0) {
        *out = word ? 1 : ZOO_LOSS_SCALE_DYNAMIC;
    } else if (node->kind != CONF_NODE_SCALAR || wsc_units_double(node->text, &value) != WSC_OK) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a number or dynamic, got %s",
                        conf_node_describe(node, shown));
    } else if (!(value > 0)) {
        conf_diag_error(p->diag, node->pos, key->path, "must be greater than 0, got %s",
                        conf_node_describe(node, shown));
    } else {
        *out = value;
    }
}

void zoo_write_loss_scale(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    double value = *(const double *)field;
    (void)at;
    wsc_text_add(out, " ");
    if (value == ZOO_LOSS_SCALE_DYNAMIC)
        wsc_text_add(out, "dynamic");
    else
        conf_text_double(out, value);
}
