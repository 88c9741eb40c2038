// SPDX-License-Identifier: Apache-2.0
/* Streams down and up the columns of a fabric that threads share by bands of rows: passed on,
 * copied, added to, begun and ended anywhere, beside streams that turn back, busy PEs and errors.
 * What can be seen is that of a watched run, which visits every place in every cycle.
 * WSC_FLOW_CASES sets another number of cases, WSC_FLOW_FIRST the first seed. */
#include "../../support/test.h"
#include "share_group.h"

#include <wsc/mem.h>
#include <wsc/rng.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 50, MAX_THREADS = 4, PARTS = 2 };
enum { MOST_W = 6, MOST_H = 150, MOST_PES = MOST_W * MOST_H, MOST_WORDS = 320, TEXT = 600 };
enum { GO = 8, DONE = 9, ROW = 5, TURN = 4, OWN = 0, RESULT = 4 * MOST_WORDS };

/* What a PE does, after `wait` cycles.  One that turns sends, turns the switch of its router and
 * sends some more. */
enum role_kind { IDLE, SENDS, TAKES, ADDS, TURNS, BUSY, FAILS };
struct role {
    enum role_kind kind;
    int in, out, n, wait;
};
struct lines {
    uint64_t seed, drawn;
    int w, h, more; /* more: words of a PE that turns */
    enum mesh_arch arch;
    struct role role[MOST_PES];
    struct mesh_route route[MOST_PES][ROW + 1];
    /* As a run goes. */
    int times[MOST_PES]; /* of busy PEs */
    int64_t end[MOST_PES];
};
struct outcome {
    enum wsc_err rc;
    struct mesh_stats stats;
    int64_t end[MOST_PES];
    uint32_t memory[MOST_PES][2 * MOST_WORDS]; /* bits of the values */
    char text[TEXT];
};

static void ok(enum wsc_err rc)
{
    T_OK(rc);
}

/* ---- a case ---------------------------------------------------------------------------------- */

static int draw(struct lines *l, int n)
{
    return (int)(wsc_rng_u64(l->seed, wsc_rng_stream(WSC_RNG_TEST, 9), l->drawn++) % (uint64_t)n);
}

static struct role *role_at(struct lines *l, int x, int y)
{
    return &l->role[y * l->w + x];
}

static void set_route(struct lines *l, int x, int y, int colour, int rx, int tx)
{
    l->route[y * l->w + x][colour] = (struct mesh_route){.rx = (uint8_t)rx, .tx = (uint8_t)tx};
}

/* Mostly long streams. */
static int draw_words(struct lines *l)
{
    return draw(l, 6) ? 60 + draw(l, MOST_WORDS - 60) : 1 + draw(l, 40);
}

/* Most begin at once; others keep those waiting that send to them. */
static int draw_wait(struct lines *l)
{
    return draw(l, 12) ? draw(l, 3) : draw(l, 90);
}

/* A place inside of a stream that comes on colour *@p c; the colour may change. */
static void draw_inside(struct lines *l, int x, int y, int *c, const int side[2], int n)
{
    struct role *r = role_at(l, x, y);
    const int what = r->kind == IDLE ? draw(l, 4) : 0;
    if (what < 2) { /* the router alone */
        set_route(l, x, y, *c, side[0], side[1]);
    } else if (what == 2) {
        set_route(l, x, y, *c, side[0], side[1] | MESH_RAMP);
        *r = (struct role){TAKES, *c, 0, n, draw_wait(l)};
    } else {
        set_route(l, x, y, *c, side[0], MESH_RAMP);
        set_route(l, x, y, *c ^ 1, MESH_RAMP, side[1]);
        *r = (struct role){ADDS, *c, *c ^ 1, n, draw_wait(l)};
        *c ^= 1;
    }
}

/* A stream along a column: southward, or northward. */
struct line {
    int begin, end, n;
};

/* Rows of the ends of the stream that goes southward, or northward when @p up; those of both
 * differ. */
