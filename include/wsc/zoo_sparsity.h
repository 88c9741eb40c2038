/** Weight sparsity of params files: which weights are sparse, how many are kept, and when.
 *
 *  The section `sparsity` of every release of the Model Zoo becomes a list of struct zoo_sparsity.
 *  A tensor takes the first entry whose filter matches its name.  An entry gives, for every number
 *  of finished updates of the optimizer, the fraction of zeros and the number of weights that are
 *  kept; both are functions of the params alone, so that every role knows them without values.
 *  Semantics and rounding are those of cerebras.pytorch.sparse, release 2.10; docs/SPARSITY.md
 *  describes them.
 *
 *      int e = zoo_sparsity_find(&params->sparsity, "model.a.weight", 2);
 *      if (e >= 0) kept = zoo_sparsity_count(&params->sparsity.entry[e], n_elems, step);
 *
 *  A step below counts the updates of the optimizer that have been applied, as cstorch does: 0 is
 *  the state before the first one.  Implemented in src/zoo/zoo_sparsity.c, read by
 *  src/zoo/sparsity_values.c.  Read next: <wsc/model.h>, which keeps the entry of each tensor. */
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

/** Rule by which the mask of a tensor changes: never; gradual magnitude pruning (Zhu and Gupta
 *  2017); sparse evolutionary training (Mocanu et al. 2018); RigL (Evci et al. 2020). */
enum zoo_sparsity_algorithm {
    ZOO_SPARSITY_STATIC,
    ZOO_SPARSITY_GMP,
    ZOO_SPARSITY_SET,
    ZOO_SPARSITY_RIGL,
    ZOO_N_SPARSITY_ALGORITHMS
};
/** The first mask: random elements, the largest magnitudes, the elements that are not zero, a
 * regular pattern, or the largest magnitudes of each column. */
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
/** A fraction from 0 to 1 that may change with the steps.  Members that a kind does not use are 0
 *  or their defaults. */
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
/** Steps at which a mask is computed again. */
struct zoo_mask_update {
    int64_t freq;                  /**< every freq steps; CONF_NULL: by `step` */
    int64_t start;                 /**< first step */
    int64_t stop;                  /**< first step without updates; CONF_NULL: none */
    int n_steps;                   /**< length of `step` */
    int64_t step[ZOO_MAX_UPDATES]; /**< rising */
};
/** Patterns that select tensors by their names. */
struct zoo_patterns {
    bool expressions; /**< regular expressions that occur in a name, else globs of whole names */
    int n;            /**< 0: none */
    char *pattern[ZOO_MAX_PATTERNS]; /**< owned, n */
};
/** True when pattern @p i of @p patterns matches @p name. */
bool zoo_patterns_match(const struct zoo_patterns *patterns, int i, const char *name);
/** Index of the first pattern that matches @p name, or -1. */
int zoo_patterns_find(const struct zoo_patterns *patterns, const char *name);

/** One entry of the section `sparsity`. */
struct zoo_sparsity {
    enum zoo_sparsity_algorithm algorithm;
    enum zoo_mask_init init_method;
    struct zoo_fraction sparsity;      /**< fraction of zeros */
    struct zoo_fraction drop_fraction; /**< SET and RigL: of the kept weights, at an update */
    struct zoo_mask_update update;     /**< not used by STATIC */
    /** RigL, and its first mask if random or by magnitude: each of so many chunks of columns (in)
     * or rows (out) keeps equally many; CONF_NULL: no such groups.  One of both at most. */
    int64_t in_groups, out_groups;
    int64_t seed;              /**< of random masks; CONF_NULL: that of the run */
    bool add_summaries;        /**< target and actual sparsity to TensorBoard */
    struct zoo_patterns names; /**< of its tensors; none: the default filter */
};
/** The section `sparsity`. */
struct zoo_sparsities {
    int n;                      /**< 0: all weights are dense */
    struct zoo_sparsity *entry; /**< owned, n */
};

/** Index of the entry that the tensor @p name of @p n_dims dimensions takes, or -1: the first whose
 *  patterns match.  The default filter takes what has more than one dimension and none of
 *  `embedding`, `norm`, `lm_head`, `pe_helper` in its name, in any case. */
int zoo_sparsity_find(const struct zoo_sparsities *list, const char *name, int n_dims);
/** True when pattern @p pattern of @p entry matches @p name. */
bool zoo_sparsity_matches(const struct zoo_sparsity *entry, int pattern, const char *name);
/** True when the mask is computed at @p step: for step 0 the first mask (otherwise training begins
 *  dense), for others a new one after that many applied updates. */
bool zoo_sparsity_updates(const struct zoo_sparsity *entry, int64_t step);
/** Masks computed up to @p step, the first one included. */
int64_t zoo_sparsity_n_updates(const struct zoo_sparsity *entry, int64_t step);
/** Target fraction of zeros of the mask that is in effect after @p step applied updates, rounded to
 *  fp32 as in cstorch; 0 before the first mask. */
float zoo_sparsity_after(const struct zoo_sparsity *entry, int64_t step);
/** True when the update that makes step @p step + 1 needs gradients of all elements: RigL before an
 *  update of its mask. */
bool zoo_sparsity_needs_dense_gradient(const struct zoo_sparsity *entry, int64_t step);
/** Value of @p fraction at @p step, after @p index earlier uses of a cycling one, in [0, 1]:
 *  init; init + slope t; final + (init - final) e^(gamma t); init beta^t; the cosine from init at
 *  t = 0 to minimum at t = half_period; value[index mod n_values].  In fp32, functions rounded
 *  once. */
float zoo_fraction_at(const struct zoo_fraction *fraction, int64_t step, int64_t index);
/** Elements of @p n that remain with fraction @p sparsity of zeros: (1 - sparsity) n in fp32,
 *  truncated, at most @p n. */
int64_t zoo_sparsity_kept(float sparsity, int64_t n);
/** Number of @p kept elements that SET and RigL do not drop at their update @p step:
 *  (1 - drop_fraction) kept in fp32, truncated; of each group its share of @p kept. */
int64_t zoo_sparsity_dropped_to(const struct zoo_sparsity *entry, int64_t kept, int64_t step);
/** Number of groups that keep equally many elements each; 1: the tensor is one group. */
int64_t zoo_sparsity_groups(const struct zoo_sparsity *entry);
/** Elements of a tensor of @p n that the mask in effect after @p step applied updates aims at:
 *  zoo_sparsity_kept() of each group. */
int64_t zoo_sparsity_target(const struct zoo_sparsity *entry, int64_t n, int64_t step);
/** Elements of a tensor of @p n that are kept after @p step applied updates.  Exact for all masks
 *  but those of ZOO_MASK_FROM_ZEROS, where only the weights tell: there it is what `sparsity` asks
 *  for.  SET and RigL with a sparsity that rises, or that begin dense, drop at most drop_fraction
 *  at a time: their count follows from all updates before, in O(updates). */
int64_t zoo_sparsity_count(const struct zoo_sparsity *entry, int64_t n, int64_t step);
/** "static", "gmp", "set" or "rigl"; static text. */
const char *zoo_sparsity_algorithm_name(enum zoo_sparsity_algorithm algorithm);
/** Algorithms of masks and the keys of each, for docs/CONFIG.md; static. */
const struct conf_variants *zoo_sparsity_algorithms(void);
/** Formulas of fractions and the keys of each, for docs/CONFIG.md; static. */
const struct conf_variants *zoo_fractions(void);
#endif
