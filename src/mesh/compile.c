// SPDX-License-Identifier: Apache-2.0
/* Translates a vector operation from the descriptors that a task issues to the form that a thread
 * runs: addresses, steps and row jumps, and the cost of an element, from SIMD width and from
 * operands in one bank. Forms that repeat with other addresses and numbers are kept. op.c calls it
 * when an operation is issued; pe.c runs the result. */
#include "compile.h"
#include "alu.h"
#include "mesh_state.h"
#include "pool.h"

#include <stddef.h>
#include <string.h>

/* Compilation of an operation, once per issue: from the descriptors of a program to the form that
 * a thread runs. */

/* ---- cost ------------------------------------------------------------------------------------ */

/* SDK documentation, appendix "SIMD": elements per cycle by stride modulo 8. For 4, its table says
 * full rate and its text says 2; the text is used. */
static int stride_limit(const struct mesh_dsd *d)
{
    static const uint8_t limit[8] = {1, 2, 8, 8, 2, 8, 8, 2};
    if (d->kind != MESH_DSD_MEMORY) return 8;
    int stride = d->stride[d->n_dims - 1];
    return stride == 0 || stride == 1 ? 8 : limit[((stride % 8) + 8) % 8];
}

/* SDK documentation, appendix "SIMD": two reads of a cycle must be in different banks modulo 4;
 * banks are 16-bit words. With equal strides the first elements decide; different strides are not
 * charged. */
static bool compares_banks(const struct mesh_op *op)
{
    const struct mesh_dsd *a = &op->a, *b = &op->b;
    if (a->kind != MESH_DSD_MEMORY || b->kind != MESH_DSD_MEMORY || mesh_is_map(op->code))
        return false;
    return a->stride[a->n_dims - 1] == b->stride[b->n_dims - 1];
}
static bool in_same_bank(const struct mesh_op *op)
{
    return (op->a.address / 2) % 4 == (op->b.address / 2) % 4;
}

/* Eighths of a cycle an element takes: the SIMD width of the operation, cut by the strides of its
 * arrays. A map takes the whole datapath for its stated cycles. */
