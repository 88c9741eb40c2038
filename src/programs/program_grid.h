/** Layout of tokens and features on the fabric of one wafer.
 *
 *  The fabric has one lane or several side by side, which do the same with other sequences.  In a
 *  lane features lie on x, tokens on y: PE (x, y) holds some features (its slots) of some tokens.
 *  Rows are numbered through all lanes: row y of lane i is number i h + y.  The tokens of a
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
    int *by_turns;      /**< slot by slot: neighbours lie on different columns */
};
/** Which features of a head must share a PE (rotary positions turn pairs). */
enum programs_pairing { PROGRAMS_NO_PAIRS, PROGRAMS_PAIRS_ADJACENT, PROGRAMS_PAIRS_HALF };
enum wsc_err programs_features_init(struct programs_features *f, int n, int w);
/** @p heads heads of @p d features. */
enum wsc_err programs_features_init_heads(struct programs_features *f, int heads, int d, int w,
                                          enum programs_pairing pairing);
/** @p count[x] features on column x, one column after the other. */
enum wsc_err programs_features_init_counts(struct programs_features *f, const int *count, int w);
void programs_features_fini(struct programs_features *f);

/** A tile, or without features one vector per token (1 row). */
struct programs_tile {
    int address;
    const struct programs_features *f;
    bool half; /**< of 16-bit numbers */
    int pitch; /**< elements between slots; 0: the grid's */
};

/** Columns of a tile that a program takes on each row of PEs, in place of the tokens of some
 *  samples. */
struct programs_span {
    const int *first, *n; /**< borrowed, of each row */
};

/** Features of a side of a matrix that come more than once: @c width at a time, @c times times
 *  (keys that a group of heads shares); 0 times: each once. */
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
    double density;       /**< share of the elements that stream */
    const uint64_t *kept; /**< NULL: all stream; else bit e of word e / 64 is set for each element e
                               that streams, with its place */
};
/** Does element @p e of a matrix stream? */
static inline bool programs_keeps(const uint64_t *kept, int64_t e)
{
    return !kept || kept[e / 64] >> e % 64 & 1;
}

enum { PROGRAMS_MOST_ACCUMULATORS = 16 };
/** Registers of a PE whose items arriving data compute (program_trigger.c). They count items that
 *  have ended, that were bound, whose sums have started, whose sums have ended; for the newest
 * items one bit each states whether data have arrived. */
struct programs_items {
    int32_t ended, bound, sent, summed;
    uint64_t came;
    bool held; /**< ends of items are held up: the next one is not bound */
};
/** The fabric of one wafer and where tokens lie on it. */
struct programs_grid {
    struct mesh *m;    /**< owned */
    int w, h;          /**< PEs of a lane */
    int lanes, active; /**< lanes of the fabric; the first ones run the program at hand */
    int leaf_samples;  /**< sequences that follow each other on one lane: a leaf */
    int *lane_samples; /**< owned: of the micro-batch at hand on each lane, fewer on later ones */
    int64_t T;
    int all_samples; /**< of the micro-batch at hand */
    int n_samples;   /**< of them on the first lane, which has most */
    int max_samples; /**< of a lane: tiles have room for these */
    int tokens;      /**< between rows of scores: most tokens of a sequence on one PE, made even */
    int pitch;       /**< elements between slots */
    bool half;       /**< tiles are of 16-bit numbers, sums over them of 32 bits */
    enum mesh_half format; /**< which 16-bit numbers */
    int exp_cycles, divide_cycles;
    int loop_cycles;     /**< before each operation of a loop */
    bool by_data;        /**< arriving data start multiply-adds; otherwise loops do */
    int arrival_eighths; /**< of a cycle, from one such multiply-add to the next */
    int index_eighths;   /**< more of them where a weight comes with its place */
    int accumulators;    /**< that products by arriving data take in turn */
    const struct programs_trigger *trigger;       /**< borrowed: items of the running program */
    int32_t *item, *sub, *sent, *scored, *passed; /**< owned, registers of each PE */
    struct programs_items *items;                 /**< owned, of each PE */
    int *key_row, *key_token; /**< owned, T: keys in the order in which they stream */
    bool both_ways;           /**< a query sees all keys; otherwise those up to its own token */
    int key_step;             /**< tokens between neighbouring keys of a PE in that order */
    int scratch;              /**< first address that programs may reserve and release */
    void *program;            /**< borrowed: what the tasks of the running program read */
    struct mesh_stats stats;  /**< of the last program */
    struct mesh_stats total;  /**< of all programs */
    int n_programs, longest;  /**< run so far; number of the one that took most cycles */
    int64_t longest_cycles;
    struct mesh_watch *watch; /**< borrowed; sees program number `watched` */
    int watched;
};
/** What a program of the transformer is to be laid on. */
struct programs_grid_config {
    struct mesh_config mesh; /**< w, h, arch, threads; the format gives its half */
    int64_t T;               /**< tokens of a sequence */
    int max_samples;
    int lanes, leaf_samples; /**< 0: one lane, which has all samples */
    enum num_format format;  /**< of the numbers of tiles */
    bool both_ways;          /**< attention without a causal mask */
};
enum wsc_err programs_grid_init(struct programs_grid *g, const struct programs_grid_config *config);
void programs_grid_fini(struct programs_grid *g);
/** Take the cycles of scalar code from the machine, and what starts multiply-adds.  WSC_CONFIG for
 *  arrival_cycles beyond what a PE can wait. */
enum wsc_err programs_grid_rates(struct programs_grid *g, const struct hw_wafer *w);
/** Set the multiply-adds of a cycle to those that an emulated PE has, the documented ones, whatever
 *  @p machine says is sustained. */
