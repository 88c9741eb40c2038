// SPDX-License-Identifier: Apache-2.0
#include "mesh_impl.h"

#include <string.h>

/* ---- one element of an operation with a fabric operand --------------------------------------- */

uint32_t mesh_take_wavelet(struct mesh_region *r, struct mesh_pe *pe, int queue)
{
    struct mesh_queue *q = mesh_queue_of(pe, queue);
    bool was_full = q->n == q->depth;
    uint32_t value = (uint32_t)mesh_queue_pop(q);
    if (!q->n) pe->in_used &= (uint8_t) ~(1U << queue);
    if (was_full) mesh_router_visit(r, mesh_index(r, pe));
    return value;
}

static uint32_t load(const struct mesh_pe *pe, unsigned address, char type)
{
    uint32_t single;
    uint16_t half;
    if (type == 's') {
        memcpy(&single, pe->memory + address, sizeof single);
        return single;
    }
    memcpy(&half, pe->memory + address, sizeof half);
    return half;
}

static void store(struct mesh_pe *pe, unsigned address, char type, uint32_t value)
{
    uint16_t half = (uint16_t)value;
    if (type == 's')
        memcpy(pe->memory + address, &value, sizeof value);
    else
        memcpy(pe->memory + address, &half, sizeof half);
}

/* Operand @p i: 1 is a, 2 is b. */
static uint32_t operand(struct mesh_region *r, struct mesh_pe *pe, const struct mesh_thread *t,
                        int i, char type)
{
    switch ((enum mesh_from)(t->from >> 2 * (i - 1) & 3)) {
    case MESH_FROM_QUEUE:
        return mesh_take_wavelet(r, pe, t->in);
    case MESH_FROM_MEMORY:
        return load(pe, t->at[i], type);
    case MESH_FROM_NUMBER:
        return t->number[i - 1];
    case MESH_FROM_NOTHING:
        break;
    }
    return 0;
}

/* The same of an operation that rows do not describe. */
static uint32_t operand_of(struct mesh_region *r, struct mesh_pe *pe, const struct mesh_thread *t,
                           const struct mesh_dsd *d, char type)
{
    if (d->kind == MESH_DSD_IN) return mesh_take_wavelet(r, pe, t->in);
    return mesh_load_operand(pe, d, t->done, type);
}

static uint32_t result(struct mesh_region *r, struct mesh_pe *pe, const struct mesh_thread *t)
{
    const struct mesh_code_info *info = &mesh_code_info[t->code];
    uint32_t v[3];
    v[0] = t->op ? operand_of(r, pe, t, &t->op->a, info->type[1])
                 : operand(r, pe, t, 1, info->type[1]);
    if (t->code == MESH_FMOVS || t->code == MESH_FMOVH) return v[0];
    v[1] = t->op ? operand_of(r, pe, t, &t->op->b, info->type[2])
                 : operand(r, pe, t, 2, info->type[2]);
    v[2] = t->flags & MESH_C_IN_MEMORY ? load(pe, t->c, info->type[2]) : t->c;
    return mesh_alu(r->m->config.half, t->code, v);
}

static void element(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t)
{
    const char type = mesh_code_info[t->code].type[0];
    uint32_t value = result(r, pe, t);
    if (t->out != MESH_NONE) {
        mesh_queue_push(
            mesh_queue_of(pe, MESH_N_IN + t->out),
            mesh_entry(value, r->now + 1, t->flags & MESH_SENDS_CONTROL ? MESH_CONTROL_BIT : 0));
        pe->out_used |= (uint8_t)(1U << t->out);
    } else if (t->op) {
        mesh_store_operand(pe, &t->op->dst, t->done, type, value);
    } else {
        store(pe, t->at[0], type, value);
    }
    if (t->op)
        t->done++;
    else
        mesh_advance(t);
    t->left--;
    r->stats.elements++;
}

/* ---- threads --------------------------------------------------------------------------------- */

void mesh_thread_begin(struct mesh_region *r, struct mesh_pe *pe, const struct mesh_thread *todo)
{
    struct mesh_thread *t = mesh_thread_of(r, pe, todo->kind);
    bool is_fabric = todo->flags & MESH_FABRIC;
    *t = *todo;
    t->ready_at =
        (uint32_t)(r->now + (is_fabric ? r->m->setup_fabric : mesh_code_info[t->code].setup));
    pe->threads |= (uint16_t)(1U << t->kind);
    if (is_fabric) return;
    mesh_vector(pe, t);
    t->work = t->left * t->cost * (t->flags & MESH_COLLIDES ? 2 : 1);
    mesh_op_free(r, t->op);
    t->op = NULL;
}

