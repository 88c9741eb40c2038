/** Keys of diffusion transformers: rows of the table in params_keys.c, whose macros they use. Names
 *  and defaults are those of the Model Zoo (models/vision/dit, releases 2.2 to 2.6). Keys for
 *  initial values, the schedule of the noise and the generation of images have no effect here,
 *  because diffusion transformers have virtual time alone. */
#ifndef WSC_ZOO_DIFFUSION_KEYS_H
#define WSC_ZOO_DIFFUSION_KEYS_H

/* clang-format off */
#define ZOO_DIFFUSION_WITHOUT_EFFECT(key, text) {KEY("model." key), NO_EFFECT, DOC(text)}
/** Rows of the section `model`. */
#define ZOO_DIFFUSION_KEYS                                                                         \
    {AT("model.latent_size", model.diffusion.latent_size), SPECIAL(size), NULLABLE,                \
     DEFAULT("null"), .form = "list of height and width",                                          \
     DOC("diffusion: a latent; null: that of the section vae")},                                   \
    {AT("model.latent_channels", model.diffusion.latent_channels), INT, NULLABLE,                  \
     DEFAULT("null"), RANGE(1, 1 << 16),                                                           \
     DOC("diffusion: channels of a latent; null: those of the section vae")},                      \
    {AT("model.vae.latent_size", model.diffusion.vae_latent_size), SPECIAL(size), NULLABLE,        \
     DEFAULT("null"), .form = "list of height and width",                                          \
     DOC("diffusion: a latent of the encoder of images; null: [32, 32]")},                         \
    {AT("model.vae.latent_channels", model.diffusion.vae_latent_channels), INT, DEFAULT("4"),      \
     RANGE(1, 1 << 16), DOC("diffusion: channels of such a latent")},                              \
    {AT("model.patch_size", model.diffusion.patch_size), SPECIAL(size), NULLABLE,                  \
     DEFAULT("null"), .form = "list of height and width",                                          \
     DOC("diffusion: the part of a latent that is a token; null: [16, 16]")},                      \
    {AT("model.frequency_embedding_size", model.diffusion.frequency_embedding_size), INT,          \
     DEFAULT("256"), RANGE(1, 1 << 20),                                                            \
     DOC("diffusion: sines and cosines of a time step")},                                          \
    {AT("model.label_dropout_rate", model.diffusion.label_dropout_rate), DOUBLE, NULLABLE,         \
     DEFAULT("0.1"), RANGE(0, 1),                                                                  \
     DOC("diffusion: samples that train without their class; above 0 the table of classes has a "  \
         "row for them")},                                                                         \
    {AT("model.use_conv_patchified_embedding", model.diffusion.use_conv_patchified_embedding),     \
     BOOL, DEFAULT("false"),                                                                       \
     DOC("diffusion: patches by a convolution, which computes the same")},                         \
    {AT("model.use_conv_transpose_unpatchify", model.diffusion.use_conv_transpose_unpatchify),     \
     BOOL, DEFAULT("true"),                                                                        \
     DOC("diffusion: the output layer is a transposed convolution, with a bias for each channel; " \
         "else for each element of a patch")},                                                     \
    {KEY("model.block_type"), ONLY({"null", 0}, {"adaln_zero", 0}),                                \
     DOC("diffusion: how time step and class enter a block")},                                     \
    {KEY("model.embedding_nonlinearity"), ONLY({"null", 0}, {"silu", 0}),                          \
     DOC("diffusion: between the layers of the time step")},                                       \
    {KEY("model.norm_first"), ONLY({"null", 0}, {"true", 0}),                                      \
     DOC("diffusion: norms before attention and feed-forward network")},                           \
    {KEY("model.var_loss"), ONLY(OFF), DOC("diffusion: a variance is predicted too")},             \
    {KEY("model.reverse_process"), NO_EFFECT, DOC("diffusion: generation of images")},             \
    ZOO_DIFFUSION_WITHOUT_EFFECT("num_diffusion_steps", "diffusion: rows of a fixed table"),       \
    ZOO_DIFFUSION_WITHOUT_EFFECT("schedule_name", "diffusion: amounts of noise"),                  \
    ZOO_DIFFUSION_WITHOUT_EFFECT("beta_start", "diffusion: amounts of noise"),                     \
    ZOO_DIFFUSION_WITHOUT_EFFECT("beta_end", "diffusion: amounts of noise"),                       \
    ZOO_DIFFUSION_WITHOUT_EFFECT("init_conv_like_linear", "diffusion: initial values"),            \
    ZOO_DIFFUSION_WITHOUT_EFFECT("projection_initializer", "diffusion: initial values"),           \
    ZOO_DIFFUSION_WITHOUT_EFFECT("position_embedding_initializer", "diffusion: initial values"),   \
    ZOO_DIFFUSION_WITHOUT_EFFECT("attention_initializer", "diffusion: initial values"),            \
    ZOO_DIFFUSION_WITHOUT_EFFECT("timestep_embedding_initializer", "diffusion: initial values"),   \
    ZOO_DIFFUSION_WITHOUT_EFFECT("label_embedding_initializer", "diffusion: initial values"),      \
    ZOO_DIFFUSION_WITHOUT_EFFECT("head_initializer", "diffusion: initial values"),                 \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.down_block_types", "encoder of images, which does not run"), \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.up_block_types", "decoder of images, which does not run"),   \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.block_out_channels", "encoder of images"),                   \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.layers_per_block", "encoder of images"),                     \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.act_fn", "encoder of images"),                               \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.norm_num_groups", "encoder of images"),                      \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.sample_size", "encoder of images"),                          \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.scaling_factor", "encoder of images"),                       \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.in_channels", "encoder of images"),                          \
    ZOO_DIFFUSION_WITHOUT_EFFECT("vae.out_channels", "decoder of images")
/** Rows of an input. */
#define ZOO_DIFFUSION_INPUT(in)                                                                    \
    {FIELD(in.num_classes), INT, NULLABLE, DEFAULT("null"), RANGE(1, 1 << 20),                     \
     DOC("diffusion: classes of the images, where the model does not say it")},                    \
    {KEY(#in ".image_size"), NO_EFFECT, DOC("images, of which the files have latents")},           \
    {KEY(#in ".image_channels"), NO_EFFECT, DOC("images, of which the files have latents")},       \
    {KEY(#in ".vae_scaling_factor"), NO_EFFECT, DOC("factor of the latents' values")},             \
    {KEY(#in ".num_diffusion_steps"), NO_EFFECT, DOC("range of the time steps")},                  \
    {KEY(#in ".split"), NO_EFFECT, DOC("which of the files; data_dir counts")},                    \
    {KEY(#in ".transforms"), NO_EFFECT, DOC("changes of images")},                                 \
    {KEY(#in ".noaugment"), NO_EFFECT, DOC("changes of images")}
/* clang-format on */
#endif
