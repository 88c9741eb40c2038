// SPDX-License-Identifier: Apache-2.0
/* Cases of kernels that several tests of the mesh run. */
#include "kernel_case.h"
#include "../../support/test.h"

#include <stdio.h>
#include <string.h>

enum { MAX_THREADS = 4 };

/* T_OK with less nesting: it stands in loops here. */
static void ok(enum wsc_err rc)
{
    T_OK(rc);
}

struct programs_case kernel_case(const struct kernels_row *row, const struct hw *hw,
                                 enum mesh_arch arch)
{
    return (struct programs_case){.w = strcmp(row->name, "transpose") ? 5 : 6,
                                  .h = 6,
                                  .arch = arch,
                                  .words = 11,
                                  .m = 14,
                                  .n = 13,
                                  .k = 9,
                                  .length = 20,
                                  .calls = 7,
                                  .density = 0.7,
                                  .tokens = 11,
                                  .samples = 2,
                                  .features = 13,
                                  .heads = 2,
                                  .head_dim = 4,
                                  .vocab = 17,
                                  .hw = hw,
                                  .seed = 5};
}

static struct mesh_stats counts(const char *kernel, struct programs_case *c, double most)
{
    const struct kernels_row *row;
    struct programs_result r;
    ok(kernels_row_find(kernel, &row));
    ok(kernels_row_run(row, c, &r));
    CU_ASSERT(r.max_error <= most);
    return r.stats;
}

void kernel_same_as_watched(const char *kernel, struct programs_case c, double most)
{
    struct mesh_watch *watch;
    ok(mesh_watch_create(&watch, &(struct mesh_watch_config){0}));
    c.threads = 1;
    c.watch = watch;
    const struct mesh_stats watched = counts(kernel, &c, most);
    c.watch = NULL;
    for (c.threads = 1; c.threads <= MAX_THREADS; c.threads++) {
        const struct mesh_stats stats = counts(kernel, &c, most);
        const bool same = !memcmp(&stats, &watched, sizeof stats);
        if (!same) (void)printf("%s %s on %d threads\n", kernel, c.algo ? c.algo : "", c.threads);
        CU_ASSERT(same);
    }
    mesh_watch_destroy(&watch);
}
