// SPDX-License-Identifier: Apache-2.0
/* Chooses lanes, micro-batch and the activations that a block keeps from forward to backward: the
 * plan with the shortest step among all combinations whose memory fits a PE. A stage takes the
 * longest of compute (cycles_parts.c), weights or gradients through the wafer's I/O, and traffic to
 * and from the activation servers; docs/MODEL.md, "Plan". */
#include "cycles_plan.h"

#include "cycles_layout.h"
#include "cycles_parts.h"
#include "cycles_vector.h"

#include <wsc/units.h>

#include <math.h>

enum { MAX_LANES = 64, MAX_SLICES = 8, SUM_BYTES = 4 };

/** The input of a search for a plan. */
struct task {
    const struct hw *hw;
    const struct model *model;
    int lanes;           /**< given by the user; 0 = free */
    int64_t share;       /**< sequences of the wafer */
    int64_t each;        /**< sequences that are computed together */
    int64_t units;       /**< of so many sequences the share has; the last one may be smaller */
    int64_t micro_batch; /**< units, given by the user; 0 = free */
    bool training;
    /** A working set may be larger than the memory, of a micro-batch that was given or that cannot
     *  be smaller; the excess spills. */
    bool excess;
    const struct model_density *densest; /**< NULL: dense */
};

/** Values that a block keeps per token. rest: x, q k v, a and h; filter: the filter features before
 *  the nonlinearity; condition: for diffusion transformers, the branches before their gates, and a
 *  token's part of the scales, shifts and gates of its sequence. If a product is recomputed, its
 *  branch is too, and not kept. */
struct kept {
    double rest, filter, condition;
};

static double condition_values(const struct model *m, const struct cycles_keep_row *r,
                               double hidden)
{
    enum { VECTORS = 6 };
    const int branches = (r->output ? 0 : 1) + (r->branch ? 0 : 1);
    return m->patch ? hidden * (branches + VECTORS / (double)m->T) : 0;
}

/** What a block keeps per token with @p keep, for these numbers of features: a whole row of PEs, or
 *  one PE. */
static struct kept kept_values(const struct model *m, enum cycles_keep keep, double hidden,
                               double heads, double filter)
{
    const struct cycles_keep_row *r = &cycles_keep_rows[keep];
    const double qkv = 1 + 2 * (double)m->kv_heads / (double)m->H;
    const double p = (m->gated ? 2 : 1) * (double)model_active_ffns(m) * filter;
    const double projected = qkv * heads + cycles_normed_heads(m, heads);
    return (struct kept){.rest = (r->output ? 1 : 2) * hidden + (r->qkv ? 0 : projected) +
                                 (r->attention ? 0 : heads),
                         .filter = r->ffn0 ? 0 : p,
                         .condition = condition_values(m, r, hidden)};
}

/** Additional values that cross attention keeps in each layer. query: per token of the decoder, the
 *  stream after it, queries and a; key: per token of the encoder, keys and values. The encoder's
 *  output is always kept, so that keys and values can be recomputed from it. */
struct cross_kept {
    double query, key;
};

static struct cross_kept cross_values(const struct model *m, enum cycles_keep keep, double hidden,
                                      double heads)
{
    const struct cycles_keep_row *r = &cycles_keep_rows[keep];
    const double both = 2 * (double)m->kv_heads / (double)m->H;
    return (struct cross_kept){.query = (r->output ? 0 : hidden) + (r->qkv ? 0 : heads) +
                                        (r->attention ? 0 : heads),
                               .key = r->qkv ? 0 : both * heads};
}

/** Blocks of a stack that keep something: those with a backward pass. */
static double keeping_blocks(const struct model *m, int stack)
{
    const int64_t L = m->n_stacks > 1 ? m->stack[stack].L : m->L;
    return (double)(L - model_idle_blocks(m, stack));
}

/** Values that all blocks of all stacks keep: @p tokens tokens of each stack, @p each values of a
 *  token in every block, @p cross in addition where a block has cross attention. */
static double kept_of_stacks(const struct model *m, const double tokens[MODEL_MAX_STACKS],
                             const struct kept *each, const struct cross_kept *cross)
{
    double sum = 0;
    for (int i = 0; i < m->n_stacks && i < MODEL_MAX_STACKS; i++) {
        const struct model_stack *s = &m->stack[i];
        double block = tokens[i] * (each->rest + each->filter);
        if (s->cross && i > 0) block += tokens[i] * cross->query + tokens[i - 1] * cross->key;
        sum += block * keeping_blocks(m, i);
    }
    return sum;
}

