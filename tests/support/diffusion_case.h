/** Diffusion transformers for the tests of model, cycles and cluster: the tiny run of small_run.h
 *  as one, and params of published sizes as the Model Zoo writes them. */
#ifndef WSC_TEST_DIFFUSION_CASE_H
#define WSC_TEST_DIFFUSION_CASE_H
#include "small_run.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/** Sets that make a diffusion transformer of the tiny run: 16 patches of 2 x 2 x 4, 10 classes. */
#define DIFFUSION_SETS                                                                             \
    "model.name=dit", "train_input.data_processor=DiffusionLatentImageNet1KProcessor",             \
        "model.latent_size=[8, 8]", "model.patch_size=[2, 2]", "model.num_classes=10",             \
        "model.frequency_embedding_size=12", "model.position_embedding_type=fixed"

/** Params of DiT with patches of 2 x 2 on latents of 32 x 32 x 4, @p C features in @p L blocks; end
 *  with zoo_params_fini(). */
static inline struct zoo_params diffusion_params(int64_t C, int64_t L, int64_t heads)
{
    char text[1200];
    struct zoo_params p = {0};
    const int n = snprintf(
        text, sizeof text,
        "train_input: {data_processor: DiffusionLatentImageNet1KProcessor, data_dir: [./a, ./b],\n"
        "              batch_size: 256, image_size: [256, 256], image_channels: 3, split: train,\n"
        "              num_classes: 1000, num_diffusion_steps: 1000, num_workers: 8}\n"
        "model:\n"
        "    vae: {latent_size: [32, 32], latent_channels: 4, act_fn: silu}\n"
        "    hidden_size: %lld\n"
        "    num_hidden_layers: %lld\n"
        "    num_heads: %lld\n"
        "    filter_size: %lld\n"
        "    patch_size: [2, 2]\n"
        "    use_conv_patchified_embedding: true\n"
        "    position_embedding_type: fixed\n"
        "    embedding_nonlinearity: silu\n"
        "    encoder_nonlinearity: gelu\n"
        "    frequency_embedding_size: 256\n"
        "    label_dropout_rate: 0.1\n"
        "    norm_first: true\n"
        "    schedule_name: linear\n"
        "    mixed_precision: true\n"
        "    reverse_process: {sampler: {name: ddpm}, pipeline: {guidance_scale: 1.0}}\n"
        "optimizer: {optimizer_type: AdamW, learning_rate: 1e-4}\n",
        (long long)C, (long long)L, (long long)heads, (long long)(4 * C));
    CU_ASSERT_FATAL(n > 0 && n < (int)sizeof text);
    T_OK(zoo_params_parse(&p, "dit.yaml", text, strlen(text), NULL, 0));
    return p;
}
#endif
