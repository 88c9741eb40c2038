/** Layout of tokens and features on the fabric of one wafer.
 *
 *  The fabric has one lane or several side by side, which run the same programs on other sequences.
 * In a lane features lie on x, tokens on y: PE (x, y) holds some features (its slots) of some
 * tokens. Rows are numbered through all lanes: row y of lane i is number i h + y.  The tokens of a
 *  sequence are distributed round-robin (token j to row j mod h), so that causal attention loads
 *  all rows alike; sequences of a lane follow each other.  A tile is such a matrix in 32-bit
 *  floats: `slots` rows of `pitch` tokens in the memory of each PE.  docs/MESH.md describes the
 *  patterns that run on it, contract, mix, outer and scripts.  What is computed for a sequence does
 *  not depend on which others lie on the wafer. */
#ifndef WSC_PROGRAMS_GRID_H
#define WSC_PROGRAMS_GRID_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/mesh.h>
#include <wsc/num.h>

#include <stdint.h>

/** Features of a tensor on the columns; with heads, a head has columns of its own or shares one. */
struct programs_features {
    int n;
    int slots;          /**< most features of one column */
    int group_cols;     /**< columns over which a head spreads; all columns without heads */
    int heads_per_pe;   /**< heads that share a column, when group_cols is 1 */
    int head_dim;       /**< 0 without heads */
    int *count;         /**< of each column; owned, as the next four */
    int *column, *slot; /**< of each feature */
    int *order;         /**< features column by column, slot by slot */
    int *by_slot;       /**< slot by slot, so neighbours are on different columns */
};
/** Which features of a head must share a PE, because rotary positions rotate them as pairs. */
enum programs_pairing { PROGRAMS_NO_PAIRS, PROGRAMS_PAIRS_ADJACENT, PROGRAMS_PAIRS_HALF };
enum wsc_err programs_features_init(struct programs_features *f, int n, int w);
/** Distribute @p heads heads of @p d features over @p w columns. */
enum wsc_err programs_features_init_heads(struct programs_features *f, int heads, int d, int w,
                                          enum programs_pairing pairing);
/** Assign @p count[x] features to column x, one column after the other. */
enum wsc_err programs_features_init_counts(struct programs_features *f, const int *count, int w);
void programs_features_fini(struct programs_features *f);

/** A matrix of activations on the PEs; without features, one vector of tokens. */
struct programs_tile {
    int address;
    const struct programs_features *f;
    bool half; /**< of 16-bit numbers */
    int pitch; /**< elements between slots; 0: the grid's */
};

/** The columns of a tile that a program uses on each row of PEs, instead of the tokens of some
 *  samples. */
struct programs_span {
    const int *first, *n; /**< borrowed, of each row */
};

/** Features of one side of a matrix that are repeated (keys that a group of heads shares): @c width
 *  features at a time, @c times times; 0 times: no repetition. */
struct programs_repeat {
    int64_t width, times;
};
static inline int64_t programs_repeated(const struct programs_repeat *r, int64_t i)
{
    return r->times > 1 ? i / (r->width * r->times) * r->width + i % r->width : i;
}
/** Weights as they lie on the host: element (out, in) at out * ld_out + in * ld_in. */
struct programs_weights {
    const float *at;
    int64_t ld_out, ld_in;
    struct programs_repeat out, in;
    double density;       /**< fraction of the elements that are streamed */
    const uint64_t *kept; /**< NULL: all are streamed; else bit e % 64 of word e / 64 is set for
                           * each streamed element e, which comes with its index */
};
/** True when element @p e of a matrix is streamed. */
static inline bool programs_keeps(const uint64_t *kept, int64_t e)
{
    return !kept || kept[e / 64] >> e % 64 & 1;
}

enum { PROGRAMS_MOST_ACCUMULATORS = 16 };
/** Counters of a PE whose items are computed by arriving data (program_trigger.c): items whose data
 *  have ended, that were bound, whose sums were started, whose sums have ended. @c arrived: one bit
 *  for each of the newest items, set when data have arrived. */