static struct line draw_ends(struct lines *l, int x, int up)
{
    const int length = l->h / 2 - 1, first = draw(l, 3) ? 0 : draw(l, length / 2);
    const int last = draw(l, 3) ? length : first + 1 + draw(l, length - first);
    const int top = up ? l->h - 1 - l->h % 2 : 0, step = up ? -2 : 2;
    const struct line line = {top + step * first, top + step * last, draw_words(l)};
    *role_at(l, x, line.begin) = (struct role){SENDS, 0, 2 * up, line.n, draw_wait(l)};
    *role_at(l, x, line.end) = (struct role){TAKES, 0, 0, line.n, draw_wait(l)};
    return line;
}

/* The way of such a stream, on two colours in turn. */
static void draw_line(struct lines *l, int x, int up, const struct line *line)
{
    const int side[2] = {up ? MESH_SOUTH : MESH_NORTH, up ? MESH_NORTH : MESH_SOUTH};
    const int step = up ? -1 : 1;
    int c = 2 * up;
    set_route(l, x, line->begin, c, MESH_RAMP, side[1]);
    for (int y = line->begin + step; y != line->end; y += step)
        draw_inside(l, x, y, &c, side, line->n);
    set_route(l, x, line->end, c, side[0], MESH_RAMP);
    role_at(l, x, line->end)->in = c;
}

/* Column @p x with a stream southward, one northward, or both. */
static void draw_column(struct lines *l, int x, bool down, bool up)
{
    struct line line[2];
    if (down) line[0] = draw_ends(l, x, 0);
    if (up) line[1] = draw_ends(l, x, 1);
    if (down) draw_line(l, x, 0, &line[0]);
    if (up) draw_line(l, x, 1, &line[1]);
}

/* A stream southward in column @p x and northward in the next one. */
static void draw_turn(struct lines *l, int x)
{
    const int n = draw_words(l), top = draw(l, l->h - 1), low = top + 1 + draw(l, l->h - 1 - top);
    *role_at(l, x, top) = (struct role){SENDS, 0, TURN, n, draw_wait(l)};
    set_route(l, x, top, TURN, MESH_RAMP, MESH_SOUTH);
    for (int y = top + 1; y < low; y++)
        set_route(l, x, y, TURN, MESH_NORTH, MESH_SOUTH);
    set_route(l, x, low, TURN, MESH_NORTH, MESH_EAST);
    set_route(l, x + 1, low, TURN, MESH_WEST, MESH_NORTH);
    for (int y = low - 1; y > top; y--)
        set_route(l, x + 1, y, TURN, MESH_SOUTH, MESH_NORTH);
    set_route(l, x + 1, top, TURN, MESH_SOUTH, MESH_RAMP);
    *role_at(l, x + 1, top) = (struct role){TAKES, TURN, 0, n, draw_wait(l)};
}

/* A stream along row @p y, where its ends are free. */
static void draw_row(struct lines *l, int y)
{
    struct role *first = role_at(l, 0, y), *last = role_at(l, l->w - 1, y);
    const int n = draw_words(l);
    if (l->w < 2 || first->kind != IDLE || last->kind != IDLE) return;
    *first = (struct role){SENDS, 0, ROW, n, draw_wait(l)};
    *last = (struct role){TAKES, ROW, 0, n, draw_wait(l)};
    for (int x = 0; x < l->w; x++)
        set_route(l, x, y, ROW, x ? MESH_WEST : MESH_RAMP, x + 1 < l->w ? MESH_EAST : MESH_RAMP);
}

/* A PE in the first rows, in the last ones or anywhere around which all places are visited. */
static void draw_busy(struct lines *l)
{
    const int x = draw(l, l->w), where = draw(l, 3);
    const int y = where < 2 ? draw(l, 8) : draw(l, l->h);
    struct role *r = role_at(l, x, where == 1 ? l->h - 1 - y : y);
    if (r->kind == IDLE) *r = (struct role){.kind = BUSY};
}

static void draw_failures(struct lines *l)
{
    for (int i = draw(l, 3); i >= 0; i--) {
        struct role *r = &l->role[draw(l, l->w * l->h)];
        if (r->kind == IDLE) *r = (struct role){.kind = FAILS, .wait = draw(l, 200)};
    }
}

