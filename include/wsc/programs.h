/** Programs that run on the emulated mesh (<wsc/mesh.h>): collectives, products, the transformer's
 *  operations, and a whole model on the mesh of one wafer.  Layer 4.
 *
 *  A program lays routes and tasks on a fabric, feeds it, runs it and compares what came out with a
 *  reference on the host.  Its cycles are simulated, wavelet by wavelet; beside them stands what
 * the analytical model (<wsc/cycles_ops.h>) or a published formula says for the same operation. The
 * one invariant: what is computed for a sequence does not depend on which others lie on the wafer,
 * nor on the number of host threads. Start reading at struct programs_case and at
 * programs_model_create(); docs/MESH.md describes the programs.
 */
#ifndef WSC_PROGRAMS_H
#define WSC_PROGRAMS_H
#include <wsc/data.h>
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/mesh.h>
#include <wsc/model.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- single programs ------------------------------------------------------------------------- */

/** What a program runs on; 0 and NULL take the program's defaults. */
struct programs_case {
    const char *algo;
    int w, h;
    enum mesh_arch arch;
    enum mesh_half half;
    int64_t words, m, n, k, length, calls;
    int64_t tokens, samples, features, heads, head_dim, vocab; /**< of a transformer's operations */
    bool backward;                                             /**< the gradient instead */
    int64_t groups;      /**< of a ktree; 0: the divisor of the width below its square root */
    double zeros;        /**< fraction of zero weights, 0 .. 1 */
    const struct hw *hw; /**< borrowed; the rates of the analytical model, and of scalar code */
    int threads;         /**< of the host, as in struct mesh_config */
    uint64_t seed;
    struct mesh_watch *watch; /**< borrowed; NULL: nobody watches */
};
/** What a run of a program gave. */
struct programs_result {
    struct mesh_stats stats;
    const char *algo;    /**< as chosen */
    int64_t words;       /**< of the main vector, block or call */
    double host_seconds; /**< of mesh_run */
    double max_error;    /**< against the host, |difference| / (1 + |expected|); NaN stays */
    double form;         /**< analytical model, cycles; negative when there is none */
    double built;    /**< max(C, E/N + L) + (2 T_R + 1) D of HPDC'24 on the tree that was built */
    double schedule; /**< its messages one by one (docs/MESH.md), cycles; both negative: none */
};
/** A program by name: the algorithms it has, the options that size it, a line of help. */
struct programs_kernel {
    const char *name, *algos, *options, *summary;
    enum wsc_err (*run)(const struct programs_case *c, struct programs_result *r);
};
/** Collective or product @p i, NULL after the last one. */
const struct programs_kernel *programs_kernel_at(int i);
/** A collective or product by name, or an error that lists them. */
enum wsc_err programs_kernel_find(const char *name, const struct programs_kernel **out) WSC_CHECKED;
/** Operation @p i of the transformer, NULL after the last one.  They run on random numbers and are
 *  compared with the definition in double precision; the analytical model of the case's machine is
 *  taken for a fabric of the case's size. */
const struct programs_kernel *programs_transformer_at(int i);

/* ---- simulated cycles against references ----------------------------------------------------- */

/** One comparison of simulated cycles with a formula, a published count or another program. */
struct programs_point {
    char what[64], algo[16];
    int p, h; /**< PEs of a row, rows */
    int64_t words, cycles;
    double form;            /**< reference, cycles */
    double built, schedule; /**< as in struct programs_result; negative: none */
    double tolerance;       /**< relative, stated for this formula */
    double slack;           /**< cycles allowed besides */
    bool at_most;           /**< the reference is a limit: to be below it is right */
    const char *reason;     /**< where the formula is only an estimate, why; otherwise NULL */
};
/** Called for every point as it is simulated. */
typedef enum wsc_err (*programs_point_fn)(void *ctx, const struct programs_point *point);
/** Collectives on rows of 4 .. @p max_p PEs (squares of at most 64 x 64) and 1 .. @p max_words
 *  words against the formulas of HPDC'24 (Luczynski et al., arXiv 2404.15888), and the tree that is
 *  chosen against the best of the fixed ones. */
