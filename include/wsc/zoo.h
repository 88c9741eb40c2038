/** Params files: reads Model Zoo configurations into plain structs.
 *
 *  It accepts what the Model Zoo accepts, in both styles (runconfig and trainer): aliases, old key
 *  names, numbers such as `1e-05`, duplicate keys of which the last counts. A key without effect,
 *  or with another effect than in the Model Zoo, causes a warning. An unsupported value is an error
 *  that lists the supported ones. The key table src/zoo/params_keys.c defines all keys;
 *  docs/CONFIG.md is generated from it. Members of the structs have the names of their keys, and
 *  that table has their meaning; comments here add units, special values, and families of
 *  optimizers and schedulers.
 *
 *  The structs follow the sections of a file, inputs first; struct zoo_params at the end of them
 *  contains all. Nothing here communicates: every rank parses the same bytes.
 *
 *      struct zoo_params params;
 *      enum wsc_err rc = conf_read_file(path, &bytes, &n);
 *      if (!rc) rc = zoo_params_parse(&params, path, bytes, n, sets, n_sets);
 *      for (int i = 0; i < params.n_warnings; i++)
 *          WSC_WARNING("%s", params.warning[i].text);
 *      zoo_params_fini(&params);
 *
 *  Life of a parse: YAML (<wsc/conf.h>), trainer style to runconfig style, old names, --set, keys,
 *  family, defaults, checks (src/zoo/zoo_params.c). Read next: <wsc/model.h>, which makes a model
 *  of struct zoo_model; <wsc/data.h> for the inputs; docs/TRAINING.md. */
#ifndef WSC_ZOO_H
#define WSC_ZOO_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/zoo_sparsity.h>
#include <wsc/zoo_tuning.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bounds on the lists of a params file. */
enum {
    ZOO_MAX_BUCKETS = 64,          /**< boundaries of lengths of one input */
    ZOO_MAX_DIRS = 64,             /**< directories of one input, data sets of one mixture */
    ZOO_MAX_RANGES = 16,           /**< ranges of one data_subset */
    ZOO_MAX_SCHEDULES = 40,        /**< schedulers of one schedule */
    ZOO_MAX_SCHEDULE_VALUES = 400, /**< numbers in all lists of one schedule */
    ZOO_MAX_TAGS = 16              /**< tags, and schedules of tagged tensors */
};

/* ---- data ----------------------------------------------------------------------------------- */

/** The ranges of a data set that are used, `data_subset: 0.0-0.5,0.8-1.0`, in rising order and
 *  without overlap. */
struct zoo_subset {
    int n;                                           /**< ranges; 0: all of the data set */
    double from[ZOO_MAX_RANGES], to[ZOO_MAX_RANGES]; /**< fractions from 0 to 1 */
};
/** Layouts of data files, one per class of data loader (src/zoo/data_processors.c). */
enum zoo_samples {
    ZOO_SAMPLES_GPT,         /**< HDF5, (n, 3, T) or (n, 5, T), or a corpus */
    ZOO_SAMPLES_MASKED,      /**< HDF5 of masked tokens: `data` and `labels` */
    ZOO_SAMPLES_CSV_STATIC,  /**< CSV of masked tokens */
    ZOO_SAMPLES_CSV_DYNAMIC, /**< CSV of tokens, masked when they are read */
    ZOO_SAMPLES_SST2,        /**< TSV of sentences and labels */
    ZOO_SAMPLES_MNLI,        /**< TSV of pairs of sentences and labels */
    ZOO_SAMPLES_TOKENS,      /**< CSV of token ids with a label each */
    ZOO_SAMPLES_SENTENCES,   /**< CSV of token ids with a label for each sentence */
    ZOO_SAMPLES_ANSWERS,     /**< CSV of token ids with the places of an answer */
    ZOO_SAMPLES_SEQ2SEQ,     /**< HDF5 of pairs of sequences, a dataset for each feature */
    ZOO_SAMPLES_SPANS,       /**< lines of tokens, of which spans are left out when they are read */
    ZOO_SAMPLES_TRANSLATION, /**< lines of tokens in two files, sources and targets */
    ZOO_SAMPLES_PAIRS,       /**< HDF5 of pairs, (n, 6, T), or six datasets (n, T) */
    ZOO_SAMPLES_LATENTS      /**< latents of images with their classes, for virtual time alone */
};
/** Labels of ZOO_SAMPLES_ANSWERS, bits, and one more than the largest: the token is the first of
 * the answer, the last of it. */
enum { ZOO_ANSWER_FIRST = 1, ZOO_ANSWER_LAST = 2, ZOO_ANSWER_LABELS = 4 };
/** The sections train_input and eval_input: data sets and batches.  Exactly one of data_dir and
 *  mixture is given. */
