// SPDX-License-Identifier: Apache-2.0
/* Factors on the learning rate by groups of tensors, whose names match patterns: those of muP, and
 * adjust_learning_rate of the Model Zoo, which sets the factor of a group, muP's too. A factor of 1
 * puts no tensor into its group. The Model Zoo makes a group of parameters of each other factor;
 * PyTorch refuses a parameter in two groups. model_tensors.c calls. */
#include "model_lr_scale.h"

#include "model_mup.h"

#include <wsc/model.h>

#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Groups of tensors by their names: the Model Zoo's patterns, in the order of its classes' lists.
 * A class has either the groups of attention or those of projections. Experts, shared ones too, are
 * in the groups of the feed-forward network that they replace. */
#define GROUP(group) #group, offsetof(struct zoo_lr_scale, group)
static const struct {
    const char *name;
    size_t offset;
    const char *pattern[2];
} groups[] = {{GROUP(embedding), {"*embedding*weight"}},
              {GROUP(decoder_kernel), {"*decoder*dense*weight", "*decoder*linear*weight"}},
              {GROUP(decoder_attention), {"*decoder*attn*dense*weight"}},
              {GROUP(decoder_qkv_projection), {"*decoder*attn.proj_[qkv]*dense*weight"}},
              {GROUP(decoder_output_projection), {"*decoder*attn.proj_output*dense*weight"}},
              {GROUP(decoder_input_ffn),
               {"*decoder*ffn.ffn.[!1]*weight", "*decoder*ffn.experts.*.[!1].linear*weight"}},
              {GROUP(decoder_output_ffn),
               {"*decoder*ffn.ffn.[1]*weight", "*decoder*ffn.experts.*.[1].linear*weight"}},
              {GROUP(encoder_attention), {"*encoder*attn*dense*weight"}},
              {GROUP(encoder_qkv_projection), {"*encoder*attn.proj_[qkv]*dense*weight"}},
              {GROUP(encoder_output_projection), {"*encoder*attn.proj_output*dense*weight"}},
              {GROUP(encoder_input_ffn), {"*encoder*ffn.ffn.[!1]*weight"}},
              {GROUP(encoder_output_ffn), {"*encoder*ffn.ffn.[1]*weight"}},
              {GROUP(pooler), {"*pooler*weight"}},
              {GROUP(lm_head), {"*lm_head*weight"}}};
#undef GROUP
enum { N_GROUPS = sizeof groups / sizeof *groups };

static bool is_member(int group, const char *name)
{
    for (int k = 0; k < 2 && groups[group].pattern[k]; k++)
        if (!fnmatch(groups[group].pattern[k], name, 0)) return true;
    return false;
}

static double value_in(const struct zoo_lr_scale *scale, int group)
{
    return *(const double *)(const void *)((const char *)scale + groups[group].offset);
}

/** Where the factors of groups come from; 0: from neither. */
struct factors {
    struct zoo_lr_scale given, mup;
};

static double factor_of(const struct factors *f, int group)
{
    const double given = value_in(&f->given, group), mup = value_in(&f->mup, group);
    return given > 0 ? given : mup > 0 ? mup : 1;
}

static enum wsc_err raise_two(const struct zoo_params *params, const struct factors *f,
                              const int group[2], const char *name)
{
    char text[2][80];
    for (int k = 0; k < 2; k++)
        (void)snprintf(text[k], sizeof text[k], "%s (%.6g%s)", groups[group[k]].name,
                       factor_of(f, group[k]), value_in(&f->given, group[k]) > 0 ? "" : " by muP");
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "%s: %s and %s are two factors of %s",
                                  zoo_params_place(params, "optimizer.adjust_learning_rate"),
                                  text[0], text[1], name),
                        "give the groups equal factors, or one of them 1");
}

/* Nearly all models have no factors: then no pattern needs to be matched. */
enum wsc_err model_lr_of(const struct zoo_params *params, const char *name, struct model_lr *out)
{
    const struct factors f = {params->optimizer.adjust_learning_rate,
                              model_mup_rates(&params->model)};
    int mine = -1;
    for (int i = 0; i < N_GROUPS; i++) {
        if (factor_of(&f, i) == 1 || !is_member(i, name)) continue;
        if (mine >= 0 && factor_of(&f, i) != factor_of(&f, mine))
            return raise_two(params, &f, (const int[]){mine, i}, name);
        if (mine < 0) mine = i;
    }
    *out = (struct model_lr){1, INT_MAX};
    if (mine < 0) return WSC_OK;
    out->scale = factor_of(&f, mine);
    for (out->group = 0; factor_of(&f, out->group) != out->scale;)
        out->group++;
    return WSC_OK;
}

/* True for a group that has tensors of which none trains. */
static bool is_frozen(const struct model *model, int group)
{
    bool found = false;
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        if (!is_member(group, t->name)) continue;
        if (!t->frozen) return false;
        found = true;
    }
    return found;
}

const char *model_frozen_group(const struct model *model, const struct zoo_params *params, int *at)
{
    while (*at < N_GROUPS) {
        const int group = (*at)++;
        const double given = value_in(&params->optimizer.adjust_learning_rate, group);
        if (given > 0 && given != 1 && is_frozen(model, group)) return groups[group].name;
    }
    return NULL;
}
