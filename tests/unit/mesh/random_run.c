// SPDX-License-Identifier: Apache-2.0
#include "random_fabric.h"

#include <wsc/check.h>
#include <wsc/hash.h>
#include <wsc/mesh_snapshot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A case under way. */
struct run {
    const struct random_case *c;
    struct view view;
    struct case_log *log;
    struct outcome *out;
    struct mesh_output sink[CASE_EDGES];
    uint32_t word[CASE_EDGES][CASE_WAVELETS];
    int runs[CASE_PES][N_SLOTS]; /* of a program */
    struct mesh_wavelet wavelet[CASE_EDGES][CASE_WAVELETS];
    bool threads; /* tasks run on several threads: nothing is noted */
};

/* The one mistake that is not made at a place. */
static const char whole_program[] = "mesh: a program runs once";

const char *case_read_place(const char *text, int *x, int *y)
{
    char *end;
    if (*text != '(') return NULL;
    *x = (int)strtol(text + 1, &end, 10);
    if (strncmp(end, ", ", 2) != 0) return NULL;
    *y = (int)strtol(end + 2, &end, 10);
    return *end == ')' ? end + 1 : NULL;
}

bool case_names_a_place(const char *message)
{
    int x, y;
    const char *at = strstr(message, "PE (");
    if (!strncmp(message, whole_program, strlen(whole_program))) return true;
    if (!at) at = strstr(message, "PEs (");
    if (!at) return false;
    at = strchr(at, '(');
    return case_read_place(at, &x, &y) != NULL;
}

static void note_error(struct run *r)
{
    if (r->threads || case_names_a_place(wsc_err_message())) return;
    r->out->placeless = true;
    (void)snprintf(r->out->placeless_text, sizeof r->out->placeless_text, "%.199s",
                   wsc_err_message());
}

/* ---- views ----------------------------------------------------------------------------------- */

static struct mesh_rect seen_rect(const struct run *r, struct mesh_rect a)
{
    const struct view *v = &r->view;
    if (v->flip_x) a.x = r->c->w - a.x - a.w;
    if (v->flip_y) a.y = r->c->h - a.y - a.h;
    if (v->transpose) a = (struct mesh_rect){a.y, a.x, a.h, a.w};
    return (struct mesh_rect){a.x + v->dx, a.y + v->dy, a.w, a.h};
}

/* Number in the case of the PE at (x, y) of the fabric. */
static int case_pe(const struct run *r, int x, int y)
{
    const struct view *v = &r->view;
    int a = x - v->dx, b = y - v->dy;
    int cx = v->transpose ? b : a, cy = v->transpose ? a : b;
    if (v->flip_x) cx = r->c->w - 1 - cx;
    if (v->flip_y) cy = r->c->h - 1 - cy;
    return cy * r->c->w + cx;
}

static int exchanged(int set, int one, int other)
{
    int rest = set & ~(one | other);
    return rest | (set & one ? other : 0) | (set & other ? one : 0);
}

static int seen_set(const struct run *r, int set)
{
    const struct view *v = &r->view;
    if (v->flip_x) set = exchanged(set, MESH_EAST, MESH_WEST);
    if (v->flip_y) set = exchanged(set, MESH_NORTH, MESH_SOUTH);
    if (!v->transpose) return set;
    set = exchanged(set, MESH_EAST, MESH_SOUTH);
    return exchanged(set, MESH_WEST, MESH_NORTH);
}

