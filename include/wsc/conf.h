/** Configuration: the user's YAML files to plain structs.  Layer 1.
 *
 *  Two kinds of file.  *Params* are the users' Model Zoo files, of both styles: what the Model
 *  Zoo accepts is accepted (aliases, old key names, `1e-05`, last duplicate wins with a warning).
 *  *Cluster* files are ours and strict: every constant has a value with its unit, a source and a
 *  kind.  One key table each (src/zoo/params_keys.c, cluster_keys.c) drives parser, types,
 *  defaults, ranges, `--set`, the dump and docs/CONFIG.md.  All errors of a file are reported at
 *  once, each as `file:line:col: key: what; hint`, as one WSC_CONFIG error.
 *
 *  Not collective: rank 0 reads the bytes, every rank parses the same bytes.
 *  Start reading at struct zoo_params and struct hw_machine.
 */
#ifndef WSC_CONF_H
#define WSC_CONF_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZOO_MAX_DIRS = 64, HW_MAX_SHARDS = 64, ZOO_MAX_RANGES = 16 };
/** Schedulers of one schedule, and numbers of all their lists. */
enum { ZOO_MAX_SCHEDULES = 40, ZOO_MAX_SCHEDULE_VALUES = 400 };

/** Integer keys that may also be `null` or "auto". */
#define CONF_NULL    (-2147483647LL)
#define CONF_AUTO    (-2147483646LL)
#define CONF_EXPLORE (-2147483645LL)

/* ---- params ---------------------------------------------------------------------------------- */

/** Parts of a data set, in order and without overlap; n = 0: all of it. */
struct zoo_subset {
    int n;
    double from[ZOO_MAX_RANGES], to[ZOO_MAX_RANGES]; /**< shares from 0 to 1 */
};
/** train_input, eval_input. */
struct zoo_input {
    bool present;                 /**< the section is in the file */
    char *data_processor;         /**< GptHDF5MapDataProcessor or GptHDF5DataProcessor; owned */
    char *data_dir[ZOO_MAX_DIRS]; /**< directories with *.h5; owned */
    int n_data_dirs;
    /** Of `mixture`: its data sets, each with a weight and its directories; 0: without mixture all
     *  directories are one data set, number 0. */
    int n_sets;
    int data_set[ZOO_MAX_DIRS];                  /**< of each directory */
    double weight[ZOO_MAX_DIRS];                 /**< of each data set, not normalised */
    struct zoo_subset data_subset[ZOO_MAX_DIRS]; /**< of each data set */
    int64_t num_samples;                         /**< of an epoch; CONF_NULL or 0: all once */
    bool use_vsl;                                /**< files with attention_span and position_ids */
    int64_t batch_size;                          /**< global, sequences */
    int64_t micro_batch_size;         /**< sequences per system, CONF_AUTO, CONF_NULL (no split) or
                                           CONF_EXPLORE: try every size and stop */
    int64_t explore_min, explore_max; /**< of the sizes to try; CONF_NULL: no bound */
    int64_t sink_tokens;              /**< put before every sample (data_transforms); 0: none */
    int64_t sink_token_id;
    bool micro_batch_given; /**< the file says it; the default otherwise */
    bool shuffle;
    int64_t shuffle_seed;
    bool repeat, drop_last;
    int64_t max_sequence_length; /**< for corpus files; CONF_NULL when absent */
};

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
/** What variance scaling divides by: inputs of a matrix (out, in), outputs, their mean. */
enum zoo_fan { ZOO_FAN_IN, ZOO_FAN_OUT, ZOO_FAN_AVG };
/** An initializer spec; a and b are absolute bounds. */
struct zoo_init {
    enum zoo_init_kind kind; /**< DEFAULT: the family's rule with initializer_range */
    double mean, std, a, b, value;
    /** VARIANCE_SCALING: variance is value / fan; NORMAL, TRUNCATED_NORMAL or UNIFORM. */
    enum zoo_fan fan;
    enum zoo_init_kind distribution;
};

/** Families of the Model Zoo by name; what a name implies is a row of src/zoo/zoo_families.c. */
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
    ZOO_BERT
};
/** How positions enter.  FIXED: a table of sines; ROTARY: q and k are turned (Su et al. 2021);
 *  ALIBI: a bias that falls with the distance (Press et al. 2022). */
