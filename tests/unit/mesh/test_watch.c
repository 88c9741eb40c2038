// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"
#include "watch_text.h"

#include <wsc/kernels.h>
#include <wsc/mem.h>
#include <wsc/rng.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* What the observer counts, against sums that must come out and scenes derived by hand. */

static int64_t draw(uint64_t i, int64_t below)
{
    return (int64_t)(wsc_rng_u64(77, wsc_rng_stream(WSC_RNG_TEST, 5), i) % (uint64_t)below);
}

static struct mesh_watch *watch_new(bool causes, const struct mesh_rect *trace, int64_t max_events)
{
    struct mesh_watch *w;
    T_OK(mesh_watch_create(&w, &(struct mesh_watch_config){.causes = causes,
                                                           .trace = trace,
                                                           .n_trace = trace ? 1 : 0,
                                                           .max_events = max_events}));
    return w;
}

static struct programs_result run(const char *kernel, const struct programs_case *c)
{
    const struct kernels_row *k;
    struct programs_result r = {0};
    T_OK(kernels_row_find(kernel, &k));
    T_OK(kernels_row_run(k, c, &r));
    T_NEAR(r.max_error, 0, 0);
    return r;
}

/* ---- sums that must come out ----------------------------------------------------------------- */

static void check_pe(const struct mesh_watch *w, int x, int y, int64_t cycles, int64_t *links)
{
    struct mesh_pe_counts pe;
    struct mesh_router_counts router;
    int64_t sum = 0;
    mesh_watch_counts(w, x, y, &pe, &router);
    for (int s = 0; s < MESH_PE_STATES; s++)
        sum += pe.cycles[s] >= 0 ? pe.cycles[s] : cycles + 1;
    T_EQ(sum, cycles);
    CU_ASSERT(router.held >= 0 && router.held <= cycles && router.peak <= 4);
    for (int d = 1; d < 5; d++)
        *links += router.used[d];
}

static void check_counts(const struct mesh_watch *w, const struct programs_case *c,
                         const struct programs_result *r)
{
    int64_t sum[MESH_PE_STATES], total = 0, links = 0;
    for (int i = 0; i < c->w * c->h; i++)
        check_pe(w, i % c->w, i / c->w, r->stats.cycles, &links);
    mesh_watch_sum(w, sum);
    for (int s = 0; s < MESH_PE_STATES; s++)
        total += sum[s];
    T_EQ(total, r->stats.cycles * c->w * c->h);
    CU_ASSERT(links <= r->stats.wavelet_hops); /* those into the fabric have no router */
}

/* The parts of a leg add up to its length. */
static void check_leg(const struct mesh_leg *leg, int64_t from, int64_t parts[MESH_PARTS])
{
    int64_t length = 0;
    bool negative = false;
    for (int p = 0; p < MESH_PARTS; p++) {
        negative |= leg->part[p] < 0;
        parts[p] += leg->part[p];
        length += leg->part[p];
    }
    CU_ASSERT(!negative);
    T_EQ(leg->from, from);
    T_EQ(length, leg->to - leg->from);
}

static void check_critical(const struct mesh_watch *w, const struct programs_result *r)
{
    struct mesh_critical critical;
    struct mesh_leg *leg;
    int n;
    int64_t total = 0, parts[MESH_PARTS] = {0};
    T_OK(mesh_watch_critical(w, 1 << 20, &critical, &leg, &n));
    T_EQ(critical.cycles, r->stats.cycles);
    T_EQ(critical.complete, true);
    for (int i = 0; i < n; i++)
        check_leg(&leg[i], i ? leg[i - 1].to : 0, parts);
    for (int p = 0; p < MESH_PARTS; p++) {
        T_EQ(parts[p], critical.part[p]);
        total += critical.part[p];
    }
    T_EQ(total, r->stats.cycles);
    wsc_free(leg);
}

