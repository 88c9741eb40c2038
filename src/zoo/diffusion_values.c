// SPDX-License-Identifier: Apache-2.0
/* Diffusion transformers (Peebles and Xie 2023, arXiv 2212.09748) in params files: sizes that are
 * lists of height and width, and the checks between keys. Latent, patch and classes determine the
 * values that other families read as max_position_embeddings (patches of a latent) and vocab_size
 * (rows of the table of classes), so the model and its time are computed as for other families.
 * params_check.c calls the checks; rows of diffusion_keys.h name reader and writer. */
#include "params_checks.h"
#include "params_passes.h"
#include "params_values.h"

#include <wsc/units.h>

#include <stdio.h>

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Read `[height, width]`, each at least 1. */
void zoo_read_size(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *field)
{
    enum { MOST = 1 << 20 };
    int64_t *size = field, read[2] = {0};
    bool ok = node->kind == CONF_NODE_LIST && node->n == 2;
    for (int i = 0; ok && i < 2; i++) {
        const struct conf_node *entry = node->entry[i].value;
        ok = entry->kind == CONF_NODE_SCALAR && wsc_units_int(entry->text, &read[i]) == WSC_OK &&
             read[i] >= 1 && read[i] <= MOST;
    }
    if (!ok) {
        conf_diag_error(p->diag, node->pos, key->path,
                        "expected a list of height and width, whole numbers in 1 .. %d", MOST);
        return;
    }
    size[0] = read[0];
    size[1] = read[1];
}

void zoo_write_size(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const int64_t *size = field;
    (void)at;
    if (size[0])
        wsc_text_add(out, " [%lld, %lld]", (long long)size[0], (long long)size[1]);
    else
        wsc_text_add(out, " null");
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void set_if_absent(int64_t size[2], int64_t height, int64_t width)
{
    if (size[0]) return;
    size[0] = height;
    size[1] = width;
}

/* Sizes of latents and patches: those of the model, else of the encoder of images, else the
 * defaults of the Model Zoo. */
static void set_sizes(struct zoo_diffusion *d)
{
    enum { LATENT = 32, PATCH = 16 };
    set_if_absent(d->vae_latent_size, LATENT, LATENT);
    set_if_absent(d->latent_size, d->vae_latent_size[0], d->vae_latent_size[1]);
    set_if_absent(d->patch_size, PATCH, PATCH);
    if (d->latent_channels == CONF_NULL) d->latent_channels = d->vae_latent_channels;
}

/* Number of patches of a latent, which are the tokens of a sequence. */
static void set_patches(struct conf_parse *p, struct zoo_model *m)
{
    const struct zoo_diffusion *d = &m->diffusion;
    const char *patch = "model.patch_size";
    if (d->latent_size[0] % d->patch_size[0] || d->latent_size[1] % d->patch_size[1]) {
        conf_diag_error(p->diag, conf_parse_place(p, patch, NULL), patch,
                        "patches of %lld x %lld do not divide a latent of %lld x %lld",
                        (long long)d->patch_size[0], (long long)d->patch_size[1],
                        (long long)d->latent_size[0], (long long)d->latent_size[1]);
        return;
    }
    m->max_position_embeddings =
        d->latent_size[0] / d->patch_size[0] * (d->latent_size[1] / d->patch_size[1]);
}

/* Classes of the images: those of the model, else of the input; with dropout one more class, for no
 * class. */
static void set_classes(struct conf_parse *p, struct zoo_params *params)
{
    enum { IMAGENET_1K = 1000 };
    const char *classes = "model.num_labels";
    struct zoo_model *m = &params->model;
    const struct zoo_input *in =
        params->train_input.present ? &params->train_input : &params->eval_input;
    const bool said = in->present && in->num_classes != CONF_NULL;
    if (conf_node_is_null(p->given[conf_keys_find(p->table, classes)]))
        m->num_labels = said ? in->num_classes : IMAGENET_1K;
    else if (said && in->num_classes != m->num_labels)
        conf_diag_error(p->diag, conf_parse_place(p, classes, NULL), classes,
                        "%lld classes, but those of the input are %lld (num_classes)",
                        (long long)m->num_labels, (long long)in->num_classes);
    m->vocab_size = m->num_labels + (m->diffusion.label_dropout_rate > 0);
}

/* Refuse features of other models that this release does not have with diffusion. */
static void check_refused(struct conf_parse *p, const struct zoo_params *params)
{
    const struct zoo_model *m = &params->model;
    const enum zoo_position position = m->position_embedding_type;
    const struct zoo_refused refused[] = {
        {"model.position_embedding_type", position != ZOO_POSITION_LEARNED &&
                                              position != ZOO_POSITION_FIXED &&
                                              position != ZOO_POSITION_NONE},
        {"model.norm_type", m->norm_type != ZOO_LAYERNORM},
        {"model.embedding_layer_norm", m->embedding_layer_norm},
        {"model.nonlinearity", m->nonlinearity >= ZOO_GATED},
        {"model.use_final_layer_norm", m->use_final_layer_norm},
        {"model.norm_first_sandwich", m->norm_first_sandwich},
        {"model.attention_sliding_window_length", m->attention_sliding_window_length > 0},
        {"model.attention_logit_softcapping", m->attention_logit_softcapping > 0},
        {"model.final_logit_softcapping", m->final_logit_softcapping > 0},
        {"model.attention_qk_norm_layer", m->attention_qk_norm_layer != ZOO_QK_NORM_NONE},
        {"model.attention_module", m->attention_module != ZOO_MULTIHEAD},
        {"model.moe.num_experts", m->moe.num_experts > 0},
        {"model.mup_base_hidden_size", m->mup_base_hidden_size > 0},
        {"model.label_smoothing", m->label_smoothing > 0},
        {"model.lora_params", m->lora_params.n > 0},
        {"model.selective_grad", m->selective_grad.on},
        {"model.dpo", m->dpo.on},
        {"sparsity", params->sparsity.n > 0},
        {"optimizer.gradient_noise_scale", params->optimizer.gradient_noise_scale},
        {"train_input.data_transforms", params->train_input.sink_tokens > 0},
        {"eval_input.data_transforms", params->eval_input.sink_tokens > 0}};
    zoo_refuse(p, refused, sizeof refused / sizeof *refused,
               "not with diffusion transformers in this release");
}

void zoo_diffusion_check(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    if (m->objective != ZOO_DIFFUSION) return;
    set_sizes(&m->diffusion);
    set_patches(p, m);
    set_classes(p, params);
    check_refused(p, params);
    params->train_input.max_sequence_length = params->eval_input.max_sequence_length = CONF_NULL;
}
