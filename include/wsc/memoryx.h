/** MemoryX: one shard of the weight store.
 *
 *  A shard holds its part of the fp32 master weights and of the optimizer state. It sends weights
 *  down, receives summed gradients and updates the weights. Two sequential programs share the shard
 *  (docs/decisions/0001): one sends; the other receives, updates, and reports to the first when the
 *  weights of a step are ready. Results do not depend on the number of shards, because tensors are
 *  cut into whole blocks and sums over blocks follow the canonical tree. src/memoryx/memoryx_step.c
 *  shows one step.
 *
 *  Order of calls: memoryx_create() and memoryx_init_weights() or memoryx_load() for each local
 *  shard, and memoryx_spawn_masks() when tensors are sparse; memoryx_spawn() before each pass.
 *  Between passes memoryx_define() and memoryx_save() write a checkpoint:
 *
 *      TRY(store_create(&file, path, &group));
 *      TRY(memoryx_define(shard, file));
 *      TRY(store_describe(file));
 *      TRY(memoryx_save(shard, file));
 *      TRY(store_commit(&file));
 *
 *  Read next: docs/TRAINING.md (update rules), <wsc/stream.h>, <wsc/store.h>. */
#ifndef WSC_MEMORYX_H
#define WSC_MEMORYX_H
#include <wsc/err.h>
#include <wsc/store.h>
#include <wsc/stream.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/** One shard of this rank; its fields are private to src/memoryx. */
struct memoryx;

/** Gradient noise scale (McCandlish et al. 2018, appendix A.1), from the gradients of the
 *  micro-shards of a batch and from their mean. All squares are sums over all parameters, in units
 *  of the squared gradient of the loss. */
struct memoryx_noise {
    bool known; /**< more than one micro-shard, and the step was not skipped */
    /** Mean over micro-shards of |gradient of the micro-shard's share of the loss|^2. */
    double micro_shard_square;
    double batch_square; /**< |mean gradient|^2 */
    /** Running means of the estimates of tr(Sigma), of a sample, and of |G|^2. */
    double variance, gradient;
    /** B_simple = variance / gradient, samples; NAN while `gradient` is not positive. */
    double scale;
};
/** Results of a batch; shard 0 passes them to memoryx_hooks.on_batch. They are bit-identical for
 *  any number of systems, shards and ranks. Times are also equal with and without values. */
struct memoryx_batch {
    int64_t step; /**< finished steps, this one included; or the batch's index */
    /** False: loss, norms and hash are not set. */
    bool has_values;
    double loss;             /**< mean over masked tokens, or by the loss_scaling rule */
    struct stream_loss sums; /**< over the batch */
    double grad_norm;        /**< norm of the mean gradient, before clipping; 0 in an evaluation */
    /** With optimizer.log_summaries, else NULL: norms of the gradient by layer.  Borrowed until the
     *  hook returns. */
    const double *layer_grad_norm;
    double params_norm; /**< norm of all weights used for the batch; set when layer_grad_norm is */
    /** Value of the schedule at this step, before groups of tensors scale it. */
    double learning_rate;
    double loss_scale; /**< of this step; 1 without loss scaling */
    bool skipped;      /**< dynamic loss scaling: the norm is not finite, nothing is updated */
    struct memoryx_noise noise;
    /** With add_summaries of an entry of `sparsity`, else NULL: weights that each tensor keeps
     * after the step (n_tensors).  Borrowed until the hook returns. */
    const int64_t *kept;
    int64_t mask_step; /**< updates that masks count, this step included; see kept */
    /** weights_hash is set: trace_hash of the params. */
    bool has_hash;
    uint64_t weights_hash; /**< hash of all parameters, after the update */
    /** TRAIN: time from `end` until the checkpoint of this step is written, when an evaluation
     *  follows; in neither time_ps nor breakdown. */
    int64_t pause_ps;
    struct vtime end;                 /**< of the batch on the slowest wafer */
    int64_t time_ps;                  /**< time since the end of the previous batch */
    struct vtime_breakdown breakdown; /**< where the time went; adds up to time_ps */
};
/** Callbacks for results, called on the rank of shard 0, from its fiber. An error ends the pass.
 *  Each may be NULL. */