enum zoo_position {
    ZOO_POSITION_LEARNED,
    ZOO_POSITION_NONE,
    ZOO_POSITION_FIXED,
    ZOO_POSITION_ROTARY,
    ZOO_POSITION_ALIBI
};
/** How rotary frequencies are stretched for longer sequences. */
enum zoo_rope_scaling { ZOO_ROPE_LINEAR, ZOO_ROPE_LLAMA3, ZOO_ROPE_YARN };
/** LayerNorm (Ba et al. 2016) with or without bias, RMSNorm (Zhang and Sennrich 2019). */
enum zoo_norm { ZOO_LAYERNORM, ZOO_BIASLESS_LAYERNORM, ZOO_RMSNORM };
enum zoo_fp16_type { ZOO_FP16, ZOO_BF16, ZOO_CB16 };
enum zoo_loss_scaling { ZOO_LOSS_NUM_TOKENS, ZOO_LOSS_BATCH_SIZE };
/** What is trained.  The two of encoders attend in both directions and are kept in time only. */
enum zoo_objective {
    ZOO_CAUSAL_LM,     /**< the next token, at every position */
    ZOO_MASKED_LM,     /**< masked tokens, at max_predictions_per_seq positions (BERT) */
    ZOO_CLASSIFICATION /**< one of two classes per sequence, from its first token (BERT) */
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
    ZOO_GATED = 32,
    ZOO_SWIGLU = ZOO_GATED + ZOO_SILU,
    ZOO_GEGLU = ZOO_GATED + ZOO_GELU,
    ZOO_REGLU = ZOO_GATED + ZOO_RELU,
    ZOO_LIGLU = ZOO_GATED + ZOO_LINEAR
};
enum zoo_routing { ZOO_ROUTING_LEARNED, ZOO_ROUTING_HASH };
/** Scores of attention divided by the root of the head's width, or not at all. */
enum zoo_attention_type { ZOO_SCALED_DOT_PRODUCT, ZOO_DOT_PRODUCT };
enum zoo_attention_module { ZOO_MULTIHEAD, ZOO_MULTIQUERY };

struct zoo_model {
    int64_t vocab_size, hidden_size, num_hidden_layers, num_heads, filter_size;
    int64_t max_position_embeddings;
    enum zoo_objective objective;
    int64_t max_predictions_per_seq; /**< ZOO_MASKED_LM */
    enum zoo_family name;            /**< after the checks never ZOO_FAMILY_NONE */
    bool parallel_block; /**< by the family: attention and feed-forward read the same input */
    bool use_untied_layer_norm; /**< of a parallel block: the feed-forward has its own norm */
    bool norm_first_sandwich;   /**< norms also behind attention and feed-forward */
    enum zoo_position position_embedding_type;
    int64_t rotary_dim; /**< turned dimensions of a head; CONF_NULL: see <wsc/model.h> */
    double rope_theta, pos_scaling_factor;
    enum zoo_rope_scaling pos_scaling_type;
    struct zoo_rope_args {
        double low_freq_factor, high_freq_factor;                              /**< llama3 */
        double beta_fast, beta_slow, extrapolation_factor, mscale_a, mscale_b; /**< yarn */
        int64_t original_max_position_embeddings; /**< CONF_NULL when absent */
    } pos_scaling_extra_args;
    enum zoo_nonlinearity nonlinearity;
    enum zoo_norm norm_type;
    bool embedding_layer_norm;
    enum zoo_attention_module attention_module;
    int64_t num_kv_groups;                   /**< heads of k and v; CONF_NULL: by the module */
    int64_t attention_inner_dim;             /**< heads x head width; CONF_NULL: hidden_size */
    int64_t attention_sliding_window_length; /**< CONF_NULL: all earlier tokens */
    bool sliding_window_every_other_decoder_layer;
    int64_t attention_sink_tokens; /**< first tokens that every token sees */
    double attention_logit_softcapping, final_logit_softcapping; /**< 0 = off */
    struct zoo_moe {
        int64_t num_experts, num_shared_experts, top_k;
        double load_balancing_loss_coef, null_expert_bias;
        enum zoo_routing routing_algorithm;
        bool expert_weighting_normalization;
        struct zoo_init gate_initializer;
    } moe;
    double layer_norm_epsilon;
    bool share_embedding_weights, use_bias_in_output;
    bool use_ffn_bias, use_ffn_bias_in_attention, use_projection_bias_in_attention;
    double dropout_rate, attention_dropout_rate, embedding_dropout_rate, residual_dropout_rate;
    bool mixed_precision;
    enum zoo_fp16_type fp16_type;
    bool attention_softmax_fp32;
    double initializer_range;
    struct zoo_init initializer, embedding_initializer, output_layer_initializer;
    enum zoo_loss_scaling loss_scaling;
    double loss_weight;
    bool compute_eval_metrics;
    struct zoo_init ffn_initializer, ffn_output_layer_initializer;
    double embeddings_scale, output_logits_scale; /**< muP; 1 = off */
    enum zoo_attention_type attention_type;
    bool scale_qk_dot_by_d, scale_qk_dot_by_layer_idx;
    double mup_base_hidden_size, mup_base_filter_size; /**< 0 = no muP by base sizes */
    double output_logits_alpha, attention_logits_alpha;
    bool scale_output_logits_by_d;
};

