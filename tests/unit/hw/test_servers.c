// SPDX-License-Identifier: Apache-2.0
/* What the systems of a cluster share: input workers, activation servers, the coordinator; and what
 * packets leave of the rates of links.  Expected values by hand. */
#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/conf.h>
#include <wsc/hw.h>

#include <stdio.h>
#include <string.h>

enum { MS = 1000000000 };

static struct hw_machine with_workers(void)
{
    struct hw_machine c = model_case_cs2();
    c.effects.input = true;
    c.input = (struct hw_feed){.rate_bytes_per_s = 1000000000,
                               .bytes_per_token = 12,
                               .workers = 2,
                               .workers_per_node = 4,
                               .worker_tokens_per_s = 1000000};
    return c;
}

/* Of training samples without a time of their own. */
static int64_t input_ps(const struct hw *hw, int wafer, int64_t n_tokens)
{
    const struct hw_samples samples = {.n = 1, .n_tokens = n_tokens};
    return hw_input_ps(hw, wafer, &samples);
}

/* 2 workers make 2 M tokens/s; the port carries 83.3 M.  One node of 4 workers for 4 systems leaves
 * one worker for each. */
TEST(hw_servers, input_is_made_by_workers)
{
    struct hw_machine c = with_workers();
    struct hw hw = {.cluster = &c};
    T_EQ(input_ps(&hw, 0, 20000), 10LL * MS);
    c.input.workers = 8; /* more than the node runs */
    T_EQ(input_ps(&hw, 0, 20000), 5LL * MS);
    c.input.workers = 2;
    hw.n_csx = 4;
    T_EQ(input_ps(&hw, 0, 20000), 10LL * MS); /* a node for each */
    c.input.nodes = 2;
    T_EQ(input_ps(&hw, 0, 20000), 10LL * MS); /* 8 workers for 4 systems */
    c.input.nodes = 1;
    T_EQ(input_ps(&hw, 0, 20000), 20LL * MS);
    c.effects.input = false;
    T_EQ(input_ps(&hw, 0, 20000), 0);
}

/* 100 samples of 200 tokens: 1 ms for each sample and 0.2 ms for its tokens, by 2 workers with 3
 * loaders each in training and none in evaluation, where the node runs 4 processes. */
TEST(hw_servers, loaders_share_the_samples)
{
    struct hw_machine c = with_workers();
    struct hw hw = {.cluster = &c};
    struct hw_samples samples = {.n = 100, .n_tokens = 20000};
    c.input.sample_ps = MS;
    c.input.loaders = 3;
    T_EQ(hw_input_ps(&hw, 0, &samples), 30LL * MS); /* 4 of 6 processes */
    c.input.workers_per_node = 0;
    T_EQ(hw_input_ps(&hw, 0, &samples), 20LL * MS);
    samples.evaluation = true;
    T_EQ(hw_input_ps(&hw, 0, &samples), 60LL * MS);
    c.input.workers_per_node = 1;
    c.input.nodes = 1;
    hw.n_csx = 4; /* a quarter of a process */
    T_EQ(hw_input_ps(&hw, 0, &samples), 480LL * MS);
}

/* A part of a process need not be a whole number of thousandths. */
TEST(hw_servers, parts_of_processes_are_exact)
{
    struct hw_machine c = with_workers();
    struct hw hw = {.cluster = &c, .n_csx = 700};
    const struct hw_samples samples = {.n = 100, .n_tokens = 20000};
    c.input.sample_ps = MS;
    c.input.workers_per_node = 1;
    c.input.nodes = 1;
    T_EQ(hw_input_ps(&hw, 0, &samples), 700 * (100LL * MS + 20LL * MS));
    c.input.nodes = 3;
    hw.n_csx = 4096;
    T_EQ(hw_input_ps(&hw, 0, &samples), 4096LL * 120 * MS / 3);
}

/* 1 GB/s of one port for 12 B a token; a node that four systems share leaves a quarter. */
TEST(hw_servers, input_passes_the_port_of_a_node)
{
    struct hw_machine c = with_workers();
    struct hw hw = {.cluster = &c, .n_csx = 4};
    c.input.worker_tokens_per_s = 0; /* no limit */
    T_EQ(input_ps(&hw, 0, 1000000), 12LL * MS);
    c.input.nodes = 1;
    T_EQ(input_ps(&hw, 0, 1000000), 48LL * MS);
    c.input.eval_packed = true;
    T_EQ(input_ps(&hw, 0, 1000000), 48LL * MS);
    c.input.packed = true; /* two numbers more */
    T_EQ(input_ps(&hw, 0, 1000000), 80LL * MS);
}