static struct kept kept_on_pe(const struct cycles_layout *l, enum cycles_keep keep)
{
    return kept_values(l->model, keep, l->hidden.k, l->heads.k, l->filter.k);
}

/** Live values per token of a PE at the larger one of the two peaks of a block's backward pass.
 *  With @p resident all kept values lie on the wafer, so they are not counted again. */
static double live_backward(const struct cycles_layout *l, enum cycles_keep keep, bool resident)
{
    const struct cycles_keep_row *r = &cycles_keep_rows[keep];
    const struct kept kept = kept_on_pe(l, keep);
    const double qkv = l->heads.k * l->qkv;
    /* A block that is recomputed from its input also holds x, q k v and a until they are used. */
    double ffn = cycles_live_ffn(l) + (r->output ? l->hidden.k + qkv + l->heads.k : 0);
    double attention = cycles_live_attention(l);
    if (l->model->patch) { /* the branch, for the gradient of its gate */
        ffn += resident && !r->branch ? 0 : l->hidden.k;
        attention += resident && !r->output ? 0 : l->hidden.k;
    }
    if (resident) {
        ffn -= l->hidden.k + floor(kept.filter / l->slices); /* h, or x when only x is kept */
        attention -= kept.rest - (r->output ? 0 : l->hidden.k);
    }
    return fmax(ffn, attention);
}

/** Bytes of a model of two stacks. The encoder's output stays throughout a step; in training so
 *  does the 32-bit sum of its gradients. */
static void add_stacks(struct cycles_plan_bytes *b, const struct cycles_layout *l,
                       enum cycles_keep keep, bool training)
{
    const struct model *m = l->model;
    const double value = (double)num_format_bytes(m->format);
    const struct kept kept = kept_on_pe(l, keep);
    const struct cross_kept cross = cross_values(m, keep, l->hidden.k, l->heads.k);
    double tokens[MODEL_MAX_STACKS] = {0};
    for (int i = 0; i < m->n_stacks; i++) {
        struct cycles_layout own = *l;
        cycles_layout_stack(&own, i);
        tokens[i] = own.t;
    }
    b->work += tokens[0] * l->hidden.k * (value + (training ? SUM_BYTES : 0));
    b->kept = training ? value * kept_of_stacks(m, tokens, &kept, &cross) : 0;
}

struct cycles_plan_bytes cycles_plan_bytes_per_pe(const struct cycles_layout *l,
                                                  enum cycles_keep keep, bool training,
                                                  bool resident)
{
    double value = (double)num_format_bytes(l->model->format);
    const struct kept kept = kept_on_pe(l, keep);
    const double filter = kept_on_pe(l, CYCLES_KEEP_ALL).filter;
    struct cycles_plan_bytes b = {0};
    /* Forward: h, its norm, p, act (and, in slices, 32-bit sums); or x, its norm, q k v, a. */
    const double passing = filter + filter / (l->model->gated ? 2 : 1);
    const double sums = l->slices > 1 ? 2 * l->hidden.k : 0;
    double forward = fmax(2 * l->hidden.k + sums + ceil(passing / l->slices),
                          2 * l->hidden.k + l->heads.k * (1 + l->qkv));
    double live = training ? live_backward(l, keep, resident) : forward;
    b.work = l->t * (value * live + SUM_BYTES * cycles_sum_vectors(l));
    b.kept = training ? l->t * value * (kept.rest + kept.filter + kept.condition) *
                            keeping_blocks(l->model, 0)
                      : 0;
    if (l->model->n_stacks > 1) add_stacks(&b, l, keep, training);
    return b;
}

/** Exact bytes that one sequence keeps over all blocks. */
static double kept_per_sequence(const struct model *m, enum cycles_keep keep)
{
    const struct kept kept =
        kept_values(m, keep, (double)m->C, (double)model_q_features(m), (double)m->F);
    const struct cross_kept cross =
        cross_values(m, keep, (double)m->C, (double)model_q_features(m));
    const double tokens[MODEL_MAX_STACKS] = {(double)m->stack[0].T, (double)m->stack[1].T};
    const double value = (double)num_format_bytes(m->format);
    if (m->n_stacks > 1) return value * kept_of_stacks(m, tokens, &kept, &cross);
    return (kept.rest + kept.filter + kept.condition) * keeping_blocks(m, 0) * (double)m->T * value;
}