/** How a value goes from step to step: the Model Zoo's families `...LR` and `...WD`, without the
 *  suffix.  docs/TRAINING.md has the formulas. */
enum zoo_scheduler {
    ZOO_SCHEDULE_CONSTANT,
    ZOO_SCHEDULE_POLYNOMIAL,
    ZOO_SCHEDULE_LINEAR,
    ZOO_SCHEDULE_COSINE_DECAY,
    ZOO_SCHEDULE_EXPONENTIAL,
    ZOO_SCHEDULE_INVERSE_EXPONENTIAL_TIME_DECAY,
    ZOO_SCHEDULE_INVERSE_SQUARE_ROOT_DECAY,
    ZOO_SCHEDULE_STEP,
    ZOO_SCHEDULE_MULTI_STEP,
    ZOO_SCHEDULE_PIECEWISE_CONSTANT,
    ZOO_SCHEDULE_COSINE_ANNEALING,
    ZOO_SCHEDULE_COSINE_ANNEALING_WARM_RESTARTS,
    ZOO_SCHEDULE_MULTIPLICATIVE,
    ZOO_SCHEDULE_CYCLIC,
    ZOO_SCHEDULE_ONE_CYCLE,
    ZOO_SCHEDULE_SEQUENTIAL,
    ZOO_SCHEDULE_CHAINED,
    ZOO_N_SCHEDULES
};
enum zoo_cyclic_mode { ZOO_CYCLIC_TRIANGULAR, ZOO_CYCLIC_TRIANGULAR2, ZOO_CYCLIC_EXP_RANGE };

/** One scheduler with its arguments, those of the others 0.  A scheduler counts its own steps. */
struct zoo_schedule_node {
    enum zoo_scheduler scheduler;
    double initial, end, max; /**< end also eta_min, max also that of CYCLIC and ONE_CYCLE */
    int64_t total_iters;      /**< also total_steps, T_max, T_0; CONF_NULL = for ever */
    double power, decay_rate, step_exponent, scale, gamma, coefficient, pct_start;
    double final_div_factor;
    int64_t warmup_steps, step_size, t_mult, step_size_up, step_size_down;
    bool staircase, three_phase;
    int anneal_linear;           /**< ONE_CYCLE: 0 follows a cosine, 1 a straight line */
    int mode;                    /**< CYCLIC: enum zoo_cyclic_mode */
    int first_child, n_children; /**< SEQUENTIAL, CHAINED: nodes of the same schedule */
    /** Entries of `value`: steps at which the next part begins (n_children - 1 of SEQUENTIAL, those
     *  of MULTI_STEP and PIECEWISE_CONSTANT), and the values of PIECEWISE_CONSTANT. */
    int first_milestone, n_milestones, first_value, n_values;
};
/** A tree of schedulers; node 0 is its root. */
struct zoo_schedule {
    int n, n_used;
    struct zoo_schedule_node node[ZOO_MAX_SCHEDULES];
    double value[ZOO_MAX_SCHEDULE_VALUES];
};

/** Rules of update; docs/TRAINING.md has the formulas. */
enum zoo_optimizer_type {
    ZOO_ADAMW,
    ZOO_ADAM,
    ZOO_ADAFACTOR,
    ZOO_LAMB,
    ZOO_SGD,
    ZOO_LION,
    ZOO_ADADELTA,
    ZOO_ADAGRAD,
    ZOO_ADAMAX,
    ZOO_ASGD,
    ZOO_NADAM,
    ZOO_RADAM,
    ZOO_RMSPROP,
    ZOO_RPROP,
    ZOO_N_OPTIMIZERS
};

