/** Price of a task of a wafer in virtual time. A task is one stage of one micro-batch;
 *  wafer_clock.c adds its cost to the clock. */
#ifndef WSC_WAFER_COST_H
#define WSC_WAFER_COST_H
#include "wafer_jitter.h"

#include <wsc/wafer.h>

/* One stage of one micro-batch on one wafer. */
struct wafer_task {
    int wafer; /* position in the machine */
    int64_t step;
    uint64_t seed; /* seed of the jitter */
    int stage;
    int transfer; /* transfer in the step; it selects the deviate of jitter_stage */
    bool backward;
    int64_t n_samples;
    struct cycles_tokens tokens;          /* tokens of each sample, in generation */
    const struct stream_amounts *amounts; /* densities of the step; NULL: dense */
    /* prices computed so far, updated; NULL: computed each time */
    struct wafer_prices *prices;
    /* deviates of this wafer, updated; NULL: computed each time */
    struct wafer_deviates *deviates;
    /* simulated cycles of the mesh, which keeps all activations; NULL: the analytical model is used
     */
    const struct kernels_simulated *counted;
};
/* Cost of a task, ps. */
struct wafer_cost {
    int64_t latency_ps;   /* time before the kernels start */
    int64_t compute_ps;   /* time of the kernels, jitter and straggler included */
    int64_t first_ps;     /* part of compute_ps until the first row of the gradient is finished */
    int64_t traversal_ps; /* latency from the edge of the wafer to its farthest PE */
    int64_t stream_ps;    /* time in which the weights pass the wafer's I/O */
    int64_t out_ps;       /* time in which the gradients pass the wafer's I/O */
    int64_t spill_ps;     /* time in which activations move to or from the activation servers */
};
/* The cost of @p task, with the jitter of wafer_jitter_millionths(). */
struct wafer_cost wafer_cost_of(const struct hw *hw, const struct model *model,
                                const struct cycles_plan *plan, const struct wafer_task *task);
#endif
