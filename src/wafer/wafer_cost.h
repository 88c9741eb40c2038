/** Price of a task of a wafer in virtual time.
 *  A task is one stage of one micro-batch; wafer_clock.c books what it costs.
 */
#ifndef WSC_WAFER_COST_H
#define WSC_WAFER_COST_H
#include "wafer_jitter.h"

#include <wsc/wafer.h>

/* One stage of one micro-batch on one wafer. */
struct wafer_task {
    int wafer; /* position in the machine */
    int64_t step;
    uint64_t seed; /* of the jitter */
    int stage;
    int transfer; /* of the step: names the deviate of jitter_stage */
    bool backward;
    int64_t n_samples;
    struct cycles_tokens tokens;             /* of each sample, in generation */
    const struct stream_amounts *amounts;    /* densities in this step; NULL: dense */
    struct wafer_prices *prices;             /* kept up to date; NULL: no memory */
    struct wafer_deviates *deviates;         /* of this wafer, kept up to date; NULL: no memory */
    const struct kernels_simulated *counted; /* simulated cycles of the mesh, which keeps all
                                                activations; NULL: the analytical model holds */
};
/* Cost of a task, ps. */
struct wafer_cost {
    int64_t latency_ps; /* before the kernels start */
    int64_t compute_ps; /* of the kernels, jitter and straggler included */
    int64_t first_ps;   /* of it until the first finished row of the gradient */
    int64_t drain_ps;   /* from the edge of the wafer to its farthest PE */
    int64_t stream_ps;  /* of its weights through the wafer's I/O; they meet kernels that stand */
    int64_t out_ps;     /* of its gradients through the wafer's I/O */
    int64_t spill_ps;   /* of what moves to or from the activation servers */
};
/* What @p task costs, with the jitter of wafer_jitter_millionths(). */
struct wafer_cost wafer_cost_of(const struct hw *hw, const struct model *model,
                                const struct cycles_plan *plan, const struct wafer_task *task);
#endif
