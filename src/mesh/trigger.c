// SPDX-License-Identifier: Apache-2.0
/* Implements data-triggered operations: a data wavelet on a colour is the number c of a
 * multiply-add that begins without a task and without set-up (Hot Chips 33 and 34: a weight that
 * arrives triggers its multiply-add). mesh_arm() checks and compiles the multiply-add of the first
 * wavelet; each wavelet then advances its sums and vector. pe.c calls these functions from its
 * cycle; docs/MESH.md, "Data-triggered operations", states the rules. */
#include "trigger.h"
#include "alu.h"
#include "compile.h"
#include "mesh_memory.h"
#include "mesh_queue.h"
#include "op.h"
#include "recording.h"
#include "region.h"
#include "vector.h"
#include "watch_hooks.h"

/* ---- binding --------------------------------------------------------------------------------- */

static int vector_bytes(const struct mesh_trigger *g)
{
    return mesh_type_bytes(mesh_code_info[g->code].type[2]);
}

static bool has_operands(const struct mesh_trigger *g)
{
    const bool mac = g->code == MESH_FMACS || g->code == MESH_FMACH || g->code == MESH_FMACHS;
    const bool arrays = g->sums.kind == MESH_DSD_MEMORY && g->vectors.kind == MESH_DSD_MEMORY;
    return mac && arrays && g->sums.n_dims == 1 && g->vectors.n_dims == 1;
}

static bool in_range(const struct mesh_trigger *g)
{
    return g->thread >= 1 && g->thread <= MESH_THREADS && g->n >= 1 && g->n <= UINT16_MAX &&
           g->sums_step >= INT16_MIN && g->sums_step <= INT16_MAX && g->vectors_step >= INT16_MIN &&
           g->vectors_step <= INT16_MAX;
}

static enum wsc_err check(const struct mesh_pe *pe, const struct mesh_trigger *g)
{
    if (!has_operands(g))
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): arriving data start multiply-adds of arrays of one "
                         "dimension in memory",
                         pe->x, pe->y);
    if (in_range(g)) return WSC_OK;
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): a data-triggered operation on microthread %d with %d vectors, "
                     "%d and %d elements apart",
                     pe->x, pe->y, g->thread - 1, g->n, g->sums_step, g->vectors_step);
}

/* Compile the multiply-add of the first wavelet. A second operation over all arrays is only
 * checked, so that the checks cover every element that any wavelet can access. */
static enum wsc_err compile(struct mesh_pe *pe, const struct mesh_trigger *g,
                            struct mesh_thread *axpy, int *queue)
{
    int64_t n;
    struct mesh_op op = {.code = g->code,
                         .thread = g->thread,
                         .activate = g->activate,
                         .dst = g->sums,
                         .a = g->sums,
                         .b = g->vectors,
                         .c = mesh_bits(0)};
    TRY(mesh_check_trigger(pe, g->colour, queue));
    TRY(mesh_check_op(pe, &op, &n));
    TRY(mesh_compile(pe, &op, g->sums.len[0], axpy));
    if (!g->sums.len[0]) return WSC_OK;
    /* the arrays of two dimensions that the sums, and the vectors, of the wavelets make up */
    op.dst = op.a = mesh_rows(g->sums, g->n, g->sums_step);
    op.b = mesh_rows(g->vectors, g->n, g->vectors_step);
    return mesh_check_op(pe, &op, &n);
}

enum wsc_err mesh_arm(struct mesh_pe *pe, const struct mesh_trigger *g)
{
    struct mesh_region *r = pe->region;
    struct mesh_thread axpy, *todo;
    int queue;
    TRY(check(pe, g));
    TRY(compile(pe, g, &axpy, &queue));
    TRY(mesh_append(pe, MESH_TODO_ARM, g->thread, &todo));
    struct mesh_armed *a = mesh_pool_take(&r->program, mesh_pool_size(sizeof *a));
    if (!a) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "a data-triggered operation");
    *a = (struct mesh_armed){.axpy = axpy,
                             .n = g->n,
                             .step = {4 * g->sums_step, vector_bytes(g) * g->vectors_step},
                             .elements = g->sums.len[0],
                             .wait = g->wait,
                             .until_control = g->until_control,
                             .indexed = g->indexed,
                             .writes = g->writes,
                             .alike = g->sums.stride[0] == g->vectors.stride[0]};
    if (g->code == MESH_FMACH) a->step[0] = 2 * g->sums_step;
    a->axpy.in = (uint8_t)queue;
    todo->armed = a;
    return WSC_OK;
}

