/** Fine-tuning in params files: which tensors train, low-rank adapters, preference optimization.
 *
 *  The keys are `model.freeze`, `model.lora_params` (the callback `Lora` of the trainer style) and
 *  the section `model.dpo`, whose policy model is the rest of `model`.  They become plain structs
 * here; <wsc/model.h> turns them into properties of tensors, and docs/FINETUNING.md describes them.
 *
 *      const struct zoo_lora *lora = zoo_lora_find(&params->model.lora_params, modules);
 *      if (lora) rank = lora->r;
 *
 *  Implemented in src/zoo/tuning_values.c.  Read next: <wsc/zoo.h>. */
#ifndef WSC_ZOO_TUNING_H
#define WSC_ZOO_TUNING_H
#include <wsc/zoo_sparsity.h>

#include <stdbool.h>
#include <stdint.h>

/** Bounds on `lora_params`. */
enum {
    ZOO_MAX_LORAS = 8,  /**< entries */
    ZOO_MAX_TARGETS = 8 /**< names in one list of target_modules */
};
/** Low-rank adapters of some modules (Hu et al. 2021): y = W x + alpha / r B A x, with W frozen. */
struct zoo_lora {
    int64_t r;          /**< rank, at least 1 */
    double alpha;       /**< the product is multiplied by alpha / r */
    double dropout;     /**< of the adapter's input, in training */
    bool merge_weights; /**< no effect: adapters stay apart until `wsc convert` merges them */
    int n_targets;      /**< 0: all modules */
    char *target[ZOO_MAX_TARGETS]; /**< owned: names that all stand on the way to a module */
};
/** The key `lora_params`: a module takes the first entry all of whose targets it has. */
struct zoo_loras {
    int n;                  /**< 0: no adapters */
    struct zoo_lora *entry; /**< owned, n */
};
/** The entry that the module takes whose path has the names @p modules, classes and attributes with
 *  a blank before, between and after them; NULL: none. */
const struct zoo_lora *zoo_lora_find(const struct zoo_loras *loras, const char *modules);

/** The key `selective_grad`: of the matrices that it names only weights of large magnitude train.
 */
struct zoo_selective {
    bool on;
    bool by_default;           /**< an entry without param_filter: the default filter of sparsity */
    struct zoo_patterns names; /**< globs of tensors' names, of all entries */
};
/** True for a tensor that the key names. */
bool zoo_selective_takes(const struct zoo_selective *s, const char *name, int n_dims);

/** Losses of preference optimization, of the margin m between the log-ratios of the chosen and the
 *  rejected text: -log sigmoid(beta m); max(0, 1 - beta m); (m - 1 / (2 beta))^2 on mean
 *  log-probabilities (Rafailov et al. 2023; Azar et al. 2023). */
enum zoo_dpo_loss { ZOO_DPO_SIGMOID, ZOO_DPO_HINGE, ZOO_DPO_IPO };
/** The section `model.dpo`. */
struct zoo_dpo {
    bool on; /**< the section is in the file */
    double beta;
    bool reference_free; /**< the reference gives all texts the same probability */
    enum zoo_dpo_loss loss_type;
    bool disable_dropout;
    double label_smoothing; /**< SIGMOID: fraction of the pairs with swapped labels */
};
#endif