/** Factors on the learning rate of groups of tensors, adjust_learning_rate; 1 otherwise. */
struct zoo_lr_scale {
    double decoder_kernel, embedding;
    double decoder_attention, decoder_input_ffn, decoder_output_ffn;
};

/** Fields that an optimizer does not take keep their defaults. */
struct zoo_optimizer {
    char *optimizer_type; /**< as written; owned */
    enum zoo_optimizer_type type;
    struct zoo_schedule learning_rate, weight_decay;
    double beta1, beta2, eps;
    double eps_rms; /**< Adafactor: least root mean square of a tensor */
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
    bool log_summaries, gradient_noise_scale;
    struct zoo_lr_scale adjust_learning_rate;
};
#define ZOO_LOSS_SCALE_DYNAMIC (-1.0)

enum zoo_mode { ZOO_TRAIN, ZOO_EVAL, ZOO_TRAIN_AND_EVAL, ZOO_GENERATE };

struct zoo_runconfig {
    enum zoo_mode mode;
    char *model_dir, *checkpoint_path; /**< NULL checkpoint_path = none; owned */
    int64_t num_csx;
    int64_t num_steps, max_steps; /**< CONF_NULL when absent; num_steps counts from the start of
                                       this run, max_steps is the absolute last step */
    int64_t num_epochs, steps_per_epoch; /**< CONF_NULL after the checks: they are in num_steps */
    int64_t eval_frequency, eval_steps;  /**< CONF_NULL when absent */
    int64_t checkpoint_steps;            /**< 0 = never */
    int64_t max_checkpoints;             /**< keep the newest N; CONF_NULL = all */
    int64_t skip_samples;                /**< of the stream, before the first step of the run */
    bool save_initial_checkpoint, autoload_last_checkpoint, check_loss_values;
    bool disable_strict_checkpoint_loading;
    char *load_checkpoint_states; /**< comma list or NULL = all; owned */
    int64_t log_steps;
    int64_t seed;
    int64_t precision_opt_level;
    int64_t num_wgt_servers; /**< upper bound on MemoryX shards; CONF_NULL = cluster file's */
    bool validate_only, compile_only;
    /** runconfig.op_profiler_config: first and last step, from 1, of chrome_trace.json; CONF_NULL
     *  when absent. */
    int64_t profile_start_step, profile_end_step;
};

enum zoo_sparsity_algorithm {
    ZOO_SPARSITY_STATIC,
    ZOO_SPARSITY_GMP,
    ZOO_SPARSITY_SET,
    ZOO_SPARSITY_RIGL
};
enum zoo_sparsity_init {
    ZOO_SPARSITY_RANDOM,
    ZOO_SPARSITY_TOPK,
    ZOO_SPARSITY_FROM_ZEROS,
    ZOO_SPARSITY_CHECKERBOARD
};
/** A number that may change with the steps, as the Model Zoo writes it: constant init; linear init
 *  and slope; exp init, gamma, final; power init and beta; cosine and cycling init, half_period,
 *  minimum; or one value per update. */
enum zoo_sparsity_kind {
    ZOO_SPARSITY_CONSTANT,
    ZOO_SPARSITY_LINEAR,
    ZOO_SPARSITY_EXP,
    ZOO_SPARSITY_POWER,
    ZOO_SPARSITY_COSINE,
    ZOO_SPARSITY_CYCLING,
    ZOO_SPARSITY_LIST
};
enum { ZOO_MAX_SPARSITY = 8, ZOO_MAX_FILTERS = 16, ZOO_MAX_UPDATES = 64 };
struct zoo_sparsity_schedule {
    enum zoo_sparsity_kind kind;
    double init, slope, gamma, final, beta, half_period, minimum;
    double value[ZOO_MAX_UPDATES]; /**< ZOO_SPARSITY_LIST, one per update */
    int n_values;
};
/** One entry of `sparsity`: which weights, how many of them zero, and when the mask changes. */
struct zoo_sparsity {
    enum zoo_sparsity_algorithm algorithm;
    enum zoo_sparsity_init init_method;
    struct zoo_sparsity_schedule sparsity;      /**< fraction of zeros */
    struct zoo_sparsity_schedule drop_fraction; /**< SET and RigL */
    int64_t update_freq, update_start;          /**< steps; freq CONF_NULL: never */
    int64_t update_stop;                        /**< exclusive; CONF_NULL: to the end */
    int64_t update_step[ZOO_MAX_UPDATES];       /**< instead of freq */
    int n_update_steps;
    int64_t balance_in_groups, balance_out_groups; /**< CONF_NULL: none */
    char *filter[ZOO_MAX_FILTERS]; /**< globs of names; none: all matrices of the blocks; owned */
    int n_filters;
    bool add_summaries;
};
struct zoo_sparsity_list {
    struct zoo_sparsity *entry; /**< owned */
    int n;                      /**< 0: dense */
};