/* The same run unwatched, counted, and followed: watching changes nothing. */
static void check_run(const char *kernel, struct programs_case *c)
{
    struct mesh_watch *w = watch_new(true, NULL, 0), *counts = watch_new(false, NULL, 0);
    struct programs_result alone = run(kernel, c), watched;
    struct mesh_pe_counts pe[2];
    struct mesh_router_counts router[2];
    c->watch = counts;
    watched = run(kernel, c);
    T_EQ(watched.stats.cycles, alone.stats.cycles);
    check_counts(counts, c, &watched);
    c->watch = w;
    watched = run(kernel, c);
    T_EQ(memcmp(&watched.stats, &alone.stats, sizeof alone.stats), 0);
    check_counts(w, c, &watched);
    check_critical(w, &watched);
    for (int i = 0; i < c->w * c->h; i++) {
        mesh_watch_counts(w, i % c->w, i / c->w, &pe[0], &router[0]);
        mesh_watch_counts(counts, i % c->w, i / c->w, &pe[1], &router[1]);
        T_EQ(memcmp(pe[0].cycles, pe[1].cycles, sizeof pe[0].cycles), 0);
        T_EQ(router[0].held, router[1].held);
    }
    mesh_watch_destroy(&w);
    mesh_watch_destroy(&counts);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* Each state and each part has two names of its own: one in JSON, one in tables. */
TEST(mesh_watch, names_differ)
{
    for (int i = 0; i < MESH_PE_STATES; i++)
        for (int k = 0; k <= i; k++) {
            const struct mesh_label a = mesh_pe_state_label((enum mesh_pe_state)i);
            const struct mesh_label b = mesh_pe_state_label((enum mesh_pe_state)k);
            CU_ASSERT_FATAL(a.key && a.text && b.key && b.text);
            CU_ASSERT((strcmp(a.key, b.key) == 0) == (i == k));
            CU_ASSERT((strcmp(a.text, b.text) == 0) == (i == k));
        }
    for (int i = 0; i < MESH_PARTS; i++)
        for (int k = 0; k <= i; k++) {
            const struct mesh_label a = mesh_part_label((enum mesh_part)i);
            const struct mesh_label b = mesh_part_label((enum mesh_part)k);
            CU_ASSERT_FATAL(a.key && a.text && b.key && b.text);
            CU_ASSERT((strcmp(a.key, b.key) == 0) == (i == k));
            CU_ASSERT((strcmp(a.text, b.text) == 0) == (i == k));
        }
    T_STR(mesh_pe_state_label(MESH_PE_WAITS_FOR_IN).key, "wait_for_input");
    T_STR(mesh_part_label(MESH_PART_RAMP).text, "ramps");
}

TEST(mesh_watch, every_cycle_has_one_state_and_one_cause)
{
    static const struct {
        const char *kernel, *algo;
    } kind[] = {{"broadcast", NULL},    {"reduce", "star"},      {"reduce", "chain"},
                {"reduce", "tree"},     {"reduce", "two-phase"}, {"reduce", "auto"},
                {"allreduce", "snake"}, {"allreduce", "ring"},   {"scatter", NULL},
                {"gather", NULL},       {"transpose", NULL},     {"gemv", "chain"},
                {"gemm", "summa"},      {"gemm", "stream"},      {"fmacs", NULL}};
    enum { N_KINDS = sizeof kind / sizeof *kind };
    for (uint64_t i = 0; i < 6UL * N_KINDS; i++) {
        struct programs_case c = {.algo = kind[i % N_KINDS].algo,
                                  .w = (int)(2 + draw(8 * i, 9)),
                                  .h = (int)(1 + draw(8 * i + 1, 6)),
                                  .words = 1 + draw(8 * i + 2, 40),
                                  .m = 1 + draw(8 * i + 3, 25),
                                  .n = 1 + draw(8 * i + 4, 25),
                                  .k = 1 + draw(8 * i + 5, 25),
                                  .length = 1 + draw(8 * i + 6, 30),
                                  .calls = 1 + draw(8 * i + 7, 5),
                                  .arch = (enum mesh_arch)(i / N_KINDS % 2),
                                  .seed = i};
        const char *algo = c.algo ? c.algo : "", *kernel = kind[i % N_KINDS].kernel;
        if (!strcmp(algo, "ring")) c.h = 1;
        if (!strcmp(kernel, "transpose") || !strcmp(algo, "summa")) c.h = c.w;
        if (!strcmp(kernel, "fmacs")) c.w = c.h = 1;
        check_run(kernel, &c);
    }
}

/* ---- by hand --------------------------------------------------------------------------------- */

static struct mesh_critical critical_of(const char *kernel, struct programs_case c)
{
    struct mesh_watch *w = watch_new(true, NULL, 0);
    struct mesh_critical critical;
    struct mesh_leg *leg;
    int n;
    c.watch = w;
    (void)run(kernel, &c);
    T_OK(mesh_watch_critical(w, 1000, &critical, &leg, &n));
    wsc_free(leg);
    mesh_watch_destroy(&w);
    return critical;
}

/* B + 6 (P - 1): the last PE executes word 0 in cycle 0 (1); ramp 2, hop 1, ramp 2 bring it to the
 * PE before, which executes it in cycle 6; so P - 1 times 1 + 2 + 1 + 2.  The first PE gets word 0
 * in cycle 6 (P - 1) and a word in each cycle after it: B.  Nothing waits for room or a turn. */
TEST(mesh_watch, chain_is_ramps_hops_and_streaming)
{
    for (int p = 2; p <= 17; p += 5)
        for (int64_t b = 1; b <= 101; b += 50) {
            struct mesh_critical c = critical_of(
                "reduce", (struct programs_case){.algo = "chain", .w = p, .h = 1, .words = b});
            T_EQ(c.cycles, b + 6LL * (p - 1));
            T_EQ(c.part[MESH_PART_COMPUTE], b + (p - 1));
            T_EQ(c.part[MESH_PART_RAMP], 4LL * (p - 1));
            T_EQ(c.part[MESH_PART_HOPS], p - 1);
            T_EQ(c.part[MESH_PART_SETUP] + c.part[MESH_PART_SCALAR], 0);
            T_EQ(c.part[MESH_PART_QUEUES] + c.part[MESH_PART_EDGE], 0);
        }
}

/* WSE-3: hop 2, ramp 2 up and 3 down, 4 cycles of set-up.  All PEs set up in cycles 0 .. 3; what
 * the path holds of it is that of the last PE.  Word 0 moves on every 1 + 2 + 2 + 3 cycles. */
TEST(mesh_watch, chain_on_wse3)
{
    struct mesh_critical c = critical_of(
        "reduce",
        (struct programs_case){.algo = "chain", .w = 9, .h = 1, .words = 20, .arch = MESH_WSE3});
    T_EQ(c.cycles, 4 + 8 * 8 + 20);
    T_EQ(c.part[MESH_PART_SETUP], 4);
    T_EQ(c.part[MESH_PART_COMPUTE], 8 + 20);
    T_EQ(c.part[MESH_PART_RAMP], 5 * 8);
    T_EQ(c.part[MESH_PART_HOPS], 2 * 8);
}

/* B + P + 4: word 0 is executed (1), goes up the ramp (2), over P - 1 hops, down the ramp (2), and
 * the last PE takes B words. */
TEST(mesh_watch, broadcast_is_distance_and_streaming)
{
    struct mesh_critical c =
        critical_of("broadcast", (struct programs_case){.w = 12, .h = 1, .words = 30});
    T_EQ(c.cycles, 30 + 12 + 4);
    T_EQ(c.part[MESH_PART_COMPUTE], 31);
    T_EQ(c.part[MESH_PART_RAMP], 4);
    T_EQ(c.part[MESH_PART_HOPS], 11);
}

/* 10 calls of 6 cycles of scalar code, 17 of set-up, 2 an element; the task that finds no more
 * calls takes the last cycle. */
TEST(mesh_watch, calls_are_scalar_code_setup_and_elements)
{
    struct mesh_critical c = critical_of(
        "fmacs", (struct programs_case){.w = 1, .h = 1, .length = 8, .calls = 10, .seed = 1});
    T_EQ(c.part[MESH_PART_SCALAR], 61);
    T_EQ(c.part[MESH_PART_SETUP], 170);
    T_EQ(c.part[MESH_PART_COMPUTE], 160);
    T_EQ(c.cycles, 391);
}

/* A weight at the edge in front of every output: k weights of one PE column of one PE. */
TEST(mesh_watch, edges_feed_one_wavelet_a_cycle)
{
    struct mesh_critical c = critical_of(
        "gemm", (struct programs_case){
                    .algo = "stream", .w = 1, .h = 1, .m = 1, .n = 1, .k = 1, .seed = 4});
    /* Wavelet 0 enters in cycle 0 and is in the router in 1; ramp 2; its fmachs takes 16 of set-up
     * and 1; the end of the output came in between.  Then the accumulator is cleared (15 + 1), the
     * sum sent (1), ramp 2, and one cycle over the edge. */
    T_EQ(c.part[MESH_PART_EDGE], 0);
    T_EQ(c.part[MESH_PART_HOPS], 1 + 1);
    T_EQ(c.part[MESH_PART_RAMP], 2 + 2);
    T_EQ(c.part[MESH_PART_SETUP], 16 + 15);
    T_EQ(c.part[MESH_PART_COMPUTE], 1 + 1 + 1);
    T_EQ(c.part[MESH_PART_QUEUES], 0);
}

enum { GO = 8, COLOUR = 1, WORDS = 8 };
static const struct mesh_rect left = {0, 0, 1, 1}, right = {1, 0, 1, 1}, both = {0, 0, 2, 1};

static enum wsc_err send_words(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR, WORDS), mesh_mem(0, WORDS),
                   (struct mesh_dsd){0});
}

