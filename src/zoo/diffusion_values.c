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

void zoo_diffusion_check(struct conf_parse *p, struct zoo_params *params)
{
    struct zoo_model *m = &params->model;
    if (m->objective != ZOO_DIFFUSION) return;
    set_sizes(&m->diffusion);
    set_patches(p, m);
    set_classes(p, params);
    params->train_input.max_sequence_length = params->eval_input.max_sequence_length = CONF_NULL;
}