struct zoo_input {
    bool present;                 /**< the section is in the file */
    char *data_processor;         /**< class of the data loader; owned */
    char *data_dir[ZOO_MAX_DIRS]; /**< directories of data files; owned */
    /** Directories in `data_dir`, of all data sets. */
    int n_data_dirs;
    /** Data sets of `mixture`, each with a weight and its directories; 0: without mixture all
     *  directories are one data set, number 0. */
    int n_sets;
    int data_set[ZOO_MAX_DIRS];                  /**< of each directory */
    double weight[ZOO_MAX_DIRS];                 /**< of each data set, not normalised */
    struct zoo_subset data_subset[ZOO_MAX_DIRS]; /**< of each data set */
    /** Samples of an epoch; CONF_NULL or 0: each once; more than there are: with copies. */
    int64_t num_samples;
    bool use_vsl; /**< files with attention_span and position_ids */
    /** Boundaries of lengths: batches of samples between the same two; none: batches of samples in
     *  their order. */
    int n_buckets;
    int64_t bucket[ZOO_MAX_BUCKETS];
    /** Sequences of the global batch, at least 1; what does not divide among the systems warns. */
    int64_t batch_size;
    int64_t micro_batch_size;         /**< sequences per system, CONF_AUTO, CONF_NULL (no split) or
                                           CONF_EXPLORE: try every size and stop */
    int64_t explore_min, explore_max; /**< of the sizes to try; CONF_NULL: no bound */
    int64_t sink_tokens;              /**< put before every sample (data_transforms); 0: none */
    /** Which token that is. */
    int64_t sink_token_id;
    bool micro_batch_given; /**< the file says it; the default otherwise */
    /** Loader processes of each input worker; CONF_NULL or 0: the worker itself. */
    int64_t num_workers;
    int64_t num_classes; /**< of images, the default of the model's; CONF_NULL: not in the file */
    /** Permute the samples in every epoch. */
    bool shuffle;
    /** Seed of the permutation; the order is a function of it and the epoch. */
    int64_t shuffle_seed;
    /** repeat: start again after the last sample; drop_last: leave out a last incomplete batch. */
    bool repeat, drop_last;
    /** Tokens of a sample, for corpus files and encoders; of seq2seq those of the source.  And of
     *  the target.  CONF_NULL when absent. */
    int64_t max_sequence_length, tgt_max_sequence_length;
    /** What the files hold; set from data_processor by the checks. */
    enum zoo_samples samples;
    char *vocab_file;       /**< vocab.txt of WordPiece, of texts; NULL: none; owned */
    char *label_vocab_file; /**< JSON object of labels to numbers; NULL: none; owned */
    char *tgt_data_dir;     /**< directory of files of targets; NULL: data_dir; owned */
    int64_t extra_ids;      /**< sentinels after the tokens of the vocabulary */
    bool do_lower;          /**< texts and vocabulary in lower case */
    bool mask_whole_word;   /**< dynamic masking masks all pieces of a word */
    double masked_lm_prob;  /**< fraction of the tokens that dynamic masking chooses */
    /** Most masked tokens, most sentences of a sequence. */
    int64_t max_predictions_per_seq, max_cls_tokens;
    /** Set from the model and the section: samples have token types and a label of the pair;
     * padding has labels; the section is that of training. */
    bool pairs, padding_in_loss, trains;
    /** Set from the model of an encoder: ranges of the labels of tokens, of token types, and of the
     *  class of a sequence; 0: no such numbers, or any. */
    int64_t n_labels, n_types, n_classes;
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
/** Divisor of variance scaling: inputs of a matrix (out, in), outputs, or the mean of both. */
enum zoo_fan { ZOO_FAN_IN, ZOO_FAN_OUT, ZOO_FAN_AVG };
/** An initializer of weights; src/model/model_init.c samples from it.  a and b are absolute bounds.
 *  Members that a kind does not use are 0 or their defaults. */
struct zoo_init {
    enum zoo_init_kind kind; /**< DEFAULT: the family's rule with initializer_range */
    /** NORMAL and TRUNCATED_NORMAL: mean and std; UNIFORM and TRUNCATED_NORMAL: bounds a < b;
     *  CONSTANT: value; VARIANCE_SCALING: value is the scale. */
    double mean, std, a, b, value;
    /** VARIANCE_SCALING: the variance is value / fan, by inputs, outputs or their mean. */
    enum zoo_fan fan;
    enum zoo_init_kind distribution; /**< VARIANCE_SCALING: NORMAL, TRUNCATED_NORMAL or UNIFORM */
};

/** Families of the Model Zoo by name; what a name implies is a row of src/zoo/zoo_families.c. The
 *  name decides defaults (parallel blocks, positions, biases) and nothing else: sizes and features
 *  are keys of the file. */
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
/** Position embeddings.  FIXED: a table of sines (Vaswani et al. 2017); ROTARY: q and k are rotated
 *  (Su et al. 2021); ALIBI: a bias that falls with the distance (Press et al. 2022). The learned
 *  ones are a table of weights with one row per position, the relative ones (Raffel et al. 2020) a
 *  weight for each head and bucket of distances, added to the scores of all layers. */
enum zoo_position {
    ZOO_POSITION_LEARNED,
    ZOO_POSITION_NONE,
    ZOO_POSITION_FIXED,
    ZOO_POSITION_ROTARY,
    ZOO_POSITION_ALIBI,
    ZOO_POSITION_RELATIVE
};
/** Scaling of rotary frequencies for sequences longer than those of the training: positions divided
 *  by a factor; the rule of Llama 3; YaRN (Peng et al. 2023); LongRoPE (Ding et al. 2024). */
enum zoo_rope_scaling { ZOO_ROPE_LINEAR, ZOO_ROPE_LLAMA3, ZOO_ROPE_YARN, ZOO_ROPE_LONGROPE };
/** Most pairs of rotated features that LongRoPE has divisors for. */
enum { ZOO_MAX_ROPE_FACTORS = 256 };
/** Divisors of the frequencies of LongRoPE, one for each pair of rotated features. */
struct zoo_rope_factors {
    int n; /**< 0: none in the file */
    double value[ZOO_MAX_ROPE_FACTORS];
};
/** Normalisation: LayerNorm (Ba et al. 2016) with or without bias, or RMSNorm (Zhang and Sennrich
 * 2019).
 */
enum zoo_norm { ZOO_LAYERNORM, ZOO_BIASLESS_LAYERNORM, ZOO_RMSNORM };
/** Norm of queries and keys, head by head (Dehghani et al. 2023, arXiv 2302.05442): none, or one of
 *  the kinds above. */
enum zoo_qk_norm { ZOO_QK_NORM_NONE, ZOO_QK_LAYERNORM, ZOO_QK_BIASLESS_LAYERNORM, ZOO_QK_RMSNORM };
/** 16-bit formats of mixed precision: float16, bfloat16, cbfloat16 (6 exponent and 9 mantissa
 * bits). */
enum zoo_fp16_type { ZOO_FP16, ZOO_BF16, ZOO_CB16 };
/** Divisor of the summed loss: tokens that count, or sequences of the batch. */
enum zoo_loss_scaling { ZOO_LOSS_NUM_TOKENS, ZOO_LOSS_BATCH_SIZE };
/** Training objective.  Those of encoders, all but the first and the last two, attend in both
 *  directions, and so does diffusion. */
enum zoo_objective {
    ZOO_CAUSAL_LM,      /**< the next token, at every position */
    ZOO_MASKED_LM,      /**< masked tokens, at max_predictions_per_seq positions (BERT), and whether
                             two sentences follow each other unless disable_nsp */
    ZOO_CLASSIFICATION, /**< one of num_labels classes per sequence, from its first token */
    ZOO_REGRESSION,     /**< a number per sequence, from its first token */
    ZOO_TOKEN_CLASSIFICATION, /**< one of num_labels classes per token */
    ZOO_SUMMARIZATION,        /**< whether a sentence belongs to the summary, at its first token */
    ZOO_SPAN,      /**< the first and the last token of the answer to a question (SQuAD) */
    ZOO_SEQ2SEQ,   /**< the next token of a target sequence, by a decoder that attends to the output
                        of an encoder of the source sequence */
    ZOO_DIFFUSION, /**< the noise in every patch of a latent, at a time step and for a class */
    ZOO_N_OBJECTIVES
};
/** Activation of the feed-forward network.  A gated one (Shazeer 2020) multiplies the first linear
 *  layer's output by the function of a second one's: the function with ZOO_GATED added. */
enum zoo_nonlinearity {
    ZOO_GELU,
    ZOO_GELU_NEW,
    ZOO_RELU,
    ZOO_SILU,
    ZOO_QUICK_GELU,
    ZOO_SQUARED_GELU,
    ZOO_SQUARED_RELU,
    ZOO_LEAKY_RELU,
    ZOO_RELU6,
    ZOO_TANH,
    ZOO_SIGMOID,
    ZOO_MISH,
    ZOO_LINEAR,
    ZOO_N_FUNCTIONS,
    ZOO_SAME_FUNCTION = ZOO_N_FUNCTIONS, /**< of a head: that of the blocks */
    ZOO_GATED = 32,
    ZOO_SWIGLU = ZOO_GATED + ZOO_SILU,
    ZOO_GEGLU = ZOO_GATED + ZOO_GELU,
    ZOO_GEGLU_NEW = ZOO_GATED + ZOO_GELU_NEW,
    ZOO_REGLU = ZOO_GATED + ZOO_RELU,
    ZOO_LIGLU = ZOO_GATED + ZOO_LINEAR
};
/** Assignment of tokens to experts: a trained router, or a hash of the token. */
enum zoo_routing { ZOO_ROUTING_LEARNED, ZOO_ROUTING_HASH };
/** What a router makes of its logits, to choose experts and to weigh them: a softmax over the
 *  experts; a sigmoid of each; Sinkhorn's normalisation over experts and tokens of a sequence. */
enum zoo_router_map { ZOO_ROUTER_SOFTMAX, ZOO_ROUTER_SIGMOID, ZOO_ROUTER_SINKHORN };
/** Attention scores divided by the root of the head's width, or not at all. */
enum zoo_attention_type { ZOO_SCALED_DOT_PRODUCT, ZOO_DOT_PRODUCT };
/** Heads of keys and values: one for each head of queries, or num_kv_groups shared ones. */
enum zoo_attention_module { ZOO_MULTIHEAD, ZOO_MULTIQUERY };

/** What diffusion transformers have beside the keys of other models (Peebles and Xie 2023).  After
 *  the checks all sizes are at least 1, and a patch divides the latent; of other models they are
 *  what the file says. */
struct zoo_diffusion {
    /** Height and width of a latent and of a patch of it; 0, 0: not in the file. */
    int64_t latent_size[2], patch_size[2];
    int64_t latent_channels; /**< CONF_NULL: that of the section vae */
    /** Sizes of the section vae, which count where the model says nothing. */
    int64_t vae_latent_size[2], vae_latent_channels;
    int64_t frequency_embedding_size;   /**< sines and cosines of a time step */
    double label_dropout_rate;          /**< with one, a further class stands for none */
    bool use_conv_patchified_embedding; /**< patches by a convolution, or cut first */
    /** The output layer is a transposed convolution, with a bias for each channel instead of each
     *  element of a patch. */
    bool use_conv_transpose_unpatchify;
};

/** The section model.  Sizes are at least 1; flags are those of the keys. */
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
    /** On the host a block keeps its input alone and computes the rest again in the backward
     *  pass. */
    bool recompute;
    bool use_untied_layer_norm; /**< of a parallel block: the feed-forward has its own norm */
    bool norm_first_sandwich;   /**< norms also after attention and feed-forward */
    enum zoo_position position_embedding_type;
    /** Rotated dimensions of a head, an even number; after the checks never CONF_NULL with rotary
     *  positions: a quarter of the head by default. */
    int64_t rotary_dim;
    /** Rotary: base of the frequencies; factor of sequences longer than those of the training. */
    double rope_theta, pos_scaling_factor;
    /** Rule for the longer sequences; its arguments are those below. */
    enum zoo_rope_scaling pos_scaling_type;
    /** Arguments of the rule, by the names of its paper. */
    struct zoo_rope_args {
        double low_freq_factor, high_freq_factor;                              /**< llama3 */
        double beta_fast, beta_slow, extrapolation_factor, mscale_a, mscale_b; /**< yarn */
        int64_t original_max_position_embeddings; /**< CONF_NULL when absent */
        /** longrope: for sequences of at most original_max_position_embeddings, and longer ones. */
        struct zoo_rope_factors short_factor, long_factor;
        /** longrope: factor of cosines and sines for either length, or for both; 0: by rule. */
        double short_mscale, long_mscale, attention_factor;
    } pos_scaling_extra_args;
    bool alibi_trainable_slopes;        /**< of ALiBi: weights that start at random */
    enum zoo_nonlinearity nonlinearity; /**< of the feed-forward networks */
    enum zoo_norm norm_type;            /**< of all norms */
    bool embedding_layer_norm;          /**< a norm in the embedding */
    enum zoo_attention_module attention_module;
    /** Heads of k and v, a divisor of num_heads; set by the checks from attention_module when the
     *  file has none. */
    int64_t num_kv_groups;
    int64_t attention_inner_dim;             /**< heads x head width; CONF_NULL: hidden_size */
    int64_t attention_sliding_window_length; /**< CONF_NULL: all earlier tokens */
    bool sliding_window_every_other_decoder_layer; /**< the window holds in layers 0, 2, 4 ... */
    int64_t attention_sink_tokens;                 /**< first tokens that every token sees */
    enum zoo_qk_norm attention_qk_norm_layer;      /**< of queries and keys */
    double attention_qk_norm_eps;                  /**< added to their variance */
    /** c of c tanh(score / c) for scores and logits; 0: none. */
    double attention_logit_softcapping, final_logit_softcapping;
    /** Mixture of experts; num_experts 0: none.  One expert in all is a dense model. */
    struct zoo_moe {
        /** Experts that tokens choose from, further ones that take every token, and experts of a
         *  token (1 to num_experts). */
        int64_t num_experts, num_shared_experts, top_k;
        /** Factor of the load-balancing loss; what is added to the sum of the chosen weights
         *  before they are divided by it. */
        double load_balancing_loss_coef, null_expert_bias;
        enum zoo_routing routing_algorithm;
        enum zoo_router_map router_selection_nonlinearity, expert_weighting_nonlinearity;
        int64_t sinkhorn_n_iters;            /**< how often experts and tokens are normalised */
        bool probability_before_ffn;         /**< weights multiply an expert's input, not result */
        bool expert_weighting_normalization; /**< weights of the chosen experts add up to 1 */
        struct zoo_init gate_initializer;    /**< of the router */
    } moe;
    double layer_norm_epsilon; /**< added to the variance in norms */
    /** The output layer has the embedding's weights; it has a bias. */
    bool share_embedding_weights, use_bias_in_output;
    /** Biases of the feed-forward layers, of the output and of the q, k and v of attention. */
    bool use_ffn_bias, use_ffn_bias_in_attention, use_projection_bias_in_attention;
    /** Probabilities, 0 to 1, in training alone; dropout_rate: of the residual branches. */
    double dropout_rate, attention_dropout_rate, embedding_dropout_rate, residual_dropout_rate;
    bool mixed_precision;
    enum zoo_fp16_type fp16_type;
    bool attention_softmax_fp32;
    double initializer_range;
    int64_t weight_initialization_seed; /**< of initial weights; not positive: runconfig.seed */
    struct zoo_init initializer, embedding_initializer, output_layer_initializer;
    enum zoo_loss_scaling loss_scaling;
    /** Factor of the loss with ZOO_LOSS_BATCH_SIZE; 1 otherwise. */
    double loss_weight;
    struct zoo_init ffn_initializer, ffn_output_layer_initializer;
    double embeddings_scale, output_logits_scale; /**< muP; 1 = off */
    enum zoo_attention_type attention_type;
    /** Scores are divided by the width of a head instead of its root; also by layer + 1. */
    bool scale_qk_dot_by_d, scale_qk_dot_by_layer_idx;
    double mup_base_hidden_size, mup_base_filter_size; /**< 0 = no muP by base sizes */
    double output_logits_alpha, attention_logits_alpha;
    bool scale_output_logits_by_d;
    /* of encoders */
    bool disable_nsp;       /**< ZOO_MASKED_LM: no pooler, no head for pairs of sentences */
    double mlm_loss_weight; /**< of the loss of masked tokens, summed over a sequence */
    enum zoo_loss_scaling mlm_loss_scaling; /**< of it, for files that write it so */
    enum zoo_nonlinearity pooler_nonlinearity, mlm_nonlinearity; /**< or ZOO_SAME_FUNCTION */
    int64_t max_cls_tokens; /**< ZOO_SUMMARIZATION: most sentences; set from the input */
    int64_t num_segments;   /**< token types; CONF_NULL: 2, with disable_nsp none */
    int64_t num_labels;     /**< classes of the classifiers, of images of diffusion */
    double task_dropout;    /**< before a classifier; CONF_NULL is that of the residual branches */
    bool use_cls_bias;      /**< ZOO_SUMMARIZATION: bias of the classifier */
    bool include_padding_in_loss; /**< ZOO_TOKEN_CLASSIFICATION: padding has labels too */
    int64_t pad_token_id;         /**< whose row of the embedding is not trained by lookups */
    bool mask_padding_in_positional_embed; /**< positions count tokens that are no padding */
    bool norm_first;           /**< by the family: encoders with norms before their parts (ESM-2) */
    bool use_final_layer_norm; /**< encoders: a norm after the last block */
    bool token_dropout;        /**< ESM-2: embeddings of mask_token_id are 0, others scaled up */
    int64_t mask_token_id;     /**< CONF_NULL: none */
    /* of seq2seq: vocab_size, num_hidden_layers and max_position_embeddings are those of the source
     * and the encoder, CONF_NULL here: the same of target and decoder */
    int64_t tgt_vocab_size, decoder_num_hidden_layers, tgt_max_position_embeddings;
    int64_t extra_ids; /**< sentinels, beside the tokens of both vocabularies */
    int64_t d_kv;      /**< width of a head; CONF_NULL: attention_inner_dim says it */
    int64_t relative_attention_num_buckets;     /**< of distances, with relative positions */
    enum zoo_nonlinearity decoder_nonlinearity; /**< after the checks that of the encoder */
    bool share_encoder_decoder_embedding;       /**< one table of tokens for both */
    double relu_dropout_rate;                   /**< after the encoder's nonlinearity */
    /** Dropout a second time after the embeddings; norms before the parts of a block, not after
     *  them; dropout of the outputs of encoder and decoder. */
    bool use_pre_encoder_decoder_dropout, use_pre_encoder_decoder_layer_norm;
    bool use_dropout_outside_residual_path;
    bool use_transformer_initialization; /**< and scores over the root of the head's width */
    double initializer_factor;           /**< of the initial deviations of T5 */
    int64_t decoder_start_token_id;      /**< first token of a target in generation */
    /** muP: width of a head that the other settings were tuned at; 0: it does not vary. */
    double mup_base_d_kv;
    /** Factors of the decoder's scores, as attention_logits_alpha and scale_qk_dot_by_d are of the
     *  encoder's. */
    double decoder_attention_logits_alpha;
    bool scale_decoder_qk_dot_by_d;
    struct zoo_diffusion diffusion; /**< of diffusion transformers */
    double label_smoothing; /**< fraction of the uniform distribution in the labels, in training */
    struct zoo_patterns freeze;   /**< expressions that occur in the names of frozen tensors */
    struct zoo_loras lora_params; /**< adapters; all other tensors are frozen then */
    struct zoo_selective selective_grad; /**< tensors of which some weights train */
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
    /** initial decay_rate^(t / total_iters), with staircase in whole powers. */
    ZOO_SCHEDULE_EXPONENTIAL,
    /** initial / (1 + decay_rate t^step_exponent / total_iters). */
    ZOO_SCHEDULE_INVERSE_EXPONENTIAL_TIME_DECAY,
    /** initial scale / root of max(warmup_steps, t). */
    ZOO_SCHEDULE_INVERSE_SQUARE_ROOT_DECAY,
    /** initial times gamma every step_size steps; MULTI_STEP: after each milestone. */
    ZOO_SCHEDULE_STEP,
    ZOO_SCHEDULE_MULTI_STEP,
    /** One listed value between two milestones. */
    ZOO_SCHEDULE_PIECEWISE_CONSTANT,
    /** A cosine between initial and end that continues after T_max; the second one starts again at
     *  initial after T_0, T_0 t_mult ... steps (Loshchilov and Hutter 2017). */
    ZOO_SCHEDULE_COSINE_ANNEALING,
    ZOO_SCHEDULE_COSINE_ANNEALING_WARM_RESTARTS,
    /** initial coefficient^t. */
    ZOO_SCHEDULE_MULTIPLICATIVE,
    /** A triangle from initial to max and back (Smith 2017), see enum zoo_cyclic_mode. */
    ZOO_SCHEDULE_CYCLIC,
    /** Up to max in pct_start of total_iters, then down to initial / final_div_factor (Smith and
     *  Topin 2019). */
    ZOO_SCHEDULE_ONE_CYCLE,
    /** Its children one after the other, each counting from its milestone. */
    ZOO_SCHEDULE_SEQUENTIAL,
    /** The first child's value times value / initial value of each other child. */
    ZOO_SCHEDULE_CHAINED,
    ZOO_N_SCHEDULES
};
/** Amplitude of the cyclic schedule: constant, halved each cycle, or times gamma each step. */
enum zoo_cyclic_mode { ZOO_CYCLIC_TRIANGULAR, ZOO_CYCLIC_TRIANGULAR2, ZOO_CYCLIC_EXP_RANGE };

