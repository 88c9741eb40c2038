// SPDX-License-Identifier: Apache-2.0
/* The keys of params files: those of the decoder-only GPT family of the Model Zoo ("runconfig"
 * style, release 2.2) with their defaults, and two keys of our own at the top.  Where a row has a
 * field, the path is its name in struct conf_params. */
#include "conf_impl.h"

#include <float.h>

#define FIELD(f)    .path = #f, .offset = offsetof(struct conf_params, f)
#define AT(p, f)    .path = (p), .offset = offsetof(struct conf_params, f)
#define KEY(p)      .path = (p)
#define INT         .type = CONF_T_INT
#define DOUBLE      .type = CONF_T_DOUBLE
#define BOOL        .type = CONF_T_BOOL, .nullable = true
#define STRING      .type = CONF_T_STRING
#define CHOICE      .type = CONF_T_CHOICE
#define SPECIAL(w)  .type = CONF_T_SPECIAL, .read = conf_read_##w, .write = conf_write_##w
#define NULLABLE    .nullable = true
#define REQUIRED    .required = true
#define RANGE(a, b) .min = (a), .max = (b)
#define ABOVE_0     .positive = true, .max = DBL_MAX
#define NO_EFFECT   .type = CONF_T_ANY, .status = CONF_NO_EFFECT
#define NOISE       .type = CONF_T_ANY, .status = CONF_NOISE
#define ONLY(...)   .type = CONF_T_CHOICE, .status = CONF_ONLY, .choices = {__VA_ARGS__}
#define OFF                                                                                        \
    {"null", 0},                                                                                   \
    {                                                                                              \
        "false", 0                                                                                 \
    }
#define DEFAULT(t) .fallback = (t)
#define DOC(t)     .doc = (t)

#define MAX_STEPS   1e15
#define MAX_SAMPLES 1e9