static int slots_per_element(const struct mesh *m, const struct mesh_op *op)
{
    int width = mesh_code_info[op->code].simd[m->config.arch];
    if (mesh_is_map(op->code)) return MESH_SLOTS * op->map_cycles;
    const struct mesh_dsd *d[] = {&op->dst, &op->a, &op->b};
    for (int i = 0; i < 3; i++)
        if (stride_limit(d[i]) < width) width = stride_limit(d[i]);
    return MESH_SLOTS >> __builtin_ctz((unsigned)width); /* all widths are powers of two */
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* An array as rows: the step inside a row, the row length, the step between rows and the number of
 * rows, in elements. */
struct walk {
    int64_t step, row, outer, rows;
};

/* Describe an array of up to four dimensions as rows. Dimensions of length one are dropped; a
 * dimension that continues where the inner one ends is merged with it. False when more than two
 * dimensions remain. */
static bool walk_of(const struct mesh_dsd *d, struct walk *w)
{
    *w = (struct walk){0, 1, 0, 1};
    for (int i = d->n_dims - 1; i >= 0; i--) {
        const int64_t len = d->len[i], stride = d->stride[i];
        if (len == 1) continue;
        if (w->row == 1) {
            w->row = len;
            w->step = stride;
        } else if (w->rows == 1 && stride == w->row * w->step) {
            w->row *= len;
        } else if (w->rows == 1) {
            w->rows = len;
            w->outer = stride;
        } else if (stride == w->rows * w->outer) {
            w->rows *= len;
        } else {
            return false;
        }
    }
    return w->rows == 1 || w->row <= UINT16_MAX;
}

/* Set the steps of operand @p i (dst, a, b) in @p t. False when its rows differ from those of an
 * earlier operand, so that one counter is not enough. */
static bool set_walk(struct mesh_thread *t, int i, const struct mesh_dsd *d, int bytes)
{
    struct walk w;
    if (d->kind != MESH_DSD_MEMORY) return true;
    if (d->n_dims == 1) {
        t->at[i] = (uint16_t)d->address;
        t->step[i] = t->jump[i] = (uint16_t)(d->stride[0] * bytes);
        return true;
    }
    if (!walk_of(d, &w)) return false;
    t->at[i] = (uint16_t)d->address;
    t->step[i] = t->jump[i] = (uint16_t)(w.step * bytes);
    if (w.rows == 1) return true;
    if (t->row && t->row != w.row) return false;
    t->row = t->row_left = (uint16_t)w.row;
    t->jump[i] = (uint16_t)((w.outer - (w.row - 1) * w.step) * bytes);
    return true;
}

/* Convert the arrays of an operation to rows of one length, so that a thread needs one counter.
 * False if this is impossible; the thread then keeps the descriptors. */
static bool set_walks(struct mesh_thread *t, const struct mesh_op *op)
{
    const struct mesh_code_info *info = &mesh_code_info[op->code];
    const struct mesh_dsd *d[] = {&op->dst, &op->a, &op->b};
    for (int i = 0; i < 3; i++)
        if (!set_walk(t, i, d[i], mesh_type_bytes(info->type[i]))) return false;
    return true;
}

/* ---- operands -------------------------------------------------------------------------------- */

static unsigned from(const struct mesh_dsd *d)
{
    static const uint8_t of[] = {[MESH_DSD_NONE] = MESH_FROM_NOTHING,
                                 [MESH_DSD_MEMORY] = MESH_FROM_MEMORY,
                                 [MESH_DSD_IN] = MESH_FROM_QUEUE,
                                 [MESH_DSD_OUT] = MESH_FROM_NOTHING,
                                 [MESH_DSD_SCALAR] = MESH_FROM_NUMBER};
    return of[d->kind];
}

/* Set where each operand comes from. The queues follow from the binding of colours at this PE. */
static void set_operands(const struct mesh_pe *pe, struct mesh_thread *t, const struct mesh_op *op)
{
    const struct mesh_binding *b = mesh_binding_of(pe);
    t->from = (uint8_t)(from(&op->a) | from(&op->b) << 2);
    t->in = t->out = MESH_NONE;
    if (op->a.kind == MESH_DSD_IN) t->in = (uint8_t)(b->in_of[op->a.colour] - 1);
    if (op->b.kind == MESH_DSD_IN) t->in = (uint8_t)(b->in_of[op->b.colour] - 1);
    if (op->dst.kind == MESH_DSD_OUT) t->out = (uint8_t)(b->out_of[op->dst.colour] - 1);
    if (t->in != MESH_NONE || t->out != MESH_NONE) t->flags |= MESH_FABRIC;
    if (op->dst.control) t->flags |= MESH_SENDS_CONTROL;
    if (op->c.kind == MESH_DSD_MEMORY) t->flags |= MESH_C_IN_MEMORY;
    if (compares_banks(op) && in_same_bank(op)) t->flags |= MESH_COLLIDES;
    t->c = op->c.kind == MESH_DSD_MEMORY ? (uint32_t)op->c.address : op->c.scalar;
    t->number[0] = op->a.scalar;
    t->number[1] = op->b.scalar;
}

/* Keep a copy of the descriptors for an operation that rows cannot describe; mesh_op_free() frees
 * it. */
static enum wsc_err copy_op(struct mesh_region *r, const struct mesh_op *op, struct mesh_thread *t)
{
    t->op = mesh_pool_take(&r->program, mesh_pool_size(sizeof *op));
    if (!t->op) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "an operation");
    *t->op = *op;
    t->done = 0;
    return WSC_OK;
}

void mesh_op_free(struct mesh_region *r, struct mesh_op *op)
{
    if (op) mesh_pool_give(&r->program, mesh_pool_size(sizeof *op), op);
}

enum wsc_err mesh_compile(struct mesh_pe *pe, const struct mesh_op *op, int64_t n,
                          struct mesh_thread *t)
{
    *t = (struct mesh_thread){.kind = op->thread,
                              .code = op->code,
                              .activate = op->activate,
                              .unblock = op->unblock,
                              .left = n,
                              .cost = (uint16_t)slots_per_element(pe->region->m, op)};
    set_operands(pe, t, op);
    if (mesh_is_map(op->code) || !set_walks(t, op)) return copy_op(pe->region, op, t);
    if (op->code == MESH_FMOVS || op->code == MESH_FADDS) t->flags |= MESH_SIMPLE;
    return WSC_OK;
}

