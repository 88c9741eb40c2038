// SPDX-License-Identifier: Apache-2.0
/* Streams have a short way through a cycle, which an observed run never takes: both must agree in
 * cycles, counts and values.  PE 0 sends, PE 1 copies or adds, PE 2 takes what PE 1 sends. */
#include "scene.h"

#include <string.h>

enum { FROM_WEST = 1, TO_EAST = 2, OWN = 512, OUT = 1024, SPARE = 2048, LONGEST = 40 };

/* What PE 1 does: operands of an element. */
enum operand { NOTHING, WAVELET, MEMORY, ROWS, NUMBER };
struct form {
    enum mesh_code code;
    enum operand a, b;
    bool sends;
};
static const struct form forms[] = {
    {MESH_FMOVS, WAVELET, NOTHING, false}, /* store */
    {MESH_FMOVS, WAVELET, NOTHING, true},  /* pass on */
    {MESH_FMOVS, MEMORY, NOTHING, true},   /* send */
    {MESH_FMOVS, ROWS, NOTHING, true},     /* send rows */
    {MESH_FMOVS, NUMBER, NOTHING, true},   /* send a number */
    {MESH_FADDS, WAVELET, MEMORY, false},  /* add to memory */
    {MESH_FADDS, WAVELET, MEMORY, true},   /* add and pass on */
    {MESH_FADDS, MEMORY, WAVELET, true},   /* add and pass on, in the other order */
    {MESH_FADDS, WAVELET, ROWS, true},     /* add rows and pass on */
    {MESH_FADDS, WAVELET, NUMBER, false},  /* add a number */
    {MESH_FADDS, MEMORY, MEMORY, true},    /* send sums */
    {MESH_FMULS, WAVELET, MEMORY, true},   /* multiply and pass on */
};

struct outcome {
    struct mesh_stats stats;
    float out[LONGEST];
    struct seen end[2]; /* of the stream and of what is beside it, in order */
};

static struct mesh_dsd operand(enum operand o, int n)
{
    struct mesh_dsd rows = mesh_mem(OWN, n / 2);
    switch (o) {
    case WAVELET:
        return mesh_in(FROM_WEST, n);
    case MEMORY:
        return mesh_mem(OWN, n);
    case ROWS: /* two of them, apart */
        rows.n_dims = 2;
        rows.len[0] = 2;
        rows.len[1] = (uint16_t)(n / 2);
        rows.stride[0] = (int16_t)(n / 2 + 3);
        rows.stride[1] = 1;
        return rows;
    case NUMBER:
        return mesh_float(7);
    case NOTHING:
        break;
    }
    return (struct mesh_dsd){0};
}

static float value(enum operand o, int i, int n)
{
    switch (o) {
    case WAVELET:
        return (float)i;
    case MEMORY:
        return (float)(100 + i);
    case ROWS:
        return (float)(100 + i + (i < n / 2 ? 0 : 3));
    case NUMBER:
        return 7;
    case NOTHING:
        break;
    }
    return 0;
}

static float expected(const struct form *f, int i, int n)
{
    const float a = value(f->a, i, n), b = value(f->b, i, n);
    return f->code == MESH_FMULS ? a * b : a + b;
}

static enum wsc_err take(struct mesh_pe *pe, uint32_t data)
{
    const struct scene *s = mesh_user(pe);
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_mem(OUT, s->n), mesh_in(TO_EAST, s->n),
                   (struct mesh_dsd){0});
}

/* The scene with @p n elements; beside them @p copied words of memory are copied on the main
 * thread, 0: the stream itself is there. */
