/** What happens to params before and after their keys are read by the table, in the order in which
 *  zoo_params.c calls it: policy_model.c, renames.c, refused_models.c, zoo_families.c,
 *  zoo_optimizers.c, params_check.c with diffusion_values.c, idle_keys.c. */
#ifndef WSC_ZOO_PARAMS_PASSES_H
#define WSC_ZOO_PARAMS_PASSES_H
#include <wsc/zoo.h>

/** Old spellings to new ones, in the tree, with a warning each. */
void zoo_renames_apply(struct conf_doc *doc, struct conf_diag *d);
/** Report one error when the tree is of a kind that is not supported as a whole; true then. */
bool zoo_params_refuse(const struct conf_node *root, struct conf_diag *d);
/** Warn about the keys of @p p that nothing depends on. */
void zoo_params_warn_no_effect(const struct conf_parse *p);
/** Take `model.policy_model` of preference optimization apart: its keys become those of `model`,
 *  where they stand in the runconfig style.  Called before each pass of zoo_renames_apply(). */
void zoo_policy_unwrap(struct conf_doc *doc, struct conf_diag *d);
/** The current spelling of a dotted path; @p path itself when it is current. */
const char *zoo_renames_path(const char *path);
/** After the file's keys are read: infer a family that is not named, then set what it implies. */
void zoo_family_resolve(struct conf_parse *p, struct zoo_params *params);
/** What a model is trained for that reads the loader @p name; ZOO_CAUSAL_LM for unknown ones. */
enum zoo_objective zoo_processor_objective(const char *name);
/** Set the samples of @p in by its loader, the value at @p pos of key @p path; an error when it is
 *  not known or does not go with the objective. */
void zoo_processor_check(struct conf_parse *p, struct zoo_input *in, const char *path,
                         struct conf_pos pos, enum zoo_objective objective);
/** Set the defaults of keys that take lists of two numbers. */
void zoo_optimizer_init(struct zoo_optimizer *optimizer);
/** False for the key @p path that an optimizer of this type does not take. */
bool zoo_optimizer_takes(const struct zoo_optimizer *optimizer, const char *path);
/** The row of the optimizer that is named: its defaults, and what it does not take. */
void zoo_optimizer_check(struct conf_parse *p, struct zoo_optimizer *optimizer);
/** True for `buckets` of a loader of the Model Zoo that knows the key. */
bool zoo_input_has_buckets(const struct zoo_input *in);
/** False for the key @p path when nothing depends on it, given the other keys of @p params. */
bool zoo_key_acts(const struct zoo_params *params, const char *path);
/** Set what the sizes of latents and patches and the classes of a diffusion transformer decide, and
 *  report what does not go with one; nothing for other models. */
void zoo_diffusion_check(struct conf_parse *p, struct zoo_params *params);
/** Warn about the keys of the file that nothing depends on, given the others. */
void zoo_idle_warn(struct conf_parse *p, const struct zoo_params *params);
/** Check keys against each other and set the defaults that depend on other keys; errors and
 * warnings go to p->diag. */
void zoo_params_check(struct conf_parse *p, const struct conf_node *root,
                      struct zoo_params *params);
#endif