void programs_documented_rates(struct hw_machine *machine, enum mesh_arch arch);
/** Choose the order in which keys stream for heads with the layout @p f: row by row, and within a
 *  row in several turns over its tokens. Because of the causal mask, early keys have longer rows of
 *  scores than late ones; with turns, each column of a head stores scores of both. Call it before
 *  the first program of attention. */
void programs_order_keys(struct programs_grid *g, const struct programs_features *f);
/** Distribute @p n samples over the lanes: leaf i to lane i mod lanes. */
void programs_distribute(struct programs_grid *g, int n);
/** Columns and rows of the lanes that run the program at hand. */
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
/** Column of the PE in its lane, its lane, and the number of its row. */
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
/** Row number @p row in its lane. */
static inline int programs_y(const struct programs_grid *g, int row)
{
    return g->lanes == 1 ? row : row % g->h;
}
/** How many of the samples first .. first + n - 1 of a lane row number @p row has. */
static inline int programs_samples(const struct programs_grid *g, int row, int first, int n)
{
    const int rest = g->lane_samples[row / g->h] - first;
    return rest < 0 ? 0 : rest < n ? rest : n;
}
/** Number in the micro-batch of sample @p i of lane @p lane. */
static inline int programs_sample_at(const struct programs_grid *g, int lane, int i)
{
    const int leaf = i / g->leaf_samples * g->lanes + lane;
    return leaf * g->leaf_samples + i % g->leaf_samples;
}
/** Tokens of one sequence on row @p row, and of all sequences of its lane. */
static inline int programs_tokens(const struct programs_grid *g, int row)
{
    const int y = programs_y(g, row);
    return y < g->T ? (int)((g->T - 1 - y) / g->h + 1) : 0;
}
static inline int programs_row_tokens(const struct programs_grid *g, int row)
{
    return g->lane_samples[row / g->h] * programs_tokens(g, row);
}
/** Number among all tokens (samples x T) of token slot @p i of row @p row. */
static inline int64_t programs_token_at(const struct programs_grid *g, int row, int i)
{
    const int tokens = programs_tokens(g, row);
    if (!tokens) return 0;
    return programs_sample_at(g, row / g->h, i / tokens) * g->T + (int64_t)(i % tokens) * g->h +
           programs_y(g, row);
}
/** First token slot on row @p row whose token is @p token or later. */
static inline int programs_slot_from(const struct programs_grid *g, int row, int token)
{
    const int y = programs_y(g, row);
    int first = token <= y ? 0 : (token - y + g->h - 1) / g->h;
    return first < programs_tokens(g, y) ? first : programs_tokens(g, y);
}
/** First query on row @p y that sees the key of token @p token. */
static inline int programs_first_query(const struct programs_grid *g, int y, int token)
{
    return g->both_ways ? 0 : programs_slot_from(g, y, token);
}
/** Bytes of a number. */
static inline int programs_bytes(bool half)
{
    return half ? 2 : 4;
}
/** The operation @p code (of 32-bit numbers) on 16-bit ones. */
enum mesh_code programs_code(bool half, enum mesh_code code);
/** @p value as an operand of an operation on 16-bit numbers, or on 32-bit ones. */
struct mesh_dsd programs_scalar(const struct programs_grid *g, bool half, float value);
/** @p value as a wavelet carries it. */
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
/** A tile of the grid's numbers. */
enum wsc_err programs_reserve_tile(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, const char *what);
/** A tile of the grid's numbers with @p columns columns, or a few more. */
enum wsc_err programs_reserve_wide(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, int columns,
                                   const char *what);
/** A tile of 32-bit numbers in any case. */
enum wsc_err programs_reserve_sums(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, const char *what);
/** The two operands of an operation are read at full rate when they start in different banks:
 *  tiles and vectors of features in one, what they are combined with in the other. */
enum programs_bank {
    PROGRAMS_BANK_TILES,
    PROGRAMS_BANK_TOKENS,
    PROGRAMS_BANK_SCORES = PROGRAMS_BANK_TOKENS
};
/** @p words words on every PE. */
enum wsc_err programs_reserve_words(struct programs_grid *g, int64_t words, enum programs_bank bank,
                                    const char *what, int *address);
/** Host (samples, T, n) row-major to the tile and back. */
enum wsc_err programs_tile_in(struct programs_grid *g, const struct programs_tile *t,
                              const float *host);
enum wsc_err programs_tile_out(struct programs_grid *g, const struct programs_tile *t, float *host);

/* ---- programs ---- */

/** Forget the program before; the tasks will read @p program.  The lanes that have more than
 *  @p first_sample samples run it. */
enum wsc_err programs_begin(struct programs_grid *g, void *program, int first_sample);
/** Feed @p n wavelets down column @p x of each of these lanes, over links of their own. */
enum wsc_err programs_feed(struct programs_grid *g, int x, int colour,
                           const struct mesh_wavelet *wavelet, int64_t n);
/** Run it, count its cycles, give back what it reserved. */
enum wsc_err programs_run(struct programs_grid *g);
/** Bind @p fn to a local task of all PEs and start it. */
enum wsc_err programs_main(struct programs_grid *g, mesh_task_fn fn);
/** @p rows rows of @p cols consecutive words, @p pitch words apart. */
static inline struct mesh_dsd programs_matrix(int address, int rows, int cols, int pitch)
{
    return (struct mesh_dsd){.kind = MESH_DSD_MEMORY,
                             .n_dims = 2,
                             .len = {(uint16_t)rows, (uint16_t)cols},
                             .stride = {(int16_t)pitch, 1},
                             .address = address};
}
#endif