/* clang-format off */
#define INPUT(in)                                                                                  \
    {FIELD(in.data_processor), STRING, REQUIRED, DOC("class of the data loader")},                 \
    {AT(#in ".data_dir", in), SPECIAL(data_dir), REQUIRED, .form = "directory or list of them",    \
     DOC("directories with *.h5 files; at most 64")},                                              \
    {FIELD(in.batch_size), INT, REQUIRED, RANGE(1, MAX_SAMPLES),                                   \
     DOC("global batch in sequences, shared by the systems")},                                     \
    {FIELD(in.micro_batch_size), SPECIAL(micro_batch), DEFAULT("auto"),                            \
     .form = "whole number, auto or null",                                                         \
     DOC("sequences that one system computes at a time; null: its whole share")},                  \
    {FIELD(in.shuffle), BOOL, DEFAULT("false"), DOC("permute the samples in every epoch")},        \
    {FIELD(in.shuffle_seed), INT, NULLABLE, DEFAULT("0"), RANGE(-DBL_MAX, DBL_MAX),                \
     DOC("seed of that permutation")},                                                             \
    {FIELD(in.repeat), BOOL, DEFAULT("true"), DOC("start again after the last sample")},           \
    {FIELD(in.drop_last), BOOL, DEFAULT("true"), DOC("leave out a last incomplete batch")},        \
    {FIELD(in.max_sequence_length), INT, NULLABLE, DEFAULT("null"), RANGE(1, 1 << 20),             \
     DOC("tokens per sample, needed for corpus files")},                                           \
    {KEY(#in ".num_workers"), NO_EFFECT, DOC("loader processes")},                                 \
    {KEY(#in ".prefetch_factor"), NO_EFFECT, DOC("batches that a loader reads ahead")},            \
    {KEY(#in ".persistent_workers"), NO_EFFECT, DOC("keep loader processes between epochs")},      \
    {KEY(#in ".use_worker_cache"), NO_EFFECT, DOC("copy the data to the workers' disks first")},   \
    {KEY(#in ".vocab_size"), NO_EFFECT, DOC("used by synthetic data only")},                       \
    {KEY(#in ".shuffle_buffer"), NO_EFFECT, DOC("buffer of an iterable loader")},                  \
    {KEY(#in ".mixed_precision"), NOISE, DOC("no longer a key of the data loader")},               \
    {KEY(#in ".use_multiple_workers"), NOISE, DOC("no longer a key of the data loader")},          \
    {KEY(#in ".mixture"), ONLY({"null", 0}), DOC("weighted mixture of data sets")},                \
    {KEY(#in ".use_vsl"), ONLY(OFF), DOC("variable sequence length")},                             \
    {KEY(#in ".pad_last"), ONLY(OFF), DOC("fill a last incomplete batch")}

#define INITIALIZER(f, text)                                                                       \
    {FIELD(f), SPECIAL(initializer), .form = "name, or map with name, mean, std, a, b, val",       \
     DOC(text)}

static const struct conf_key keys[] = {
    INPUT(train_input),
    INPUT(eval_input),

    {FIELD(model.vocab_size), INT, REQUIRED, RANGE(1, 512000), DOC("tokens of the vocabulary")},
    {FIELD(model.hidden_size), INT, DEFAULT("768"), RANGE(1, 1 << 20), DOC("width")},
    {FIELD(model.num_hidden_layers), INT, DEFAULT("12"), RANGE(1, 10000),
     DOC("transformer blocks")},
    {FIELD(model.num_heads), INT, DEFAULT("12"), RANGE(1, 1 << 20),
     DOC("attention heads; they divide hidden_size")},
    {FIELD(model.filter_size), INT, DEFAULT("3072"), RANGE(1, 1 << 22),
     DOC("inner width of the feed-forward network")},
    {FIELD(model.max_position_embeddings), INT, DEFAULT("1024"), RANGE(1, 1 << 20),
     DOC("sequence length, and rows of the learned position table")},
    {FIELD(model.objective), CHOICE, DEFAULT("causal_lm"),
     .choices = {{"causal_lm", CONF_CAUSAL_LM}, {"masked_lm", CONF_MASKED_LM},
                 {"classification", CONF_CLASSIFICATION}},
     DOC("what is trained; the last two are encoders (BERT), with --numerics none")},
    {FIELD(model.max_predictions_per_seq), INT, DEFAULT("20"), RANGE(1, 1 << 20),
     DOC("masked_lm: positions of a sequence that the head computes")},
    {FIELD(model.position_embedding_type), CHOICE, DEFAULT("learned"),
     .choices = {{"learned", CONF_POSITION_LEARNED}, {"null", CONF_POSITION_NONE}},
     DOC("how positions enter")},
    {FIELD(model.nonlinearity), CHOICE, DEFAULT("gelu"),
     .choices = {{"gelu", CONF_GELU}, {"gelu_new", CONF_GELU_NEW}, {"relu", CONF_RELU}},
     DOC("activation of the feed-forward network")},
    {FIELD(model.layer_norm_epsilon), DOUBLE, DEFAULT("1e-5"), ABOVE_0,
     DOC("added to the variance")},
    {FIELD(model.share_embedding_weights), BOOL, DEFAULT("true"),
     DOC("tie the output layer to the word embedding")},
    {FIELD(model.use_bias_in_output), BOOL, DEFAULT("false"), DOC("bias of the output layer")},
    {FIELD(model.use_ffn_bias), BOOL, DEFAULT("true"), DOC("biases of the feed-forward network")},
    {FIELD(model.use_ffn_bias_in_attention), BOOL, DEFAULT("true"),
     DOC("bias of the attention output projection")},
    {FIELD(model.use_projection_bias_in_attention), BOOL, DEFAULT("true"),
     DOC("biases of the query, key and value projections")},
    {FIELD(model.dropout_rate), DOUBLE, NULLABLE, DEFAULT("0.1"), RANGE(0, 1),
     DOC("dropout of the residual branches")},
    {FIELD(model.attention_dropout_rate), DOUBLE, NULLABLE, DEFAULT("=model.dropout_rate"),
     RANGE(0, 1), DOC("dropout of the attention probabilities")},
    {FIELD(model.embedding_dropout_rate), DOUBLE, NULLABLE, DEFAULT("=model.dropout_rate"),
     RANGE(0, 1), DOC("dropout of the embeddings")},
    {FIELD(model.residual_dropout_rate), DOUBLE, NULLABLE, DEFAULT("=model.dropout_rate"),
     RANGE(0, 1), DOC("the GPT-J family's name of dropout_rate")},
    {FIELD(model.mixed_precision), BOOL, DEFAULT("false"), DOC("16-bit activations")},
    {FIELD(model.fp16_type), CHOICE, DEFAULT("bfloat16"),
     .choices = {{"float16", CONF_FP16}, {"bfloat16", CONF_BF16}, {"cbfloat16", CONF_CB16}},
     DOC("the 16-bit format")},
    {FIELD(model.attention_softmax_fp32), BOOL, DEFAULT("true"), DOC("softmax in 32 bits")},
    {FIELD(model.initializer_range), DOUBLE, DEFAULT("0.02"), ABOVE_0,
     DOC("standard deviation of the default initializers, cut at twice it")},
    INITIALIZER(model.initializer, "weights of the blocks; default: truncated normal"),
    INITIALIZER(model.embedding_initializer, "embeddings; default: truncated normal"),
    INITIALIZER(model.output_layer_initializer,
                "output projections of the blocks; default: range over sqrt(2 layers)"),
    {FIELD(model.loss_scaling), CHOICE, DEFAULT("num_tokens"),
     .choices = {{"num_tokens", CONF_LOSS_NUM_TOKENS}, {"batch_size", CONF_LOSS_BATCH_SIZE}},
     DOC("what the summed loss is divided by")},
    {FIELD(model.loss_weight), DOUBLE, DEFAULT("1.0"), ABOVE_0,
     DOC("factor of the loss; with batch_size only")},
    {FIELD(model.compute_eval_metrics), BOOL, DEFAULT("true"), DOC("accuracy and perplexity")},
    {FIELD(model.embeddings_scale), DOUBLE, NULLABLE, DEFAULT("1.0"), ABOVE_0,
     DOC("muP: factor of the embedding output")},
    {FIELD(model.output_logits_scale), DOUBLE, NULLABLE, DEFAULT("1.0"), ABOVE_0,
     DOC("muP: factor of the logits")},
    {FIELD(model.scale_qk_dot_by_d), BOOL, DEFAULT("false"),
     DOC("muP: 1/d instead of 1/sqrt(d) in attention")},
    {FIELD(model.scale_qk_dot_by_layer_idx), BOOL, DEFAULT("false"),
     DOC("a further 1/(layer + 1) in attention")},
    {KEY("model.attention_kernel"), NO_EFFECT, DOC("hint for the compiler")},
    {KEY("model.boundary_casting"), NO_EFFECT, DOC("hint for the compiler")},
    {KEY("model.rope_theta"), NO_EFFECT, DOC("rotary embedding only")},
    {KEY("model.rotary_dim"), NO_EFFECT, DOC("rotary embedding only")},
    {KEY("model.pad_rope"), NO_EFFECT, DOC("rotary embedding only")},
    {KEY("model.pos_scaling_factor"), NO_EFFECT, DOC("rotary embedding and ALiBi only")},
    {KEY("model.num_relative_attention_buckets"), NO_EFFECT, DOC("relative positions only")},
    {KEY("model.alibi_trainable_slopes"), NO_EFFECT, DOC("ALiBi only")},
    {KEY("model.alibi_implementation"), NOISE, DOC("no longer a key")},
    {KEY("model.tf_summary"), NOISE, DOC("no longer a key")},
    {KEY("model.allow_multireplica"), NOISE, DOC("no longer a key")},
    {KEY("model.attention_module"), ONLY({"aiayn_attention", 0}), DOC("kind of attention")},
    {KEY("model.attention_type"), ONLY({"scaled_dot_product", 0}), DOC("scores of attention")},
    {KEY("model.attention_sliding_window_length"), ONLY({"null", 0}), DOC("sliding window")},
    {KEY("model.extra_attention_params"), ONLY({"null", 0}), DOC("key and value groups")},
    {KEY("model.norm_type"), ONLY({"layernorm", 0}), DOC("kind of normalisation")},
    {KEY("model.embedding_layer_norm"), ONLY(OFF), DOC("norm after the embeddings")},
    {KEY("model.use_untied_layer_norm"), ONLY({"null", 0}), DOC("parallel blocks (GPT-J)")},
    {KEY("model.position_embedding_offset"), ONLY({"null", 0}, {"0", 0}),
     DOC("first row of the position table")},
    {KEY("model.fixed_sparse_attention"), ONLY({"null", 0}), DOC("sparse attention")},
    {KEY("model.lora_params"), ONLY({"null", 0}), DOC("low-rank adapters")},
    {KEY("model.selective_grad"), ONLY({"null", 0}), DOC("selective gradients")},
    {KEY("model.dpo"), ONLY({"null", 0}), DOC("preference optimisation")},
    {KEY("model.model_name"), ONLY({"null", 0}, {"gpt2", 0}, {"gpt3", 0}, {"bert", 0}), DOC("model family")},

    {KEY("sparsity"), ONLY({"null", 0}, {"0", 0}, {"0.0", 0}), DOC("weight sparsity")},

    {FIELD(optimizer.optimizer_type), STRING, REQUIRED, DOC("AdamW, in any case")},
    {AT("optimizer.learning_rate", optimizer), SPECIAL(learning_rate), REQUIRED,
     .form = "number, or list of phases",
     DOC("phases in sequence: scheduler Constant {learning_rate}, Linear or CosineDecay "
         "{initial_learning_rate, end_learning_rate}, each with total_iters")},
    {AT("optimizer.betas", optimizer), SPECIAL(betas), .form = "list of two numbers",
     DOC("decay rates of the two moments; default [0.9, 0.999]")},
    {FIELD(optimizer.beta1), DOUBLE, .status = CONF_OLD, DEFAULT("0.9"), RANGE(0, 1),
     DOC("write optimizer.betas")},
    {FIELD(optimizer.beta2), DOUBLE, .status = CONF_OLD, DEFAULT("0.999"), RANGE(0, 1),
     DOC("write optimizer.betas")},
    {FIELD(optimizer.eps), DOUBLE, DEFAULT("1e-6"), ABOVE_0,
     DOC("added to the root of the second moment, before bias correction")},
    {FIELD(optimizer.weight_decay), DOUBLE, NULLABLE, DEFAULT("0.0"), RANGE(0, 1e3),
     DOC("decoupled decay of all but biases and norms")},
    {FIELD(optimizer.correct_bias), BOOL, DEFAULT("true"), DOC("bias correction")},
    {FIELD(optimizer.max_gradient_norm), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("clip by the global norm; 0 or null: off")},
    {FIELD(optimizer.max_gradient_value), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("clip every element; 0 or null: off")},
    {FIELD(optimizer.loss_scaling_factor), SPECIAL(loss_scale), DEFAULT("1.0"),
     .form = "number or dynamic", DOC("factor of the loss before the backward pass")},
    {FIELD(optimizer.initial_loss_scale), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("dynamic scaling: first factor; 0: the rule of fp16_type")},
    {FIELD(optimizer.min_loss_scale), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("dynamic scaling: lower bound; 0: the rule of fp16_type")},
    {FIELD(optimizer.max_loss_scale), DOUBLE, NULLABLE, DEFAULT("0"), RANGE(0, DBL_MAX),
     DOC("dynamic scaling: upper bound; 0: the rule of fp16_type")},
    {FIELD(optimizer.steps_per_increase), INT, NULLABLE, DEFAULT("2000"), RANGE(1, MAX_STEPS),
     DOC("dynamic scaling: good steps before the factor doubles")},
    {FIELD(optimizer.log_summaries), BOOL, DEFAULT("false"),
     DOC("norms and the loss scale to TensorBoard")},
    {AT("optimizer.adjust_learning_rate.decoder_kernel", optimizer.adjust_decoder_kernel), DOUBLE,
     NULLABLE, DEFAULT("1.0"), ABOVE_0, DOC("muP: factor of the rate of the decoder's matrices")},
    {KEY("optimizer.grad_accum_steps"), NO_EFFECT, DOC("CPU and GPU only")},
    {KEY("optimizer.amsgrad"), ONLY(OFF), DOC("variant of Adam")},
    {KEY("optimizer.disable_lr_steps_reset"), NOISE, DOC("phases count their own steps")},
    {KEY("optimizer.ws_summary"), NOISE, DOC("misspelling of log_summaries")},

    {FIELD(runconfig.mode), CHOICE, NULLABLE, DEFAULT("train"),
     .choices = {{"train", CONF_TRAIN}, {"eval", CONF_EVAL},
                 {"train_and_eval", CONF_TRAIN_AND_EVAL}, {"generate", CONF_GENERATE}},
     DOC("what the run does")},
    {FIELD(runconfig.model_dir), STRING, NULLABLE, DEFAULT("./model_dir"),
     DOC("folder of logs, events and checkpoints")},
    {FIELD(runconfig.checkpoint_path), STRING, NULLABLE, DEFAULT("null"),
     DOC("checkpoint to start from")},
    {FIELD(runconfig.num_csx), INT, NULLABLE, DEFAULT("1"), RANGE(1, 4096),
     DOC("number of systems")},
    {FIELD(runconfig.num_steps), INT, NULLABLE, DEFAULT("null"), RANGE(0, MAX_STEPS),
     DOC("steps of this run")},
    {FIELD(runconfig.max_steps), INT, NULLABLE, DEFAULT("null"), RANGE(0, MAX_STEPS),
     DOC("last step, counted from the first run")},
    {FIELD(runconfig.eval_frequency), INT, NULLABLE, DEFAULT("null"), RANGE(1, MAX_STEPS),
     DOC("steps between evaluations in train_and_eval")},
    {FIELD(runconfig.eval_steps), INT, NULLABLE, DEFAULT("null"), RANGE(1, MAX_STEPS),
     DOC("batches of one evaluation; null: all")},
    {FIELD(runconfig.checkpoint_steps), INT, NULLABLE, DEFAULT("0"), RANGE(0, MAX_STEPS),
     DOC("steps between checkpoints; 0: none")},
    {FIELD(runconfig.max_checkpoints), INT, NULLABLE, DEFAULT("null"), RANGE(1, MAX_STEPS),
     DOC("keep the newest; null: all")},
    {FIELD(runconfig.save_initial_checkpoint), BOOL, DEFAULT("false"),
     DOC("a checkpoint of step 0")},
    {FIELD(runconfig.autoload_last_checkpoint), BOOL, DEFAULT("true"),
     DOC("continue from the newest checkpoint in model_dir")},
    {FIELD(runconfig.check_loss_values), BOOL, DEFAULT("true"), DOC("stop at NaN and infinity")},
    {FIELD(runconfig.disable_strict_checkpoint_loading), BOOL, DEFAULT("false"),
     DOC("accept missing and additional tensors")},
    {FIELD(runconfig.load_checkpoint_states), STRING, NULLABLE, DEFAULT("null"),
     DOC("what to load, with commas between: model, optimizer, ...; null: all")},
    {FIELD(runconfig.log_steps), INT, NULLABLE, DEFAULT("1"), RANGE(1, MAX_STEPS),
     DOC("steps between log lines")},
    {FIELD(runconfig.seed), INT, NULLABLE, DEFAULT("1"), RANGE(-DBL_MAX, DBL_MAX),
     DOC("seed of all random numbers")},
    {FIELD(runconfig.precision_opt_level), INT, NULLABLE, DEFAULT("1"), RANGE(0, 2),
     DOC("0: most precise, 2: fastest")},
    {FIELD(runconfig.num_wgt_servers), INT, NULLABLE, DEFAULT("null"), RANGE(1, CONF_MAX_SHARDS),
     DOC("upper bound of MemoryX shards; null: as in the cluster file")},
    {FIELD(runconfig.validate_only), BOOL, DEFAULT("false"), DOC("check, do not run")},
    {FIELD(runconfig.compile_only), BOOL, DEFAULT("false"), DOC("plan, do not run")},
    {AT("runconfig.op_profiler_config.start_step", runconfig.profile_start_step), INT, NULLABLE,
     DEFAULT("null"), RANGE(1, MAX_STEPS), DOC("first step of chrome_trace.json")},
    {AT("runconfig.op_profiler_config.end_step", runconfig.profile_end_step), INT, NULLABLE,
     DEFAULT("null"), RANGE(1, MAX_STEPS), DOC("last step of chrome_trace.json")},
    {KEY("runconfig.num_epochs"), ONLY({"null", 0}), DOC("epochs; write num_steps")},
    {KEY("runconfig.steps_per_epoch"), ONLY({"null", 0}), DOC("steps of an epoch")},
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
    XX(num_workers_per_csx, "host processes of the real cluster")
    XX(num_act_servers, "host processes of the real cluster")
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
    XX(lazy_initialization, "PyTorch only")
    XX(use_cstorch_optimizer_step, "PyTorch only")
    XX(enable_distributed, "GPU only")
    XX(sync_batchnorm, "GPU only")
    XX(dist_addr, "GPU only")
    XX(dist_backend, "GPU only")
    XX(init_method, "GPU only")
    XX(main_process_id, "GPU only")
    XX(experimental, "experiments of the real cluster")
#undef XX

    {FIELD(trace_hash), BOOL, DEFAULT("false"), DOC("log weights_hash at every step")},
    {FIELD(reduction_leaf), INT, DEFAULT("1"), RANGE(1, MAX_SAMPLES),
     DOC("consecutive samples whose gradient is computed together")},
};
/* clang-format on */

const struct conf_table *conf_params_table(void)
{
    static const struct conf_table table = {.key = keys, .n = sizeof keys / sizeof *keys};
    return &table;
}