struct programs_items {
    int32_t ended, bound, sent, summed;
    uint64_t arrived;
    bool held; /**< the task that ends items is blocked: no accumulator is free */
};
/** The fabric of one wafer, with the assignment of tokens to PEs. */
enum { PROGRAMS_OF_SCOPE = 1 << 16 };
struct programs_grid {
    struct mesh *m;    /**< owned */
    int w, h;          /**< PEs of a lane */
    int lanes, active; /**< lanes of the fabric; those in the running program */
    int leaf_samples;  /**< consecutive sequences on one lane that form a leaf */
    int *lane_samples; /**< owned: samples of each lane in this micro-batch, descending */
    int64_t T;
    int all_samples; /**< samples of this micro-batch */
    int n_samples;   /**< samples on the first lane, which has most */
    int max_samples; /**< of a lane; sizes of tiles */
    int tokens;      /**< most tokens of a sequence on one PE, rounded up to even: distance of rows
                      * of scores */
    int pitch;       /**< elements between slots */
    bool half;       /**< tiles are 16-bit, sums over them 32-bit */
    enum num_half format; /**< the 16-bit format */
    int exp_cycles, divide_cycles;
    int loop_cycles;     /**< cycles before each operation of a loop */
    bool by_data;        /**< arriving data start multiply-adds; otherwise loops do */
    int arrival_eighths; /**< least time between such multiply-adds, 1/8 cycle */
    int index_eighths;   /**< additional time for a weight with an index */
    int accumulators;    /**< of products by arriving data, used in turn */
    const struct programs_trigger *trigger;       /**< borrowed: items of the running program */
    int32_t *item, *sub, *sent, *scored, *passed; /**< owned, registers of each PE */
    struct programs_items *items;                 /**< owned, of each PE */
    int *key_row, *key_token; /**< owned, T: keys in the order in which they stream */
    bool both_ways;           /**< queries attend to all keys; else causal */
    int key_step;             /**< tokens between consecutive keys of a PE in that order */
    int scratch;              /**< first address that programs may reserve and release */
    void *program;            /**< borrowed: what the tasks of the running program read */
    struct mesh_stats stats;  /**< of the last program */
    struct mesh_stats total;  /**< of all programs */
    int n_programs, longest;  /**< number of programs run; number of the longest one */
    int64_t longest_cycles;
    /** Programs that repeat what earlier ones with the same scope and number did (mesh_repeat()).
     *  Scopes are multiples of PROGRAMS_OF_SCOPE; later programs are not announced. */
    struct programs_repeats {
        bool on;
        uint64_t scope;
        uint64_t n; /**< number of the next program */
    } repeats;
    struct mesh_watch *watch; /**< borrowed; observes program number `watched` */
    int watched;
};
/** Size and format of the fabric on which a transformer's programs run. */
struct programs_grid_config {
    struct mesh_config mesh; /**< w, h, arch, threads; the format gives its half */
    int64_t T;               /**< tokens of a sequence */
    int max_samples;
    int lanes, leaf_samples; /**< 0: one lane with all samples */
    enum num_format format;  /**< format of tiles */
    bool both_ways;          /**< attention without a causal mask */
};
enum wsc_err programs_grid_init(struct programs_grid *g, const struct programs_grid_config *config);
void programs_grid_fini(struct programs_grid *g);
/** Set the cycles of scalar code, and whether arriving data start multiply-adds, from the machine
 *  file. WSC_CONFIG for arrival_cycles that a PE cannot wait. */
enum wsc_err programs_grid_rates(struct programs_grid *g, const struct hw_wafer *w);
/** Set the rate of multiply-adds of @p machine to the documented one, which the emulated PE has,
 *  instead of the sustained rate of the machine file. */
void programs_documented_rates(struct hw_machine *machine, enum mesh_arch arch);
/** Choose the order in which keys stream for heads with the layout @p f: row by row, and within a
 *  row in several passes over its tokens. Because of the causal mask, early keys have longer rows
 *  of scores than late ones; with several passes, each column of a head stores scores of both. Call
 * it before the first program of attention. */
void programs_order_keys(struct programs_grid *g, const struct programs_features *f);
/** Distribute @p n samples over the lanes: leaf i goes to lane i mod lanes. */
void programs_distribute(struct programs_grid *g, int n);
/** Number of columns of the active lanes. programs_rows(): number of their rows. */
static inline int programs_columns(const struct programs_grid *g)
{
    return g->active * g->w;
}
static inline int programs_rows(const struct programs_grid *g)
{
    return g->active * g->h;
}
static inline struct mesh_rect programs_all(const struct programs_grid *g)
{
    return (struct mesh_rect){0, 0, programs_columns(g), g->h};
}
static inline int programs_index(const struct programs_grid *g, const struct mesh_pe *pe)
{
    return mesh_y(pe) * g->lanes * g->w + mesh_x(pe);
}
static inline struct programs_grid *programs_grid_of(const struct mesh_pe *pe)
{
    return mesh_user(pe);
}
/** Column of the PE in its lane; programs_lane() and programs_row_of(): its lane, and the number of
 *  its row. */
static inline int programs_column_of(const struct mesh_pe *pe)
{
    const int x = mesh_x(pe), w = programs_grid_of(pe)->w;
    return x < w ? x : x % w;
}
static inline int programs_lane(const struct mesh_pe *pe)
{
    return mesh_x(pe) / programs_grid_of(pe)->w;
}
static inline int programs_row_of(const struct mesh_pe *pe)
{
    return programs_lane(pe) * programs_grid_of(pe)->h + mesh_y(pe);
}
/** Position of row number @p row in its lane. */
static inline int programs_y(const struct programs_grid *g, int row)
{
    return g->lanes == 1 ? row : row % g->h;
}
/** Number of samples among first .. first + n - 1 of a lane that row number @p row has. */
static inline int programs_samples(const struct programs_grid *g, int row, int first, int n)
{
    const int left = g->lane_samples[row / g->h] - first;
    return left < 0 ? 0 : left < n ? left : n;
}
/** Index in the micro-batch of sample @p i of lane @p lane. */
static inline int programs_sample_at(const struct programs_grid *g, int lane, int i)
{
    const int leaf = i / g->leaf_samples * g->lanes + lane;
    return leaf * g->leaf_samples + i % g->leaf_samples;
}
/** Number of tokens of one sequence on row @p row. programs_row_tokens(): of all sequences of its
 *  lane. */
