// SPDX-License-Identifier: Apache-2.0
/* Operations that repeat with other addresses and numbers: what depends on these is not that of the
 * operation before.  Cycles as in test_rules_pe.c. */
#include "scene.h"

/* Cycles of two operations one after the other on a PE. */
static int64_t cycles_of_both(const struct mesh_op *first, const struct mesh_op *second)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    s.op[0] = *first;
    s.op[1] = *second;
    s.n_ops = 2;
    starts(&s, at(0, 0), issue_ops);
    scene_run(&s);
    const int64_t cycles = s.stats.cycles;
    scene_end(&s);
    return cycles;
}

TEST(mesh_forms, banks_are_those_of_the_operation)
{
    /* 16 elements at 4 a cycle after a set-up of 9; 8 cycles where a and b begin in one bank. */
    const struct mesh_op apart = {.code = MESH_FADDH,
                                  .dst = mesh_mem(4000, 16),
                                  .a = mesh_mem(0, 16),
                                  .b = mesh_mem(1602, 16)};
    struct mesh_op alike = apart;
    alike.b.address = 1600;
    EQ(cycles_of_both(&apart, &alike), 9 + 4 + 9 + 8);
    EQ(cycles_of_both(&alike, &apart), 9 + 8 + 9 + 4);
    EQ(cycles_of_both(&apart, &apart), 9 + 4 + 9 + 4);
}

TEST(mesh_forms, numbers_and_addresses_are_those_of_the_operation)
{
    struct scene s;
    float out[8];
    scene_init(&s, 1, 1, MESH_WSE2);
    count_up(&s, at(0, 0), 8);
    for (int i = 0; i < 2; i++)
        s.op[i] = (struct mesh_op){.code = MESH_FMACS,
                                   .dst = mesh_mem(64 + 16 * i, 4),
                                   .a = mesh_mem(128 + 16 * i, 4),
                                   .b = mesh_mem(192 + 16 * i, 4),
                                   .c = mesh_float((float)(2 + i))};
    s.n_ops = 2;
    const float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {10, 20, 30, 40, 50, 60, 70, 80};
    ok(mesh_copy_in(s.m, at(0, 0), 128, a, sizeof a));
    ok(mesh_copy_in(s.m, at(0, 0), 192, b, sizeof b));
    starts(&s, at(0, 0), issue_ops);
    scene_run(&s);
    ok(mesh_copy_out(s.m, at(0, 0), 64, out, sizeof out));
    for (int i = 0; i < 8; i++)
        EQ(out[i], a[i] + b[i] * (i < 4 ? 2.0F : 3.0F));
    scene_end(&s);
}

/* The operation with another operand a is refused as if it were the first one. */
static void refuses(int address, enum wsc_err code, const char *text)
{
    struct scene s;
    scene_init(&s, 1, 1, MESH_WSE2);
    for (int i = 0; i < 2; i++)
        s.op[i] = (struct mesh_op){.dst = mesh_mem(0, 8), .a = mesh_mem(i ? address : 64, 8)};
    s.n_ops = 2;
    starts(&s, at(0, 0), issue_ops);
    scene_fails(&s, code, text);
    scene_end(&s);
}

TEST(mesh_forms, operands_are_checked_again)
{
    refuses(49140, WSC_CAPACITY,
            "PE (0, 0): fmovs reaches bytes 49140 to 49171, outside its memory of 49152");
    refuses(-4, WSC_CAPACITY,
            "PE (0, 0): fmovs reaches bytes -4 to 27, outside its memory of 49152");
    refuses(65, WSC_USAGE, "PE (0, 0): fmovs starts at byte 65, between 16-bit words");
}

TEST(mesh_forms, memory_grows_for_a_later_operand)
{
    struct mesh_op near = {.dst = mesh_mem(0, 8), .a = mesh_mem(64, 8)}, far = near;
    far.a.address = 49152 - 32;
    /* Copies of 8 elements at 2 a cycle after a set-up of 15. */
    EQ(cycles_of_both(&near, &far), 15 + 4 + 15 + 4);
}

TEST(mesh_forms, the_route_is_that_of_the_place)
{
    struct scene s;
    scene_init(&s, 2, 2, MESH_WSE2);
    route(&s, at(0, 0), 1, MESH_RAMP, MESH_SOUTH);
    route(&s, at(0, 1), 1, MESH_NORTH, MESH_RAMP);
    hears(&s, at(0, 1), 2, 1, probe);
    sends(&s, row(0, 2), 2, 1);
    s.op[0] = (struct mesh_op){.dst = mesh_out(1, 4), .a = mesh_mem(0, 4)};
    s.n_ops = 1;
    starts(&s, row(0, 2), issue_ops);
    scene_fails(&s, WSC_USAGE, "PE (1, 0): fmovs: colour 1 has no route here");
    scene_end(&s);
}
