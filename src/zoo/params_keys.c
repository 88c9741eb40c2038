// SPDX-License-Identifier: Apache-2.0
/* The keys of params files: those of the decoder-only GPT family of the Model Zoo ("runconfig"
 * style, release 2.2) with their defaults, and four keys of our own at the top (log_sparsity,
 * trace_hash, reduction_leaf, lanes).  Where a row has a field, the path is its name in struct
 * zoo_params. The macros below are abbreviations of the members of struct conf_key; both inputs
 * share one list of rows (INPUT).  Adding a key: one row here and one member there. */
#include "diffusion_keys.h"
#include "input_keys.h"
#include "params_values.h"

#include <wsc/hw.h>

#include <float.h>

#define FIELD(f)    .path = #f, .offset = offsetof(struct zoo_params, f)
#define AT(p, f)    .path = (p), .offset = offsetof(struct zoo_params, f)
#define KEY(p)      .path = (p)
#define INT         .type = CONF_T_INT
#define DOUBLE      .type = CONF_T_DOUBLE
#define BOOL        .type = CONF_T_BOOL, .nullable = true
#define STRING      .type = CONF_T_STRING
#define CHOICE      .type = CONF_T_CHOICE
#define SPECIAL(w)  .type = CONF_T_SPECIAL, .read = zoo_read_##w, .write = zoo_write_##w
#define NULLABLE    .nullable = true
#define NO_TIME     .no_time = true
#define NO_VALUES   .no_values = true
#define PAST(w)     .past = CONF_PAST_##w
#define REQUIRED    .required = true
#define RANGE(a, b) .min = (a), .max = (b)
#define ABOVE_0     .positive = true, .max = DBL_MAX
#define NO_EFFECT   .type = CONF_T_ANY, .status = CONF_NO_EFFECT
#define NOISE       .type = CONF_T_ANY, .status = CONF_NOISE
#define ONLY(...)   .type = CONF_T_CHOICE, .status = CONF_ONLY, .choices = CONF_CHOICES(__VA_ARGS__)
#define OFF                                                                                        \
    {"null", 0},                                                                                   \
    {                                                                                              \
        "false", 0                                                                                 \
    }
#define DEFAULT(t) .fallback = (t)
#define DOC(t)     .doc = (t)
#define SCHEDULE   "number, scheduler, or list of schedulers in sequence"

/* Optimizers that take a key. */
#define TYPE(name) (1U << ZOO_##name)
#define WITH_BETAS                                                                                 \
    (TYPE(ADAMW) | TYPE(ADAM) | TYPE(LAMB) | TYPE(LION) | TYPE(ADAMAX) | TYPE(NADAM) | TYPE(RADAM))
#define WITH_EPS                                                                                   \
    (TYPE(ADAMW) | TYPE(ADAM) | TYPE(ADAFACTOR) | TYPE(LAMB) | TYPE(ADADELTA) | TYPE(ADAGRAD) |    \
     TYPE(ADAMAX) | TYPE(NADAM) | TYPE(RADAM) | TYPE(RMSPROP))
#define WITH_DECAY (~TYPE(RPROP))

/* Nonlinearities of a router. */
#define ROUTER_MAPS                                                                                \
    CONF_CHOICES({"softmax", ZOO_ROUTER_SOFTMAX}, {"sigmoid", ZOO_ROUTER_SIGMOID},                 \
                 {"sinkhorn", ZOO_ROUTER_SINKHORN})

/* One of the 16-bit formats. */
#define FORMAT_CHOICE(id, word, name, ...) {name, NUM_HALF_##id},

#define MAX_STEPS   ZOO_MOST_STEPS
#define MAX_SAMPLES 1e9

/* clang-format off */
#define INITIALIZER(f, text)                                                                       \
    {FIELD(f), SPECIAL(initializer), NO_TIME, PAST(NOTHING),                                       \
     .form = "name, or map with name, mean, std, a, b, val", DOC(text)}

/* Activations of the feed-forward networks of blocks, of decoders as of encoders. */
#define BLOCK_FUNCTIONS                                                                            \
    {"gelu", ZOO_GELU}, {"gelu_new", ZOO_GELU_NEW}, {"relu", ZOO_RELU}, {"silu", ZOO_SILU},        \
        {"quick_gelu", ZOO_QUICK_GELU}, {"squared_gelu", ZOO_SQUARED_GELU},                        \
        {"squared_relu", ZOO_SQUARED_RELU}, {"leaky_relu", ZOO_LEAKY_RELU},                        \
        {"relu6", ZOO_RELU6}, {"tanh", ZOO_TANH}, {"sigmoid", ZOO_SIGMOID}, {"mish", ZOO_MISH},    \
        {"linear", ZOO_LINEAR}, {"swiglu", ZOO_SWIGLU}, {"geglu", ZOO_GEGLU},                      \
        {"geglu_new", ZOO_GEGLU_NEW}, {"reglu", ZOO_REGLU}, {"liglu", ZOO_LIGLU},                  \
        {"swish", ZOO_SILU}, {"gelu_fast", ZOO_GELU_NEW}

