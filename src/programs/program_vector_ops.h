/** Scripts: one list of steps (vector operations, row sums, words over the edges) that every PE
 * runs from the first to the last. */
#ifndef WSC_PROGRAMS_VECTOR_OPS_H
#define WSC_PROGRAMS_VECTOR_OPS_H
#include "program_grid.h"

#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdint.h>

enum programs_view_kind {
    PROGRAMS_VIEW_NONE,
    PROGRAMS_VIEW_TILE,   /**< features x tokens */
    PROGRAMS_VIEW_TOKENS, /**< a value per token, the same for all features; as a result: summed */
    PROGRAMS_VIEW_FEATURES, /**< a value per feature, the same for all tokens and, by heads, for all
                               heads of the PE; as a result: summed */
    PROGRAMS_VIEW_SCORES,   /**< SHAPE_SCORES: the current row */
    PROGRAMS_VIEW_HEAD_TOKENS, /**< a value per head of the PE and token of the sequence */
    PROGRAMS_VIEW_HEADS,       /**< a value per head of the PE, pitch words apart, and token of the
                                  samples; as a result: summed over the head's features */
    PROGRAMS_VIEW_SAMPLES, /**< a value per slot and sample, room for max_samples of each slot; as a
                              result: summed over the PE's tokens of the sample */
    PROGRAMS_VIEW_NUMBER,
    PROGRAMS_VIEW_SLOPE,     /**< SHAPE_SCORES: slope of the row's head times position of its key */
    PROGRAMS_VIEW_OF_ROWS,   /**< SHAPE_SCORES: a word for each row; as a result: summed */
    PROGRAMS_VIEW_DISTANCES, /**< SHAPE_SCORES: a word for each head of the PE and distance */
};
/** An operand of a step. */
struct programs_view {
    enum programs_view_kind kind;
    int address;
    int row0, row_step; /**< tiles: slots row0 + i row_step; row_step 0 means 1 */
    float number;
    bool half; /**< TILE, TOKENS: 16-bit numbers; FEATURES have the format of the result */
    int pitch; /**< TILE: elements between slots; 0: the grid's */
};
enum programs_shape {
    PROGRAMS_SHAPE_TILE,     /**< the slots of script.features x tokens of the samples */
    PROGRAMS_SHAPE_PAIRS,    /**< half of the slots */
    PROGRAMS_SHAPE_HEADS,    /**< heads of the PE x slots of a head x tokens of the samples */
    PROGRAMS_SHAPE_SAMPLES,  /**< slots x samples x tokens of each, all samples of the lane */
    PROGRAMS_SHAPE_TOKENS,   /**< one row of tokens */
    PROGRAMS_SHAPE_OF_HEADS, /**< a row of tokens for each head of the PE */
    PROGRAMS_SHAPE_FEATURES, /**< one value per slot */
    PROGRAMS_SHAPE_SCORES,   /**< each of the PE's rows of scores, from its first query on */
    /** Queries of each row of scores that do not attend to its key: those after the ones that do,
     *  those before. */
    PROGRAMS_SHAPE_HIDDEN,
    PROGRAMS_SHAPE_HIDDEN_BEFORE,
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
    /** Called instead of an operation: row sums, words over the edge, scalar code. */
    enum wsc_err (*call)(struct mesh_pe *pe, const struct programs_script *s,
                         const struct programs_step *step);
    int n;          /**< vectors of a call; words of SHAPE_WORDS */
    bool by_tokens; /**< call once for each token of the PE's row */
    int repeats;    /**< call that many times; 0: once */
};
/** A vector of one value per feature that is loaded from or sent to the host. */
struct programs_vector {
    const struct programs_features *f;
    int address;
    const float *in; /**< of the first lane; come as 16-bit numbers with @c half */
    float *out;      /**< of the first lane */
    bool half;
    int64_t lane_step; /**< from the values of a lane to those of the next one */
};
enum { PROGRAMS_MAX_STEPS = 40, PROGRAMS_MAX_VECTORS = 8 };
struct programs_script {
    const struct programs_features *features; /**< of tiles; may be NULL */
    const struct programs_features *heads;    /**< row sums stay within a head's columns */
    int first_sample, n_samples;      /**< of each lane: TILE and TOKENS; SCORES: one sample */
    const struct programs_span *span; /**< borrowed: columns of TILE, TOKENS instead; or NULL */
    int n_steps, n_in, n_out;
    struct programs_step step[PROGRAMS_MAX_STEPS];
    struct programs_vector in[PROGRAMS_MAX_VECTORS], out[PROGRAMS_MAX_VECTORS];
    const void *data;                       /**< borrowed, for calls */
    const struct programs_shaping *shaping; /**< borrowed: of scores; may be NULL */
    int row_words;                          /**< vectors that programs_row_out() sends */
    struct mesh_output *edge; /**< owned: edges of columns, then of rows in the west */
    struct mesh_wavelet *source;
    uint32_t *words;
};
enum wsc_err programs_run_script(struct programs_grid *g, struct programs_script *s);
/** Word @p i of the words (row_words x tokens) of row number @p row at the west edge. */
float programs_row_word(const struct programs_grid *g, const struct programs_script *s, int row,
                        int i);
