/** Params files: reads Model Zoo configurations into plain structs.
 *
 *  It accepts what the Model Zoo accepts, in all styles (runconfig, trainer, gigaGPT): aliases, old
 *  key names, numbers such as `1e-05`, duplicate keys of which the last counts. A key without
 *  effect, or with another one than in the Model Zoo, causes a warning, an unsupported value an
 *  error that lists the supported ones. The table src/zoo/params_keys.c defines all keys, by the
 *  names of the members here, with their meaning, and docs/CONFIG.md is made of it; comments here
 *  add units, special values, and families of optimizers and schedulers.
 *
 *  The structs follow the sections of a file; struct zoo_params at the end contains all. Nothing
 *  here communicates: every rank parses the same bytes.
 *
 *      struct zoo_params params;
 *      enum wsc_err rc = conf_read_file(path, &bytes, &n);
 *      if (!rc) rc = zoo_params_parse(&params, path, bytes, n, sets, n_sets);
 *      zoo_params_log(&params);
 *      zoo_params_fini(&params);
 *
 *  Life of a parse: YAML (<wsc/conf.h>), other styles to the runconfig style, old names, --set,
 *  keys, family, defaults, checks (src/zoo/zoo_params.c). Read next: <wsc/model.h>, which makes a
 *  model of struct zoo_model; <wsc/data.h> for the inputs; docs/TRAINING.md. */
#ifndef WSC_ZOO_H
#define WSC_ZOO_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/num_formats.h>
#include <wsc/zoo_functions.h>
#include <wsc/zoo_generation.h>
#include <wsc/zoo_sparsity.h>
#include <wsc/zoo_tuning.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bounds on the lists of a params file. */
enum {
    ZOO_MAX_BUCKETS = 64,          /**< length boundaries of one input */
    ZOO_MAX_DIRS = 64,             /**< directories of one input, data sets of one mixture */
    ZOO_MAX_RANGES = 16,           /**< ranges of one data_subset */
    ZOO_MAX_SCHEDULES = 40,        /**< schedulers of one schedule */
    ZOO_MAX_SCHEDULE_VALUES = 400, /**< numbers in all lists of one schedule */
    ZOO_MAX_TAGS = 16              /**< tags; also schedules of tagged tensors */
};

/* ---- data ----------------------------------------------------------------------------------- */

/** The ranges of a data set that are used, `data_subset: 0.0-0.5,0.8-1.0`, in rising order and
 *  without overlap. */
struct zoo_subset {
    int n;                                           /**< ranges; 0: the whole data set */
    double from[ZOO_MAX_RANGES], to[ZOO_MAX_RANGES]; /**< fractions from 0 to 1 */
};
/** Layouts of data files, one per class of data loader (src/zoo/data_processors.c). */
enum zoo_samples {
    ZOO_SAMPLES_GPT,         /**< HDF5, (n, 3, T) or (n, 5, T), or a corpus */
    ZOO_SAMPLES_UINT16,      /**< a corpus without HDF5: tokens of 16 bits, nothing else */
    ZOO_SAMPLES_MASKED,      /**< HDF5 of masked tokens: `data` and `labels` */
    ZOO_SAMPLES_CSV_STATIC,  /**< CSV of masked tokens */
    ZOO_SAMPLES_CSV_DYNAMIC, /**< CSV of tokens, masked when they are read */
    ZOO_SAMPLES_SST2,        /**< TSV of sentences and labels */
    ZOO_SAMPLES_MNLI,        /**< TSV of pairs of sentences and labels */
    ZOO_SAMPLES_TOKENS,      /**< CSV of token ids with one label per token */
    ZOO_SAMPLES_SENTENCES,   /**< CSV of token ids with one label per sentence */
    ZOO_SAMPLES_ANSWERS,     /**< CSV of token ids with the position of an answer */
    ZOO_SAMPLES_SEQ2SEQ,     /**< HDF5 of pairs of sequences, one dataset per feature */
    ZOO_SAMPLES_SPANS,       /**< lines of tokens; spans are dropped when they are read */
    ZOO_SAMPLES_TRANSLATION, /**< lines of tokens in two files, sources and targets */
    ZOO_SAMPLES_PAIRS,       /**< HDF5 of pairs, (n, 6, T), or six datasets (n, T) */
    ZOO_SAMPLES_LATENTS      /**< latents of images with their classes; only for virtual time */
};
/** Bits of a label of ZOO_SAMPLES_ANSWERS: the token is the first, the last token of the answer.
 *  ZOO_ANSWER_LABELS is the number of labels. */
enum { ZOO_ANSWER_FIRST = 1, ZOO_ANSWER_LAST = 2, ZOO_ANSWER_LABELS = 4 };
/** The sections train_input and eval_input: data sets and batches.  Exactly one of data_dir and
 *  mixture is given. */
