// SPDX-License-Identifier: Apache-2.0
/* Streams that nothing disturbs move by a batch of cycles at once (src/mesh/mesh_flow.c).  What can
 * be seen is that of a watched run, which visits every place in every cycle: counts and values on
 * fabrics that are wide enough for such streams, both generations, one to four threads. */
#include "../../support/test.h"
#include "kernel_case.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>

enum { LONG = 90 };

/* Rows and columns that are long against a batch, filling, full and running dry: w, h, words. */
static const int shapes[][3] = {{LONG, 3, 150}, {2, LONG, 120}, {40, 40, 80}};

TEST(mesh_flow, counts_are_those_of_single_visits)
{
    static const char *const algo[] = {"chain", "two-phase", "snake"};
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int k = 0; k < (int)(sizeof algo / sizeof *algo); k++)
            kernel_same_as_watched("allreduce",
                                   (struct programs_case){.algo = algo[k],
                                                          .arch = (enum mesh_arch)((i + k) % 2),
                                                          .w = shapes[i][0],
                                                          .h = shapes[i][1],
                                                          .words = shapes[i][2],
                                                          .seed = 3},
                                   0);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* Wavelets that enter and leave over the edges. */
TEST(mesh_flow, streams_from_edges)
{
    for (int arch = 0; arch < 2; arch++)
        kernel_same_as_watched("gemm",
                               (struct programs_case){.algo = "stream",
                                                      .arch = (enum mesh_arch)arch,
                                                      .w = 40,
                                                      .h = 30,
                                                      .m = 3,
                                                      .n = 100,
                                                      .k = 80,
                                                      .seed = 4},
                               0);
    kernel_same_as_watched("broadcast",
                           (struct programs_case){.w = 40, .h = 35, .words = 100, .seed = 5}, 0);
}
