// SPDX-License-Identifier: Apache-2.0
/* How dense the matrices of a stage are at a step, for their time and bytes: shares of kept weights
 * by kind of tensor, from counts (model_sparsity.c) and not from masks, so that virtual time is the
 * same with and without values; and the densest step of a schedule, for which a compiler has to
 * plan; and the FLOPs that sparse weights leave.  Read by cycles, stream and cluster. */
#include <wsc/model.h>

#include <math.h>

/* ---- the densest step ------------------------------------------------------------------------ */

/* The last update of the schedule; -1: it has none. */
static int64_t last_update(const struct zoo_mask_update *u)
{
    if (u->freq == CONF_NULL) return u->n_steps ? u->step[u->n_steps - 1] : -1;
    return u->stop == CONF_NULL || u->stop <= u->start
               ? -1
               : u->start + (u->stop - 1 - u->start) / u->freq * u->freq;
}

/* What the fraction goes to when it never stops. */
static double limit_of(const struct zoo_fraction *f)
{
    switch (f->kind) {
    case ZOO_FRACTION_LINEAR:
        return f->slope < 0 ? 0 : f->init;
    case ZOO_FRACTION_EXP:
        return f->gamma > 0 ? 0 : f->final;
    case ZOO_FRACTION_POWER:
        return f->beta < 1 ? 0 : f->init;
    case ZOO_FRACTION_COSINE:
        return f->minimum;
    case ZOO_FRACTION_CYCLING:
    case ZOO_FRACTION_CONSTANT:
    case ZOO_N_FRACTIONS:
        break;
    }
    return f->init;
}

/* Least fraction of zeros over all masks. */
static float least_sparsity(const struct zoo_sparsity *s)
{
    const struct zoo_fraction *f = &s->sparsity;
    const int64_t last = last_update(&s->update);
    float least = zoo_sparsity_after(s, 0);
    if (s->algorithm == ZOO_SPARSITY_STATIC) return least;
    if (f->kind == ZOO_FRACTION_CYCLING) {
        for (int i = 0; i < f->n_values; i++)
            least = fminf(least, zoo_fraction_at(f, 0, i));
        return least;
    }
    /* Other formulas are monotone, the cosine up to its half period. */
    if (last >= 0 && !(f->kind == ZOO_FRACTION_COSINE && (double)last > f->half_period))
        return fminf(least, zoo_sparsity_after(s, last));
    return fminf(least, (float)fmax(0, limit_of(f)));
}

int64_t model_kept_at(const struct model *model, int tensor, int64_t step)
{
    const struct zoo_sparsity *s = model_sparsity_of(model, tensor);
    if (step != MODEL_DENSEST || !s) return model_kept(model, tensor, step);
    const int64_t groups = zoo_sparsity_groups(s);
    return groups * zoo_sparsity_kept(least_sparsity(s), model->tensor[tensor].n_elems / groups);
}

bool model_chooses_mask(const struct model *model, int tensor, int64_t step)
{
    const struct zoo_sparsity *s = model_sparsity_of(model, tensor);
    return s && s->algorithm != ZOO_SPARSITY_STATIC && zoo_sparsity_updates(s, step + 1);
}

/* ---- by kind --------------------------------------------------------------------------------- */

/* Sums over the tensors of a kind. */
struct sums {
    double elems[MODEL_N_KINDS], kept[MODEL_N_KINDS], wanted[MODEL_N_KINDS], trained[MODEL_N_KINDS];
    double backward[MODEL_N_KINDS]; /* of tensors that have a backward pass */
};

static void add_tensor(struct sums *sums, const struct model *model, int tensor, int64_t step)
{
    const struct model_tensor *t = &model->tensor[tensor];
    const double n = (double)t->n_elems, kept = (double)model_kept_at(model, tensor, step);
    const bool dense = step >= 0 && model_sends_dense_gradient(model, tensor, step);
    if (t->kind >= MODEL_N_KINDS) return; /* adapters are dense and train */
    sums->trained[t->kind] += t->frozen ? 0 : n;
    sums->backward[t->kind] += t->backward ? n : 0;
    sums->elems[t->kind] += n;
    sums->kept[t->kind] += kept;
    sums->wanted[t->kind] += dense ? n : kept;
}