static enum wsc_err take_words(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_do(pe, MESH_FMOVS, mesh_mem(0, WORDS), mesh_in(COLOUR, WORDS),
                   (struct mesh_dsd){0});
}

/* One word a task of 10 cycles. */
static enum wsc_err take_slowly(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    return mesh_wait(pe, 10);
}

static enum wsc_err message(struct mesh_watch *w, bool slowly, int64_t *cycles)
{
    const struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_EAST};
    const struct mesh_route in = {.rx = MESH_WEST, .tx = MESH_RAMP};
    struct mesh_stats stats = {0};
    struct mesh *m;
    enum wsc_err rc;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1}));
    T_OK(mesh_route(m, left, COLOUR, &out));
    T_OK(mesh_route(m, right, COLOUR, &in));
    T_OK(mesh_output_queue(m, left, 2, COLOUR));
    T_OK(mesh_input_queue(m, right, 2, COLOUR));
    T_OK(mesh_task(m, left, GO, send_words, MESH_LOW));
    T_OK(mesh_task(m, right, GO, take_words, MESH_LOW));
    if (slowly) T_OK(mesh_data_task(m, right, COLOUR, take_slowly, MESH_LOW));
    T_OK(mesh_start(m, slowly ? left : both, GO));
    mesh_watch_attach(m, w);
    rc = mesh_run(m, &stats);
    mesh_destroy(&m);
    *cycles = stats.cycles;
    return rc;
}