static const struct conf_key keys[] = {
    INPUT(train_input),
    INPUT(eval_input),

    {FIELD(model.vocab_size), INT, REQUIRED, RANGE(1, 512000), DOC("tokens of the vocabulary")},
    {FIELD(model.hidden_size), INT, DEFAULT("768"), RANGE(1, 1 << 20), DOC("width")},
    {FIELD(model.num_hidden_layers), INT, DEFAULT("12"), RANGE(1, 8192),
     DOC("transformer blocks")},
    {FIELD(model.num_heads), INT, DEFAULT("12"), RANGE(1, 1 << 20),
     DOC("attention heads; they divide hidden_size")},
    {FIELD(model.filter_size), INT, DEFAULT("3072"), RANGE(1, 1 << 20),
     DOC("inner width of the feed-forward network")},
    {FIELD(model.max_position_embeddings), INT, DEFAULT("1024"), RANGE(1, 1 << 20),
     DOC("sequence length, and rows of the learned position table")},
    {FIELD(model.objective), CHOICE, DEFAULT("causal_lm"),
     .choices = CONF_CHOICES({"causal_lm", ZOO_CAUSAL_LM}, {"masked_lm", ZOO_MASKED_LM},
                 {"classification", ZOO_CLASSIFICATION}, {"regression", ZOO_REGRESSION},
                 {"token_classification", ZOO_TOKEN_CLASSIFICATION},
                 {"summarization", ZOO_SUMMARIZATION}, {"span", ZOO_SPAN},
                 {"seq2seq", ZOO_SEQ2SEQ}, {"diffusion", ZOO_DIFFUSION}),
     DOC("what is trained; the first is of decoders, seq2seq of an encoder and a decoder, diffusion "
         "of diffusion transformers, the others of encoders; the Model Zoo's files say it by "
         "their data loader")},
    {FIELD(model.max_predictions_per_seq), INT, DEFAULT("=train_input.max_predictions_per_seq"),
     RANGE(1, 1 << 20),
     DOC("masked_lm: positions of a sequence that the head computes")},
    {FIELD(model.disable_nsp), BOOL, DEFAULT("false"),
     DOC("masked_lm: no pooler and no head that predicts whether two sentences follow each other")},
    {FIELD(model.mlm_loss_weight), DOUBLE, PAST(TRAINING), NO_TIME, DEFAULT("1.0"), ABOVE_0,
     DOC("masked_lm: factor of the losses of masked tokens, summed over a sequence")},
    {FIELD(model.mlm_loss_scaling), CHOICE, PAST(TRAINING), NO_TIME, DEFAULT("batch_size"),
     .choices = CONF_CHOICES({"batch_size", ZOO_LOSS_BATCH_SIZE},
                 {"num_masked", ZOO_LOSS_NUM_TOKENS},
                 {"precomputed_num_masked", ZOO_LOSS_NUM_TOKENS}),
     DOC("masked_lm: losses times mlm_loss_weight over sequences, or their mean over masked tokens "
         "of the batch; the latter needs disable_nsp")},
#define FUNCTIONS                                                                                  \
    .choices = CONF_CHOICES({"null", ZOO_SAME_FUNCTION}, {"gelu", ZOO_GELU},                       \
                 {"gelu_new", ZOO_GELU_NEW}, {"relu", ZOO_RELU}, {"silu", ZOO_SILU},               \
                 {"quick_gelu", ZOO_QUICK_GELU}, {"leaky_relu", ZOO_LEAKY_RELU},                   \
                 {"tanh", ZOO_TANH}, {"sigmoid", ZOO_SIGMOID}, {"linear", ZOO_LINEAR})
    {FIELD(model.pooler_nonlinearity), CHOICE, DEFAULT("null"), FUNCTIONS,
     DOC("activation of the pooler; null: nonlinearity")},
    {FIELD(model.mlm_nonlinearity), CHOICE, DEFAULT("null"), FUNCTIONS,
     DOC("activation before the output layer of masked_lm; null: nonlinearity")},
#undef FUNCTIONS
    {FIELD(model.num_segments), INT, NULLABLE, DEFAULT("null"), RANGE(0, 1024),
     DOC("encoders: token types; null: 2, with disable_nsp none")},
    {FIELD(model.num_labels), INT, DEFAULT("2"), RANGE(1, 1 << 20),
     DOC("classes of classification and token_classification; of images of diffusion, where the "
         "default is train_input.num_classes, else 1000")},
    {KEY("model.problem_type"), ONLY({"null", 0}, {"single_label_classification", 0},
     {"regression", 0}), DOC("regression: the same as objective regression")},
    {KEY("model.freeze_pretrained_model"), ONLY(OFF),
     DOC("only the head trains; `freeze: [bert_encoder]` does that")},
    {FIELD(model.use_cls_bias), BOOL, DEFAULT("true"),
     DOC("summarization: bias of the classifier")},
    {FIELD(model.include_padding_in_loss), BOOL, NO_TIME, DEFAULT("false"),
     DOC("token_classification: padding counts in the loss too, with class 0; then the loss is "
         "divided by the tokens of a sequence as well")},
    {FIELD(model.pad_token_id), INT, NO_TIME, DEFAULT("0"), RANGE(0, 1 << 20),
     DOC("encoders: token whose embedding lookups do not train")},
    {FIELD(model.mask_padding_in_positional_embed), BOOL, DEFAULT("false"),
     DOC("encoders: positions count the tokens that are not pad_token_id")},
    {FIELD(model.use_final_layer_norm), BOOL, DEFAULT("false"),
     DOC("encoders: a norm after the last block")},
    {FIELD(model.token_dropout), BOOL, NO_TIME, DEFAULT("false"),
     DOC("encoders: embeddings of mask_token_id are 0, the others of the sequence scaled up")},
    {FIELD(model.mask_token_id), INT, NO_TIME, NULLABLE, DEFAULT("null"), RANGE(0, 1 << 20),
     DOC("token that token_dropout sets to 0")},
    {KEY("model.use_ffn_bias_in_mlm"), ONLY({"null", 0}, {"true", 0}),
     DOC("bias before the output layer of masked_lm")},
    {FIELD(model.label_smoothing), DOUBLE, PAST(TRAINING), NULLABLE, DEFAULT("0"), RANGE(0, 1),
     DOC("fraction of the uniform distribution in the labels, in training")},
    {FIELD(model.tgt_vocab_size), INT, NULLABLE, DEFAULT("null"), RANGE(1, 512000),
     DOC("seq2seq: tokens of the target's vocabulary; null: vocab_size")},
    {FIELD(model.extra_ids), INT, NULLABLE, DEFAULT("0"), RANGE(0, 1 << 16),
     DOC("seq2seq: sentinels after the tokens of each vocabulary")},
    {FIELD(model.decoder_num_hidden_layers), INT, NULLABLE, DEFAULT("null"), RANGE(1, 4094),
     DOC("seq2seq: blocks of the decoder; null: num_hidden_layers, those of the encoder")},
    {FIELD(model.tgt_max_position_embeddings), INT, NULLABLE, DEFAULT("null"), RANGE(1, 1 << 20),
     DOC("seq2seq: rows of the decoder's position table; null: tgt_max_sequence_length")},
    {FIELD(model.d_kv), INT, NULLABLE, DEFAULT("null"), RANGE(1, 1 << 20),
     DOC("seq2seq: width of a head; null: attention_inner_dim / num_heads")},
    {FIELD(model.relative_attention_num_buckets), INT, NULLABLE, DEFAULT("32"), RANGE(4, 1 << 16),
     DOC("relative positions: buckets of distances, an even number; of decoders alone "
         "num_relative_attention_buckets says the same")},
    {FIELD(model.decoder_nonlinearity), CHOICE, DEFAULT("null"),
     .choices = CONF_CHOICES({"null", ZOO_SAME_FUNCTION}, BLOCK_FUNCTIONS),
     DOC("seq2seq: activation of the decoder, the encoder's in this release")},
    {FIELD(model.share_encoder_decoder_embedding), BOOL, DEFAULT("true"),
     DOC("seq2seq: one table of tokens for encoder and decoder")},
    {FIELD(model.use_pre_encoder_decoder_dropout), BOOL, PAST(TRAINING), NO_TIME, DEFAULT("false"),
     DOC("seq2seq: dropout twice after the embeddings")},
    {FIELD(model.use_pre_encoder_decoder_layer_norm), BOOL, DEFAULT("true"),
     DOC("seq2seq: norms before the parts of a block, not after the sums")},
    {FIELD(model.use_dropout_outside_residual_path), BOOL, PAST(TRAINING), NO_TIME, DEFAULT("true"),
     DOC("seq2seq: dropout after the last norms of encoder and decoder")},
    {FIELD(model.use_transformer_initialization), BOOL, PAST(NOTHING), NO_TIME, DEFAULT("false"),
     DOC("seq2seq: uniform initial weights, and scaled_dot_product instead of dot_product")},
    {FIELD(model.initializer_factor), DOUBLE, PAST(NOTHING), NO_TIME, NULLABLE, DEFAULT("1.0"),
     ABOVE_0,
     DOC("seq2seq: factor of the initial deviations")},
    {KEY("model.tie_encoder_decoder"), ONLY(OFF), DOC("one set of blocks for both")},
    ZOO_DIFFUSION_KEYS,
    {KEY("model.use_cache"), ONLY(OFF), DOC("keys and values of earlier calls")},
    {FIELD(model.decoder_start_token_id), INT, PAST(NOTHING), NO_TIME, NULLABLE, DEFAULT("0"),
     RANGE(0, 1 << 22),
     DOC("seq2seq: first token of every target in generation; samples have their own")},
    {FIELD(model.name), SPECIAL(family), PAST(NOTHING), .form = "family of the Model Zoo",
     DOC("what the file's other keys do not say, see docs/FAMILIES.md; without it gpt2, or gptj "
         "when residual_dropout_rate or use_untied_layer_norm are given")},
    {FIELD(model.use_untied_layer_norm), BOOL, DEFAULT("false"),
     DOC("parallel blocks: a norm of its own for the feed-forward network")},
    {FIELD(model.norm_first_sandwich), BOOL, DEFAULT("false"),
     DOC("norms also after attention and feed-forward network")},
    {FIELD(model.position_embedding_type), CHOICE, DEFAULT("learned"),
     .choices = CONF_CHOICES({"learned", ZOO_POSITION_LEARNED}, {"null", ZOO_POSITION_NONE},
                 {"fixed", ZOO_POSITION_FIXED}, {"rotary", ZOO_POSITION_ROTARY},
                 {"alibi", ZOO_POSITION_ALIBI}, {"relative", ZOO_POSITION_RELATIVE},
                 {"learned_absolute", ZOO_POSITION_LEARNED}),
     DOC("how positions enter")},
    {FIELD(model.rotary_dim), INT, NULLABLE, DEFAULT("null"), RANGE(2, 1 << 20),
     DOC("rotary: rotated dimensions of a head, an even number; null: a quarter of the head")},
    {FIELD(model.rope_theta), DOUBLE, NO_TIME, NULLABLE, DEFAULT("10000"), ABOVE_0,
     DOC("rotary: base of the frequencies")},
    {FIELD(model.pos_scaling_factor), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), ABOVE_0,
     DOC("rotary and ALiBi: positions are divided by it")},
    {FIELD(model.pos_scaling_type), CHOICE, NO_TIME, NULLABLE, DEFAULT("linear"),
     .choices = CONF_CHOICES({"linear", ZOO_ROPE_LINEAR}, {"llama3", ZOO_ROPE_LLAMA3},
                 {"yarn", ZOO_ROPE_YARN}, {"longrope", ZOO_ROPE_LONGROPE}),
     DOC("rotary: how the frequencies of longer sequences follow; longrope by lists of divisors, "
         "the others by pos_scaling_factor")},
