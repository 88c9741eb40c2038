// SPDX-License-Identifier: Apache-2.0
/* Classes of data loaders of the Model Zoo: what their files contain, and the objectives of models
 * that read them. A file of the runconfig style does not name its model, so the loader alone shows
 * that the file is one of an encoder, and with which head. zoo_families.c uses the first objective,
 * params_check_input.c the samples, job_check.c all objectives; src/data reads the files. */
#include "params_passes.h"

#include <string.h>
#include <strings.h>

struct processor {
    const char *name;
    enum zoo_samples samples;
    enum zoo_objective objective; /* of a file that names none */
    enum zoo_objective second;    /* another that the samples have labels for; else the same */
};

/* A loader whose samples have labels for one objective. */
#define ONE(objective) objective, objective

static const struct processor processors[] = {
    {"GptHDF5MapDataProcessor", ZOO_SAMPLES_GPT, ONE(ZOO_CAUSAL_LM)},
    {"GptHDF5DataProcessor", ZOO_SAMPLES_GPT, ONE(ZOO_CAUSAL_LM)},
    {"NumpyMmapDataset", ZOO_SAMPLES_UINT16, ONE(ZOO_CAUSAL_LM)},
    {"BertHDF5DataProcessor", ZOO_SAMPLES_MASKED, ONE(ZOO_MASKED_LM)},
    {"BertCSVDataProcessor", ZOO_SAMPLES_CSV_STATIC, ZOO_MASKED_LM, ZOO_CLASSIFICATION},
    {"BertCSVDynamicMaskDataProcessor", ZOO_SAMPLES_CSV_DYNAMIC, ONE(ZOO_MASKED_LM)},
    {"SST2DataProcessor", ZOO_SAMPLES_SST2, ZOO_CLASSIFICATION, ZOO_REGRESSION},
    {"MNLIDataProcessor", ZOO_SAMPLES_MNLI, ONE(ZOO_CLASSIFICATION)},
    {"BertTokenClassifierDataProcessor", ZOO_SAMPLES_TOKENS, ONE(ZOO_TOKEN_CLASSIFICATION)},
    {"BertSumCSVDataProcessor", ZOO_SAMPLES_SENTENCES, ONE(ZOO_SUMMARIZATION)},
    {"BertQADataProcessor", ZOO_SAMPLES_ANSWERS, ONE(ZOO_SPAN)},
    {"T5HDF5DataProcessor", ZOO_SAMPLES_SEQ2SEQ, ONE(ZOO_SEQ2SEQ)},
    {"T5DynamicDataProcessor", ZOO_SAMPLES_SPANS, ONE(ZOO_SEQ2SEQ)},
    {"TransformerDynamicDataProcessor", ZOO_SAMPLES_TRANSLATION, ONE(ZOO_SEQ2SEQ)},
    {"DpoHDF5DataProcessor", ZOO_SAMPLES_PAIRS, ONE(ZOO_CAUSAL_LM)},
    {"DiffusionLatentImageNet1KProcessor", ZOO_SAMPLES_LATENTS, ONE(ZOO_DIFFUSION)},
};
#undef ONE
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

bool zoo_input_serves(const struct zoo_input *in, enum zoo_objective objective)
{
    const struct processor *row = find(in->data_processor);
    return row && (row->objective == objective || row->second == objective);
}

const char *zoo_input_length_key(const struct zoo_input *in, bool target)
{
    const char *place = target ? in->tgt_length_place : in->length_place;
    if (place) return place;
    if (target) return "tgt_max_sequence_length of the input";
    return in->max_sequence_length == CONF_NULL ? "model.max_position_embeddings"
                                                : "max_sequence_length of the input";
}

int64_t zoo_model_n_ids(const struct zoo_model *model)
{
    const bool decoder = model->objective == ZOO_SEQ2SEQ;
    return decoder ? model->tgt_vocab_size + model->extra_ids : model->vocab_size;
}

const char *zoo_objective_loader(enum zoo_objective objective)
{
    const char *second = NULL;
    for (int i = 0; i < N_PROCESSORS; i++) {
        if (processors[i].objective == objective) return processors[i].name;
        if (processors[i].second == objective) second = processors[i].name;
    }
    return second;
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