static struct mesh_route seen_route(const struct run *r, struct mesh_route route)
{
    route.rx = (uint8_t)seen_set(r, route.rx);
    route.tx = (uint8_t)seen_set(r, route.tx);
    for (int i = 0; i < MESH_POSITIONS - 1; i++) {
        route.more[i].rx = (uint8_t)seen_set(r, route.more[i].rx);
        route.more[i].tx = (uint8_t)seen_set(r, route.more[i].tx);
    }
    return route;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static int64_t length(const struct mesh_dsd *d)
{
    int64_t n = 1;
    for (int i = 0; i < d->n_dims; i++)
        n *= d->len[i];
    return n;
}

static void note_send(struct run *r, int pe, const struct mesh_op *op, int64_t n)
{
    struct case_log *log = r->log;
    if (log->n_sent == CASE_LOG || n > INT16_MAX) {
        log->overflow = true;
        return;
    }
    int *thread = &log->sender_thread[pe][op->dst.colour];
    *thread = *thread == 0 || *thread == 1 + op->thread ? 1 + op->thread : -1;
    log->sent[log->n_sent++] =
        (struct sent){.pe = pe,
                      .colour = op->dst.colour,
                      .n = (int)n,
                      .control = op->dst.control,
                      .known = op->code == MESH_FMOVS && op->a.kind == MESH_DSD_SCALAR,
                      .data = op->a.scalar};
}

static void note_op(struct run *r, int pe, const struct mesh_op *op)
{
    const struct mesh_dsd *first = op->a.n_dims ? &op->a : op->b.n_dims ? &op->b : &op->dst;
    const struct mesh_dsd *in = op->a.kind == MESH_DSD_IN ? &op->a : &op->b;
    int64_t n = length(first);
    if (r->threads) return;
    r->log->elements += n;
    if (op->dst.kind == MESH_DSD_OUT) note_send(r, pe, op, n);
    if (in->kind == MESH_DSD_IN) r->log->taken[pe][in->colour] += n;
}

static enum wsc_err do_control(struct run *r, int me, struct mesh_pe *pe, const struct action *a)
{
    struct mesh_op op = {.code = MESH_FMOVS, .thread = a->op.thread};
    TRY(mesh_send_control(pe, a->arg, (uint32_t)a->value, a->op.thread));
    op.dst = mesh_out(a->arg, 1);
    op.dst.control = true;
    op.a = mesh_bits((uint32_t)a->value);
    note_op(r, me, &op);
    return WSC_OK;
}

static enum wsc_err do_action(struct run *r, int me, struct mesh_pe *pe, const struct action *a)
{
    uint32_t value;
    switch (a->kind) {
    case DO_OP:
        TRY(mesh_issue(pe, &a->op));
        note_op(r, me, &a->op);
        return WSC_OK;
    case DO_CONTROL:
        return do_control(r, me, pe, a);
    case DO_JOIN:
        return mesh_join(pe, a->arg);
    case DO_WAIT:
        return mesh_wait(pe, a->value);
    case DO_ACTIVATE:
        return mesh_activate(pe, a->arg);
    case DO_BLOCK:
        return mesh_block(pe, a->arg);
    case DO_UNBLOCK:
        return mesh_unblock(pe, a->arg);
    case DO_BLOCK_DATA:
        return mesh_block_data(pe, a->arg);
    case DO_UNBLOCK_DATA:
        return mesh_unblock_data(pe, a->arg);
    case DO_LOAD:
        return mesh_load(pe, a->arg, &value);
    case DO_STORE:
        return mesh_store(pe, a->arg, (uint32_t)a->value);
    }
    WSC_CHECK(false, "an action or step without a case");
}

static enum wsc_err run_slot(struct mesh_pe *pe, int slot)
{
    struct run *r = mesh_user(pe);
    int me = case_pe(r, mesh_x(pe), mesh_y(pe));
    const struct program *p = &r->c->program[me][slot];
    int run = r->runs[me][slot]++;
    if (slot >= SLOT_DATA && slot < SLOT_CONTROL)
        r->log->taken[me][r->c->colour[slot - SLOT_DATA]]++;
    if (slot == SLOT_CONTROL) r->log->control_tasks[me]++;
    for (int i = p->first; i < p->first + p->n; i++) {
        const struct action *a = &r->c->action[i];
        if (run >= a->times) continue;
        enum wsc_err rc = do_action(r, me, pe, a);
        if (rc && !a->tolerant) return rc;
        if (rc) note_error(r);
    }
    return WSC_OK;
}

#define SLOT_TASK(n)                                                                               \
    static enum wsc_err slot_##n(struct mesh_pe *pe, uint32_t data)                                \
    {                                                                                              \
        (void)data;                                                                                \
        return run_slot(pe, n);                                                                    \
    }
SLOT_TASK(0)
SLOT_TASK(1)
SLOT_TASK(2)
SLOT_TASK(3)
SLOT_TASK(4)
SLOT_TASK(5)
SLOT_TASK(6)
SLOT_TASK(7)
static const mesh_task_fn slot_task[N_SLOTS] = {slot_0, slot_1, slot_2, slot_3,
                                                slot_4, slot_5, slot_6, slot_7};

/* ---- steps ----------------------------------------------------------------------------------- */

static enum wsc_err copy(struct mesh *m, const struct step *s, struct mesh_rect rect)
{
    static _Thread_local uint8_t host[CASE_PES * CASE_BYTES];
    int64_t pes = (int64_t)rect.w * rect.h;
    int64_t room = pes > 0 ? (int64_t)sizeof host / pes : MESH_SRAM_BYTES;
    /* What is longer than the host's block must have been refused before it is read. */
    WSC_CHECK(s->n <= room || s->n > MESH_SRAM_BYTES, "a copy of %lld bytes", (long long)s->n);
    for (int64_t i = 0; s->n > 0 && s->n <= room && i < pes * s->n; i++)
        host[i] = (uint8_t)(i % s->n % 59); /* the same on every PE */
    if (s->kind == SET_COPY_OUT) return mesh_copy_out(m, rect, s->arg, host, s->n);
    return mesh_copy_in(m, rect, s->arg, host, s->n);
}

static enum wsc_err set_edge(struct run *r, struct mesh *m, const struct step *s)
{
    struct mesh_rect at = seen_rect(r, s->rect);
    int side = seen_set(r, s->id);
    if (s->kind == SET_SOURCE)
        return mesh_edge_source(m, at.x, at.y, side, s->colour, r->wavelet[s->arg], s->n);
    struct mesh_output *o = &r->sink[s->arg];
    *o = (struct mesh_output){.word = r->word[s->arg], .capacity = s->n};
    return mesh_edge_sink(m, at.x, at.y, side, s->colour, o);
}

static enum wsc_err set_memory(struct mesh *m, const struct step *s, struct mesh_rect at)
{
    int address;
    if (s->kind == SET_RESERVE) return mesh_reserve(m, at, s->n, s->id, "a block", &address);
    if (s->kind == SET_RELEASE) return mesh_release(m, at, s->arg);
    return copy(m, s, at);
}

static enum wsc_err set_step(struct run *r, struct mesh *m, const struct step *s)
{
    struct mesh_rect at = seen_rect(r, s->rect);
    struct mesh_route route;
    switch (s->kind) {
    case SET_ROUTE:
        route = seen_route(r, s->as.route);
        return mesh_route(m, at, s->colour, &route);
    case SET_FILTER:
        return mesh_filter(m, at, s->colour, &s->as.filter);
    case SET_INPUT:
        return mesh_input_queue(m, at, s->arg, s->colour);
    case SET_OUTPUT:
        return mesh_output_queue(m, at, s->arg, s->colour);
    case SET_TASK:
        return mesh_task(m, at, s->id, slot_task[s->arg], s->priority);
    case SET_DATA_TASK:
        return mesh_data_task(m, at, s->colour, slot_task[s->arg], s->priority);
    case SET_START:
        return mesh_start(m, at, s->id);
    case SET_SOURCE:
    case SET_SINK:
        return set_edge(r, m, s);
    case SET_COPY_IN:
    case SET_COPY_OUT:
    case SET_RESERVE:
    case SET_RELEASE:
        return set_memory(m, s, at);
    case SET_RUN:
        return mesh_run(m, &r->out->stats);
    case SET_NOTHING:
        return WSC_OK;
    }
    WSC_CHECK(false, "an action or step without a case");
}

static enum wsc_err all_steps(struct run *r, struct mesh *m)
{
    bool has_run = false;
    for (int i = 0; i < r->c->n_steps; i++) {
        const struct step *s = &r->c->step[i];
        enum wsc_err rc = set_step(r, m, s);
        has_run |= s->kind == SET_RUN;
        r->log->applied[i] = !rc;
        if (rc && !s->tolerant) return rc;
        if (rc) note_error(r);
    }
    return has_run ? WSC_OK : mesh_run(m, &r->out->stats);
}

/* Memory in the order of the case, whatever the view. */
static uint64_t hash_memory(struct run *r, struct mesh *m)
{
    uint8_t block[CASE_BYTES];
    uint64_t hash = 0;
    for (int i = 0; i < r->c->w * r->c->h; i++) {
        struct mesh_rect at = seen_rect(r, (struct mesh_rect){i % r->c->w, i / r->c->w, 1, 1});
        enum wsc_err rc = mesh_copy_out(m, at, 0, block, sizeof block);
        WSC_CHECK(!rc, "%s", wsc_err_message());
        hash = wsc_hash64(block, sizeof block, hash);
    }
    return hash;
}

static void note_end(struct run *r, struct mesh *m, enum wsc_err rc)
{
    r->out->rc = rc;
    if (rc) {
        (void)snprintf(r->out->text, sizeof r->out->text, "%.1199s", wsc_err_message());
        note_error(r);
        return;
    }
    r->out->memory = wsc_hash64(&(uint64_t){hash_memory(r, m)}, 8, r->out->memory);
    for (int i = 0; i < CASE_EDGES; i++) {
        const struct mesh_output *o = &r->sink[i];
        r->out->output = wsc_hash64(o->word, (size_t)o->n * 4, r->out->output);
        r->out->left_edge += o->n;
    }
}

/* Set the wavelets of the sources; in run number @p number, data of their own. */
static void set_wavelets(struct run *r, int number)
{
    memcpy(r->wavelet, r->c->wavelet, sizeof r->wavelet);
    for (int i = 0; i < CASE_EDGES; i++)
        for (int k = 0; k < CASE_WAVELETS; k++)
            if (!r->wavelet[i][k].control)
                r->wavelet[i][k].data += (uint32_t)(number * (k + 1)) << 8;
}

/* Run the program, and as many times more as @p host says. */
static void run_all(struct run *r, struct mesh *m, const struct case_host *host)
{
    for (int i = 0; i <= host->more_runs && !r->out->rc; i++) {
        enum wsc_err rc = i ? mesh_clear(m) : WSC_OK;
        memset(r->runs, 0, sizeof r->runs);
        memset(r->log, 0, sizeof *r->log);
        set_wavelets(r, i);
        if (!rc && host->announced) rc = mesh_repeat(m, r->c->seed);
        WSC_CHECK(!rc, "%s", wsc_err_message());
        note_end(r, m, all_steps(r, m));
    }
    r->out->repeats = mesh_repeat_counts(m);
}

static void run_seen(const struct random_case *c, const struct view *view,
                     const struct case_host *host, struct outcome *out, struct case_log *log)
{
    static _Thread_local struct run r; /* a thread runs one case at a time */
    struct mesh *m = NULL;
    int w = view->transpose ? c->h : c->w, h = view->transpose ? c->w : c->h;
    memset(&r, 0, sizeof r);
    memset(out, 0, sizeof *out);
    memset(log, 0, sizeof *log);
    r.c = c;
    r.view = *view;
    r.log = log;
    r.out = out;
    r.threads = host->threads > 1;
    enum wsc_err rc = mesh_create(&m, &(struct mesh_config){.w = w + view->more_w,
                                                            .h = h + view->more_h,
                                                            .arch = c->arch,
                                                            .half = c->half,
                                                            .max_cycles = c->max_cycles,
                                                            .user = &r,
                                                            .threads = host->threads,
                                                            .share = host->share,
                                                            .snapshots = host->snapshots});
    WSC_CHECK(!rc, "%s", wsc_err_message());
    if (host->snapshots) rc = mesh_note(m, r.runs, sizeof r.runs[0]);
    WSC_CHECK(!rc, "%s", wsc_err_message());
    mesh_watch_attach(m, host->watch);
    run_all(&r, m, host);
    mesh_destroy(&m);
}

void case_run(const struct random_case *c, const struct view *view, struct outcome *out,
              struct case_log *log)
{
    run_seen(c, view, &(struct case_host){0}, out, log);
}

void case_run_on(const struct random_case *c, const struct case_host *host, struct outcome *out,
                 struct case_log *log)
{
    run_seen(c, &(struct view){0}, host, out, log);
}