/* Word i is executed on the left in cycle i and on the right in cycle i + 6. */
TEST(mesh_watch, states_of_two_pes)
{
    struct mesh_watch *w = watch_new(false, NULL, 0);
    struct mesh_pe_counts pe;
    struct mesh_router_counts router;
    float view[2];
    int64_t cycles;
    T_EQ(mesh_watch_cycles(w), -1);
    T_OK(message(w, false, &cycles));
    T_EQ(cycles, 14);
    T_EQ(mesh_watch_cycles(w), 14);
    mesh_watch_counts(w, 0, 0, &pe, &router);
    T_EQ(pe.cycles[MESH_PE_COMPUTES], 8);
    T_EQ(pe.cycles[MESH_PE_IDLE], 6);
    T_EQ(router.used[1], 8); /* east */
    T_EQ(router.used[0] + router.used[2] + router.used[3] + router.used[4] + router.held, 0);
    mesh_watch_counts(w, 1, 0, &pe, &router);
    T_EQ(pe.cycles[MESH_PE_COMPUTES], 8);
    T_EQ(pe.cycles[MESH_PE_WAITS_FOR_IN], 6);
    T_EQ(router.used[0], 8);
    T_EQ(pe.peak_in[2], 3); /* two words in the ramp, one that is taken in the same cycle */
    mesh_watch_view(w, MESH_VIEW_COMPUTE, view);
    T_NEAR(view[0], 100 * 8.0 / 14, 1e-6);
    T_NEAR(view[1], 100 * 8.0 / 14, 1e-6);
    mesh_watch_destroy(&w);
}