#define ROPE(name) FIELD(model.pos_scaling_extra_args.name)
    {ROPE(low_freq_factor), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), ABOVE_0, DOC("llama3")},
    {ROPE(high_freq_factor), DOUBLE, NO_TIME, NULLABLE, DEFAULT("4.0"), ABOVE_0, DOC("llama3")},
    {ROPE(beta_fast), DOUBLE, NO_TIME, NULLABLE, DEFAULT("32"), ABOVE_0, DOC("yarn")},
    {ROPE(beta_slow), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1"), ABOVE_0, DOC("yarn")},
    {ROPE(extrapolation_factor), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), RANGE(0, 1),
     DOC("yarn")},
    {ROPE(mscale_a), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0.1"), RANGE(0, 100), DOC("yarn")},
    {ROPE(mscale_b), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), RANGE(0, 100), DOC("yarn")},
    {ROPE(original_max_position_embeddings), INT, NO_TIME, NULLABLE, DEFAULT("null"), RANGE(1,
     1 << 30),
     DOC("llama3, yarn and longrope: sequence length before stretching; llama3 without it: 8192")},
    {ROPE(short_factor), SPECIAL(factors), NO_TIME, NULLABLE, DEFAULT("null"),
     .form = "list of rotary_dim / 2 numbers",
     DOC("longrope: divisors of the frequencies where max_position_embeddings is not longer than "
         "original_max_position_embeddings")},
    {ROPE(long_factor), SPECIAL(factors), NO_TIME, NULLABLE, DEFAULT("null"),
     .form = "list of rotary_dim / 2 numbers", DOC("longrope: divisors where it is longer")},
    {ROPE(short_mscale), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0"), RANGE(0, 1e6),
     DOC("longrope: factor of cosines and sines with short_factor; 0: attention_factor")},
    {ROPE(long_mscale), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0"), RANGE(0, 1e6),
     DOC("longrope: factor of cosines and sines with long_factor; 0: attention_factor")},
    {ROPE(attention_factor), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0"), RANGE(0, 1e6),
     DOC("longrope: factor of cosines and sines; 0: sqrt(1 + ln(max / original) / ln(original)) "
         "for longer sequences, else 1")},
