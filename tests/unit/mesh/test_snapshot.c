// SPDX-License-Identifier: Apache-2.0
/* A run that is resumed from a snapshot is the run that was not interrupted: every kernel, random
 * programs with their errors, observers, on any number of threads and processes. */
#include "../../support/test.h"
#include "../model/model_case.h"
#include "kernel_case.h"
#include "random_fabric.h"
#include "share_group.h"
#include "shelf.h"
#include "watch_text.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/mesh_snapshot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mesh_snapshots *snapshots_new(struct shelf *shelf, int64_t every, bool writes,
                                            bool resumes)
{
    struct mesh_snapshots *s;
    const struct mesh_snapshots_config config = {
        .archive = shelf_archive(shelf), .every = every, .writes = writes, .resumes = resumes};
    T_OK(mesh_snapshots_create(&s, &config));
    return s;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A kernel as one process runs it: with snapshots every `every` cycles on its shelf (0: none), or
 * from the snapshot shelf.from. */
struct kernel {
    const struct kernels_row *row;
    struct programs_case c;
    struct shelf shelf;
    int64_t every;
    enum wsc_err rc;
    struct programs_result r;
};

static void run_kernel(const struct mesh_share *share, void *arg)
{
    struct kernel *k = arg;
    struct mesh_snapshots *s = NULL;
    if (k->every || k->shelf.from)
        s = snapshots_new(&k->shelf, k->every, k->every != 0, k->shelf.from != NULL);
    k->c.share = share;
    k->c.snapshots = s;
    k->rc = kernels_row_run(k->row, &k->c, &k->r);
    mesh_snapshots_destroy(&s);
}

static void expect_same(const struct kernel *a, const struct kernel *b, const char *how, int number)
{
    const bool same = a->rc == b->rc && !memcmp(&a->r.stats, &b->r.stats, sizeof a->r.stats) &&
                      a->r.max_error >= b->r.max_error && a->r.max_error <= b->r.max_error &&
                      a->r.tile_mean >= b->r.tile_mean && a->r.tile_mean <= b->r.tile_mean;
    if (!same)
        (void)printf("%s %s %d: %d after %lld cycles, expected %d after %lld: %s\n", a->row->name,
                     how, number, (int)a->rc, (long long)a->r.stats.cycles, (int)b->rc,
                     (long long)b->r.stats.cycles, wsc_err_message());
    CU_ASSERT(same);
}

/* Continue from @p shot on @p threads threads, or on @p parts processes. */
static void resume(const struct kernel *one, const struct shelf_shot *shot, int threads, int parts)
{
    struct kernel of[SHARE_MOST];
    for (int p = 0; p < parts; p++) {
        of[p] = (struct kernel){.row = one->row, .c = one->c, .shelf = {.from = shot}};
        of[p].c.threads = threads;
    }
    if (parts == 1)
        run_kernel(NULL, of);
    else
        (void)share_group_run(parts, run_kernel, of, sizeof *of);
    for (int p = 0; p < parts; p++)
        expect_same(&of[p], one, parts > 1 ? "resumed on processes" : "resumed on threads",
                    parts > 1 ? parts : threads);
}

/* Snapshots of @p parts processes together, on @p shelf. */
static void take_shots(const struct kernel *one, int64_t every, int parts, struct shelf *shelf)
{
    struct kernel of[SHARE_MOST];
    for (int p = 0; p < parts; p++)
        of[p] = (struct kernel){.row = one->row, .c = one->c, .every = every};
    if (parts == 1)
        run_kernel(NULL, of);
    else
        (void)share_group_run(parts, run_kernel, of, sizeof *of);
    *shelf = of[0].shelf;
    for (int p = 0; p < parts; p++) {
        expect_same(&of[p], one, "with snapshots on processes", parts);
        if (p) shelf_merge(shelf, &of[p].shelf);
        if (p) shelf_free(&of[p].shelf);
    }
}

static void check_kernel(const struct kernels_row *row, const struct programs_case *c, int parts)
{
    struct kernel one = {.row = row, .c = *c};
    struct shelf shelf;
    run_kernel(NULL, &one);
    T_OK(one.rc);
    take_shots(&one, one.r.stats.cycles / 4 + 1, parts, &shelf);
    CU_ASSERT(shelf.n >= 1 && shelf.n <= 4);
    for (int k = 0; k < shelf.n; k++) {
        resume(&one, &shelf.shot[k], 1 + (k + parts) % 4, 1);
        if (c->h > 1) resume(&one, &shelf.shot[k], 1 + k % 2, parts == 3 ? 2 : 3);
    }
    shelf_free(&shelf);
}

/* Each algorithm of the row, or the one that the row has. A ring and a ktree need one row of PEs,
 * summa a square. */
static void check_algos(const struct kernels_row *row, const struct programs_case *c, int parts)
{
    char algos[100], *next = NULL;
    (void)snprintf(algos, sizeof algos, "%s", row->algos ? row->algos : "");
    const char *algo = strtok_r(algos, " ", &next);
    do {
        const bool row_only = algo && (!strcmp(algo, "ring") || !strcmp(algo, "ktree"));
        struct programs_case of = *c;
        of.algo = algo;
        if (algo && !strcmp(algo, "summa")) of.w = of.h;
        if (row_only) of.h = 1;
        check_kernel(row, &of, row_only ? 1 : parts);
    } while (algo && (algo = strtok_r(NULL, " ", &next)));
}

/* Few non-zeros: the gradient of these alone, whose tasks count in an array of its own. */
TEST(mesh_snapshot, a_resumed_gradient_of_few_weights_is_the_same)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    const struct kernels_row *row;
    T_OK(kernels_row_find("wgrad", &row));
    struct programs_case c = kernel_case(row, &hw, MESH_WSE3);
    c.m = 34;
    c.k = 33;
    c.density = 0.01;
    for (int format = 0; format < 2; format++) {
        c.format = format ? NUM_FP16 : NUM_FP32;
        for (int parts = 1; parts <= 2; parts++)
            check_kernel(row, &c, parts);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_KERNELS), 0);
}