/** model.dpo: preference optimisation (Rafailov et al. 2023); read and shown, not trained. */
struct zoo_dpo {
    bool present;
    double beta;
    bool reference_free;
};

/** One warning of a parse: something accepted, but without effect or suspicious. */
struct conf_warning {
    char *text; /**< owned, with file:line:col where there is one */
};

struct zoo_params {
    struct zoo_input train_input, eval_input;
    struct zoo_model model;
    struct zoo_optimizer optimizer;
    struct zoo_runconfig runconfig;
    struct zoo_sparsity_list sparsity;
    struct zoo_dpo dpo;
    bool trace_hash;              /**< log weights_hash at every step */
    int64_t reduction_leaf;       /**< consecutive samples whose gradient is computed together */
    int phase, n_phases;          /**< trainer style: which of a list of trainers, from 1; 1, 1 */
    struct conf_warning *warning; /**< owned array */
    int n_warnings;
    char *file; /**< name for messages; owned */
};

/* ---- faults ---------------------------------------------------------------------------------- */

enum hw_fault_kind {
    HW_FAULT_STRAGGLER,   /**< a system computes slower */
    HW_FAULT_JITTER,      /**< a system's compute time varies from step to step */
    HW_FAULT_LOST_WAFER,  /**< a system is gone; the others share its part of the batch */
    HW_FAULT_SLOW_LINK,   /**< a link has a part of its rate */
    HW_FAULT_LOSSY_LINK,  /**< a link loses packets */
    HW_FAULT_LOST_PLANES, /**< planes of all links of a SwarmX node */
    HW_FAULT_LOST_NODE,   /**< a SwarmX node is gone; the tree is formed anew */
    HW_FAULT_LOST_SHARD,  /**< a MemoryX shard loses its memory */
    HW_N_FAULT_KINDS
};
/** Where faults happen.  The link of a wafer or SwarmX node is the one towards MemoryX. */
enum hw_place { HW_PLACE_WAFER, HW_PLACE_NODE, HW_PLACE_SHARD, HW_N_PLACES };
enum { HW_FAULT_TEXT_BYTES = 128 };
/** One entry of `faults:` or `--fault`. */
struct hw_fault {
    enum hw_fault_kind kind;
    enum hw_place place;
    int64_t where; /**< which wafer, node or shard; CONF_NULL: every one */
    int64_t from;  /**< the first step that it touches, from 1 */
    int64_t steps; /**< how many; 0: to the end */
    double rate;   /**< probability that it begins in a step, for each place; 0: at @c from */
    double amount; /**< factor, deviation, share of packets, planes; 0 where there is none */
    char text[HW_FAULT_TEXT_BYTES]; /**< as `--fault` takes it */
};
/** "wafer", "node", "shard". */
const char *hw_place_name(enum hw_place place);

/* ---- cluster --------------------------------------------------------------------------------- */

enum hw_granularity { HW_STREAM_BLOCK, HW_STREAM_MATRIX };

