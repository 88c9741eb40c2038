// SPDX-License-Identifier: Apache-2.0
/* Checks and records the requests of a running task: vector operations, scalar code, switches that
 * advance, tasks to activate or block. Each request is checked (types, lengths, memory, colours)
 * and appended to the task's list, which task.c carries out in order. */
#include "op.h"
#include "alu.h"
#include "compile.h"
#include "mesh_memory.h"
#include "mesh_state.h"
#include "program.h"

#include <string.h>

enum { TOO_LONG = 255 }; /* dimensions of a descriptor that could not be made */

/* One dimension, or TOO_LONG for a length or stride that does not fit a descriptor; mesh_issue()
 * then refuses the descriptor. */
static uint8_t dims_of(int n, int stride)
{
    bool fits = n >= 0 && n <= UINT16_MAX && stride >= INT16_MIN && stride <= INT16_MAX;
    return fits ? 1 : TOO_LONG;
}

struct mesh_dsd mesh_mem_strided(int address, int n, int stride)
{
    return (struct mesh_dsd){.kind = MESH_DSD_MEMORY,
                             .n_dims = dims_of(n, stride),
                             .len = {(uint16_t)n},
                             .stride = {(int16_t)stride},
                             .address = address};
}

struct mesh_dsd mesh_mem(int address, int n)
{
    return mesh_mem_strided(address, n, 1);
}

struct mesh_dsd mesh_rows(struct mesh_dsd row, int n, int step)
{
    struct mesh_dsd d = row;
    const bool fits = row.n_dims >= 1 && row.n_dims < 4 && dims_of(n, step) == 1;
    d.n_dims = fits ? (uint8_t)(row.n_dims + 1) : TOO_LONG;
    for (int i = 3; i > 0; i--) {
        d.len[i] = row.len[i - 1];
        d.stride[i] = row.stride[i - 1];
    }
    d.len[0] = (uint16_t)n;
    d.stride[0] = (int16_t)step;
    return d;
}

struct mesh_dsd mesh_shaped(struct mesh_dsd fabric, const struct mesh_dsd *shape)
{
    fabric.n_dims = shape->n_dims;
    memcpy(fabric.len, shape->len, sizeof fabric.len);
    return fabric;
}

static struct mesh_dsd fabric(enum mesh_dsd_kind kind, int colour, int n)
{
    bool known = colour >= 0 && colour < MESH_COLOURS;
    return (struct mesh_dsd){.kind = (uint8_t)kind,
                             .n_dims = dims_of(n, 1),
                             .colour = known ? (uint8_t)colour : MESH_NONE,
                             .len = {(uint16_t)n}};
}

struct mesh_dsd mesh_in(int colour, int n)
{
    return fabric(MESH_DSD_IN, colour, n);
}

struct mesh_dsd mesh_out(int colour, int n)
{
    return fabric(MESH_DSD_OUT, colour, n);
}

struct mesh_dsd mesh_bits(uint32_t bits)
{
    return (struct mesh_dsd){.kind = MESH_DSD_SCALAR, .scalar = bits};
}

struct mesh_dsd mesh_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mesh_bits(bits);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_fabric(const struct mesh_dsd *d)
{
    return d->kind == MESH_DSD_IN || d->kind == MESH_DSD_OUT;
}

/* Set the lowest byte that @p d accesses, and the byte after its highest one. */
static void span(const struct mesh_dsd *d, int bytes, int64_t *first, int64_t *end)
{
    *first = *end = d->address;
    for (int i = 0; i < d->n_dims; i++) {
        int64_t reach = ((int64_t)d->len[i] - 1) * d->stride[i] * bytes;
        *(reach < 0 ? first : end) += reach;
    }
    *end += bytes;
}

/* Check that an array lies inside the PE's memory, at 16-bit words; host memory is then allocated
 * for it. */
static enum wsc_err check_memory(struct mesh_pe *pe, const struct mesh_dsd *d, char type,
                                 const char *name)
{
    int64_t first, end;
    if (!mesh_dsd_length(d)) return WSC_OK;
    span(d, mesh_type_bytes(type), &first, &end);
    if (first < 0 || end > MESH_SRAM_BYTES)
        return WSC_RAISE(
            WSC_CAPACITY, "PE (%d, %d): %s reaches bytes %lld to %lld, outside its memory of %d",
            pe->x, pe->y, name, (long long)first, (long long)(end - 1), MESH_SRAM_BYTES);
    if (first % 2)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s starts at byte %lld, between 16-bit words",
                         pe->x, pe->y, name, (long long)first);
    return mesh_touch(pe, end);
}

