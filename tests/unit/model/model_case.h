/** Params and a cluster filled by hand, as the Model Zoo's GPT files and the CS-2 file have them.
 */
#ifndef WSC_TEST_MODEL_CASE_H
#define WSC_TEST_MODEL_CASE_H
#include <wsc/hw.h>
#include <wsc/model.h>
#include <wsc/zoo.h>

struct model_case {
    int64_t C, L, H, F, T;
};

/** Learned positions, biases everywhere but in the head, tied, 16-bit, no muP. */
static inline struct zoo_params model_case_params(struct model_case c)
{
    struct zoo_params p = {0};
    p.model = (struct zoo_model){.vocab_size = 50257,
                                 .hidden_size = c.C,
                                 .num_hidden_layers = c.L,
                                 .num_heads = c.H,
                                 .filter_size = c.F,
                                 .max_position_embeddings = c.T,
                                 .layer_norm_epsilon = 1e-5,
                                 .share_embedding_weights = true,
                                 .use_ffn_bias = true,
                                 .use_ffn_bias_in_attention = true,
                                 .use_projection_bias_in_attention = true,
                                 .mixed_precision = true,
                                 .fp16_type = NUM_HALF_BF16,
                                 .attention_softmax_fp32 = true,
                                 .initializer_range = 0.02,
                                 .loss_weight = 1,
                                 .embeddings_scale = 1,
                                 .output_logits_scale = 1};
    return p;
}

/** Index of the view of tensor kind @p kind in @p stage, or -1; of several experts the first one's.
 */
static inline int model_case_view(const struct model *model, const struct model_stage *stage,
                                  enum model_tensor_kind kind)
{
    for (int i = 0; i < stage->n_views; i++)
        if (model->tensor[stage->view[i].tensor].kind == kind) return i;
    return -1;
}

/** The constants of the CS-2 that hw, model and kernels read. */
static inline struct hw_machine model_case_cs2(void)
{
    return (struct hw_machine){.wafer = {.clock_hz = 850000000,
                                         .pe_cols = 750,
                                         .pe_rows = 994,
                                         .sram_bytes_per_pe = 49152,
                                         .sram_reserved_bytes_per_pe = 8192,
                                         .simd_fmach = 4,
                                         .simd_fmachs = 2,
                                         .simd_fmacs = 1,
                                         .simd_fadds = 2,
                                         .simd_fmuls = 1,
                                         .simd_faddh = 4,
                                         .vector_setup_cycles = 16,
                                         .vector_setup_fp32_cycles = 17,
                                         .vector_setup_add_cycles = 9,
                                         .vector_setup_copy_cycles = 15,
                                         .vector_loop_cycles = 5,
                                         .data_triggered = true,
                                         .arrival_cycles = 1.5,
                                         .masked_scores = 1,
                                         .sum_accumulators = 8,
                                         .sparse_gradient = HW_GRADIENT_SAMPLED,
                                         .kernel_factor = 1,
                                         .hop_cycles = 1,
                                         .ramp_cycles = 2,
                                         .exp_cycles = 50,
                                         .divide_cycles = 50,
                                         .io_rate_bytes_per_s = 150000000000,
                                         .peak_flop_per_s = 7500000000000000,
                                         .system_power_w = 23000},
                               .swarmx = {.fanout = 4, .node_power_w = 500},
                               .memoryx = {.shards = 12, .shard_power_w = 1000}};
}
#endif