struct zoo_input {
    bool present;                 /**< the section is in the file */
    char *data_processor;         /**< class of the data loader; owned */
    char *data_dir[ZOO_MAX_DIRS]; /**< directories of data files, or files of UINT16; owned */
    int n_data_dirs;              /**< in `data_dir`, over all data sets */
    /** Data sets of `mixture`, each with a weight and its directories. 0: no mixture; all
     *  directories form one data set, number 0. */
    int n_sets;
    int data_set[ZOO_MAX_DIRS];                  /**< number of the data set, by directory */
    double weight[ZOO_MAX_DIRS];                 /**< by data set, not normalised */
    struct zoo_subset data_subset[ZOO_MAX_DIRS]; /**< by data set */
    int64_t
        num_samples; /**< of an epoch, more than the data: some again; CONF_NULL, 0: each once */
    bool use_vsl;    /**< files with attention_span and position_ids */
    /** Length boundaries in tokens: a batch has samples between the same two boundaries. 0
     *  boundaries: batches in the order of the samples. */
    int n_buckets;
    int64_t bucket[ZOO_MAX_BUCKETS];
    /** Sequences of the global batch, at least 1; a warning if the systems do not divide it. */
    int64_t batch_size;
    int64_t micro_batch_size;         /**< sequences per system, CONF_AUTO, CONF_NULL (no split) or
                                           CONF_EXPLORE: try every size and stop */
    int64_t explore_min, explore_max; /**< bounds of the sizes to try; CONF_NULL: no bound */
    int64_t sink_tokens; /**< tokens put before every sample (data_transforms); 0: none */
    /** Id of that token. */
    int64_t sink_token_id;
    bool micro_batch_given; /**< the file has micro_batch_size */
    /** Loader processes of each input worker; CONF_NULL or 0: the worker itself. */
    int64_t num_workers;
    /** Classes of images, the default of the model's num_labels; CONF_NULL: not in the file. */
    int64_t num_classes;
    /** Permute the samples in every epoch. */
    bool shuffle;
    /** Seed of the permutation; seed and epoch determine the order. */
    int64_t shuffle_seed;
    /** repeat: start again after the last sample; drop_last: drop an incomplete last batch. */
    bool repeat, drop_last;
    /** Tokens of a sample, for corpus files and encoders; for seq2seq, tokens of the source and of
     *  the target. CONF_NULL when absent. */
    int64_t max_sequence_length, tgt_max_sequence_length;
    /** zoo_params_place() of the keys that say the tokens of a sample and, for seq2seq, of a
     * target; borrowed from the params, NULL: they were not read from a file. */
    const char *length_place, *tgt_length_place;
    /** Layout of the files; the checks set it from data_processor. */
    enum zoo_samples samples;
    char *vocab_file;       /**< WordPiece vocabulary of texts; NULL: none; owned */
    char *label_vocab_file; /**< JSON object, label to number; NULL: none; owned */
    char *tgt_data_dir;     /**< directory of target files; NULL: data_dir; owned */
    int64_t extra_ids;      /**< sentinel tokens after the vocabulary */
    bool do_lower;          /**< convert texts and vocabulary to lower case */
    bool mask_whole_word;   /**< dynamic masking masks all pieces of a word */
    double masked_lm_prob;  /**< fraction of the tokens that dynamic masking chooses */
    /** Maximum numbers of masked tokens and of sentences of a sequence. */
    int64_t max_predictions_per_seq, max_cls_tokens;
    /** Set by the checks from the model and the section. pairs: samples have token types and a
     *  label of the pair; padding_in_loss: padding has labels; trains: this is train_input;
     *  mean_of_text: the loss divides by the tokens of each text of a pair (dpo). */
    bool pairs, padding_in_loss, trains, mean_of_text;
    /** Set from the model of an encoder: numbers of token labels, of token types and of sequence
     *  classes; 0: the samples have none, or values are not checked. */
    int64_t n_labels, n_types, n_classes;
    /** Set from the model: masked tokens of a sequence that its head computes; 0: not checked. */
    int64_t n_predictions;
};

/* ---- model ----------------------------------------------------------------------------------- */

/** Distributions of initial weights. */
enum zoo_init_kind {
    ZOO_INIT_DEFAULT,
    ZOO_INIT_CONSTANT,
    ZOO_INIT_ZEROS,
    ZOO_INIT_ONES,
    ZOO_INIT_NORMAL,
    ZOO_INIT_TRUNCATED_NORMAL,
    ZOO_INIT_UNIFORM,
    ZOO_INIT_EYE,
    ZOO_INIT_VARIANCE_SCALING
};
/** Divisor of variance scaling: inputs of a matrix (out, in), its outputs, or their mean. */
enum zoo_fan { ZOO_FAN_IN, ZOO_FAN_OUT, ZOO_FAN_AVG };
/** An initializer of weights; src/model/model_init.c samples from it. The bounds a and b are
 *  absolute. Members that a kind does not use are 0 or have their defaults. */
struct zoo_init {
    enum zoo_init_kind kind; /**< DEFAULT: the family's rule with initializer_range */
    /** NORMAL and TRUNCATED_NORMAL: mean and std; UNIFORM and TRUNCATED_NORMAL: bounds a < b;
     *  CONSTANT: value; VARIANCE_SCALING: value is the scale. */
    double mean, std, a, b, value;
    /** VARIANCE_SCALING: the variance is value / fan, by inputs, outputs or their mean. */
    enum zoo_fan fan;
    enum zoo_init_kind distribution; /**< VARIANCE_SCALING: NORMAL, TRUNCATED_NORMAL or UNIFORM */
};

/** Families of the Model Zoo by name. The name decides only defaults (parallel blocks, positions,
 *  biases), one row of src/zoo/zoo_families.c each; sizes and features are keys of the file. */
enum zoo_family {
    ZOO_FAMILY_NONE, /**< no name in the file */
    ZOO_GPT2,
    ZOO_GPT3,
    ZOO_GPTJ,
    ZOO_GPT_NEOX,
    ZOO_FALCON,
    ZOO_LLAMA,
    ZOO_MISTRAL,
    ZOO_MIXTRAL,
    ZOO_BLOOM,
    ZOO_MPT,
    ZOO_BTLM,
    ZOO_JAIS,
    ZOO_STARCODER,
    ZOO_SANTACODER,
    ZOO_GEMMA2,
    ZOO_BERT,
    ZOO_ESM2,
    ZOO_T5, /**< T5 and the Transformer: one class of the Model Zoo */
    ZOO_DIT /**< diffusion transformers (Peebles and Xie 2023) */
};
/** Position embeddings. LEARNED: a table of weights, one row per position; FIXED: a table of sines
 *  (Vaswani et al. 2017); ROTARY: q and k are rotated (Su et al. 2021); ALIBI: a bias of the scores
 *  that falls with the distance (Press et al. 2022); RELATIVE: one weight per head and bucket of
 *  distances, added to the scores of all layers (Raffel et al. 2020). */
enum zoo_position {
    ZOO_POSITION_LEARNED,
    ZOO_POSITION_NONE,
    ZOO_POSITION_FIXED,
    ZOO_POSITION_ROTARY,
    ZOO_POSITION_ALIBI,
    ZOO_POSITION_RELATIVE
};
/** Scaling of rotary frequencies for sequences longer than in training. LINEAR divides positions by
 *  a factor; LLAMA3 is the rule of Llama 3; YARN: Peng et al. 2023; LONGROPE: Ding et al. 2024. */
