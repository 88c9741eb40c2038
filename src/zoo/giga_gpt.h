/** Params files of gigaGPT, which are one flat map, and their conversion to the tree of the
 *  runconfig style. */
#ifndef WSC_ZOO_GIGA_GPT_H
#define WSC_ZOO_GIGA_GPT_H
#include <wsc/zoo.h>

/** True when the file is one of gigaGPT: a key of the sizes of its model, and no section. */
bool zoo_giga_is(const struct conf_node *root);
/** Replace the tree of @p doc by that of the runconfig style. Errors go to @p d. */
void zoo_giga_convert(struct conf_doc *doc, struct conf_diag *d);
#endif