/* Word i is in the right router in cycle 4 + i; the task of word i begins in cycle 6 + 10 i.  The
 * queue holds 4 + 2: word 6 finds the place of word 0, taken in cycle 6; word 7 could leave in
 * cycle 11, and does in 17, after word 1 has been taken in 16. */
TEST(mesh_watch, a_slow_receiver_holds_wavelets_back)
{
    struct mesh_watch *w = watch_new(true, NULL, 0);
    struct mesh_pe_counts pe;
    struct mesh_router_counts router;
    struct mesh_critical c;
    struct mesh_leg *leg;
    float view[2];
    int n;
    int64_t cycles;
    T_OK(message(w, true, &cycles));
    T_EQ(cycles, 6 + 80);
    mesh_watch_counts(w, 1, 0, &pe, &router);
    T_EQ(pe.cycles[MESH_PE_SCALAR], 80);
    T_EQ(pe.cycles[MESH_PE_IDLE], 6);
    T_EQ(pe.peak_in[2], 6);
    T_EQ(router.held, 17 - 11);
    mesh_watch_view(w, MESH_VIEW_QUEUE, view);
    T_NEAR(view[1], 100, 1e-6);
    T_OK(mesh_watch_critical(w, 10, &c, &leg, &n));
    T_EQ(n, 2);
    T_EQ(leg[1].x, 1);
    T_EQ(leg[1].from, 6);
    T_EQ(c.part[MESH_PART_SCALAR], 80);
    T_EQ(c.part[MESH_PART_COMPUTE], 1);
    wsc_free(leg);
    mesh_watch_destroy(&w);
}

/* An edge feeds PE (0, 0) more words than it keeps legs of; the first one continues to PE (1, 0),
 * which then runs scalar code for longer than all that. */
enum { MANY = 70000, LONG = 100000 };

static enum wsc_err pass_first(struct mesh_pe *pe, uint32_t word)
{
    if (word) return WSC_OK;
    return mesh_do(pe, MESH_FMOVS, mesh_out(COLOUR + 1, 1), mesh_bits(word), (struct mesh_dsd){0});
}

static enum wsc_err take_and_run(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    TRY(mesh_do(pe, MESH_FMOVS, mesh_mem(0, 1), mesh_in(COLOUR + 1, 1), (struct mesh_dsd){0}));
    return mesh_wait(pe, LONG);
}

static enum wsc_err many_words(struct mesh_watch *w, const struct mesh_wavelet *word,
                               struct mesh_stats *stats)
{
    const struct mesh_route enter = {.rx = MESH_WEST, .tx = MESH_RAMP};
    const struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_EAST};
    struct mesh *m;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1}));
    T_OK(mesh_route(m, left, COLOUR, &enter));
    T_OK(mesh_route(m, left, COLOUR + 1, &out));
    T_OK(mesh_route(m, right, COLOUR + 1, &enter));
    T_OK(mesh_input_queue(m, left, 2, COLOUR));
    T_OK(mesh_output_queue(m, left, 2, COLOUR + 1));
    T_OK(mesh_input_queue(m, right, 2, COLOUR + 1));
    T_OK(mesh_edge_source(m, 0, 0, MESH_WEST, COLOUR, word, MANY));
    T_OK(mesh_data_task(m, left, COLOUR, pass_first, MESH_LOW));
    T_OK(mesh_task(m, right, GO, take_and_run, MESH_LOW));
    T_OK(mesh_start(m, right, GO));
    mesh_watch_attach(m, w);
    enum wsc_err rc = mesh_run(m, stats);
    mesh_destroy(&m);
    return rc;
}