enum zoo_rope_scaling { ZOO_ROPE_LINEAR, ZOO_ROPE_LLAMA3, ZOO_ROPE_YARN, ZOO_ROPE_LONGROPE };
/** Maximum number of pairs of rotated features with a divisor of LongRoPE. */
enum { ZOO_MAX_ROPE_FACTORS = 256 };
/** Frequency divisors of LongRoPE, one per pair of rotated features. */
struct zoo_rope_factors {
    int n; /**< 0: none in the file */
    double value[ZOO_MAX_ROPE_FACTORS];
};
/** Normalisation: LayerNorm (Ba et al. 2016) with or without bias, or RMSNorm (Zhang and Sennrich
 * 2019).
 */
enum zoo_norm { ZOO_LAYERNORM, ZOO_BIASLESS_LAYERNORM, ZOO_RMSNORM };
/** Norm of queries and keys, separate for each head (Dehghani et al. 2023, arXiv 2302.05442): none,
 *  or a kind of enum zoo_norm. */
enum zoo_qk_norm { ZOO_QK_NORM_NONE, ZOO_QK_LAYERNORM, ZOO_QK_BIASLESS_LAYERNORM, ZOO_QK_RMSNORM };
/** Divisor of the summed loss: tokens in the loss, or sequences of the batch. */
enum zoo_loss_scaling { ZOO_LOSS_NUM_TOKENS, ZOO_LOSS_BATCH_SIZE };
/** Training objective. Attention is causal for ZOO_CAUSAL_LM and for the decoder of ZOO_SEQ2SEQ;
 *  it is bidirectional for the other objectives. */
enum zoo_objective {
    ZOO_CAUSAL_LM,      /**< the next token, at every position */
    ZOO_MASKED_LM,      /**< masked tokens, at max_predictions_per_seq positions (BERT); without
                             disable_nsp also whether one sentence follows the other */
    ZOO_CLASSIFICATION, /**< one of num_labels classes per sequence, from its first token */
    ZOO_REGRESSION,     /**< one number per sequence, from its first token */
    ZOO_TOKEN_CLASSIFICATION, /**< one of num_labels classes per token */
    ZOO_SUMMARIZATION,        /**< whether a sentence belongs to the summary, at its first token */
    ZOO_SPAN,      /**< the first and the last token of the answer to a question (SQuAD) */
    ZOO_SEQ2SEQ,   /**< the next token of a target sequence; the decoder attends to the encoder's
                        output for the source sequence */
    ZOO_DIFFUSION, /**< the noise in every patch of a latent, given a time step and a class */
    ZOO_N_OBJECTIVES
};
/** Assignment of tokens to experts: a trained router, or a hash of the token. */
enum zoo_routing { ZOO_ROUTING_LEARNED, ZOO_ROUTING_HASH };
/** Function of a router's logits that chooses or weighs experts: softmax over the experts, sigmoid
 *  of each logit, or Sinkhorn normalisation over the experts and the tokens of a sequence. */
enum zoo_router_map { ZOO_ROUTER_SOFTMAX, ZOO_ROUTER_SIGMOID, ZOO_ROUTER_SINKHORN };
/** Attention scores: divided by the square root of the head width, or not divided. */
enum zoo_attention_type { ZOO_SCALED_DOT_PRODUCT, ZOO_DOT_PRODUCT };
/** Heads of keys and values: one per query head, or num_kv_groups shared heads. */
enum zoo_attention_module { ZOO_MULTIHEAD, ZOO_MULTIQUERY };

/** Keys that only diffusion transformers have (Peebles and Xie 2023). After the checks all sizes
 *  are at least 1, and a patch divides the latent; for other models the values of the file are not
 *  checked. */
struct zoo_diffusion {
    /** Height and width of a latent and of a patch of it; 0, 0: not in the file. */
    int64_t latent_size[2], patch_size[2];
    int64_t latent_channels; /**< CONF_NULL: vae_latent_channels */
    /** Sizes of the section vae, the defaults of latent_size and latent_channels. */
    int64_t vae_latent_size[2], vae_latent_channels;
    int64_t frequency_embedding_size; /**< sines and cosines that embed a time step */
    double label_dropout_rate;        /**< above 0, one additional class means "no class" */
    /** True: a convolution embeds the patches; false: patches are cut out, then embedded. */
    bool use_conv_patchified_embedding;
    /** The output layer is a transposed convolution, with one bias per channel instead of one per
     *  element of a patch. */
    bool use_conv_transpose_unpatchify;
};

