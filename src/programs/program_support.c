// SPDX-License-Identifier: Apache-2.0
/* Checks whether the programs of the mesh can compute a model: decoders of every family and
 * encoders, with heads of an even width where positions are rotary. All other models are refused
 * by the name of a key, before anything is reserved. */
#include "program_vector_ops.h"

#include <wsc/programs.h>

/* Upper limits: a script needs one or two steps for each network of a token, a task one or two
 * operations. */
enum { PROGRAMS_MOST_CHOSEN = 16 };
_Static_assert(2 * PROGRAMS_MOST_CHOSEN + 3 <= PROGRAMS_MAX_STEPS, "steps of a router's script");

/* The results of the two ends of an answer leave in the words of two tokens, so a sequence needs
 * two. */
static bool has_room_for_ends(const struct model *m)
{
    return m->head[0].loss != MODEL_SPAN_ENTROPY || m->T >= MODEL_SPAN_ENDS;
}

enum wsc_err programs_model_check(const struct model *m)
{
    const struct {
        bool has;
        const char *key, *why;
    } features[] = {
        {m->n_stacks > 1 || m->patch, "objective", "it computes decoders and encoders only"},
        {!has_room_for_ends(m), "max_position_embeddings", "an answer needs two tokens"},
        {m->rotary_dim > 0 && m->head_dim % 2, "num_heads",
         "it rotates positions of heads of an even width only"},
        {model_active_ffns(m) > PROGRAMS_MOST_CHOSEN, "moe.top_k",
         "it sends a token through 16 networks at most"},
    };
    _Static_assert(PROGRAMS_MOST_CHOSEN == 16, "the number in the message");
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++)
        if (features[i].has)
            return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                          "model.%s: not supported by --numerics mesh: %s",
                                          features[i].key, features[i].why),
                                "--numerics host");
    return WSC_OK;
}
