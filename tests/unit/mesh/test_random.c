// SPDX-License-Identifier: Apache-2.0
/* Ten thousand random fabrics and programs, legal, faulty and wild ones.  WSC_MESH_CASES sets
 * another number of cases, WSC_MESH_FIRST the first seed, WSC_MESH_VERBOSE=1 prints how often each
 * kind of end occurred. */
#include "random_fabric.h"

#include "../../support/test.h"

#include <wsc/mem.h>

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES = 10000, SHOWN = 5 };
/* The limit of the runner, for so many cases: a long run is no hang. */
enum { PER_ALARM = 1000 };

/* Every way in which a case may end, and how often it must at least, in ten thousand. */
static struct end {
    const char *pattern;
    int least, seen;
} end[] = {
    {"", 2500, 0},
    {"mesh: deadlock in cycle * waits to send colour *; a cycle: *", 50, 0},
    {"mesh: deadlock in cycle *; a cycle: *", 50, 0},
    {"mesh: deadlock in cycle * waits to send colour *", 50, 0},
    {"mesh: deadlock in cycle * waits for colour *", 100, 0},
    {"mesh: still busy after 4000 cycles: PE (*, *), * PE* in all", 40, 0},
    {"mesh: PEs (*, *) + * x * lie outside the fabric of * x *", 50, 0},
    {"mesh: a program runs once; mesh_clear makes room for the next", 8, 0},
    /* routes */
    {"PE (*, *): a route for colour * after the start", 12, 0},
    {"PE (*, *): colour *: a route needs an input and an output", 25, 0},
    {"PE (*, *): colour *: two senders on one colour at one router", 20, 0},
    {"PE (*, *): colour * already comes from the *; a second route would give it two senders at "
     "one router",
     60, 0},
    {"PE (*, *): colour *: * further positions, start in *", 12, 0},
    {"PE (*, *): colour *: there is no pop mode 9", 2, 0},
    {"PE (*, *): colour * has no switch on WSE-3", 5, 0},
    {"PE (*, *): colour *: unknown direction in a position", 6, 0},
    {"PE (*, *): colour *: on WSE-2 a further position changes one direction, of the input or of "
     "the output",
     10, 0},
    {"PE (*, *): colour *: a position with two senders", 5, 0},
    /* filters, edges, queues, tasks */
    {"PE (*, *): more than 4 filters", 50, 0},
    {"PE (*, *): a filter on colour *, which has no route here", 5, 0},
    {"PE (*, *): a filter for colour * after the start", 12, 0},
    {"PE (*, *): colour *: there is no filter of kind 7", 2, 0},
    {"PE (*, *): colour *: no edge of the fabric there", 12, 0},
    {"PE (*, *): colour *: an edge source of -1 wavelets", 1, 0},
    {"PE (*, *): an edge source of colour *, which has no route", 30, 0},
    {"PE (*, *): an edge sink for colour *, which has no route", 30, 0},
    {"PE (*, *): *put queue * or colour * is bound already", 50, 0},
    {"PE (*, *): input queue *, expected 0 to 7 before the start", 20, 0},
    {"PE (*, *): output queue *, expected 0 to 5 before the start", 20, 0},
    {"PE (*, *): a data task for colour *, which has no input queue", 12, 0},
    {"PE (*, *): task *, expected 0 to 63", 12, 0},
    {"PE (*, *): colour *, expected 0 to 23", 30, 0},
    /* memory */
    {"PE (*, *): a block asks for * bytes, * of 49152 are left", 15, 0},
    {"PE (*, *): address -1 to release from", 3, 0},
    {"PE (*, *): * bytes at * lie outside its memory of 49152", 40, 0},
    /* operations */
    {"PE (*, *): there is no operation *", 10, 0},
    {"PE (*, *): there is no microthread *", 20, 0},
    {"PE (*, *): there is no local task *", 50, 0},
    {"PE (*, *): task * cannot be activated: local tasks are * to 30", 20, 0},
    {"PE (*, *): a task issues more than 32 operations", 50, 0},
    {"PE (*, *): a wait of * cycles", 8, 0},
    {"PE (*, *): colour * has no input queue", 5, 0},
    {"PE (*, *): *: a length beyond 0 to 65535 or a stride beyond 32767", 10, 0},
    {"PE (*, *): *: an operand of kind * with * dimensions", 30, 0},
    {"PE (*, *): *: an operand of more than 2147483647 elements", 4, 0},
    {"PE (*, *): *: operands of *, * and * elements", 8, 0},
    {"PE (*, *): * does not take these operands", 60, 0},
    {"PE (*, *): * reaches bytes * to *, outside its memory of 49152", 15, 0},
    {"PE (*, *): * starts at byte *, between 16-bit words", 5, 0},
    {"PE (*, *): *: colour *, expected 0 to 23", 12, 0},
    {"PE (*, *): *: colour * has no *put queue", 50, 0},
    {"PE (*, *): *: colour * has no route here", 80, 0},
    {"PE (*, *): * of * elements does not end within the 4000 cycles of the run", 20, 0},
    /* wavelets and tasks that are left */
    {"PE (*, *): nobody takes a wavelet of colour *: no input queue", 15, 0},
    {"PE (*, *): nobody takes a wavelet of colour * to the *: the colour has no route there", 80,
     0},
    {"PE (*, *): nobody takes wavelet * of colour * that leaves the fabric to the *", 20, 0},
    {"PE (*, *): nobody takes a control wavelet of colour *: no task *", 25, 0},
    {"PE (*, *): nobody takes * wavelets of colour *: the data task is blocked", 20, 0},
    {"PE (*, *): nobody takes * wavelets of colour *, held up at PE (*, *)", 4, 0},
    {"PE (*, *): nobody takes * wavelets of colour *", 60, 0},
    {"PE (*, *): * wavelets of colour * cannot leave", 80, 0},
    {"PE (*, *): * wavelets of colour * cannot enter the fabric", 20, 0},
    {"PE (*, *): task * is activated but blocked", 20, 0},
};
enum { N_ENDS = sizeof end / sizeof *end };