/** The section model. Sizes are at least 1; a flag has the value of its key. */
struct zoo_model {
    /** Sizes: vocabulary, width, blocks, heads, inner width of the feed-forward network. */
    int64_t vocab_size, hidden_size, num_hidden_layers, num_heads, filter_size;
    /** Sequence length in tokens, and rows of the learned position table. */
    int64_t max_position_embeddings;
    enum zoo_objective objective;
    /** ZOO_MASKED_LM: positions of a sequence that the head computes. */
    int64_t max_predictions_per_seq;
    enum zoo_family name; /**< after the checks never ZOO_FAMILY_NONE */
    bool parallel_block;  /**< by the family: attention and feed-forward read the same input */
    /** Activation recomputation on the host: a block keeps only its input and recomputes the rest
     *  in the backward pass. */
    bool recompute;
    bool use_untied_layer_norm; /**< the feed-forward of a parallel block has its own norm */
    bool norm_first_sandwich;   /**< additional norms after attention and feed-forward */
    enum zoo_position position_embedding_type;
    /** Rotated dimensions of a head, an even number; default a quarter of the head. After the
     *  checks never CONF_NULL with rotary positions. */
    int64_t rotary_dim;
    /** Rotary: base of the frequencies; factor for sequences longer than in training. */
    double rope_theta, pos_scaling_factor;
    /** Rule for the longer sequences; pos_scaling_extra_args has its arguments. */
    enum zoo_rope_scaling pos_scaling_type;
    /** Arguments of the rule, by the names of its paper. */
    struct zoo_rope_args {
        double low_freq_factor, high_freq_factor;                              /**< llama3 */
        double beta_fast, beta_slow, extrapolation_factor, mscale_a, mscale_b; /**< yarn */
        int64_t original_max_position_embeddings; /**< CONF_NULL when absent */
        /** longrope: divisors for sequences of at most original_max_position_embeddings tokens, and
         *  for longer ones. */
        struct zoo_rope_factors short_factor, long_factor;
        /** longrope: factor of cosines and sines for short sequences, long sequences, or both; 0:
         *  given by the rule of the paper. */
        double short_mscale, long_mscale, attention_factor;
    } pos_scaling_extra_args;
    bool alibi_trainable_slopes;        /**< ALiBi slopes are weights with random initial values */
    enum zoo_nonlinearity nonlinearity; /**< activation of the feed-forward networks */
    enum zoo_norm norm_type;            /**< kind of all norms */
    bool embedding_layer_norm;          /**< a norm after the embedding */
    enum zoo_attention_module attention_module;
    /** Heads of k and v, a divisor of num_heads; set by the checks from attention_module when the
     *  file has none. */
    int64_t num_kv_groups;
    int64_t attention_inner_dim;             /**< heads x head width; CONF_NULL: hidden_size */
    int64_t attention_sliding_window_length; /**< CONF_NULL: all earlier tokens */
    bool sliding_window_every_other_decoder_layer; /**< the window applies in layers 0, 2, 4 ... */
    int64_t attention_sink_tokens;            /**< first tokens, to which every token attends */
    enum zoo_qk_norm attention_qk_norm_layer; /**< norm of queries and keys */
    double attention_qk_norm_eps;             /**< added to the variance in that norm */
    /** c of c tanh(score / c) for scores and logits; 0: none. */
    double attention_logit_softcapping, final_logit_softcapping;
    /** Mixture of experts; num_experts 0: none. A single expert is a dense model. */
    struct zoo_moe {
        /** Routed experts, shared experts (each processes every token), and routed experts per
         *  token (1 to num_experts). */
        int64_t num_experts, num_shared_experts, top_k;
        /** Factor of the load-balancing loss; constant added to the sum of the chosen weights,
         *  which then divides them. */
        double load_balancing_loss_coef, null_expert_bias;
        enum zoo_routing routing_algorithm;
        enum zoo_router_map router_selection_nonlinearity, expert_weighting_nonlinearity;
        int64_t sinkhorn_n_iters;            /**< iterations of Sinkhorn's normalisation */
        bool probability_before_ffn;         /**< weights multiply an expert's input, not output */
        bool expert_weighting_normalization; /**< weights of the chosen experts add up to 1 */
        struct zoo_init gate_initializer;    /**< weights of the router */
    } moe;
    double layer_norm_epsilon; /**< added to the variance in norms */
    /** The output layer shares the weights of the embedding; it has a bias. */
    bool share_embedding_weights, use_bias_in_output;
    /** Biases of the feed-forward layers, of the output of attention, and of its q, k and v. */
    bool use_ffn_bias, use_ffn_bias_in_attention, use_projection_bias_in_attention;
    /** Probabilities, 0 to 1, used only in training; dropout_rate: residual branches. */
    double dropout_rate, attention_dropout_rate, embedding_dropout_rate, residual_dropout_rate;
    bool mixed_precision;
    enum num_half fp16_type; /**< the 16-bit format of mixed precision */
    bool attention_softmax_fp32;
    double initializer_range;
    int64_t weight_initialization_seed; /**< seed of initial weights; <= 0: runconfig.seed */
    struct zoo_init initializer, embedding_initializer, output_layer_initializer;
    enum zoo_loss_scaling loss_scaling;
    /** Factor of the loss with ZOO_LOSS_BATCH_SIZE; 1 otherwise. */
    double loss_weight;
    struct zoo_init ffn_initializer, ffn_output_layer_initializer;
    double embeddings_scale, output_logits_scale; /**< muP; 1 = off */
    enum zoo_attention_type attention_type;
    /** Divide scores by the head width instead of its square root; also by layer + 1. */
    bool scale_qk_dot_by_d, scale_qk_dot_by_layer_idx;
    double mup_base_hidden_size, mup_base_filter_size; /**< 0 = no muP by base sizes */
    double output_logits_alpha, attention_logits_alpha;
    bool scale_output_logits_by_d;
    /* of encoders */
    bool disable_nsp;       /**< ZOO_MASKED_LM: no pooler, no head for pairs of sentences */
    double mlm_loss_weight; /**< factor of the loss of masked tokens, summed over a sequence */
    enum zoo_loss_scaling mlm_loss_scaling; /**< its scaling, for files that have this key */
    enum zoo_nonlinearity pooler_nonlinearity, mlm_nonlinearity; /**< or ZOO_SAME_FUNCTION */
    int64_t max_cls_tokens; /**< ZOO_SUMMARIZATION: maximum of sentences; set from the input */
    int64_t num_segments;   /**< token types; CONF_NULL: 2, with disable_nsp none */
    int64_t num_labels;     /**< classes of the classifiers, or of the images of diffusion */
    double task_dropout;    /**< dropout before a classifier; CONF_NULL: dropout_rate */
    bool use_cls_bias;      /**< ZOO_SUMMARIZATION: bias of the classifier */
    bool include_padding_in_loss; /**< ZOO_TOKEN_CLASSIFICATION: padding has labels too */
    int64_t pad_token_id;         /**< padding; lookups do not train its row of the embedding */
    bool mask_padding_in_positional_embed; /**< positions do not count padding */
    bool norm_first; /**< by the family: encoders with norms before attention and feed-forward
                          (ESM-2) */
    bool use_final_layer_norm; /**< encoders: a norm after the last block */
    bool token_dropout;        /**< ESM-2: embeddings of mask_token_id are 0, others scaled up */
    int64_t mask_token_id;     /**< CONF_NULL: none */
    /* seq2seq: sizes of the target and the decoder. vocab_size, num_hidden_layers and
     * max_position_embeddings are the sizes of the source and the encoder; CONF_NULL here: equal to
     * them */
    int64_t tgt_vocab_size, decoder_num_hidden_layers, tgt_max_position_embeddings;
    int64_t extra_ids; /**< sentinel tokens, added to both vocabularies */
    int64_t d_kv;      /**< width of a head; CONF_NULL: given by attention_inner_dim */
    int64_t relative_attention_num_buckets;     /**< buckets of distances of relative positions */
    enum zoo_nonlinearity decoder_nonlinearity; /**< after the checks equal to the encoder's */
    bool share_encoder_decoder_embedding;       /**< one token table for encoder and decoder */
    double relu_dropout_rate;                   /**< dropout after the encoder's nonlinearity */
    /** A second dropout after the embeddings; norms before, not after, attention and feed-forward;
     *  dropout of the outputs of encoder and decoder. */
    bool use_pre_encoder_decoder_dropout, use_pre_encoder_decoder_layer_norm;
    bool use_dropout_outside_residual_path;
    /** Initial weights of the Transformer instead of T5; scores are divided by the square root of
     *  the head width. */
    bool use_transformer_initialization;
    double initializer_factor;      /**< factor of T5's initial standard deviations */
    int64_t decoder_start_token_id; /**< first token of a target in generation */
    struct zoo_generation generation;
    double mup_base_d_kv; /**< muP: head width of the tuned base model; 0: it does not vary */
    /** The decoder's scores, as attention_logits_alpha and scale_qk_dot_by_d of the encoder's. */
    double decoder_attention_logits_alpha;
    bool scale_decoder_qk_dot_by_d;
    struct zoo_diffusion diffusion; /**< diffusion transformers */
    double label_smoothing; /**< fraction of the uniform distribution in the labels, in training */
    struct zoo_patterns freeze;   /**< expressions that match part of the name of a frozen tensor */
    struct zoo_loras lora_params; /**< adapters; with them all other tensors are frozen */
    struct zoo_selective selective_grad; /**< tensors of which only some weights are trained */
    struct zoo_dpo dpo;                  /**< preference optimization */
};

