// SPDX-License-Identifier: Apache-2.0
/* Keys of `model` about generated texts: which of them a file has, and `stop_sequences`, a token or
 * a list of lists of tokens. params_keys.c has the rows, params_check.c calls the check. */
#include "params_checks.h"
#include "params_values.h"

#include <wsc/units.h>

#include <string.h>

bool zoo_stops_at(const struct zoo_stops *stops, const int32_t *text, int64_t n)
{
    for (int i = 0; i < stops->n; i++) {
        const int64_t k = stops->n_tokens[i];
        if (k <= n && !memcmp(text + n - k, stops->token[i], (size_t)k * sizeof *text)) return true;
    }
    return false;
}

/* Add a token to the last sequence; false after an error. */
static bool read_token(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, struct zoo_stops *stops)
{
    int *n = &stops->n_tokens[stops->n - 1];
    char shown[CONF_QUOTE_BYTES];
    int64_t token;
    if (node->kind != CONF_NODE_SCALAR || wsc_units_int(node->text, &token) != WSC_OK ||
        token < 0 || token > INT32_MAX) {
        conf_diag_error(p->diag, node->pos, key->path, "expected a token id, got %s",
                        conf_node_describe(node, shown));
        return false;
    }
    if (*n == ZOO_MAX_STOP_TOKENS) {
        conf_diag_error(p->diag, node->pos, key->path, "a sequence of more than %d tokens",
                        ZOO_MAX_STOP_TOKENS);
        return false;
    }
    stops->token[stops->n - 1][(*n)++] = (int32_t)token;
    return true;
}

static bool read_sequence(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, struct zoo_stops *stops)
{
    char shown[CONF_QUOTE_BYTES];
    if (node->kind != CONF_NODE_LIST || !node->n) {
        conf_diag_error(p->diag, node->pos, key->path,
                        "expected a token id or a list of lists of token ids, got %s",
                        conf_node_describe(node, shown));
        return false;
    }
    if (stops->n == ZOO_MAX_STOPS) {
        conf_diag_error(p->diag, node->pos, key->path, "more than %d sequences", ZOO_MAX_STOPS);
        return false;
    }
    stops->n++;
    for (int i = 0; i < node->n; i++)
        if (!read_token(p, key, node->entry[i].value, stops)) return false;
    return true;
}

void zoo_read_stops(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *field)
{
    struct zoo_stops *stops = field;
    if (conf_node_is_null(node)) return;
    if (node->kind == CONF_NODE_SCALAR) {
        stops->n = 1;
        (void)read_token(p, key, node, stops);
        return;
    }
    if (node->kind != CONF_NODE_LIST) (void)read_sequence(p, key, node, stops);
    for (int i = 0; node->kind == CONF_NODE_LIST && i < node->n; i++)
        if (!read_sequence(p, key, node->entry[i].value, stops)) return;
}

void zoo_write_stops(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_stops *stops = field;
    (void)at;
    if (!stops->n) wsc_text_add(out, " null");
    for (int i = 0; i < stops->n; i++) {
        wsc_text_add(out, i ? ", " : " [");
        for (int k = 0; k < stops->n_tokens[i]; k++)
            wsc_text_add(out, "%s%d", k ? ", " : "[", (int)stops->token[i][k]);
        wsc_text_add(out, "]%s", i == stops->n - 1 ? "]" : "");
    }
}

/* A token beyond the vocabulary would never come. */
static void check_stops(struct conf_parse *p, const struct zoo_model *model)
{
    static const char key[] = "model.stop_sequences";
    const struct zoo_stops *stop = &model->generation.stop;
    const int64_t n_ids = zoo_model_n_ids(model);
    for (int i = 0; i < stop->n; i++) {
        for (int k = 0; k < stop->n_tokens[i]; k++) {
            if (stop->token[i][k] < n_ids) continue;
            conf_diag_error(p->diag, conf_parse_place(p, key, NULL), key,
                            "token %d, texts have %lld token ids", (int)stop->token[i][k],
                            (long long)n_ids);
            return;
        }
    }
}

void zoo_check_generation(struct conf_parse *p, struct zoo_model *model)
{
    static const char *const keys[] = {"model.max_tokens",     "model.temperature",
                                       "model.top_k",          "model.top_p",
                                       "model.stop_sequences", "model.start_token"};
    for (int i = 0; i < (int)(sizeof keys / sizeof *keys); i++)
        model->generation.given = model->generation.given || conf_parse_given(p, keys[i]);
    check_stops(p, model);
}