/* Sums over a stage, or with @p stage < 0 over the model without its reference. */
static struct sums sums_of(const struct model *model, int stage, int64_t step)
{
    struct sums sums = {0};
    const struct model_stage *s = stage < 0 ? NULL : &model->stage[stage];
    for (int i = 0; i < (s ? s->n_views : model->n_tensors); i++)
        if (s || !model->tensor[i].reference)
            add_tensor(&sums, model, s ? s->view[i].tensor : i, step);
    return sums;
}

bool model_density_at(const struct model *model, int stage, int64_t step, struct model_density *out)
{
    bool sparse = false;
    if (!model->sparsity && model->n_trained == model->n_params) return false;
    const struct sums sums = sums_of(model, stage, step);
    for (int kind = 0; kind < MODEL_N_KINDS; kind++) {
        const double n = sums.elems[kind], passed = stage < 0 ? sums.backward[kind] : n;
        out->weights[kind] = n > 0 ? sums.kept[kind] / n : 1;
        out->gradients[kind] = n > 0 ? sums.wanted[kind] / n : 1;
        out->trained[kind] = passed > 0 ? sums.trained[kind] / passed : n > 0 ? 0 : 1;
        if (out->weights[kind] < 1 || out->gradients[kind] < 1 || out->trained[kind] < 1)
            sparse = true;
    }
    if (model->tied) {
        out->weights[MODEL_LM_HEAD_W] = out->weights[MODEL_WTE];
        out->gradients[MODEL_LM_HEAD_W] = out->gradients[MODEL_WTE];
        out->trained[MODEL_LM_HEAD_W] = out->trained[MODEL_WTE];
    }
    return sparse;
}

/* ---- FLOPs ----------------------------------------------------------------------------------- */

/* Share of the tokens that meet a matrix of a head. */
static double head_share(const struct model *m, enum model_tensor_kind kind)
{
    for (int i = 0; i < m->n_heads; i++)
        if (m->head[i].output == kind || m->head[i].dense == kind)
            return (double)m->head[i].tokens / (double)m->T;
    return (double)m->head[0].tokens / (double)m->T; /* the table of a tied output layer */
}

/* True for a table of tokens that is the output layer too. */
static bool is_output(const struct model *m, const struct model_tensor *t)
{
    return m->tied && (m->shared_tokens || t->stack == m->n_stacks - 1);
}

/* Share of the tokens that meet a matrix; 0 of tables that are looked up, and of a router that a
 * hash replaces. */
static double tokens_of(const struct model *m, const struct model_tensor *t)
{
    const double T = (double)m->T, own = (double)m->stack[t->stack].T / T;
    if (t->n_dims != 2) return 0;
    if (model_is_condition(t->kind)) return 1 / T; /* one row of a sequence */
    if (t->kind == MODEL_ROUTER_W && model_hash_routed(m)) return 0;
    if (t->expert >= 0 && t->expert < m->experts)
        return (double)m->active_experts / (double)m->experts;
    if (t->kind == MODEL_CROSS_K_W || t->kind == MODEL_CROSS_V_W) return (double)m->stack[0].T / T;
    if (t->layer >= 0) return own;
    const bool table = (t->kind == MODEL_WTE && !is_output(m, t)) || t->kind == MODEL_WPE ||
                       t->kind == MODEL_WTT || t->kind == MODEL_RELATIVE_W ||
                       t->kind == MODEL_LABEL_W;
    return table ? 0 : head_share(m, t->kind);
}

/* Matrices with the share of the tokens that meet them; attention of each stack to itself, and of
 * the second to the first. */
static double flop_of_stacks(const struct model *model)
{
    const double Q = (double)model_q_features(model), T = (double)model->T;
    double matrices = 0, pairs = 0;
    for (int i = 0; i < model->n_tensors; i++)
        matrices += tokens_of(model, &model->tensor[i]) * (double)model->tensor[i].n_elems;
    for (int i = 0; i < model->n_stacks; i++) {
        const struct model_stack *s = &model->stack[i];
        const double keys = (double)s->T + (s->cross ? (double)s[-1].T : 0);
        pairs += (double)s->L * (double)s->T * keys;
    }
    return 2 * matrices + 4 * pairs * Q / T;
}