#undef ROPE
    {FIELD(model.nonlinearity), CHOICE, DEFAULT("gelu"),
     .choices = CONF_CHOICES(BLOCK_FUNCTIONS, {"null", ZOO_LINEAR}),
     DOC("activation of the feed-forward network; the *glu ones have a second linear layer")},
    {FIELD(model.norm_type), CHOICE, DEFAULT("layernorm"),
     .choices = CONF_CHOICES({"layernorm", ZOO_LAYERNORM},
                             {"biasless-layernorm", ZOO_BIASLESS_LAYERNORM},
                             {"rmsnorm", ZOO_RMSNORM}),
     DOC("kind of normalisation")},
    {FIELD(model.embedding_layer_norm), BOOL, DEFAULT("false"), DOC("norm after the embeddings")},
    {FIELD(model.attention_module), CHOICE, DEFAULT("aiayn_attention"),
     .choices = CONF_CHOICES({"aiayn_attention", ZOO_MULTIHEAD},
                             {"multiquery_attention", ZOO_MULTIQUERY}),
     DOC("heads of keys and values: one per head, or extra_attention_params.num_kv_groups")},
    {AT("model.extra_attention_params.num_kv_groups", model.num_kv_groups), INT, NULLABLE,
     DEFAULT("null"), RANGE(1, 1 << 20),
     DOC("heads of keys and values, a divisor of num_heads; multiquery_attention without it: 1")},
    {FIELD(model.attention_inner_dim), INT, NULLABLE, DEFAULT("null"), RANGE(1, 1 << 20),
     DOC("width of all heads together, a multiple of num_heads; null: hidden_size")},
    {FIELD(model.attention_type), CHOICE, NO_TIME, DEFAULT("scaled_dot_product"),
     .choices = CONF_CHOICES({"scaled_dot_product", ZOO_SCALED_DOT_PRODUCT},
                 {"dot_product", ZOO_DOT_PRODUCT}),
     DOC("scores divided by the root of the head's width, or not")},
    {FIELD(model.attention_sliding_window_length), INT, NULLABLE, DEFAULT("null"),
     RANGE(1, 1 << 30), DOC("a token sees itself and that many before; null: all before")},
    {FIELD(model.sliding_window_every_other_decoder_layer), BOOL, DEFAULT("false"),
     DOC("the window holds in layers 0, 2, 4, ... only")},
    {FIELD(model.attention_sink_tokens), INT, NULLABLE, DEFAULT("0"), RANGE(0, 1 << 20),
     DOC("first tokens of a sequence that every token sees beside its window")},
    {FIELD(model.attention_logit_softcapping), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, 1e6),
     DOC("c of c tanh(score / c) before the softmax; 0 or null: off")},
    {FIELD(model.final_logit_softcapping), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, 1e6),
     DOC("c of c tanh(logit / c); 0 or null: off")},
    {FIELD(model.moe.num_experts), INT, NULLABLE, DEFAULT("0"), RANGE(0, 1024),
     DOC("experts of the feed-forward network that tokens choose from; 0: no mixture")},
    {FIELD(model.moe.num_shared_experts), INT, NULLABLE, DEFAULT("0"), RANGE(0, 1024),
     DOC("further experts that take every token")},
    {FIELD(model.moe.top_k), INT, NULLABLE, DEFAULT("1"), RANGE(1, 1024),
     DOC("experts of a token")},
    {FIELD(model.moe.load_balancing_loss_coef), DOUBLE, PAST(TRAINING), NULLABLE, DEFAULT("0"),
     RANGE(0, 1e6),
     DOC("factor of the load-balancing loss")},
    {FIELD(model.moe.null_expert_bias), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0"), RANGE(0, 1e6),
     DOC("added to the sum by which the chosen experts' probabilities are divided")},
    {FIELD(model.moe.routing_algorithm), CHOICE, NULLABLE, DEFAULT("learned"),
     .choices = CONF_CHOICES({"learned", ZOO_ROUTING_LEARNED}, {"hash", ZOO_ROUTING_HASH}),
     DOC("experts by a linear layer's softmax, or by the token's number")},
    {FIELD(model.moe.expert_weighting_normalization), BOOL, DEFAULT("true"),
     DOC("divide the chosen experts' probabilities by their sum")},
    INITIALIZER(model.moe.gate_initializer, "router; default: as initializer"),
    {FIELD(model.moe.router_selection_nonlinearity), CHOICE, NULLABLE, DEFAULT("softmax"),
     .choices = ROUTER_MAPS, DOC("of the router's logits, by which experts are chosen")},
    {FIELD(model.moe.expert_weighting_nonlinearity), CHOICE, NULLABLE, DEFAULT("softmax"),
     .choices = ROUTER_MAPS, DOC("of the router's logits, which weighs the chosen experts")},
    {FIELD(model.moe.sinkhorn_n_iters), INT, NULLABLE, DEFAULT("1"), RANGE(1, 1000),
     DOC("sinkhorn: how often the experts of a token and the tokens of an expert are normalised")},
    {KEY("model.moe.router_fp32"), NO_EFFECT, DOC("the router is computed in 32 bits")},
    {KEY("model.moe.moe_implementation"), NO_EFFECT, DOC("hint for the compiler")},
    {FIELD(model.moe.probability_before_ffn), BOOL, DEFAULT("false"),
     DOC("weights multiply what the experts take, not what they give")},
    {FIELD(model.layer_norm_epsilon), DOUBLE, NO_TIME, DEFAULT("1e-5"), ABOVE_0,
     DOC("added to the variance")},
    {FIELD(model.share_embedding_weights), BOOL, DEFAULT("true"),
     DOC("tie the output layer to the word embedding")},
    {FIELD(model.use_bias_in_output), BOOL, DEFAULT("false"), DOC("bias of the output layer")},
    {FIELD(model.use_ffn_bias), BOOL, DEFAULT("true"), DOC("biases of the feed-forward network")},
    {FIELD(model.use_ffn_bias_in_attention), BOOL, DEFAULT("true"),
     DOC("bias of the attention output projection")},
    {FIELD(model.use_projection_bias_in_attention), BOOL, DEFAULT("true"),
     DOC("biases of the query, key and value projections")},
    {FIELD(model.recompute), BOOL, NO_VALUES, PAST(NOTHING), NO_TIME, DEFAULT("false"),
     DOC("`--numerics host`: a block keeps its input alone and computes the rest again in the "
         "backward pass: less memory for long sequences, a third more computing, equal values; the "
         "emulated wafer's recomputation is the planner's")},
    {FIELD(model.dropout_rate), DOUBLE, PAST(TRAINING), NO_TIME, NULLABLE, DEFAULT("0.1"),
     RANGE(0, 1),
     DOC("dropout of the residual branches")},
    {FIELD(model.attention_dropout_rate), DOUBLE, PAST(TRAINING), NO_TIME, NULLABLE,
     DEFAULT("=model.dropout_rate"),
     RANGE(0, 1), DOC("dropout of the attention probabilities")},
    {FIELD(model.embedding_dropout_rate), DOUBLE, PAST(TRAINING), NO_TIME, NULLABLE,
     DEFAULT("=model.dropout_rate"),
     RANGE(0, 1), DOC("dropout of the embeddings")},
    {FIELD(model.residual_dropout_rate), DOUBLE, PAST(TRAINING), NULLABLE,
     DEFAULT("=model.dropout_rate"),
     RANGE(0, 1), DOC("the GPT-J family's name of dropout_rate")},
    {FIELD(model.relu_dropout_rate), DOUBLE, PAST(TRAINING), NO_TIME, NULLABLE,
     DEFAULT("=model.dropout_rate"), RANGE(0, 1),
     DOC("seq2seq: dropout after the encoder's nonlinearity")},
    {FIELD(model.task_dropout), DOUBLE, PAST(TRAINING), NO_TIME, NULLABLE,
     DEFAULT("=model.dropout_rate"),
     RANGE(0, 1),
     DOC("dropout before a classifier")},
    {FIELD(model.mixed_precision), BOOL, PAST(TRAINING), DEFAULT("false"),
     DOC("16-bit activations")},
    {FIELD(model.fp16_type), CHOICE, PAST(TRAINING), DEFAULT("bfloat16"),
     .choices = (const struct conf_choice[]){NUM_HALF_MAP(FORMAT_CHOICE) {NULL, 0}},
     DOC("the 16-bit format")},
    {FIELD(model.attention_softmax_fp32), BOOL, PAST(TRAINING), DEFAULT("true"),
     DOC("softmax in 32 bits")},
    {FIELD(model.initializer_range), DOUBLE, PAST(NOTHING), NO_TIME, DEFAULT("0.02"), ABOVE_0,
     DOC("standard deviation of the default initializers, cut at twice it")},
    {FIELD(model.weight_initialization_seed), INT, PAST(NOTHING), NO_TIME, NULLABLE,
     DEFAULT("null"),
     RANGE(1, DBL_MAX),
     DOC("seed of initial weights; null: runconfig.seed")},
    INITIALIZER(model.initializer, "weights of the blocks; default: truncated normal"),
    INITIALIZER(model.embedding_initializer, "embeddings; default: truncated normal"),
    INITIALIZER(model.output_layer_initializer,
                "output projections of the blocks; default: as initializer, without that range over "
                "sqrt(2 layers)"),
    INITIALIZER(model.ffn_initializer, "first layers of the feed-forward network; default: as "
                                       "initializer, in parallel blocks as "
                                       "output_layer_initializer"),
    INITIALIZER(model.ffn_output_layer_initializer,
                "last layer of the feed-forward network; default: as output_layer_initializer"),
    {FIELD(model.loss_scaling), CHOICE, PAST(TRAINING), NO_TIME, DEFAULT("num_tokens"),
     .choices = CONF_CHOICES({"num_tokens", ZOO_LOSS_NUM_TOKENS},
                             {"batch_size", ZOO_LOSS_BATCH_SIZE}),
     DOC("what the summed loss is divided by")},
    {FIELD(model.loss_weight), DOUBLE, PAST(TRAINING), NO_TIME, DEFAULT("1.0"), ABOVE_0,
     DOC("factor of the loss; with batch_size only")},
    {KEY("model.vocab_file"), NO_EFFECT, DOC("summarization: ROUGE is not computed")},
    {KEY("model.label_vocab_file"), NO_EFFECT, DOC("that of the data loader counts")},
    {AT("model.max_tokens", model.generation.max_tokens), INT, PAST(NOTHING), NO_TIME, NULLABLE,
     DEFAULT("null"),
     RANGE(1, 1 << 20),
     DOC("generation: tokens added to a prompt, unless --max_new_tokens is given; null: the option's "
         "default")},
    {AT("model.temperature", model.generation.temperature), DOUBLE, PAST(NOTHING), NO_TIME,
     NULLABLE,
     DEFAULT("0"),
     RANGE(0, 100),
     DOC("generation: as --temperature, which comes first; 0 takes the most likely token")},
    {AT("model.top_k", model.generation.top_k), INT, PAST(NOTHING), NO_TIME, NULLABLE,
     DEFAULT("0"), RANGE(0, 1 << 20),
     DOC("generation: as --top_k, which comes first; 0: among all tokens")},
    {AT("model.top_p", model.generation.top_p), DOUBLE, PAST(NOTHING), NO_TIME, NULLABLE,
     DEFAULT("1"),
     RANGE(1e-9, 1),
     DOC("generation: as --top_p, which comes first")},
    {AT("model.stop_sequences", model.generation.stop), SPECIAL(stops), PAST(NOTHING), NO_TIME,
     NULLABLE,
     DEFAULT("null"),
     .form = "token id or list of lists of token ids",
     DOC("generation: a text ends after one of these sequences of new tokens")},
    {KEY("model.start_token"), NO_EFFECT, DOC("generation: prompts have lengths of their own")},
    {KEY("model.loop_dim"), NO_EFFECT, DOC("generation: tokens follow each other in a text")},
    {KEY("model.is_mnli_dataset"), NO_EFFECT,
     DOC("accuracies of both sets of MNLIDataProcessor are always computed")},
    {KEY("model.compute_eval_metrics"), NO_EFFECT,
     DOC("accuracy, F1 and perplexity are always computed")},
    {FIELD(model.embeddings_scale), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), ABOVE_0,
     DOC("muP: factor of the embedding output; seq2seq with mup_base_hidden_size: times the root "
         "of the width")},
    {FIELD(model.output_logits_scale), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), ABOVE_0,
     DOC("muP: factor of the logits")},
    {FIELD(model.scale_qk_dot_by_d), BOOL, NO_TIME, DEFAULT("false"),
     DOC("muP: 1/d instead of 1/sqrt(d) in attention, true by default with "
         "mup_base_hidden_size; seq2seq: in that of the encoder")},
    {FIELD(model.scale_decoder_qk_dot_by_d), BOOL, NO_TIME, DEFAULT("false"),
     DOC("seq2seq: as scale_qk_dot_by_d in the attention of the decoder, true by default with "
         "mup_base_hidden_size")},
    {FIELD(model.scale_qk_dot_by_layer_idx), BOOL, NO_TIME, DEFAULT("false"),
     DOC("a further 1/(layer + 1) in attention")},