struct memoryx_hooks {
    /** After each batch of a training or evaluation, in order. */
    enum wsc_err (*on_batch)(void *ctx, const struct memoryx_batch *batch);
    /** Texts of all prompts: each its length, then its tokens; after a pass of mode GENERATE. */
    enum wsc_err (*on_texts)(void *ctx, const int32_t *words, int64_t n_words);
    /** Scores of the samples of batch @p step, each once, in any order; before on_batch, in a pass
     *  with `scores`. */
    enum wsc_err (*on_scores)(void *ctx, int64_t step, const struct stream_score *score, int64_t n);
    /** Counts of the classes of a batch; before on_batch, in a pass with `n_classes`. */
    enum wsc_err (*on_classes)(void *ctx, const struct model_class_count *count, int64_t n);
    void *ctx;
};

/** Configuration of a shard beyond the net; borrowed for the shard's life. */
struct memoryx_config {
    const struct zoo_params *params; /**< optimizer, loss scaling, checks */
    bool values;                     /**< false: sizes and times only, no memory for weights */
    uint64_t seed;                   /**< of the initial weights */
    struct memoryx_hooks hooks;
};
/** Make shard @p shard of @p net, which is borrowed; weights are zero.  Memory with values: weight,
 *  gradient and optimizer state of its part.  WSC_NOMEM; *@p out is NULL then. */
enum wsc_err memoryx_create(struct memoryx **out, struct stream_net *net, int shard,
                            const struct memoryx_config *config) WSC_CHECKED;
/** Release *@p memoryx and null it; NULL allowed. */
void memoryx_destroy(struct memoryx **memoryx);
/** Set the initial weights by the rules of the tensor table: element i of tensor k is a function of
 *  (seed, k, i), so it is the same on any number of shards. */
void memoryx_init_weights(struct memoryx *memoryx);
/** Number of steps that the schedules of masks have seen: updates that they count, and steps that
 *  loss scaling skipped. */
int64_t memoryx_mask_steps(const struct memoryx *memoryx);
/** Spawn the program that creates the first mask of every sparse tensor and sets the weights
 *  outside it to zero. A mask from a checkpoint is kept. All shards run it once, after
 *  memoryx_init_weights() or memoryx_load() and before the first pass. It takes no virtual time.
 *  WSC_NOMEM. */
enum wsc_err memoryx_spawn_masks(struct memoryx *memoryx) WSC_CHECKED;
/** Make the shard's two programs for @p pass (borrowed until comm_run() returns) ready to run.
 *  WSC_NOMEM.  A loss or norm that is not finite ends the pass with WSC_NUMERIC where
 *  runconfig.check_loss_values asks for it. */
enum wsc_err memoryx_spawn(struct memoryx *memoryx, const struct stream_pass *pass) WSC_CHECKED;
/** Time at which the newest batch ended on the slowest wafer; 0 before the first one. */
struct vtime memoryx_now(const struct memoryx *memoryx);
/** Time at which the newest update of this shard, and the checkpoint after it, are complete. */
struct vtime memoryx_updated(const struct memoryx *memoryx);
/** Delay the beginning of the next batch to @p until; called between passes. Messages in flight
 *  keep their times of arrival. */
void memoryx_wait(struct memoryx *memoryx, struct vtime until);
/** Restart the clock after the state was restored: the next batch begins at @p end, its weights are
 *  ready at @p ready, and no message is in flight. */
void memoryx_restart(struct memoryx *memoryx, struct vtime end, struct vtime ready);

/* ---- checkpoints ----------------------------------------------------------------------------- */

/** Define all datasets of a checkpoint: tensors under their names, `optimizer.state.<i>.<name>`
 *  with PyTorch's names, masks, counters and times. Every rank that holds shards calls it once,
 *  with any one of its shards. */
enum wsc_err memoryx_define(struct memoryx *memoryx, struct store_file *file) WSC_CHECKED;
/** Write this shard's parts of the datasets of memoryx_define(). Call it for each local shard, in
 *  any order. WSC_IO. */
