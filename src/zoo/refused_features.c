// SPDX-License-Identifier: Apache-2.0
/* Features that a kind of model does not have in this release: each kind has its list, which the
 * function here reports. */
#include "params_checks.h"

void zoo_refuse(struct conf_parse *p, const struct zoo_refused *list, size_t n, const char *why)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].given)
            conf_diag_error(p->diag, conf_parse_place(p, list[i].path, NULL), list[i].path, "%s",
                            why);
}
