// SPDX-License-Identifier: Apache-2.0
/* Records the operations of a run with the words that they send and receive. Wavelets carry numbers
 * of words instead of values; a sender appends a value, a receiver reads it. Whatever makes the run
 * depend on a value (a task that reads memory or a payload, an index) refuses the recording, but
 * not the run. */
#include "recording.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <string.h>

enum { THREADS = MESH_THREADS + 1 };

/* ---- memory ---------------------------------------------------------------------------------- */

/* Make room for @p n elements of a list; if that is too much, the recording is refused. */
#define ROOM(c, list, room, n)                                                                     \
    ((c)->refused =                                                                                \
         (c)->refused || !grow((void **)&(c)->list, &(c)->room, (n), sizeof *(c)->list),           \
     !(c)->refused)

static bool grow(void **list, int32_t *room, int64_t n, size_t size)
{
    enum { LEAST = 256, MOST_BYTES = 1 << 28 };
    if (n <= *room) return true;
    const int64_t wanted = n < LEAST ? LEAST : n + n / 2;
    if (wanted > MOST_BYTES / (int64_t)size) return false;
    void *grown = wsc_realloc(WSC_MEM_MESH, *list, (size_t)wanted, size);
    if (!grown) return false;
    *list = grown;
    *room = (int32_t)wanted;
    return true;
}

/* ---- different items ------------------------------------------------------------------------- */

/* The slot of the item that is equal to @p item, or an empty one. */
static int32_t *slot_of(const struct mesh_recording_set *s, const void *item, size_t size)
{
    uint64_t i = wsc_hash64(item, size, 0);
    for (;; i++) {
        int32_t *slot = &s->slot[i & (uint64_t)(s->n_slots - 1)];
        if (!*slot || !memcmp(s->item + (size_t)(*slot - 1) * size, item, size)) return slot;
    }
}

/* Keep the table at most half full. */
static bool grow_slots(struct mesh_recording_set *s, size_t size)
{
    enum { LEAST = 1024 };
    if (2 * s->n < s->n_slots) return true;
    wsc_free(s->slot);
    s->n_slots = s->n_slots ? 2 * s->n_slots : LEAST;
    s->slot = wsc_alloc(WSC_MEM_MESH, (size_t)s->n_slots, sizeof *s->slot);
    for (int32_t i = 0; s->slot && i < s->n; i++)
        *slot_of(s, s->item + (size_t)i * size, size) = i + 1;
    return s->slot;
}

/* The index of @p item, which is added if it is new; -1: no memory, and the set is of no use. */
static int32_t index_of(struct mesh_recording_set *s, const void *item, size_t size)
{
    if (!grow_slots(s, size) || !grow((void **)&s->item, &s->room, (int64_t)s->n + 1, size))
        return -1;
    int32_t *slot = slot_of(s, item, size);
    if (!*slot) {
        memcpy(s->item + (size_t)s->n * size, item, size);
        *slot = ++s->n;
    }
    return *slot - 1;
}

int32_t mesh_recording_form(struct mesh_recording *c, const struct mesh_step_form *f)
{
    return index_of(&c->forms, f, sizeof *f);
}

