/** Small models of odd shapes, their weights and batches, and one step over some of the leaves. */
#ifndef WSC_TEST_HOST_FIXTURE_H
#define WSC_TEST_HOST_FIXTURE_H
#include "../../../src/host/host_layout.h"

#include <wsc/data.h>
#include <wsc/host.h>
#include <wsc/model.h>

enum { FIXTURE_MAX_TENSORS = 64, FIXTURE_MAX_STAGES = 16, FIXTURE_MAX_NODES = 16 };

/** What a case varies. */
struct fixture_shape {
    int64_t L, C, H, F, V, T;
    int64_t n_samples;
    bool tied, no_bias, head_bias, no_positions, matrices;
    enum zoo_nonlinearity nonlinearity;
    enum num_format format;
    double embeddings_scale, logits_scale; /**< 0 = 1 */
    bool scale_by_layer, softmax_16;
    bool slopes;     /**< of ALiBi that train, instead of positions */
    int64_t rank;    /**< of adapters of all matrices; 0: none */
    double dropout;  /**< of their inputs */
    int64_t buckets; /**< of relative positions, instead of positions; 0: none */
};

/** Owns everything that it points to. */
struct fixture {
    struct model model;
    struct model_tensor tensor[FIXTURE_MAX_TENSORS];
    struct model_stage stage[FIXTURE_MAX_STAGES];
    struct model_view view[FIXTURE_MAX_STAGES][FIXTURE_MAX_TENSORS];
    float *weight[FIXTURE_MAX_TENSORS]; /**< in fp32, already rounded to the format */
    void *stage_weights[FIXTURE_MAX_STAGES];
    struct data_batch batch;
    struct model *made; /**< by fixture_create_of(), or NULL */
};

void fixture_create(struct fixture *f, const struct fixture_shape *shape);
/** The model that model_create() makes of @p params, whose weights are 32 bits wide. */
void fixture_create_of(struct fixture *f, const struct zoo_params *params, int64_t n_samples);
void fixture_destroy(struct fixture *f);

/** How a step runs. */
struct fixture_run {
    int64_t first_leaf, end_leaf, leaf_samples;
    int n_threads;
    const struct host_limits *limits; /**< NULL: the default */
};
/** What a share of the leaves gave: one vector per stage and node. */
struct fixture_result {
    struct num_nodes nodes;
    float *grads[FIXTURE_MAX_STAGES];
    struct model_loss loss[FIXTURE_MAX_NODES];
    int64_t n_leaves;
};
int64_t fixture_n_leaves(const struct fixture *f, int64_t leaf_samples);
void fixture_step(const struct fixture *f, const struct fixture_run *run,
                  struct fixture_result *out);
void fixture_result_destroy(const struct fixture *f, struct fixture_result *r);
/** left becomes the result of the joint range, added as num_merge_plan says. */
void fixture_merge(const struct fixture *f, struct fixture_result *left,
                   const struct fixture_result *right, int64_t n_leaves);
/** The gradient of tensor @p i in the result's first node, both stages of a tied table added;
 *  caller frees. */
float *fixture_tensor_grad(const struct fixture *f, const struct fixture_result *r, int i);
/** A batch of samples [first, first + n) of the fixture's batch, borrowed. */
struct data_batch fixture_slice(const struct fixture *f, int64_t first, int64_t n);
#endif
