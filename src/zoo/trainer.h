/** The trainer style, turned into the tree of the runconfig style by trainer.c with the rows of
 *  trainer_keys.c. */
#ifndef WSC_ZOO_TRAINER_H
#define WSC_ZOO_TRAINER_H
#include <wsc/zoo.h>

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
#endif