/* ---- schedules and optimizer ----------------------------------------------------------------- */

/** Rules for a value that changes from step to step: the Model Zoo's families `...LR` and `...WD`,
 *  without the suffix.  docs/TRAINING.md has the formulas; model_schedule_value() evaluates them.
 */
enum zoo_scheduler {
    /** The initial value throughout. */
    ZOO_SCHEDULE_CONSTANT,
    /** end + (initial - end) (1 - t / total_iters)^power; LINEAR has power 1. */
    ZOO_SCHEDULE_POLYNOMIAL,
    ZOO_SCHEDULE_LINEAR,
    /** Half a cosine from initial to end over total_iters steps. */
    ZOO_SCHEDULE_COSINE_DECAY,
    /** initial decay_rate^(t / total_iters); staircase: the exponent is rounded down. */
    ZOO_SCHEDULE_EXPONENTIAL,
    /** initial / (1 + decay_rate t^step_exponent / total_iters). */
    ZOO_SCHEDULE_INVERSE_EXPONENTIAL_TIME_DECAY,
    /** initial scale / sqrt(max(warmup_steps, t)). */
    ZOO_SCHEDULE_INVERSE_SQUARE_ROOT_DECAY,
    /** initial times gamma every step_size steps; MULTI_STEP: after each milestone. */
    ZOO_SCHEDULE_STEP,
    ZOO_SCHEDULE_MULTI_STEP,
    /** One listed value between two milestones. */
    ZOO_SCHEDULE_PIECEWISE_CONSTANT,
    /** A cosine between initial and end that continues after T_max. WARM_RESTARTS: starts again at
     *  initial after T_0, T_0 t_mult ... steps (Loshchilov and Hutter 2017). */
    ZOO_SCHEDULE_COSINE_ANNEALING,
    ZOO_SCHEDULE_COSINE_ANNEALING_WARM_RESTARTS,
    /** initial coefficient^t. */
    ZOO_SCHEDULE_MULTIPLICATIVE,
    /** A triangle from initial to max and back (Smith 2017), see enum zoo_cyclic_mode. */
    ZOO_SCHEDULE_CYCLIC,
    /** Rises to max in the fraction pct_start of total_iters, then falls to initial /
     *  final_div_factor (Smith and Topin 2019). */
    ZOO_SCHEDULE_ONE_CYCLE,
    /** Its children one after the other; each counts steps from its milestone. */
    ZOO_SCHEDULE_SEQUENTIAL,
    /** The first child's value, multiplied by value / initial value of every other child. */
    ZOO_SCHEDULE_CHAINED,
    ZOO_N_SCHEDULES
};
/** Amplitude of the cyclic schedule: constant, halved each cycle, or times gamma each step. */
enum zoo_cyclic_mode { ZOO_CYCLIC_TRIANGULAR, ZOO_CYCLIC_TRIANGULAR2, ZOO_CYCLIC_EXP_RANGE };

/** One scheduler with its arguments; arguments of other schedulers are 0. A scheduler counts its
 *  steps from 0 at the start of its part of a sequence. */
struct zoo_schedule_node {
    enum zoo_scheduler scheduler; /**< selects the arguments that are used */
    double initial, end, max;     /**< end is also eta_min; max: CYCLIC and ONE_CYCLE */
    int64_t total_iters;          /**< also total_steps, T_max, T_0; CONF_NULL: without end */
    /** Arguments of the key of that name; see src/zoo/zoo_schedules.c for the scheduler and range
     *  of each. */
    double power, decay_rate, step_exponent, scale, gamma, coefficient, pct_start;
    /** ONE_CYCLE: initial value / last value. */
    double final_div_factor;
    /** Steps, each at least 1; t_mult is a factor. */
    int64_t warmup_steps, step_size, t_mult, step_size_up, step_size_down;
    /** staircase: EXPONENTIAL and INVERSE_EXPONENTIAL_TIME_DECAY round the exponent, or the factor
     *  of decay_rate, down. three_phase: ONE_CYCLE falls to initial first, then below it. */
    bool staircase, three_phase;
    int anneal_linear;           /**< ONE_CYCLE: 0 follows a cosine, 1 a straight line */
    int mode;                    /**< CYCLIC: enum zoo_cyclic_mode */
    int first_child, n_children; /**< SEQUENTIAL, CHAINED: nodes of the same schedule */
    /** Entries of `value`: steps at which the next part begins (n_children - 1 of SEQUENTIAL, those
     *  of MULTI_STEP and PIECEWISE_CONSTANT), and the values of PIECEWISE_CONSTANT. */
    int first_milestone, n_milestones, first_value, n_values;
};
/** A tree of schedulers, node 0 its root; a number is a CONSTANT node, a list a SEQUENTIAL one. */
struct zoo_schedule {
    int n;      /**< nodes */
    int n_used; /**< numbers in `value` */
    struct zoo_schedule_node node[ZOO_MAX_SCHEDULES];
    /** Numbers of all lists of the schedule; nodes refer to ranges of it. */
    double value[ZOO_MAX_SCHEDULE_VALUES];
};

