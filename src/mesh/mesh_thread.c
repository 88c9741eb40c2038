// SPDX-License-Identifier: Apache-2.0
/* Begins an operation on a thread of a PE. It charges the set-up; for an operation on memory alone
 * it computes all elements at once (vector.c), and their cycles then only pass. task.c begins the
 * requests of a task, pe.c runs the operations that have begun. */
#include "mesh_thread.h"
#include "alu.h"
#include "compile.h"
#include "mesh_state.h"
#include "recording.h"
#include "region.h"
#include "vector.h"
#include "watch_hooks.h"

enum wsc_err mesh_thread_begin(struct mesh_region *r, struct mesh_pe *pe,
                               const struct mesh_thread *todo)
{
    TRY(mesh_thread_make(r, pe, todo->kind));
    struct mesh_thread *t = mesh_thread_of(r, pe, todo->kind);
    bool is_fabric = todo->flags & MESH_FABRIC;
    *t = *todo;
    t->ready_at =
        (uint32_t)(r->now + (is_fabric ? r->m->setup_fabric : mesh_code_info[t->code].setup));
    pe->threads |= (uint16_t)(1U << t->kind);
    mesh_see_op(r, pe, t);
    mesh_record_begin(r, pe, t);
    if (is_fabric) return WSC_OK;
    int64_t work = t->left * t->cost * (t->flags & MESH_COLLIDES ? 2 : 1);
    if (t->ready_at + work / MESH_SLOTS > r->m->config.max_cycles)
        return WSC_RAISE(WSC_DEADLOCK,
                         "PE (%d, %d): %s of %lld elements does not end within the %lld cycles of "
                         "the run",
                         pe->x, pe->y, mesh_code_info[t->code].name, (long long)t->left,
                         (long long)r->m->config.max_cycles);
    if (t->left) mesh_vector(pe, t); /* without elements there may be no memory */
    t->work = work;
    mesh_op_free(r, t->op);
    t->op = NULL;
    return WSC_OK;
}