static void draw_lines(struct lines *l, uint64_t seed)
{
    memset(l, 0, sizeof *l);
    l->seed = seed;
    l->w = 1 + draw(l, MOST_W);
    l->h = draw(l, 4) ? 50 + draw(l, MOST_H - 50) : 8 + draw(l, 42);
    l->arch = (enum mesh_arch)draw(l, 2);
    const int turn = l->w > 2 && !draw(l, 4) ? draw(l, l->w - 1) : -2;
    if (turn >= 0) draw_turn(l, turn);
    const int which = draw(l, 3); /* southward, northward, both */
    for (int x = 0; x < l->w; x++)
        if (x != turn && x != turn + 1) draw_column(l, x, which != 1, which != 0);
    for (int i = draw(l, 3); i > 0; i--)
        draw_row(l, draw(l, l->h));
    for (int i = draw(l, 2) ? 0 : 1 + draw(l, 2); i > 0; i--)
        draw_busy(l);
    if (!draw(l, 5)) draw_failures(l);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static int place_of(const struct mesh_pe *pe)
{
    const struct lines *l = mesh_user(pe);
    return mesh_y(pe) * l->w + mesh_x(pe);
}

/* What a busy PE does a few dozen times, in which nothing is steady. */
static enum wsc_err be_busy(struct mesh_pe *pe)
{
    enum { TIMES = 60 };
    struct lines *l = mesh_user(pe);
    const struct mesh_dsd words = mesh_mem(OWN, 3);
    if (l->times[place_of(pe)]++ == TIMES) return WSC_OK;
    TRY(mesh_do(pe, MESH_FADDS, mesh_mem(RESULT, 3), words, words));
    return mesh_activate(pe, GO);
}

static enum wsc_err send_and_turn(struct mesh_pe *pe, const struct role *r, int more)
{
    const struct mesh_dsd none = {0};
    TRY(mesh_do(pe, MESH_FMOVS, mesh_out(r->out, r->n), mesh_mem(OWN, r->n), none));
    TRY(mesh_advance_switch(pe, r->out, 0, 0));
    if (!more) return WSC_OK;
    return mesh_do(pe, MESH_FMOVS, mesh_out(r->out, more), mesh_mem(OWN, more), none);
}

static enum wsc_err act(struct mesh_pe *pe, uint32_t data)
{
    const struct lines *l = mesh_user(pe);
    const struct role *r = &l->role[place_of(pe)];
    const struct mesh_dsd own = mesh_mem(OWN, r->n);
    struct mesh_op op = {.code = MESH_FMOVS, .activate = DONE + 1, .dst = mesh_mem(RESULT, r->n)};
    (void)data;
    if (r->kind == BUSY) return be_busy(pe);
    if (r->wait) TRY(mesh_wait(pe, r->wait));
    if (r->kind == TURNS) return send_and_turn(pe, r, l->more);
    if (r->kind == FAILS) op.dst = mesh_mem(MESH_SRAM_BYTES - 4, 2);
    if (r->kind == FAILS) op.a = mesh_float(1);
    if (r->kind == SENDS || r->kind == ADDS) op.dst = mesh_out(r->out, r->n);
    if (r->kind == SENDS) op.a = own;
    if (r->kind == TAKES || r->kind == ADDS) op.a = mesh_in(r->in, r->n);
    if (r->kind == ADDS) op.code = MESH_FADDS;
    if (r->kind == ADDS) op.b = own;
    return mesh_issue(pe, &op);
}

static enum wsc_err done(struct mesh_pe *pe, uint32_t data)
{
    struct lines *l = mesh_user(pe);
    (void)data;
    l->end[place_of(pe)] = mesh_now(pe);
    return WSC_OK;
}

static enum wsc_err build_place(struct mesh *m, const struct lines *l, int place)
{
    const struct mesh_rect at = {place % l->w, place / l->w, 1, 1};
    const struct role *r = &l->role[place];
    float own[MOST_WORDS];
    for (int i = 0; i < MOST_WORDS; i++)
        own[i] = (float)(place % 251 + 3 * i);
    for (int c = 0; c <= ROW; c++)
        if (l->route[place][c].rx) TRY(mesh_route(m, at, c, &l->route[place][c]));
    TRY(mesh_copy_in(m, at, OWN, own, sizeof own));
    if (r->kind == IDLE) return WSC_OK;
    if (r->kind == TAKES || r->kind == ADDS) TRY(mesh_input_queue(m, at, 2, r->in));
    if (r->kind == SENDS || r->kind == ADDS || r->kind == TURNS)
        TRY(mesh_output_queue(m, at, 4, r->out));
    TRY(mesh_task(m, at, GO, act, MESH_LOW));
    TRY(mesh_task(m, at, DONE, done, MESH_LOW));
    return mesh_start(m, at, GO);
}

/* What one process sees of a run; the other fields are its arguments. */
struct run {
    struct lines *l;
    int threads;
    struct mesh_watch *watch;
    struct outcome seen;
};

static enum wsc_err run_mesh(struct mesh *m, struct run *run)
{
    const struct lines *l = run->l;
    for (int i = 0; i < l->w * l->h; i++)
        TRY(build_place(m, l, i));
    if (run->watch) mesh_watch_attach(m, run->watch);
    TRY(mesh_run(m, &run->seen.stats));
    return mesh_copy_out(m, (struct mesh_rect){0, 0, l->w, l->h}, OWN, run->seen.memory,
                         sizeof run->seen.memory[0]);
}

static void run_part(const struct mesh_share *share, void *argument)
{
    struct run *run = argument;
    struct lines *l = run->l;
    struct mesh *m;
    memset(&run->seen, 0, sizeof run->seen);
    run->seen.rc = mesh_create(&m, &(struct mesh_config){.w = l->w,
                                                         .h = l->h,
                                                         .arch = l->arch,
                                                         .max_cycles = 1 << 14,
                                                         .threads = run->threads,
                                                         .share = share,
                                                         .user = l});
    if (!run->seen.rc) run->seen.rc = run_mesh(m, run);
    if (run->seen.rc) (void)snprintf(run->seen.text, TEXT, "%s", wsc_err_message());
    mesh_destroy(&m);
}

static void clear_run(struct lines *l)
{
    memset(l->times, 0, sizeof l->times);
    memset(l->end, 0, sizeof l->end);
}

static void run_alone(struct lines *l, struct run *run)
{
    run->l = l;
    clear_run(l);
    run_part(NULL, run);
    if (!run->seen.rc) memcpy(run->seen.end, l->end, sizeof l->end);
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* The errors of PEs that reach outside of their memory are the only ones. */
static bool is_expected(const struct outcome *o)
{
    return !o->rc || (o->rc == WSC_CAPACITY && strstr(o->text, "outside its memory"));
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
    if (a->rc || b->rc) return a->rc == b->rc && !strcmp(a->text, b->text);
    return !memcmp(&a->stats, &b->stats, sizeof a->stats) &&
           !memcmp(a->memory, b->memory, sizeof a->memory);
}

static void expect(bool same, const struct lines *l, const char *what, int n)
{
    if (!same)
        (void)printf("seed %llu, %d x %d: %d %s\n", (unsigned long long)l->seed, l->w, l->h, n,
                     what);
    CU_ASSERT(same);
}

static void check_threads(struct lines *l, const struct outcome *single)
{
    static struct run run;
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        run = (struct run){.threads = threads};
        run_alone(l, &run);
        const bool ends = !memcmp(run.seen.end, single->end, sizeof single->end);
        expect(ends && is_same(&run.seen, single), l, "threads", threads);
    }
}

/* Processes of two threads each. */
static void check_processes(struct lines *l, const struct outcome *single)
{
    static struct run part[PARTS];
    clear_run(l);
    for (int p = 0; p < PARTS; p++)
        part[p] = (struct run){.l = l, .threads = 2};
    (void)share_group_run(PARTS, run_part, part, sizeof part[0]);
    for (int p = 0; p < PARTS; p++)
        expect(is_same(&part[p].seen, single), l, "processes: part", p);
}

static long from_environment(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* Runs with all numbers of threads, and on processes, beside a watched run. */
static void check(struct lines *l)
{
    static struct run single;
    single = (struct run){.threads = 1};
    ok(mesh_watch_create(&single.watch, &(struct mesh_watch_config){0}));
    run_alone(l, &single);
    expect(is_expected(&single.seen), l, "ends otherwise", (int)single.seen.rc);
    mesh_watch_destroy(&single.watch);
    check_threads(l, &single.seen);
    check_processes(l, &single.seen);
}

TEST(mesh_flow_cross, columns_over_bands_of_threads)
{
    static struct lines l;
    const long first = from_environment("WSC_FLOW_FIRST", 1);
    const long n = from_environment("WSC_FLOW_CASES", CASES);
    for (long seed = first; seed < first + n; seed++) {
        if (seed % CASES == 0) test_more_time();
        draw_lines(&l, (uint64_t)seed);
        check(&l);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* The first wavelet of a stream, and its last one, are beside the border when a batch begins, with
 * nothing else around. */
TEST(mesh_flow_cross, ends_of_a_stream_at_a_border)
{
    enum { HEIGHT = 80, WORDS = 140, BATCH = 12 };
    static struct lines l;
    const struct line way[2] = {{0, HEIGHT - 2, WORDS}, {HEIGHT - 1, 1, WORDS}};
    for (int i = 0; i < 2 * BATCH; i++) {
        const struct line *line = &way[i % 2];
        l = (struct lines){.w = 1, .h = HEIGHT};
        for (int y = 0; y < HEIGHT; y++) /* routers alone pass the stream on */
            *role_at(&l, 0, y) = (struct role){.kind = TAKES};
        *role_at(&l, 0, line->begin) = (struct role){SENDS, 0, 2 * (i % 2), WORDS, i / 2};
        *role_at(&l, 0, line->end) = (struct role){TAKES, 0, 0, WORDS, 0};
        draw_line(&l, 0, i % 2, line);
        for (int y = 0; y < HEIGHT; y++)
            if (!role_at(&l, 0, y)->n) *role_at(&l, 0, y) = (struct role){.kind = IDLE};
        check(&l);
    }
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
}

/* ---- streams that end or begin at a switch --------------------------------------------------- */

enum { WIDE = 6, HIGH = 80, BATCH = 12, LOW = HIGH / 2, CORNER = LOW * WIDE };

/* A way from row @p top down to row @p low, with what sends and takes its words. */
static void set_column(struct lines *l, int x, int top, int low, int c, int n)
{
    set_route(l, x, top, c, MESH_RAMP, MESH_SOUTH);
    for (int y = top + 1; y < low; y++)
        set_route(l, x, y, c, MESH_NORTH, MESH_SOUTH);
    set_route(l, x, low, c, MESH_NORTH, MESH_RAMP);
    *role_at(l, x, top) = (struct role){.kind = SENDS, .out = c, .n = n};
    *role_at(l, x, low) = (struct role){.kind = TAKES, .in = c, .n = n};
}

/* In column 0 the PE of row LOW sends @p n words southward and turns its router, which then takes
 * from the north. */
static void set_turn(struct lines *l, int n, int more)
{
    *l = (struct lines){.w = WIDE, .h = HIGH, .more = more, .arch = MESH_WSE2};
    set_column(l, 0, LOW, HIGH - 1, ROW, n);
    *role_at(l, 0, LOW) = (struct role){.kind = TURNS, .out = ROW, .n = n};
    l->route[CORNER][ROW] = (struct mesh_route){
        .rx = MESH_RAMP, .tx = MESH_SOUTH, .n_more = 1, .more = {{.rx = MESH_NORTH}}};
}

/* Wavelets that come to a border fill the last channel before it, as the one beyond takes others:
 * it is not full for a few cycles. */
TEST(mesh_flow_cross, a_neighbour_that_takes_from_another_side)
{
    enum { WORDS = 150 };
    static struct lines l;
    for (int i = 0; i < BATCH; i++) {
        set_turn(&l, WORDS, 0);
        const struct mesh_route turn = l.route[CORNER][ROW];
        set_column(&l, 0, 0, LOW - 1, ROW, WORDS);
        set_route(&l, 0, LOW - 1, ROW, MESH_NORTH, MESH_SOUTH);
        *role_at(&l, 0, LOW - 1) = (struct role){.kind = IDLE};
        l.route[CORNER][ROW] = turn;
        role_at(&l, 0, 0)->wait = 1 + i;
        role_at(&l, 0, HIGH - 1)->n = 2 * WORDS;
        check(&l);
    }
}

/* A switch has turned to a neighbour that sends the colour elsewhere; the last words before it are
 * still there for a few cycles, as all waited for the PE that takes them.  A busy PE keeps the
 * neighbour from flowing, but not the places beyond. */
static void draw_left(struct lines *l, int wait)
{
    enum { BEYOND = HIGH - 1 - LOW, QUEUE = 6, MORE = 2, FULL = MESH_FIFO * BEYOND + QUEUE + 1 };
    set_turn(l, FULL, MORE);
    *role_at(l, 0, HIGH - 1) =
        (struct role){.kind = TAKES, .in = ROW, .n = FULL + MORE, .wait = wait};
    set_column(l, 0, 0, LOW - 1, ROW, MOST_WORDS);
    set_route(l, 0, LOW - 1, ROW, MESH_NORTH, MESH_EAST);
    set_route(l, 1, LOW - 1, ROW, MESH_WEST, MESH_RAMP);
    *role_at(l, 1, LOW - 1) = *role_at(l, 0, LOW - 1);
    *role_at(l, 0, LOW - 1) = (struct role){.kind = IDLE};
    for (int x = 2; x < WIDE; x++)
        set_column(l, x, LOW + 1, HIGH - 1, 0, MOST_WORDS);
}

TEST(mesh_flow_cross, a_neighbour_that_sends_to_another_side)
{
    enum { LATE = 190 };
    static struct lines l;
    for (int i = 0; i < BATCH; i++) {
        draw_left(&l, LATE + i);
        if (i % 2) role_at(&l, 2, LOW - 1 - BATCH)->kind = BUSY;
        check(&l);
    }
}

/* The first words of a stream are at the border when a batch begins.  Most places before it are
 * busy, so that none flow there; beyond it the way leads through streams along rows that do. */
static void draw_front(struct lines *l, int wait)
{
    enum { BUSY_ROWS = 7, AFTER = 3, WORDS = 280, FIRST = LOW / 2, TOP = FIRST + BUSY_ROWS + 1 };
    *l = (struct lines){.w = WIDE, .h = HIGH, .arch = MESH_WSE2};
    set_column(l, 2, TOP, HIGH - 1, TURN, WORDS);
    role_at(l, 2, TOP)->wait = wait;
    for (int i = FIRST * WIDE; i < (FIRST + BUSY_ROWS) * WIDE; i++)
        l->role[i] = (struct role){.kind = BUSY};
    for (int y = LOW + AFTER; y < HIGH - 1; y++)
        draw_row(l, y);
    for (int i = (TOP + 1) * WIDE; i < WIDE * HIGH; i++) {
        l->role[i].n = l->role[i].kind == IDLE ? 0 : WORDS;
        l->role[i].wait = 0;
    }
}

TEST(mesh_flow_cross, a_front_from_where_few_places_flow)
{
    enum { BEGIN = 60 };
    static struct lines l;
    for (int i = 0; i < BATCH; i++) {
        draw_front(&l, BEGIN + i);
        check(&l);
    }
}

/* A band of one short row is too small for streams that flow, beside two that are not. */
TEST(mesh_flow_cross, a_band_that_is_too_small)
{
    static struct lines l = {.w = 3, .h = 5, .arch = MESH_WSE2};
    for (int x = 0; x < l.w; x++)
        set_column(&l, x, 1, l.h - 1, 0, MOST_WORDS);
    check(&l);
}
