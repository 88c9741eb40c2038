/** Weight sparsity of params files: which weights are sparse, how many are kept, and when.
 *
 *  The section `sparsity`, in the form of any release of the Model Zoo, becomes a list of struct
 *  zoo_sparsity. A tensor uses the first entry whose filter matches its name. An entry gives the
 *  fraction of zeros and the number of kept weights after every number of optimizer updates. Both
 *  depend only on the params, so every role knows them without the values of weights. Semantics and
 *  rounding are those of cerebras.pytorch.sparse, release 2.10; docs/SPARSITY.md describes them.
 *
 *      int e = zoo_sparsity_find(&params->sparsity, "model.a.weight", 2);
 *      if (e >= 0) kept = zoo_sparsity_count(&params->sparsity.entry[e], n_elems, step);
 *
 *  A step below is the number of applied updates of the optimizer, as in cstorch: 0 is the state
 *  before the first update. src/zoo/zoo_sparsity.c implements the functions,
 *  src/zoo/sparsity_values.c reads the section. Read next: <wsc/model.h>, which stores the entry of
 *  each tensor. */
#ifndef WSC_ZOO_SPARSITY_H
#define WSC_ZOO_SPARSITY_H
#include <wsc/conf.h>

#include <stdbool.h>
#include <stdint.h>

/** Bounds on the section `sparsity`. */
enum {
    ZOO_MAX_SPARSITIES = 16, /**< entries */
    ZOO_MAX_PATTERNS = 32,   /**< patterns of one entry */
    ZOO_MAX_UPDATES = 128    /**< numbers in one list */
};

/** Algorithm that changes the mask of a tensor. STATIC: no change; GMP: gradual magnitude pruning
 *  (Zhu and Gupta 2017); SET: sparse evolutionary training (Mocanu et al. 2018); RIGL: Evci et al.
 *  2020. */
enum zoo_sparsity_algorithm {
    ZOO_SPARSITY_STATIC,
    ZOO_SPARSITY_GMP,
    ZOO_SPARSITY_SET,
    ZOO_SPARSITY_RIGL,
    ZOO_N_SPARSITY_ALGORITHMS
};
/** Elements that the first mask keeps. RANDOM: random elements; TOPK: the largest magnitudes;
 *  FROM_ZEROS: elements that are not zero; CHECKERBOARD: a regular pattern; BALANCED_TOPK: the
 *  largest magnitudes of each column. */
enum zoo_mask_init {
    ZOO_MASK_RANDOM,
    ZOO_MASK_TOPK,
    ZOO_MASK_FROM_ZEROS,
    ZOO_MASK_CHECKERBOARD,
    ZOO_MASK_BALANCED_TOPK
};

/** Formulas of a fraction over steps; see zoo_fraction_at(). */
enum zoo_fraction_kind {
    ZOO_FRACTION_CONSTANT,
    ZOO_FRACTION_LINEAR,
    ZOO_FRACTION_EXP,
    ZOO_FRACTION_POWER,
    ZOO_FRACTION_COSINE,
    ZOO_FRACTION_CYCLING,
    ZOO_N_FRACTIONS
};
/** A fraction from 0 to 1 that may change with the step. Members that a kind does not use are 0 or
 *  have their defaults. */
struct zoo_fraction {
    enum zoo_fraction_kind kind;
    double init;        /**< also the value of CONSTANT */
    double slope;       /**< LINEAR: per step */
    double gamma;       /**< EXP: exponent per step */
    double final;       /**< EXP: value at infinity; 1 by default */
    double beta;        /**< POWER: factor per step */
    double half_period; /**< COSINE: steps from init to minimum */
    double minimum;     /**< COSINE */
    int n_values;       /**< CYCLING: length of `value` */
    double value[ZOO_MAX_UPDATES];
};
/** Steps at which a new mask is computed. */
struct zoo_mask_update {
    int64_t freq;                  /**< every freq steps; CONF_NULL: by `step` */
    int64_t start;                 /**< first step */
    int64_t stop;                  /**< first step after the updates; CONF_NULL: no end */
    int n_steps;                   /**< length of `step` */
    int64_t step[ZOO_MAX_UPDATES]; /**< rising */
};
/** Patterns that select tensors by their names. */
struct zoo_patterns {
    bool expressions; /**< true: regular expressions, which match a part of the name; false: globs,
                           which match the whole name */
    int n;            /**< 0: none */
    char *pattern[ZOO_MAX_PATTERNS]; /**< owned, n */
};
/** True if pattern @p i of @p patterns matches @p name. */
bool zoo_patterns_match(const struct zoo_patterns *patterns, int i, const char *name);
/** Index of the first pattern that matches @p name, or -1. */
int zoo_patterns_find(const struct zoo_patterns *patterns, const char *name);

