// SPDX-License-Identifier: Apache-2.0
/* Params files of diffusion transformers: both styles of the Model Zoo, sizes that follow from the
 * latents, defaults of the class, what does not go together. */
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <string.h>

#define OPTIM "optimizer: {optimizer_type: AdamW, learning_rate: 1e-3}\n"
#define INPUT(more)                                                                                \
    "train_input: {data_processor: DiffusionLatentImageNet1KProcessor, data_dir: ./d, "            \
    "batch_size: 4" more "}\n"
#define MODEL(more) "model: {hidden_size: 16, num_heads: 2, filter_size: 32" more "}\n"

/* The loader says what a file without a name is. */
TEST(diffusion_params, sizes_follow_from_latents_and_patches)
{
    struct zoo_params p = params_parsed(
        INPUT(", num_classes: 10") MODEL(", latent_size: [8, 12], patch_size: [2, 3]") OPTIM);
    T_EQ(p.model.name, ZOO_DIT);
    T_EQ(p.model.objective, ZOO_DIFFUSION);
    T_EQ(p.model.max_position_embeddings, 16);
    T_EQ(p.model.num_labels, 10);
    T_EQ(p.model.vocab_size, 11);
    T_EQ(p.model.diffusion.latent_channels, 4);
    zoo_params_fini(&p);
    p = params_parsed(INPUT("")
                          MODEL(", name: dit, vae: {latent_size: [64, 64], latent_channels: 8}, "
                                "patch_size: [4, 4], label_dropout_rate: 0") OPTIM);
    T_EQ(p.model.max_position_embeddings, 256);
    T_EQ(p.model.diffusion.latent_channels, 8);
    T_EQ(p.model.vocab_size, 1000);
    zoo_params_fini(&p);
}

TEST(diffusion_params, defaults_of_the_class)
{
    struct zoo_params p = params_parsed(INPUT("") "model: {name: dit}\n" OPTIM);
    T_EQ(p.model.hidden_size, 768);
    T_EQ(p.model.max_position_embeddings, 4); /* patches of 16 x 16 of a latent of 32 x 32 */
    T_EQ(p.model.diffusion.frequency_embedding_size, 256);
    T_NEAR(p.model.dropout_rate, 0, 0);
    T_NEAR(p.model.embedding_dropout_rate, 0.1, 0);
    T_EQ(p.model.position_embedding_type, ZOO_POSITION_LEARNED);
    T_TRUE(p.model.diffusion.use_conv_transpose_unpatchify);
    zoo_params_fini(&p);
    p = params_parsed(INPUT("") "model: {name: dit, patch_size: [1, 1]}\n" OPTIM);
    T_EQ(p.model.max_position_embeddings, 1024);
    zoo_params_fini(&p);
}

/* As the Model Zoo writes it from release 2.3 on. */
TEST(diffusion_params, the_trainer_style)
{
    static const char text[] =
        "trainer:\n"
        "  init:\n"
        "    model:\n"
        "      name: dit\n"
        "      hidden_size: 16\n"
        "      num_heads: 2\n"
        "      patch_size: [2, 2]\n"
        "      num_classes: 10\n"
        "      vae: {down_block_types: [D, D], latent_size: [8, 8], latent_channels: 4}\n"
        "      reverse_process: {sampler: {name: ddpm, variance_type: fixed_small}}\n"
        "    optimizer: {AdamW: {learning_rate: 0.0001, weight_decay: 0.0}}\n"
        "    precision: {enabled: true, fp16_type: cbfloat16, loss_scaling_factor: dynamic}\n"
        "    loop: {max_steps: 10}\n"
        "    callbacks:\n"
        "    - ScopedTrainFlags: {csx.performance.micro_batch_size: 2}\n"
        "    - ComputeNorm: {}\n"
        "  fit:\n"
        "    train_dataloader: {data_processor: DiffusionLatentImageNet1KProcessor,\n"
        "      data_dir: [./a, ./b], batch_size: 4, num_classes: 10, num_diffusion_steps: 1000,\n"
        "      image_channels: 3, split: train, use_worker_cache: true}\n";
    struct zoo_params p = params_parsed(text);
    T_EQ(p.model.max_position_embeddings, 16);
    T_EQ(p.train_input.micro_batch_size, 2);
    T_EQ(p.train_input.samples, ZOO_SAMPLES_LATENTS);
    T_TRUE(params_warn(&p, "model.reverse_process"));
    zoo_params_fini(&p);
}