static void finish(struct mesh_region *r, struct mesh_pe *pe, const struct mesh_thread *t)
{
    pe->threads &= (uint16_t) ~(1U << t->kind);
    if (t->activate) pe->activated |= 1ULL << (t->activate - 1);
    if (t->unblock) pe->blocked &= ~(1ULL << (t->unblock - 1));
    mesh_op_free(r, t->op);
}

static bool can_go(const struct mesh_region *r, const struct mesh_pe *pe,
                   const struct mesh_thread *t)
{
    if (t->in != MESH_NONE) {
        const struct mesh_queue *q = mesh_queue_of(pe, t->in);
        uint64_t entry = q->entry[q->head];
        if (!q->n || entry & MESH_CONTROL_BIT || mesh_entry_ready(entry) > r->now) return false;
    }
    if (t->out == MESH_NONE) return true;
    const struct mesh_queue *q = mesh_queue_of(pe, MESH_N_IN + t->out);
    return q->n < q->depth;
}

static void took_turn(struct mesh_pe *pe, const struct mesh_thread *t)
{
    pe->turn = t->kind == MESH_THREADS ? 0 : (uint8_t)(t->kind + 1);
}

static bool step_fabric(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                        int *slots)
{
    if (t->left) {
        if (!can_go(r, pe, t)) return false;
        if (*slots < t->cost) return true; /* the datapath will be free */
        element(r, pe, t);
        *slots -= t->cost;
        took_turn(pe, t);
        mesh_did(r);
    }
    if (!t->left) finish(r, pe, t);
    return true;
}

static bool step_memory(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                        int *slots)
{
    int64_t part = t->work < *slots ? t->work : *slots;
    t->work -= part;
    *slots -= (int)part;
    mesh_did(r);
    if (part) took_turn(pe, t);
    if (t->work) return false;
    finish(r, pe, t);
    return true;
}

/* Threads take turns; each moves at most one wavelet, memory operations use what is left. */
bool mesh_datapath_cycle(struct mesh_region *r, struct mesh_pe *pe)
{
    int slots = MESH_SLOTS;
    bool busy = false;
    unsigned before = (1U << pe->turn) - 1U, threads = pe->threads;
    unsigned set = threads & ~before, rest = threads & before;
    if (!set) {
        set = rest;
        rest = 0;
    }
    for (; set; set = rest, rest = 0)
        for (; set; set &= set - 1) {
            struct mesh_thread *t = mesh_thread_of(r, pe, __builtin_ctz(set));
            if (t->ready_at > r->now) continue;
            busy |= t->flags & MESH_FABRIC ? step_fabric(r, pe, t, &slots)
                                           : step_memory(r, pe, t, &slots);
        }
    return busy;
}

/* ---- ramp ------------------------------------------------------------------------------------ */

enum sending { SENT, NOT_YET, HELD_UP };

/* The first wavelet of an output queue goes to the router if it can. */
static enum sending send_first(struct mesh_region *r, struct mesh_pe *pe, int queue)
{
    struct mesh_queue *q = mesh_queue_of(pe, MESH_N_IN + queue);
    uint64_t entry = q->entry[q->head];
    struct mesh_channel *ch = &r->m->channel[q->link];
    if (mesh_entry_ready(entry) > r->now) return NOT_YET;
    if (!mesh_channel_open(ch, r->now, MESH_RAMP, false)) return HELD_UP;
    mesh_channel_push(
        r, mesh_index(r, pe), ch,
        mesh_entry((uint32_t)entry, r->now + r->m->ramp_up, entry & MESH_CONTROL_BIT));
    (void)mesh_queue_pop(q);
    if (!q->n) pe->out_used &= (uint8_t) ~(1U << queue);
    pe->out_turn = (uint8_t)((queue + 1) % MESH_N_OUT);
    r->stats.wavelets++;
    return SENT;
}

/* Output queues take turns. */
bool mesh_ramp_cycle(struct mesh_region *r, struct mesh_pe *pe)
{
    bool busy = false;
    unsigned before = (1U << pe->out_turn) - 1U, used = pe->out_used;
    unsigned set = used & ~before, rest = used & before;
    for (int half = 0; half < 2; half++, set = rest)
        for (; set; set &= set - 1) {
            enum sending s = send_first(r, pe, __builtin_ctz(set));
            if (s == SENT) return true;
            busy |= s == NOT_YET;
        }
    return busy;
}
