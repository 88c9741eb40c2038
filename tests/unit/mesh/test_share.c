// SPDX-License-Identifier: Apache-2.0
/* Bands of rows in several processes: nothing that can be seen depends on their number. */
#include "../../support/test.h"
#include "../model/model_case.h"
#include "kernel_case.h"
#include "random_fabric.h"
#include "share_group.h"
#include "watch_text.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels --------------------------------------------------------------------------------- */

/* A kernel as one process runs it. */
struct kernel {
    const struct kernels_row *row;
    struct programs_case c;
    enum wsc_err rc;
    struct programs_result r;
};

static void run_kernel(const struct mesh_share *share, void *arg)
{
    struct kernel *k = arg;
    k->c.share = share;
    k->rc = kernels_row_run(k->row, &k->c, &k->r);
}

/* All processes get what one gets, the comparison with the host included. */
static void compare_kernel(const struct kernels_row *row, const struct programs_case *c, int parts)
{
    struct kernel one = {.row = row, .c = *c}, of[SHARE_MOST];
    run_kernel(NULL, &one);
    for (int p = 0; p < parts; p++)
        of[p] = (struct kernel){.row = row, .c = *c};
    (void)share_group_run(parts, run_kernel, of, sizeof *of);
    CU_ASSERT(!one.rc);
    for (int p = 0; p < parts; p++) {
        const bool same =
            of[p].rc == one.rc && !memcmp(&of[p].r.stats, &one.r.stats, sizeof one.r.stats) &&
            of[p].r.max_error >= one.r.max_error && of[p].r.max_error <= one.r.max_error;
        if (!same) (void)printf("%s: process %d of %d differs\n", row->name, p, parts);
        CU_ASSERT(same);
    }
}

