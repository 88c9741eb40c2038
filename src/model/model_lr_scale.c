// SPDX-License-Identifier: Apache-2.0
/* Factors on the learning rate by groups of tensors: adjust_learning_rate of the Model Zoo, whose
 * groups are patterns over the tensors' names. */
#include "model_lr_scale.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>

/* Groups of tensors by their names: the Model Zoo's patterns, in the order of its classes' lists.
 * A class has either the groups of attention or those of projections. Experts, shared ones too, are
 * in the groups of the feed-forward network that they replace. */
static const struct {
    size_t offset;
    const char *pattern[2];
} groups[] = {
    {offsetof(struct zoo_lr_scale, embedding), {"*embedding*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_kernel),
     {"*decoder*dense*weight", "*decoder*linear*weight"}},
    {offsetof(struct zoo_lr_scale, decoder_attention), {"*decoder*attn*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_qkv_projection),
     {"*decoder*attn.proj_[qkv]*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_output_projection),
     {"*decoder*attn.proj_output*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_input_ffn),
     {"*decoder*ffn.ffn.[!1]*weight", "*decoder*ffn.experts.*.[!1].linear*weight"}},
    {offsetof(struct zoo_lr_scale, decoder_output_ffn),
     {"*decoder*ffn.ffn.[1]*weight", "*decoder*ffn.experts.*.[1].linear*weight"}},
    {offsetof(struct zoo_lr_scale, encoder_qkv_projection),
     {"*encoder*attn.proj_[qkv]*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, encoder_output_projection),
     {"*encoder*attn.proj_output*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, encoder_input_ffn), {"*encoder*ffn.ffn.[!1]*weight", NULL}},
    {offsetof(struct zoo_lr_scale, encoder_output_ffn), {"*encoder*ffn.ffn.[1]*weight", NULL}},
    {offsetof(struct zoo_lr_scale, lm_head), {"*lm_head*weight", NULL}}};
enum { N_GROUPS = sizeof groups / sizeof *groups };

static bool is_member(int group, const char *name)
{
    for (int k = 0; k < 2 && groups[group].pattern[k]; k++)
        if (!fnmatch(groups[group].pattern[k], name, 0)) return true;
    return false;
}

double model_lr_scale(const struct zoo_lr_scale *scale, const char *name)
{
    double product = 1;
    for (int i = 0; i < N_GROUPS; i++) {
        const double *factor = (const void *)((const char *)scale + groups[i].offset);
        if (*factor == 1) continue; /* as in nearly every model: no pattern needs to be matched */
        if (is_member(i, name)) product *= *factor;
    }
    return product;
}

int model_lr_group(const char *name)
{
    int last = N_GROUPS;
    for (int i = 0; i < N_GROUPS; i++)
        if (is_member(i, name)) last = i;
    return last;
}