/* True for the common operand: a one-dimensional array in memory that was accessed before. */
static inline bool is_in_touched_memory(const struct mesh_pe *pe, const struct mesh_dsd *d,
                                        char type)
{
    const int bytes = mesh_type_bytes(type);
    if (d->kind != MESH_DSD_MEMORY || d->n_dims != 1 || !d->len[0]) return false;
    if (d->stride[0] < 0 || d->address < 0 || d->address & 1) return false;
    int64_t reach = ((int64_t)d->len[0] - 1) * d->stride[0] + 1;
    return d->address + reach * bytes <= pe->memory_bytes;
}

/* Check a fabric operand: a queue must be bound to its colour at this PE, and its router must have
 * a route for the colour. */
static enum wsc_err check_colour(const struct mesh_pe *pe, const struct mesh_dsd *d,
                                 const char *name)
{
    bool in = d->kind == MESH_DSD_IN;
    const char *side = in ? "input" : "output";
    if (d->colour >= MESH_COLOURS)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s: colour %d, expected 0 to %d", pe->x, pe->y,
                         name, d->colour, MESH_COLOURS - 1);
    const struct mesh_binding *b = mesh_binding_of(pe);
    if (!(in ? b->in_of : b->out_of)[d->colour])
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s: colour %d has no %s queue", pe->x, pe->y,
                         name, d->colour, side);
    if (!(pe->region->m->router[pe->index].colours >> d->colour & 1U))
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s: colour %d has no route here", pe->x, pe->y,
                         name, d->colour);
    return WSC_OK;
}

/* Check any operand other than the common one of is_in_touched_memory(): arrays have one to four
 * dimensions, numbers none. */
static enum wsc_err check_operand(struct mesh_pe *pe, const struct mesh_dsd *d, char type,
                                  const char *name)
{
    bool array = d->kind == MESH_DSD_MEMORY || is_fabric(d);
    if (d->n_dims == TOO_LONG)
        return WSC_RAISE(WSC_USAGE,
                         "PE (%d, %d): %s: a length beyond 0 to %d or a stride beyond %d", pe->x,
                         pe->y, name, UINT16_MAX, INT16_MAX);
    if (d->kind > MESH_DSD_SCALAR || d->n_dims > (array ? 4 : 0) || d->n_dims < array)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s: an operand of kind %d with %d dimensions",
                         pe->x, pe->y, name, d->kind, d->n_dims);
    if (d->kind == MESH_DSD_MEMORY) return check_memory(pe, d, type, name);
    if (is_fabric(d)) return check_colour(pe, d, name);
    return WSC_OK;
}

static enum wsc_err check_operands(struct mesh_pe *pe, const struct mesh_op *op)
{
    const struct mesh_code_info *info = &mesh_code_info[op->code];
    const struct mesh_dsd *d[] = {&op->dst, &op->a, &op->b, &op->c};
    const char type[] = {info->type[0], info->type[1], info->type[2], info->type[2]};
    for (int i = 0; i < 4; i++)
        if (!is_in_touched_memory(pe, d[i], type[i]))
            TRY(check_operand(pe, d[i], type[i], info->name));
    return WSC_OK;
}

/* Elements of the operation: those of a, else of b, else of the result; the other arrays must
 * agree. */
static int64_t op_length(const struct mesh_op *op)
{
    if (op->a.n_dims) return mesh_dsd_length(&op->a);
    if (op->b.n_dims) return mesh_dsd_length(&op->b);
    return op->dst.n_dims ? mesh_dsd_length(&op->dst) : 1;
}

static bool fits(const struct mesh_dsd *d, int64_t n)
{
    if (d->kind == MESH_DSD_NONE || d->kind == MESH_DSD_SCALAR) return true;
    return mesh_dsd_length(d) == n;
}

enum {
    NONE = 1 << MESH_DSD_NONE,
    MEMORY = 1 << MESH_DSD_MEMORY,
    IN = 1 << MESH_DSD_IN,
    OUT = 1 << MESH_DSD_OUT,
    NUMBER = 1 << MESH_DSD_SCALAR
};

static bool has_kinds(const struct mesh_op *op, int dst, int a, int b)
{
    return (1 << op->dst.kind & dst) && (1 << op->a.kind & a) && (1 << op->b.kind & b);
}

static bool has_number_c(const struct mesh_op *op)
{
    return op->c.kind == MESH_DSD_SCALAR ||
           (op->c.kind == MESH_DSD_MEMORY && mesh_dsd_length(&op->c) == 1);
}

/* True when the kinds of operands fit the operation: the result is an array or a colour, at most
 * one source is a colour, and a multiply-accumulate has a number c. */
