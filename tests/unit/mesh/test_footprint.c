// SPDX-License-Identifier: Apache-2.0
/* Memory of the host that a fabric takes, by the counter of its tag. */
#include "../../support/test.h"
#include "scene.h"

#include <wsc/mem.h>

#include <stdio.h>

/* A fabric of which one row works: the others take little, before and after the run. */
TEST(mesh_footprint, idle_places_take_less_than_300_bytes)
{
    enum { SIDE = 256, MOST = 300 };
    struct scene s;
    const int64_t before = wsc_mem_in_use(WSC_MEM_MESH);
    scene_init(&s, SIDE, SIDE, MESH_WSE2);
    s.n = 4;
    route_row(&s, 1, 8, 1U << 7);
    sends(&s, at(0, 0), 2, 1);
    hears(&s, at(7, 0), 2, 1, probe);
    starts(&s, at(0, 0), send_1);
    const int64_t set_up = (wsc_mem_in_use(WSC_MEM_MESH) - before) / ((int64_t)SIDE * SIDE);
    scene_run(&s);
    const int64_t ran = (wsc_mem_in_use(WSC_MEM_MESH) - before) / ((int64_t)SIDE * SIDE);
    T_EQ(s.n_seen, 4);
    if (set_up >= MOST || ran >= MOST)
        (void)printf("%lld bytes a PE before the run, %lld after it\n", (long long)set_up,
                     (long long)ran);
    CU_ASSERT(set_up < MOST && ran < MOST && ran > 0);
    scene_end(&s);
}