TEST(mesh_watch, legs_that_were_given_up_leave_the_split_exact)
{
    static struct mesh_wavelet word[MANY];
    struct mesh_watch *w = watch_new(true, NULL, 0);
    struct mesh_stats stats;
    struct mesh_critical c;
    struct mesh_leg *leg;
    int n;
    for (uint32_t i = 0; i < MANY; i++)
        word[i].data = i;
    T_OK(many_words(w, word, &stats));
    T_OK(mesh_watch_critical(w, 1000, &c, &leg, &n));
    /* In the router in cycle 1, taken and sent on in 3, in PE (1, 0) in 4 + 2 + 1 + 2. */
    T_EQ(stats.cycles, 10 + LONG);
    T_EQ(c.complete, false);
    T_EQ(n, 1);
    T_EQ(leg[0].x, 1);
    T_EQ(leg[0].from, 9);
    T_EQ(leg[0].to, stats.cycles);
    T_EQ(c.part[MESH_PART_SCALAR], LONG);
    T_EQ(c.part[MESH_PART_COMPUTE], 2);
    T_EQ(c.part[MESH_PART_RAMP], 2 + 2 + 2);
    T_EQ(c.part[MESH_PART_HOPS], 1 + 1);
    wsc_free(leg);
    mesh_watch_destroy(&w);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static json_t *trace_json(const struct mesh_watch *w)
{
    char *text = NULL;
    size_t size = 0;
    json_error_t error = {0};
    FILE *f = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    T_OK(mesh_trace_write(w, "a test", f));
    (void)fclose(f);
    json_t *json = json_loadb(text, size, 0, &error);
    if (!json) (void)fprintf(stderr, "%s, line %d\n", error.text, error.line);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    free(text);
    return json;
}

static int64_t number(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    CU_ASSERT_FATAL(json_is_integer(value));
    return json_integer_value(value);
}

static bool is_phase(const json_t *event, const char *phase)
{
    const char *ph = json_string_value(json_object_get(event, "ph"));
    CU_ASSERT_PTR_NOT_NULL(ph);
    return ph && !strcmp(ph, phase);
}

/* Slices on a row lie beside or inside each other. */
static bool are_nested(const json_t *a, const json_t *b)
{
    if (number(a, "pid") != number(b, "pid") || number(a, "tid") != number(b, "tid")) return true;
    int64_t a0 = number(a, "ts"), a1 = a0 + number(a, "dur");
    int64_t b0 = number(b, "ts"), b1 = b0 + number(b, "dur");
    return a1 <= b0 || b1 <= a0 || (a0 <= b0 && b1 <= a1) || (b0 <= a0 && a1 <= b1);
}

struct seen {
    int slices, arrows, tasks;
};

/* Every arrow starts where it says, on a slice, and ends not before. */
static void check_arrow(const json_t *events, size_t at)
{
    const json_t *s = json_array_get(events, at), *f = json_array_get(events, at + 1);
    CU_ASSERT(is_phase(f, "f"));
    T_EQ(number(s, "id"), number(f, "id"));
    CU_ASSERT(number(s, "ts") < number(f, "ts"));
}

static struct seen check_trace(json_t *json, int64_t cycles)
{
    struct seen seen = {0};
    const json_t *events = json_object_get(json, "traceEvents");
    CU_ASSERT(json_is_array(events));
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);
        if (is_phase(e, "s")) check_arrow(events, i);
        seen.arrows += is_phase(e, "s");
        if (!is_phase(e, "X")) continue;
        seen.slices++;
        seen.tasks += !strcmp(json_string_value(json_object_get(e, "cat")), "task");
        CU_ASSERT(number(e, "dur") >= 1 && number(e, "ts") >= 0);
        CU_ASSERT(number(e, "ts") + number(e, "dur") <= cycles);
        bool nested = true;
        for (size_t k = 0; k < i; k++)
            nested &= !is_phase(json_array_get(events, k), "X") ||
                      are_nested(e, json_array_get(events, k));
        CU_ASSERT(nested);
    }
    T_EQ(number(json_object_get(json, "otherData"), "events"), seen.slices);
    json_decref(json);
    return seen;
}

TEST(mesh_watch, trace_of_two_pes)
{
    struct mesh_watch *w = watch_new(false, &both, 1000);
    int64_t cycles;
    T_OK(message(w, false, &cycles));
    struct seen seen = check_trace(trace_json(w), cycles);
    /* A task and an operation each; 8 words up, over the link, down; two arrows a word. */
    T_EQ(seen.slices, 2 + 2 + 3 * WORDS);
    T_EQ(seen.tasks, 2);
    T_EQ(seen.arrows, 2 * WORDS);
    mesh_watch_destroy(&w);
}

