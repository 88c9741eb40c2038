// SPDX-License-Identifier: Apache-2.0
/* Classes of data loaders of the Model Zoo: what their files contain, and the objective of a model
 * that reads them. A file of the runconfig style does not name its model, so the loader alone shows
 * that the file is one of an encoder, and with which head. zoo_families.c uses the objective,
 * params_check_input.c the samples; src/data reads the files. */
#include "params_passes.h"

#include <string.h>
#include <strings.h>

struct processor {
    const char *name;
    enum zoo_samples samples;
    enum zoo_objective objective;
};

static const struct processor processors[] = {
    {"GptHDF5MapDataProcessor", ZOO_SAMPLES_GPT, ZOO_CAUSAL_LM},
    {"GptHDF5DataProcessor", ZOO_SAMPLES_GPT, ZOO_CAUSAL_LM},
    {"BertHDF5DataProcessor", ZOO_SAMPLES_MASKED, ZOO_MASKED_LM},
    {"BertCSVDataProcessor", ZOO_SAMPLES_CSV_STATIC, ZOO_MASKED_LM},
    {"BertCSVDynamicMaskDataProcessor", ZOO_SAMPLES_CSV_DYNAMIC, ZOO_MASKED_LM},
    {"SST2DataProcessor", ZOO_SAMPLES_SST2, ZOO_CLASSIFICATION},
    {"MNLIDataProcessor", ZOO_SAMPLES_MNLI, ZOO_CLASSIFICATION},
    {"BertTokenClassifierDataProcessor", ZOO_SAMPLES_TOKENS, ZOO_TOKEN_CLASSIFICATION},
    {"BertSumCSVDataProcessor", ZOO_SAMPLES_SENTENCES, ZOO_SUMMARIZATION},
    {"BertQADataProcessor", ZOO_SAMPLES_ANSWERS, ZOO_SPAN},
    {"T5HDF5DataProcessor", ZOO_SAMPLES_SEQ2SEQ, ZOO_SEQ2SEQ},
    {"T5DynamicDataProcessor", ZOO_SAMPLES_SPANS, ZOO_SEQ2SEQ},
    {"TransformerDynamicDataProcessor", ZOO_SAMPLES_TRANSLATION, ZOO_SEQ2SEQ},
    {"DpoHDF5DataProcessor", ZOO_SAMPLES_PAIRS, ZOO_CAUSAL_LM},
    {"DiffusionLatentImageNet1KProcessor", ZOO_SAMPLES_LATENTS, ZOO_DIFFUSION},
};
enum { N_PROCESSORS = sizeof processors / sizeof *processors };

static const struct processor *find(const char *name)
{
    for (int i = 0; name && i < N_PROCESSORS; i++)
        if (!strcasecmp(processors[i].name, name)) return &processors[i];
    return NULL;
}

enum zoo_objective zoo_processor_objective(const char *name)
{
    const struct processor *row = find(name);
    return row ? row->objective : ZOO_CAUSAL_LM;
}

void zoo_processor_check(struct conf_parse *p, struct zoo_input *in, const char *path,
                         struct conf_pos pos, enum zoo_objective objective)
{
    struct conf_choice choices[CONF_MAX_CHOICES] = {{0}};
    const struct processor *row = find(in->data_processor);
    if (!in->data_processor) return;
    for (int i = 0; i < N_PROCESSORS; i++)
        choices[i] = (struct conf_choice){processors[i].name, i};
    if (!row) {
        const struct conf_node node = {
            .kind = CONF_NODE_SCALAR, .text = in->data_processor, .pos = pos};
        conf_key_unsupported(p, path, &node, choices);
        return;
    }
    in->samples = row->samples;
    if (row->objective == ZOO_DIFFUSION && objective != ZOO_DIFFUSION)
        conf_diag_error(p->diag, pos, path, "%s makes latents of images; hint: model.name dit",
                        row->name);
    else if (row->objective != ZOO_DIFFUSION && objective == ZOO_DIFFUSION)
        conf_diag_error(p->diag, pos, path,
                        "%s makes no latents of images; hint: DiffusionLatentImageNet1KProcessor",
                        row->name);
    else if (row->objective == ZOO_SEQ2SEQ && objective != ZOO_SEQ2SEQ)
        conf_diag_error(p->diag, pos, path,
                        "%s makes data for an encoder and a decoder; hint: model.name t5",
                        row->name);
    else if (row->objective != ZOO_CAUSAL_LM && objective == ZOO_CAUSAL_LM)
        conf_diag_error(p->diag, pos, path, "%s makes data for encoders; hint: model.name bert",
                        row->name);
    else if (row->objective != ZOO_SEQ2SEQ && objective == ZOO_SEQ2SEQ)
        conf_diag_error(p->diag, pos, path,
                        "%s makes no pairs of sequences; hint: T5HDF5DataProcessor", row->name);
}
