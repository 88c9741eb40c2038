// SPDX-License-Identifier: Apache-2.0
/* Params files of gigaGPT. The values of the runconfig style were written down from gigaGPT's
 * program, not from the conversion. */
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/mem.h>
#include <wsc/model.h>
#include <wsc/zoo.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum wsc_err parse(struct zoo_params *p, const char *text, const char *set)
{
    const struct conf_set sets[] = {{.text = set ? set : ""}};
    return zoo_params_parse(p, "t.yaml", text, strlen(text), sets, set ? 1 : 0);
}

static char *dump_of(const char *text, const char *set)
{
    struct zoo_params p;
    char *dump = NULL;
    T_OK(parse(&p, text, set));
    T_OK(zoo_params_dump(&p, &dump));
    zoo_params_fini(&p);
    return dump;
}

static void check_equal(const char *a, const char *set_a, const char *b, const char *set_b)
{
    char *one = dump_of(a, set_a), *other = dump_of(b, set_b);
    T_STR(one, other);
    wsc_free(one);
    wsc_free(other);
}

static const char giga[] = "width: 96\ndepth: 8\nheads: 3\nvocab_size: 65\ninit_std: 0.01\n"
                           "max_position_embeddings: 16\nsequence_length: 16\nbias: false\n"
                           "out_dir: here\ndataset: /texts/poems\nbatch_size: 12\nseed: 7\n"
                           "num_steps: 50\ncheckpoint_steps: 25\nlearning_rate: 3.0e-4\n"
                           "warmup_steps: 10\nweight_decay: 0.2\nmax_gradient_norm: 0.5\n"
                           "adam_epsilon: 1.0e-9\nnum_csx: 4\nprecision_opt_level: 1\n"
                           "checkpoint_path: a.mdl\nbackend: CSX\n";

#define INPUT(file)                                                                                \
    "{data_processor: NumpyMmapDataset, data_dir: /texts/poems/" file ", batch_size: 12, "         \
    "max_sequence_length: 16, num_workers: 8"
#define NORMAL(std) "{name: normal, mean: 0.0, std: " std "}\n"
static const char runconfig[] = "train_input: " INPUT(
    "train.bin") ", shuffle: true, shuffle_seed: 7}\n"
                 "eval_input: " INPUT(
                     "val.bin") "}\n"
                                "model:\n  name: gpt2\n  vocab_size: 65\n  hidden_size: 96\n  "
                                "num_hidden_layers: 8\n"
                                "  num_heads: 3\n  filter_size: 384\n  max_position_embeddings: "
                                "16\n"
                                "  position_embedding_type: learned\n  share_embedding_weights: "
                                "true\n"
                                "  layer_norm_epsilon: 1.0e-5\n  nonlinearity: gelu\n  "
                                "dropout_rate: 0.0\n"
                                "  attention_dropout_rate: 0.0\n  "
                                "use_projection_bias_in_attention: false\n"
                                "  use_ffn_bias_in_attention: false\n  use_ffn_bias: false\n  "
                                "use_bias_in_output: false\n"
                                "  mixed_precision: true\n  fp16_type: bfloat16\n"
                                "  initializer: " NORMAL("0.01") "  embedding_initializer: " NORMAL(
                                    "0.01") "  output_layer_initializer: " NORMAL("0.0025") /* 0.01
                                                                                               /
                                                                                               sqrt(2
                                                                                               8) */
    "optimizer:\n  optimizer_type: AdamW\n  betas: [0.9, 0.95]\n  eps: 1.0e-9\n"
    "  weight_decay: 0.2\n  correct_bias: true\n  max_gradient_norm: 0.5\n  learning_rate:\n"
    "  - {scheduler: Linear, initial_learning_rate: 0.0, end_learning_rate: 3.0e-4, "
    "total_iters: 10}\n"
    "  - {scheduler: CosineDecay, initial_learning_rate: 3.0e-4, "
    "end_learning_rate: 2.9999999999999997e-5, total_iters: 40}\n"
    "runconfig: {model_dir: here, max_steps: 50, checkpoint_steps: 25, checkpoint_path: a.mdl, "
    "log_steps: 1, num_csx: 4, seed: 7, precision_opt_level: 1}\n";