/* Matrices of a diffusion transformer that other models do not have, with the share of the tokens
 * that meet them; the output layer is a head. */
static double matrices_of_diffusion(const struct model *m)
{
    double sum = 0;
    for (int i = 0; m->patch && i < m->n_tensors; i++) {
        const struct model_tensor *t = &m->tensor[i];
        if (model_is_condition(t->kind) || t->kind == MODEL_PATCH_W)
            sum += tokens_of(m, t) * (double)t->n_elems;
    }
    return sum;
}

/* The A of an embedding's adapter. */
static bool is_looked_up(const struct model_tensor *t)
{
    return t->kind < MODEL_ADAPTER_B && model_is_table(model_base_kind(t->kind));
}

/* FLOPs of one token in a forward pass of the policy. */
static double forward_flop(const struct model *model)
{
    if (model->n_stacks > 1) return flop_of_stacks(model);
    double L = (double)model->L, C = (double)model->C, F = (double)model->F;
    double Q = (double)model_q_features(model), KV = (double)model_kv_features(model);
    double head = 0;
    for (int i = 0; i < model->n_heads; i++) {
        const struct model_head *h = &model->head[i];
        head += ((double)h->outputs * C + (h->dense ? C * C : 0)) * (double)h->tokens /
                (double)model->T;
    }
    double ffn = ((double)model_ffn_features(model) + F) * C * (double)model_active_ffns(model);
    const double router = model_hash_routed(model) ? 0 : (double)model->experts * C;
    double matrices = L * (2 * C * (Q + KV) + ffn + router) + head + matrices_of_diffusion(model);
    for (int i = 0; i < model->n_tensors; i++)
        if (model->tensor[i].kind >= MODEL_N_KINDS && !model->tensor[i].reference &&
            !is_looked_up(&model->tensor[i]))
            matrices += (double)model->tensor[i].n_elems;
    return 2 * matrices + 4 * L * (double)model->T * Q;
}

/* Passes, each as long as a forward pass: backward counts as two, a reference model as one. */
static int n_passes(const struct model *model, bool training)
{
    return (training ? 3 : 1) + (model->n_reference ? 1 : 0);
}

double model_flop_per_token(const struct model *model, bool training)
{
    return n_passes(model, training) * forward_flop(model);
}

double model_flop_per_token_hoffmann(const struct model *model, bool training)
{
    const double L = (double)model->L, H = (double)model->H, T = (double)model->T;
    return model_flop_per_token(model, training) +
           n_passes(model, training) * (2 * (double)model->V * (double)model->C + 3 * L * H * T);
}

/* Attention forward in the blocks that have no backward pass. */
static double idle_attention(const struct model *model)
{
    const double Q = (double)model_q_features(model), T = (double)model->T;
    double pairs = 0;
    for (int i = 0; i < model->n_stacks; i++) {
        const struct model_stack *s = &model->stack[i];
        const double keys = (double)s->T + (s->cross ? (double)s[-1].T : 0);
        pairs += (double)model_idle_blocks(model, i) * (double)s->T * keys;
    }
    return 4 * pairs * Q / T;
}

double model_useful_flop_per_token(const struct model *model, bool training, int64_t updates)
{
    double flop = model_flop_per_token(model, training);
    if (training) flop -= 2 * idle_attention(model);
    for (int i = 0; i < model->n_tensors; i++) {
        const struct model_tensor *t = &model->tensor[i];
        const double n = (double)t->n_elems;
        if (t->reference) continue; /* its forward alone is counted */
        if (t->frozen && training) flop -= (t->backward ? 2 : 4) * tokens_of(model, t) * n;
        if (!model_sparsity_of(model, i)) continue;
        const double zeros = n - (double)model_kept_at(model, i, updates);
        const bool dense = updates >= 0 && model_sends_dense_gradient(model, i, updates);
        flop -= tokens_of(model, t) * zeros * (training ? dense ? 4 : 6 : 2);
    }
    return flop;
}
