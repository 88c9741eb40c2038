/** Wafer: one emulated CS-2.  Layer 5.
 *
 *  Receives the weights of one stage at a time, computes, sends gradients; keeps activations and
 *  nothing else.  Its clock advances by what the stage costs on the processing elements and by
 *  what it waits for; every picosecond is booked under one name.
 */
#ifndef WSC_WAFER_H
#define WSC_WAFER_H
#include <wsc/cycles.h>
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/kernels.h>
#include <wsc/stream.h>

#include <stdint.h>

struct wafer;

/** Cycles of a stage that were computed before, and for what. */
struct wafer_price {
    int64_t n_samples; /**< 0: none yet */
    struct cycles_tokens tokens;
    int lanes;
    int64_t micro_batch;
    enum cycles_keep keep;
    int64_t cycles, first_gradient;
};
/** One stage of one micro-batch on one wafer. */
struct wafer_task {
    int wafer; /**< position in the machine */
    int64_t step;
    uint64_t seed; /**< of the jitter */
    int stage;
    bool backward;
    int64_t n_samples;
    struct cycles_tokens tokens; /**< of each sample, in generation */
    struct wafer_price *price; /**< of this stage and direction, kept up to date; NULL: no memory */
    const struct kernels_simulated *counted; /**< simulated cycles of the mesh, which keeps all
                                                activations; NULL: the analytical model holds */
};
/** Cost of a task, ps. */
struct wafer_cost {
    int64_t latency_ps; /**< before the kernels start */
    int64_t compute_ps; /**< of the kernels, jitter and straggler included */
    int64_t first_ps;   /**< of it until the first finished row of the gradient */
    int64_t drain_ps;   /**< from the edge of the wafer to its farthest PE */
    int64_t spill_ps;   /**< of what moves to or from the activation servers */
};
/** What @p task costs.  The jitter of a step: compute takes (1 + jitter z) of its cycles, where z
 * is a normal deviate truncated at four, sampled from (seed, wafer, step / 2), and its opposite in
 * the other step of the pair.  So the mean of one system over an even number of steps is that of
 * its cycles, and what many systems lose is the wait for the slowest. */
struct wafer_cost wafer_cost_of(const struct hw *hw, const struct model *model,
                                const struct cycles_plan *plan, const struct wafer_task *task);
/** Time from the start of a step until @p n_samples of it have come in, ps; 0 when the input is
 *  switched off.  Samples of a micro-batch come while those before compute. */
int64_t wafer_input_ps(const struct hw *hw, const struct model *model, int64_t n_samples);

/** What a wafer generates: continuations of its share of the prompts. */
struct wafer_prompts {
    int n;
    const int32_t *const *tokens; /**< borrowed; prompt i has n_tokens[i] >= 1 */
    const int64_t *n_tokens;
    double temperature; /**< 0 = the most likely token */
    int64_t top_k;      /**< sample among the k most likely; 0 = all */
    double top_p;       /**< sample among the most likely that have this much probability
                             together (Holtzman et al. 2020); 1 = all */
    int64_t eos_id;     /**< a text ends after this token; -1 = none */
    uint64_t seed;
};

/** @param position  which wafer of the machine; net is borrowed */
enum wsc_err wafer_create(struct wafer **out, struct stream_net *net, int position) WSC_CHECKED;
/** Release *@p wafer and null it; NULL allowed. */
void wafer_destroy(struct wafer **wafer);

/** What a pass needs beyond its shape; all borrowed until comm_run returns. */
struct wafer_work {
    const struct cycles_plan *plan;
    enum kernels_numerics numerics;
    struct data_source *source;          /**< NULL without values and for GENERATE */
    const struct wafer_prompts *prompts; /**< GENERATE only */
    uint64_t seed;                       /**< of the jitter */
};
/** Make the wafer's program for @p pass ready to run; @p index: its number among those of
 *  net->topology. */
enum wsc_err wafer_spawn(struct wafer *wafer, int index, const struct stream_pass *pass,
                         const struct wafer_work *work) WSC_CHECKED;
/** Cycles by kernel (PROGRAMS_ROWS rows) since values were last set up; NULL unless the values
 *  come from the mesh.  Borrowed. */
const struct programs_row *wafer_kernel_rows(const struct wafer *wafer);
#endif