/** Optimizers: update rules; docs/TRAINING.md has the formulas, src/memoryx the code. */
enum zoo_optimizer_type {
    ZOO_ADAMW,     /**< Adam with decoupled weight decay (Loshchilov and Hutter 2019) */
    ZOO_ADAM,      /**< weight decay added to the gradient (Kingma and Ba 2015) */
    ZOO_ADAFACTOR, /**< second moments factored by row and column (Shazeer and Stern 2018) */
    ZOO_LAMB,      /**< Adam with a trust ratio per tensor (You et al. 2020) */
    ZOO_SGD,       /**< with momentum, also Nesterov's */
    ZOO_LION,      /**< the sign of a momentum (Chen et al. 2023) */
    ZOO_ADADELTA,  /**< Zeiler 2012 */
    ZOO_ADAGRAD,   /**< Duchi et al. 2011 */
    ZOO_ADAMAX,    /**< Adam with the maximum norm (Kingma and Ba 2015) */
    ZOO_ASGD,      /**< averaged SGD (Polyak and Juditsky 1992) */
    ZOO_NADAM,     /**< Adam with Nesterov's momentum (Dozat 2016) */
    ZOO_RADAM,     /**< rectified Adam (Liu et al. 2020) */
    ZOO_RMSPROP,   /**< Tieleman and Hinton 2012 */
    ZOO_RPROP,     /**< uses only signs of gradients (Riedmiller and Braun 1993) */
    ZOO_N_OPTIMIZERS
};

/** Learning-rate factors of groups of tensors (key adjust_learning_rate); 0: not given, so that it
 *  is 1 or muP's. */
struct zoo_lr_scale {
    /** Embeddings; matrices of the decoder's blocks, and of these by their part: attention, first
     * and last feed-forward layers. */
    double embedding, decoder_kernel, decoder_attention, decoder_input_ffn, decoder_output_ffn;
    /** Projections of attention to queries, keys and values, and after it. */
    double decoder_qkv_projection, decoder_output_projection;
    double encoder_qkv_projection, encoder_output_projection;
    /** Parts of the encoder's blocks; the pooler; an output layer with its own weights. */
    double encoder_attention, encoder_input_ffn, encoder_output_ffn, pooler, lm_head;
};

/** A tag and the tensors that get it, an entry of `optimizer.params`: the end of the tensor's name
 *  matches one of the patterns. */
struct zoo_tag {
    char *tag;                 /**< owned */
    struct zoo_patterns names; /**< globs */
};
/** Schedules of tensors that have one of the tags, an entry of `optimizer.tagged_schedules`. */
struct zoo_tagged {
    int n_tags;
    char *tag[ZOO_MAX_TAGS]; /**< owned; NULL stands for tensors without a tag */
    struct zoo_schedule learning_rate, weight_decay; /**< n 0: the optimizer's schedule */
};
/** Tags and their schedules; all other tensors use the schedules of the optimizer. */
struct zoo_groups {
    int n_tags, n_tagged;      /**< 0: none */
    struct zoo_tag *tag;       /**< owned, n_tags */
    struct zoo_tagged *tagged; /**< owned, n_tagged */
};

/** Value of zoo_optimizer.loss_scaling_factor for dynamic loss scaling. */
#define ZOO_LOSS_SCALE_DYNAMIC (-1.0)
/** The section optimizer. Members that an optimizer does not use keep their defaults; a key that
 *  it does not use causes a warning. */
struct zoo_optimizer {
    char *optimizer_type; /**< as written; owned */
    enum zoo_optimizer_type type;
    /** Schedules of the learning rate and of the weight decay (of tensors with `decay`). */
    struct zoo_schedule learning_rate, weight_decay;
    /** Decay rates of the moments, 0 to below 1; constant added to the square root of the second
     *  moment. */
    double beta1, beta2, eps;
    bool two_eps;   /**< `eps` is a list of two numbers, of which the second one is eps_rms */
    double eps_rms; /**< Adafactor: lower bound of the root mean square of a tensor */
    /** correct_bias: divide moments by 1 - beta^t; amsgrad: use the largest second moment so far;
     *  maximize: maximize the objective; nesterov: Nesterov's momentum. */
    bool correct_bias, amsgrad, maximize, nesterov;
    double momentum, dampening;       /**< SGD, RMSprop */
    double rho;                       /**< Adadelta */
    double alpha;                     /**< RMSprop, ASGD */
    double lambd, t0;                 /**< ASGD */
    double momentum_decay;            /**< NAdam */
    double eta_minus, eta_plus;       /**< Rprop */
    double step_min, step_max;        /**< Rprop */
    double lr_decay;                  /**< Adagrad */
    double initial_accumulator_value; /**< Adagrad */
    bool centered;                    /**< RMSprop */
    double decay_rate;                /**< Adafactor */
    bool scale_parameter;             /**< Adafactor */
    bool adam;                        /**< Lamb without the trust ratio */
    double max_gradient_norm;         /**< 0 = no clipping */
    double max_gradient_value;        /**< 0 = no clipping */
    /** 1, a factor, or ZOO_LOSS_SCALE_DYNAMIC; acts with float16 and cbfloat16 only. */
    double loss_scaling_factor;
    double initial_loss_scale, min_loss_scale, max_loss_scale; /**< dynamic scaling; 0 = the
                                       rule of fp16_type */
    int64_t steps_per_increase; /**< dynamic scaling: good steps before the scale doubles */
    /** Write norms and the loss scale, and the gradient noise scale, to TensorBoard. */
    bool log_summaries, gradient_noise_scale;
    struct zoo_lr_scale adjust_learning_rate;
    struct zoo_groups groups;
};
/** True if the tensor @p name gets @p tag. */
bool zoo_tag_matches(const struct zoo_tag *tag, const char *name);
/** Index of the last entry of optimizer->groups.tagged that applies to the tensor @p name and has a
 *  schedule of the learning rate (of the weight decay if @p decay); -1: none. */
int zoo_tagged_find(const struct zoo_optimizer *optimizer, const char *name, bool decay);

