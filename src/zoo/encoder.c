// SPDX-License-Identifier: Apache-2.0
/* Files of the Model Zoo's encoders have many keys of their own; instead of naming each, one line
 * says what they are. */
#include "zoo_impl.h"

/* Keys that no decoder-only file has. */
static const struct {
    const char *path, *what;
} marks[] = {{"model.src_vocab_size", "T5 and the Transformer"},
             {"model.encoder_num_hidden_layers", "T5 and the Transformer"},
             {"model.d_ff", "T5 and the Transformer"},
             {"model.num_classes", "BERT"},
             {"model.encoder_nonlinearity", "BERT"},
             {"model.pooler_nonlinearity", "BERT"},
             {"model.disable_nsp", "BERT"},
             {"model.mlm_loss_scaling", "BERT"},
             {"model.num_labels", "BERT"},
             {"train_input.masked_lm_prob", "BERT"},
             {"train_input.max_cls_tokens", "BERT"}};

bool zoo_params_refuse_encoder(const struct conf_node *root, struct conf_diag *d)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const struct conf_node *node = conf_node_at(root, marks[i].path);
        if (!node) continue;
        conf_diag_error(d, node->pos, marks[i].path,
                        "a key of %s; the Model Zoo's files of encoders are not read by this "
                        "release; hint: configs/params/bert_base.yaml and bert_large.yaml keep "
                        "the time of BERT",
                        marks[i].what);
        return true;
    }
    return false;
}
