/** Operations that arriving data start: a multiply-add bound to a colour, whose wavelets are its
 *  numbers.  op.c's list of requests arms them (task.c), pe.c runs them, a control wavelet or the
 *  count of wavelets ends them. */
#ifndef WSC_MESH_TRIGGER_H
#define WSC_MESH_TRIGGER_H
#include "mesh_state.h"
#include "vector.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* Bind the operation that mesh_arm() requested, in the current cycle; the operation before it has
 * ended. */
enum wsc_err mesh_trigger_begin(struct mesh_region *r, struct mesh_pe *pe,
                                const struct mesh_thread *todo) WSC_CHECKED;
/* True when the next wavelet is a separate index, which is read before the multiply-add may
 * begin. */
static inline bool mesh_trigger_takes_index(const struct mesh_pe *pe)
{
    const struct mesh_armed *a = pe->armed;
    return a->indexed && a->axpy.code == MESH_FMACS && !a->has_index;
}
/* Take the first wavelet of the queue; true when a multiply-add begins. */
bool mesh_trigger_start(struct mesh_region *r, struct mesh_pe *pe, struct mesh_thread *t);
/* Compute the multiply-adds that words without indices have started. */
void mesh_trigger_words(struct mesh_pe *pe, const struct mesh_macs *all);
/* End a multiply-add, before cycle @p end; true when it was the last one. */
bool mesh_trigger_end(struct mesh_pe *pe, struct mesh_thread *t, int64_t end);
/* True when the control wavelet at the head of @p queue may start its task. */
bool mesh_trigger_lets_control(const struct mesh_region *r, const struct mesh_pe *pe, int queue);
/* End a bound operation that waits for a control wavelet, when a task begins with the first
 * wavelet of @p queue. */
void mesh_trigger_stop(const struct mesh_region *r, struct mesh_pe *pe, int queue);
/* The error of a wavelet for which there is no vector. */
enum wsc_err mesh_trigger_stray(struct mesh_region *r, const struct mesh_pe *pe) WSC_CHECKED;
#endif