TEST(mesh_watch, traced_operations_have_the_colours_of_their_wavelets)
{
    struct mesh_watch *w = watch_new(false, &both, 1000);
    int64_t cycles;
    T_OK(message(w, false, &cycles));
    json_t *json = trace_json(w), *event;
    int out = 0, in = 0;
    size_t i;
    json_array_foreach(json_object_get(json, "traceEvents"), i, event)
    {
        const char *cat = json_string_value(json_object_get(event, "cat"));
        const json_t *args = json_object_get(event, "args");
        const json_t *to = json_object_get(args, "colour_out"),
                     *from = json_object_get(args, "colour_in");
        if (!cat || strcmp(cat, "operation") != 0) continue;
        out += json_is_integer(to) && json_integer_value(to) == COLOUR;
        in += json_is_integer(from) && json_integer_value(from) == COLOUR;
    }
    T_EQ(out, 1);
    T_EQ(in, 1);
    json_decref(json);
    mesh_watch_destroy(&w);
}

TEST(mesh_watch, trace_of_all_kernels)
{
    static const char *const kernel[] = {"allreduce", "gemm", "gemv", "transpose", "fmacs"};
    for (int i = 0; i < 5; i++) {
        struct programs_case c = {.w = 3,
                                  .h = 3,
                                  .words = 5,
                                  .m = 6,
                                  .n = 5,
                                  .k = 7,
                                  .length = 4,
                                  .calls = 5,
                                  .arch = (enum mesh_arch)(i % 2),
                                  .seed = 1};
        if (i == 4) c.w = c.h = 1;
        const struct mesh_rect all = {0, 0, c.w, c.h};
        struct mesh_watch *w = watch_new(false, &all, 100000);
        c.watch = w;
        struct programs_result r = run(kernel[i], &c);
        int64_t cut;
        CU_ASSERT(mesh_trace_events(w, &cut) > 10);
        T_EQ(cut, -1);
        CU_ASSERT(check_trace(trace_json(w), r.stats.cycles).tasks >= c.w * c.h);
        mesh_watch_destroy(&w);
    }
}

static void check_cut(int64_t most)
{
    struct mesh_watch *w = watch_new(false, &both, most);
    int64_t cycles, cut;
    T_OK(message(w, false, &cycles));
    CU_ASSERT(mesh_trace_events(w, &cut) <= most);
    CU_ASSERT(cut >= 0 && cut < cycles);
    json_t *json = trace_json(w);
    T_EQ(number(json_object_get(json, "otherData"), "left_out_from_cycle"), cut);
    (void)check_trace(json, cut);
    mesh_watch_destroy(&w);
}

TEST(mesh_watch, a_trace_that_is_too_long_ends_at_one_cycle_for_all)
{
    for (int64_t most = 1; most < 2 + 2 + 3 * WORDS; most += 5)
        check_cut(most);
}

/* Three operations want the datapath of one PE, two fit into a cycle (fmovs takes 4 of 8 parts on
 * WSE-2): 3 x 8 elements take 12 cycles. */
static enum wsc_err send_three(struct mesh_pe *pe, uint32_t data)
{
    (void)data;
    for (int k = 0; k < 3; k++) {
        struct mesh_op op = {.code = MESH_FMOVS,
                             .thread = (uint8_t)(k + 1),
                             .dst = mesh_out(COLOUR + k, WORDS),
                             .a = mesh_mem(0, WORDS)};
        TRY(mesh_issue(pe, &op));
    }
    return WSC_OK;
}

static enum wsc_err take_three(struct mesh_pe *pe, uint32_t data)
{
    const struct mesh_dsd none = {0};
    (void)data;
    for (int k = 0; k < 3; k++)
        TRY(mesh_do(pe, MESH_FMOVS, mesh_mem(64 * k, WORDS), mesh_in(COLOUR + k, WORDS), none));
    return WSC_OK;
}

static enum wsc_err three_messages(struct mesh_watch *w, struct mesh_stats *stats)
{
    const struct mesh_route out = {.rx = MESH_RAMP, .tx = MESH_EAST};
    const struct mesh_route in = {.rx = MESH_WEST, .tx = MESH_RAMP};
    struct mesh *m;
    T_OK(mesh_create(&m, &(struct mesh_config){.w = 2, .h = 1}));
    for (int k = 0; k < 3; k++) {
        T_EQ(mesh_route(m, left, COLOUR + k, &out), WSC_OK);
        T_EQ(mesh_route(m, right, COLOUR + k, &in), WSC_OK);
        T_EQ(mesh_output_queue(m, left, 2 + k, COLOUR + k), WSC_OK);
        T_EQ(mesh_input_queue(m, right, k, COLOUR + k), WSC_OK);
    }
    T_OK(mesh_task(m, left, GO, send_three, MESH_LOW));
    T_OK(mesh_task(m, right, GO, take_three, MESH_LOW));
    T_OK(mesh_start(m, both, GO));
    mesh_watch_attach(m, w);
    enum wsc_err rc = mesh_run(m, stats);
    mesh_destroy(&m);
    return rc;
}