/* ---- run ------------------------------------------------------------------------------------- */

/** Task of a run. */
enum zoo_mode { ZOO_TRAIN, ZOO_EVAL, ZOO_TRAIN_AND_EVAL, ZOO_GENERATE };
/** True when the mode has training steps. */
static inline bool zoo_mode_trains(enum zoo_mode mode)
{
    return mode == ZOO_TRAIN || mode == ZOO_TRAIN_AND_EVAL;
}
/** True when the mode evaluates, alone or between training steps. */
static inline bool zoo_mode_evaluates(enum zoo_mode mode)
{
    return mode == ZOO_EVAL || mode == ZOO_TRAIN_AND_EVAL;
}

/** Initial value of token-table rows that a checkpoint does not have. NONE: missing rows are an
 *  error; INITIAL: the model's initial weights; MEAN: the mean of the checkpoint's rows. */
enum zoo_new_rows { ZOO_NEW_ROWS_NONE, ZOO_NEW_ROWS_INITIAL, ZOO_NEW_ROWS_MEAN };
/** The section runconfig: length, checkpoints and evaluation of the run. */
struct zoo_runconfig {
    enum zoo_mode mode;
    char *model_dir, *checkpoint_path; /**< NULL checkpoint_path = none; owned */
    char *checkpoint_name;             /**< with one "{step}"; owned */
    int64_t num_csx;                   /**< systems, 1 to 4096 */
    int64_t num_steps, max_steps; /**< CONF_NULL: absent; steps of this run; the last step of all */
    /** Epochs of the data; CONF_NULL: absent, or steps_per_epoch makes them num_steps. */
    int64_t num_epochs;
    int64_t steps_per_epoch; /**< CONF_NULL after the checks */
    int64_t epoch_steps;     /**< steps_per_epoch if num_epochs takes it, else CONF_NULL */
    int64_t eval_frequency, eval_steps; /**< CONF_NULL when absent; frequency 0: none */
    double eval_fraction; /**< above 0: instead of eval_frequency, of the last step, rounded up */
    int64_t checkpoint_steps; /**< 0 = never */
    int64_t max_checkpoints;  /**< keep the newest N; CONF_NULL = all */
    int64_t skip_samples;     /**< samples of the stream to skip before the first step of the run */
    /** Write a checkpoint of step 0; resume from the newest checkpoint in model_dir; stop if the
     *  loss or the norm is not finite. */
    bool save_initial_checkpoint, autoload_last_checkpoint, check_loss_values;
    /** Accept a checkpoint with missing or additional tensors. */
    bool disable_strict_checkpoint_loading;
    enum zoo_new_rows new_vocabulary; /**< token rows missing in the loaded checkpoint */
    char *load_checkpoint_states;     /**< comma-separated list; NULL: all; owned */
    int64_t log_steps;                /**< steps between log lines, at least 1 */
    /** Seed of initial weights, dropout, jitter and faults. */
    int64_t seed;
    /** Decides the format of the softmax, not the virtual time. -1 in a file becomes 1. */
    int64_t precision_opt_level;
    int64_t num_wgt_servers;     /**< upper bound on MemoryX shards; CONF_NULL = cluster file's */
    int64_t num_workers_per_csx; /**< input worker processes of a system; CONF_NULL or 0 = cluster
                                      file's */
    int64_t num_act_servers;     /**< activation servers of a system; CONF_NULL or 0 = cluster
                                      file's */
    /** Stop after the checks; stop after the plan. */
    bool validate_only, compile_only;
    /** runconfig.op_profiler_config: first and last step, from 1, of chrome_trace.json; CONF_NULL
     *  when absent. */
    int64_t profile_start_step, profile_end_step;
};

/** Number of the keys of zoo_params_place(). */
enum { ZOO_LATE_KEYS = 31 };

/** A whole params file with all defaults set, equal on every rank and constant once parsed.
 *  zoo_params_fini() frees the memory that it owns. Copies with other numbers may be shallow; the
 *  original then owns the texts. */
struct zoo_params {
    struct zoo_input train_input, eval_input;
    struct zoo_model model;
    struct zoo_optimizer optimizer;
    struct zoo_runconfig runconfig;
    struct zoo_sparsities sparsity;
    bool log_sparsity;            /**< add_summaries of all entries of `sparsity` */
    bool trace_hash;              /**< log weights_hash at every step */
    int64_t reduction_leaf;       /**< size of a micro-shard: consecutive samples whose gradient is
                                       computed together */
    int64_t lanes;                /**< lanes of a wafer, 1 to 64; CONF_AUTO: the fastest number; 0
                                       (`null`): the same, but 1 if the mesh computes values */
    int phase, n_phases;          /**< trainer style: number of this trainer in a list, from 1, and
                                       length of the list; without a list 1, 1 */
    struct conf_warning *warning; /**< owned array */
    int n_warnings;               /**< length of `warning` */
    char *file;                   /**< name for messages; owned */
    char *place[ZOO_LATE_KEYS];   /**< results of zoo_params_place(); owned; NULL: the params were
                                       not read from a file */
};

/* ---- reading and writing --------------------------------------------------------------------- */

/** Parse a params file of any style from memory; @p file is the name for messages. @p out gets
 *  all values, defaults included, and the warnings. @p sets are the `--set` of the command line:
 *  the last one of a path counts, `phase=N` chooses one of a list of trainers, and below `cluster.`
 *  only the existence of the key is checked. WSC_CONFIG with all errors of the file, or WSC_NOMEM;
 *  call zoo_params_fini() on @p out also after an error. */
enum wsc_err zoo_params_parse(struct zoo_params *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets) WSC_CHECKED;
/** Log the warnings of @p params, one line each. */
void zoo_params_log(const struct zoo_params *params);
/** True when @p bytes look like a params file: a map with a section, or with sizes of gigaGPT. */
bool zoo_is_params_file(const char *bytes, size_t n_bytes);
/** Free what @p params owns and set it to zero. */
void zoo_params_fini(struct zoo_params *params);
/** Write the effective params as YAML of the runconfig style that parses back to the same struct,
 *  without keys and sections of no effect; the caller owns *@p text. WSC_NOMEM. */