/** The emulated machine.  Base units: ps, bytes, bytes/s, Hz, W. */
struct hw_machine {
    char *name;      /**< e.g. "CS-2"; owned */
    char *base;      /**< the file that this one is based on, as written, or NULL; owned */
    int64_t systems; /**< of the installation; 0 = any number */
    struct hw_wafer {
        int64_t clock_hz;
        int64_t pe_cols, pe_rows; /**< usable PEs, x by y */
        int64_t sram_bytes_per_pe;
        int64_t sram_reserved_bytes_per_pe; /**< code, queues, staging: not for activations */
        double simd_fmach;                /**< 16-bit multiply-adds, 16-bit sum, per cycle and PE */
        double simd_fmachs;               /**< 16-bit multiply-adds, 32-bit sum, per cycle and PE */
        double simd_fmacs;                /**< 32-bit multiply-adds per cycle and PE */
        double simd_fadds;                /**< 32-bit additions per cycle and PE */
        double simd_fmuls;                /**< 32-bit products per cycle and PE */
        double simd_faddh;                /**< 16-bit additions or products per cycle and PE */
        int64_t vector_setup_cycles;      /**< start of a multiply-add, 16-bit operands */
        int64_t vector_setup_fp32_cycles; /**< the same, 32-bit operands */
        int64_t vector_setup_add_cycles;  /**< start of an addition, product or maximum */
        int64_t vector_setup_copy_cycles; /**< start of a copy or of scalar code over a vector */
        int64_t vector_loop_cycles;  /**< from one vector operation of a loop to the next, beside
                                          the start: operand addresses, the scalar */
        int64_t hop_cycles;          /**< router to router */
        int64_t ramp_cycles;         /**< router to PE, each way */
        int64_t exp_cycles;          /**< one exponential on one PE */
        int64_t divide_cycles;       /**< one division or square root on one PE */
        int64_t io_rate_bytes_per_s; /**< one direction */
        int64_t stage_latency_ps;    /**< fixed start cost of a stage */
        double kernel_factor;        /**< on the cycles of all kernels; 1: as the formulas say */
        int64_t peak_flop_per_s;     /**< dense 16-bit, for MFU only */
        int64_t system_power_w;
    } wafer;
    struct hw_swarmx {
        int64_t fanout;
        int64_t link_rate_bytes_per_s; /**< one direction, all planes together */
        int64_t link_latency_ps;       /**< one hop of cable and NICs */
        int64_t latency_ps;            /**< a node: first byte in to first byte out, down */
        int64_t add_latency_ps;        /**< the same upwards, with the addition */
        int64_t node_power_w;
        int64_t planes; /**< parallel networks that make up a link */
    } swarmx;
    struct hw_memoryx {
        int64_t shards;
        int64_t link_rate_bytes_per_s; /**< one shard, one direction */
        int64_t link_latency_ps;
        int64_t update_rate_params_per_s; /**< one shard */
        int64_t update_latency_ps;        /**< gradient complete to first updated weight */
        int64_t capacity_bytes;           /**< all shards */
        int64_t bytes_per_parameter;      /**< master weight, moments, gradient */
        int64_t shard_power_w;
    } memoryx;
    struct hw_stream {
        enum hw_granularity granularity;
        int64_t prefetch_window_bytes; /**< weights granted ahead of the stage being consumed */
        int64_t chunk_bytes;           /**< host transport: largest piece of one MPI message */
        int64_t chunks_in_flight;      /**< host transport: pieces posted at once per message */
    } stream;
    double jitter; /**< standard deviation of a wafer's compute time from step to step, relative */
    struct hw_feed {
        int64_t rate_bytes_per_s; /**< samples into one system */
        int64_t bytes_per_token;
    } input;
    /** Mechanisms that make many systems slower than one, each with a switch. */
    struct hw_effects {
        bool boundary, reduce, latency, jitter, input;
    } effects;
    /** What it takes to go on after a fault; a step of a sound machine needs none of it. */
    struct hw_recovery {
        int64_t detection_ps;             /**< a part fails to the job knows */
        int64_t redistribution_ps;        /**< a lost system's share goes to the others */
        int64_t reroute_ps;               /**< a SwarmX tree gets along without a node */
        int64_t restore_rate_bytes_per_s; /**< a checkpoint into one shard */
    } recovery;
    /** Links that lose packets: go-back-N, see <wsc/vtime.h>. */
    struct hw_retransmit {
        int64_t packet_bytes;
        int64_t timeout_ps; /**< when no later packet tells that one is missing */
    } retransmit;
    struct hw_fault_list {
        struct hw_fault *item; /**< owned, in the order of file and command line */
        int n;
    } faults;
    uint64_t hash;            /**< of all values: which machine a number belongs to */
    struct hw_source *source; /**< owned; where each constant comes from, table order */
    int n_sources;
    char *file; /**< owned */
};

/** Provenance of one constant, for tables and reports. */
struct hw_source {
    const char *key;  /**< "wafer.clock"; static */
    char *value;      /**< as written, with unit; owned */
    const char *kind; /**< documented, derived, assumed or calibrated; static */
    char *source;     /**< owned */
    /** Where the true value may lie, base units; low <= high, both the value itself when nothing
     *  is uncertain or when the constant is no number. */
    double low, high;
};

/* ---- calls ----------------------------------------------------------------------------------- */