TEST(mesh_snapshot, resumed_kernels_are_the_same)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    for (int i = 0; kernels_row_at(i); i++) {
        const struct kernels_row *row = kernels_row_at(i);
        struct programs_case c = kernel_case(row, &hw, (enum mesh_arch)(i % 2));
        if (i % 3 == 0) c.density = 1;
        check_algos(row, &c, 1 + i % 3);
        struct programs_case back = c;
        back.backward = true;
        if (row->gradient) check_kernel(row, &back, 3 - i % 3);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- random programs ------------------------------------------------------------------------- */

struct trial {
    const struct random_case *c;
    struct shelf shelf;
    int64_t every;
    struct outcome out;
    struct case_log log;
};

static void run_trial(const struct mesh_share *share, void *arg)
{
    struct trial *t = arg;
    struct mesh_snapshots *s = NULL;
    if (t->every || t->shelf.from)
        s = snapshots_new(&t->shelf, t->every, t->every != 0, t->shelf.from != NULL);
    case_run_on(t->c, &(struct case_host){.share = share, .snapshots = s}, &t->out, &t->log);
    mesh_snapshots_destroy(&s);
}

static bool same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->rc == b->rc && !strcmp(a->text, b->text) &&
           (a->rc || !memcmp(&a->stats, &b->stats, sizeof a->stats)) && a->memory == b->memory &&
           a->output == b->output && a->left_edge == b->left_edge;
}

static int check_trials(struct trial *t, const struct trial *one, int n, uint64_t seed,
                        const char *how)
{
    int differ = 0;
    for (int p = 0; p < n; p++) {
        if (same_outcome(&t[p].out, &one->out)) continue;
        differ++;
        (void)printf("seed %d, %s %d: %s\n  alone: %s\n", (int)seed, how, p, t[p].out.text,
                     one->out.text);
    }
    return differ;
}