/* The index of the descriptors of an operation. */
static int32_t descriptors(struct mesh_recording *c, const struct mesh_op *op)
{
    struct mesh_op o;
    memset(&o, 0, sizeof o); /* padding too, since items are compared byte by byte */
    o.code = op->code;
    o.dst = op->dst;
    o.a = op->a;
    o.b = op->b;
    o.c = op->c;
    o.map = op->map;
    o.map_cycles = op->map_cycles;
    return index_of(&c->ops, &o, sizeof o);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* @p n new words, sent by step @p sender; the number of the first one. Without memory for words the
 * run itself fails, since wavelets have no values. */
static int32_t new_words(struct mesh_recording *c, int64_t n, int32_t sender)
{
    const int32_t first = c->n_words;
    if (n > INT32_MAX - first || !grow((void **)&c->value, &c->value_room, first + n, 4) ||
        !grow((void **)&c->sender, &c->sender_room, first + n, 4)) {
        c->failed = c->refused = true;
        return 0;
    }
    for (int64_t i = first; i < first + n; i++) {
        c->value[i] = 0;
        c->sender[i] = sender;
    }
    c->n_words += (int32_t)n;
    return first;
}

/* The words of a source; control wavelets have none. */
static void take_source(struct mesh_recording *c, int i, const struct mesh_source *s)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->n; k++)
        n += !s->wavelet[k].control;
    const int32_t first = new_words(c, n, -1);
    c->made->taken[i] = (struct mesh_taken){s->n, first};
    n = first;
    for (int64_t k = 0; k < s->n && !c->failed; k++)
        if (!s->wavelet[k].control) c->value[n++] = s->wavelet[k].data;
}

/* ---- the program ----------------------------------------------------------------------------- */

static uint64_t hash_source(const struct mesh_source *s, uint64_t hash)
{
    const int64_t place[4] = {s->router, s->side, s->channel, s->n}; /* channel: still the colour */
    hash = wsc_hash64(place, sizeof place, hash);
    for (int64_t i = 0; i < s->n; i++) {
        const uint64_t control[2] = {(uint64_t)i, s->wavelet[i].data};
        if (s->wavelet[i].control) hash = wsc_hash64(control, sizeof control, hash);
    }
    return hash;
}

uint64_t mesh_recording_program(const struct mesh *m)
{
    uint64_t hash = 0;
    for (int i = 0; i < m->n_tasks; i++)
        hash = wsc_hash64(&m->task[i].fn, sizeof m->task[i].fn, hash);
    for (int64_t i = 0; i < m->n_pes; i++)
        hash = wsc_hash64(&m->pe[i].reserved, sizeof m->pe[i].reserved, hash);
    for (int i = 0; i < m->n_sources; i++)
        hash = hash_source(&m->source[i], hash);
    for (int i = 0; i < m->n_sinks; i++) {
        const struct mesh_sink *s = &m->sink[i];
        const int place[4] = {s->x, s->y, s->colour, s->side};
        hash = wsc_hash64(place, sizeof place, hash);
    }
    return hash;
}

/* ---- a recorded run -------------------------------------------------------------------------- */