/** One scheduler with its arguments, those of the others 0.  A scheduler counts its own steps, from
 *  0 where its part of a sequence begins. */
struct zoo_schedule_node {
    enum zoo_scheduler scheduler; /**< which of the arguments below hold */
    double initial, end, max;     /**< end also eta_min, max also that of CYCLIC and ONE_CYCLE */
    int64_t total_iters;          /**< also total_steps, T_max, T_0; CONF_NULL = for ever */
    /** Arguments of the key of that name; see src/zoo/zoo_schedules.c for the scheduler and range
     *  of each. */
    double power, decay_rate, step_exponent, scale, gamma, coefficient, pct_start;
    /** ONE_CYCLE: initial value over the last one. */
    double final_div_factor;
    /** Steps, each at least 1; t_mult is a factor. */
    int64_t warmup_steps, step_size, t_mult, step_size_up, step_size_down;
    /** EXPONENTIAL: whole powers; ONE_CYCLE: down to initial first, then below it. */
    bool staircase, three_phase;
    int anneal_linear;           /**< ONE_CYCLE: 0 follows a cosine, 1 a straight line */
    int mode;                    /**< CYCLIC: enum zoo_cyclic_mode */
    int first_child, n_children; /**< SEQUENTIAL, CHAINED: nodes of the same schedule */
    /** Entries of `value`: steps at which the next part begins (n_children - 1 of SEQUENTIAL, those
     *  of MULTI_STEP and PIECEWISE_CONSTANT), and the values of PIECEWISE_CONSTANT. */
    int first_milestone, n_milestones, first_value, n_values;
};
/** A tree of schedulers; node 0 is its root.  A number in a file is one CONSTANT node, a list is a
 *  SEQUENTIAL. */
