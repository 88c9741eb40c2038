// SPDX-License-Identifier: Apache-2.0
/* Carries out the steps of a recording one after the other with the functions of the simulated run:
 * pe.c for operations with words, trigger.c for multiply-adds that words start, vector.c for
 * operations on memory. */
#include "play.h"
#include "pe.h"
#include "recording.h"
#include "trigger.h"
#include "vector.h"

#include <wsc/mem.h>

/* ---- words ----------------------------------------------------------------------------------- */

static bool make_room(uint32_t **list, int64_t *room, int64_t n)
{
    if (n <= *room) return true;
    uint32_t *grown = wsc_realloc(WSC_MEM_MESH, *list, (size_t)n, sizeof *grown);
    if (!grown) return false;
    *list = grown;
    *room = n;
    return true;
}

void mesh_words_fini(struct mesh_words *w)
{
    wsc_free(w->value);
    wsc_free(w->received);
    *w = (struct mesh_words){0};
}

/* ---- play ------------------------------------------------------------------------------------ */

bool mesh_play_fits(const struct mesh_recorded *r, const struct mesh *m)
{
    if (r->n_taken != m->n_sources || r->n_given != m->n_sinks) return false;
    for (int i = 0; i < m->n_sinks; i++)
        if (m->sink[i].output->capacity < r->given[i].n) return false;
    return mesh_recording_program(m) == r->program;
}

/* Words that a step receives: where they are, or gathered. */
static const uint32_t *received(const struct mesh_recorded *r, const struct mesh_words *w,
                                const struct mesh_step *s, int32_t n)
{
    if (s->in >= 0) return w->value + s->in;
    const int32_t *word = r->in + (-1 - s->in);
    for (int32_t i = 0; i < n; i++)
        w->received[i] = w->value[word[i]];
    return w->received;
}

static void step(const struct mesh_recorded *r, const struct mesh_words *w, struct mesh_pe *pe,
                 const struct mesh_step *s)
{
    const struct mesh_step_form *f = &r->form[s->form];
    const uint32_t *in = f->n_in ? received(r, w, s, f->n_in) : NULL;
    struct mesh_thread t = f->thread;
    struct mesh_op op;
    if (f->op >= 0) {
        op = r->op[f->op];
        t.op = &op;
    }
    switch ((enum mesh_step_kind)f->kind) {
    case MESH_STEP_MEMORY:
        mesh_vector(pe, &t);
        break;
    case MESH_STEP_WORDS:
        mesh_pe_words(pe->region, pe, &t, in, s->out < 0 ? NULL : w->value + s->out);
        break;
    case MESH_STEP_TRIGGERED:
        mesh_trigger_words(pe, &(struct mesh_macs){.first = &t,
                                                   .sums_step = f->sums_step,
                                                   .vectors_step = f->vectors_step,
                                                   .word = in,
                                                   .n = f->n_in,
                                                   .writes = f->writes});
        break;
    }
}

static void take_sources(const struct mesh_recorded *r, const struct mesh_words *w,
                         const struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        uint32_t *to = w->value + r->taken[i].first;
        for (int64_t k = 0; k < r->taken[i].n; k++)
            if (!m->source[i].wavelet[k].control) *to++ = m->source[i].wavelet[k].data;
    }
}

static void give_sinks(const struct mesh_recorded *r, const struct mesh_words *w,
                       const struct mesh *m)
{
    for (int i = 0; i < m->n_sinks; i++) {
        struct mesh_output *o = m->sink[i].output;
        const struct mesh_given *g = &r->given[i];
        for (int64_t k = 0; k < g->n; k++)
            o->word[k] = w->value[g->word[k]];
        o->n = g->n;
        o->first_cycle = g->first_cycle;
    }
}

bool mesh_play(const struct mesh_recorded *r, struct mesh_words *w, struct mesh *m)
{
    if (!make_room(&w->value, &w->room, r->n_words) ||
        !make_room(&w->received, &w->received_room, r->longest))
        return false;
    take_sources(r, w, m);
    for (int32_t i = 0; i < r->n_steps; i++)
        step(r, w, &m->pe[r->step[i].pe], &r->step[i]);
    give_sinks(r, w, m);
    return true;
}
