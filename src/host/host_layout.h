/** Sizes of the buffers of a host, and how logits are cut into blocks. The cuts depend on the model
 *  alone, never on the share, so that each product has the same shape everywhere. */
#ifndef WSC_HOST_LAYOUT_H
#define WSC_HOST_LAYOUT_H
#include "host_state.h"

#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/** The limits that host_create() uses. */
extern const struct host_limits host_default_limits;

/** A buffer @p guest that is the memory of @p owner: no code needs both at the same time. Training
 *  alone; with @p fp32 only if operands are fp32. */
struct host_shared {
    enum host_buffer guest, owner;
    bool fp32;
};
enum { HOST_N_SHARED = 5 };
extern const struct host_shared host_shared[HOST_N_SHARED];

/** Bytes of every shared buffer, 0 for guests; INT64_MAX if they overflow. */
void host_layout(int64_t bytes[HOST_N_BUFFERS], const struct model *model, int64_t n_samples,
                 bool training, const struct host_limits *limits);
/** Bytes of every buffer of one thread. */
void host_thread_layout(int64_t bytes[HOST_N_THREAD_BUFFERS], const struct model *model,
                        int64_t n_samples, bool training, const struct host_limits *limits);
int64_t host_vocab_block(const struct model *model, const struct host_limits *limits);
bool host_keeps_logits(const struct model *model, int64_t n_samples,
                       const struct host_limits *limits);
/** Levels of partial sums that a share of @p n_leaves leaves needs. */
int64_t host_tree_levels(int64_t n_leaves);
#endif