#define XX(name) {KEY("model." #name), NO_EFFECT, DOC("hint for the compiler")},
    XX(attention_kernel) XX(boundary_casting) XX(pad_rope) XX(fold_rope_consts) XX(use_experimental_flex_api)
#undef XX
    {FIELD(model.mup_base_hidden_size), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0"), RANGE(0,
     1 << 20),
     DOC("muP: width that the other settings were tuned at; 0: off")},
    {FIELD(model.mup_base_filter_size), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0"), RANGE(0,
     1 << 22),
     DOC("muP: inner width of the feed-forward network that they were tuned at")},
    {FIELD(model.mup_base_d_kv), DOUBLE, NO_TIME, NULLABLE, DEFAULT("0"), RANGE(0, 1 << 20),
     DOC("muP of seq2seq: width of a head that they were tuned at; 0: that of the model")},
    {FIELD(model.output_logits_alpha), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), ABOVE_0,
     DOC("muP by base sizes: factor of the logits beside the base width's")},
    {FIELD(model.attention_logits_alpha), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"), ABOVE_0,
     DOC("a further factor of the scores of attention; seq2seq: of the encoder's")},
    {FIELD(model.decoder_attention_logits_alpha), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1.0"),
     ABOVE_0,
     DOC("seq2seq: a further factor of the scores of the decoder's attention, to both")},
    {FIELD(model.scale_output_logits_by_d), BOOL, NO_TIME, DEFAULT("true"),
     DOC("muP by base sizes: logits by the ratio of widths, not by its root")},
    {KEY("model.compression"), NO_EFFECT, DOC("transfers of the real cluster")},
    {KEY("model.moe_params"), ONLY({"null", 0}), .refusal = "its keys are read below model.moe",
     DOC("model.moe")},
    {FIELD(model.alibi_trainable_slopes), BOOL, DEFAULT("false"),
     DOC("ALiBi: slopes are weights, which start at random")},
    {KEY("model.scale_glu_initialization"), NO_EFFECT,
     DOC("of a release that was not published: gates start as other weights do")},
    {KEY("model.enable_vts"), NOISE, DOC("no longer a key; padding is computed too")},
#define XX(name) {KEY("model." #name), NOISE, DOC("no longer a key")},
    XX(alibi_implementation) XX(tf_summary) XX(allow_multireplica)
#undef XX
    {KEY("model.position_embedding_offset"), ONLY({"null", 0}, {"0", 0}),
     DOC("first row of the position table")},
#define XX(name, text) {KEY("model." #name), ONLY({"null", 0}), DOC(text)},
    XX(attention_vertical_column_spacing, "columns that every token sees")
    XX(attention_vertical_column_width, "columns that every token sees")
    XX(attention_chunk_size, "attention in chunks")
    XX(memory_tokens, "memory tokens")
    XX(rel_distance_extra_args, "capped or grouped distances")
    XX(constant_pos_embedding, "one position for a picture's tokens")
    XX(dtype, "format of the embeddings")
    XX(cross_attention_layers, "attention to pictures")
    XX(extra_ffn_params, "variants of the feed-forward network")
    XX(lr_adjustment_groups, "groups of tensors; write optimizer.adjust_learning_rate")
