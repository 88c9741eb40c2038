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
