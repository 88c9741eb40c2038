/** Small scenes on a fabric: what the tests of single rules share. */
#ifndef WSC_TEST_SCENE_H
#define WSC_TEST_SCENE_H
#include "../../support/test.h"

#include <wsc/mesh.h>

enum { SCENE_SEEN = 96, SCENE_BYTES = 8192, GO = 8, DONE = 9, EXTRA = 10 };

/* What tasks have seen, in order: cycle, PE, payload. */
struct seen {
    int64_t cycle;
    int x, y;
    uint32_t data;
};
struct scene {
    struct mesh *m;
    struct mesh_stats stats;
    int n, wait;          /* for tasks: words, cycles */
    struct mesh_op op[4]; /* for tasks */
    int n_ops;
    int n_seen;
    struct seen seen[SCENE_SEEN];
};

/* An OK that ends the case otherwise; a call, so that it nests in loops. */
void ok(enum wsc_err rc);
void scene_init(struct scene *s, int w, int h, enum mesh_arch arch);
void scene_run(struct scene *s);
/* Destroys the fabric; nothing of it may be left. */
void scene_end(struct scene *s);
/* Runs into an error with exactly this text. */
void scene_fails(struct scene *s, enum wsc_err code, const char *text);

struct mesh_rect at(int x, int y);
struct mesh_rect row(int x, int n);
void route(struct scene *s, struct mesh_rect where, int colour, int rx, int tx);
/* Routes of @p colour from PE (0, 0) along row 0 to PE (p - 1, 0); who is in the set @p takers
 * (bit x) gets a copy. */
void route_row(struct scene *s, int colour, int p, unsigned takers);
/* Queues: what PE @p where hears with @p fn run for each word, and what it sends. */
void hears(struct scene *s, struct mesh_rect where, int queue, int colour, mesh_task_fn fn);
void sends(struct scene *s, struct mesh_rect where, int queue, int colour);
/* A local task of low priority, and one that starts in cycle 0. */
void task(struct scene *s, struct mesh_rect where, int id, mesh_task_fn fn);
void starts(struct scene *s, struct mesh_rect where, mesh_task_fn fn);

/* Tasks.  probe: note the call.  issue_ops: issue scene.op.  send_1, send_2: scene.n words of
 * memory on colour 1 or 2.  wait_first: scalar code of scene.wait cycles. */
enum wsc_err probe(struct mesh_pe *pe, uint32_t data);
enum wsc_err issue_ops(struct mesh_pe *pe, uint32_t data);
enum wsc_err send_1(struct mesh_pe *pe, uint32_t data);
enum wsc_err send_2(struct mesh_pe *pe, uint32_t data);
enum wsc_err wait_first(struct mesh_pe *pe, uint32_t data);

/* Words 0, 1, 2 .. in the memory of a PE, from address 0. */
void count_up(struct scene *s, struct mesh_rect where, int n);
/* T_EQ as a call, so that it nests in loops; T_SEEN: call i happened in that cycle with that data.
 */
void expect_eq(long long a, long long b, const char *what, const char *file, int line);
void expect_seen(const struct scene *s, int i, int64_t cycle, uint32_t data, const char *file,
                 int line);
#define EQ(a, b) expect_eq((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
#define T_SEEN(s, i, cycle, data)                                                                  \
    expect_seen(s, i, (int64_t)(cycle), (uint32_t)(data), __FILE__, __LINE__)
#endif
