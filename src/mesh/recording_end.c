// SPDX-License-Identifier: Apache-2.0
/* Ends a recording: sorts its steps, interns its lists, and gives the sinks the values of the words
 * whose numbers they have got. What is left is a struct mesh_recorded, which does not depend on the
 * recording. */
#include "intern.h"
#include "recording.h"

#include <wsc/mem.h>

static void fini(struct mesh_recording *c)
{
    void *const owned[] = {c->step,       c->in,         c->before,   c->value,
                           c->sender,     c->running,    c->done,     c->done_at,
                           c->forms.item, c->forms.slot, c->ops.item, c->ops.slot};
    mesh_recorded_free(&c->made);
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        wsc_free(owned[i]);
    *c = (struct mesh_recording){.failed = c->failed};
}

/* Keep the numbers of the words that a sink has got, and give it their values. */
static bool give_sink(struct mesh_recording *c, int i, const struct mesh_output *o)
{
    struct mesh_given *g = &c->made->given[i];
    *g = (struct mesh_given){
        .word = mesh_intern(o->word, (size_t)o->n * 4), .n = o->n, .first_cycle = o->first_cycle};
    for (int64_t k = 0; k < o->n && !c->failed; k++)
        o->word[k] = c->value[o->word[k]];
    return g->word;
}

static bool intern_forms(const struct mesh_recording *c, struct mesh_recorded *made)
{
    made->n_words = c->n_words;
    made->n_forms = c->forms.n;
    made->n_ops = c->ops.n;
    made->form = mesh_intern(c->forms.item, (size_t)made->n_forms * sizeof *made->form);
    made->op = mesh_intern(c->ops.item, (size_t)made->n_ops * sizeof *made->op);
    return made->form && made->op;
}

struct mesh_recorded *mesh_recording_end(struct mesh_recording *c, const struct mesh *m)
{
    struct mesh_recorded *made = NULL;
    for (int i = 0; c->made && i < m->n_sinks; i++)
        if (!give_sink(c, i, m->sink[i].output)) c->refused = true;
    if (c->made && !c->refused && mesh_recording_order(c) && intern_forms(c, c->made)) {
        made = c->made;
        c->made = NULL;
    }
    (void)pthread_mutex_destroy(&c->lock);
    fini(c);
    return made;
}

void mesh_recorded_free(struct mesh_recorded **recorded)
{
    struct mesh_recorded *r = *recorded;
    *recorded = NULL;
    if (!r) return;
    for (int i = 0; r->given && i < r->n_given; i++)
        mesh_intern_release(r->given[i].word);
    mesh_intern_release(r->step);
    mesh_intern_release(r->form);
    mesh_intern_release(r->op);
    mesh_intern_release(r->in);
    wsc_free(r->taken);
    wsc_free(r->given);
    wsc_free(r);
}
