/** The passes over params before and after the table reads their keys, in the order in which
 *  zoo_params.c calls them: policy_model.c, renames.c, refused_models.c, zoo_families.c,
 *  zoo_optimizers.c, params_check.c with diffusion_values.c, idle_keys.c. */
#ifndef WSC_ZOO_PARAMS_PASSES_H
#define WSC_ZOO_PARAMS_PASSES_H
#include <wsc/zoo.h>

/** Replace old spellings in the tree by current ones, with a warning each. */
void zoo_renames_apply(struct conf_doc *doc, struct conf_diag *d);
/** Report one error if the tree is of a kind of model that is not supported. Returns true then. */
bool zoo_params_refuse(const struct conf_node *root, struct conf_diag *d);
/** Warn about the keys of @p p without effect. */
void zoo_params_warn_no_effect(const struct conf_parse *p);
/** Move the keys of `model.policy_model` of preference optimization to `model`, where the runconfig
 *  style has them. Call before each pass of zoo_renames_apply(). */
void zoo_policy_unwrap(struct conf_doc *doc, struct conf_diag *d);
/** The current spelling of a dotted path; @p path itself when it is current. */
const char *zoo_renames_path(const char *path);
/** Call after the keys of the file are read: infer the family if it is not named, then set its
 *  defaults. */
void zoo_family_resolve(struct conf_parse *p, struct zoo_params *params);
/** The objective of a model that reads the loader @p name; ZOO_CAUSAL_LM for unknown loaders. */
enum zoo_objective zoo_processor_objective(const char *name);
/** Set the samples of @p in by its loader, the value at @p pos of key @p path; an error if the
 *  loader is not known, or has samples for another objective. */
void zoo_processor_check(struct conf_parse *p, struct zoo_input *in, const char *path,
                         struct conf_pos pos, enum zoo_objective objective);
/** Set the defaults of keys that take lists of two numbers. */
void zoo_optimizer_init(struct zoo_optimizer *optimizer);
/** Apply the row of the named optimizer: set its defaults, and warn about keys that it does not
 *  take. */
void zoo_optimizer_check(struct conf_parse *p, struct zoo_optimizer *optimizer);
/** True when @p in has `buckets` and a loader that takes them in the Model Zoo. */
bool zoo_input_has_buckets(const struct zoo_input *in);
/** For a diffusion transformer, set the values that follow from the sizes of latents and patches
 *  and from the classes, and report keys that cannot be combined. Does nothing for other models. */
void zoo_diffusion_check(struct conf_parse *p, struct zoo_params *params);
/** Warn about the keys of the file that have no effect with the others. */
void zoo_idle_warn(struct conf_parse *p, const struct zoo_params *params);
/** Check keys against each other and set the defaults that depend on other keys; errors and
 * warnings go to p->diag. */
void zoo_params_check(struct conf_parse *p, const struct conf_node *root,
                      struct zoo_params *params);
#endif
