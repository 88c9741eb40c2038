// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/hw.h>

/* Expected values by exact rational arithmetic outside: ceil(cycles 10^12 / clock). */
TEST(hw, cycles_to_ps_is_exact_and_rounds_up)
{
    struct hw_machine c = model_case_cs2();
    struct hw hw = {.cluster = &c};
    T_EQ(hw_cycles_to_ps(&hw, 0), 0);
    T_EQ(hw_cycles_to_ps(&hw, 1), 1177);
    T_EQ(hw_cycles_to_ps(&hw, 850), 1000000);
    T_EQ(hw_cycles_to_ps(&hw, 849999999), 999999998824);
    T_EQ(hw_cycles_to_ps(&hw, 1000000000000000LL), 1176470588235294118LL);
    c.wafer.clock_hz = 1000000007; /* a prime */
    T_EQ(hw_cycles_to_ps(&hw, 123456789012345LL), 123456788148147483LL);
    c.wafer.clock_hz = 1;
    T_EQ(hw_cycles_to_ps(&hw, 3), 3000000000000LL);
}

TEST(hw, half_the_clock_is_twice_the_time)
{
    struct hw_machine fast = model_case_cs2(), slow = fast;
    slow.wafer.clock_hz /= 2;
    struct hw a = {.cluster = &fast}, b = {.cluster = &slow};
    for (int64_t cycles = 17; cycles < (int64_t)1 << 44; cycles *= 17)
        T_EQ(hw_cycles_to_ps(&b, cycles * 17) - 2 * hw_cycles_to_ps(&a, cycles * 17) <= 0, 1);
    T_EQ(hw_cycles_to_ps(&b, 17000000), 2 * hw_cycles_to_ps(&a, 17000000));
}

TEST(hw, sizes_and_io)
{
    struct hw_machine c = model_case_cs2();
    struct hw hw = {.cluster = &c};
    T_EQ(hw_n_pes(&hw), 745500);
    T_EQ(hw_activation_bytes_per_pe(&hw), 40960);
    T_EQ(hw_activation_bytes(&hw), 745500LL * 40960);
    T_NEAR(hw_io_cycles(&hw, 150e9), 850e6, 1e-12);
}

/* The power of the SwarmX nodes alone, at 1 W each, is their number.  With a fan-out of 4 the tree
 * has no level for one wafer, 1 for up to 4, 2 for up to 16, 3 for up to 64 and 4 for up to 256. */
TEST(hw, swarmx_tree)
{
    static const struct {
        int64_t n;
        int64_t nodes;
    } row[] = {{0, 0},  {1, 0},   {2, 1},   {4, 1},    {5, 3},   {16, 5},
               {17, 8}, {64, 21}, {65, 25}, {192, 64}, {256, 85}};
    struct hw_machine c = model_case_cs2();
    struct hw hw = {.cluster = &c};
    c.wafer.system_power_w = c.memoryx.shard_power_w = 0;
    c.swarmx.node_power_w = 1;
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++)
        T_NEAR(hw_cluster_power_w(&hw, row[i].n), (double)row[i].nodes, 0);
    c.swarmx.fanout = 2;
    T_NEAR(hw_cluster_power_w(&hw, 64), 63, 0);
}

TEST(hw, power_of_systems_nodes_and_shards)
{
    struct hw_machine c = model_case_cs2();
    struct hw hw = {.cluster = &c};
    T_NEAR(hw_cluster_power_w(&hw, 1), 23000 + 12000, 0);
    T_NEAR(hw_cluster_power_w(&hw, 16), 16 * 23000 + 5 * 500 + 12000, 0);
}
