// SPDX-License-Identifier: Apache-2.0
/* Reserves the memory of a mixture of experts on the mesh. A row of PEs has as many places as its
 * tokens have networks, whatever they choose; so tiles of places have one size, and a token is
 * never dropped. program_router.c fills in the results of a router, program_experts.c uses them. */
#include "program_choice.h"

#include <wsc/mem.h>

/* Upper limits of the tokens and of the places of a row. */
static int most_tokens(const struct programs_model *k)
{
    return k->grid.max_samples * programs_tokens(&k->grid, 0);
}

static int most_places(const struct programs_model *k)
{
    return programs_n_slots(k) * most_tokens(k);
}

enum wsc_err programs_reserve_filter(struct programs_model *k, struct programs_tile *t,
                                     const char *what)
{
    if (!k->model->experts) return programs_reserve_tile(&k->grid, t, &k->filter, what);
    return programs_reserve_wide(&k->grid, t, &k->filter, most_places(k), what);
}

enum wsc_err programs_reserve_choice(struct programs_model *k, struct programs_choice *c)
{
    struct programs_grid *g = &k->grid;
    const struct programs_features *f = &k->experts.f;
    const int64_t vectors = 2 * programs_n_chosen(k) + 1;
    TRY(programs_reserve_sums(g, &c->routed, f, "values of experts"));
    c->weighing = c->routed;
    if (zoo_moe_weighs_apart(&k->model->zoo.moe))
        TRY(programs_reserve_sums(g, &c->weighing, f, "what weighs experts"));
    TRY(programs_reserve_words(g, vectors * g->pitch, PROGRAMS_BANK_TOKENS, "chosen experts",
                               &c->vectors));
    TRY(programs_reserve_words(g, (int64_t)programs_n_slots(k) * g->pitch, PROGRAMS_BANK_TOKENS,
                               "places of tokens", &c->places));
    TRY_NEW(c->start, WSC_MEM_KERNELS,
            (int64_t)g->lanes * g->h * model_n_ffns(k->model) * (g->max_samples + 1));
    return WSC_OK;
}

/* Reserve what the backward pass needs in addition. */
static enum wsc_err reserve_gradients(struct programs_model *k)
{
    struct programs_grid *g = &k->grid;
    struct programs_experts *e = &k->experts;
    TRY(programs_reserve_wide(g, &e->dx, &k->hidden, most_places(k), "gradients of places"));
    TRY(programs_reserve_sums(g, &e->d, &e->f, "gradients of the router"));
    TRY(programs_reserve_sums(g, &e->apart, &e->f, "gradients of what weighs experts"));
    TRY(programs_reserve_words(g, most_places(k) + 1, PROGRAMS_BANK_TOKENS,
                               "gradients of the weights of places", &e->dweights));
    TRY_NEW(e->balance, WSC_MEM_KERNELS,
            (2 * k->model->L * k->max_samples + g->lanes) * k->model->experts);
    return WSC_OK;
}

enum wsc_err programs_reserve_experts(struct programs_model *k)
{
    struct programs_grid *g = &k->grid;
    struct programs_experts *e = &k->experts;
    const int64_t vectors = programs_n_chosen(k) + PROGRAMS_SCRATCH_MASK + 1;
    TRY(programs_reserve_wide(g, &e->x, &k->hidden, most_places(k), "places"));
    TRY(programs_reserve_sums(g, &e->tmp, &e->f, "scratch of the router"));
    TRY(programs_reserve_sums(g, &e->marks, &e->f, "scratch of the router"));
    TRY(programs_reserve_words(g, e->f.slots, PROGRAMS_BANK_TILES, "numbers of experts",
                               &e->number));
    TRY(programs_reserve_words(g, most_places(k) + 1, PROGRAMS_BANK_TOKENS, "weights of places",
                               &e->weights));
    TRY(programs_reserve_words(g, vectors * g->pitch, PROGRAMS_BANK_TOKENS, "scratch of the router",
                               &e->tokens));
    if (zoo_moe_has_sinkhorn(&k->model->zoo.moe))
        TRY(programs_reserve_words(g, 2 * (int64_t)e->f.slots * g->max_samples,
                                   PROGRAMS_BANK_TOKENS, "sums of Sinkhorn's normalisation",
                                   &e->samples));
    TRY_NEW(e->columns, WSC_MEM_KERNELS, 2 * (int64_t)g->lanes * g->h);
    TRY_NEW(e->leaf_columns, WSC_MEM_KERNELS, 2 * (int64_t)g->lanes * g->h);
    return k->training ? reserve_gradients(k) : WSC_OK;
}

void programs_experts_begin(struct programs_model *k)
{
    struct programs_experts *e = &k->experts;
    e->network = PROGRAMS_ALL_TOKENS;
    if (!k->model->experts) return;
    e->one = cycles_expert_layout(&k->layout);
    e->one_leaf = cycles_expert_layout(&k->leaf_layout);
    e->places = k->layout;
    e->places.t *= programs_n_slots(k);
}

void programs_experts_fini(struct programs_model *k)
{
    const int64_t layers = k->training ? k->model->L : 1;
    for (int64_t l = 0; k->layer && l < layers; l++)
        wsc_free(k->layer[l].choice.start);
    programs_features_fini(&k->experts.f);
    wsc_free(k->experts.columns);
    wsc_free(k->experts.leaf_columns);
    wsc_free(k->experts.balance);
}