/* Straight, with snapshots, and from each of up to three of them alone and on processes. */
static int check_random(struct trial *t, struct trial *one, uint64_t seed)
{
    const int parts = one->c->h < 3 ? one->c->h : 3;
    int differ = 0;
    one->every = 0;
    run_trial(NULL, one);
    one->every = 1 + (int64_t)(seed % 37);
    *t = (struct trial){.c = one->c, .every = one->every};
    run_trial(NULL, t);
    struct shelf shelf = t->shelf;
    differ += check_trials(t, one, 1, seed, "with snapshots");
    const int step = shelf.n / 3 + 1;
    for (int k = 0; k < shelf.n && !differ; k += step) {
        for (int p = 0; p < parts; p++)
            t[p] = (struct trial){.c = one->c, .shelf = {.from = &shelf.shot[k]}};
        run_trial(NULL, t);
        differ += check_trials(t, one, 1, seed, "resumed alone");
        (void)share_group_run(parts, run_trial, t, sizeof *t);
        differ += check_trials(t, one, parts, seed, "resumed as process");
    }
    shelf_free(&shelf);
    return differ;
}

TEST(mesh_snapshot, resumed_random_programs_end_the_same)
{
    enum { CASES = 250 };
    struct random_case *c = calloc(1, sizeof *c);
    struct trial *trial = calloc(SHARE_MOST, sizeof *trial);
    int differ = 0;
    for (uint64_t seed = 1; seed <= CASES && differ < 3; seed++) {
        case_draw(c, seed);
        trial[SHARE_MOST - 1] = (struct trial){.c = c};
        differ += check_random(trial, &trial[SHARE_MOST - 1], seed);
    }
    T_EQ(differ, 0);
    free(trial);
    free(c);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- observers ------------------------------------------------------------------------------- */

/* A kernel that @p parts processes watch: what the first of them shows; the others show the same.
 */
static char *watched(struct kernel *k, int parts)
{
    struct kernel of[SHARE_MOST];
    char *text = NULL;
    for (int p = 0; p < parts; p++) {
        of[p] = *k;
        of[p].c.watch = watch_all(k->c.w, k->c.h, 20000);
    }
    if (parts == 1)
        run_kernel(NULL, of);
    else
        (void)share_group_run(parts, run_kernel, of, sizeof *of);
    for (int p = 0; p < parts; p++) {
        T_OK(of[p].rc);
        char *its = watch_text(of[p].c.watch, k->c.w, k->c.h);
        mesh_watch_destroy(&of[p].c.watch);
        if (text) T_STR(its, text);
        if (p) shelf_merge(&of[0].shelf, &of[p].shelf);
        if (p) shelf_free(&of[p].shelf);
        if (text)
            free(its);
        else
            text = its;
    }
    *k = of[0];
    return text;
}

static void check_watched(const char *name, const struct programs_case *c, int parts)
{
    struct kernel one = {.c = *c}, saved;
    T_OK(kernels_row_find(name, &one.row));
    char *expected = watched(&one, 1);
    saved = (struct kernel){.row = one.row, .c = *c, .every = one.r.stats.cycles / 3 + 1};
    char *same = watched(&saved, parts);
    T_STR(same, expected);
    free(same);
    CU_ASSERT(saved.shelf.n >= 2);
    for (int k = 0; k < saved.shelf.n; k++) {
        struct kernel again = {.row = one.row, .c = *c, .shelf = {.from = &saved.shelf.shot[k]}};
        again.c.threads = 1 + k % 3;
        char *text = watched(&again, k % 2 ? 1 : 4 - parts);
        T_STR(text, expected);
        free(text);
    }
    shelf_free(&saved.shelf);
    free(expected);
}

/* Snapshots while it is watched, before and after: a kernel of one program, and one of several of
 * which the longest is watched; written and continued by one process or several. */
TEST(mesh_snapshot, what_was_watched_is_the_same)
{
    static const char *const name[] = {"allreduce", "attention", "gemm"};
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    for (int i = 0; i < 9; i++)
        check_watched(name[i % 3],
                      &(struct programs_case){.w = 4,
                                              .h = 5,
                                              .words = 9,
                                              .m = 10,
                                              .n = 7,
                                              .k = 8,
                                              .tokens = 9,
                                              .samples = 1,
                                              .heads = 2,
                                              .head_dim = 4,
                                              .hw = &hw,
                                              .seed = 3},
                      1 + i / 3);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- stops and refusals ---------------------------------------------------------------------- */

/* True from the third question on; it is asked after each batch of cycles. */
static bool asked_thrice(void *ctx)
{
    int *n = ctx;
    return ++*n >= 3;
}

TEST(mesh_snapshot, a_stop_writes_one_and_ends_the_run)
{
    int asked = 0;
    long long before = 0;
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct kernel one = {.c = {.w = 4, .h = 3, .words = 9, .hw = &hw, .seed = 3}}, again, stopped;
    T_OK(kernels_row_find("allreduce", &one.row));
    again = stopped = one;
    run_kernel(NULL, &one);
    stopped.every = 1000000;
    stopped.c.stop = asked_thrice;
    stopped.c.progress_ctx = &asked;
    run_kernel(NULL, &stopped);
    T_EQ(stopped.rc, WSC_INTERRUPTED);
    static const char why[] = "stopped by a signal before cycle ";
    CU_ASSERT_FATAL(strncmp(wsc_err_message(), why, strlen(why)) == 0);
    before = strtoll(wsc_err_message() + strlen(why), NULL, 10);
    T_EQ(asked, 3);
    CU_ASSERT(before >= 3 && before < one.r.stats.cycles);
    T_EQ(stopped.shelf.n, 1);
    again.shelf.from = stopped.shelf.shot;
    run_kernel(NULL, &again);
    expect_same(&again, &one, "stopped and resumed", 0);
    shelf_free(&stopped.shelf);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* Damage that no checksum has found: an error or another result, never a crash. */
TEST(mesh_snapshot, damaged_words_do_no_harm)
{
    const struct hw_machine cluster = model_case_cs2();
    const struct hw hw = {.cluster = &cluster};
    struct kernel one = {.c = {.w = 3, .h = 3, .words = 9, .hw = &hw, .seed = 3}};
    T_OK(kernels_row_find("allreduce", &one.row));
    one.every = 20;
    run_kernel(NULL, &one);
    CU_ASSERT_FATAL(one.shelf.n >= 1);
    struct shelf_shot *shot = &one.shelf.shot[0];
    int64_t n = shot->array[0].n, refused = 0;
    for (int64_t i = 0; i < n; i++) {
        struct kernel again = {.row = one.row, .c = one.c, .shelf = {.from = shot}};
        struct mesh_snapshots *s = NULL;
        const struct mesh_snapshots_config config = {.archive = shelf_archive(&again.shelf),
                                                     .resumes = true};
        shot->word[0][i] += INT64_C(1) << 40;
        again.rc = mesh_snapshots_create(&s, &config);
        again.c.snapshots = s;
        if (!again.rc) again.rc = kernels_row_run(again.row, &again.c, &again.r);
        refused += again.rc != WSC_OK;
        mesh_snapshots_destroy(&s);
        shot->word[0][i] -= INT64_C(1) << 40;
    }
    CU_ASSERT(refused > n / 2);
    struct kernel other = {.row = one.row, .c = one.c, .shelf = {.from = shot}};
    other.c.w = 4;
    run_kernel(NULL, &other);
    T_EQ(other.rc, WSC_FORMAT);
    T_STR(wsc_err_message(), "snapshot: it is of another run");
    shelf_free(&one.shelf);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}
