/** Readers of the trainer style's keys that have another form than those of the runconfig style,
 *  for the rows of trainer_keys.c. */
#ifndef WSC_ZOO_TRAINER_TAKES_H
#define WSC_ZOO_TRAINER_TAKES_H
#include <wsc/zoo.h>

/** Prototype of the `read` of a row; @p trainer is the struct zoo_trainer of the conversion. */
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
ZOO_TRAINER_TAKE(all_checkpoints);
#endif