static inline int programs_tokens(const struct programs_grid *g, int row)
{
    const int y = programs_y(g, row);
    return y < g->T ? (int)((g->T - 1 - y) / g->h + 1) : 0;
}
static inline int programs_row_tokens(const struct programs_grid *g, int row)
{
    return g->lane_samples[row / g->h] * programs_tokens(g, row);
}
/** Index among all tokens (samples x T) of token slot @p i of row @p row. */
static inline int64_t programs_token_at(const struct programs_grid *g, int row, int i)
{
    const int tokens = programs_tokens(g, row);
    if (!tokens) return 0;
    return programs_sample_at(g, row / g->h, i / tokens) * g->T + (int64_t)(i % tokens) * g->h +
           programs_y(g, row);
}
/** First token slot of a sequence on row @p row whose token is @p token or later. */
static inline int programs_slot_from(const struct programs_grid *g, int row, int token)
{
    const int y = programs_y(g, row);
    int first = token <= y ? 0 : (token - y + g->h - 1) / g->h;
    return first < programs_tokens(g, y) ? first : programs_tokens(g, y);
}
/** First query on row @p y that attends to the key of token @p token. */
static inline int programs_first_query(const struct programs_grid *g, int y, int token)
{
    return g->both_ways ? 0 : programs_slot_from(g, y, token);
}
/** Bytes of a number. */
static inline int programs_bytes(bool half)
{
    return half ? 2 : 4;
}
/** The 16-bit operation that corresponds to @p code if @p half, else @p code. */
enum mesh_code programs_code(bool half, enum mesh_code code);
/** @p value as an operand of an operation on 16-bit numbers, or on 32-bit ones. */
struct mesh_dsd programs_scalar(const struct programs_grid *g, bool half, float value);
/** @p value as the payload of a wavelet. */
uint32_t programs_word(const struct programs_grid *g, bool half, float value);
static inline int programs_pitch(const struct programs_grid *g, const struct programs_tile *t)
{
    return t->pitch ? t->pitch : g->pitch;
}
static inline int programs_at(const struct programs_grid *g, const struct programs_tile *t,
                              int slot, int token)
{
    return t->address + programs_bytes(t->half) * (slot * programs_pitch(g, t) + token);
}
/** Reserve a tile in the format of the grid. */
enum wsc_err programs_reserve_tile(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, const char *what);
/** Reserve a tile in the format of the grid with @p columns columns, or a few more. */
enum wsc_err programs_reserve_wide(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, int columns,
                                   const char *what);
/** Reserve a tile of 32-bit numbers, whatever the format of the grid. */
enum wsc_err programs_reserve_sums(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, const char *what);
/** The two operands of an operation are read at full rate when they start in different banks:
 *  tiles and vectors of features in one, what they are combined with in the other. */
enum programs_bank {
    PROGRAMS_BANK_TILES,
    PROGRAMS_BANK_TOKENS,
    PROGRAMS_BANK_SCORES = PROGRAMS_BANK_TOKENS
};
/** Reserve @p words words on every PE in bank @p bank; sets @p address. */
enum wsc_err programs_reserve_words(struct programs_grid *g, int64_t words, enum programs_bank bank,
                                    const char *what, int *address);
/** Copy the tile from the host, (samples, T, n) row-major, and back. */
enum wsc_err programs_tile_in(struct programs_grid *g, const struct programs_tile *t,
                              const float *host);
enum wsc_err programs_tile_out(struct programs_grid *g, const struct programs_tile *t, float *host);

/* ---- programs ---- */

/** Clear the fabric for a new program, whose tasks read @p program. It runs on the lanes with more
 *  than @p first_sample samples. */
enum wsc_err programs_begin(struct programs_grid *g, void *program, int first_sample);
/** Feed @p n wavelets down column @p x of each of these lanes, each over a link of its own. */
enum wsc_err programs_feed(struct programs_grid *g, int x, int colour,
                           const struct mesh_wavelet *wavelet, int64_t n);
/** Run the program, count its cycles, and release its reservations. */
enum wsc_err programs_run(struct programs_grid *g);
/** Bind @p fn to a local task of all PEs and start it. */
enum wsc_err programs_main(struct programs_grid *g, mesh_task_fn fn);
/** @p rows rows of @p cols consecutive words, @p pitch words apart. */
static inline struct mesh_dsd programs_matrix(int address, int rows, int cols, int pitch)
{
    return mesh_rows(mesh_mem(address, cols), rows, pitch);
}
#endif
