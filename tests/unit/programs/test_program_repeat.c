// SPDX-License-Identifier: Apache-2.0
/* Programs that are played from recordings: a step after others with other weights and tokens has
 * the bits and cycles of one whose programs are all simulated, for models whose operations repeat;
 * others are simulated. */
#include "program_fixture.h"

#include "../../support/test.h"
#include "../model/model_case.h"

#include <wsc/mem.h>
#include <wsc/num.h>

enum { EARLIER = 3 };

/* @p plays: most of its programs repeat. */
static void check(const struct fixture *f, int64_t leaf_samples,
                  const struct program_fabric *fabric, struct program_masked masked, bool plays)
{
    const int64_t n_leaves = fixture_n_leaves(f, leaf_samples);
    const struct fixture_run run = {.end_leaf = n_leaves, .leaf_samples = leaf_samples};
    struct fixture_result fresh = {0}, later = {0};
    int64_t fresh_cycles, later_cycles;
    program_step(f, &run, fabric, &masked, &fresh, &fresh_cycles);
    T_EQ(program_repeats.played, 0);
    masked.earlier = EARLIER;
    program_step(f, &run, fabric, &masked, &later, &later_cycles);
    CU_ASSERT(plays ? program_repeats.played > 20 : program_repeats.played == 0);
    T_EQ(program_repeats.different, 0);
    T_EQ(program_repeats.refused, 0);
    T_EQ(fresh_cycles, later_cycles);
    program_same_step(f, &fresh, &later);
    fixture_result_destroy(f, &fresh);
    fixture_result_destroy(f, &later);
}

static void check_shape(const struct fixture_shape *shape, int64_t leaf_samples,
                        const struct program_fabric *fabric, struct program_masked masked,
                        bool plays)
{
    struct fixture f;
    fixture_create(&f, shape);
    check(&f, leaf_samples, fabric, masked, plays);
    fixture_destroy(&f);
}

TEST(pe_repeat, a_played_step_has_the_bits_of_a_simulated_one)
{
    struct fixture_shape shape = {
        .L = 2, .C = 12, .H = 3, .F = 21, .V = 19, .T = 7, .n_samples = 3, .tied = true};
    const struct program_fabric one_lane = {5, 3, 1, 1}, slow_hops = {4, 4, 2, 1},
                                two_lanes = {10, 3, 1, 2};
    const struct program_masked plain = {0};
    for (int i = 0; i < 2; i++) {
        shape.format = i ? NUM_BF16 : NUM_FP32;
        check_shape(&shape, 1, &one_lane, plain, true);
        check_shape(&shape, 2, &slow_hops, plain, true);
        check_shape(&shape, 1, &two_lanes, plain, true);
    }
    shape.format = NUM_FP32;
    shape.nonlinearity = ZOO_RELU;
    shape.no_bias = shape.matrices = true;
    check_shape(&shape, 1, &(struct program_fabric){2, 3, 1, 1}, plain, true);
    check_shape(&shape, 1, &(struct program_fabric){2, 8, 1, 1}, plain, true);
}

TEST(pe_repeat, what_depends_on_values_is_simulated)
{
    struct fixture_shape shape = {
        .L = 1, .C = 12, .H = 3, .F = 21, .V = 19, .T = 7, .n_samples = 2};
    const struct program_fabric fabric = {5, 3, 1, 1};
    check_shape(&shape, 1, &fabric, (struct program_masked){.every = 3, .shown = true}, false);
}

/* Heads that share keys, norms without means, rotary positions, gates. */
TEST(pe_repeat, families_play)
{
    for (int family = 0; family < 3; family++) {
        struct zoo_params p = program_params(4, 6);
        struct fixture f;
        if (family) p.model.position_embedding_type = ZOO_POSITION_ROTARY;
        if (family) p.model.rotary_dim = 4;
        if (family == 2) p.model.norm_type = ZOO_RMSNORM;
        if (family == 2) p.model.num_kv_groups = 2;
        fixture_create_of(&f, &p, 2);
        check(&f, 1, &(struct program_fabric){6, 4, 1, 1}, (struct program_masked){0}, true);
        fixture_destroy(&f);
    }
}
