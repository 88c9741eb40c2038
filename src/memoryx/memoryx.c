// SPDX-License-Identifier: Apache-2.0
/* Creates and destroys a shard: its parts of the tensors with their optimizer state, the initial
 * weights, and the fibers of its two programs (memoryx_step.c). The initial value of element i of
 * tensor k is a function of (seed, k, i), on any shard. */
#include "memoryx_init.h"
#include "memoryx_mask.h"
#include "memoryx_optimizer.h"
#include "memoryx_state.h"
#include "memoryx_step.h"

#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>

static enum wsc_err states_create(struct memoryx *mx, int i)
{
    struct memoryx_part *s = &mx->part[i];
    for (int k = 0; k < MEMORYX_MAX_STATE; k++) {
        const struct memoryx_state state =
            memoryx_state_of(&mx->config.params->optimizer, &mx->net->model->tensor[i], k);
        if (!state.name) continue;
        const bool by_element = state.extent == MEMORYX_ELEMENTS;
        TRY_NEW(s->state[k], WSC_MEM_MEMORYX, by_element ? s->n : state.shape[0]);
    }
    return WSC_OK;
}

static enum wsc_err selection_create(struct memoryx_part *s)
{
    TRY_NEW(s->chosen, WSC_MEM_MEMORYX, memoryx_mask_words(s->n));
    TRY_NEW(s->held, WSC_MEM_MEMORYX, s->n);
    return WSC_OK;
}

static enum wsc_err parts_create(struct memoryx *mx)
{
    const struct model *model = mx->net->model;
    TRY_NEW(mx->part, WSC_MEM_MEMORYX, model->n_tensors);
    for (int i = 0; i < model->n_tensors; i++) {
        struct memoryx_part *s = &mx->part[i];
        stream_part(model->tensor[i].n_elems, mx->shard, mx->n_shards, &s->first, &s->n);
        if (!mx->config.values) continue;
        TRY_NEW(s->w, WSC_MEM_MEMORYX, s->n);
        if (!model->tensor[i].frozen) TRY_NEW(s->g, WSC_MEM_MEMORYX, s->n);
        TRY(states_create(mx, i));
        if (model->tensor[i].selected) TRY(selection_create(s));
        if (!model_sparsity_of(model, i)) continue;
        TRY_NEW(s->mask, WSC_MEM_MEMORYX, memoryx_mask_words(s->n));
    }
    return WSC_OK;
}

static bool logs_masks(const struct memoryx *mx)
{
    const struct zoo_sparsities *s = &mx->config.params->sparsity;
    bool any = false;
    for (int i = 0; i < s->n && mx->config.values; i++)
        any = any || s->entry[i].add_summaries;
    return any;
}

static enum wsc_err set_up(struct memoryx *mx)
{
    const struct model *model = mx->net->model;
    TRY_NEW(mx->times.ready, WSC_MEM_MEMORYX, model->n_stages);
    TRY_NEW(mx->arrived, WSC_MEM_MEMORYX, model->n_stages);
    TRY_NEW(mx->sums, WSC_MEM_MEMORYX, model->n_stages);
    if (mx->shard == 0 && mx->config.params->optimizer.log_summaries)
        TRY_NEW(mx->layer_norm, WSC_MEM_MEMORYX, model->L);
    if (logs_masks(mx)) TRY_NEW(mx->kept, WSC_MEM_MEMORYX, model->n_tensors);
    TRY(parts_create(mx));
    memoryx_begin(mx);
    return WSC_OK;
}

enum wsc_err memoryx_create(struct memoryx **out, struct stream_net *net, int shard,
                            const struct memoryx_config *config)
{
    TRY_NEW(*out, WSC_MEM_MEMORYX, 1);
    **out = (struct memoryx){.net = net,
                             .ports = &net->ports[stream_role_of_shard(net->topology, shard)],
                             .config = *config,
                             .shard = shard,
                             .n_shards = net->topology->n_shards};
    const enum wsc_err rc = set_up(*out);
    if (rc) memoryx_destroy(out);
    return rc;
}

void memoryx_destroy(struct memoryx **memoryx)
{
    struct memoryx *mx = *memoryx;
    *memoryx = NULL;
    if (!mx) return;
    for (int i = 0; mx->part && i < mx->net->model->n_tensors; i++) {
        wsc_free(mx->part[i].w);
        for (int k = 0; k < MEMORYX_MAX_STATE; k++)
            wsc_free(mx->part[i].state[k]);
        wsc_free(mx->part[i].g);
        wsc_free(mx->part[i].mask);
        wsc_free(mx->part[i].dense);
        wsc_free(mx->part[i].chosen);
        wsc_free(mx->part[i].held);
    }
    for (int s = 0; mx->sums && s < mx->net->model->n_stages; s++)
        stream_sums_clear(&mx->sums[s]);
    stream_window_destroy(&mx->window);
    comm_keep_drop(mx->net->comm, &mx->packed);
    wsc_free(mx->part);
    wsc_free(mx->sums);
    wsc_free(mx->arrived);
    wsc_free(mx->layer_norm);
    wsc_free(mx->kept);
    wsc_free(mx->times.ready);
    wsc_free(mx);
}

enum wsc_err memoryx_spawn(struct memoryx *memoryx, const struct stream_pass *pass)
{
    const struct stream_net *net = memoryx->net;
    int role = stream_role_of_shard(net->topology, memoryx->shard);
    char name[48];
    memoryx->pass = pass;
    stream_window_destroy(&memoryx->window);
    TRY(stream_window_create(&memoryx->window, net->hw, net->model, pass,
                             net->hw->cluster->stream.prefetch_window_bytes));
    (void)snprintf(name, sizeof name, "MemoryX shard %d (down)", memoryx->shard);
    TRY(comm_spawn(net->comm, role, memoryx_run_send, memoryx, 0, name));
    (void)snprintf(name, sizeof name, "MemoryX shard %d (up)", memoryx->shard);
    return comm_spawn(net->comm, role, memoryx_run_take, memoryx, 512 << 10, name);
}

enum wsc_err memoryx_spawn_masks(struct memoryx *memoryx)
{
    const struct stream_net *net = memoryx->net;
    char name[48];
    (void)snprintf(name, sizeof name, "MemoryX shard %d (masks)", memoryx->shard);
    return comm_spawn(net->comm, stream_role_of_shard(net->topology, memoryx->shard),
                      memoryx_run_masks, memoryx, 512 << 10, name);
}

int64_t memoryx_mask_steps(const struct memoryx *memoryx)
{
    return memoryx->mask_step + memoryx->scaler.skipped;
}

struct vtime memoryx_now(const struct memoryx *memoryx)
{
    return memoryx->times.step_end;
}

void memoryx_rewind(struct memoryx *memoryx, struct vtime end)
{
    memoryx->times.step_end = end;
}

struct vtime memoryx_updated(const struct memoryx *memoryx)
{
    return memoryx->times.updating;
}

void memoryx_wait(struct memoryx *memoryx, struct vtime until)
{
    struct memoryx_times *t = &memoryx->times;
    t->step_end = t->reduced = until;
    t->updating = vtime_max(until, t->updating);
    for (int s = 0; s < memoryx->net->model->n_stages; s++)
        t->ready[s] = vtime_max(until, t->ready[s]);
}

void memoryx_restart(struct memoryx *memoryx, struct vtime end, struct vtime ready)
{
    struct memoryx_times *t = &memoryx->times;
    t->step_end = t->reduced = end;
    t->updating = ready;
    for (int s = 0; s < memoryx->net->model->n_stages; s++)
        t->ready[s] = ready;
}