struct zoo_schedule {
    int n;      /**< nodes */
    int n_used; /**< numbers in `value` */
    struct zoo_schedule_node node[ZOO_MAX_SCHEDULES];
    /** Numbers of all lists of the schedule, by the ranges that its nodes name. */
    double value[ZOO_MAX_SCHEDULE_VALUES];
};

/** Optimizers: update rules; docs/TRAINING.md has the formulas, src/memoryx the code. */
enum zoo_optimizer_type {
    ZOO_ADAMW,     /**< weight decay beside the gradient (Loshchilov and Hutter 2019) */
    ZOO_ADAM,      /**< weight decay in the gradient (Kingma and Ba 2015) */
    ZOO_ADAFACTOR, /**< second moments by row and column (Shazeer and Stern 2018) */
    ZOO_LAMB,      /**< Adam by the ratio of norms of each tensor (You et al. 2020) */
    ZOO_SGD,       /**< with momentum, also Nesterov's */
    ZOO_LION,      /**< the sign of a momentum (Chen et al. 2023) */
    ZOO_ADADELTA,  /**< Zeiler 2012 */
    ZOO_ADAGRAD,   /**< Duchi et al. 2011 */
    ZOO_ADAMAX,    /**< Adam with the maximum norm (Kingma and Ba 2015) */
    ZOO_ASGD,      /**< averaged SGD (Polyak and Juditsky 1992) */
    ZOO_NADAM,     /**< Adam with Nesterov's momentum (Dozat 2016) */
    ZOO_RADAM,     /**< rectified Adam (Liu et al. 2020) */
    ZOO_RMSPROP,   /**< Tieleman and Hinton 2012 */
    ZOO_RPROP,     /**< signs alone (Riedmiller and Braun 1993) */
    ZOO_N_OPTIMIZERS
};

