// SPDX-License-Identifier: Apache-2.0
/* Runs a cycle of a PE's datapath. It picks, round-robin, the threads that may run elements,
 * computes their number from the SIMD width and the banks, and ends operations. Copies and sums of
 * 32-bit rows, the most frequent operations of programs, have a path of their own. task.c picks
 * tasks; compile.c has prepared the operations. */
#include "pe.h"
#include "alu.h"
#include "compile.h"
#include "mesh_channel.h"
#include "mesh_queue.h"
#include "mesh_state.h"
#include "recording.h"
#include "region.h"
#include "task.h"
#include "trigger.h"
#include "vector.h"
#include "watch_hooks.h"

#include <string.h>

/* Work of a PE in a cycle, except the start of tasks. These few functions are called most often, so
 * they are in one file, and the compiler inlines each into its caller. */
#define PART static inline __attribute__((always_inline))

/* ---- one element of an operation with a fabric operand --------------------------------------- */

/* Read a number of 32 ('s') or 16 bits at a byte address; 32-bit numbers may begin at any 16-bit
 * word. */
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

/* Operand @p i (1 is a, 2 is b) of the current element; @p word was received from the fabric. */
static inline uint32_t operand(const struct mesh_pe *pe, const struct mesh_thread *t, int i,
                               char type, uint32_t word)
{
    switch ((enum mesh_from)(t->from >> 2 * (i - 1) & 3)) {
    case MESH_FROM_QUEUE:
        return word;
    case MESH_FROM_MEMORY:
        return load(pe, t->at[i], type);
    case MESH_FROM_NUMBER:
        return t->number[i - 1];
    case MESH_FROM_NOTHING:
        break;
    }
    return 0;
}

/* Operand of an operation that keeps its descriptors. */
static uint32_t operand_of(const struct mesh_pe *pe, const struct mesh_thread *t,
                           const struct mesh_dsd *d, char type, uint32_t word)
{
    return d->kind == MESH_DSD_IN ? word : mesh_load_operand(pe, d, t->done, type);
}

/* Result of an element in the general case: operands by rows or by descriptors, c from memory or
 * as a number. */
static uint32_t result(const struct mesh_region *r, const struct mesh_pe *pe,
                       const struct mesh_thread *t, uint32_t word)
{
    const char *type = mesh_code_info[t->code].type;
    uint32_t v[3];
    if (t->op) {
        v[0] = operand_of(pe, t, &t->op->a, type[1], word);
        v[1] = operand_of(pe, t, &t->op->b, type[2], word);
    } else {
        v[0] = operand(pe, t, 1, type[1], word);
        v[1] = operand(pe, t, 2, type[2], word);
    }
    v[2] = t->flags & MESH_C_IN_MEMORY ? load(pe, t->c, type[2]) : t->c;
    return mesh_alu(r->m->config.half, t->code, v);
}

/* Result of 32-bit copies and sums, the most frequent operations on the fabric. */
static inline uint32_t simple_result(const struct mesh_pe *pe, const struct mesh_thread *t,
                                     uint32_t word)
{
    uint32_t a = operand(pe, t, 1, 's', word);
    if (t->code == MESH_FMOVS) return a;
    return mesh_as_bits(mesh_as_float(a) + mesh_as_float(operand(pe, t, 2, 's', word)));
}

static void store_result(struct mesh_pe *pe, const struct mesh_thread *t, uint32_t value)
{
    const char type = mesh_code_info[t->code].type[0];
    if (t->op)
        mesh_store_operand(pe, &t->op->dst, t->done, type, value);
    else
        store(pe, t->at[0], type, value);
}

void mesh_pe_words(const struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                   const uint32_t *in, uint32_t *out)
{
    for (; t->left; t->left--) {
        const uint32_t word = in ? *in++ : 0;
        const uint32_t value =
            t->flags & MESH_SIMPLE ? simple_result(pe, t, word) : result(r, pe, t, word);
        if (out)
            *out++ = value;
        else
            store_result(pe, t, value);
        if (t->op)
            t->done++;
        else
            mesh_advance(t);
    }
}