/* One word a cycle goes up the ramp, 24 in all, so the operations wait for room as well. */
TEST(mesh_watch, operations_that_share_the_datapath)
{
    struct mesh_watch *w = watch_new(true, &both, 1000);
    struct mesh_pe_counts pe;
    struct mesh_router_counts router;
    struct mesh_stats stats;
    T_OK(three_messages(w, &stats));
    mesh_watch_counts(w, 0, 0, &pe, &router);
    T_EQ(router.used[1], 3 * WORDS);
    CU_ASSERT(pe.cycles[MESH_PE_COMPUTES] >= 12 && pe.cycles[MESH_PE_WAITS_FOR_OUT] > 0);
    T_EQ(pe.cycles[MESH_PE_COMPUTES] + pe.cycles[MESH_PE_WAITS_FOR_OUT] + pe.cycles[MESH_PE_IDLE],
         stats.cycles);
    CU_ASSERT(pe.peak_out[2] > 2 && pe.peak_out[2] <= 6);
    T_EQ(pe.peak_out[4], 2);
    check_critical(w, &(struct programs_result){.stats = stats});
    CU_ASSERT(check_trace(trace_json(w), stats.cycles).slices == 2 + 3 + 3 + 3 * 3 * WORDS);
    mesh_watch_destroy(&w);
}

TEST(mesh_watch, what_is_traced)
{
    struct mesh_rect pe[8];
    T_EQ(mesh_trace_choice(1, 1, pe), 1);
    T_EQ(mesh_trace_choice(4, 2, pe), 8);
    T_EQ(pe[7].x, 3);
    T_EQ(mesh_trace_choice(512, 1, pe), 4); /* two ends, the middle, the neighbour of (0, 0) */
    T_EQ(pe[2].x, 256);
    T_EQ(mesh_trace_choice(16, 16, pe), 7);
    struct mesh_watch *w = watch_new(false, &(struct mesh_rect){1, 0, 2, 1}, 100);
    int64_t cycles;
    T_EQ(message(w, false, &cycles), WSC_USAGE);
    T_STR(wsc_err_message(), "mesh: PEs (1, 0) + 2 x 1 lie outside the fabric of 2 x 1");
    T_EQ(mesh_watch_cycles(w), -1);
    mesh_watch_destroy(&w);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- threads --------------------------------------------------------------------------------- */

static char *explained(const char *kernel, struct programs_case c, int threads)
{
    c.watch = watch_all(c.w, c.h, 3000);
    c.threads = threads;
    (void)run(kernel, &c);
    char *text = watch_text(c.watch, c.w, c.h);
    mesh_watch_destroy(&c.watch);
    return text;
}

TEST(mesh_watch, the_same_for_any_number_of_threads)
{
    static const char *const kernel[] = {"allreduce", "reduce", "gather", "transpose",
                                         "gemv",      "gemm",   "gemm",   "broadcast"};
    static const char *const algo[] = {"two-phase", "star",  NULL,     NULL,
                                       "chain",     "summa", "stream", NULL};
    for (int i = 0; i < 16; i++) {
        struct programs_case c = {.algo = algo[i % 8],
                                  .w = 6,
                                  .h = 6,
                                  .words = 9,
                                  .m = 14,
                                  .n = 13,
                                  .k = 15,
                                  .arch = (enum mesh_arch)(i / 8),
                                  .seed = 2};
        char *one = explained(kernel[i % 8], c, 1), *two = explained(kernel[i % 8], c, 2);
        char *four = explained(kernel[i % 8], c, 4);
        CU_ASSERT(!strcmp(one, two));
        CU_ASSERT(!strcmp(one, four));
        free(one);
        free(two);
        free(four);
    }
}