static void build(struct scene *s, const struct form *f, int n, int copied)
{
    float words[2 * LONGEST];
    const bool takes = f->a == WAVELET || f->b == WAVELET;
    scene_init(s, 3, 1, MESH_WSE2);
    s->n = n;
    for (int i = 0; i < 2 * LONGEST; i++)
        words[i] = (float)i;
    ok(mesh_copy_in(s->m, at(0, 0), 0, words, sizeof words / 2));
    for (int i = 0; i < 2 * LONGEST; i++)
        words[i] = (float)(100 + i);
    ok(mesh_copy_in(s->m, at(1, 0), OWN, words, sizeof words));
    route(s, at(0, 0), FROM_WEST, MESH_RAMP, MESH_EAST);
    route(s, at(1, 0), FROM_WEST, MESH_WEST, MESH_RAMP);
    route(s, at(1, 0), TO_EAST, MESH_RAMP, MESH_EAST);
    route(s, at(2, 0), TO_EAST, MESH_WEST, MESH_RAMP);
    sends(s, at(0, 0), 2, FROM_WEST);
    hears(s, at(1, 0), 2, FROM_WEST, NULL);
    sends(s, at(1, 0), 4, TO_EAST);
    hears(s, at(2, 0), 7, TO_EAST, NULL);
    s->op[0] = (struct mesh_op){.code = (uint8_t)f->code,
                                .thread = copied ? 1 : 0,
                                .activate = DONE + 1,
                                .dst = f->sends ? mesh_out(TO_EAST, n) : mesh_mem(OUT, n),
                                .a = operand(f->a, n),
                                .b = operand(f->b, n)};
    s->op[1] = (struct mesh_op){
        .activate = EXTRA + 1, .dst = mesh_mem(SPARE, copied), .a = mesh_mem(OWN, copied)};
    task(s, at(1, 0), DONE, probe);
    task(s, at(1, 0), EXTRA, probe);
    s->n_ops = copied ? 2 : 1;
    if (takes) starts(s, at(0, 0), send_1);
    starts(s, at(1, 0), issue_ops);
}

/* PE 2 begins to take after @p late cycles. */
static struct outcome run(const struct form *f, int n, int copied, int late,
                          struct mesh_watch *watch)
{
    struct scene s;
    struct outcome o = {0};
    build(&s, f, n, copied);
    s.wait = late;
    task(&s, at(2, 0), DONE, wait_first);
    if (late) ok(mesh_start(s.m, at(2, 0), DONE));
    if (f->sends) task(&s, at(2, 0), EXTRA, take);
    if (f->sends) ok(mesh_start(s.m, at(2, 0), EXTRA));
    if (watch) mesh_watch_attach(s.m, watch);
    scene_run(&s);
    o.stats = s.stats;
    EQ(s.n_seen, copied ? 2 : 1);
    memcpy(o.end, s.seen, sizeof o.end);
    ok(mesh_copy_out(s.m, at(f->sends ? 2 : 1, 0), OUT, o.out, (int64_t)n * 4));
    if (watch)
        mesh_destroy(&s.m); /* the watch still holds memory */
    else
        scene_end(&s);
    return o;
}

static void expect_same(const struct form *f, int n, int copied, int late)
{
    struct mesh_watch *watch;
    const struct outcome fast = run(f, n, copied, late, NULL);
    ok(mesh_watch_create(&watch, &(struct mesh_watch_config){0}));
    const struct outcome all = run(f, n, copied, late, watch);
    mesh_watch_destroy(&watch);
    EQ(fast.stats.cycles, all.stats.cycles);
    EQ(fast.stats.elements, all.stats.elements);
    EQ(fast.stats.wavelets, all.stats.wavelets);
    EQ(fast.stats.wavelet_hops, all.stats.wavelet_hops);
    EQ(fast.end[0].cycle, all.end[0].cycle);
    EQ(fast.end[1].cycle, all.end[1].cycle);
    for (int i = 0; i < n; i++) {
        EQ(fast.out[i], expected(f, i, n));
        EQ(all.out[i], expected(f, i, n));
    }
}

/* Every form, of lengths that begin no stream, hold one element of it, and fill queues. */
static void expect_all(int copied, int late)
{
    static const int lengths[] = {1, 2, 4, LONGEST};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            if (lengths[k] > 1 || (forms[i].a != ROWS && forms[i].b != ROWS))
                expect_same(&forms[i], lengths[k], copied, late);
}

TEST(mesh_streams, on_the_main_thread_as_when_observed)
{
    expect_all(0, 0);
    expect_all(0, 100);
}

/* The copy is in its set-up for 15 cycles, when the stream is alone, and then takes what the
 * stream leaves of the datapath. */
TEST(mesh_streams, beside_an_operation_on_memory_as_when_observed)
{
    expect_all(2, 0);
    expect_all(64, 0);
}

/* The queues of PE 1 and 2 and their routers are full before the set-up has ended: the stream
 * waits, and the PE still wakes for the copy. */
TEST(mesh_streams, that_wait_let_the_main_thread_go_on)
{
    expect_all(2, 100);
    expect_all(64, 100);
}