static bool takes_operands(const struct mesh_op *op)
{
    const int any = MEMORY | IN | NUMBER;
    if (mesh_is_map(op->code))
        return has_kinds(op, MEMORY, MEMORY, NONE | MEMORY) && op->map && op->map_cycles >= 1 &&
               op->map_cycles <= MESH_MAX_MAP_CYCLES;
    if (op->a.kind == MESH_DSD_IN && op->b.kind == MESH_DSD_IN) return false;
    if (!has_kinds(op, MEMORY | OUT, any, mesh_code_info[op->code].type[2] == '-' ? NONE : any))
        return false;
    if (op->code == MESH_FMACS || op->code == MESH_FMACH || op->code == MESH_FMACHS)
        return has_number_c(op);
    return op->c.kind == MESH_DSD_NONE;
}

static enum wsc_err check_kinds(const struct mesh_pe *pe, const struct mesh_op *op)
{
    if (takes_operands(op)) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s does not take these operands", pe->x, pe->y,
                     mesh_code_info[op->code].name);
}

static struct mesh_rect rect_of(const struct mesh_pe *pe)
{
    return (struct mesh_rect){pe->x, pe->y, 1, 1};
}

/* Check that the thread exists, and the tasks that the operation activates or unblocks at its
 * end. */
static enum wsc_err check_ids(const struct mesh_pe *pe, const struct mesh_op *op)
{
    const int id[2] = {op->activate, op->unblock};
    if (op->thread > MESH_THREADS)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no microthread %d", pe->x, pe->y,
                         op->thread - 1);
    for (int i = 0; i < 2; i++)
        if (id[i] > MESH_TASKS || (id[i] && !mesh_binding_of(pe)->task[id[i] - 1]))
            return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no local task %d", pe->x, pe->y,
                             id[i] - 1);
    return op->activate ? mesh_check_local(pe->region->m, rect_of(pe), op->activate - 1) : WSC_OK;
}

enum wsc_err mesh_check_op(struct mesh_pe *pe, const struct mesh_op *op, int64_t *n)
{
    if (op->code >= MESH_N_CODES)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no operation %d", pe->x, pe->y,
                         op->code);
    TRY(check_ids(pe, op));
    TRY(check_operands(pe, op));
    TRY(check_kinds(pe, op));
    *n = op_length(op);
    if (*n > INT32_MAX)
        return WSC_RAISE(WSC_CAPACITY, "PE (%d, %d): %s: an operand of more than %d elements",
                         pe->x, pe->y, mesh_code_info[op->code].name, INT32_MAX);
    if (!fits(&op->dst, *n) || !fits(&op->a, *n) || !fits(&op->b, *n))
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): %s: operands of %lld, %lld and %lld elements",
                         pe->x, pe->y, mesh_code_info[op->code].name,
                         (long long)mesh_dsd_length(&op->dst), (long long)mesh_dsd_length(&op->a),
                         (long long)mesh_dsd_length(&op->b));
    return WSC_OK;
}

/* ---- issue ----------------------------------------------------------------------------------- */

static enum wsc_err check_room(const struct mesh_pe *pe)
{
    if (!pe->running)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): only a task can issue", pe->x, pe->y);
    if (pe->n_todo < MESH_TODO) return WSC_OK;
    return WSC_RAISE(WSC_CAPACITY, "PE (%d, %d): a task issues more than %d operations", pe->x,
                     pe->y, MESH_TODO);
}

/* The request is executed by task.c when the earlier ones have begun. */
enum wsc_err mesh_append(struct mesh_pe *pe, enum mesh_todo_kind kind, int64_t argument,
                         struct mesh_thread **entry)
{
    TRY(check_room(pe));
    pe->todo[pe->n_todo] = (struct mesh_thread){.kind = (uint8_t)kind, .left = argument};
    if (entry) *entry = &pe->todo[pe->n_todo];
    pe->n_todo++;
    return WSC_OK;
}

static enum wsc_err append(struct mesh_pe *pe, enum mesh_todo_kind kind, int64_t argument)
{
    return mesh_append(pe, kind, argument, NULL);
}

/* The operation is checked and compiled at once, with the memory as it is now; it begins when the
 * earlier requests have begun. */
enum wsc_err mesh_issue(struct mesh_pe *pe, const struct mesh_op *op)
{
    int64_t n = 0;
    struct mesh_thread *t = pe->running && pe->n_todo < MESH_TODO ? &pe->todo[pe->n_todo] : NULL;
    if (!t || !mesh_recall(pe, op, t)) {
        TRY(mesh_check_op(pe, op, &n));
        TRY(check_room(pe));
        TRY(mesh_compile(pe, op, n, t));
        mesh_remember(pe, op, t);
    }
    pe->n_todo++;
    return WSC_OK;
}

enum wsc_err mesh_do(struct mesh_pe *pe, enum mesh_code code, struct mesh_dsd dst,
                     struct mesh_dsd a, struct mesh_dsd b)
{
    return mesh_issue(pe, &(struct mesh_op){.code = (uint8_t)code, .dst = dst, .a = a, .b = b});
}

