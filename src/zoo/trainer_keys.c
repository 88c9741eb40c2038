// SPDX-License-Identifier: Apache-2.0
/* The keys of params files of the trainer style (releases 2.3 to 2.10), each with the key of equal
 * meaning in the runconfig style. Callbacks and loggers are lists of maps with one key, which are
 * read as one map here. */
#include "trainer_takes.h"

#define ROW(p, t)                                                                                  \
    {                                                                                              \
        .path = "trainer." p, .to = (t), .type = CONF_T_ANY                                        \
    }
#define TAKE(p, t, f, text)                                                                        \
    {                                                                                              \
        .path = "trainer." p, .to = (t), .type = CONF_T_ANY, .read = zoo_trainer_take_##f,         \
        .doc = (text)                                                                              \
    }
#define NONE(p, text)                                                                              \
    {                                                                                              \
        .path = "trainer." p, .type = CONF_T_ANY, .status = CONF_NO_EFFECT, .doc = (text)          \
    }
/* A callback that is not supported: an empty map asks for its defaults, null for none. */
#define REFUSED(p, text, why)                                                                      \
    {                                                                                              \
        .path = "trainer.init.callbacks." p, .type = CONF_T_CHOICE, .status = CONF_ONLY,           \
        .empty_asks = true, .choices = CONF_CHOICES({"null", 0}), .doc = (text), .refusal = (why)  \
    }
#define HARNESS(p, why)     REFUSED(p, "downstream evaluation", why)
#define CALLBACK(p, t)      ROW("init.callbacks." p, t)
#define CALLBACK_NONE(p, t) NONE("init.callbacks." p, t)
/* A callback that is on or off; rows below it are the keys that its map may have. */
#define SWITCH(p, t, text)                                                                         \
    TAKE("init.callbacks." p, t, switch, text ": on with `{}` or true, off with null or false")

#define HOST_MEMORY(p)                                                                             \
    CALLBACK(p ".csx.debug.compile_crd_memory_gi", "runconfig.compile_crd_memory_gi"),             \
        CALLBACK(p ".csx.debug.execute_crd_memory_gi", "runconfig.execute_crd_memory_gi"),         \
        CALLBACK(p ".csx.debug.wrk_memory_gi", "runconfig.wrk_memory_gi"),                         \
        CALLBACK(p ".csx.debug.act_memory_gi", "runconfig.act_memory_gi"),                         \
        CALLBACK(p ".csx.debug.cmd_memory_gi", "runconfig.cmd_memory_gi"),                         \
        CALLBACK(p ".csx.debug.wgt_memory_gi", "runconfig.wgt_memory_gi")
#define FLAGS(p)                                                                                   \
    HOST_MEMORY(p),                                                                                \
        CALLBACK(p ".csx.performance.transfer_processes", "runconfig.transfer_processes"),         \
        CALLBACK(p ".csx.debug.retrace_every_iteration", "runconfig.retrace_every_iteration"),     \
        CALLBACK(p ".csx.debug.debug_args", "runconfig.debug_args"),                               \
        CALLBACK(p ".csx.debug.ini", "runconfig.ini"),                                             \
        CALLBACK(p ".csx.debug.drop_data", "runconfig.drop_data"),                                 \
        CALLBACK(p ".csx.debug.lazy_initialization", "runconfig.lazy_initialization"),             \
        CALLBACK_NONE(p ".csx.debug.*", "debugging of the real cluster")