TEST(hw_servers, spilled_activations_take_the_narrowest_way)
{
    struct hw_machine c = model_case_cs2();
    struct hw hw = {.cluster = &c, .n_csx = 8};
    const int64_t gb = 1000000000;
    T_EQ(hw_spill_rate(&hw), c.wafer.io_rate_bytes_per_s);
    c.activation.rate_bytes_per_s = 100 * gb;
    T_EQ(hw_spill_rate(&hw), 100 * gb);
    c.activation.nodes = 2; /* a quarter of a node for each */
    T_EQ(hw_spill_rate(&hw), 25 * gb);
    c.activation.nodes = 8;
    c.activation.servers = 3;
    c.activation.server_rate_bytes_per_s = 12 * gb;
    T_EQ(hw_spill_rate(&hw), 36 * gb);
    T_NEAR(hw_spill_cycles(&hw, 36e9), (double)c.wafer.clock_hz, 1e-12);
}

TEST(hw_servers, one_system_needs_no_coordination)
{
    struct hw_machine c = model_case_cs2();
    struct hw hw = {.cluster = &c, .n_csx = 1};
    c.control = (struct hw_control){.latency_ps = 100, .per_system_ps = 7};
    T_EQ(hw_control_ps(&hw), 0);
    hw.n_csx = 2;
    T_EQ(hw_control_ps(&hw), 214);
    hw.n_csx = 64;
    T_EQ(hw_control_ps(&hw), 648);
}

/* 4096 of 4178 bytes are payload; without the network's mechanisms all of them. */
TEST(hw_servers, headers_take_their_part_of_links)
{
    struct hw_machine c, out;
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, NULL, 0));
    T_EQ(c.swarmx.header_bytes, 82);
    hw_apply_effects(&out, &c);
    T_EQ(out.memoryx.link_rate_bytes_per_s, 12500000000LL * 4096 / 4178);
    T_EQ(out.swarmx.link_rate_bytes_per_s, 150000000000LL * 4096 / 4178);
    T_EQ(out.wafer.io_rate_bytes_per_s, 150000000000LL * 4096 / 4178);
    c.effects.network = false;
    hw_apply_effects(&out, &c);
    T_EQ(out.memoryx.link_rate_bytes_per_s, 12500000000LL);
    T_EQ(out.swarmx.link_rate_bytes_per_s, 150000000000LL);
    hw_machine_fini(&c);
}

/* A packet of 4096 bytes on one of 12 planes of 150 GB/s. */
TEST(hw_servers, a_stored_packet_takes_its_time_on_a_plane)
{
    struct hw_machine c;
    const struct hw hw = {.cluster = &c};
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, NULL, 0));
    T_EQ(hw_packet_ps(&hw, 150000000000LL), 0);
    c.swarmx.forwarding = HW_STORE_PACKET;
    T_EQ(hw_packet_ps(&hw, 150000000000LL), 327680);
    hw_machine_fini(&c);
}

/* Every key `effects.*` is listed under its name, apart from the two that act between steps. */
TEST(hw_servers, every_switch_is_listed)
{
    const struct conf_table *table = hw_machine_table();
    struct hw_machine c;
    const char *name;
    char path[64];
    int n_listed = 0, n_keys = 0;
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, NULL, 0));
    for (; hw_effect(&c, n_listed, &name); n_listed++) {
        (void)snprintf(path, sizeof path, "effects.%s", name);
        CU_ASSERT(conf_keys_find(table, path) >= 0);
    }
    for (int i = 0; i < table->n; i++)
        n_keys += !strncmp(table->key[i].path, "effects.", 8);
    CU_ASSERT(conf_keys_find(table, "effects.checkpoint") >= 0);
    CU_ASSERT(conf_keys_find(table, "effects.restarts") >= 0);
    T_EQ(n_keys, n_listed + 2);
    hw_machine_fini(&c);
}

/* Each switch makes what belongs to it neutral. */
TEST(hw_servers, mechanisms_are_switched_off)
{
    struct hw_machine c, out;
    const char *name;
    bool *on;
    T_OK(hw_machine_parse(&c, NULL, NULL, 0, NULL, 0));
    for (int i = 0; (on = hw_effect(&c, i, &name)); i++) {
        CU_ASSERT(*on && strlen(name) > 3);
        *on = false;
    }
    c.effects.checkpoint = c.effects.restarts = false;
    hw_apply_effects(&out, &c);
    const struct hw hw = {.cluster = &out, .n_csx = 64};
    T_EQ(hw_control_ps(&hw) + input_ps(&hw, 3, 1000000), 0);
    T_EQ(hw_spill_rate(&hw), out.wafer.io_rate_bytes_per_s);
    T_EQ(out.checkpoint.rate_params_per_s, 0);
    CU_ASSERT(out.reliability.mtbf_hours == 0 && out.jitter == 0 && out.memoryx.incast == 1);
    hw_machine_fini(&c);
}