#undef XX
    {FIELD(model.attention_qk_norm_layer), CHOICE, DEFAULT("null"),
     .choices = CONF_CHOICES({"null", ZOO_QK_NORM_NONE}, {"layernorm", ZOO_QK_LAYERNORM},
                             {"biasless-layernorm", ZOO_QK_BIASLESS_LAYERNORM},
                             {"rmsnorm", ZOO_QK_RMSNORM}),
     DOC("norm of the queries and keys of every head, after rotary positions")},
    {FIELD(model.attention_qk_norm_eps), DOUBLE, NO_TIME, NULLABLE, DEFAULT("1e-5"), ABOVE_0,
     DOC("added to their variance")},
    {KEY("model.num_extra_input_vocab_tokens"), ONLY({"null", 0}, {"0", 0}),
     DOC("further tokens of the input, of pictures")},
    {KEY("model.add_pooling_layer"), ONLY(OFF), DOC("token classification: pooler without use")},
    {KEY("model.rel_distance_mode"), ONLY({"null", 0}, {"default", 0}),
     DOC("distances that rotary embedding sees")},
    {KEY("model.fixed_sparse_attention"), ONLY({"null", 0}), DOC("sparse attention")},
    {FIELD(model.freeze), SPECIAL(freeze), NULLABLE, DEFAULT("null"),
     .form = "expression or list of them",
     DOC("tensors whose names they occur in stay as they are")},
    {FIELD(model.lora_params), SPECIAL(lora), NULLABLE, DEFAULT("null"),
     .form = "map with r, alpha, dropout, merge_weights, target_modules, or list of them",
     DOC("low-rank adapters of linear layers and embeddings; all other tensors are frozen")},
    {FIELD(model.selective_grad), SPECIAL(selective), NULLABLE, DEFAULT("null"),
     .form = "map with param_filter, init_method, or list of them",
     DOC("of the tensors that the globs name only weights of large magnitude train")},
    {FIELD(model.dpo.beta), DOUBLE, PAST(TRAINING), NO_TIME, NULLABLE, DEFAULT("0.1"), ABOVE_0,
     DOC("preference optimization: factor of the log-ratios; with this section the other keys of "
         "`model`, or `policy_model` below it, describe the policy model")},
    {FIELD(model.dpo.reference_free), BOOL, PAST(TRAINING), DEFAULT("false"),
     DOC("without reference model: all texts have the same probability there")},
    {FIELD(model.dpo.loss_type), CHOICE, PAST(TRAINING), NO_TIME, DEFAULT("sigmoid"),
     .choices = CONF_CHOICES({"sigmoid", ZOO_DPO_SIGMOID}, {"hinge", ZOO_DPO_HINGE},
                             {"ipo", ZOO_DPO_IPO}),
     DOC("loss of a pair: -log sigmoid(beta m); max(0, 1 - beta m); (m - 1 / (2 beta))^2 on mean "
         "log-probabilities; m: margin of the log-ratios")},
    {FIELD(model.dpo.disable_dropout), BOOL, PAST(TRAINING), NO_TIME, DEFAULT("true"),
     DOC("no dropout in the policy model")},
    {FIELD(model.dpo.label_smoothing), DOUBLE, PAST(TRAINING), NO_TIME, NULLABLE, DEFAULT("0.0"),
     RANGE(0, 0.5),
     DOC("sigmoid: fraction of the pairs with swapped labels; not in the Model Zoo")},
    {KEY("model.policy_model"), ONLY({"null", 0}),
     DOC("or a map of keys of `model`, which are read as if they stood there")},

    {FIELD(sparsity), SPECIAL(sparsity), NULLABLE, DEFAULT("null"),
     .form = "number, map with an algorithm, or list of them",
     DOC("sparse weights: algorithms and their keys are below; null: dense")},

    {FIELD(optimizer.optimizer_type), STRING, PAST(TRAINING), REQUIRED,
     DOC("AdamW, Adam, Adafactor, Lamb, SGD, Lion, Adadelta, Adagrad, Adamax, ASGD, NAdam, RAdam, "
         "RMSprop or Rprop, in any case")},
    {FIELD(optimizer.learning_rate), SPECIAL(schedule), REQUIRED, .form = SCHEDULE,
     DOC("learning rate of each step; the schedulers are in docs/TRAINING.md")},
    {AT("optimizer.betas", optimizer), .kinds = WITH_BETAS, SPECIAL(betas),
     .form = "list of two numbers",
     DOC("decay rates of the two moments; default [0.9, 0.999], Lion [0.9, 0.99]")},
    {FIELD(optimizer.beta1), .kinds = WITH_BETAS, DOUBLE, NULLABLE, .status = CONF_OLD,
     DEFAULT("0.9"), RANGE(0, 1),
     DOC("write optimizer.betas")},
    {FIELD(optimizer.beta2), .kinds = WITH_BETAS, DOUBLE, NULLABLE, .status = CONF_OLD,
     DEFAULT("0.999"), RANGE(0, 1),
     DOC("write optimizer.betas")},
    {AT("optimizer.eps", optimizer), .kinds = WITH_EPS, SPECIAL(eps), DEFAULT("1e-6"),
     .form = "number, Adafactor: list of two",
     DOC("added to the root of the second moment, before bias correction; NAdam and RMSprop 1e-8; "
         "Adafactor [1e-30, 1e-3]: added to squares, least root mean square of a tensor")},
    {FIELD(optimizer.weight_decay), .kinds = WITH_DECAY, .type = CONF_T_SPECIAL,
     .read = zoo_read_decay, .write = zoo_write_schedule, NULLABLE, DEFAULT("0.0"),
     .form = SCHEDULE,
     DOC("decay of all but biases and LayerNorm; decoupled with AdamW, Lamb, Lion and Adafactor")},
    {AT("optimizer.params", optimizer.groups), SPECIAL(tags), NULLABLE, DEFAULT("null"),
     .form = "map with params and tag, or list of them",
     DOC("tags of the tensors whose names end as the globs `params` say, for tagged_schedules")},
    {AT("optimizer.tagged_schedules", optimizer.groups), SPECIAL(tagged), NULLABLE, DEFAULT("null"),
     .form = "list of maps with param_group_tags, learning_rate, weight_decay",
     DOC("schedules of the tensors that have one of the tags (null: none), the last one that fits; "
         "in the trainer style schedulers with `param_group_tags`")},
    {FIELD(optimizer.correct_bias), .kinds = TYPE(ADAMW), BOOL, DEFAULT("true"),
     DOC("AdamW: bias correction")},
    {FIELD(optimizer.amsgrad), .kinds = TYPE(ADAMW) | TYPE(ADAM), BOOL, DEFAULT("false"),
     DOC("Adam, AdamW: divide by the largest second moment so far")},
    {FIELD(optimizer.maximize), BOOL, DEFAULT("false"), DOC("go up instead of down")},
    {FIELD(optimizer.momentum), .kinds = TYPE(SGD) | TYPE(RMSPROP), DOUBLE, NULLABLE,
     DEFAULT("0"), RANGE(0, 1), DOC("SGD, RMSprop")},
    {FIELD(optimizer.dampening), .kinds = TYPE(SGD), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, 1),
     DOC("SGD: 1 - fraction of the gradient in the momentum")},
    {FIELD(optimizer.nesterov), .kinds = TYPE(SGD), BOOL, DEFAULT("false"), DOC("SGD: look ahead")},
    {FIELD(optimizer.rho), .kinds = TYPE(ADADELTA), DOUBLE, DEFAULT("0.9"), RANGE(0, 1),
     DOC("Adadelta: decay rate")},
    {FIELD(optimizer.alpha), .kinds = TYPE(ASGD) | TYPE(RMSPROP), DOUBLE, NULLABLE,
     DEFAULT("0.99"), RANGE(0, 1),
     DOC("RMSprop: decay rate; ASGD: exponent of the rate, 0.75")},
    {FIELD(optimizer.lambd), .kinds = TYPE(ASGD), DOUBLE, DEFAULT("1e-4"), RANGE(0, DBL_MAX),
     DOC("ASGD: decay")},
    {FIELD(optimizer.t0), .kinds = TYPE(ASGD), DOUBLE, DEFAULT("1e6"), RANGE(0, DBL_MAX),
     DOC("ASGD: step at which averaging starts")},
    {FIELD(optimizer.momentum_decay), .kinds = TYPE(NADAM), DOUBLE, DEFAULT("4e-3"),
     RANGE(0, DBL_MAX),
     DOC("NAdam: decay of the momentum")},
    {AT("optimizer.etas", optimizer), .kinds = TYPE(RPROP), SPECIAL(etas),
     .form = "list of two numbers",
     DOC("Rprop: factors of a step that shrinks and grows; default [0.5, 1.2]")},
    {AT("optimizer.step_sizes", optimizer), .kinds = TYPE(RPROP), SPECIAL(step_sizes),
     .form = "list of two numbers",
     DOC("Rprop: least and greatest step; default [1e-6, 50]")},
    {FIELD(optimizer.lr_decay), .kinds = TYPE(ADAGRAD), DOUBLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("Adagrad")},
    {FIELD(optimizer.initial_accumulator_value), .kinds = TYPE(ADAGRAD), DOUBLE, DEFAULT("0"),
     RANGE(0, DBL_MAX),
     DOC("Adagrad: sum of squares at the start")},
    {FIELD(optimizer.centered), .kinds = TYPE(RMSPROP), BOOL, DEFAULT("false"),
     DOC("RMSprop: divide by the deviation")},
    {FIELD(optimizer.decay_rate), .kinds = TYPE(ADAFACTOR), DOUBLE, DEFAULT("-0.8"),
     RANGE(-DBL_MAX, 0),
     DOC("Adafactor: exponent of the second moment's decay")},
    {FIELD(optimizer.scale_parameter), .kinds = TYPE(ADAFACTOR), BOOL, DEFAULT("true"),
     DOC("Adafactor: rate times the tensor's root mean square")},
    {FIELD(optimizer.adam), .kinds = TYPE(LAMB), BOOL, DEFAULT("false"),
     DOC("Lamb: trust ratio 1")},
    {KEY("optimizer.clip_threshold"), .kinds = TYPE(ADAFACTOR), ONLY({"1.0", 0}),
     DOC("Adafactor: largest root mean square of an update")},
    {KEY("optimizer.relative_step"), .kinds = TYPE(ADAFACTOR), ONLY(OFF),
     DOC("Adafactor: rate by the step")},
    {KEY("optimizer.warmup_init"), .kinds = TYPE(ADAFACTOR), ONLY(OFF),
     DOC("Adafactor: warm-up of its own")},
    {FIELD(optimizer.max_gradient_norm), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("clip by the global norm; 0 or null: off")},
    {FIELD(optimizer.max_gradient_value), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("clip every element; 0 or null: off")},
    {FIELD(optimizer.loss_scaling_factor), SPECIAL(loss_scale), NULLABLE, DEFAULT("1.0"),
     .form = "number or dynamic",
     DOC("factor of the loss before the backward pass, float16 and cbfloat16 only")},
    {FIELD(optimizer.initial_loss_scale), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("dynamic scaling: first factor; 0: 2^15, cbfloat16 2^31")},
    {FIELD(optimizer.min_loss_scale), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("dynamic scaling: lower bound; 0: 2^-14")},
    {FIELD(optimizer.max_loss_scale), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("dynamic scaling: upper bound, also of the first factor; 0: 2^15, cbfloat16 "
         "2^31")},
    {FIELD(optimizer.steps_per_increase), INT, NULLABLE, DEFAULT("2000"), RANGE(1, MAX_STEPS),
     DOC("dynamic scaling: good steps before the factor doubles")},
    {FIELD(optimizer.log_summaries), BOOL, NO_VALUES, DEFAULT("false"),
     DOC("norms and the loss scale to TensorBoard")},
    {FIELD(optimizer.gradient_noise_scale), BOOL, DEFAULT("false"),
     DOC("noise scale of the gradient, from the gradients of the leaves")},
