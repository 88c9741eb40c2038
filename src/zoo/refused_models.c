// SPDX-License-Identifier: Apache-2.0
/* Refuses Model Zoo files of models that are not transformers, or that are trained in another way.
 * They have many keys of their own. Instead of one error per key, the first mark of the table below
 * that a file has gives one error that names the kind of file. Marks with a value (name of a model,
 * of a data loader) come first, because they are more specific. zoo_params.c calls before any key
 * is read. */
#include "params_passes.h"

#include <string.h>
#include <strings.h>

/* The kind of a file; `kinds` has its message and hint. */
enum kind { FC_MNIST, CLASSIFIER, RETRIEVAL, PICTURES, LATENT, ROBERTA, GENES, LAYERS };

static const struct {
    const char *what, *hint;
} kinds[] = {[FC_MNIST] = {"a file of FC_MNIST, a network without attention", ""},
             [CLASSIFIER] = {"a file of a classifier of images", ""},
             [RETRIEVAL] = {"a file of DPR, two encoders that are trained together", ""},
             [PICTURES] = {"a file of a model of pictures and texts", ""},
             [LATENT] = {"a file with multi-head latent attention",
                         "; hint: multiquery_attention with num_kv_groups"},
             [ROBERTA] = {"the registry's name of RoBERTa",
                          "; hint: bert with disable_nsp: true and "
                          "mask_padding_in_positional_embed: true"},
             [GENES] = {"a file whose loader reads genomes as codons",
                        "; hint: write the samples as HDF5 and name GptHDF5DataProcessor"},
             [LAYERS] = {"a file of the demonstration of the layers API", ""}};

/* A mark is the presence of a key or, with `value`, a value that begins with it. */
static const struct {
    const char *path, *value;
    enum kind kind;
} marks[] = {{"model.name", "fc_mnist", FC_MNIST},
             {"model.name", "roberta", ROBERTA},
             {"train_input.data_processor", "MNIST", FC_MNIST},
             {"eval_input.data_processor", "MNIST", FC_MNIST},
             {"train_input.data_processor", "HFData", CLASSIFIER},
             {"model.hidden_sizes", NULL, FC_MNIST},
             {"model.activation_fn", NULL, FC_MNIST},
             {"model.image_size", NULL, CLASSIFIER},
             {"model.attention_module", "multilatent_attention", LATENT},
             {"train_input.data_processor", "Genomic", GENES},
             {"model.q_encoder", NULL, RETRIEVAL},
             {"model.image_model", NULL, PICTURES},
             {"model.image_model_list", NULL, PICTURES},
             {"train_input.seq_length", NULL, LAYERS}};

/* True when the value begins with @p value in any case, because versions add endings. */
static bool begins(const struct conf_node *node, const char *value)
{
    return node->kind == CONF_NODE_SCALAR && !strncasecmp(node->text, value, strlen(value));
}

bool zoo_params_refuse(const struct conf_node *root, struct conf_diag *d)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const struct conf_node *node = conf_node_at(root, marks[i].path);
        if (conf_node_is_null(node)) continue;
        if (marks[i].value && !begins(node, marks[i].value)) continue;
        conf_diag_error(d, node->pos, marks[i].path, "%s, which this release does not support%s",
                        kinds[marks[i].kind].what, kinds[marks[i].kind].hint);
        return true;
    }
    return false;
}