static int64_t clamp_int(double x)
{
    return x < 0x1p62 ? (int64_t)x : INT64_C(1) << 62;
}

/** Set @p l to the layout of @p n sequences with the lanes and slices of @p p. */
static void set_layout(struct cycles_layout *l, const struct task *task,
                       const struct cycles_plan *p, int64_t n)
{
    cycles_layout_init(l, task->hw, task->model, p->lanes, n);
    cycles_layout_sparse(l, task->densest);
    cycles_layout_slice(l, p->slices);
}

static bool fits(const struct task *task, const struct cycles_plan *p, int64_t n, bool resident)
{
    struct cycles_layout l;
    set_layout(&l, task, p, n);
    struct cycles_plan_bytes b = cycles_plan_bytes_per_pe(&l, p->keep, task->training, resident);
    return b.work + (resident ? b.kept : 0) <= (double)hw_activation_bytes_per_pe(task->hw);
}

/** Sequences of @p units units. */
static int64_t sequences_of(const struct task *task, int64_t units)
{
    return units < task->units ? units * task->each : task->share;
}

/** Largest number of units that fits, at most the share of the wafer; 0: not even one fits. */
static int64_t largest(const struct task *task, const struct cycles_plan *p, bool resident)
{
    int64_t low = 0, high = task->units;
    while (low < high) {
        int64_t mid = high - (high - low) / 2;
        if (fits(task, p, sequences_of(task, mid), resident))
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

/** Set the sizes in bytes; lanes, kept values and micro-batch are given. */
static void set_bytes(const struct task *task, struct cycles_plan *p, bool resident)
{
    struct cycles_layout l;
    double room = (double)hw_activation_bytes_per_pe(task->hw), spill = 0;
    double pes_per_sequence = (double)hw_n_pes(task->hw) / (double)p->micro_batch;
    int64_t L = task->model->L;
    set_layout(&l, task, p, p->micro_batch);
    struct cycles_plan_bytes b = cycles_plan_bytes_per_pe(&l, p->keep, task->training, resident);
    double kept = task->training ? kept_per_sequence(task->model, p->keep) : 0;
    if (!resident && b.kept > 0) spill = kept * fmin(1, fmax(0, 1 - (room - b.work) / b.kept));
    if (b.work > room) spill += (b.work - room) * pes_per_sequence * (double)L;
    p->act_bytes_per_sequence = clamp_int(kept);
    p->work_bytes_per_sequence = clamp_int(b.work * pes_per_sequence);
    p->act_bytes_available = hw_activation_bytes(task->hw);
    /* Every block moves the same whole number of bytes. */
    p->spill_bytes_per_sequence = clamp_int(ceil(spill / (double)L)) * L;
    p->recompute = p->keep != CYCLES_KEEP_ALL;
}

static double latency_cycles(const struct hw *hw, const struct model *model, int stage,
                             bool backward)
{
    return (double)hw->cluster->wafer.clock_hz *
           wsc_seconds((double)cycles_latency_ps(hw->cluster, model, stage, backward));
}

/** Cycles of a stage, a micro-batch or a step. unspilled: if nothing spilled. */
struct cost {
    double cycles, unspilled;
};

static void add_cost(struct cost *sum, double times, struct cost c)
{
    sum->cycles += times * c.cycles;
    sum->unspilled += times * c.unspilled;
}

/** Cycles of @p stage forward and backward, compute and I/O overlapped. */
static struct cost forward_cost(const struct hw *hw, const struct cycles_layout *l,
                                const struct cycles_plan *plan, int stage, int64_t n_sequences)
{
    const struct model_stage *s = &l->model->stage[stage];
    const double weights = (double)s->n_elems * (double)num_format_bytes(l->model->format);
    const double spill = (double)cycles_spill_bytes(l->model, plan, stage, n_sequences);
    const struct cycles_breakdown f = cycles_layout_stage(l, s, plan->keep, false);
    const double busy = fmax(cycles_total(&f), hw_io_cycles(hw, weights));
    const double latency = latency_cycles(hw, l->model, stage, false);
    return (struct cost){latency + fmax(busy, hw_spill_cycles(hw, spill)), latency + busy};
}

static struct cost backward_cost(const struct hw *hw, const struct cycles_layout *l,
                                 const struct cycles_plan *plan, int stage, int64_t n_sequences)
{
    const struct model_stage *s = &l->model->stage[stage];
    const double n = (double)s->n_elems, weights = n * (double)num_format_bytes(l->model->format);
    const double spill = (double)cycles_spill_bytes(l->model, plan, stage, n_sequences);
    const struct cycles_breakdown b = cycles_layout_stage(l, s, plan->keep, true);
    const double gradients = n * 4; /* in 32 bits */
    const double busy = fmax(cycles_total(&b), hw_io_cycles(hw, fmax(weights, gradients)));
    const double io = fmax(hw_io_cycles(hw, weights + spill), hw_spill_cycles(hw, spill));
    const double latency = latency_cycles(hw, l->model, stage, true);
    return (struct cost){latency + fmax(busy, io), latency + busy};
}

/** Cycles of @p stage of the reference model, which has no adapters and keeps nothing. */
static struct cost reference_cost(const struct hw *hw, const struct cycles_layout *l,
                                  const struct cycles_plan *plan, int stage)
{
    const struct model *m = l->model;
    const struct model_stage *s = &m->stage[stage];
    const double weights = (double)s->n_elems * (double)num_format_bytes(m->format);
    const struct cycles_breakdown f = cycles_layout_stage(l, s, plan->keep, false);
    const double cycles = latency_cycles(hw, m, stage - m->first_policy, false) +
                          fmax(cycles_total(&f), hw_io_cycles(hw, weights));
    return (struct cost){cycles, cycles};
}

/** The stage in the last block of a stack for @p stage in its first. */
static int in_last_block(const struct model *model, int stage)
{
    const int layer = model->stage[stage].layer;
    int per_block = 0;
    for (int s = model->first_policy; s < model->n_stages && layer >= 0; s++)
        per_block += model->stage[s].layer == layer;
    return stage + per_block * (int)(model->stack[model->stage[stage].stack].L - 1);
}

/** Cycles of @p stage in all blocks of its stack, which are equal: one stands for those that run
 *  forward alone, one for the others. */
static struct cost stage_cost(const struct hw *hw, const struct cycles_layout *l,
                              const struct cycles_plan *plan, bool training, int stage,
                              int64_t n_sequences)
{
    const struct model *model = l->model;
    const struct model_stage *s = &model->stage[stage];
    const int64_t blocks = s->layer < 0 ? 1 : model->stack[s->stack].L;
    const int64_t idle = s->layer < 0 || !training ? 0 : model_idle_blocks(model, s->stack);
    const int last = idle ? in_last_block(model, stage) : stage;
    const double others = (double)(blocks - idle);
    struct cost sum = {0};
    if (idle) add_cost(&sum, (double)idle, forward_cost(hw, l, plan, stage, n_sequences));
    if (idle < blocks) add_cost(&sum, others, forward_cost(hw, l, plan, last, n_sequences));
    if (model->n_reference) add_cost(&sum, (double)blocks, reference_cost(hw, l, plan, stage));
    if (training && idle < blocks && (idle || last >= model->first_trained || s->layer >= 0))
        add_cost(&sum, others, backward_cost(hw, l, plan, last, n_sequences));
    return sum;
}

/** Cycles of all stages of a micro-batch. */
static struct cost micro_batch_cost(const struct hw *hw, const struct model *model,
                                    const struct cycles_plan *plan, bool training,
                                    int64_t n_sequences, const struct model_density *density)
{
    struct cycles_layout l;
    struct cost sum = {0};
    if (n_sequences <= 0) return sum;
    cycles_layout_init_plan(&l, hw, model, plan, n_sequences, density);
    for (int stage = model->first_policy; stage < model->n_stages; stage++) {
        const struct model_stage *s = &model->stage[stage];
        if (s->layer > model->stack[s->stack].first) continue;
        add_cost(&sum, 1, stage_cost(hw, &l, plan, training, stage, n_sequences));
    }
    return sum;
}

double cycles_plan_micro_batch(const struct hw *hw, const struct model *model,
                               const struct cycles_plan *plan, bool training, int64_t n_sequences,
                               const struct model_density *density)
{
    return micro_batch_cost(hw, model, plan, training, n_sequences, density).cycles;
}

/** Set the number and size of micro-batches of at most @p most units: they are about equal, as
 *  the batch is divided (stream_batch.c), also where @p most was given. */
static void set_micro_batches(const struct task *task, struct cycles_plan *p, int64_t most)
{
    p->n_micro = (task->units - 1) / most + 1;
    p->micro_batch = sequences_of(task, (task->units - 1) / p->n_micro + 1);
}

static struct cost step_cost(const struct task *task, const struct cycles_plan *p)
{
    const int64_t rest = task->units % p->n_micro, large = rest ? rest : p->n_micro - 1;
    const int64_t size[2] = {sequences_of(task, task->units / p->n_micro), p->micro_batch};
    const double times[2] = {(double)(p->n_micro - large), (double)large};
    struct cost sum = {0};
    for (int i = 0; i < 2 && times[i] > 0; i++)
        add_cost(
            &sum, times[i],
            micro_batch_cost(task->hw, task->model, p, task->training, size[i], task->densest));
    return sum;
}

/** A plan, and the cycles of its step if nothing spilled. */
struct candidate {
    struct cycles_plan plan;
    double unspilled;
};

/** Plans of which activations spill. */
struct candidates {
    int n;
    struct candidate list[MAX_LANES * MAX_SLICES];
};

/** Cycles in which the kept activations of a step leave the wafer and come back; 0 where a working
 *  set spills, which not every block moves twice. */
static double spilled_cycles(const struct task *task, const struct cycles_plan *p)
{
    if (task->excess) return 0;
    const double bytes = (double)p->spill_bytes_per_sequence * (double)task->share;
    return 2 * hw_spill_cycles(task->hw, bytes);
}

/** Set the cycles of @p c, and copy it to @p best if its step is faster. Those of a plan whose
 *  spilled bytes alone take longer than the best step are not counted. */
static void rate_plan(const struct task *task, struct candidate *c, struct cycles_plan *best)
{
    struct cost cost = {.cycles = INFINITY};
    if (best->lanes == 0 || spilled_cycles(task, &c->plan) < best->step_cycles)
        cost = step_cost(task, &c->plan);
    c->plan.step_cycles = cost.cycles;
    c->unspilled = cost.unspilled;
    if (best->lanes == 0 || cost.cycles < best->step_cycles) *best = c->plan;
}

/** Try more micro-batches than those of @p way, the fewest that fit while activations spill: the
 *  smaller one is, the less of a sequence spills. Each time there are one more or a sixteenth more,
 *  until what spills takes no time, or these would not be the fastest even then. */
static void try_smaller(const struct task *task, const struct candidate *way,
                        struct cycles_plan *best)
{
    enum { PARTS = 16 };
    struct candidate c = *way;
    if (c.unspilled >= best->step_cycles) return; /* before the search for the end */
    const int64_t resident = largest(task, &c.plan, true);
    for (int64_t n = c.plan.n_micro + 1; n <= task->units; n += n / PARTS + 1) {
        const int64_t units = (task->units - 1) / n + 1;
        if (units <= resident || c.unspilled >= fmin(c.plan.step_cycles, best->step_cycles)) return;
        set_micro_batches(task, &c.plan, units);
        set_bytes(task, &c.plan, false);
        rate_plan(task, &c, best);
    }
}

/** Evaluate one candidate and copy it to @p best if its step is faster; add it to @p spilled if
 *  smaller micro-batches would spill less. Returns true when the whole share of the wafer fits in
 *  one micro-batch, so that more slices cannot help. */
static bool try_slices(const struct task *task, const struct cycles_plan *way, bool resident,
                       struct cycles_plan *best, struct candidates *spilled)
{
    struct candidate c = {.plan = *way};
    struct cycles_plan *p = &c.plan;
    const int64_t most = task->micro_batch ? task->micro_batch : largest(task, p, resident);
    if (most == 0) return false;
    set_micro_batches(task, p, most);
    const bool spills_work = task->excess && !resident;
    const int64_t least = spills_work ? model_sequences(task->model) : p->micro_batch;
    if (task->micro_batch && !fits(task, p, least, resident)) return false;
    set_bytes(task, p, resident);
    rate_plan(task, &c, best);
    if (!task->micro_batch && p->spill_bytes_per_sequence > 0) spilled->list[spilled->n++] = c;
    return p->n_micro == 1 && (resident || fits(task, p, p->micro_batch, false));
}

/** Evaluate a candidate with all filter features at once, then in 2, 4, ... slices until the whole
 *  share of the wafer fits in one micro-batch. */
static void try_plan(const struct task *task, int lanes, enum cycles_keep keep, bool resident,
                     struct cycles_plan *best, struct candidates *spilled)
{
    struct cycles_plan p = {.lanes = lanes, .keep = keep};
    for (p.slices = 1; p.slices <= MAX_SLICES; p.slices *= 2)
        if (try_slices(task, &p, resident, best, spilled)) return;
}

/** True when the model's blocks stream part by part. */
static bool streams_parts(const struct model *model)
{
    return model->stage[1].n_parts == 1;
}

/** True when a plan may keep the values of @p keep. */
static bool may_keep(const struct task *task, int keep)
{
    const struct cycles_keep_row *row = &cycles_keep_rows[keep];
    if (keep > 0 && !task->training) return false; /* nothing is kept */
    return !(streams_parts(task->model) && !row->by_part) && !(row->gated && !task->model->patch);
}

static int least_lanes(const struct task *task)
{
    return task->lanes ? task->lanes : 1;
}

static int most_lanes(const struct task *task)
{
    const int64_t cols = task->hw->cluster->wafer.pe_cols;
    return task->lanes ? task->lanes : cols < MAX_LANES ? (int)cols : MAX_LANES;
}

/** Least bytes of one sample on a PE, of all plans with the values of @p keep. */
static double least_bytes(const struct task *task, enum cycles_keep keep)
{
    struct cycles_plan p = {.keep = keep};
    double least = INFINITY;
    for (p.lanes = least_lanes(task); p.lanes <= most_lanes(task); p.lanes++) {
        for (p.slices = 1; p.slices <= MAX_SLICES; p.slices *= 2) {
            struct cycles_layout l;
            set_layout(&l, task, &p, model_sequences(task->model));
            least = fmin(least, cycles_plan_bytes_per_pe(&l, keep, task->training, false).work);
        }
    }
    return least;
}

static WSC_CHECKED enum wsc_err too_large(const struct task *task)
{
    const int64_t left = hw_activation_bytes_per_pe(task->hw), n = model_sequences(task->model);
    double least = INFINITY;
    for (int keep = 0; keep < CYCLES_N_KEEPS; keep++)
        if (may_keep(task, keep)) least = fmin(least, least_bytes(task, (enum cycles_keep)keep));
    return wsc_err_hint(
        WSC_RAISE(WSC_CAPACITY,
                  "%s of %lld tokens%s %.0f bytes on a processing element, %lld are free for "
                  "activations",
                  n > 1 ? "sequences" : "one sequence", (long long)task->model->T,
                  n > 1 ? ", of which a sample has several, need" : " needs", ceil(least),
                  (long long)(left > 0 ? left : 0)),
        "shorter sequences or a smaller hidden_size and filter_size fit");
}

/** Evaluate every number of lanes with the kept values of @p keep, and then smaller micro-batches
 *  in those plans that are the fastest ones apart from what they spill. */
static void search_keep(const struct task *task, enum cycles_keep keep, struct cycles_plan *best)
{
    struct candidates spilled = {0};
    const int least = least_lanes(task), max_lanes = most_lanes(task);
    for (int lanes = least; lanes <= max_lanes; lanes++) {
        try_plan(task, lanes, keep, true, best, &spilled);
        /* Without training nothing is kept, and only what exceeds the memory spills. */
        if (task->training || task->excess) try_plan(task, lanes, keep, false, best, &spilled);
    }
    for (int i = 0; i < spilled.n; i++)
        try_smaller(task, &spilled.list[i], best);
}

/** Evaluate every choice of kept values. */
static void search(const struct task *task, struct cycles_plan *best)
{
    for (int keep = 0; keep < CYCLES_N_KEEPS; keep++)
        if (may_keep(task, keep)) search_keep(task, (enum cycles_keep)keep, best);
}

/** Plan micro-batches of @p units units. Where no plan has room for their working set, one is made
 *  all the same, if one sample fits; the excess spills to the activation servers. */
static void search_given(struct task *task, int64_t units, struct cycles_plan *best)
{
    task->micro_batch = units > 1 ? units : 1;
    search(task, best);
    task->excess = !best->lanes;
    if (task->excess) search(task, best);
}

enum wsc_err cycles_plan_wafer(struct cycles_plan *plan, const struct hw *hw,
                               const struct model *model, int64_t share,
                               const struct cycles_asked *asked, bool training,
                               const struct model_density *densest)
{
    const int64_t sample = model_sequences(model), cols = hw->cluster->wafer.pe_cols;
    const int64_t micro_batch = asked->micro_batch;
    struct task task = {.hw = hw,
                        .model = model,
                        .lanes = asked->lanes,
                        .share = share < sample ? sample : share,
                        .each = sample * (asked->together > 1 ? asked->together : 1),
                        .training = training,
                        .densest = densest};
    task.units = (task.share - 1) / task.each + 1;
    if (asked->lanes > cols)
        return WSC_RAISE(WSC_CONFIG, "lanes: %d, but a wafer has %lld columns of PEs", asked->lanes,
                         (long long)cols);
    *plan = (struct cycles_plan){0};
    const bool given = micro_batch != CONF_AUTO && micro_batch != CONF_EXPLORE;
    if (given && micro_batch != CONF_NULL && micro_batch < 1)
        return WSC_RAISE(WSC_CONFIG, "micro_batch_size: %lld is not a positive number",
                         (long long)micro_batch);
    if (given)
        search_given(&task, micro_batch == CONF_NULL ? task.units : micro_batch / task.each, plan);
    else
        search(&task, plan);
    /* Sequences that stay together do not fit. */
    if (!plan->lanes && !given && task.each > sample) search_given(&task, 1, plan);
    return plan->lanes ? WSC_OK : too_large(&task);
}

/** Fraction of a block's kept values that belongs to @p part. */
static double part_share(const struct model *m, enum model_part part, enum cycles_keep keep)
{
    const struct cycles_keep_row *r = &cycles_keep_rows[keep];
    const double C = (double)m->C, heads = (double)model_q_features(m);
    const struct kept kept = kept_values(m, keep, C, heads, (double)m->F);
    const double all = kept.rest + kept.filter + kept.condition, h = r->output ? 0 : C;
    switch (part) {
    case MODEL_PART_QKV:
        return C / all;
    case MODEL_PART_ATTN:
        return (kept.rest - C - h + kept.condition) / all;
    case MODEL_PART_FFN0:
        return h / all;
    case MODEL_PART_FFN1:
        return kept.filter / all;
    case MODEL_PART_CROSS_QKV: /* what a decoder's block moves beside is in the other parts */
    case MODEL_PART_CROSS_ATTN:
    case MODEL_PART_MEMORY:
    case MODEL_N_PARTS:
    case MODEL_PART_EMBED:
    case MODEL_PART_HEAD:
        break;
    }
    return 0;
}

/** False in blocks without a backward pass and in a reference model. */
static bool keeps_activations(const struct model *m, int stage)
{
    const struct model_stage *s = &m->stage[stage];
    return stage >= m->first_policy &&
           (s->layer < 0 || s->layer - m->stack[s->stack].first >= model_idle_blocks(m, s->stack));
}

int64_t cycles_spill_bytes(const struct model *model, const struct cycles_plan *plan, int stage,
                           int64_t n_sequences)
{
    const struct model_stage *s = &model->stage[stage];
    const int64_t all = plan->spill_bytes_per_sequence, act = plan->act_bytes_per_sequence;
    int64_t idle = 0;
    for (int i = 0; i < model->n_stacks; i++)
        idle += model_idle_blocks(model, i);
    const bool keeps = keeps_activations(model, stage);
    const int64_t work = all > act ? all - act : 0, kept = all - work;
    int64_t per_block = keeps && !idle ? all / model->L : work / model->L;
    if (keeps && idle && idle < model->L) per_block += kept / (model->L - idle);
    double block = (double)per_block * (double)n_sequences;
    if (s->n_parts == 1) block *= part_share(model, s->part[0], plan->keep);
    return clamp_int(floor(block));
}