enum wsc_err zoo_params_dump(const struct zoo_params *params, char **text) WSC_CHECKED;
/** Do the params ask for a training that tries micro-batches (train_input.micro_batch_size
 * explore)?
 */
bool zoo_explores(const struct zoo_params *params);
/** Hash, 52 bits, of the params that decide the values of a step, without folders. WSC_NOMEM. */
enum wsc_err zoo_training_hash(const struct zoo_params *params, int64_t *hash) WSC_CHECKED;
/** Does @p line, one of zoo_params_dump(), have a key that changes no value of a training
 *  (conf_key.no_values)?  Keys are known by their last name. */
bool zoo_changes_no_values(const char *line);
/** Text attribute of a checkpoint: zoo_past_lines() of the params of its run. */
#define ZOO_PAST "wsc.params"
/** Write the params that decide the meaning of the weights and the samples already seen, one line
 *  "key: value" each; the caller owns *@p text. WSC_NOMEM. */
enum wsc_err zoo_past_lines(const struct zoo_params *params, char **text) WSC_CHECKED;
/** Parts of a checkpoint that are used; they decide which of its params are compared. */
enum zoo_past_check {
    ZOO_PAST_RESUME,  /**< all: a different model is an error, a different training a warning */
    ZOO_PAST_WEIGHTS, /**< weights, for further training: differences are warnings */
    ZOO_PAST_MODEL    /**< only weights: warnings about differences of the model */
};
/** Compare the lines @p stored of a checkpoint with those of @p params: warnings, or WSC_CONFIG. */
enum wsc_err zoo_past_compare(const struct zoo_params *params, const char *stored,
                              enum zoo_past_check check) WSC_CHECKED;
/** Write the value of key @p path, which must exist, as the dump does after the colon; the caller
 *  owns *@p text. WSC_NOMEM. */
enum wsc_err zoo_params_text(const struct zoo_params *params, const char *path,
                             char **text) WSC_CHECKED;
/** True when the key @p path has an effect with the other keys of @p params. */
bool zoo_key_acts(const struct zoo_params *params, const char *path);
/** Beginning of a message of a check after the parse: "file:line:col: key" if the file or `--set`
 *  has @p key, else "file: key". @p key is one of late_key in src/zoo/zoo_params.c. Borrowed from
 *  @p params. */
const char *zoo_params_place(const struct zoo_params *params, const char *key);
/** Format of the weights on links and of the operands of products: fp32, or fp16_type with
 *  mixed_precision. */
enum num_format zoo_number_format(const struct zoo_model *model);
/** Dynamic loss scaling: the first factor and its bounds, defaults included. */
struct zoo_loss_scales {
    double first, least, most;
};
/** The factors of the keys of @p params, with the defaults of its 16-bit format. */
struct zoo_loss_scales zoo_loss_scales(const struct zoo_params *params);
/** True if the samples of the loader of @p in have labels for @p objective. */
bool zoo_input_serves(const struct zoo_input *in, enum zoo_objective objective);
/** What an error about the tokens of a sample of @p in calls its key, with the place in the params;
 *  @p target: of a target of seq2seq. */
const char *zoo_input_length_key(const struct zoo_input *in, bool target);
/** Name of a data loader whose samples have labels for @p objective; NULL: none has. Static. */
const char *zoo_objective_loader(enum zoo_objective objective);
/** Number of token ids that the texts of @p model consist of: with an encoder and a decoder those
 * of the decoder, sentinels included. */
int64_t zoo_model_n_ids(const struct zoo_model *model);
/** True if a learned router uses Sinkhorn's normalisation, to choose or to weigh experts. */
bool zoo_moe_has_sinkhorn(const struct zoo_moe *moe);
/** True if a learned router chooses and weighs experts by different functions of its logits. */
bool zoo_moe_weighs_apart(const struct zoo_moe *moe);
/** Write the value of key @p path into @p text (@p size bytes): "null", "12", "gelu". False if
 *  there is no such key, its type is CONF_T_SPECIAL, or @p text is too short. */
bool zoo_params_value(const struct zoo_params *params, const char *path, char *text, size_t size);
/** Name of the value @p value of the choice key @p path, e.g. "swiglu"; "?" if the key has no such
 *  value. Static. */
const char *zoo_params_choice(const char *path, int value);

/* ---- tables, for docs/CONFIG.md and for --set ------------------------------------------------ */

/** The key table of params files of the runconfig style; static. */
const struct conf_table *zoo_params_table(void);
/** The first rows of zoo_giga_table() are the sizes of the model: a file has at least one. */
enum { ZOO_GIGA_SIZES = 3 };
/** The key table of params files of gigaGPT, a flat map; static. */
const struct conf_table *zoo_giga_table(void);
/** The key table of params files of the trainer style, with paths below `trainer.`; static. */
const struct conf_table *zoo_trainer_table(void);
/** True for a row of that table whose value maps a type's name to its keys, such as `optimizer`. */
bool zoo_trainer_is_named(const struct conf_key *key);
/** True for a row of that table whose value is true, false, null or a map with the keys of the rows
 *  below it: a callback that is on or off. */
bool zoo_trainer_is_switch(const struct conf_key *key);
/** Initial value of the first scheduler below node @p node, by which a chain divides. */
double zoo_schedule_initial(const struct zoo_schedule *schedule, int node);
/** Schedulers and their arguments, indexed by enum zoo_scheduler; static. */
const struct conf_variants *zoo_schedulers(void);
/** Initializers of weights by name, and their arguments; static. */
const struct conf_variants *zoo_initializers(void);
/** Keys of an entry of `mixture`, a data set with its weight; static. */
const struct conf_table *zoo_mixture_table(void);
/** Transforms of samples (entries of data_transforms) and their arguments; static. */
const struct conf_variants *zoo_transforms(void);
/** Key name number @p i, from 0, of older releases; NULL after the last. A name in two rows of the
 *  table is returned twice. Static. */
const char *zoo_renames_old(int i);
/** The key that replaces the @p i-th old one; NULL: none. */
const char *zoo_renames_new(int i);
/** Accepted value number @p i, from 0, of `model.name`; NULL after the last; static. */
const char *zoo_family_spelling(int i);
/** Append a Markdown table of old key names and their replacements. */
void zoo_renames_write(struct wsc_text *out);
#endif
