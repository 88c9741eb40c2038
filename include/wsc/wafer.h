/** Wafer: one emulated CS-2.
 *
 *  A wafer receives the weights of one stage at a time, computes the stage and sends its gradients.
 *  It keeps only activations. Its clock advances by the compute time of a stage and by waiting
 *  times; every picosecond is counted in one field of struct vtime_breakdown. <wsc/kernels.h>
 *  computes values; <wsc/cycles.h> or the mesh gives the cycles. src/wafer/wafer_step.c shows one
 *  step.
 *
 *  Order of calls: wafer_create() once for each local wafer; wafer_spawn() and comm_run() for each
 *  pass; wafer_destroy(). The module cluster makes all of them:
 *
 *      struct wafer_work work = {.plan = &plan, .numerics = KERNELS_HOST, .source = source,
 *                                .seed = cluster_seed(params)};
 *      TRY(wafer_spawn(wafer, index, &pass, &work));
 *      TRY(comm_run(comm));
 *
 *  Values are bit-identical for any number of wafers, since each micro-shard is computed alone;
 *  virtual time is the same with and without values. */
#ifndef WSC_WAFER_H
#define WSC_WAFER_H
#include <wsc/cycles.h>
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/kernels.h>
#include <wsc/stream.h>

#include <stdint.h>

/** One wafer of this rank; its fields are private to src/wafer. */
struct wafer;

/** Prompts and sampling options of a generation. Each wafer generates continuations of its share of
 *  the prompts; with an encoder a prompt is the source and the target is generated. Tokens are
 *  sampled from (seed, prompt, position), so a text does not depend on other texts or on the number
 *  of wafers. */
struct wafer_prompts {
    /** Prompts of all wafers. */
    int n;
    const int32_t *const *tokens; /**< borrowed; prompt i has n_tokens[i] >= 1 */
    /** Lengths, (n), each at least 1; borrowed. */
    const int64_t *n_tokens;
    double temperature; /**< 0 = the most likely token */
    int64_t top_k;      /**< sample among the k most likely; 0 = all */
    double top_p;       /**< sample among the most likely that have this much probability
                             together (Holtzman et al. 2020); 1 = all */
    int64_t eos_id;     /**< a text ends after this token; -1 = none */
    /** A text ends after one of these sequences of new tokens too, without beam search; borrowed.
     */
    const struct zoo_stops *stop;
    /** Beam search (src/wafer/wafer_beams.c). n_beams: unfinished texts of a prompt at a time, at
     *  least 1; 1 is no search. length_penalty: exponent of the length in a text's score.
     *  early_stopping: the search ends when n_beams texts have ended. */
    int n_beams;
    double length_penalty;
    bool early_stopping;
    int32_t start_id; /**< first token of every target, of an encoder with a decoder */
    /** Seed of the sampling. */
    uint64_t seed;
};

/** Cache of the costs of stages by the analytical model. The wafers of a process share it, because
 *  a stage with an equal number of samples costs the same on all of them. */
struct wafer_prices;
/** Create an empty cache for wafers of @p model. WSC_NOMEM; *@p out is NULL then. */
enum wsc_err wafer_prices_create(struct wafer_prices **out, const struct model *model) WSC_CHECKED;
/** Release *@p prices and null it, after the wafers; NULL allowed. */
void wafer_prices_destroy(struct wafer_prices **prices);

/** Make the wafer at @p position, 0 .. n_machine_wafers-1, of the machine; @p net and @p prices are
 *  borrowed for its life.  Memory for activations is taken by the first pass with values.
 *  WSC_NOMEM; *@p out is NULL then. */
enum wsc_err wafer_create(struct wafer **out, struct stream_net *net, struct wafer_prices *prices,
                          int position) WSC_CHECKED;
/** Release *@p wafer and null it; NULL allowed. */
void wafer_destroy(struct wafer **wafer);

/** Inputs of a pass beyond struct stream_pass; all borrowed until comm_run() returns. */
struct wafer_work {
    /** Plan of the pass, from cluster_plan_batch(). */
    const struct cycles_plan *plan;
    /** Where values are computed; not read in a pass without values. */
    enum kernels_numerics numerics;
    struct data_source *source;          /**< NULL without values and for GENERATE */
    const struct wafer_prompts *prompts; /**< GENERATE only */
    uint64_t seed;                       /**< of the jitter */
};
/** Make the wafer's program for @p pass ready to run; @p index: its number among those of
 *  net->topology, which differs from its position after losses.  WSC_NOMEM. */
enum wsc_err wafer_spawn(struct wafer *wafer, int index, const struct stream_pass *pass,
                         const struct wafer_work *work) WSC_CHECKED;
/** Cycles by kernel of all training so far; false, and nothing is written, unless the values come
 *  from the mesh. */
bool wafer_kernel_rows(const struct wafer *wafer, struct programs_row rows[PROGRAMS_ROWS]);
#endif