/** `--set path=value`, in the order given; paths under `cluster.` belong to the cluster file.
 *  `cluster.faults+=KIND:KEY=VALUE,...` is one more fault. */
struct conf_set {
    const char *text; /**< borrowed */
};

/** Read a whole file; *@p bytes is owned by the caller and ends with an extra NUL.  Refuses more
 *  than 16 MiB. */
enum wsc_err conf_read_file(const char *path, char **bytes, size_t *n_bytes) WSC_CHECKED;

/** Parse params from memory; @p file is the name for messages.  @p out is filled with defaults
 *  first; zoo_params_fini() it also after an error.  The `cluster.` sets are only checked to name
 *  a key. */
enum wsc_err zoo_params_parse(struct zoo_params *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets) WSC_CHECKED;
void zoo_params_fini(struct zoo_params *params);

/** Read a cluster file and what it is based on (`base: other.yaml`) as one text for
 *  hw_machine_parse(); owned by the caller.  A missing base and a circle are errors that name the
 *  line. */
enum wsc_err hw_machine_read(const char *path, char **text, size_t *n) WSC_CHECKED;
/** Parse a cluster file from memory; NULL @p bytes takes the built-in CS-2 (the text of
 *  configs/cluster/cs2.yaml, compiled in), NULL @p file its name.  Only the `cluster.` sets are
 *  looked at; hw_machine_fini() @p out also after an error. */
enum wsc_err hw_machine_parse(struct hw_machine *out, const char *file, const char *bytes,
                              size_t n_bytes, const struct conf_set *sets, int n_sets) WSC_CHECKED;
void hw_machine_fini(struct hw_machine *cluster);

/* ---- variations of a machine ------------------------------------------------------------------
 */

/** A numeric constant of a cluster file. */
struct hw_constant {
    const char *path; /**< without `cluster.`; static */
    int row;          /**< of the key table */
    bool whole;       /**< takes whole numbers only (of its base unit) */
};
/** Find one; unknown paths and constants that are no number are errors that name @p path. */
enum wsc_err hw_constant_find(const char *path, struct hw_constant *out) WSC_CHECKED;
/** Read a value with its unit, in base units; errors name the path. */
enum wsc_err hw_constant_read(const struct hw_constant *constant, const char *text,
                              double *value) WSC_CHECKED;
/** Write @p value with its unit, to four digits where it has many; 48 bytes are enough. */
void hw_constant_write(const struct hw_constant *constant, double value, char *text, size_t size);
/** The value that @p cluster has. */
double hw_constant_get(const struct hw_constant *constant, const struct hw_machine *cluster);
/** Give it another one, rounded to a whole number where the constant takes no other; sources stay
 *  as they are, so @p cluster may be a shallow copy.  Out of the key's range is an error. */
enum wsc_err hw_constant_set(const struct hw_constant *constant, struct hw_machine *cluster,
                             double value) WSC_CHECKED;

/** The effective params as YAML text that parses back to the same struct; owned by the caller. */
enum wsc_err zoo_params_dump(const struct zoo_params *params, char **text) WSC_CHECKED;
/** The value of key @p path as the dump writes it behind the colon; owned by the caller. */
enum wsc_err zoo_params_text(const struct zoo_params *params, const char *path,
                             char **text) WSC_CHECKED;
/** Names of the Model Zoo. */
const char *zoo_sparsity_algorithm_name(enum zoo_sparsity_algorithm algorithm);
const char *zoo_sparsity_init_name(enum zoo_sparsity_init init);
/** Not of ZOO_SPARSITY_LIST, which has none. */
const char *zoo_sparsity_kind_name(enum zoo_sparsity_kind kind);
/** How value @p value of the choice key @p path of params files is written, e.g. "swiglu"; "?" for
 *  a value that the key does not have. */
const char *zoo_params_choice(const char *path, int value);
/** The value of the key at @p path, as the dump writes it: "null", "12", "gelu".  False when there
 *  is no such key, its value has a form of its own, or @p text is too short. */
bool zoo_params_value(const struct zoo_params *params, const char *path, char *text, size_t size);
/** docs/CONFIG.md: every key of both tables with type, unit, default and meaning; owned. */
enum wsc_err report_config_reference(char **text) WSC_CHECKED;
/** True when @p bytes look like a cluster file (a `schema_version` with `wafer` or `base`). */
bool hw_is_machine_file(const char *bytes, size_t n_bytes);
#endif
