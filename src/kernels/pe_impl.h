/** Transformer kernels as programs of the mesh (<wsc/mesh.h>): what the files pe_*.c share.
 *
 *  Layout.  Features lie on x, tokens on y: PE (x, y) holds some features (its slots) of some
 *  tokens.  The tokens of a sequence are dealt to the rows in turn (token j to row j mod h), so
 *  that causal attention loads all rows alike; sequences follow each other.  A tile is such a
 *  matrix in 32-bit floats: `slots` rows of `pitch` tokens in the memory of each PE.
 *
 *  Three patterns carry all kernels.  *Contract* (pe_contract.c): scalars come down the columns,
 *  each one an AXPY over the PE's tokens; the sums of an item are added along the row and end at
 *  the column that owns the item (products, attention scores).  *Mix* (pe_mix.c): the same, with a
 *  vector per item that comes along the row, into one sum per slot (attention output).  *Outer*
 *  (pe_outer.c): scalars come along the rows, each one an AXPY over the PE's features; the sums of
 *  an item are added along the column and leave the wafer or end at their row (weight gradients,
 *  gradients of keys and values).  Everything else is a script of vector operations, row sums and
 *  vectors through the edge (pe_script.c).
 *
 *  Exactness.  What is computed for a sequence does not depend on which others lie on the wafer:
 *  vectors over tokens are elementwise, sums over features go along rows, sums over tokens are
 *  those of one leaf. */
#ifndef WSC_KERNELS_PE_IMPL_H
#define WSC_KERNELS_PE_IMPL_H
#include <wsc/kernels.h>
#include <wsc/mesh.h>

#include <stdbool.h>
#include <stdint.h>