int mesh_triggered(const struct mesh_pe *pe)
{
    return pe->armed ? pe->armed->done : 0;
}

/* The microthread of the data-triggered operation of @p pe, if it is bound; else NULL. */
static const struct mesh_thread *bound_thread(const struct mesh_region *r, const struct mesh_pe *pe)
{
    if (!pe->armed || !((unsigned)pe->threads >> pe->armed->axpy.kind & 1U)) return NULL;
    const struct mesh_thread *t = mesh_thread_of(r, pe, pe->armed->axpy.kind);
    return t->flags & MESH_TRIGGERED ? t : NULL;
}

/* A PE has one data-triggered operation; the one before has another microthread here. */
static enum wsc_err check_unbound(const struct mesh_region *r, const struct mesh_pe *pe,
                                  const struct mesh_armed *next)
{
    const uint8_t *colour = mesh_binding_of(pe)->colour;
    if (!bound_thread(r, pe)) return WSC_OK;
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): colour %d starts an operation while that of colour %d is bound; "
                     "a PE has one data-triggered operation at a time",
                     pe->x, pe->y, colour[next->axpy.in], colour[pe->armed->axpy.in]);
}

enum wsc_err mesh_trigger_begin(struct mesh_region *r, struct mesh_pe *pe,
                                const struct mesh_thread *todo)
{
    struct mesh_armed *a = todo->armed;
    TRY(check_unbound(r, pe, a));
    TRY(mesh_thread_make(r, pe, (int)todo->left));
    struct mesh_thread *t = mesh_thread_of(r, pe, (int)todo->left);
    a->ready_at = (uint32_t)r->now;
    if (pe->armed) {
        a->carry = pe->armed->carry;
        if (pe->armed->ready_at > a->ready_at) a->ready_at = pe->armed->ready_at;
        mesh_pool_give(&r->program, mesh_pool_size(sizeof *a), pe->armed);
    }
    pe->armed = a;
    *t = a->axpy;
    t->flags |= MESH_TRIGGERED | MESH_FABRIC;
    t->ready_at = (uint32_t)r->now;
    pe->threads |= (uint16_t)(1U << t->kind);
    mesh_see_op(r, pe, t);
    mesh_record_arm(r, pe, a);
    t->ready_at = a->ready_at;
    return WSC_OK;
}

/* ---- wavelets -------------------------------------------------------------------------------- */

/* Compute the multiply-add number @p done, of the wavelet @p word with vector @p vector. True when
 * its two vectors are read from the same bank. */
static bool multiply_add(struct mesh_pe *pe, const struct mesh_armed *a, int32_t done,
                         uint32_t word, uint32_t vector)
{
    enum { NUMBER_A = MESH_FROM_NUMBER | MESH_FROM_MEMORY << 2, BANKS = 4 };
    const bool first = a->writes && !done;
    const int32_t sums = (a->indexed ? 0 : done) * a->step[0];
    struct mesh_thread axpy = a->axpy;
    axpy.at[0] = axpy.at[1] = (uint16_t)(axpy.at[0] + sums);
    axpy.at[2] = (uint16_t)(axpy.at[2] + (int32_t)vector * a->step[1]);
    axpy.c = word;
    const bool collide = !first && a->alike && (axpy.at[1] / 2 - axpy.at[2] / 2) % BANKS == 0;
    if (first) {
        axpy.from = NUMBER_A;
        axpy.number[0] = 0;
    }
    mesh_vector(pe, &axpy);
    return collide;
}

