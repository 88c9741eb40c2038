/** Cycles: the analytical model of a wafer and the planner of its micro-batches.
 *
 *  Every number is a formula over the layout of features and tokens on the processing elements
 *  (PEs); docs/MODEL.md derives each one with the symbols used in the code.  No value is computed
 *  and no clock is read: results depend on machine, model and plan alone, so they are equal on
 *  every rank and host.  The mesh (<wsc/mesh.h>) counts the same operations wavelet by wavelet, and
 *  `wsc validate --mesh` compares the two.
 *
 *      struct cycles_plan plan;
 *      TRY(cycles_plan_wafer(&plan, hw, model, share, &asked, true, NULL));
 *      int64_t c = cycles_stage(hw, model, &plan, stage, false, plan.micro_batch, NULL);
 *      int64_t ps = hw_cycles_to_ps(hw, c);
 *
 *  Start reading at cycles_plan_wafer() and cycles_stage(); the operations one by one, for those
 *  who compare them with the mesh, are in <wsc/cycles_ops.h>. */
#ifndef WSC_CYCLES_H
#define WSC_CYCLES_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** What stays between forward and backward of a block; the rest is computed again.  x block input,
 *  q k v projections, a attention output, h input of the feed-forward half, p filter before the
 *  nonlinearity.  Norms and nonlinearities are always computed again.  With gates (diffusion
 *  transformers) a block also keeps the branches before them, or computes them again. */
enum cycles_keep {
    CYCLES_KEEP_ALL,          /**< x q k v a h p: no product twice */
    CYCLES_KEEP_NO_ATTENTION, /**< x q k v h p: attention twice */
    CYCLES_KEEP_PROJECTIONS,  /**< x q k v h: attention and first feed-forward product twice */
    CYCLES_KEEP_FILTER,       /**< x h p: projections and attention twice */
    CYCLES_KEEP_INPUT,        /**< x: everything but the last product twice, with gates that too */
    CYCLES_KEEP_BRANCH, /**< with gates alone, x and the last branch: all but the last product */
    CYCLES_N_KEEPS
};

/** How a micro-batch lies on a wafer; filled by cycles_plan_wafer(). One plan holds for all wafers
 *  of a pass; bytes are those of the emulated wafer, not of the host. */
struct cycles_plan {
    int lanes;           /**< batch replicas side by side, pe_cols / lanes columns each */
    int64_t micro_batch; /**< largest number of sequences of one micro-batch on a wafer */
    int64_t n_micro;     /**< micro-batches of a step; they differ by at most one sequence
                              unless the size was given by number */
    /** What of a block stays in memory for the backward pass. */
    enum cycles_keep keep;
    int slices;                       /**< parts in which the filter features of a block pass */
    bool recompute;                   /**< keep != CYCLES_KEEP_ALL */
    int64_t act_bytes_per_sequence;   /**< kept between forward and backward, all blocks */
    int64_t work_bytes_per_sequence;  /**< live at the peak of one block, beside the kept ones */
    int64_t act_bytes_available;      /**< on the wafer */
    int64_t spill_bytes_per_sequence; /**< of the kept ones, how much lies on activation servers;
                                           with an explicit micro-batch also what of the working
                                           set must make room.  Goes out once and in once a step */
    double step_cycles;               /**< estimate the choice was made by: compute and the wafer's
                                           own I/O, no waiting for the cluster */
};

/** What a plan is to have. */
struct cycles_asked {
    int64_t micro_batch; /**< sequences, CONF_AUTO or CONF_NULL */
    int lanes;           /**< 0: as many as are fastest */
};
/** Choose lanes, micro-batch and what to keep for @p share sequences per wafer and step, by the
 *  shortest step: compute overlapped with I/O, stage by stage.  Asked for is a micro-batch of some
 *  size, CONF_AUTO (the largest whose working set fits, evened out) or CONF_NULL (the whole share).
 *  What is kept lies in the SRAM or, where that is faster, on the activation servers.  Too large a
 *  number spills; one sequence whose working set does not fit is WSC_CAPACITY, with the memory that
 *  it needs; more lanes than wafer.pe_cols are WSC_CONFIG.  A share of 0 plans as 1.  @p training
 *  false: nothing is kept for a backward pass.  @p densest: densities of a block at the densest
 *  step, for which a compiler has to make room; NULL: dense. */
enum wsc_err cycles_plan_wafer(struct cycles_plan *plan, const struct hw *hw,
                               const struct model *model, int64_t share,
                               const struct cycles_asked *asked, bool training,
                               const struct model_density *densest) WSC_CHECKED;
/** Cycles of one stage for @p n_sequences sequences on a wafer, recomputation included; 0 sequences
 *  cost 0.  @p density: of the stage's matrices, NULL: dense.  Pure and cheap (microseconds).
 * Without the stage latency, which is time and not cycles. */
int64_t cycles_stage(const struct hw *hw, const struct model *model, const struct cycles_plan *plan,
                     int stage, bool backward, int64_t n_sequences,
                     const struct model_density *density);
/** What a step of generation does with each of its texts: @c n_new tokens after @c n_cached ones,
 *  whose keys and values lie on the wafer.  n_new 0: no generation, whole sequences. */
struct cycles_tokens {
    int64_t n_new, n_cached;
    /** Encoder with a decoder: tokens of a source that pass the encoder in this step, 0 when they
     *  did before, and tokens that the decoder attends to. */
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
/** A stage's cycles by what they are spent on; the four add up to the stage.  products: linear
 *  layers and their gradients; attention: scores, softmax, values; elementwise: norms,
 *  nonlinearities, residual, loss, embedding; recompute: any of them done again in the backward
 *  pass. */
struct cycles_breakdown {
    double products, attention, elementwise, recompute;
};
/** Cycles of one stage as cycles_stage() gives them, by kind, for tables and profiles. */
struct cycles_breakdown cycles_stage_breakdown(const struct hw *hw, const struct model *model,
                                               const struct cycles_plan *plan, int stage,
                                               bool backward, int64_t n_sequences,
                                               const struct model_density *density);
#endif
