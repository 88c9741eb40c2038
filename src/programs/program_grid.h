/** Where tokens and features lie on the fabric, and the patterns of which programs are made.
 *
 *  Features lie on x, tokens on y: PE (x, y) holds some features (its slots) of some tokens.  The
 *  tokens of a sequence are distributed round-robin (token j to row j mod h), so that causal
 *  attention loads all rows alike; sequences follow each other.  A tile is such a matrix in 32-bit
 *  floats: `slots` rows of `pitch` tokens in the memory of each PE.  docs/MESH.md describes the
 *  patterns: contract (program_product.c), mix (program_attention_out.c), outer
 *  (program_weight_grad.c), and scripts for everything else (program_vector_ops.c).  What is
 *  computed for a sequence does not depend on which others lie on the wafer. */
#ifndef WSC_PROGRAMS_IMPL_H
#define WSC_PROGRAMS_IMPL_H
#include <wsc/mesh.h>
#include <wsc/programs.h>

#include <stdbool.h>
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
void programs_features_fini(struct programs_features *f);

/** A tile, or without features one vector per token (1 row). */
struct programs_tile {
    int address;
    const struct programs_features *f;
    bool half; /**< of 16-bit numbers */
};

/** Weights as they lie on the host: element (out, in) at out * ld_out + in * ld_in. */
struct programs_weights {
    const float *at;
    int64_t ld_out, ld_in;
};

/** The fabric of one wafer and where tokens lie on it. */
struct programs_grid {
    struct mesh *m; /**< owned */
    int w, h;
    int64_t T;
    int n_samples;   /**< of the micro-batch at hand */
    int max_samples; /**< tiles have room for these */
    int tokens;      /**< between rows of scores: most tokens of a sequence on one PE, made even */
    int pitch;       /**< elements between slots */
    bool half;       /**< tiles are of 16-bit numbers, sums over them of 32 bits */
    enum mesh_half format; /**< which 16-bit numbers */
    int exp_cycles, divide_cycles;
    int loop_cycles;                              /**< before each operation of a loop */
    int32_t *item, *sub, *sent, *scored, *passed; /**< owned, registers of each PE */
    int *key_row, *key_token; /**< owned, T: keys in the order in which they stream */
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
    struct mesh_config mesh; /**< w, h, arch, half, threads */
    int64_t T;               /**< tokens of a sequence */
    int max_samples;
    bool half; /**< tiles of 16-bit numbers, which mesh.half names */
};
enum wsc_err programs_grid_init(struct programs_grid *g, const struct programs_grid_config *config);
void programs_grid_fini(struct programs_grid *g);
/** Choose the order in which keys stream for heads laid out as @p f: row by row, and within a row
 *  in so many turns over its tokens that each column of a head keeps scores of early and of late
 *  keys alike, which causality makes unequally long.  Before the first program of attention. */
