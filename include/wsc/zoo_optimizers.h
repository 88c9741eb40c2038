/** Which keys of `optimizer` a type of optimizer takes.
 *  The rows of the table of params (src/zoo/params_keys.c) say it; a key that the type does not
 * take is ignored with a warning.
 */
#ifndef WSC_ZOO_OPTIMIZERS_H
#define WSC_ZOO_OPTIMIZERS_H
#include <wsc/zoo.h>

/** True when an optimizer of the type of @p optimizer takes the key @p path of a params file, such
 *  as "optimizer.betas". */
bool zoo_optimizer_takes(const struct zoo_optimizer *optimizer, const char *path);
#endif
