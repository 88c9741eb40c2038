// SPDX-License-Identifier: Apache-2.0
/* Carries out the steps of a recording one after the other with the functions of the simulated run:
 * pe.c for operations with words, trigger.c for multiply-adds that words start, vector.c for
 * operations on memory. */
#include "play.h"
#include "pe.h"
#include "trigger.h"
#include "vector.h"

#include <string.h>

bool mesh_play_fits(const struct mesh_recording *c, const struct mesh *m)
{
    if (c->n_taken != m->n_sources || c->n_given != m->n_sinks) return false;
    for (int i = 0; i < m->n_sinks; i++)
        if (m->sink[i].output->capacity < c->given[i].n) return false;
    return mesh_recording_program(m) == c->program;
}

/* Words that a step receives: where they are, or gathered in @p scratch. */
static const uint32_t *received(const struct mesh_recording *c, const struct mesh_step *s,
                                uint32_t *scratch)
{
    if (s->together) return c->value + s->in;
    for (uint32_t i = 0; i < s->n_in; i++)
        scratch[i] = c->value[c->in[s->in + (int32_t)i]];
    return scratch;
}

static void step(struct mesh_recording *c, struct mesh_pe *pe, const struct mesh_step *s)
{
    const struct mesh_step_form *f = &c->form[s->form];
    const uint32_t *in = s->n_in ? received(c, s, c->scratch) : NULL;
    struct mesh_thread t = f->thread;
    memcpy(t.at, s->at, sizeof t.at);
    t.c = s->c;
    t.op = f->op < 0 ? NULL : &c->op[f->op];
    switch ((enum mesh_step_kind)f->kind) {
    case MESH_STEP_MEMORY:
        mesh_vector(pe, &t);
        break;
    case MESH_STEP_WORDS:
        mesh_pe_words(pe->region, pe, &t, in, s->out < 0 ? NULL : c->value + s->out);
        break;
    case MESH_STEP_TRIGGERED:
        mesh_trigger_words(pe, &(struct mesh_macs){.first = &t,
                                                   .sums_step = f->sums_step,
                                                   .vectors_step = f->vectors_step,
                                                   .word = in,
                                                   .n = (int32_t)s->n_in,
                                                   .writes = f->writes});
        break;
    }
}

void mesh_play(struct mesh_recording *c, struct mesh *m)
{
    for (int i = 0; i < m->n_sources; i++) {
        uint32_t *to = c->value + c->taken[i].first;
        for (int64_t k = 0; k < c->taken[i].n; k++)
            if (!m->source[i].wavelet[k].control) *to++ = m->source[i].wavelet[k].data;
    }
    for (int32_t i = 0; i < c->n_steps; i++)
        step(c, &m->pe[c->step[i].pe], &c->step[i]);
    for (int i = 0; i < m->n_sinks; i++) {
        struct mesh_output *o = m->sink[i].output;
        const struct mesh_given *g = &c->given[i];
        for (int64_t k = 0; k < g->n; k++)
            o->word[k] = c->value[g->word[k]];
        o->n = g->n;
        o->first_cycle = g->first_cycle;
    }
}