#define SCALE(group, text)                                                                         \
    {FIELD(optimizer.adjust_learning_rate.group), DOUBLE, NULLABLE, DEFAULT("null"), ABOVE_0,      \
     DOC("factor of the rate of " text)}
    SCALE(decoder_kernel, "`*decoder*dense*weight` and `*decoder*linear*weight` (muP)"),
    SCALE(embedding, "`*embedding*weight`"),
    SCALE(decoder_attention, "`*decoder*attn*dense*weight`"),
    SCALE(decoder_input_ffn, "`*decoder*ffn.ffn.[!1]*weight` and of experts' first layers"),
    SCALE(decoder_output_ffn, "`*decoder*ffn.ffn.[1]*weight` and of experts' last layers"),
    SCALE(decoder_qkv_projection, "`*decoder*attn.proj_[qkv]*dense*weight`"),
    SCALE(decoder_output_projection, "`*decoder*attn.proj_output*dense*weight`"),
    SCALE(encoder_attention, "`*encoder*attn*dense*weight`"),
    SCALE(encoder_qkv_projection, "`*encoder*attn.proj_[qkv]*dense*weight`"),
    SCALE(encoder_output_projection, "`*encoder*attn.proj_output*dense*weight`"),
    SCALE(encoder_input_ffn, "`*encoder*ffn.ffn.[!1]*weight`"),
    SCALE(encoder_output_ffn, "`*encoder*ffn.ffn.[1]*weight`"),
    SCALE(pooler, "`*pooler*weight`"),
    SCALE(lm_head, "`*lm_head*weight`"),
#undef SCALE
    {KEY("optimizer.grad_accum_steps"), NO_EFFECT, DOC("CPU and GPU only")},
    {KEY("optimizer.disable_lr_steps_reset"), NOISE, DOC("phases count their own steps")},
    {KEY("optimizer.ws_summary"), NOISE, DOC("misspelling of log_summaries")},

    {FIELD(runconfig.mode), CHOICE, NULLABLE, DEFAULT("train"),
     .choices = CONF_CHOICES({"train", ZOO_TRAIN}, {"eval", ZOO_EVAL},
                 {"train_and_eval", ZOO_TRAIN_AND_EVAL}, {"generate", ZOO_GENERATE}),
     DOC("what the run does")},
    {FIELD(runconfig.model_dir), STRING, NO_VALUES, NULLABLE, DEFAULT("./model_dir"),
     DOC("folder of logs, events and checkpoints")},
    {FIELD(runconfig.checkpoint_path), STRING, NULLABLE, DEFAULT("null"),
     DOC("checkpoint to start from")},
    {FIELD(runconfig.num_csx), INT, NO_VALUES, NULLABLE, DEFAULT("1"), RANGE(1, HW_MAX_SYSTEMS),
     DOC("number of systems")},
    {FIELD(runconfig.num_steps), INT, NULLABLE, DEFAULT("null"), RANGE(0, MAX_STEPS),
     DOC("steps of this run")},
    {FIELD(runconfig.max_steps), INT, NULLABLE, DEFAULT("null"), RANGE(0, MAX_STEPS),
     DOC("last step, counted from the first run")},
    {AT("runconfig.eval_frequency", runconfig), SPECIAL(eval_frequency), DEFAULT("1.0"),
     .form = "steps, or fraction of the training as 0.25",
     DOC("steps between evaluations in train_and_eval, or with a point a part of the steps up to "
         "the last one; 1.0: after the last step; 0 or null: none")},
    {FIELD(runconfig.eval_steps), INT, NULLABLE, DEFAULT("null"), RANGE(1, MAX_STEPS),
     DOC("batches of one evaluation; null: all")},
    {FIELD(runconfig.checkpoint_steps), INT, NO_VALUES, NULLABLE, DEFAULT("0"), RANGE(0, MAX_STEPS),
     DOC("steps between checkpoints; 0: none")},
    {FIELD(runconfig.max_checkpoints), INT, NO_VALUES, NULLABLE, DEFAULT("null"),
     RANGE(1, MAX_STEPS),
     DOC("keep the newest; null: all")},
    {FIELD(runconfig.checkpoint_name), STRING, DEFAULT("checkpoint_{step}.mdl"),
     DOC("file name of a checkpoint, with {step} where its step stands")},
    {FIELD(runconfig.save_initial_checkpoint), BOOL, NO_VALUES, DEFAULT("false"),
     DOC("a checkpoint of step 0")},
    {FIELD(runconfig.autoload_last_checkpoint), BOOL, DEFAULT("true"),
     DOC("continue from the newest checkpoint in model_dir")},
    {FIELD(runconfig.check_loss_values), BOOL, DEFAULT("true"),
     DOC("stop at NaN and infinity, which every run does; false is taken as true")},
    {FIELD(runconfig.disable_strict_checkpoint_loading), BOOL, DEFAULT("false"),
     DOC("accept missing and additional tensors")},
    {FIELD(runconfig.new_vocabulary), CHOICE, DEFAULT("null"),
     .choices = CONF_CHOICES({"null", ZOO_NEW_ROWS_NONE}, {"initial", ZOO_NEW_ROWS_INITIAL},
                             {"mean", ZOO_NEW_ROWS_MEAN}),
     DOC("accept a checkpoint with another vocabulary: its first rows are taken, further ones start "
         "as initial weights or as the mean of its rows; not in the Model Zoo")},
    {FIELD(runconfig.load_checkpoint_states), SPECIAL(states), NULLABLE, DEFAULT("null"),
     .form = "text with commas, or list",
     DOC("what to load: model, optimizer, dataloader, lr_scheduler, grad_scaler, sparsity, "
         "global_step; null: all")},
    {FIELD(runconfig.skip_samples), INT, NULLABLE, DEFAULT("0"), RANGE(0, MAX_STEPS),
     DOC("samples of the stream to leave out where the run begins or resumes")},
    {FIELD(runconfig.log_steps), INT, NO_VALUES, NULLABLE, DEFAULT("1"), RANGE(1, MAX_STEPS),
     DOC("steps between log lines")},
    {FIELD(runconfig.seed), INT, NULLABLE, DEFAULT("1"), RANGE(-DBL_MAX, DBL_MAX),
     DOC("seed of all random numbers")},
    {FIELD(runconfig.precision_opt_level), INT, NO_TIME, NULLABLE, DEFAULT("1"), RANGE(-1, 2),
     DOC("format of the softmax, 2: 16 bits; -1: taken as 1")},
    {FIELD(runconfig.num_wgt_servers), INT, NO_VALUES, NULLABLE, DEFAULT("null"),
     RANGE(1, HW_MAX_SHARDS),
     DOC("upper bound of MemoryX shards; null: as in the cluster file")},
    {FIELD(runconfig.num_workers_per_csx), INT, NO_VALUES, NULLABLE, DEFAULT("null"),
     RANGE(0, 1024),
     DOC("input worker processes of a system; null, 0: as in the cluster file")},
    {FIELD(runconfig.num_act_servers), INT, NO_VALUES, NULLABLE, DEFAULT("null"), RANGE(0, 1024),
     DOC("activation servers of a system; null, 0: as in the cluster file")},
    {FIELD(runconfig.validate_only), BOOL, DEFAULT("false"), DOC("check, do not run")},
    {FIELD(runconfig.compile_only), BOOL, DEFAULT("false"), DOC("plan, do not run")},
    {AT("runconfig.op_profiler_config.start_step", runconfig.profile_start_step), INT, NULLABLE,
     DEFAULT("null"), RANGE(1, MAX_STEPS), DOC("first step of chrome_trace.json")},
    {AT("runconfig.op_profiler_config.end_step", runconfig.profile_end_step), INT, NULLABLE,
     DEFAULT("null"), RANGE(1, MAX_STEPS), DOC("last step of chrome_trace.json")},
    {FIELD(runconfig.num_epochs), INT, NULLABLE, DEFAULT("null"), RANGE(1, MAX_SAMPLES),
     DOC("instead of num_steps; an epoch has steps_per_epoch steps, null: as many as the "
         "training data have whole batches")},
    {FIELD(runconfig.steps_per_epoch), INT, NULLABLE, DEFAULT("null"), RANGE(1, MAX_SAMPLES),
     DOC("steps of an epoch, at most the whole batches of the data")},
    {KEY("runconfig.grad_accum_steps"), ONLY({"null", 0}, {"1", 0}), DOC("CPU and GPU only")},
    {KEY("runconfig.drop_data"), ONLY(OFF), DOC("do not fetch results")},
    {KEY("runconfig.dump_activations"), ONLY(OFF), DOC("activations to a file")},
    {KEY("runconfig.use_cs_grad_accum"), NOISE, DOC("write train_input.micro_batch_size")},