enum wsc_err mesh_recording_begin(struct mesh_recording *c, const struct mesh *m)
{
    const int64_t threads = m->n_pes * THREADS;
    (void)pthread_mutex_init(&c->lock, NULL);
    TRY_NEW(c->made, WSC_MEM_MESH, 1);
    TRY_NEW(c->made->taken, WSC_MEM_MESH, m->n_sources + 1);
    TRY_NEW(c->made->given, WSC_MEM_MESH, m->n_sinks + 1);
    TRY_NEW(c->running, WSC_MEM_MESH, threads);
    TRY_NEW(c->done, WSC_MEM_MESH, threads);
    TRY_NEW(c->done_at, WSC_MEM_MESH, threads);
    c->made->program = mesh_recording_program(m);
    c->made->n_taken = m->n_sources;
    c->made->n_given = m->n_sinks;
    memset(c->running, -1, (size_t)threads * sizeof *c->running);
    memset(c->done, -1, (size_t)threads * sizeof *c->done);
    for (int i = 0; i < m->n_sources; i++)
        take_source(c, i, &m->source[i]);
    return WSC_OK;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static int64_t thread_at(const struct mesh_pe *pe, int kind)
{
    return (int64_t)pe->index * THREADS + kind;
}

static void come_after(struct mesh_recording *c, int32_t first, int32_t second)
{
    if (first < 0 || !ROOM(c, before, before_room, c->n_before + 2)) return;
    c->before[c->n_before++] = first;
    c->before[c->n_before++] = second;
}

/* What operations like @p t have in common. */
static struct mesh_step_form form_like(const struct mesh_thread *t, enum mesh_step_kind kind)
{
    struct mesh_step_form f;
    memset(&f, 0, sizeof f);
    f.kind = (uint8_t)kind;
    f.op = -1;
    f.thread = *t;
    f.thread.kind = f.thread.in = f.thread.out = f.thread.activate = f.thread.unblock = 0;
    f.thread.ready_at = 0;
    f.thread.op = NULL;
    if ((t->from & 3U) != MESH_FROM_NUMBER) f.thread.number[0] = 0;
    if ((t->from >> 2 & 3U) != MESH_FROM_NUMBER) f.thread.number[1] = 0;
    return f;
}

/* The effects of step @p number are complete. Steps whose effects were complete when it began come
 * before it already, so what comes after it comes after them. */
static void complete(struct mesh_recording *c, const struct mesh_pe *pe, int kind, int32_t number)
{
    for (int k = 0; k < THREADS; k++) {
        const int64_t thread = thread_at(pe, k);
        if (c->done_at[thread] <= number) c->done[thread] = -1;
    }
    c->done[thread_at(pe, kind)] = number;
    c->done_at[thread_at(pe, kind)] = c->n_steps;
}

/* Append a step of thread @p t of @p pe, after all steps of the PE whose effects are complete. */
static void append(struct mesh_recording *c, const struct mesh_pe *pe, const struct mesh_thread *t,
                   const struct mesh_step_form *form, struct mesh_step step)
{
    const int32_t number = c->n_steps;
    const int64_t thread = thread_at(pe, t->kind);
    step.pe = pe->index;
    step.form = mesh_recording_form(c, form);
    c->refused = c->refused || step.form < 0;
    if (!ROOM(c, step, step_room, number + 1)) return;
    c->step[c->n_steps++] = (struct mesh_recording_step){.step = step};
    for (int kind = 0; kind < THREADS; kind++)
        come_after(c, c->done[thread_at(pe, kind)], number);
    const bool at_once = form->kind == MESH_STEP_MEMORY;
    if (at_once) complete(c, pe, t->kind, number);
    c->running[thread] = at_once ? -1 : number;
}

/* What mesh_record_begin() does for a recording that is not refused. */
static void begin(struct mesh_recording *c, const struct mesh_pe *pe, const struct mesh_thread *t)
{
    struct mesh_step step = {.in = -1, .out = -1};
    struct mesh_step_form form =
        form_like(t, t->flags & MESH_FABRIC ? MESH_STEP_WORDS : MESH_STEP_MEMORY);
    if (t->op) {
        form.op = descriptors(c, t->op);
        c->refused = c->refused || form.op < 0;
    }
    if (t->in != MESH_NONE) form.n_in = (int32_t)t->left;
    if (t->out != MESH_NONE) step.out = new_words(c, t->left, c->n_steps);
    if (!c->refused) append(c, pe, t, &form, step);
}

void mesh_record_begin(const struct mesh_region *r, const struct mesh_pe *pe,
                       const struct mesh_thread *t)
{
    struct mesh_recording *c = r->recording;
    if (!c || t->flags & MESH_SENDS_CONTROL) return;
    (void)pthread_mutex_lock(&c->lock);
    if (!c->refused) begin(c, pe, t);
    (void)pthread_mutex_unlock(&c->lock);
}

static void arm(struct mesh_recording *c, const struct mesh_pe *pe, const struct mesh_armed *a)
{
    struct mesh_step step = {.in = -1, .out = -1};
    struct mesh_step_form form = form_like(&a->axpy, MESH_STEP_TRIGGERED);
    form.sums_step = a->step[0];
    form.vectors_step = a->step[1];
    form.writes = a->writes;
    form.n_in = (int32_t)a->n;
    if (!c->refused) append(c, pe, &a->axpy, &form, step);
}

void mesh_record_arm(const struct mesh_region *r, const struct mesh_pe *pe,
                     const struct mesh_armed *a)
{
    struct mesh_recording *c = r->recording;
    if (!c) return;
    (void)pthread_mutex_lock(&c->lock);
    c->refused = c->refused || a->indexed;
    if (!c->refused) arm(c, pe, a);
    (void)pthread_mutex_unlock(&c->lock);
}

void mesh_record_end(const struct mesh_region *r, const struct mesh_pe *pe, int kind)
{
    struct mesh_recording *c = r->recording;
    if (!c) return;
    const int64_t thread = thread_at(pe, kind);
    (void)pthread_mutex_lock(&c->lock);
    if (c->running[thread] >= 0) complete(c, pe, kind, c->running[thread]);
    c->running[thread] = -1;
    (void)pthread_mutex_unlock(&c->lock);
}

/* The value of word @p number; 0 in a run that has failed. */
static uint32_t value_of(const struct mesh_recording *c, uint32_t number)
{
    return number < (uint32_t)c->n_words ? c->value[number] : 0;
}

/* Make a list of the words that @p s has received, which the next one does not follow; it has room
 * for all that its form receives. */
static void make_list(struct mesh_recording *c, struct mesh_recording_step *s)
{
    const struct mesh_step_form *form = (const void *)c->forms.item;
    const int64_t n = form[s->step.form].n_in;
    const int32_t first = s->step.in;
    if (n > INT32_MAX - c->n_in || !ROOM(c, in, in_room, c->n_in + n)) {
        c->refused = true;
        return;
    }
    for (int32_t k = 0; k < s->n_in; k++)
        c->in[c->n_in + k] = first + k;
    s->step.in = -1 - c->n_in;
    c->n_in += (int32_t)n;
}

static void receive(struct mesh_recording *c, struct mesh_recording_step *s, int32_t number)
{
    if (!s->n_in) s->step.in = number;
    if (s->step.in >= 0 && number != s->step.in + s->n_in) make_list(c, s);
    if (s->step.in < 0 && !c->refused) c->in[-1 - s->step.in + s->n_in] = number;
    s->n_in++;
}

uint32_t mesh_record_receive(const struct mesh_region *r, const struct mesh_pe *pe, int kind,
                             uint32_t number)
{
    struct mesh_recording *c = r->recording;
    (void)pthread_mutex_lock(&c->lock);
    const int32_t running = c->refused ? -1 : c->running[thread_at(pe, kind)];
    if (running >= 0) receive(c, &c->step[running], (int32_t)number);
    const uint32_t value = value_of(c, number);
    (void)pthread_mutex_unlock(&c->lock);
    return value;
}

uint32_t mesh_record_send(const struct mesh_region *r, const struct mesh_pe *pe,
                          const struct mesh_thread *t, uint32_t value)
{
    struct mesh_recording *c = r->recording;
    (void)pthread_mutex_lock(&c->lock);
    const int32_t running = c->refused ? -1 : c->running[thread_at(pe, t->kind)];
    struct mesh_recording_step *s = running < 0 ? NULL : &c->step[running];
    const int32_t number = s ? s->step.out + s->n_out++ : new_words(c, 1, -1);
    if (!c->failed) c->value[number] = value;
    (void)pthread_mutex_unlock(&c->lock);
    return (uint32_t)number;
}

void mesh_record_refuse(const struct mesh_region *r)
{
    struct mesh_recording *c = r->recording;
    if (!c) return;
    (void)pthread_mutex_lock(&c->lock);
    c->refused = true;
    (void)pthread_mutex_unlock(&c->lock);
}

uint32_t mesh_record_read(const struct mesh_region *r, uint32_t number)
{
    struct mesh_recording *c = r->recording;
    (void)pthread_mutex_lock(&c->lock);
    c->refused = true;
    const uint32_t value = value_of(c, number);
    (void)pthread_mutex_unlock(&c->lock);
    return value;
}