enum wsc_err mesh_mac(struct mesh_pe *pe, enum mesh_code code, struct mesh_dsd dst,
                      struct mesh_dsd a, struct mesh_dsd b, struct mesh_dsd c)
{
    return mesh_issue(pe,
                      &(struct mesh_op){.code = (uint8_t)code, .dst = dst, .a = a, .b = b, .c = c});
}

enum wsc_err mesh_map(struct mesh_pe *pe, mesh_map_fn fn, int cycles, struct mesh_dsd dst,
                      struct mesh_dsd a, struct mesh_dsd b)
{
    const bool known = cycles >= 1 && cycles <= MESH_MAX_MAP_CYCLES;
    return mesh_issue(pe, &(struct mesh_op){.code = MESH_MAP,
                                            .map = fn,
                                            .map_cycles = (uint16_t)(known ? cycles : 0),
                                            .dst = dst,
                                            .a = a,
                                            .b = b});
}

static enum wsc_err send_control(struct mesh_pe *pe, int colour, uint32_t payload, int thread,
                                 int activate)
{
    struct mesh_op op = {.code = MESH_FMOVS,
                         .thread = (uint8_t)thread,
                         .activate = (uint8_t)activate,
                         .dst = mesh_out(colour, 1),
                         .a = mesh_bits(payload)};
    op.dst.control = true;
    return mesh_issue(pe, &op);
}

enum wsc_err mesh_send_control(struct mesh_pe *pe, int colour, uint32_t payload, int thread)
{
    return send_control(pe, colour, payload, thread, 0);
}

enum wsc_err mesh_advance_switch(struct mesh_pe *pe, int colour, int thread, int activate)
{
    return send_control(pe, colour, MESH_OWN_SWITCH | MESH_ADVANCE, thread, activate);
}

enum wsc_err mesh_wait(struct mesh_pe *pe, int64_t cycles)
{
    if (cycles < 0 || cycles > INT32_MAX)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): a wait of %lld cycles", pe->x, pe->y,
                         (long long)cycles);
    return append(pe, MESH_TODO_WAIT, cycles);
}

enum wsc_err mesh_join(struct mesh_pe *pe, int thread)
{
    if (thread < 1 || thread > MESH_THREADS)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no microthread %d", pe->x, pe->y,
                         thread - 1);
    return append(pe, MESH_TODO_JOIN, thread);
}

static enum wsc_err about_task(struct mesh_pe *pe, enum mesh_todo_kind kind, int id)
{
    if (id < 0 || id >= MESH_TASKS || !mesh_binding_of(pe)->task[id])
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): there is no local task %d", pe->x, pe->y, id);
    if (kind == MESH_TODO_ACTIVATE) TRY(mesh_check_local(pe->region->m, rect_of(pe), id));
    return append(pe, kind, id);
}

enum wsc_err mesh_activate(struct mesh_pe *pe, int id)
{
    return about_task(pe, MESH_TODO_ACTIVATE, id);
}

enum wsc_err mesh_block(struct mesh_pe *pe, int id)
{
    return about_task(pe, MESH_TODO_BLOCK, id);
}

enum wsc_err mesh_unblock(struct mesh_pe *pe, int id)
{
    return about_task(pe, MESH_TODO_UNBLOCK, id);
}

/* Append a request about the data task of a colour, which is identified by the input queue of the
 * colour. */
static enum wsc_err about_data(struct mesh_pe *pe, enum mesh_todo_kind kind, int colour)
{
    TRY(mesh_check_colour(rect_of(pe), colour));
    int queue = mesh_binding_of(pe)->in_of[colour] - 1;
    if (queue < 0)
        return WSC_RAISE(WSC_USAGE, "PE (%d, %d): colour %d has no input queue", pe->x, pe->y,
                         colour);
    return append(pe, kind, queue);
}

enum wsc_err mesh_block_data(struct mesh_pe *pe, int colour)
{
    return about_data(pe, MESH_TODO_BLOCK_DATA, colour);
}

enum wsc_err mesh_unblock_data(struct mesh_pe *pe, int colour)
{
    return about_data(pe, MESH_TODO_UNBLOCK_DATA, colour);
}

enum wsc_err mesh_check_trigger(const struct mesh_pe *pe, int colour, int *queue)
{
    const struct mesh_dsd d = mesh_in(colour, 1);
    TRY(check_colour(pe, &d, "a data-triggered operation"));
    *queue = mesh_binding_of(pe)->in_of[colour] - 1;
    if (!mesh_binding_of(pe)->data_task[*queue]) return WSC_OK;
    return WSC_RAISE(WSC_USAGE,
                     "PE (%d, %d): data of colour %d start a task, and no operation besides", pe->x,
                     pe->y, colour);
}