/** One entry of the section `sparsity`. */
struct zoo_sparsity {
    enum zoo_sparsity_algorithm algorithm;
    enum zoo_mask_init init_method;
    struct zoo_fraction sparsity;      /**< fraction of zeros */
    struct zoo_fraction drop_fraction; /**< SET and RigL: part of the kept weights dropped at an
                                            update */
    struct zoo_mask_update update;     /**< not used by STATIC */
    /** RigL, also its first mask if random or by magnitude: number of groups of columns (in) or of
     *  rows (out); each group keeps the same number of elements. CONF_NULL: no groups. At most one
     *  of both is given. */
    int64_t in_groups, out_groups;
    int64_t seed;              /**< seed of random masks; CONF_NULL: seed of the run */
    bool add_summaries;        /**< write target and actual sparsity to TensorBoard */
    struct zoo_patterns names; /**< names of its tensors; none: the default filter */
};
/** The section `sparsity`. */
struct zoo_sparsities {
    int n;                      /**< 0: all weights are dense */
    struct zoo_sparsity *entry; /**< owned, n */
};

/** Index of the entry of the tensor @p name with @p n_dims dimensions: the first entry whose
 *  patterns match; -1: none. The default filter matches tensors with more than one dimension and
 *  without `embedding`, `norm`, `lm_head`, `pe_helper` in their name, in upper or lower case. */
int zoo_sparsity_find(const struct zoo_sparsities *list, const char *name, int n_dims);
/** True if pattern @p pattern of @p entry matches @p name. */
bool zoo_sparsity_matches(const struct zoo_sparsity *entry, int pattern, const char *name);
/** True if a mask is computed at @p step: at step 0 the first mask (if false, training begins
 *  dense), at other steps a new mask after that number of applied updates. */
bool zoo_sparsity_updates(const struct zoo_sparsity *entry, int64_t step);
/** Number of masks computed up to @p step, with the first one. */
int64_t zoo_sparsity_n_updates(const struct zoo_sparsity *entry, int64_t step);
/** Value of the schedule `sparsity` at step t = @p step, in [0, 1], rounded to fp32 as in cstorch,
 *  whether or not a mask is computed then. A cycling sparsity has advanced by one value for each
 *  mask of earlier steps. */
float zoo_sparsity_scheduled(const struct zoo_sparsity *entry, int64_t step);
/** Target fraction of zeros of the mask used after @p step applied updates: the value of the
 *  schedule when that mask was computed; 0 before the first mask. */
float zoo_sparsity_after(const struct zoo_sparsity *entry, int64_t step);
/** True if the update from step @p step to @p step + 1 needs gradients of all elements: RigL before
 *  an update of its mask. */
bool zoo_sparsity_needs_dense_gradient(const struct zoo_sparsity *entry, int64_t step);
/** Value of @p fraction at step t = @p step, in [0, 1], by kind: init; init + slope t; final +
 *  (init - final) e^(gamma t); init beta^t; the cosine from init at t = 0 to minimum at t =
 *  half_period; value[index mod n_values], where @p index is the number of earlier uses of a
 * cycling fraction. Computed in fp32; functions are rounded once. */
float zoo_fraction_at(const struct zoo_fraction *fraction, int64_t step, int64_t index);
/** Number of the @p n elements that are kept with a fraction @p sparsity of zeros: (1 - sparsity) n
 *  in fp32, truncated, at most @p n. */
int64_t zoo_sparsity_kept(float sparsity, int64_t n);
/** Number of the @p kept elements that SET and RigL do not drop at their update at @p step:
 *  (1 - drop_fraction) kept in fp32, truncated; with groups, computed for each group's part of
 *  @p kept. */
int64_t zoo_sparsity_dropped_to(const struct zoo_sparsity *entry, int64_t kept, int64_t step);
/** Number of groups, each of which keeps the same number of elements; 1: the tensor is one group.
 */
int64_t zoo_sparsity_groups(const struct zoo_sparsity *entry);
/** Target number of kept elements, of @p n elements of a tensor, for the mask used after @p step
 *  applied updates: the sum of zoo_sparsity_kept() over the groups. */
int64_t zoo_sparsity_target(const struct zoo_sparsity *entry, int64_t n, int64_t step);
/** Number of kept elements, of @p n elements of a tensor, after @p step applied updates. Exact for
 *  all masks except those of ZOO_MASK_FROM_ZEROS, which depend on the weights; for these it is the
 *  number by `sparsity`. SET and RigL with a rising sparsity, or with a dense start, drop at most
 *  drop_fraction per update: the number follows from the updates since one that reached its target,
 *  a few where drop_fraction is not near 0, all of them at most. */
int64_t zoo_sparsity_count(const struct zoo_sparsity *entry, int64_t n, int64_t step);
/** True for a constant fraction of 0: the tensors of the entry are dense, without masks. */
bool zoo_sparsity_keeps_dense(const struct zoo_sparsity *entry);
/** "static", "gmp", "set" or "rigl"; static text. */
const char *zoo_sparsity_algorithm_name(enum zoo_sparsity_algorithm algorithm);
/** Algorithms of masks and the keys of each, for docs/CONFIG.md; static. */
const struct conf_variants *zoo_sparsity_algorithms(void);
/** Formulas of fractions and the keys of each, for docs/CONFIG.md; static. */
const struct conf_variants *zoo_fractions(void);
#endif