static struct tally {
    int cases, decided, shown, translated, mirrored;
} tally;

static const struct view as_drawn = {0};

static long from_environment(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* A property that does not hold, with the seed that shows it. */
static void broken(const struct random_case *c, const char *what, const char *one,
                   const char *other)
{
    if (tally.shown++ < SHOWN)
        (void)fprintf(stderr, "seed %llu, %d x %d: %s\n  %s\n  %s\n", (unsigned long long)c->seed,
                      c->w, c->h, what, one, other);
}

static struct end *end_of(const struct outcome *o)
{
    for (int i = 0; i < N_ENDS; i++)
        if (!fnmatch(end[i].pattern, o->text, 0)) return &end[i];
    return NULL;
}

static bool same_end(const struct outcome *a, const struct outcome *b)
{
    return a->rc == b->rc && !strcmp(a->text, b->text) &&
           !memcmp(&a->stats, &b->stats, sizeof a->stats) && a->memory == b->memory &&
           a->output == b->output;
}

static void describe(const struct outcome *o, char text[1400])
{
    (void)snprintf(text, 1400, "%s, %lld cycles, %lld wavelets, %lld hops, %lld elements: %s",
                   wsc_err_str(o->rc), (long long)o->stats.cycles, (long long)o->stats.wavelets,
                   (long long)o->stats.wavelet_hops, (long long)o->stats.elements, o->text);
}

static void compare(const struct random_case *c, const struct outcome *a, const struct outcome *b,
                    const char *what)
{
    char one[1400], other[1400];
    if (same_end(a, b)) return;
    describe(a, one);
    describe(b, other);
    broken(c, what, one, other);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Coordinates in @p text, moved back by (dx, dy). */
static void move_back(char text[1200], int dx, int dy)
{
    char out[1200] = "";
    size_t used = 0;
    for (const char *at = text; *at && used < sizeof out - 32;) {
        int x, y;
        const char *after = case_read_place(at, &x, &y);
        if (after) used += (size_t)snprintf(out + used, 32, "(%d, %d)", x - dx, y - dy);
        if (!after) out[used++] = *at;
        at = after ? after : at + 1;
    }
    out[used] = 0;
    memcpy(text, out, sizeof out);
}

/* Inside a larger fabric, moved by a few PEs; what enters or leaves over an edge stays there. */
static void check_translated(const struct random_case *c, const struct outcome *drawn)
{
    static struct case_log log;
    struct outcome moved;
    int by = 1 + (int)(c->seed % 3);
    struct view v = {.dx = c->west ? 0 : by, .dy = c->north ? 0 : 3 - by / 2};
    v.more_w = c->east ? 0 : v.dx + 1;
    v.more_h = c->south ? 0 : v.dy + 2;
    if (c->east) v.more_w = v.dx;
    if (c->south) v.more_h = v.dy;
    if (c->odd_rect) return;
    case_run(c, &v, &moved, &log);
    move_back(moved.text, v.dx, v.dy);
    compare(c, drawn, &moved, "moved inside a larger fabric");
    tally.translated++;
}

/* Mirrored and transposed: all cycles are the same.  Which of several errors of one cycle is
 * reported depends on the order of the PEs, and so does a text that lists PEs. */
static void check_mirrored(const struct random_case *c, const struct outcome *drawn)
{
    static struct case_log log;
    struct outcome seen;
    int which = 1 + (int)(c->seed / 5 % 7);
    struct view v = {.flip_x = which & 1, .flip_y = which & 2, .transpose = which & 4};
    if (c->odd_rect) return;
    case_run(c, &v, &seen, &log);
    if (drawn->rc && seen.rc) memcpy(seen.text, drawn->text, sizeof seen.text);
    if (drawn->rc && seen.rc && drawn->rc != WSC_DEADLOCK) seen.rc = drawn->rc;
    compare(c, drawn, &seen, "mirrored");
    tally.mirrored++;
}

/* ---- one case -------------------------------------------------------------------------------- */

static void check_model(const struct random_case *c, const struct case_log *log,
                        const struct outcome *o)
{
    char why[160] = "";
    bool decided = false;
    if (o->rc) return;
    if (!model_check(c, log, o, &decided, why)) broken(c, "wavelets are not conserved", why, "");
    tally.decided += decided;
}

static void check_case(const struct random_case *c)
{
    static struct case_log log, again_log;
    struct outcome first, again;
    case_run(c, &as_drawn, &first, &log);
    struct end *e = end_of(&first);
    if (e) e->seen++;
    if (!e) broken(c, "an end that is not in the list", first.text, "");
    if (c->legal && first.rc && first.rc != WSC_DEADLOCK)
        broken(c, "a legal case is refused", first.text, "");
    if (c->must_end && first.rc) broken(c, "a case that must end does not", first.text, "");
    if (first.placeless) broken(c, "an error names no PE", first.placeless_text, "");
    check_model(c, &log, &first);
    case_run(c, &as_drawn, &again, &again_log);
    compare(c, &first, &again, "the same case twice");
    check_translated(c, &first);
    check_mirrored(c, &first);
    tally.cases++;
}

static void print_ends(void)
{
    printf("\n%d cases, %d decided by the model, %d moved, %d mirrored\n", tally.cases,
           tally.decided, tally.translated, tally.mirrored);
    for (int i = 0; i < N_ENDS; i++)
        printf("%7d  %s\n", end[i].seen, *end[i].pattern ? end[i].pattern : "success");
}

TEST(mesh, random_cases)
{
    static struct random_case c;
    long n = from_environment("WSC_MESH_CASES", CASES);
    long first = from_environment("WSC_MESH_FIRST", 1);
    for (long seed = first; seed < first + n; seed++) {
        if (seed % PER_ALARM == 0) test_more_time();
        case_draw(&c, (uint64_t)seed);
        check_case(&c);
    }
    T_EQ(tally.shown, 0);
    T_EQ(wsc_mem_in_use(WSC_MEM_MESH), 0);
    if (getenv("WSC_MESH_VERBOSE")) print_ends();
    for (int i = 0; n >= CASES && i < N_ENDS; i++)
        if (end[i].seen < end[i].least) T_STR(end[i].pattern, "seen often enough");
    if (n >= CASES) CU_ASSERT(tally.decided >= CASES / 4 && tally.mirrored >= CASES / 2);
}
