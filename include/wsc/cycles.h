/** Cycles: computes the cycles of a wafer with an analytical model, and plans its micro-batches.
 *
 *  Every number follows from the layout of features and tokens on the processing elements (PEs);
 *  docs/MODEL.md derives each formula with the symbols of the code. Results depend only on machine,
 *  model and plan, so they are equal on every rank and host. The mesh (<wsc/mesh.h>) simulates
 *  these operations wavelet by wavelet, and `wsc validate --mesh` compares both.
 *
 *      struct cycles_plan plan;
 *      TRY(cycles_plan_wafer(&plan, hw, model, share, &asked, true, NULL));
 *      int64_t c = cycles_stage(hw, model, &plan, stage, false, plan.micro_batch, NULL);
 *      int64_t ps = hw_cycles_to_ps(hw, c);
 *
 *  Start with cycles_plan_wafer() and cycles_stage(); <wsc/cycles_ops.h> has the single operations,
 *  which are compared with the mesh. */
#ifndef WSC_CYCLES_H
#define WSC_CYCLES_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** Activations of a block that are kept between its forward and backward pass; the others are
 *  computed again (recomputation). x: block input; q k v: projections; a: attention output; h:
 *  input of the feed-forward half; p: filter before the nonlinearity. Norms and nonlinearities are
 *  always computed again. With gates (diffusion transformers) a block also keeps the branches
 *  before them, or computes them again. */
enum cycles_keep {
    CYCLES_KEEP_ALL,          /**< x q k v a h p: no product twice */
    CYCLES_KEEP_NO_ATTENTION, /**< x q k v h p: attention twice */
    CYCLES_KEEP_PROJECTIONS,  /**< x q k v h: attention and first feed-forward product twice */
    CYCLES_KEEP_FILTER,       /**< x h p: projections and attention twice */
    CYCLES_KEEP_INPUT,        /**< x: everything but the last product twice, with gates that too */
    CYCLES_KEEP_BRANCH, /**< with gates alone, x and the last branch: all but the last product */
    CYCLES_N_KEEPS
};

/** Plan: mapping of a micro-batch to a wafer; filled by cycles_plan_wafer(). All wafers of a pass
 *  have one plan. Bytes are those of the emulated wafer, not of the host. */
struct cycles_plan {
    int lanes;           /**< batch replicas side by side, pe_cols / lanes columns each */
    int64_t micro_batch; /**< largest number of sequences of one micro-batch on a wafer */
    int64_t n_micro;     /**< micro-batches of a step; they differ by at most one sample, or by the
                              samples that stay together */
    /** Activations of a block that stay in memory for the backward pass. */
    enum cycles_keep keep;
    /** Parts in which the filter features of a block are processed. */
    int slices;
    bool recompute;                 /**< keep != CYCLES_KEEP_ALL */
    int64_t act_bytes_per_sequence; /**< kept between forward and backward, all blocks */
    /** Working set: live at the peak of one block, in addition to the kept ones. */
    int64_t work_bytes_per_sequence;
    int64_t act_bytes_available; /**< on the wafer */
    /** Kept bytes on activation servers; with an explicit micro-batch also the part of the working
     *  set that does not fit. Each byte moves out once and in once a step. */
    int64_t spill_bytes_per_sequence;
    /** Estimated cycles of a step, minimized by the planner: compute and the wafer's own I/O,
     *  without waiting for the cluster. */
    double step_cycles;
};