/** Factors on the learning rate of groups of tensors, adjust_learning_rate; 1 otherwise. */
struct zoo_lr_scale {
    /** Matrices of the blocks; embeddings. */
    double decoder_kernel, embedding;
    /** Among the matrices of the blocks: projections of attention, first and second feed-forward
     *  layer. */
    double decoder_attention, decoder_input_ffn, decoder_output_ffn;
    /** Encoders with decoders have further ones: projections of attention to queries, keys and
     *  values, and those after it; feed-forward layers of the encoder; an output layer with weights
     *  of its own. */
    double decoder_qkv_projection, decoder_output_projection;
    double encoder_qkv_projection, encoder_output_projection;
    double encoder_input_ffn, encoder_output_ffn, lm_head;
};

/** A tag of the tensors whose names end as one of the patterns says: an entry of
 *  `optimizer.params`. */
struct zoo_tag {
    char *tag;                 /**< owned */
    struct zoo_patterns names; /**< globs */
};
/** Schedules of the tensors that have one of the tags: an entry of `optimizer.tagged_schedules`. */
struct zoo_tagged {
    int n_tags;
    char *tag[ZOO_MAX_TAGS]; /**< owned; NULL stands for tensors without a tag */
    struct zoo_schedule learning_rate, weight_decay; /**< n 0: that of the other tensors */
};
/** Tags and what they are for; the schedules of the optimizer hold for all other tensors. */
struct zoo_groups {
    int n_tags, n_tagged;      /**< 0: none */
    struct zoo_tag *tag;       /**< owned, n_tags */
    struct zoo_tagged *tagged; /**< owned, n_tagged */
};