enum wsc_err programs_survey(int max_p, int64_t max_words, programs_point_fn point,
                             void *ctx) WSC_CHECKED;
/** Simulated cycles against published ones: fp32 fmacs calls, the parts of a message, all-reduce.
 */
enum wsc_err programs_calibration(programs_point_fn point, void *ctx) WSC_CHECKED;
/** True within the tolerance or the slack of the point.  A formula with a reason adds up terms that
 *  overlap: where the simulation is below it, the schedule counts. */
bool programs_point_holds(const struct programs_point *point);
/** True when the point is compared with its schedule. */
bool programs_point_scheduled(const struct programs_point *point);

/* ---- a model on the mesh --------------------------------------------------------------------- */

/** A model on the mesh of one wafer: activations and partial sums lie in the memories of the PEs,
 *  weights enter and gradients leave through the edge, cycles are simulated.  32-bit floats. */
struct programs_model;
/** WSC_CONFIG, naming the key, when @p model has features beyond GPT-2's, or is trained with
 *  dropout: the programs of the mesh have neither. */
enum wsc_err programs_model_check(const struct model *model, bool training) WSC_CHECKED;
/** Lay @p model on the fabric of the cluster file, wafer.pe_cols x wafer.pe_rows PEs, for
 *  micro-batches of at most @p max_samples.  Memory that does not fit a PE is WSC_CAPACITY, said
 *  with the tensor; a model that is not fp32 WSC_CONFIG.  *@p out is NULL after an error. */
enum wsc_err programs_model_create(struct programs_model **out, const struct hw *hw,
                                   const struct model *model, int64_t max_samples,
                                   bool training) WSC_CHECKED;
/** Free all of it and set the handle to NULL; NULL inside is allowed. */
void programs_model_destroy(struct programs_model **k);
/** Start a micro-batch: @p batch (borrowed until the last stage) holds the samples of @p share, in
 *  order. */
void programs_model_begin(struct programs_model *k, const struct data_share *share,
                          const struct data_batch *batch);
/** Forward of one stage with its weights (n_elems floats); *@p cycles: simulated. */
enum wsc_err programs_model_forward(struct programs_model *k, int stage, const void *weights,
                                    int64_t *cycles) WSC_CHECKED;
/** Backward of one stage, after all forwards, in reverse order.  @p grads: one vector of n_elems
 *  floats per node of num_nodes_of_range(first_leaf, end_leaf, n_leaves).  *@p cycles: simulated;
 *  *@p first: from the start to the first gradient word at the edge. */
enum wsc_err programs_model_backward(struct programs_model *k, int stage, const void *weights,
                                     float *grads, int64_t *cycles, int64_t *first) WSC_CHECKED;
/** Losses after the last forward stage, one entry per leaf of the share; borrowed until the next
 *  begin. */
const struct model_loss *programs_model_losses(const struct programs_model *k);
/** Choose one position per sample of the share whose logits to keep, each in [0, T), before the
 *  head's forward. */
enum wsc_err programs_model_want_logits(struct programs_model *k,
                                        const int64_t *position_of_sample) WSC_CHECKED;
/** Logits (V) of the chosen position of the share's sample @p i, scaled.  Borrowed until the next
 *  begin. */
const float *programs_model_logits(const struct programs_model *k, int64_t i);

/** Cycles of one kind of operation so far: simulated, and by the analytical model for the same
 *  shapes. */
struct programs_row {
    const char *kernel, *pass;
    int64_t calls, cycles;
    double form;
};
enum { PROGRAMS_ROWS = 15 }; /**< kinds of operations that a model books */
/** All PROGRAMS_ROWS kinds; borrowed. */
const struct programs_row *programs_model_rows(const struct programs_model *k);
/** Name of row @p i, and its pass. */
const char *programs_row_name(int i, const char **pass);
#endif