/* ---- forms that repeat ----------------------------------------------------------------------- */

/* Part of an operand of at most one dimension that is equal in repeated operations: its first four
 * bytes (kind, dimensions, colour, control), length and stride. */
static uint64_t key_of(const struct mesh_dsd *d)
{
    uint32_t head;
    memcpy(&head, d, sizeof head);
    return head | (uint64_t)d->len[0] << 32 | (uint64_t)(uint16_t)d->stride[0] << 48;
}
_Static_assert(offsetof(struct mesh_dsd, len) == sizeof(uint32_t) &&
                   offsetof(struct mesh_op, dst) == sizeof(uint32_t),
               "four bytes come before");

/* The slot of the cache in which the form of @p op would be, by the hash of its key. The top bit
 * is set in every key, so an empty slot never matches. */
static struct mesh_form *form_of(const struct mesh_pe *pe, const struct mesh_op *op,
                                 uint64_t key[MESH_OPERANDS + 1])
{
    uint32_t head; /* code, thread, tasks */
    uint64_t hash = 0;
    memcpy(&head, op, sizeof head);
    key[0] = key_of(&op->dst);
    key[1] = key_of(&op->a);
    key[2] = key_of(&op->b);
    key[3] = key_of(&op->c);
    key[4] = head | (uint64_t)pe->binding << 32 | 1ULL << 63;
    for (int i = 0; i <= MESH_OPERANDS; i++)
        hash = (hash << 5 | hash >> 59) ^ key[i];
    hash *= 0x9E3779B97F4A7C15ULL; /* 2^64 over the golden ratio */
    return &pe->region->form[hash >> 58];
}

static bool is_routed(const struct mesh_pe *pe, const struct mesh_dsd *d)
{
    if (d->kind != MESH_DSD_IN && d->kind != MESH_DSD_OUT) return true;
    return pe->region->m->router[pe->index].colours >> d->colour & 1U;
}

bool mesh_recall(const struct mesh_pe *pe, const struct mesh_op *op, struct mesh_thread *t)
{
    const struct mesh_dsd *d[MESH_OPERANDS] = {&op->dst, &op->a, &op->b, &op->c};
    uint64_t key[MESH_OPERANDS + 1], differs = 0;
    if (mesh_is_map(op->code)) return false;
    const struct mesh_form *f = form_of(pe, op, key);
    for (int i = 0; i <= MESH_OPERANDS; i++)
        differs |= key[i] ^ f->key[i];
    if (differs) return false;
    for (int i = 0; i < MESH_OPERANDS; i++) {
        const int64_t at = d[i]->address;
        if (f->bytes[i] ? at < 0 || at & 1 || at + f->bytes[i] > pe->memory_bytes
                        : !is_routed(pe, d[i]))
            return false;
    }
    *t = f->thread;
    for (int i = 0; i < 3; i++)
        if (f->bytes[i]) t->at[i] = (uint16_t)d[i]->address;
    t->c = f->bytes[3] ? (uint32_t)op->c.address : op->c.scalar;
    t->number[0] = op->a.scalar;
    t->number[1] = op->b.scalar;
    if (f->compares_banks && in_same_bank(op)) t->flags |= MESH_COLLIDES;
    return true;
}

void mesh_remember(const struct mesh_pe *pe, const struct mesh_op *op, const struct mesh_thread *t)
{
    const struct mesh_dsd *d[MESH_OPERANDS] = {&op->dst, &op->a, &op->b, &op->c};
    const char *type = mesh_code_info[op->code].type;
    struct mesh_form f = {.thread = *t, .compares_banks = compares_banks(op)};
    if (t->op) return;
    for (int i = 0; i < MESH_OPERANDS; i++) {
        if (d[i]->n_dims > 1 || d[i]->stride[0] < 0) return;
        if (d[i]->kind != MESH_DSD_MEMORY) continue;
        if (!d[i]->len[0]) return;
        f.bytes[i] =
            ((d[i]->len[0] - 1) * d[i]->stride[0] + 1) * mesh_type_bytes(type[i < 3 ? i : 2]);
    }
    f.thread.flags &= (uint8_t)~MESH_COLLIDES;
    struct mesh_form *place = form_of(pe, op, f.key);
    *place = f;
}