/* clang-format off */
static const struct conf_key keys[] = {
    ROW("init.model_dir", "runconfig.model_dir"),
    ROW("init.seed", "runconfig.seed"),
    ROW("init.device", "runconfig.target_device"),
    ROW("init.backend.backend_type", "runconfig.target_device"),
    ROW("init.backend.compile_dir", "runconfig.compile_dir"),
    ROW("init.backend.compile_only", "runconfig.compile_only"),
    ROW("init.backend.validate_only", "runconfig.validate_only"),
    ROW("init.backend.drop_data", "runconfig.drop_data"),
    ROW("init.backend.retrace_every_iteration", "runconfig.retrace_every_iteration"),
    ROW("init.backend.dist_addr", "runconfig.dist_addr"),
    ROW("init.backend.dist_backend", "runconfig.dist_backend"),
    ROW("init.backend.init_method", "runconfig.init_method"),
    ROW("init.backend.main_process_id", "runconfig.main_process_id"),
    ROW("init.backend.sync_batchnorm", "runconfig.sync_batchnorm"),
    ROW("init.backend.enable_distributed", "runconfig.enable_distributed"),
    NONE("init.backend.artifact_dir", "folder of the real cluster's files"),
    NONE("init.backend.log_initialization", "logging of the real cluster"),
    NONE("init.backend.use_cstorch_optimizer_step", "PyTorch only"),
#define CLUSTER(k) ROW("init.backend.cluster_config." #k, "runconfig." #k)
    CLUSTER(num_csx),
    ROW("init.backend.cluster_config.max_wgt_servers", "runconfig.num_wgt_servers"),
    ROW("init.backend.cluster_config.max_act_per_csx", "runconfig.num_act_servers"),
    CLUSTER(num_wgt_servers), CLUSTER(num_act_servers), CLUSTER(num_workers_per_csx),
    CLUSTER(mgmt_address), CLUSTER(mgmt_namespace), CLUSTER(credentials_path),
    CLUSTER(mount_dirs), CLUSTER(python_paths), CLUSTER(job_labels), CLUSTER(job_priority),
    CLUSTER(job_time_sec), CLUSTER(disable_version_check),
#undef CLUSTER
    NONE("init.backend.cluster_config.workflow_id", "job queue of the real cluster"),

    TAKE("init.model", "model", model, "`name`, and the keys of `model`"),
    TAKE("init.optimizer", "optimizer", optimizer, "one key, the type; below it the keys of "
         "`optimizer`"),
    TAKE("init.schedulers", "optimizer.learning_rate", schedulers,
         "list of maps with one key, the scheduler"),
    ROW("init.precision.enabled", "model.mixed_precision"),
    ROW("init.precision.fp16_type", "model.fp16_type"),
    ROW("init.precision.precision_opt_level", "runconfig.precision_opt_level"),
#define PRECISION(k) ROW("init.precision." #k, "optimizer." #k)
    PRECISION(loss_scaling_factor), PRECISION(initial_loss_scale), PRECISION(steps_per_increase),
    PRECISION(min_loss_scale), PRECISION(max_loss_scale), PRECISION(max_gradient_norm),
    PRECISION(max_gradient_value),
#undef PRECISION
    ROW("init.precision.log_loss_scale", "optimizer.log_summaries"),
    ROW("init.sparsity", "sparsity"),
#define LOOP(k) ROW("init.loop." #k, "runconfig." #k)
    LOOP(num_steps), LOOP(max_steps), LOOP(num_epochs), LOOP(steps_per_epoch),
    LOOP(eval_frequency), LOOP(eval_steps), LOOP(grad_accum_steps),
#undef LOOP
    ROW("init.checkpoint.steps", "runconfig.checkpoint_steps"),
    ROW("init.checkpoint.autoload_last_checkpoint", "runconfig.autoload_last_checkpoint"),
    ROW("init.checkpoint.disable_strict_checkpoint_loading",
        "runconfig.disable_strict_checkpoint_loading"),
    ROW("init.checkpoint.new_vocabulary", "runconfig.new_vocabulary"),
    ROW("init.checkpoint.save_initial_checkpoint", "runconfig.save_initial_checkpoint"),
    ROW("init.checkpoint.checkpoint_name", "runconfig.checkpoint_name"),
    NONE("init.checkpoint.strict_version", "versions of the real cluster"),
    NONE("init.autorestart.max_num_restarts", "a job that is started again resumes by --run_id"),
    NONE("init.autorestart.min_num_csx", "a job that is started again resumes by --run_id"),
    ROW("init.logging.log_steps", "runconfig.log_steps"),
    ROW("init.logging.log_level", "runconfig.logging"),
    ROW("init.logging.wsc_log_level", "runconfig.wsc_log_level"),
    ROW("init.logging.enable_act_frequency", "runconfig.enable_act_frequency"),

    /* Flags of one scope may also be written for all scopes: a host has no use for the difference.
     */
    TAKE("init.callbacks.GlobalFlags.csx.performance.micro_batch_size",
         "train_input.micro_batch_size", global_micro_batch, "of training and of evaluation"),
    CALLBACK("ScopedTrainFlags.csx.performance.micro_batch_size", "train_input.micro_batch_size"),
    CALLBACK("ScopedValidateFlags.csx.performance.micro_batch_size", "eval_input.micro_batch_size"),
    FLAGS("GlobalFlags"),
    FLAGS("ScopedTrainFlags"),
    FLAGS("ScopedValidateFlags"),
    CALLBACK("LoadCheckpointStates.load_checkpoint_states", "runconfig.load_checkpoint_states"),
    CALLBACK("KeepNCheckpoints.n", "runconfig.max_checkpoints"),
    CALLBACK("DebugArgsPath.debug_args_path", "runconfig.debug_args_path"),
    SWITCH("CheckLoss", "runconfig.check_loss_values",
           "stop at NaN and infinity, which every run does; off is taken as on"),
    SWITCH("ComputeNorm", "optimizer.log_summaries", "norms to TensorBoard"),
    SWITCH("ComputeNormGNS", "optimizer.gradient_noise_scale", "noise scale of the gradient"),
    CALLBACK_NONE("ComputeNormGNS.per_example_grad_norms",
                  "the noise scale is that of all parameters, whichever classes are named"),
    CALLBACK("Lora", "model.lora_params"),
    CALLBACK("SelectiveGrad", "model.selective_grad"),
    CALLBACK("OpProfiler.start_step", "runconfig.op_profiler_config.start_step"),
    CALLBACK("OpProfiler.end_step", "runconfig.op_profiler_config.end_step"),
    CALLBACK_NONE("OpProfiler.host_activities", "operations of the real host"),
    REFUSED("DumpActivations", "activations to a file", NULL),
    SWITCH("LogInputSummaries", "runconfig.log_input_summaries", "input tensors to TensorBoard"),
    CALLBACK_NONE("ModelEvalMetrics", "accuracy, F1 and perplexity are always computed"),
    CALLBACK("SkipSamples.n", "runconfig.skip_samples"),
    CALLBACK("SparsityCallback.sparsity", "sparsity"),
    CALLBACK("Sparsity.sparsity", "sparsity"),
    SWITCH("LogSparsity", "log_sparsity", "target and actual sparsity to TensorBoard"),
    REFUSED("EarlyExit", "end before the last step", NULL),
    REFUSED("SaveOldLogProbs", "log-probabilities for reinforcement learning", NULL),
    REFUSED("RunSchedule", "another order of training and evaluation", NULL),
    HARNESS("EleutherEvalHarness",
            "a run calls no harness; hint: wsc run --mode eval --requests FILE scores the requests "
            "that the harness writes with --log_samples; null leaves the callback out"),
    HARNESS("BigCodeEvalHarness",
            "a run calls no harness, and texts that it has others judge are not scored; hint: "
            "wsc run --mode generate --prompt_ids writes them; null leaves the callback out"),
#define XX(name, text) CALLBACK_NONE(#name, text)
    XX(ArtifactDirCallback, "folders of the real cluster"),
    XX(AutoRestart, "restarts of the real cluster"),
    XX(BackendCallback, "part of every run"),
    XX(Checkpoint, "part of every run"),
    XX(SaveCheckpointState, "extra checkpoints"),
    XX(WeightCompression, "transfers of the real cluster"),
    XX(DataLoaderCallback, "part of every run"),
    XX(GradientAccumulationCallback, "part of every run"),
    XX(DumpAvailableTensorNames, "list of tensors"),
    XX(SummaryTensorListener, "tensors to TensorBoard"),
    XX(NormTensorListener, "norms to TensorBoard"),
    XX(Listener, "tensors to TensorBoard"),
    XX(TrainingLoop, "part of every run"),
    XX(ValidationLoop, "part of every run"),
    XX(LossAccumulationCallback, "part of every run"),
    XX(ModelZooParamsMetadata, "params in checkpoints"),
    XX(CountParams, "`--validate_only` prints them"),
    XX(NaNChecker, "losses are always checked"),
    XX(LogOptimizerParamGroup, "learning rates are always logged"),
    XX(RateProfiler, "part of every run"),
    XX(DurationProfiler, "part of every run"),
    XX(FlopUtilization, "part of every run"),
    XX(SavePerformanceData, "part of every run"),
    XX(Profiler, "part of every run"),
    XX(Reproducibility, "runs are always reproducible"),
    XX(SamplesStreamedInfo, "part of every run"),
    XX(HFCacheDir, "folder of downloads"),
    XX(EmailNotification, "messages about a job of the real cluster"),
    XX(SlackNotification, "messages about a job of the real cluster"),
#undef XX
    NONE("init.loggers.TensorBoardLogger", "events stand under model_dir"),
    NONE("init.loggers.ProgressLogger", "part of every run"),
    NONE("init.loggers.TelemetryLogger", "part of every run"),
    NONE("init.loggers.WandbLogger", "a service on the Internet"),

    TAKE("fit.train_dataloader", "train_input", train, "the keys of `train_input`"),
    TAKE("fit.val_dataloader", "eval_input", fit_val, "the keys of `eval_input`"),
    ROW("fit.ckpt_path", "runconfig.checkpoint_path"),
    TAKE("validate.val_dataloader", "eval_input", val, "where `fit` has none"),
    TAKE("validate.ckpt_path", "runconfig.checkpoint_path", val_checkpoint,
         "of a run that does not train, before that of `fit`"),
    TAKE("validate_all.val_dataloaders", "eval_input", val_all,
         "the first one, where `fit` and `validate` have none"),
    TAKE("validate_all.ckpt_paths", "runconfig.checkpoint_path", all_checkpoints,
         "of a run that does not train, the first one, where `validate` has none"),
};
/* clang-format on */

const struct conf_table *zoo_trainer_table(void)
{
    static const struct conf_table table = {.key = keys, .n = sizeof keys / sizeof *keys};
    return &table;
}

bool zoo_trainer_is_named(const struct conf_key *key)
{
    return key->read == zoo_trainer_take_optimizer;
}

bool zoo_trainer_is_switch(const struct conf_key *key)
{
    return key->read == zoo_trainer_take_switch;
}
