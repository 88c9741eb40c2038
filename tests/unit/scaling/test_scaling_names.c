// SPDX-License-Identifier: Apache-2.0
/* Names of models by the paths of their params files. */
#include "../../support/test.h"

#include <wsc/scaling.h>

#include <stdio.h>
#include <string.h>

enum { MOST = 4 };

TEST(scaling_names, have_as_many_folders_as_tell_them_apart)
{
    static const struct {
        const char *path[MOST], *name[MOST];
    } row[] = {{{"gpt3_1.3b.yaml", "/x/gpt3_1.5b.yaml"}, {"gpt3_1.3b", "gpt3_1.5b"}},
               {{"r1/params.yaml", "r2/params.yaml", "r3/params.yaml", "o.yaml"},
                {"r1/params", "r2/params", "r3/params", "o"}},
               {{"params.yaml", "r1/params.yaml"}, {"params", "r1/params"}},
               {{"/a/r/p.yaml", "/b/r/p.yaml", "/b/s/p.yaml"}, {"a/r/p", "b/r/p", "s/p"}},
               {{"/p.yaml", "/b/p.yaml"}, {"/p", "b/p"}},
               {{"v1.2/noend", ".hidden", "./x.y.z"}, {"noend", ".hidden", "x.y"}}};
    char name[MOST][SCALING_NAME_BYTES];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int n = 0;
        while (n < MOST && row[i].path[n])
            n++;
        T_OK(scaling_name_models(row[i].path, n, name));
        for (int k = 0; k < n; k++)
            T_STR(name[k], row[i].name[k]);
    }
}

TEST(scaling_names, equal_and_long_ones_are_refused)
{
    static const char *const equal[] = {"r/a.yaml", "b.yaml", "r/a.yml"};
    char path[SCALING_NAME_BYTES + 8], name[3][SCALING_NAME_BYTES];
    const char *one = path;
    CU_ASSERT_EQUAL(scaling_name_models(equal, 3, name), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "r/a.yaml and r/a.yml: their models"));
    for (int n = SCALING_NAME_BYTES - 1; n <= SCALING_NAME_BYTES; n++) {
        (void)snprintf(path, sizeof path, "%0*d.yaml", n, 0);
        T_EQ(scaling_name_models(&one, 1, name), n < SCALING_NAME_BYTES ? WSC_OK : WSC_USAGE);
    }
    T_EQ(strlen(name[0]), SCALING_NAME_BYTES - 1);
}