void programs_order_keys(struct programs_grid *g, const struct programs_features *f);
static inline struct mesh_rect programs_all(const struct programs_grid *g)
{
    return (struct mesh_rect){0, 0, g->w, g->h};
}
static inline int programs_index(const struct programs_grid *g, const struct mesh_pe *pe)
{
    return mesh_y(pe) * g->w + mesh_x(pe);
}
static inline struct programs_grid *programs_grid_of(const struct mesh_pe *pe)
{
    return mesh_user(pe);
}
/** Tokens of one sequence on row @p y, and of @p samples sequences. */
static inline int programs_tokens(const struct programs_grid *g, int y)
{
    return y < g->T ? (int)((g->T - 1 - y) / g->h + 1) : 0;
}
static inline int programs_row_tokens(const struct programs_grid *g, int y)
{
    return g->n_samples * programs_tokens(g, y);
}
/** Number among all tokens (samples x T) of token slot @p i of row @p y. */
static inline int64_t programs_token_at(const struct programs_grid *g, int y, int i)
{
    const int tokens = programs_tokens(g, y);
    return tokens ? i / tokens * g->T + (int64_t)(i % tokens) * g->h + y : 0;
}
/** First token slot on row @p y whose token is @p token or later. */
static inline int programs_first_query(const struct programs_grid *g, int y, int token)
{
    int first = token <= y ? 0 : (token - y + g->h - 1) / g->h;
    return first < programs_tokens(g, y) ? first : programs_tokens(g, y);
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
static inline int programs_at(const struct programs_grid *g, const struct programs_tile *t,
                              int slot, int token)
{
    return t->address + programs_bytes(t->half) * (slot * g->pitch + token);
}
/** A tile of the grid's numbers. */
enum wsc_err programs_reserve_tile(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, const char *what);
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

/** Forget the program before; its tasks will read @p program. */
enum wsc_err programs_begin(struct programs_grid *g, void *program);
/** Run it, count its cycles, give back what it reserved. */
enum wsc_err programs_run(struct programs_grid *g);
/** Bind @p fn to a local task of all PEs and start it. */
enum wsc_err programs_main(struct programs_grid *g, mesh_task_fn fn);

/* Local tasks; WSE-3 has local ids from 8 on. */
enum { PROGRAMS_TASK_MAIN = 8, PROGRAMS_TASK_NEXT, PROGRAMS_TASK_SEND, PROGRAMS_TASK_READY };
/* Colours of the patterns; each program uses some of them. */
enum {
    PROGRAMS_COLOUR_SCALARS = 0,     /* down a column or along a row: what triggers AXPYs */
    PROGRAMS_COLOUR_GATHER,          /* toward the start of a line */
    PROGRAMS_COLOUR_VECTOR,          /* along a row: a vector per item */
    PROGRAMS_COLOUR_COLLECT,         /* its gather */
    PROGRAMS_COLOUR_SPREAD,          /* from the middle of a line to both sides */
    PROGRAMS_COLOUR_CHAIN = 6,       /* four */
    PROGRAMS_COLOUR_EDGE_CHAIN = 10, /* four */
    PROGRAMS_COLOUR_WEST = 14
};
/* Input and output queues by use: the deep ones for what streams. */
enum {
    PROGRAMS_IN_SCALARS = 0,
    PROGRAMS_IN_GATHER = 1,
    PROGRAMS_IN_FAR = 2,
    PROGRAMS_IN_NEAR = 3,
    PROGRAMS_IN_VECTOR = 4,
    PROGRAMS_IN_COLLECT = 5,
    PROGRAMS_IN_SPREAD = 6,
    PROGRAMS_IN_EDGE = 7
};
enum {
    PROGRAMS_OUT_SCALARS = 0,
    PROGRAMS_OUT_VECTOR = 1,
    PROGRAMS_OUT_START = 2,
    PROGRAMS_OUT_AWAY = 3,
    PROGRAMS_OUT_SPREAD = 4,
    PROGRAMS_OUT_EDGE = 5
};
/* Microthreads. */
enum {
    PROGRAMS_THREAD_SUM = 1,
    PROGRAMS_THREAD_SEND,
    PROGRAMS_THREAD_SEND_VECTOR,
    PROGRAMS_THREAD_RECEIVE
};

/** @p rows rows of @p cols consecutive words, @p pitch words apart. */
static inline struct mesh_dsd programs_matrix(int address, int rows, int cols, int pitch)
{
    return (struct mesh_dsd){.kind = MESH_DSD_MEMORY,
                             .n_dims = 2,
                             .len = {(uint16_t)rows, (uint16_t)cols},
                             .stride = {(int16_t)pitch, 1},
                             .address = address};
}

/** Neighbouring PEs: position p lies at (x, y) + p (dx, dy), to the east or to the south. */
struct programs_line {
    int x, y, dx, dy, n;
};
static inline struct programs_line programs_column(const struct programs_grid *g, int x)
{
    return (struct programs_line){x, 0, 0, 1, g->h};
}
static inline struct programs_line programs_row(int y, int x, int n)
{
    return (struct programs_line){x, y, 1, 0, n};
}
/** From the north edge down all columns to every PE. */
enum wsc_err programs_route_from_edge(struct programs_grid *g, int colour, int queue);
/** Own words of each position in order, collected at position 0 on @p gather and from there to all
 *  positions, itself included, on @p colour. */
struct programs_gather {
    int gather, colour;
    int in_gather, in, out;
};
enum wsc_err programs_route_gather(struct programs_grid *g, const struct programs_line *l,
                                   const struct programs_gather *c);
/** After the own words of position @p position of @p n: the positions after it may pass. */
enum wsc_err programs_gather_pass(struct mesh_pe *pe, const struct programs_gather *c, int position,
                                  int n, int thread);
/** Sending keys (rows of @p tile) of one sequence up and down the columns: token by token, all
 *  features of the column. */
enum wsc_err programs_send_keys(struct mesh_pe *pe, const struct programs_tile *tile, int sample);
/** Routes and task for it on the columns that hold features. */
enum wsc_err programs_route_keys(struct programs_grid *g, const struct programs_features *f,
                                 mesh_task_fn send, mesh_task_fn on_scalar);
/** Columns of head @p i on row @p y. */
static inline struct programs_line programs_head_line(const struct programs_features *f, int i,
                                                      int y)
{
    return programs_row(y, i * f->group_cols, f->group_cols);
}
static inline int programs_n_head_lines(const struct programs_features *f)
{
    return (f->n / f->head_dim + f->heads_per_pe - 1) / f->heads_per_pe;
}

/** Sums along a line: each PE receives, adds its own and sends on.  Four colours: @p colour and
 *  the next toward the start by the parity of the sender's position, two more away from it. */
struct programs_chain {
    int colour;
    int in_far, in_near, out_start, out_away;
};
extern const struct programs_chain programs_line_chain,
    programs_edge_chain; /**< the second one toward the edge only */
/** Routes in both directions, or with @p to_edge toward the start and off the fabric there. */
enum wsc_err programs_route_chain(struct programs_grid *g, const struct programs_line *l,
                                  const struct programs_chain *c, bool to_edge);
/** The part of the PE at @p position of @p n in adding @p mine up (@p code: MESH_FADDS or
 *  MESH_FMAXS) to position @p root (-1: off the edge), which gets @p result. */
struct programs_sum {
    const struct programs_chain *chain;
    enum mesh_code code;
    int position, n, root, thread;
    struct mesh_dsd mine, result; /**< of the same length, or mine a number */
    struct mesh_dsd wide; /**< where sums form whose result is 16-bit; otherwise of no kind */
    bool mine_half;       /**< mine is of 16-bit numbers */
};
enum wsc_err programs_sum_part(struct mesh_pe *pe, const struct programs_sum *s);

/* program_product.c */
/** Y = X W' + Y0 for up to three matrices: either several outputs of one input (projections to q,
 *  k, v) or the sum over several inputs (their gradient).  @p transposed: W instead of W'. */
struct programs_product {
    int n_parts;
    bool sums; /**< the parts are inputs of one output */
    struct programs_tile in[3], out[3];
    struct programs_weights w[3];
};
enum wsc_err programs_run_product(struct programs_grid *g, const struct programs_product *p);
/** Scores of one sequence: for each key the products with the PE's queries at or after it.  A
 *  head's columns share the keys; see pe_key_owner. */
struct programs_scores {
    int sample;
    struct programs_tile queries, keys;
    int scores; /**< address: rows of g->tokens, key by key, heads of the PE side by side */
};
enum wsc_err programs_run_scores(struct programs_grid *g, const struct programs_scores *s);

/* programs_scores.c: scores of one sequence, kept key by key on the columns of their head.  A
 * head's columns share the keys: position p owns those with numbers from p per on, in the order in
 * which keys stream. */

/** Words of the scores on a PE. */
int64_t programs_score_words(const struct programs_grid *g, const struct programs_features *f);
/** Position that owns key number @p key, and the row of scores there (times heads_per_pe). */
int programs_key_owner(const struct programs_grid *g, const struct programs_features *f, int key,
                       int *row);
/** Key number of row @p row at position @p position; at least T when there is none. */
int programs_key_of(const struct programs_grid *g, const struct programs_features *f, int position,
                    int row);
/** Heads of which column @p x holds features. */
static inline int programs_heads_on(const struct programs_features *f, int x)
{
    return f->group_cols > 1 ? f->count[x] > 0 : f->count[x] / f->head_dim;
}
/** Queries on row @p y that see key number @p key. */
static inline int programs_queries(const struct programs_grid *g, int y, int key)
{
    return programs_tokens(g, y) - programs_first_query(g, y, g->key_token[key]);
}
/** Address of the first of them in row @p row of @p scores. */
static inline int programs_score_at(const struct programs_grid *g, int scores, int row, int y,
                                    int key)
{
    return scores + 4 * (row * g->tokens + programs_first_query(g, y, g->key_token[key]));
}
/** Sending scores along a head's columns: body of the task PROGRAMS_TASK_NEXT. */
struct programs_score_rows {
    const struct programs_features *f;
    int scores; /**< address */
    const struct programs_gather *gather;
    bool half; /**< they are sent as 16-bit numbers */
};
enum wsc_err programs_send_scores(struct mesh_pe *pe, const struct programs_score_rows *s);
/** Routes and task for it. */
enum wsc_err programs_route_scores(struct programs_grid *g, const struct programs_score_rows *s,
                                   mesh_task_fn send);

/* programs_mix.c */
/** out (queries) = sum over keys of scores (key, query) rows (key), one sequence. */
struct programs_mix {
    int sample, scores;
    struct programs_tile rows, out;
};
enum wsc_err programs_run_mix(struct programs_grid *g, const struct programs_mix *m);

/* programs_ring.c: words that positions of a row give to all of it, in turns.  Words come in blocks
 * and within a block in rounds: in each round every position of the block sends its words, from
 * west to east.  Positions are collected in groups at the group's first one (a switch that turns to
 * those after it and back), the groups in the same way at position 0, which passes all on. */

/** Positions first .. end - 1; or words slot .. slot + words - 1 of one position, with @c part. */
struct programs_ring_block {
    int first, end, slot;
    int before;      /**< words of the positions before the first one */
    int words;       /**< of a round */
    bool part, last; /**< last: of the words of its position */
};
struct programs_ring {
    int n;            /**< positions */
    const int *count; /**< words of each position in all blocks; borrowed */
    int n_blocks, most;
    struct programs_ring_block *block; /**< owned */
};
/** Blocks of at most @p most words. */
enum wsc_err programs_ring_init(struct programs_ring *r, int n, const int *count, int most);
void programs_ring_fini(struct programs_ring *r);
/** Routes on a row, and the task that sends. */
enum wsc_err programs_ring_route(struct programs_grid *g, const struct programs_line *l,
                                 mesh_task_fn send);
/** What a PE sends: word @p slot of round i lies at address + 4 (slot stride + i). */
struct programs_ring_send {
    const struct programs_ring *ring;
    int rounds, address, stride;
    bool half;   /**< words are 16-bit numbers ... */
    bool narrow; /**< ... which lie in memory as 32-bit ones */
};
/** Body of the task.  A round begins when the one before has come back (programs_ring_passed):
 *  what turns a switch is then gone, and nothing overtakes it. */
enum wsc_err programs_ring_step(struct mesh_pe *pe, const struct programs_ring_send *s,
                                int position);
/** The PE has got all words of a round. */
enum wsc_err programs_ring_passed(struct mesh_pe *pe);

/* program_weight_grad.c */
/** dW (out, in) = dY' X over the tokens of samples first .. first + n - 1, to @p host. */
struct programs_weight_gradient {
    int first_sample, n_samples;
    struct programs_tile dy, x;
    bool by_columns; /**< X goes along the rows, and dW is built column by column */
    int64_t room;    /**< words of a PE for sums and for what is on its way */
    float *host;
    int64_t ld;          /**< elements between rows of the host's matrix */
    int64_t first_cycle; /**< result: the first word leaves */
};
enum wsc_err programs_run_weight_gradient(struct programs_grid *g,
                                          struct programs_weight_gradient *w);
/** out (keys) = sum over queries of scores (key, query) rows (query), one sequence; scores of
 *  queries before their key are 0. */
struct programs_key_gradient {
    int sample, scores;
    struct programs_tile rows, out;
    int64_t room;
};
enum wsc_err programs_run_key_gradient(struct programs_grid *g,
                                       const struct programs_key_gradient *k);

/* programs_script.c: the same list of steps on every PE, one after the other */

enum programs_view_kind {
    PROGRAMS_VIEW_NONE,
    PROGRAMS_VIEW_TILE,   /**< features x tokens */
    PROGRAMS_VIEW_TOKENS, /**< a value per token, the same for all features; as a result: summed */
    PROGRAMS_VIEW_FEATURES, /**< a value per feature, the same for all tokens; as a result: summed
                             */
    PROGRAMS_VIEW_SCORES,   /**< SHAPE_SCORES: the row at hand */
    PROGRAMS_VIEW_HEAD_TOKENS, /**< a value per head of the PE and token of the sequence */
    PROGRAMS_VIEW_NUMBER
};
/** An operand as a step sees it. */
struct programs_view {
    enum programs_view_kind kind;
    int address;
    int row0, row_step; /**< tiles: slots row0 + i row_step; row_step 0 means 1 */
    float number;
    bool half; /**< TILE, TOKENS: 16-bit numbers; FEATURES are read as the result has them */
};
enum programs_shape {
    PROGRAMS_SHAPE_TILE,        /**< the slots of script.features x tokens of the samples */
    PROGRAMS_SHAPE_PAIRS,       /**< half of the slots */
    PROGRAMS_SHAPE_TOKENS,      /**< one row of tokens */
    PROGRAMS_SHAPE_FEATURES,    /**< one value per slot */
    PROGRAMS_SHAPE_SCORES,      /**< each of the PE's rows of scores, from its first query on */
    PROGRAMS_SHAPE_HEAD_TOKENS, /**< heads of the PE x tokens of the sequence */
    PROGRAMS_SHAPE_WORDS        /**< as many words as the step says */
};
struct programs_script;
struct programs_step {
    enum programs_shape shape;
    enum mesh_code code; /**< MESH_MAP with map */
    struct programs_view dst, a, b;
    mesh_map_fn map;
    int map_cycles;
    /** Instead of an operation: row sums, what crosses the edge, scalar code. */
    enum wsc_err (*call)(struct mesh_pe *pe, const struct programs_script *s,
                         const struct programs_step *step);
    int n; /**< of call: vectors; SHAPE_WORDS: words */
};
/** One value per feature that comes from or goes to the host. */
struct programs_vector {
    const struct programs_features *f;
    int address;
    const float *in; /**< come as 16-bit numbers with @c half */
    float *out;
    bool half;
};
enum { PROGRAMS_MAX_STEPS = 40, PROGRAMS_MAX_VECTORS = 8 };
struct programs_script {
    const struct programs_features *features; /**< of tiles; may be NULL */
    const struct programs_features *heads;    /**< row sums stay within a head's columns */
    int first_sample, n_samples;              /**< tokens of TILE and TOKENS; SCORES: one sample */
    int n_steps, n_in, n_out;
    struct programs_step step[PROGRAMS_MAX_STEPS];
    struct programs_vector in[PROGRAMS_MAX_VECTORS], out[PROGRAMS_MAX_VECTORS];
    const void *data;         /**< borrowed, for calls */
    int row_words;            /**< vectors of tokens that programs_row_out sends */
    struct mesh_output *edge; /**< owned: of columns, then of rows */
    struct mesh_wavelet *source;
    uint32_t *words;
};
enum wsc_err programs_run_script(struct programs_grid *g, struct programs_script *s);
/** Word @p i of those (row_words x tokens) that left at the west edge of row @p y. */
float programs_row_word(const struct programs_grid *g, const struct programs_script *s, int y,
                        int i);
void programs_script_fini(struct programs_script *s);

static inline struct programs_view programs_tile_view(const struct programs_tile *t)
{
    return (struct programs_view){
        .kind = PROGRAMS_VIEW_TILE, .address = t->address, .half = t->half};
}
static inline struct programs_view programs_view(enum programs_view_kind kind, int address)
{
    return (struct programs_view){.kind = kind, .address = address};
}
static inline struct programs_view programs_number(float number)
{
    return (struct programs_view){.kind = PROGRAMS_VIEW_NUMBER, .number = number};
}
/* Appending steps; a script that is too long is an error of the program, checked. */
void programs_op(struct programs_script *s, enum programs_shape shape, enum mesh_code code,
                 struct programs_view dst, struct programs_view a, struct programs_view b);
/** Values of tokens from here on in the format of tiles, in place; @return how they are seen. */
struct programs_view programs_narrow(const struct programs_grid *g, struct programs_script *s,
                                     struct programs_view tokens);
/** How they are seen after programs_narrow(). */
static inline struct programs_view programs_narrowed(const struct programs_grid *g,
                                                     struct programs_view tokens)
{
    tokens.half = g->half;
    return tokens;
}
struct programs_map {
    mesh_map_fn fn;
    int cycles;
};
void programs_map(struct programs_script *s, enum programs_shape shape, struct programs_map map,
                  struct programs_view dst, struct programs_view a, struct programs_view b);
/** Sum (or MESH_FMAXS) of @p n vectors of tokens over the row, to all its PEs. */
void programs_row_sum(struct programs_script *s, enum mesh_code code, struct programs_view tokens,
                      int n);
/** The vectors of the script come in, go out. */
void programs_vectors_in(struct programs_script *s);
void programs_vectors_out(struct programs_script *s);
/** @p n vectors of tokens leave at the west edge. */
void programs_row_out(struct programs_script *s, struct programs_view tokens, int n);
void programs_call(struct programs_script *s,
                   enum wsc_err (*call)(struct mesh_pe *pe, const struct programs_script *s,
                                        const struct programs_step *step));
#endif