/* Execute one element; @p in and @p out are its queues, or NULL. */
PART void element(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                  struct mesh_queue *in, struct mesh_queue *out)
{
    uint32_t word = in ? mesh_take_wavelet(r, pe, t->in) : 0;
    if (in && r->recording) word = mesh_record_receive(r, pe, t->kind, word);
    uint32_t value = t->flags & MESH_SIMPLE ? simple_result(pe, t, word) : result(r, pe, t, word);
    if (out) {
        uint64_t control = t->flags & MESH_SENDS_CONTROL ? MESH_CONTROL_BIT : 0;
        if (r->recording && !control) value = mesh_record_send(r, pe, t, value);
        mesh_queue_push(out, value | control | r->ready_next);
        pe->out_used |= (uint8_t)(1U << t->out);
    } else if (t->flags & MESH_SIMPLE) {
        store(pe, t->at[0], 's', value);
    } else {
        store_result(pe, t, value);
    }
    if (t->op)
        t->done++;
    else
        mesh_advance(t);
    t->left--;
    r->stats.elements++;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* End an operation; @p end: the cycle after its last one. */
static void finish(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t, int64_t end)
{
    mesh_see_op_end(r, pe, t->kind, end);
    if (t->flags & MESH_TRIGGERED && !mesh_trigger_end(pe, t, end)) return;
    mesh_record_end(r, pe, t->kind);
    pe->threads &= (uint16_t) ~(1U << t->kind);
    if (t->activate) pe->activated |= 1ULL << (t->activate - 1);
    if (t->unblock) pe->blocked &= ~(1ULL << (t->unblock - 1));
    mesh_op_free(r, t->op);
}

/* True when an operation can take the first wavelet of the queue. A control wavelet starts a task
 * instead and blocks the data after it. */
static bool has_data(const struct mesh_queue *q, int64_t now)
{
    uint64_t entry = q->entry[q->head];
    return q->n && !(entry & MESH_CONTROL_BIT) && mesh_entry_ready(entry) <= now;
}

/* Record the turn: in the next cycle the thread after @p t chooses first. */
static void advance_turn(struct mesh_pe *pe, const struct mesh_thread *t)
{
    pe->turn = t->kind == MESH_THREADS ? 0 : (uint8_t)(t->kind + 1);
}

/* Execute one element of an operation with a fabric operand, if its wavelet has arrived, its output
 * queue has room and the datapath has free slots. True if the thread may continue in the next cycle
 * without a wake-up; otherwise a wavelet that arrives or leaves wakes the PE. */
PART bool step_fabric(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t, int *slots)
{
    if (t->left) {
        struct mesh_queue *in = t->in == MESH_NONE ? NULL : mesh_queue_of(pe, t->in);
        struct mesh_queue *out = t->out == MESH_NONE ? NULL : mesh_queue_of(pe, MESH_N_IN + t->out);
        if ((in && !has_data(in, r->now)) || (out && out->n == out->depth)) return false;
        if (*slots < t->cost) {
            mesh_see_crowded(r, pe, t->kind);
            return true; /* the datapath will be free */
        }
        mesh_see_element(r, pe, t->kind);
        element(r, pe, t, in, out);
        *slots -= t->cost;
        advance_turn(pe, t);
        mesh_did(r);
    }
    if (!t->left) finish(r, pe, t, r->now + 1);
    return true;
}

/* A memory operation uses the remaining slots; its values were computed at its start, so that only
 * cycles pass. True if it has ended: a task or thread may follow. */
static bool step_memory(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                        int *slots)
{
    int64_t part = t->work < *slots ? t->work : *slots;
    t->work -= part;
    *slots -= (int)part;
    mesh_did(r);
    if (part) {
        advance_turn(pe, t);
        mesh_see_memory(r, pe, t->kind);
    }
    if (t->work) return false;
    finish(r, pe, t, r->now + 1);
    return true;
}

/* Start the multiply-add of a waiting data-triggered operation with the next wavelet; it uses the
 * slots that are left from this cycle on. True when the operation need not be woken. */
static bool step_trigger(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                         int *slots)
{
    if (t->ready_at > r->now && !mesh_trigger_takes_index(pe)) return false;
    if (!has_data(mesh_queue_of(pe, t->in), r->now)) return false;
    if (!mesh_trigger_start(r, pe, t)) return true;
    return step_memory(r, pe, t, slots);
}

PART bool step(struct mesh_region *r, struct mesh_pe *pe, int thread, int *slots)
{
    struct mesh_thread *t = mesh_thread_of(r, pe, thread);
    if (mesh_trigger_waits(t)) return step_trigger(r, pe, t, slots);
    if (t->ready_at > r->now) return false;
    return t->flags & MESH_FABRIC ? step_fabric(r, pe, t, slots) : step_memory(r, pe, t, slots);
}

/* Run the threads in turn; each moves at most one wavelet, and memory operations use the remaining
 * slots. True when something may follow in the next cycle without a wake-up. */
PART bool datapath_cycle(struct mesh_region *r, struct mesh_pe *pe)
{
    int slots = MESH_SLOTS;
    bool busy = false;
    unsigned before = (1U << pe->turn) - 1U, threads = pe->threads;
    unsigned set = threads & ~before, wrapped = threads & before;
    for (; set | wrapped; set &= set - 1) {
        if (!set) {
            set = wrapped;
            wrapped = 0;
        }
        busy |= step(r, pe, __builtin_ctz(set), &slots);
    }
    return busy;
}

/* ---- ramp ------------------------------------------------------------------------------------ */

/* What happened to the first wavelet of an output queue. If it is HELD_UP, the router wakes the
 * PE. */
enum sending { SENT, NOT_YET, HELD_UP };

/* Send the first wavelet of an output queue to the router if possible. */
PART enum sending send_first(struct mesh_region *r, struct mesh_pe *pe, int queue)
{
    struct mesh_queue *q = mesh_queue_of(pe, MESH_N_IN + queue);
    uint64_t entry = q->entry[q->head];
    struct mesh_channel *ch = &r->channel[q->link];
    if (mesh_entry_ready(entry) > r->now) return NOT_YET;
    if (!mesh_channel_open(ch, r->now, MESH_RAMP)) return HELD_UP;
    mesh_see_up(r, pe, queue, ch);
    mesh_channel_push(r, pe - r->pe, ch, (entry & MESH_CONTENT_BITS) | r->ready_up);
    (void)mesh_queue_pop(q);
    if (!q->n) pe->out_used &= (uint8_t) ~(1U << queue);
    pe->out_turn = queue + 1 == MESH_N_OUT ? 0 : (uint8_t)(queue + 1);
    r->stats.wavelets += !(entry & MESH_CONTROL_BIT && (uint32_t)entry & MESH_OWN_SWITCH);
    return SENT;
}

/* Serve the output queues in turn; at most one wavelet goes up the ramp. True when the PE has to
 * be visited in the next cycle without a wake-up. */
PART bool ramp_cycle(struct mesh_region *r, struct mesh_pe *pe)
{
    bool busy = false;
    if (!(pe->out_used & (pe->out_used - 1U))) /* mostly */
        return send_first(r, pe, __builtin_ctz(pe->out_used)) != HELD_UP;
    unsigned before = (1U << pe->out_turn) - 1U;
    unsigned set = pe->out_used & ~before, wrapped = pe->out_used & before;
    for (; set | wrapped; set &= set - 1) {
        if (!set) {
            set = wrapped;
            wrapped = 0;
        }
        enum sending s = send_first(r, pe, __builtin_ctz(set));
        if (s == SENT) return true;
        busy |= s == NOT_YET;
    }
    return busy;
}

/* ---- sleep ----------------------------------------------------------------------------------- */

/* Set of input queues whose wavelets wake the PE: all of them while a task may be picked,
 * otherwise those that operations read. */
static uint8_t awaits(const struct mesh_region *r, const struct mesh_pe *pe)
{
    unsigned set = 0;
    if (!(pe->threads & 1U) && pe->next_todo == pe->n_todo) return UINT8_MAX;
    for (unsigned threads = pe->threads; threads; threads &= threads - 1) {
        const struct mesh_thread *t = mesh_thread_of(r, pe, __builtin_ctz(threads));
        if (t->in != MESH_NONE) set |= 1U << t->in;
    }
    return (uint8_t)set;
}

/* Schedule visits for the wavelets that are still on the ramp. */
static void await_wavelets(struct mesh_region *r, const struct mesh_pe *pe)
{
    for (unsigned set = pe->in_used & pe->awaits; set; set &= set - 1) {
        const struct mesh_queue *q = mesh_queue_of(pe, __builtin_ctz(set));
        int64_t ready = mesh_entry_ready(q->entry[q->head]);
        if (ready > r->now) mesh_visit_pe(mesh_active_in(r, ready), pe - r->pe);
    }
}

/* Account for a memory operation that ran alone while the PE was not visited. */
static void settle(struct mesh_region *r, struct mesh_pe *pe)
{
    int64_t cycles = r->now - ((int64_t)pe->bulk_since - 1);
    struct mesh_thread *t = mesh_thread_of(r, pe, pe->bulk);
    pe->bulk_since = 0;
    if (cycles <= 0) return;
    if (t->work) advance_turn(pe, t);
    t->work -= MESH_SLOTS * cycles;
    if (t->work > 0) return;
    if (r->last < r->now) r->last = r->now; /* it ended in the last cycle */
    finish(r, pe, t, r->now);
}

/* Let the only operation, on memory, run without visits from now on, or from the end of its
 * set-up. The next visit is in the cycle after its last one. */
static enum wsc_err sleep_in_bulk(struct mesh_region *r, struct mesh_pe *pe)
{
    const struct mesh_thread *t = mesh_thread_of(r, pe, pe->bulk);
    int64_t first = t->ready_at > r->now ? t->ready_at : r->now + 1;
    int64_t cycles = (t->work + MESH_SLOTS - 1) / MESH_SLOTS;
    pe->bulk_since = (uint32_t)(first + 1);
    return mesh_timer_add(r, first + (cycles ? cycles : 1), pe - r->pe);
}

/* True when the PE runs exactly one operation, on memory. */
static bool is_alone_in_memory(const struct mesh_region *r, const struct mesh_pe *pe)
{
    if (!pe->threads || pe->threads & (pe->threads - 1U)) return false;
    return !(mesh_thread_of(r, pe, __builtin_ctz(pe->threads))->flags & MESH_FABRIC);
}

/* Schedule the next visit of a PE that has nothing to do in the next cycle, at the known end of
 * its set-up, scalar code or memory operation. */
static enum wsc_err sleep_until(struct mesh_region *r, struct mesh_pe *pe)
{
    const int64_t at = pe - r->pe;
    int n_running = 0, n_memory = 0;
    bool sets_up = false;
    if (pe->waits_until > r->now) TRY(mesh_timer_add(r, pe->waits_until, at));
    if (is_alone_in_memory(r, pe)) {
        pe->bulk = (uint8_t)__builtin_ctz(pe->threads);
        return sleep_in_bulk(r, pe);
    }
    for (unsigned set = pe->threads; set; set &= set - 1) {
        int i = __builtin_ctz(set);
        const struct mesh_thread *t = mesh_thread_of(r, pe, i);
        bool is_memory = !(t->flags & MESH_FABRIC), runs = is_memory && t->ready_at <= r->now;
        sets_up |= t->ready_at > r->now && !is_memory;
        n_memory += is_memory;
        n_running += runs;
        if (runs || (is_memory && !n_running)) pe->bulk = (uint8_t)i;
    }
    if (n_running > 1) mesh_visit_pe(r->next, at);
    if (n_running == 1 || n_memory == 1) TRY(sleep_in_bulk(r, pe));
    if (!sets_up && n_memory < 2) return WSC_OK;
    for (unsigned set = pe->threads; set; set &= set - 1) {
        const struct mesh_thread *t = mesh_thread_of(r, pe, __builtin_ctz(set));
        bool in_bulk = n_memory == 1 && !(t->flags & MESH_FABRIC);
        if (t->ready_at > r->now && !in_bulk) TRY(mesh_timer_add(r, t->ready_at, at));
    }
    return WSC_OK;
}

/* ---- a stream: most of what PEs do ----------------------------------------------------------- */

/* Form of a stream as flags: whether it reads an input queue (TAKES), writes an output queue
 * (SENDS) and adds a number from memory (ADDS); OTHER: its operands are different. */
enum { STREAMS = 1, TAKES = 2, SENDS = 4, ADDS = 8, OTHER = 16 };

static unsigned stream_form(const struct mesh_thread *t)
{
    const unsigned a = t->from & 3U, b = t->from >> 2 & 3U;
    const unsigned sends = t->out == MESH_NONE ? STREAMS : STREAMS | SENDS;
    const bool copies = t->code == MESH_FMOVS, takes_a = a == MESH_FROM_QUEUE;
    if (copies && takes_a) return sends | TAKES;
    if (copies && a == MESH_FROM_MEMORY) return sends;
    if (!copies && (takes_a ? b : a) == MESH_FROM_MEMORY && t->in != MESH_NONE)
        return sends | TAKES | ADDS;
    return t->in == MESH_NONE ? sends | OTHER : sends | TAKES | OTHER;
}

/* Set pe->stream if, from the next cycle on, the PE only processes elements of a copy or sum of one
 * row and wavelets up the ramp. The thread is the main one, or a microthread while the main one is
 * in the set-up of a memory operation. stream() then replaces the functions above, except for the
 * last element. */
static void set_stream(const struct mesh_region *r, struct mesh_pe *pe)
{
    const unsigned kind = MESH_FABRIC | MESH_SIMPLE, micro = pe->threads & ~1U;
    pe->stream = 0;
    if (!(pe->threads & 1U) || micro & (micro - 1U) || r->m->watch || r->recording) return;
    pe->streams = (uint8_t)(micro ? __builtin_ctz(micro) : 0);
    const struct mesh_thread *t = mesh_thread_of(r, pe, pe->streams);
    if (micro && mesh_thread_of(r, pe, 0)->flags & MESH_FABRIC) return;
    if ((t->flags & (kind | MESH_SENDS_CONTROL)) != kind || t->row) return;
    if (t->ready_at <= r->now + 1 && t->left > 1) pe->stream = (uint8_t)stream_form(t);
}

/* Result of an element of a stream; @p word was received from the fabric. */
PART uint32_t stream_result(const struct mesh_pe *pe, const struct mesh_thread *t, unsigned form,
                            uint32_t word)
{
    if (form & OTHER) return simple_result(pe, t, word);
    if (!(form & ADDS)) return form & TAKES ? word : load(pe, t->at[1], 's');
    const bool takes_a = (t->from & 3U) == MESH_FROM_QUEUE;
    const uint32_t own = load(pe, t->at[takes_a ? 2 : 1], 's');
    return mesh_as_bits(mesh_as_float(takes_a ? word : own) + mesh_as_float(takes_a ? own : word));
}

/* Execute one element if its wavelet has arrived and its output queue has room; false otherwise. */
PART bool stream_element(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t,
                         unsigned form)
{
    struct mesh_queue *in = form & TAKES ? mesh_queue_of(pe, t->in) : NULL;
    struct mesh_queue *out = form & SENDS ? mesh_queue_of(pe, MESH_N_IN + t->out) : NULL;
    if (in && (!in->n || in->entry[in->head] >= r->ready_next)) return false;
    if (out && out->n == out->depth) return false;
    const uint32_t value = stream_result(pe, t, form, in ? mesh_take_wavelet(r, pe, t->in) : 0);
    if (out) {
        mesh_queue_push(out, value | r->ready_next);
        pe->out_used |= (uint8_t)(1U << t->out);
    } else {
        store(pe, t->at[0], 's', value);
    }
    for (int i = 0; i < 3; i++)
        t->at[i] = (uint16_t)(t->at[i] + t->step[i]);
    t->left--;
    advance_turn(pe, t);
    r->stats.elements++;
    mesh_did(r);
    return true;
}

/* Call stream_element() with a constant form, so that the compiler makes separate code for each
 * form. */
PART bool stream_any(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t)
{
    switch (pe->stream) {
    case STREAMS | TAKES | SENDS | ADDS:
        return stream_element(r, pe, t, STREAMS | TAKES | SENDS | ADDS);
    case STREAMS | TAKES | ADDS:
        return stream_element(r, pe, t, STREAMS | TAKES | ADDS);
    case STREAMS | TAKES:
        return stream_element(r, pe, t, STREAMS | TAKES);
    case STREAMS | SENDS:
        return stream_element(r, pe, t, STREAMS | SENDS);
    default:
        return stream_element(r, pe, t, pe->stream);
    }
}

/* The rest of the cycle, if several output queues hold wavelets or the PE may sleep. */
__attribute__((noinline)) static enum wsc_err stream_rest(struct mesh_region *r, struct mesh_pe *pe,
                                                          bool busy)
{
    if (pe->out_used && ramp_cycle(r, pe)) busy = true;
    if (busy) {
        mesh_visit_pe(r->next, pe - r->pe);
        return WSC_OK;
    }
    if (pe->in_used) await_wavelets(r, pe);
    return pe->streams && !pe->bulk_since ? sleep_until(r, pe) : WSC_OK;
}

PART enum wsc_err stream(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t)
{
    bool busy = stream_any(r, pe, t);
    const unsigned used = pe->out_used;
    if (used & (used - 1U) || !busy) return stream_rest(r, pe, busy);
    if (used) (void)send_first(r, pe, __builtin_ctz(used));
    mesh_visit_pe(r->next, pe - r->pe);
    return WSC_OK;
}

/* Execute @p n elements as stream_element() does, but with words from @p in and to @p out instead
 * of queues. */
PART void stream_elements(struct mesh_pe *pe, struct mesh_thread *thread, unsigned form,
                          const uint32_t *in, uint32_t *out, int n)
{
    struct mesh_thread t = *thread; /* in registers */
    for (int k = 0; k < n; k++) {
        const uint32_t value = stream_result(pe, &t, form, form & TAKES ? in[k] : 0);
        if (form & SENDS)
            out[k] = value;
        else
            store(pe, t.at[0], 's', value);
        for (int i = 0; i < 3; i++)
            t.at[i] = (uint16_t)(t.at[i] + t.step[i]);
    }
    memcpy(thread->at, t.at, sizeof t.at);
    thread->left -= n;
}

void mesh_pe_elements(struct mesh_region *r, int64_t at, const uint32_t *in, uint32_t *out, int n)
{
    struct mesh_pe *pe = &r->pe[at];
    struct mesh_thread *t = mesh_thread_at(r, at, pe->streams);
    if (pe->stream == (STREAMS | TAKES | SENDS | ADDS))
        stream_elements(pe, t, STREAMS | TAKES | SENDS | ADDS, in, out, n);
    else if (pe->stream == (STREAMS | TAKES))
        stream_elements(pe, t, STREAMS | TAKES, in, out, n);
    else
        stream_elements(pe, t, pe->stream, in, out, n);
    advance_turn(pe, t);
    r->stats.elements += n;
}

/* ---- a cycle -------------------------------------------------------------------------------- */

/* One cycle: main thread, datapath, ramp, in this order. Each sees the changes of the queues by the
 * earlier ones; wavelets of this cycle have a later time. At the end the PE is scheduled for the
 * next cycle, or sleeps until a timer, a wavelet or a router wakes it. */
__attribute__((noinline)) static enum wsc_err any_cycle(struct mesh_region *r, struct mesh_pe *pe)
{
    bool busy = false;
    mesh_see_advance_switch(r, pe);
    if (pe->bulk_since) settle(r, pe);
    if (!(pe->threads & 1U)) TRY(mesh_main_cycle(r, pe, &busy));
    if (pe->threads && datapath_cycle(r, pe)) busy = true;
    if (r->stray) return mesh_trigger_stray(r, pe);
    if (pe->out_used && ramp_cycle(r, pe)) busy = true;
    pe->awaits = awaits(r, pe);
    set_stream(r, pe);
    mesh_see_cycle(r, pe);
    if (busy) {
        mesh_visit_pe(r->next, pe - r->pe);
        return WSC_OK;
    }
    if (pe->in_used) await_wavelets(r, pe);
    return sleep_until(r, pe);
}

enum wsc_err mesh_pe_cycle(struct mesh_region *r, int64_t at)
{
    struct mesh_pe *pe = &r->pe[at];
    struct mesh_thread *t = &r->main[at];
    if (!pe->stream || (pe->streams && t->ready_at <= r->now)) return any_cycle(r, pe);
    if (pe->streams) t = mesh_thread_at(r, at, pe->streams);
    return t->left > 1 ? stream(r, pe, t) : any_cycle(r, pe);
}
