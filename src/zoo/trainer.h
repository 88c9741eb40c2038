/** The trainer style (releases 2.3 and later): params files whose keys stand below `trainer`, and
 *  their conversion to the tree of the runconfig style. */
#ifndef WSC_ZOO_TRAINER_H
#define WSC_ZOO_TRAINER_H
#include <wsc/zoo.h>

/** True when the file has the trainer style. */
bool zoo_trainer_is(const struct conf_node *root);
/** Replace a list of trainers by its entry number @p phase, counted from 1.  *@p n_phases is the
 *  length of the list, 1 when `trainer` is no list.  Errors go to @p d. */
void zoo_trainer_choose(struct conf_doc *doc, struct conf_diag *d, int64_t phase, int *n_phases);
/** Turn lists of callbacks and loggers into maps, so that paths of `--set` reach into them. */
void zoo_trainer_normalise(struct conf_doc *doc, struct conf_diag *d);
/** Replace the tree of @p doc by that of the runconfig style. @p mode: what the user requests
 *  besides the file ("eval"), NULL: nothing. Errors go to @p d. */
void zoo_trainer_convert(struct conf_doc *doc, struct conf_diag *d, const char *mode);
#endif