TEST(mesh_share, kernels_count_the_same)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    for (int i = 0; kernels_row_at(i); i++) {
        const struct kernels_row *row = kernels_row_at(i);
        struct programs_case c = kernel_case(row, &hw, (enum mesh_arch)(i % 2));
        c.threads = 1 + i % 3 / 2;
        compare_kernel(row, &c, 2 + i % 3);
        struct programs_case back = c;
        back.backward = true;
        if (i % 2) compare_kernel(row, &back, 6);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* Bands of several blocks, of which those away from the border run a batch before the others do,
 * with words that stream over every border. */
TEST(mesh_share, bands_of_several_blocks_count_the_same)
{
    static const char *const kernel[] = {"allreduce", "gemm", "layernorm"};
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    for (int i = 0; i < (int)(sizeof kernel / sizeof *kernel); i++) {
        const struct kernels_row *row = NULL;
        T_OK(kernels_row_find(kernel[i], &row));
        for (int parts = 2; parts <= 5; parts++)
            compare_kernel(row,
                           &(struct programs_case){.w = 20,
                                                   .h = 64,
                                                   .arch = (enum mesh_arch)(parts % 2),
                                                   .words = 15,
                                                   .m = 6,
                                                   .n = 70,
                                                   .k = 25,
                                                   .tokens = 64,
                                                   .samples = 1,
                                                   .features = 24,
                                                   .threads = 1 + parts / 3,
                                                   .hw = &hw,
                                                   .seed = 6},
                           parts);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* While sums go along the rows nothing crosses a border, and nobody waits for the others. */
TEST(mesh_share, bands_run_ahead_while_nothing_crosses)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct kernel one = {
        .c = {.algo = "chain", .w = 60, .h = 9, .words = 200, .hw = &hw, .seed = 5}};
    struct kernel of[SHARE_MOST];
    T_OK(kernels_row_find("allreduce", &one.row));
    for (int p = 0; p < 3; p++)
        of[p] = one;
    run_kernel(NULL, &one);
    const int64_t exchanges = share_group_run(3, run_kernel, of, sizeof *of);
    for (int p = 0; p < 3; p++)
        CU_ASSERT(!of[p].rc && !memcmp(&of[p].r.stats, &one.r.stats, sizeof one.r.stats));
    if (exchanges > one.r.stats.cycles * 3 / 4)
        (void)printf("%lld exchanges in %lld cycles\n", (long long)exchanges,
                     (long long)one.r.stats.cycles);
    CU_ASSERT(exchanges <= one.r.stats.cycles * 3 / 4);
}

/* ---- random programs ------------------------------------------------------------------------- */

/* A random case as one process runs it. */
struct trial {
    const struct random_case *c;
    struct outcome out;
    struct case_log log;
};

static void run_trial(const struct mesh_share *share, void *arg)
{
    struct trial *t = arg;
    case_run_on(t->c, &(struct case_host){.share = share}, &t->out, &t->log);
}

static bool same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->rc == b->rc && !strcmp(a->text, b->text) &&
           !memcmp(&a->stats, &b->stats, sizeof a->stats) && a->memory == b->memory &&
           a->output == b->output && a->left_edge == b->left_edge;
}

/* Faulty and wild programs, deadlocks and runs over their limit among them: the same counts,
 * memories, words over the edges and messages. */
TEST(mesh_share, random_programs_end_the_same)
{
    enum { CASES = 400 };
    struct random_case *c = calloc(1, sizeof *c);
    struct trial *trial = calloc(SHARE_MOST, sizeof *trial);
    int ended_well = 0, differ = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        case_draw(c, seed);
        int parts = 2 + (int)(seed % 4);
        if (parts > c->h) parts = c->h;
        for (int p = 0; p < SHARE_MOST; p++)
            trial[p].c = c;
        run_trial(NULL, &trial[parts]);
        (void)share_group_run(parts, run_trial, trial, sizeof *trial);
        ended_well += !trial[parts].out.rc;
        for (int p = 0; p < parts; p++) {
            if (same_outcome(&trial[p].out, &trial[parts].out)) continue;
            if (differ++ < 3)
                (void)printf("seed %d, process %d of %d: %s\n  alone: %s\n", (int)seed, p, parts,
                             trial[p].out.text, trial[parts].out.text);
        }
    }
    T_EQ(differ, 0);
    CU_ASSERT(ended_well > CASES / 10);
    free(trial);
    free(c);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- observers ------------------------------------------------------------------------------- */

static void run_watched_kernel(const struct mesh_share *share, void *arg)
{
    struct kernel *k = arg;
    k->c.watch = watch_all(k->c.w, k->c.h, 5000);
    run_kernel(share, k);
}

/* What one process shows of a kernel, or its error. */
static char *shown(struct kernel *k)
{
    char *text = k->rc ? strdup("an error") : watch_text(k->c.watch, k->c.w, k->c.h);
    mesh_watch_destroy(&k->c.watch);
    return text;
}

/* Every process shows what one shows. */
static void compare_watched(const struct kernels_row *row, const struct programs_case *c, int parts)
{
    struct kernel one = {.row = row, .c = *c}, of[SHARE_MOST];
    run_watched_kernel(NULL, &one);
    CU_ASSERT(!one.rc);
    char *expected = shown(&one);
    for (int p = 0; p < parts; p++)
        of[p] = (struct kernel){.row = row, .c = *c};
    (void)share_group_run(parts, run_watched_kernel, of, sizeof *of);
    for (int p = 0; p < parts; p++) {
        char *text = shown(&of[p]);
        const bool same = !strcmp(text, expected);
        if (!same) (void)printf("%s: process %d of %d shows something else\n", row->name, p, parts);
        CU_ASSERT(same);
        free(text);
    }
    free(expected);
}

TEST(mesh_share, watched_kernels_show_the_same)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    for (int i = 0; kernels_row_at(i); i++) {
        const struct kernels_row *row = kernels_row_at(i);
        struct programs_case c = kernel_case(row, &hw, (enum mesh_arch)(i % 2));
        c.threads = 1 + i % 3 / 2;
        compare_watched(row, &c, 2 + i % 3);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* A random case as one process watches it. */
struct seen {
    const struct random_case *c;
    struct outcome out;
    struct case_log log;
    struct mesh_watch *watch;
};

static void run_seen(const struct mesh_share *share, void *arg)
{
    struct seen *t = arg;
    t->watch = watch_all(t->c->w, t->c->h, 2000);
    case_run_on(t->c, &(struct case_host){.share = share, .watch = t->watch}, &t->out, &t->log);
}

/* What a trial shows, or the message of its error. */
static char *seen_text(struct seen *t)
{
    char *text = t->out.rc ? strdup(t->out.text) : watch_text(t->watch, t->c->w, t->c->h);
    mesh_watch_destroy(&t->watch);
    return text;
}

TEST(mesh_share, watched_random_programs_show_the_same)
{
    enum { CASES = 200 };
    struct random_case *c = calloc(1, sizeof *c);
    struct seen *seen = calloc(SHARE_MOST, sizeof *seen);
    int differ = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        case_draw(c, seed);
        const int parts = c->h < 2 + (int)(seed % 4) ? c->h : 2 + (int)(seed % 4);
        for (int p = 0; p < SHARE_MOST; p++)
            seen[p].c = c;
        run_seen(NULL, &seen[parts]);
        char *expected = seen_text(&seen[parts]);
        (void)share_group_run(parts, run_seen, seen, sizeof *seen);
        for (int p = 0; p < parts; p++) {
            char *text = seen_text(&seen[p]);
            if (strcmp(text, expected) != 0 && differ++ < 3)
                (void)printf("seed %d, process %d of %d differs\n", (int)seed, p, parts);
            free(text);
        }
        free(expected);
    }
    T_EQ(differ, 0);
    free(seen);
    free(c);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(mesh_share, more_processes_than_rows_are_refused)
{
    const struct mesh_share share = {.part = 0, .parts = 4};
    struct mesh *m;
    T_EQ(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 3, .share = &share}), WSC_USAGE);
    T_STR(wsc_err_message(), "mesh: 4 processes share a fabric of 3 rows");
    CU_ASSERT_PTR_NULL(m);
}