TEST(zoo_giga_gpt, means_what_the_runconfig_style_means)
{
    check_equal(giga, NULL, runconfig, NULL);
}

/* Names of either style, also after the keys of the file were replaced. */
TEST(zoo_giga_gpt, sets_take_names_of_both_styles)
{
    struct zoo_params p;
    T_OK(parse(&p, giga, "width=192"));
    T_EQ(p.model.hidden_size, 192);
    T_EQ(p.model.filter_size, 768);
    zoo_params_fini(&p);
    T_OK(parse(&p, giga, "model.hidden_size=192"));
    T_EQ(p.model.hidden_size, 192);
    T_EQ(p.model.filter_size, 384);
    zoo_params_fini(&p);
    check_equal(giga, "decay_steps=30", runconfig,
                "optimizer.learning_rate=[{scheduler: Linear, initial_learning_rate: 0.0, "
                "end_learning_rate: 3.0e-4, total_iters: 10}, {scheduler: CosineDecay, "
                "initial_learning_rate: 3.0e-4, end_learning_rate: 2.9999999999999997e-5, "
                "total_iters: 30}]");
    CU_ASSERT(parse(&p, giga, "trainer.init.seed=1") == WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "the file is one of gigaGPT"));
    zoo_params_fini(&p);
    CU_ASSERT(parse(&p, runconfig, "width=192") == WSC_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "width: unknown key"));
    zoo_params_fini(&p);
}

/* The defaults of its dataclasses. */
TEST(zoo_giga_gpt, has_defaults_of_its_own)
{
    struct zoo_params p;
    T_OK(parse(&p, "depth: 12\nreduction_leaf: 2\n", NULL));
    T_EQ(p.model.hidden_size, 768);
    T_EQ(p.model.num_heads, 12);
    T_EQ(p.model.vocab_size, 50257);
    T_EQ(p.model.max_position_embeddings, 2048);
    T_EQ(p.train_input.batch_size, 120);
    T_EQ(p.eval_input.batch_size, 120);
    T_EQ(p.runconfig.max_steps, 10000);
    T_EQ(p.runconfig.checkpoint_steps, 1000);
    T_EQ(p.reduction_leaf, 2);
    T_EQ(p.optimizer.learning_rate.node[1].total_iters, 1500);
    T_EQ(p.optimizer.learning_rate.node[2].total_iters, 8500);
    CU_ASSERT(p.optimizer.weight_decay.node[0].initial == 0.1);
    CU_ASSERT(p.optimizer.max_gradient_norm == 1);
    CU_ASSERT(p.model.use_ffn_bias && p.model.output_layer_initializer.std == 0.02 / sqrt(24.0));
    T_STR(p.eval_input.data_dir[0], "openwebtext/val.bin");
    T_STR(p.runconfig.model_dir, "out");
    zoo_params_fini(&p);
    T_OK(parse(&p, "depth: 12\nnum_steps: 100\n", NULL)); /* ends within the warm-up */
    T_EQ(p.optimizer.learning_rate.node[2].total_iters, 1);
    zoo_params_fini(&p);
}

/* The sizes of the published files. A block has 12 matrices of width x width, and 13 vectors: the
 * biases and two norms. */
TEST(zoo_giga_gpt, published_models_have_their_parameters)
{
    static const int64_t published[][3] = {
        {768, 10, 12}, {2048, 24, 16}, {5120, 40, 40}, {8192, 80, 64}, {12288, 96, 96}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const int64_t width = published[i][0], depth = published[i][1];
        char text[128];
        struct zoo_params p;
        struct model *m = NULL;
        (void)snprintf(text, sizeof text, "width: %lld\ndepth: %lld\nheads: %lld\n",
                       (long long)width, (long long)depth, (long long)published[i][2]);
        T_OK(parse(&p, text, NULL));
        T_OK(model_create(&m, &p, HW_STREAM_BLOCK));
        T_EQ(m->n_params, (50257 + 2048 + 2) * width + depth * (12 * width * width + 13 * width));
        model_destroy(&m);
        zoo_params_fini(&p);
    }
}