/* The dump means the same job, and keys of tokens are not in it. */
TEST(diffusion_params, the_dump_reads_back)
{
    struct zoo_params p = params_parsed(INPUT("") MODEL(", name: dit, patch_size: [2, 2]") OPTIM),
                      q;
    char *first = NULL, *second = NULL;
    T_OK(zoo_params_dump(&p, &first));
    CU_ASSERT_PTR_NULL(strstr(first, "vocab_size"));
    CU_ASSERT_PTR_NOT_NULL(strstr(first, "patch_size: [2, 2]"));
    q = params_parsed(first);
    T_OK(zoo_params_dump(&q, &second));
    T_STR(first, second);
    wsc_free(first);
    wsc_free(second);
    zoo_params_fini(&p);
    zoo_params_fini(&q);
}

TEST(diffusion_params, keys_without_effect_are_named)
{
    struct zoo_params p = params_parsed(INPUT("") MODEL(", name: dit, max_position_embeddings: 77, "
                                                        "vocab_size: 9, num_segments: 3, "
                                                        "task_dropout: 0.25") OPTIM);
    T_TRUE(params_warn(&p, "model.max_position_embeddings: without effect"));
    T_TRUE(params_warn(&p, "model.vocab_size: without effect"));
    T_TRUE(params_warn(&p, "model.num_segments: without effect"));
    T_TRUE(params_warn(&p, "model.task_dropout: without effect"));
    T_EQ(p.model.max_position_embeddings, 4);
    zoo_params_fini(&p);
    p = params_parsed(
        "train_input: {data_processor: GptHDF5DataProcessor, data_dir: ./d, batch_size: 4}\n"
        "model: {vocab_size: 9, patch_size: [2, 2]}\n" OPTIM);
    T_TRUE(params_warn(&p, "model.patch_size: without effect"));
    zoo_params_fini(&p);
}

TEST(diffusion_params, what_does_not_go_together)
{
    T_TRUE(
        params_refused(INPUT("") MODEL(", name: dit, patch_size: [3, 2]") OPTIM, "do not divide"));
    T_TRUE(
        params_refused(INPUT("") MODEL(", name: dit, patch_size: [2]") OPTIM, "height and width"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, patch_size: [0, 2]") OPTIM,
                          "model.patch_size"));
    T_TRUE(params_refused(INPUT(", num_classes: 5") MODEL(", name: dit, num_classes: 6") OPTIM,
                          "classes"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, block_type: cross") OPTIM,
                          "model.block_type"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, norm_first: false") OPTIM,
                          "model.norm_first"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, var_loss: true") OPTIM, "model.var_loss"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, patch_sise: [2, 2]") OPTIM, "patch_sise"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, position_embedding_type: rotary") OPTIM,
                          "not with diffusion"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, nonlinearity: swiglu") OPTIM,
                          "not with diffusion"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: gpt2, vocab_size: 9") OPTIM,
                          "hint: model.name dit"));
    T_TRUE(params_refused("train_input: {data_processor: GptHDF5DataProcessor, data_dir: ./d, "
                          "batch_size: 4}\n" MODEL(", name: dit") OPTIM,
                          "hint: DiffusionLatentImageNet1KProcessor"));
    T_TRUE(params_refused(INPUT("") MODEL(", name: dit, objective: causal_lm") OPTIM,
                          "a diffusion transformer; supported: diffusion"));
}
