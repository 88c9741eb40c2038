// SPDX-License-Identifier: Apache-2.0
/* The cost of a simulation is its messages: what K steps of one micro-batch exchange, counted
 * against the analytical count, which is linear in stages and in links (docs/SCALING.md, "Cost of a
 * simulation"; benchmarks/simulation_cost.c measures the time). */
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/comm.h>

#include <stdio.h>
#include <stdlib.h>

enum { FANOUT = 4, MOST_SETS = 5 };

struct cost_case {
    bool by_matrix;
    int layers, shards, n_steps;
    int64_t n_systems;
};

static int64_t counted(const struct cost_case *c)
{
    char text[MOST_SETS - 1][64];
    (void)snprintf(text[0], sizeof text[0], "model.num_hidden_layers=%d", c->layers);
    (void)snprintf(text[1], sizeof text[1], "cluster.memoryx.shards=%d", c->shards);
    (void)snprintf(text[2], sizeof text[2], "cluster.stream.granularity=%s",
                   c->by_matrix ? "matrix" : "block");
    (void)snprintf(text[3], sizeof text[3], "train_input.batch_size=%lld", (long long)c->n_systems);
    const char *const sets[MOST_SETS] = {text[0], text[1], text[2], text[3], NULL};
    struct small_config config;
    struct small_result r;
    struct comm *comm;
    T_OK(small_config_init(&config, c->n_systems, sets));
    T_OK(comm_create(&comm, false));
    T_OK(small_run(comm, &config, c->n_steps, NULL, &r));
    const int64_t n = comm_n_messages(comm);
    T_EQ(r.n_micro, 1);
    comm_destroy(&comm);
    small_config_fini(&config);
    return n;
}

/* Shards to the root, SwarmX nodes to their parents, wafers to their leaf switches. */
static int64_t links_of(const struct cost_case *c)
{
    int64_t n = c->shards, below = c->n_systems;
    while (below > 1) {
        n += below;
        below = (below + FANOUT - 1) / FANOUT;
    }
    return n;
}

/* A link carries weights and a credit of each stage forward and backward and its gradient, and once
 * a step losses and times.  Shards combine their norms at shard 0 (2 messages each); each begins
 * the next step with one message to itself. */
static int64_t messages_of(const struct cost_case *c)
{
    const int64_t stages = (c->by_matrix ? 4 : 1) * c->layers + 2;
    const int64_t step = links_of(c) * (5 * stages + 2) + 2 * (int64_t)(c->shards - 1);
    return c->n_steps * step + (c->n_steps - 1) * (int64_t)c->shards;
}

TEST(simulation_cost, messages_are_linear_in_stages_and_links)
{
    static const int64_t systems[] = {1, 2, 3, 4, 5, 6, 16, 17, 21, 64, 65};
    struct cost_case c;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        for (int j = 0; j < 2 * 3; j++) {
            c = (struct cost_case){.by_matrix = j % 2,
                                   .layers = 1 + j / 2,
                                   .shards = 1 + (int)(i + (size_t)j) % 3,
                                   .n_steps = 1 + (int)i % 3,
                                   .n_systems = systems[i]};
            T_EQ(counted(&c), messages_of(&c));
        }
    }
}

TEST(simulation_cost, a_thousand_systems_have_a_thousand_times_the_messages)
{
    const struct cost_case c = {.layers = 8, .shards = 1, .n_steps = 1, .n_systems = 1024};
    T_EQ(counted(&c), messages_of(&c));
    T_EQ(links_of(&c), 1 + 1024 + 256 + 64 + 16 + 4);
}