#define XX(name, text) {KEY("runconfig." #name), NOISE, DOC(text)},
    XX(use_appliance_data, "no longer a key")
    XX(save_losses, "no longer a key")
    XX(show_debug_metrics, "no longer a key")
    XX(experimental_api, "no longer a key")
    XX(multireplica, "no longer a key")
    XX(num_replicas, "no longer a key")
    XX(service_dir, "no longer a key")
    XX(log_step_count_steps, "no longer a key")
    XX(save_summary_steps, "no longer a key")
#undef XX
#define XX(name, text) {KEY("runconfig." #name), NO_EFFECT, DOC(text)},
    XX(target_device, "given on the command line")
    XX(transfer_processes, "host processes of the real cluster")
    XX(execute_crd_memory_gi, "memory of a host process")
    XX(compile_crd_memory_gi, "memory of a host process")
    XX(wrk_memory_gi, "memory of a host process")
    XX(act_memory_gi, "memory of a host process")
    XX(cmd_memory_gi, "memory of a host process")
    XX(wgt_memory_gi, "memory of a host process")
    XX(compile_dir, "cache of the compiler")
    XX(credentials_path, "log-in to the real cluster")
    XX(mgmt_address, "log-in to the real cluster")
    XX(mgmt_namespace, "log-in to the real cluster")
    XX(mount_dirs, "mounts on the real cluster")
    XX(python_paths, "mounts on the real cluster")
    XX(debug_args_path, "debugging of the real cluster")
    XX(debug_args, "debugging of the real cluster")
    XX(ini, "debugging of the real cluster")
    XX(retrace_every_iteration, "debugging of the real cluster")
    XX(job_labels, "job queue of the real cluster")
    XX(job_priority, "job queue of the real cluster")
    XX(job_time_sec, "job queue of the real cluster")
    XX(disable_version_check, "versions of the real cluster")
    XX(wsc_log_level, "log level of the real cluster")
    XX(logging, "log level of the real cluster")
    XX(enable_act_frequency, "logging of the real cluster")
    XX(log_input_summaries, "input tensors to TensorBoard")
    XX(summary_dir, "events stand under model_dir")
    XX(wandb, "a service on the Internet")
    XX(lazy_initialization, "PyTorch only")
    XX(use_cstorch_optimizer_step, "PyTorch only")
    XX(enable_distributed, "GPU only")
    XX(sync_batchnorm, "GPU only")
    XX(dist_addr, "GPU only")
    XX(dist_backend, "GPU only")
    XX(init_method, "GPU only")
    XX(main_process_id, "GPU only")
    XX(experimental, "experiments of the real cluster")
    XX(autogen_policy, "kernels of the real cluster")
    XX(execution_strategy, "weights always stream")
    XX(variant, "kernels of the real cluster")
    XX(fabric_type_blacklist, "machines of the real cluster")
    XX(cbcore_image, "software of the real cluster")
    XX(chf_memory_gi, "memory of a host process")
    XX(skip_train_recv_activations, "transfers of the real cluster")
    XX(save_stream_size, "logging of the real cluster")
    XX(log_initialization, "logging of the real cluster")
    XX(enable_summaries, "events are always written")
    XX(legacy_event_dirs, "events stand under model_dir")
    XX(hf_cache_dir, "folder of downloads")
#undef XX

    {KEY("inference_input"), NO_EFFECT, DOC("data of inference")},
    {KEY("predict_input"), NO_EFFECT, DOC("data of prediction, a mode of the first releases")},
    {KEY("csconfig.use_cbfloat16"), ONLY(OFF), DOC("write model.fp16_type: cbfloat16")},
    {KEY("cerebras"), NO_EFFECT, DOC("settings of the real cluster")},
    {KEY("wandb"), NO_EFFECT, DOC("a service on the Internet")},
    {FIELD(log_sparsity), BOOL, DEFAULT("false"),
     DOC("add_summaries for all entries of `sparsity`: target and actual sparsity to TensorBoard")},
    {FIELD(trace_hash), BOOL, DEFAULT("false"),
     DOC("a hash of the weights after every step in metrics.jsonl")},
    {FIELD(reduction_leaf), INT, PAST(TRAINING), DEFAULT("1"), RANGE(1, MAX_SAMPLES),
     DOC("consecutive samples whose gradient is computed together")},
    {FIELD(lanes), SPECIAL(lanes), NULLABLE, DEFAULT("null"),
     .form = "whole number from 1 to 64, auto or null",
     DOC("replicas of the model side by side on a wafer, each with its own columns of PEs: auto, as "
         "many as are fastest; null, the same, but one with `--numerics mesh`")},
};
/* clang-format on */

const struct conf_table *zoo_params_table(void)
{
    static const struct conf_table table = {.key = keys, .n = sizeof keys / sizeof *keys};
    return &table;
}