static void run(struct mesh_pe *pe, struct mesh_thread *t, uint32_t word, uint32_t vector)
{
    const struct mesh_armed *a = pe->armed;
    const bool collide = multiply_add(pe, a, a->done, word, vector);
    t->flags &= (uint8_t)~MESH_FABRIC;
    t->work = (int64_t)a->elements * t->cost * (collide ? 2 : 1);
}

void mesh_trigger_words(struct mesh_pe *pe, const struct mesh_macs *all)
{
    const struct mesh_armed a = {
        .axpy = *all->first, .step = {all->sums_step, all->vectors_step}, .writes = all->writes};
    if (!all->n || !all->first->left || mesh_vectors(pe, all)) return;
    for (int32_t i = 0; i < all->n; i++)
        (void)multiply_add(pe, &a, i, all->word[i], (uint32_t)i);
}

/* Find the vector of the next wavelet; false when the wavelet only brings the index. */
static bool vector_of(struct mesh_armed *a, uint32_t *word, uint32_t *vector)
{
    const bool half = a->axpy.code != MESH_FMACS;
    *vector = (uint32_t)a->done;
    if (!a->indexed) return true;
    if (half) {
        *vector = *word >> 16;
        *word &= 0xFFFF;
        return true;
    }
    *vector = a->index;
    a->index = *word;
    a->has_index = !a->has_index;
    return !a->has_index;
}

bool mesh_trigger_start(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t)
{
    struct mesh_armed *a = pe->armed;
    mesh_see_arrival(r, pe, t->kind);
    uint32_t word = mesh_take_wavelet(r, pe, t->in), vector;
    if (r->recording) word = mesh_record_receive(r, pe, t->kind, word);
    mesh_did(r);
    if (!vector_of(a, &word, &vector)) return false;
    if (vector >= (uint32_t)a->n) {
        r->stray = true;
        a->index = vector;
        return false;
    }
    if (a->elements) run(pe, t, word, vector);
    a->done++;
    return true;
}

/* Fractions of a cycle add up: of multiply-adds of 1.5 cycles every second one takes 2. */
bool mesh_trigger_end(struct mesh_pe *pe, struct mesh_thread *t, int64_t end)
{
    struct mesh_armed *a = pe->armed;
    const int wait = a->elements ? a->wait + a->carry : 0;
    if (a->elements) a->carry = (uint8_t)(wait % MESH_SLOTS);
    a->ready_at = t->ready_at = (uint32_t)(end + wait / MESH_SLOTS);
    t->flags |= MESH_FABRIC;
    return !a->until_control && a->done == a->n;
}

/* ---- control wavelets ------------------------------------------------------------------------ */

/* The bound data-triggered operation that reads @p queue, or NULL. */
static const struct mesh_thread *reader(const struct mesh_region *r, const struct mesh_pe *pe,
                                        int queue)
{
    return pe->armed && pe->armed->axpy.in == queue ? bound_thread(r, pe) : NULL;
}

bool mesh_trigger_lets_control(const struct mesh_region *r, const struct mesh_pe *pe, int queue)
{
    const struct mesh_thread *t = reader(r, pe, queue);
    return !t || (mesh_trigger_waits(t) && !pe->armed->has_index);
}

void mesh_trigger_stop(const struct mesh_region *r, struct mesh_pe *pe, int queue)
{
    const struct mesh_thread *t = reader(r, pe, queue);
    if (!t || !pe->armed->until_control) return;
    mesh_record_end(r, pe, t->kind);
    pe->threads &= (uint16_t) ~(1U << t->kind);
}

enum wsc_err mesh_trigger_stray(struct mesh_region *r, const struct mesh_pe *pe)
{
    const struct mesh_armed *a = pe->armed;
    r->stray = false;
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): a wavelet of colour %d starts an operation on vector %u of %d",
                     pe->x, pe->y, mesh_binding_of(pe)->colour[a->axpy.in], a->index, a->n);
}