/** Requested properties of a plan. */
struct cycles_asked {
    int64_t micro_batch; /**< sequences, CONF_AUTO or CONF_NULL */
    /** Samples that no micro-batch divides, a leaf of the tree of sums; 0 counts as 1. */
    int64_t together;
    int lanes; /**< 0: as many as are fastest */
};
/** Choose lanes, micro-batch and kept activations for @p share sequences per wafer and step, such
 *  that the step is shortest, with compute and I/O overlapped stage by stage. @p asked has the
 *  micro-batch: a size, CONF_AUTO (the largest whose working set fits, evened out) or CONF_NULL
 *  (the whole share). Kept activations are in the SRAM or, where this is faster, on the activation
 *  servers. A given size that is too large spills. WSC_CAPACITY, with the memory needed: the
 *  working set of one sequence does not fit. WSC_CONFIG: more lanes than wafer.pe_cols. A share of
 *  0 is planned as 1. @p training false: nothing is kept for a backward pass. @p densest: densities
 *  of a block at the densest step, for which memory is planned; NULL: dense. */
enum wsc_err cycles_plan_wafer(struct cycles_plan *plan, const struct hw *hw,
                               const struct model *model, int64_t share,
                               const struct cycles_asked *asked, bool training,
                               const struct model_density *densest) WSC_CHECKED;
/** Cycles of one stage for @p n_sequences sequences on a wafer, recomputation included; 0 sequences
 *  cost 0. @p density: of the stage's matrices, NULL: dense. A pure function that takes
 *  microseconds. The stage latency is not included, because it is a time and not cycles. */
int64_t cycles_stage(const struct hw *hw, const struct model *model, const struct cycles_plan *plan,
                     int stage, bool backward, int64_t n_sequences,
                     const struct model_density *density);
/** Tokens of a text in a step of generation: @c n_new new tokens after @c n_cached ones, whose keys
 *  and values are on the wafer. n_new 0: no generation, whole sequences. */
struct cycles_tokens {
    int64_t n_new, n_cached;
    /** Encoder with a decoder. n_source: tokens of a source that the encoder computes in this step,
     *  0 when an earlier step has computed them; n_memory: source tokens to which the decoder
     *  attends. */
    int64_t n_source, n_memory;
    int64_t n_beams; /**< beam search: texts of one prompt, or source; 0 and 1: one */
};
/** Cycles of the forward of one stage in a step of generation, for @p n_texts texts on a wafer; the
 *  head computes one token of each.  Texts of different lengths take as long as the longest. */
int64_t cycles_generate(const struct hw *hw, const struct model *model,
                        const struct cycles_plan *plan, int stage,
                        const struct cycles_tokens *tokens, int64_t n_texts,
                        const struct model_density *density);
/** Fixed cost of starting stage number @p stage of @p model on a wafer of @p machine, in
 *  picoseconds: its own kernels, those of its low-rank adapters and those of conditioned norms and
 *  gates (docs/MODEL.md, "Plan"). */
int64_t cycles_latency_ps(const struct hw_machine *machine, const struct model *model, int stage,
                          bool backward);
/** Cycles from the start of a backward stage to its first finished gradient row; at most the
 *  stage's cycles. Gradients may leave from then on, while the stage still runs. */
int64_t cycles_first_gradient(const struct hw *hw, const struct model *model,
                              const struct cycles_plan *plan, int stage, int64_t n_sequences,
                              const struct model_density *density);
/** Bytes that one stage moves to (forward) or from (backward) the activation servers, beside its
 *  weights or gradients; 0 when the plan spills nothing.  The transfer is planned ahead, so it
 *  overlaps with the computation. */
int64_t cycles_spill_bytes(const struct model *model, const struct cycles_plan *plan, int stage,
                           int64_t n_sequences);
/** Breakdown of a stage's cycles; the four parts add up to the stage. products: linear layers and
 *  their gradients; attention: scores, softmax, values; elementwise: norms, nonlinearities,
 *  residual, loss, embedding; recompute: any of these repeated in the backward pass. */
struct cycles_breakdown {
    double products, attention, elementwise, recompute;
};
/** Cycles of one stage as cycles_stage() gives them, by kind, for tables and profiles. */
struct cycles_breakdown cycles_stage_breakdown(const struct hw *hw, const struct model *model,
                                               const struct cycles_plan *plan, int stage,
                                               bool backward, int64_t n_sequences,
                                               const struct model_density *density);
#endif
