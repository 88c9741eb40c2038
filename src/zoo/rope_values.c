// SPDX-License-Identifier: Apache-2.0
/* Lists of divisors of rotary frequencies, `short_factor` and `long_factor` of
 * model.pos_scaling_extra_args (LongRoPE, Ding et al. 2024): a positive number for each pair of
 * rotated features.  The rows of params_keys.c name the reader and the writer, params_check_model.c
 * compares their lengths with rotary_dim, and src/model/model_positions.c divides. */
#include "params_values.h"

void zoo_read_factors(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *field)
{
    struct zoo_rope_factors *f = field;
    char shown[CONF_QUOTE_BYTES];
    f->n = 0;
    if (conf_node_is_null(node)) return;
    if (node->kind != CONF_NODE_LIST || node->n < 1 || node->n > ZOO_MAX_ROPE_FACTORS) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a list of 1 to %d numbers, got %s",
                        ZOO_MAX_ROPE_FACTORS, conf_node_describe(node, shown));
        return;
    }
    for (int i = 0; i < node->n; i++) {
        if (!conf_read_double(p, key->path, node->entry[i].value, &f->value[i])) return;
        if (f->value[i] > 0) continue;
        conf_diag_error(p->diag, node->entry[i].value->pos, key->path,
                        "must be greater than 0, got %.15g", f->value[i]);
        return;
    }
    f->n = node->n;
}

void zoo_write_factors(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_rope_factors *f = field;
    (void)at;
    if (!f->n) wsc_text_add(out, " null");
    for (int i = 0; i < f->n; i++) {
        wsc_text_add(out, "%s", i ? ", " : " [");
        conf_text_double(out, f->value[i]);
    }
    if (f->n) wsc_text_add(out, "]");
}
