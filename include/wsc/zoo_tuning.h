/** Fine-tuning in params files: which tensors train, low-rank adapters, preference optimization.
 *
 *  The keys are `model.freeze`, `model.lora_params` (the callback `Lora` of the trainer style) and
 *  the section `model.dpo`, whose policy model is the rest of `model`. This header has their
 *  structs; <wsc/model.h> converts them to properties of tensors, and docs/FINETUNING.md describes
 *  them.
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
    double dropout;     /**< dropout of the adapter's input, in training */
    bool merge_weights; /**< no effect: adapters stay separate until `wsc convert` merges them */
    int n_targets;      /**< 0: all modules */
    char *target[ZOO_MAX_TARGETS]; /**< owned; the path of a module must have all these names */
};
/** The key `lora_params`. A module uses the first entry whose targets are all in its path. */
struct zoo_loras {
    int n;                  /**< 0: no adapters */
    struct zoo_lora *entry; /**< owned, n */
};
/** The entry of a module; NULL: none. @p modules has the names in the path of the module, classes
 *  and attributes, with a blank before, between and after them. */
const struct zoo_lora *zoo_lora_find(const struct zoo_loras *loras, const char *modules);

/** The key `selective_grad`: in the selected matrices only weights of large magnitude are trained.
 */
struct zoo_selective {
    bool on;
    bool by_default; /**< an entry has no param_filter and uses the default filter of sparsity */
    struct zoo_patterns names; /**< globs of tensor names, from all entries */
};
/** True if the key selects the tensor @p name with @p n_dims dimensions. */
bool zoo_selective_takes(const struct zoo_selective *s, const char *name, int n_dims);

/** Losses of preference optimization, functions of the margin m between the log-ratios of the
 * chosen and the rejected text. SIGMOID: -log sigmoid(beta m); HINGE: max(0, 1 - beta m); IPO: (m -
 * 1 / (2 beta))^2 with mean log-probabilities (Rafailov et al. 2023; Azar et al. 2023). */
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