/** Value of zoo_optimizer.loss_scaling_factor for dynamic loss scaling. */
#define ZOO_LOSS_SCALE_DYNAMIC (-1.0)
/** The section optimizer.  Members that an optimizer does not take keep their defaults; a key that
 *  it does not take warns. */
struct zoo_optimizer {
    char *optimizer_type; /**< as written; owned */
    enum zoo_optimizer_type type;
    /** Schedules of the rate and of the weight decay, which spares biases and norms. */
    struct zoo_schedule learning_rate, weight_decay;
    /** Decay rates of the moments, 0 to below 1; what is added to the root of the second one. */
    double beta1, beta2, eps;
    double eps_rms; /**< Adafactor: least root mean square of a tensor */
    /** Moments divided by 1 - beta^t; the largest second moment so far; the loss grows; Nesterov's
     *  form of the momentum. */
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
    bool adam;                        /**< Lamb without its trust ratio */
    double max_gradient_norm;         /**< 0 = no clipping */
    double max_gradient_value;        /**< 0 = no clipping */
    /** 1, a factor, or ZOO_LOSS_SCALE_DYNAMIC; acts with float16 and cbfloat16 only. */
    double loss_scaling_factor;
    double initial_loss_scale, min_loss_scale, max_loss_scale; /**< dynamic scaling; 0 = the
                                       rule of fp16_type */
    int64_t steps_per_increase; /**< dynamic scaling: good steps before the scale doubles */
    /** Norms and the loss scale to TensorBoard; the gradient noise scale too. */
    bool log_summaries, gradient_noise_scale;
    struct zoo_lr_scale adjust_learning_rate;
    struct zoo_groups groups;
};
/** True when the tensor @p name gets @p tag. */
bool zoo_tag_matches(const struct zoo_tag *tag, const char *name);
/** The last entry of optimizer->groups.tagged that has a schedule of the learning rate, or with
 *  @p decay of the weight decay, for the tensor @p name; -1: none. */
