/** What the files of zoo share: keys with a form of their own, the trainer style, checks. */
#ifndef WSC_ZOO_IMPL_H
#define WSC_ZOO_IMPL_H
#include <wsc/zoo.h>

/* ---- params ---------------------------------------------------------------------------------- */

/** Keys with a form of their own; the field is the int64_t, the double, the struct zoo_init, or
 *  the struct zoo_input or zoo_optimizer around it. */
void zoo_read_data_dir(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *input);
void zoo_read_mixture(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *input);
void zoo_read_data_subset(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *input);
void zoo_read_micro_batch(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field);
void zoo_read_initializer(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field);
void zoo_read_schedule(struct conf_parse *p, const struct conf_key *key,
                       const struct conf_node *node, void *field);
void zoo_read_betas(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *optimizer);
void zoo_read_etas(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                   void *optimizer);
void zoo_read_step_sizes(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *optimizer);
void zoo_read_eps(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                  void *optimizer);
void zoo_read_states(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field);
void zoo_write_states(struct conf_text *out, const void *field, int indent);
void zoo_read_loss_scale(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *field);
void zoo_read_family(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                     void *field);
void zoo_write_family(struct conf_text *out, const void *field, int indent);
void zoo_read_transforms(struct conf_parse *p, const struct conf_key *key,
                         const struct conf_node *node, void *input);
void zoo_write_transforms(struct conf_text *out, const void *input, int indent);
void zoo_write_mixture(struct conf_text *out, const void *input, int indent);
void zoo_write_data_subset(struct conf_text *out, const void *input, int indent);
void zoo_write_data_dir(struct conf_text *out, const void *input, int indent);
void zoo_write_micro_batch(struct conf_text *out, const void *field, int indent);
void zoo_write_initializer(struct conf_text *out, const void *field, int indent);
void zoo_write_schedule(struct conf_text *out, const void *field, int indent);
void zoo_write_betas(struct conf_text *out, const void *optimizer, int indent);
void zoo_write_etas(struct conf_text *out, const void *optimizer, int indent);
void zoo_write_step_sizes(struct conf_text *out, const void *optimizer, int indent);
void zoo_write_eps(struct conf_text *out, const void *optimizer, int indent);
void zoo_write_loss_scale(struct conf_text *out, const void *field, int indent);

/* ---- the trainer style ----------------------------------------------------------------------- */

/** True when the tree has the trainer style. */
bool zoo_trainer_is(const struct conf_node *root);
/** Of a list of trainers take number @p phase, from 1; *@p n_phases is their number, 1 without a
 *  list.  Problems go to @p d. */
void zoo_trainer_choose(struct conf_doc *doc, struct conf_diag *d, int64_t phase, int *n_phases);
/** Lists of callbacks and loggers to maps, so that paths of `--set` reach into them. */
void zoo_trainer_normalise(struct conf_doc *doc, struct conf_diag *d);
/** Replace the tree by that of the runconfig style.  Problems go to @p d. */
void zoo_trainer_convert(struct conf_doc *doc, struct conf_diag *d);
/** Rows with a form of their own; the field is a struct zoo_trainer. */
#define ZOO_TRAINER_TAKE(name)                                                                     \
    void zoo_trainer_take_##name(struct conf_parse *p, const struct conf_key *key,                 \
                                 const struct conf_node *node, void *trainer)
ZOO_TRAINER_TAKE(model);
ZOO_TRAINER_TAKE(optimizer);
ZOO_TRAINER_TAKE(schedulers);
ZOO_TRAINER_TAKE(global_micro_batch);
ZOO_TRAINER_TAKE(switch);
ZOO_TRAINER_TAKE(train);
ZOO_TRAINER_TAKE(fit_val);
ZOO_TRAINER_TAKE(val);
ZOO_TRAINER_TAKE(val_all);
ZOO_TRAINER_TAKE(val_checkpoint);

/** Old spellings to new ones, in the tree, with a warning each. */
void zoo_renames_apply(struct conf_doc *doc, struct conf_diag *d);
/** Report one error when the tree is of a kind that is not supported as a whole; true then. */
bool zoo_params_refuse(const struct conf_node *root, struct conf_diag *d);
/** Warn about the keys of @p p that nothing depends on. */
void zoo_params_warn_no_effect(const struct conf_parse *p);
/** The current spelling of a dotted path. */
const char *zoo_renames_path(const char *path);
/** After the file's keys are read: infer a family that is not named, then set what it implies. */
void zoo_family_resolve(struct conf_parse *p, struct zoo_model *model);
/** Defaults of keys that take lists. */
void zoo_optimizer_init(struct zoo_optimizer *optimizer);
/** False for the key @p path that an optimizer of this type does not take. */
bool zoo_optimizer_takes(const struct zoo_optimizer *optimizer, const char *path);
/** The row of the optimizer that is named: its defaults, and what it does not take. */
void zoo_optimizer_check(struct conf_parse *p, struct zoo_optimizer *optimizer);
/** False for the key @p path when nothing depends on it, given the other keys of @p params. */
bool zoo_key_acts(const struct zoo_params *params, const char *path);
/** Warn about the keys of the file that nothing depends on, given the others. */
void zoo_idle_warn(struct conf_parse *p, const struct zoo_params *params);
/** Checks between keys. */
void zoo_params_check(struct conf_parse *p, const struct conf_node *root,
                      struct zoo_params *params);
#endif