void programs_script_fini(struct programs_script *s);

static inline struct programs_view programs_tile_view(const struct programs_tile *t)
{
    return (struct programs_view){
        .kind = PROGRAMS_VIEW_TILE, .address = t->address, .half = t->half, .pitch = t->pitch};
}
static inline struct programs_view programs_view(enum programs_view_kind kind, int address)
{
    return (struct programs_view){.kind = kind, .address = address};
}
static inline struct programs_view programs_number(float number)
{
    return (struct programs_view){.kind = PROGRAMS_VIEW_NUMBER, .number = number};
}
/* Append an operation as a step; a script that is too long violates a WSC_CHECK. */
void programs_op(struct programs_script *s, enum programs_shape shape, enum mesh_code code,
                 struct programs_view dst, struct programs_view a, struct programs_view b);
/** Append the conversion of vectors of tokens, or of tokens by heads, to the format of tiles, in
 *  place; returns the converted view. */
struct programs_view programs_narrow(const struct programs_grid *g, struct programs_script *s,
                                     struct programs_view tokens);
/** The view of vectors that programs_narrow() has converted. */
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
/** Append steps: @p values become cap tanh(values); the caller has already divided by the cap. @p
 *  capped keeps the tanh for programs_cap_backward(). */
void programs_cap(const struct programs_grid *g, struct programs_script *s,
                  enum programs_shape shape, struct programs_view values,
                  struct programs_view capped, float cap);
/** Append steps: @p d is multiplied by 1 - capped^2, the derivative of cap tanh(x / cap) at x. */
void programs_cap_backward(struct programs_script *s, enum programs_shape shape,
                           struct programs_view d, struct programs_view capped);
/** Append a sum (or MESH_FMAXS) of @p n vectors of tokens over the row, or over a head's columns;
 *  all PEs of the line get the result. */
void programs_row_sum(struct programs_script *s, enum mesh_code code, struct programs_view tokens,
                      int n);
/** Append a sum (or MESH_FMAXS) of the values of each slot and sample (PROGRAMS_VIEW_SAMPLES) down
 *  the columns of the lane; all PEs of a column get the result. Such a script has no sums over
 *  rows. */
void programs_column_sum(struct programs_script *s, enum mesh_code code,
                         struct programs_view samples);
/** Append steps that find, for each token, minus the lowest index of the features whose value
 *  equals the largest one: @c first, from @c max, the largest values, which all PEs of the row
 *  know. @c first must be -infinity before. @c tmp: a tile of scratch; @c number: minus the index
 *  of each feature. */
struct programs_largest {
    struct programs_view tile, tmp, number, max, first;
};
void programs_row_first(struct programs_script *s, const struct programs_largest *l);
/** Append a step that loads, or sends, the vectors of the script. */
void programs_vectors_in(struct programs_script *s);
void programs_vectors_out(struct programs_script *s);
/** Append a step that sends @p n vectors of tokens off the west edge. */
void programs_row_out(struct programs_script *s, struct programs_view tokens, int n);
void programs_call(struct programs_script *s,
                   enum wsc_err (*call)(struct mesh_pe *pe, const struct programs_script *s,
                                        const struct programs_step *step));
/** Append a call for each token of the PE's row, each in its own task, which issues some
 *  operations. */
void programs_call_by_tokens(struct programs_script *s,
                             enum wsc_err (*call)(struct mesh_pe *pe,
                                                  const struct programs_script *s,
                                                  const struct programs_step *step));
/** Append @p n calls, each in its own task, which issues some operations. */
void programs_call_repeatedly(struct programs_script *s, int n,
                              enum wsc_err (*call)(struct mesh_pe *pe,
                                                   const struct programs_script *s,
                                                   const struct programs_step *step));
/** The current token slot, or the index of the current repeated call. */
int programs_script_token(const struct mesh_pe *pe);
#endif