/** Features of a tensor on the columns; with heads, a head has columns of its own or shares one. */
struct pe_features {
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
enum pe_pairing { PE_NO_PAIRS, PE_PAIRS_ADJACENT, PE_PAIRS_HALF };
enum wsc_err kernels_pe_features_init(struct pe_features *f, int n, int w);
/** @p heads heads of @p d features. */
enum wsc_err kernels_pe_features_init_heads(struct pe_features *f, int heads, int d, int w,
                                            enum pe_pairing pairing);
void kernels_pe_features_fini(struct pe_features *f);

/** A tile, or without features one vector per token (1 row). */
struct pe_tile {
    int address;
    const struct pe_features *f;
};

/** Weights as they lie on the host: element (out, in) at out * ld_out + in * ld_in. */
struct pe_weights {
    const float *at;
    int64_t ld_out, ld_in;
};

/** The fabric of one wafer and where tokens lie on it. */
struct pe_grid {
    struct mesh *m; /**< owned */
    int w, h;
    int64_t T;
    int n_samples;   /**< of the micro-batch at hand */
    int max_samples; /**< tiles have room for these */
    int tokens;      /**< between rows of scores: most tokens of a sequence on one PE, made even */
    int pitch;       /**< elements between slots */
    int exp_cycles, divide_cycles;
    int loop_cycles;                              /**< before each operation of a loop */
    int32_t *item, *sub, *sent, *scored, *passed; /**< owned, registers of each PE */
    int *key_row, *key_token; /**< owned, T: keys in the order in which they stream */
    int scratch;              /**< first address that programs may reserve and release */
    void *program;            /**< borrowed: what the tasks of the running program read */
    struct mesh_stats stats;  /**< of the last program */
    struct mesh_stats total;  /**< of all programs */
    int n_programs, longest;  /**< run so far; number of the one that took most cycles */
    int64_t longest_cycles;
    struct mesh_watch *watch; /**< borrowed; sees program number `watched` */
    int watched;
};
/** @param config  w, h, arch of the fabric */
enum wsc_err kernels_pe_grid_init(struct pe_grid *g, const struct mesh_config *config, int64_t T,
                                  int max_samples);
void kernels_pe_grid_fini(struct pe_grid *g);
static inline struct mesh_rect pe_all(const struct pe_grid *g)
{
    return (struct mesh_rect){0, 0, g->w, g->h};
}
static inline int pe_index(const struct pe_grid *g, const struct mesh_pe *pe)
{
    return mesh_y(pe) * g->w + mesh_x(pe);
}
static inline struct pe_grid *pe_grid_of(const struct mesh_pe *pe)
{
    return mesh_user(pe);
}
/** Tokens of one sequence on row @p y, and of @p samples sequences. */
static inline int pe_tokens(const struct pe_grid *g, int y)
{
    return y < g->T ? (int)((g->T - 1 - y) / g->h + 1) : 0;
}
static inline int pe_row_tokens(const struct pe_grid *g, int y)
{
    return g->n_samples * pe_tokens(g, y);
}
/** Number among all tokens (samples x T) of token slot @p i of row @p y. */
static inline int64_t pe_token_at(const struct pe_grid *g, int y, int i)
{
    const int tokens = pe_tokens(g, y);
    return tokens ? i / tokens * g->T + (int64_t)(i % tokens) * g->h + y : 0;
}
/** First token slot on row @p y whose token is @p token or later. */
static inline int pe_first_query(const struct pe_grid *g, int y, int token)
{
    int first = token <= y ? 0 : (token - y + g->h - 1) / g->h;
    return first < pe_tokens(g, y) ? first : pe_tokens(g, y);
}
static inline int pe_at(const struct pe_grid *g, const struct pe_tile *t, int slot, int token)
{
    return t->address + 4 * (slot * g->pitch + token);
}
enum wsc_err kernels_pe_reserve_tile(struct pe_grid *g, struct pe_tile *t,
                                     const struct pe_features *f, const char *what);
/** The two operands of an operation are read at full rate when they start in different banks:
 *  tiles and vectors of features in one, what they are combined with in the other. */
enum pe_bank { PE_BANK_TILES, PE_BANK_TOKENS, PE_BANK_SCORES = PE_BANK_TOKENS };
/** @p words words on every PE. */
enum wsc_err kernels_pe_reserve_words(struct pe_grid *g, int64_t words, enum pe_bank bank,
                                      const char *what, int *address);
/** Host (samples, T, n) row-major to the tile and back. */
enum wsc_err kernels_pe_tile_in(struct pe_grid *g, const struct pe_tile *t, const float *host);
enum wsc_err kernels_pe_tile_out(struct pe_grid *g, const struct pe_tile *t, float *host);

/* ---- programs ---- */

/** Forget the program before; its tasks will read @p program. */
enum wsc_err kernels_pe_begin(struct pe_grid *g, void *program);
/** Run it, count its cycles, give back what it reserved. */
enum wsc_err kernels_pe_run(struct pe_grid *g);
/** Bind @p fn to a local task of all PEs and start it. */
enum wsc_err kernels_pe_main(struct pe_grid *g, mesh_task_fn fn);

/* Local tasks; WSE-3 has local ids from 8 on. */
enum { PE_TASK_MAIN = 8, PE_TASK_NEXT, PE_TASK_SEND, PE_TASK_READY };
/* Colours of the patterns; each program uses some of them. */
enum {
    PE_COLOUR_SCALARS = 0,     /* down a column or along a row: what triggers AXPYs */
    PE_COLOUR_GATHER,          /* toward the start of a line */
    PE_COLOUR_VECTOR,          /* along a row: a vector per item */
    PE_COLOUR_COLLECT,         /* its gather */
    PE_COLOUR_SPREAD,          /* from the middle of a line to both sides */
    PE_COLOUR_CHAIN = 6,       /* four */
    PE_COLOUR_EDGE_CHAIN = 10, /* four */
    PE_COLOUR_WEST = 14
};
/* Input and output queues by use: the deep ones for what streams. */
enum {
    PE_IN_SCALARS = 0,
    PE_IN_GATHER = 1,
    PE_IN_FAR = 2,
    PE_IN_NEAR = 3,
    PE_IN_VECTOR = 4,
    PE_IN_COLLECT = 5,
    PE_IN_SPREAD = 6,
    PE_IN_EDGE = 7
};
enum {
    PE_OUT_SCALARS = 0,
    PE_OUT_VECTOR = 1,
    PE_OUT_START = 2,
    PE_OUT_AWAY = 3,
    PE_OUT_SPREAD = 4,
    PE_OUT_EDGE = 5
};
/* Microthreads. */
enum { PE_THREAD_SUM = 1, PE_THREAD_SEND, PE_THREAD_SEND_VECTOR, PE_THREAD_RECEIVE };

/** @p rows rows of @p cols consecutive words, @p pitch words apart. */
static inline struct mesh_dsd pe_matrix(int address, int rows, int cols, int pitch)
{
    return (struct mesh_dsd){.kind = MESH_DSD_MEMORY,
                             .n_dims = 2,
                             .len = {(uint16_t)rows, (uint16_t)cols},
                             .stride = {(int16_t)pitch, 1},
                             .address = address};
}

/** Neighbouring PEs: position p lies at (x, y) + p (dx, dy), to the east or to the south. */
struct pe_line {
    int x, y, dx, dy, n;
};
static inline struct pe_line pe_column(const struct pe_grid *g, int x)
{
    return (struct pe_line){x, 0, 0, 1, g->h};
}
static inline struct pe_line pe_row(int y, int x, int n)
{
    return (struct pe_line){x, y, 1, 0, n};
}
/** From the north edge down all columns to every PE. */
enum wsc_err kernels_pe_route_from_edge(struct pe_grid *g, int colour, int queue);
/** Own words of each position in order, collected at position 0 on @p gather and from there to all
 *  positions, itself included, on @p colour. */
struct pe_gather {
    int gather, colour;
    int in_gather, in, out;
};
enum wsc_err kernels_pe_route_gather(struct pe_grid *g, const struct pe_line *l,
                                     const struct pe_gather *c);
/** The sending half at one PE, for a task @p task that calls this until it has nothing to do: its
 *  own words; then position 0 passes on those of all others, and the others let those behind them
 *  pass.  Asynchronous throughout: who waits for a line would stop taking from it. */
struct pe_gather_send {
    const struct pe_gather *gather;
    int position, n, task;
    struct mesh_dsd own, others; /**< memory; how many words come from all others */
};
enum wsc_err kernels_pe_gather_step(struct mesh_pe *pe, const struct pe_gather_send *s);
/** Behind the own words of position @p position of @p n: those behind it may pass. */
enum wsc_err kernels_pe_gather_pass(struct mesh_pe *pe, const struct pe_gather *c, int position,
                                    int n, int thread);
/** Sending keys (rows of @p tile) of one sequence up and down the columns: token by token, all
 *  features of the column. */
enum wsc_err kernels_pe_send_keys(struct mesh_pe *pe, const struct pe_tile *tile, int sample);
/** Routes and task for it on the columns that hold features. */
enum wsc_err kernels_pe_route_keys(struct pe_grid *g, const struct pe_features *f,
                                   mesh_task_fn send, mesh_task_fn on_scalar);
/** Columns of head @p i on row @p y. */
static inline struct pe_line pe_head_line(const struct pe_features *f, int i, int y)
{
    return pe_row(y, i * f->group_cols, f->group_cols);
}
static inline int pe_n_head_lines(const struct pe_features *f)
{
    return (f->n / f->head_dim + f->heads_per_pe - 1) / f->heads_per_pe;
}

/** Sums along a line: each PE receives, adds its own and sends on.  Four colours: @p colour and
 *  the next toward the start by the parity of the sender's position, two more away from it. */
struct pe_chain {
    int colour;
    int in_far, in_near, out_start, out_away;
};
extern const struct pe_chain kernels_pe_chain,
    kernels_pe_edge_chain; /**< the second one toward the edge only */
/** Routes in both directions, or with @p to_edge toward the start and off the fabric there. */
enum wsc_err kernels_pe_route_chain(struct pe_grid *g, const struct pe_line *l,
                                    const struct pe_chain *c, bool to_edge);
/** The part of the PE at @p position of @p n in adding @p mine up (@p code: MESH_FADDS or
 *  MESH_FMAXS) to position @p root (-1: off the edge), which gets @p result. */
struct pe_sum {
    const struct pe_chain *chain;
    enum mesh_code code;
    int position, n, root, thread;
    struct mesh_dsd mine, result; /**< of the same length, or mine a number */
};
enum wsc_err kernels_pe_sum_part(struct mesh_pe *pe, const struct pe_sum *s);

/* pe_contract.c */
/** Y = X W' + Y0 for up to three matrices: either several outputs of one input (projections to q,
 *  k, v) or the sum over several inputs (their gradient).  @p transposed: W instead of W'. */
struct pe_product {
    int n_parts;
    bool sums; /**< the parts are inputs of one output */
    struct pe_tile in[3], out[3];
    struct pe_weights w[3];
};
enum wsc_err kernels_pe_run_product(struct pe_grid *g, const struct pe_product *p);
/** Scores of one sequence: for each key the products with the PE's queries at or after it.  A
 *  head's columns share the keys; see pe_key_owner. */
struct pe_scores {
    int sample;
    struct pe_tile queries, keys;
    int scores; /**< address: rows of g->tokens, key by key, heads of the PE side by side */
};
enum wsc_err kernels_pe_run_scores(struct pe_grid *g, const struct pe_scores *s);

/* pe_scores.c: scores of one sequence, kept key by key on the columns of their head.  A head's
 * columns share the keys: position p owns those with numbers from p per on, in the order in which
 * keys stream. */

/** Words of the scores on a PE. */
int64_t kernels_pe_score_words(const struct pe_grid *g, const struct pe_features *f);
/** Position that owns key number @p key, and the row of scores there (times heads_per_pe). */
int kernels_pe_key_owner(const struct pe_grid *g, const struct pe_features *f, int key, int *row);
/** Key number of row @p row at position @p position; at least T when there is none. */
int kernels_pe_key_of(const struct pe_grid *g, const struct pe_features *f, int position, int row);
/** Heads of which column @p x holds features. */
static inline int pe_heads_on(const struct pe_features *f, int x)
{
    return f->group_cols > 1 ? f->count[x] > 0 : f->count[x] / f->head_dim;
}
/** Queries on row @p y that see key number @p key. */
static inline int pe_queries(const struct pe_grid *g, int y, int key)
{
    return pe_tokens(g, y) - pe_first_query(g, y, g->key_token[key]);
}
/** Address of the first of them in row @p row of @p scores. */
static inline int pe_score_at(const struct pe_grid *g, int scores, int row, int y, int key)
{
    return scores + 4 * (row * g->tokens + pe_first_query(g, y, g->key_token[key]));
}
/** Sending scores along a head's columns: body of the task PE_TASK_NEXT. */
struct pe_score_rows {
    const struct pe_features *f;
    int scores; /**< address */
    const struct pe_gather *gather;
};
enum wsc_err kernels_pe_send_scores(struct mesh_pe *pe, const struct pe_score_rows *s);
/** Routes and task for it. */
enum wsc_err kernels_pe_route_scores(struct pe_grid *g, const struct pe_score_rows *s,
                                     mesh_task_fn send);

/* pe_mix.c */
/** out (queries) = sum over keys of scores (key, query) rows (key), one sequence. */
struct pe_mix {
    int sample, scores;
    struct pe_tile rows, out;
};
enum wsc_err kernels_pe_run_mix(struct pe_grid *g, const struct pe_mix *m);

/* pe_ring.c: words that positions of a row give to all of it, in turns.  Words come in blocks and
 * within a block in rounds: in each round every position of the block sends its words, from west
 * to east.  Positions are collected in groups at the group's first one (a switch that turns to
 * those behind and back), the groups in the same way at position 0, which passes all on. */

/** Positions first .. end - 1; or words slot .. slot + words - 1 of one position, with @c part. */
struct pe_ring_block {
    int first, end, slot;
    int words;       /**< of a round */
    bool part, last; /**< last: of the words of its position */
};
struct pe_ring {
    int n;            /**< positions */
    const int *count; /**< words of each position in all blocks; borrowed */
    int n_blocks, most;
    struct pe_ring_block *block; /**< owned */
};
/** Blocks of at most @p most words. */
enum wsc_err kernels_pe_ring_init(struct pe_ring *r, int n, const int *count, int most);
void kernels_pe_ring_fini(struct pe_ring *r);
/** Routes on a row, and the task that sends. */
enum wsc_err kernels_pe_ring_route(struct pe_grid *g, const struct pe_line *l, mesh_task_fn send);
/** What a PE sends: word @p slot of round i lies at address + 4 (slot stride + i). */
struct pe_ring_send {
    const struct pe_ring *ring;
    int rounds, address, stride;
};
/** Body of the task.  A round begins when the one before has come back (kernels_pe_ring_passed):
 *  what turns a switch is then gone, and nothing overtakes it. */
enum wsc_err kernels_pe_ring_step(struct mesh_pe *pe, const struct pe_ring_send *s, int position);
/** The PE has got all words of a round. */
enum wsc_err kernels_pe_ring_passed(struct mesh_pe *pe);

/* pe_outer.c */
/** dW (out, in) = dY' X over the tokens of samples first .. first + n - 1, to @p host. */
struct pe_weight_gradient {
    int first_sample, n_samples;
    struct pe_tile dy, x;
    bool by_columns; /**< X goes along the rows, and dW is built column by column */
    int64_t room;    /**< words of a PE for sums and for what is on its way */
    float *host;
    int64_t ld;          /**< elements between rows of the host's matrix */
    int64_t first_cycle; /**< result: the first word leaves */
};
enum wsc_err kernels_pe_run_weight_gradient(struct pe_grid *g, struct pe_weight_gradient *w);
/** out (keys) = sum over queries of scores (key, query) rows (query), one sequence; scores of
 *  queries before their key are 0. */
struct pe_key_gradient {
    int sample, scores;
    struct pe_tile rows, out;
    int64_t room;
};
enum wsc_err kernels_pe_run_key_gradient(struct pe_grid *g, const struct pe_key_gradient *k);

/* pe_script.c: the same list of steps on every PE, one after the other */

enum pe_view_kind {
    PE_VIEW_NONE,
    PE_VIEW_TILE,        /**< features x tokens */
    PE_VIEW_TOKENS,      /**< a value per token, the same for all features; as a result: summed */
    PE_VIEW_FEATURES,    /**< a value per feature, the same for all tokens; as a result: summed */
    PE_VIEW_SCORES,      /**< SHAPE_SCORES: the row at hand */
    PE_VIEW_HEAD_TOKENS, /**< a value per head of the PE and token of the sequence */
    PE_VIEW_NUMBER
};
/** An operand as a step sees it. */
struct pe_view {
    enum pe_view_kind kind;
    int address;
    int row0, row_step; /**< tiles: slots row0 + i row_step; row_step 0 means 1 */
    float number;
};
enum pe_shape {
    PE_SHAPE_TILE,        /**< the slots of script.features x tokens of the samples */
    PE_SHAPE_PAIRS,       /**< half of the slots */
    PE_SHAPE_TOKENS,      /**< one row of tokens */
    PE_SHAPE_FEATURES,    /**< one value per slot */
    PE_SHAPE_SCORES,      /**< each of the PE's rows of scores, from its first query on */
    PE_SHAPE_HEAD_TOKENS, /**< heads of the PE x tokens of the sequence */
    PE_SHAPE_WORDS        /**< as many words as the step says */
};
struct pe_script;
struct pe_step {
    enum pe_shape shape;
    enum mesh_code code; /**< MESH_MAP with map */
    struct pe_view dst, a, b;
    mesh_map_fn map;
    int map_cycles;
    /** Instead of an operation: row sums, what crosses the edge, scalar code. */
    enum wsc_err (*call)(struct mesh_pe *pe, const struct pe_script *s, const struct pe_step *step);
    int n; /**< of call: vectors; SHAPE_WORDS: words */
};
/** One value per feature that comes from or goes to the host. */
struct pe_vector {
    const struct pe_features *f;
    int address;
    const float *in;
    float *out;
};
enum { PE_MAX_STEPS = 40, PE_MAX_VECTORS = 8 };
struct pe_script {
    const struct pe_features *features; /**< of tiles; may be NULL */
    const struct pe_features *heads;    /**< row sums stay within a head's columns */
    int first_sample, n_samples;        /**< tokens of TILE and TOKENS; SCORES: one sample */
    int n_steps, n_in, n_out;
    struct pe_step step[PE_MAX_STEPS];
    struct pe_vector in[PE_MAX_VECTORS], out[PE_MAX_VECTORS];
    const void *data;         /**< borrowed, for calls */
    int row_words;            /**< vectors of tokens that kernels_pe_row_out sends */
    struct mesh_output *edge; /**< owned: of columns, then of rows */
    struct mesh_wavelet *source;
    uint32_t *words;
};
enum wsc_err kernels_pe_run_script(struct pe_grid *g, struct pe_script *s);
/** Word @p i of those (row_words x tokens) that left at the west edge of row @p y. */
float kernels_pe_row_word(const struct pe_grid *g, const struct pe_script *s, int y, int i);
void kernels_pe_script_fini(struct pe_script *s);

static inline struct pe_view pe_tile_view(const struct pe_tile *t)
{
    return (struct pe_view){.kind = PE_VIEW_TILE, .address = t->address};
}
static inline struct pe_view pe_view(enum pe_view_kind kind, int address)
{
    return (struct pe_view){.kind = kind, .address = address};
}
static inline struct pe_view pe_number(float number)
{
    return (struct pe_view){.kind = PE_VIEW_NUMBER, .number = number};
}
/* Appending steps; a script that is too long is an error of the program, checked. */
void kernels_pe_op(struct pe_script *s, enum pe_shape shape, enum mesh_code code,
                   struct pe_view dst, struct pe_view a, struct pe_view b);
struct pe_map {
    mesh_map_fn fn;
    int cycles;
};
void kernels_pe_map(struct pe_script *s, enum pe_shape shape, struct pe_map map, struct pe_view dst,
                    struct pe_view a, struct pe_view b);
/** Sum (or MESH_FMAXS) of @p n vectors of tokens over the row, to all its PEs. */
void kernels_pe_row_sum(struct pe_script *s, enum mesh_code code, struct pe_view tokens, int n);
/** The vectors of the script come in, go out. */
void kernels_pe_vectors_in(struct pe_script *s);
void kernels_pe_vectors_out(struct pe_script *s);
/** @p n vectors of tokens leave at the west edge. */
void kernels_pe_row_out(struct pe_script *s, struct pe_view tokens, int n);
void kernels_pe_call(struct pe_script *s,
                     enum wsc_err (*call)(struct mesh_pe *pe, const struct pe_script *s,
                                          const struct pe_step *step));
#endif