int zoo_tagged_find(const struct zoo_optimizer *optimizer, const char *name, bool decay);

/* ---- run ------------------------------------------------------------------------------------- */

/** What a run does. */
enum zoo_mode { ZOO_TRAIN, ZOO_EVAL, ZOO_TRAIN_AND_EVAL, ZOO_GENERATE };

/** How further rows of a table of tokens start when a checkpoint has fewer: not at all, which is an
 *  error; as the model's initial weights; as the mean of the checkpoint's rows. */
enum zoo_new_rows { ZOO_NEW_ROWS_NONE, ZOO_NEW_ROWS_INITIAL, ZOO_NEW_ROWS_MEAN };
/** The section runconfig: length, checkpoints and evaluation of the run. */
struct zoo_runconfig {
    enum zoo_mode mode;
    char *model_dir, *checkpoint_path; /**< NULL checkpoint_path = none; owned */
    char *checkpoint_name;             /**< with one "{step}"; owned */
    /** Systems, 1 to 4096. */
    int64_t num_csx;
    int64_t num_steps, max_steps; /**< CONF_NULL when absent; num_steps counts from the start of
                                       this run, max_steps is the absolute last step */
    /** Epochs of the data; CONF_NULL when absent, or when the file says how long an epoch is:
     *  num_steps has both then. */
    int64_t num_epochs;
    int64_t steps_per_epoch;            /**< CONF_NULL after the checks */
    int64_t eval_frequency, eval_steps; /**< CONF_NULL when absent */
    int64_t checkpoint_steps;           /**< 0 = never */
    int64_t max_checkpoints;            /**< keep the newest N; CONF_NULL = all */
    int64_t skip_samples;               /**< of the stream, before the first step of the run */
    /** Write a checkpoint of step 0; resume from the newest one in model_dir; stop at a loss or
     *  norm that is not finite. */
    bool save_initial_checkpoint, autoload_last_checkpoint, check_loss_values;
    /** Accept missing and additional tensors in the checkpoint that is loaded. */
    bool disable_strict_checkpoint_loading;
    enum zoo_new_rows new_vocabulary; /**< of a checkpoint that is loaded */
    char *load_checkpoint_states;     /**< comma list or NULL = all; owned */
    /** Steps between log lines, at least 1. */
    int64_t log_steps;
    /** Seed of initial weights, dropout, jitter and faults. */
    int64_t seed;
    /** 0: most precise, 2: fastest; decides the format of the softmax.  The file's -1 becomes 1. */
    int64_t precision_opt_level;
    int64_t num_wgt_servers;     /**< upper bound on MemoryX shards; CONF_NULL = cluster file's */
    int64_t num_workers_per_csx; /**< input worker processes of a system; CONF_NULL or 0 = cluster
                                      file's */
    int64_t num_act_servers;     /**< activation servers of a system; CONF_NULL or 0 = cluster
                                      file's */
    /** Stop after the checks, or after the plan. */
    bool validate_only, compile_only;
    /** runconfig.op_profiler_config: first and last step, from 1, of chrome_trace.json; CONF_NULL
     *  when absent. */
    int64_t profile_start_step, profile_end_step;
};

/** Number of the keys of zoo_params_place(). */
enum { ZOO_LATE_KEYS = 14 };

/** A whole params file with all defaults set.  zoo_params_fini() frees what it owns. Equal on every
 *  rank, and constant once parsed; copies that differ in numbers may be shallow (the original owns
 *  texts). */
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
    int64_t lanes;                /**< of a wafer, 1 to 64; CONF_AUTO: as many as are fastest; 0
                                       (`null`): the same, but one where values come from the mesh
                                   */
    int phase, n_phases;          /**< trainer style: which of a list of trainers, from 1; 1, 1 */
    struct conf_warning *warning; /**< owned array */
    int n_warnings;               /**< length of `warning` */
    char *file;                   /**< name for messages; owned */
    char *place[ZOO_LATE_KEYS];   /**< of zoo_params_place(); owned, NULL: the params were not read
                                       from a file */
};

