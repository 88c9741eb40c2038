// SPDX-License-Identifier: Apache-2.0
/* Params files as texts in a test; see params_case.h. */
#include "params_case.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

struct zoo_params params_parsed(const char *text)
{
    struct zoo_params p;
    T_OK(zoo_params_parse(&p, "t.yaml", text, strlen(text), NULL, 0));
    return p;
}

bool params_warn(const struct zoo_params *p, const char *part)
{
    for (int i = 0; i < p->n_warnings; i++)
        if (strstr(p->warning[i].text, part)) return true;
    return false;
}

bool params_refused(const char *text, const char *part)
{
    struct zoo_params p;
    const bool is = zoo_params_parse(&p, "t.yaml", text, strlen(text), NULL, 0) == WSC_CONFIG &&
                    strstr(wsc_err_message(), part);
    if (!is) (void)fprintf(stderr, "expected \"%s\", got: %s\n", part, wsc_err_message());
    zoo_params_fini(&p);
    return is;
}