enum wsc_err memoryx_save(struct memoryx *memoryx, struct store_file *file) WSC_CHECKED;
/** The first tensor with a weight of this shard that is NaN or infinite; the number of tensors:
 * none. It reads the shard's weights once. Needs values. */
int memoryx_first_nonfinite(const struct memoryx *memoryx);
/** Set the time at which the newest batch ended back to @p end. This discards an interrupted
 *  evaluation, which the resumed run repeats. */
void memoryx_rewind(struct memoryx *memoryx, struct vtime end);
/** Selects what memoryx_load() reads from a checkpoint. */
struct memoryx_load {
    /** Model tensors. */
    bool weights;
    bool optimizer; /**< its state */
    bool times;     /**< virtual time */
    bool schedule;  /**< positions in the schedules of learning rate and weight decay */
    bool scaler;    /**< the dynamic loss scale */
    bool masks;     /**< the counter of masks; masks themselves come with weights */
    bool strict;    /**< a missing tensor is an error; otherwise it keeps its initial value */
    int64_t step;   /**< finished steps, for files that do not count updates */
};
/** Read this shard's parts of a checkpoint. State that is not selected, or is not in the file,
 *  starts as in a new run. Names may have a leading "model." level. Errors: a shape that does not
 *  fit, names that the model does not know (strict). */
enum wsc_err memoryx_load(struct memoryx *memoryx, struct store_file *file,
                          const struct memoryx_load *what) WSC_CHECKED;
/** Cut a dynamic loss scale that memoryx_load() read to the greatest one of the params. Returns the
 *  scale as it was; 0 when it was not greater. */
double memoryx_cut_scale(struct memoryx *memoryx);
/** Read the virtual times of all shards from a checkpoint for a cluster of @p model with @p
 * n_shards shards. The caller frees *@p rows; NULL when the file has no times of this model. */
enum wsc_err memoryx_read_times(struct store_file *file, const struct model *model, int n_shards,
                                int64_t **rows) WSC_CHECKED;
/** Set the virtual times of this shard from @p rows of memoryx_read_times(). */
void memoryx_set_times(struct memoryx *memoryx, const int64_t *rows);
/** Find a tensor of @p model that has a weight decay now and had none in the run that wrote @p
 * file, or the other way round: with version 2 of our layout the choice of these tensors changed.
 * *@p first, borrowed from @p model, is NULL when there is none whose weight decay by @p optimizer
 * is ever above 0, when that run, of which @p step is the step of the file, had no weight decay, or
 * when the file is not of version 1. Errors of reading the file. */
enum wsc_err memoryx_find_changed_decay(struct store_file *file, const struct model *model,
                                        const struct zoo_optimizer *optimizer, int64_t step,
                                        const char **first) WSC_CHECKED;
/** Compare the vocabulary of a checkpoint with that of @p model before memoryx_load(). When they
 *  differ, log what runconfig.new_vocabulary does with the rows. WSC_CONFIG when they differ and @p
 *  optimizer asks for the optimizer state too, because that has the old rows. */
enum wsc_err memoryx_check_vocabulary(const struct memoryx_config *config,
                                      const struct model *model, struct store_file *file,
                                      bool optimizer) WSC_CHECKED;
/** Define the datasets of `--dump_gradients`: the mean gradients of the newest step under the
 *  tensors' names, before clipping.  Every rank that holds shards calls it once. */
enum wsc_err memoryx_define_gradients(const struct memoryx *memoryx,
                                      struct store_file *file) WSC_CHECKED;
/** Write this shard's parts of the mean gradients. */
enum wsc_err memoryx_save_gradients(const struct memoryx *memoryx,
                                    struct store_file *file) WSC_CHECKED;
/** Bytes of host memory for one parameter with values: weight, gradient, optimizer state. */
int64_t memoryx_host_bytes_per_param(const struct zoo_optimizer *optimizer);
/** Bytes of the weights and the optimizer state of all shards, 32 bits a number; frozen tensors
 * have weights alone. */
int64_t memoryx_state_bytes(const struct zoo_optimizer *optimizer, const struct model *model);
#endif
