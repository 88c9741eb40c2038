// SPDX-License-Identifier: Apache-2.0
/* Factors on the learning rate by groups of tensors: adjust_learning_rate of the Model Zoo, whose
 * groups are patterns over the tensors' names. */
#include "model_lr_scale.h"

#include <fnmatch.h>
#include <stddef.h>

/* Groups of tensors by their names; the Model Zoo's own patterns. */
static const struct {
    size_t offset;
    const char *pattern[2];
} groups[] = {
    {offsetof(struct zoo_lr_scale, decoder_kernel),
     {"*decoder*dense*weight", "*decoder*linear*weight"}},
    {offsetof(struct zoo_lr_scale, embedding), {"*embedding*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_attention), {"*decoder*attn*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_input_ffn), {"*decoder*ffn.ffn.[!1]*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_output_ffn), {"*decoder*ffn.ffn.[1]*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_qkv_projection),
     {"*decoder*attn.proj_[qkv]*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, decoder_output_projection),
     {"*decoder*attn.proj_output*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, encoder_qkv_projection),
     {"*encoder*attn.proj_[qkv]*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, encoder_output_projection),
     {"*encoder*attn.proj_output*dense*weight", NULL}},
    {offsetof(struct zoo_lr_scale, encoder_input_ffn), {"*encoder*ffn.ffn.[!1]*weight", NULL}},
    {offsetof(struct zoo_lr_scale, encoder_output_ffn), {"*encoder*ffn.ffn.[1]*weight", NULL}},
    {offsetof(struct zoo_lr_scale, lm_head), {"*lm_head*weight", NULL}}};

double model_lr_scale(const struct zoo_lr_scale *scale, const char *name)
{
    double product = 1;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const double *factor = (const void *)((const char *)scale + groups[i].offset);
        bool member = false;
        if (*factor == 1) continue; /* as in nearly every model: no pattern needs to be matched */
        for (int k = 0; k < 2 && groups[i].pattern[k]; k++)
            member = member || !fnmatch(groups[i].pattern[k], name, 0);
        if (member) product *= *factor;
    }
    return product;
}