/* ---- reading and writing --------------------------------------------------------------------- */

/** Parse a params file of either style from memory; @p file is the name for messages.  @p out gets
 *  all values, defaults included, and the warnings.  @p sets (`--set`, the last of a path counts;
 *  `phase=N` chooses one of a list of trainers) below `cluster.` are only checked to name a key.
 *  WSC_CONFIG with all errors of the file, or WSC_NOMEM; zoo_params_fini() @p out also then. */
enum wsc_err zoo_params_parse(struct zoo_params *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets) WSC_CHECKED;
/** True when @p bytes look like a params file of either style: a map with one of its sections. */
bool zoo_is_params_file(const char *bytes, size_t n_bytes);
/** Free what @p params owns and set it to zero. */
void zoo_params_fini(struct zoo_params *params);
/** Write the effective params as YAML of the runconfig style that parses back to the same struct;
 *  *@p text is owned by the caller.  WSC_NOMEM. Keys that nothing depends on, and sections that the
 *  file did not have, are left out. */
enum wsc_err zoo_params_dump(const struct zoo_params *params, char **text) WSC_CHECKED;
/** Text attribute of a checkpoint: zoo_past_lines() of the params of its run. */
#define ZOO_PAST "wsc.params"
/** The params that decide what weights mean and which samples a training has seen, a line "key:
 *  value" each; *@p text is owned by the caller.  WSC_NOMEM. */
enum wsc_err zoo_past_lines(const struct zoo_params *params, char **text) WSC_CHECKED;
/** What is taken of a checkpoint, and so which of its params matter. */
enum zoo_past_check {
    ZOO_PAST_RESUME,  /**< all of it: another model is an error, another training a warning */
    ZOO_PAST_WEIGHTS, /**< weights, which train on: warnings */
    ZOO_PAST_MODEL    /**< weights alone: warnings of another model */
};
/** Compare the lines @p stored of a checkpoint with those of @p params: a warning for each key
 *  with another value, or WSC_CONFIG. */
enum wsc_err zoo_past_compare(const struct zoo_params *params, const char *stored,
                              enum zoo_past_check check) WSC_CHECKED;
/** Write the value of key @p path, which must exist, as the dump has it after the colon; *@p text
 * is owned by the caller.  WSC_NOMEM. */
enum wsc_err zoo_params_text(const struct zoo_params *params, const char *path,
                             char **text) WSC_CHECKED;
/** "file:line:col: key" of @p key where the file, or `--set`, has it, else "file: key": how the
 *  message of a check after the parse begins.  @p key is one of late_key in src/zoo/zoo_params.c.
 *  Borrowed from @p params. */
const char *zoo_params_place(const struct zoo_params *params, const char *key);
/** True when a learned router has Sinkhorn's normalisation, for the choice or for the weights. */
bool zoo_moe_has_sinkhorn(const struct zoo_moe *moe);
/** True when a learned router weighs experts by another function of its logits than it chooses
 *  them by. */
bool zoo_moe_weighs_apart(const struct zoo_moe *moe);
/** Write the value of key @p path into @p text (@p size bytes): "null", "12", "gelu".  False when
 * there is no such key, its value is no scalar of the engine (CONF_T_SPECIAL), or @p text is too
 * short. */
bool zoo_params_value(const struct zoo_params *params, const char *path, char *text, size_t size);
/** The name of value @p value of the choice key @p path, e.g. "swiglu"; "?" for a value that the
 * key does not have.  Static. */
const char *zoo_params_choice(const char *path, int value);

/* ---- tables, for docs/CONFIG.md and for --set ------------------------------------------------ */

/** The key table of params files of the runconfig style; static. */
const struct conf_table *zoo_params_table(void);
/** The key table of params files of the trainer style, with paths below `trainer.`; static. */
const struct conf_table *zoo_trainer_table(void);
/** True for a row of the trainer table whose value is a map from a type's name to that type's keys,
 *  such as `optimizer`. */
bool zoo_trainer_is_named(const struct conf_key *key);
/** Schedulers and their arguments, indexed by enum zoo_scheduler; static. */
const struct conf_variants *zoo_schedulers(void);
/** Initializers of weights by name, and their arguments; static. */
const struct conf_variants *zoo_initializers(void);
/** Keys of an entry of `mixture`, a data set with its weight; static. */
const struct conf_table *zoo_mixture_table(void);
/** Transforms of samples (entries of data_transforms) and their arguments; static. */
const struct conf_variants *zoo_transforms(void);
/** Old key name number @p i, from 0, of older releases; NULL after the last.  A name that two rows
 *  of the table have comes twice.  Static. */
const char *zoo_renames_old(int i);
/** The key that takes the place of the @p i-th old one; NULL: none does. */
const char *zoo_renames_new(int i);
/** Spelling number @p i, from 0, of the families that `model.name` takes; NULL after the last;
 *  static. */
const char *zoo_family_spelling(int i);
/** Append the old key names and what they became as a table in Markdown. */
void zoo_renames_write(struct wsc_text *out);
#endif
