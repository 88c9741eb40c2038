// SPDX-License-Identifier: Apache-2.0
#include "small_run.h"

#include <wsc/mem.h>
#include <wsc/rng.h>
#include <wsc/store.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "train_input:\n"
                           "    data_processor: GptHDF5MapDataProcessor\n"
                           "    data_dir: .\n"
                           "    batch_size: 6\n"
                           "    shuffle: true\n"
                           "    shuffle_seed: 3\n"
                           "model:\n"
                           "    vocab_size: 64\n"
                           "    hidden_size: 32\n"
                           "    num_hidden_layers: 2\n"
                           "    num_heads: 2\n"
                           "    filter_size: 128\n"
                           "    max_position_embeddings: 16\n"
                           "    share_embedding_weights: true\n"
                           "    nonlinearity: gelu\n"
                           "    dropout_rate: 0.0\n"
                           "    attention_dropout_rate: 0.0\n"
                           "    mixed_precision: false\n"
                           "optimizer:\n"
                           "    optimizer_type: AdamW\n"
                           "    learning_rate: 0.01\n"
                           "    weight_decay: 0.1\n"
                           "    max_gradient_norm: 1.0\n"
                           "runconfig:\n"
                           "    max_steps: 1000\n"
                           "    seed: 1\n";

enum wsc_err small_config_init(struct small_config *c, int64_t num_csx, const char *const *sets)
{
    struct conf_set all[SMALL_MAX_SETS + 5] = {0};
    char csx[48];
    int n = 0;
    memset(c, 0, sizeof *c);
    (void)snprintf(csx, sizeof csx, "runconfig.num_csx=%lld", (long long)num_csx);
    all[n++] = (struct conf_set){.text = csx};
    all[n++] = (struct conf_set){.text = "trace_hash=true"};
    /* Steps are alike, unless a test wants them otherwise. */
    all[n++] = (struct conf_set){.text = "cluster.jitter=0"};
    all[n++] = (struct conf_set){.text = "cluster.jitter_stage=0"};
    all[n++] = (struct conf_set){.text = "cluster.jitter_system=0"};
    for (; sets && *sets; sets++)
        if (n < SMALL_MAX_SETS + 5) all[n++] = (struct conf_set){.text = *sets};
    TRY(zoo_params_parse(&c->params, "small.yaml", text, sizeof text - 1, all, n));
    return hw_machine_parse(&c->cluster, NULL, NULL, 0, all, n);
}

void small_config_fini(struct small_config *c)
{
    zoo_params_fini(&c->params);
    hw_machine_fini(&c->cluster);
}

static int32_t draw(uint64_t i, int32_t below)
{
    return (int32_t)(wsc_rng_u64(11, wsc_rng_stream(WSC_RNG_TEST, 1), i) % (uint64_t)below);
}

enum wsc_err small_data_write(const char *dir, int64_t n)
{
    char path[300];
    const int64_t T = SMALL_T;
    int32_t *data;
    TRY_NEW(data, WSC_MEM_TEST, n * 3 * T);
    for (int64_t i = 0; i < n * T; i++) {
        int32_t *sample = data + i / T * 3 * T + i % T;
        sample[0] = draw((uint64_t)(3 * i), SMALL_V);
        sample[T] = draw((uint64_t)(3 * i + 1), 8) != 0;
        sample[2 * T] = draw((uint64_t)(3 * i + 2), SMALL_V);
    }
    (void)snprintf(path, sizeof path, "%s/data.h5", dir);
    enum wsc_err rc = store_samples_write(path, data, n, T);
    wsc_free(data);
    return rc;
}

static enum wsc_err keep(void *ctx, const struct memoryx_batch *batch)
{
    struct small_result *r = ctx;
    if (r->n == SMALL_MAX_STEPS) return WSC_RAISE(WSC_USAGE, "more steps than a small run keeps");
    r->batch[r->n++] = *batch;
    return WSC_OK;
}

static enum wsc_err open_data(const struct small_config *c, const char *dir,
                              struct data_source **source)
{
    struct zoo_input input = c->params.train_input;
    char *own = wsc_strdup(WSC_MEM_TEST, dir);
    if (!own) return WSC_NOMEM;
    input.data_dir[0] = own;
    input.n_data_dirs = 1;
    enum wsc_err rc = data_source_open(source, &input, SMALL_T, SMALL_V);
    wsc_free(own);
    return rc;
}

static enum wsc_err take_carried(const struct cluster *cluster, struct small_result *out)
{
    struct stream_carried *carried;
    int n;
    TRY(stream_net_carried(cluster->net, &carried, &n));
    out->n_carried = n < SMALL_MAX_EDGES ? n : SMALL_MAX_EDGES;
    memcpy(out->carried, carried, (size_t)out->n_carried * sizeof *carried);
    wsc_free(carried);
    return WSC_OK;
}

static enum wsc_err pass(struct cluster *cluster, const struct small_config *c, int n_steps,
                         struct data_source *source, struct small_result *out)
{
    struct cycles_plan plan;
    struct stream_pass p = {.mode = STREAM_TRAIN, .values = source != NULL};
    const struct wafer_work work = {
        .plan = &plan, .numerics = source ? KERNELS_HOST : KERNELS_NONE, .source = source};
    struct cluster_change change;
    for (int m = 0; source && m < cluster->machine->n_shards; m++)
        if (cluster->memoryx[m]) memoryx_init_weights(cluster->memoryx[m]);
    TRY(cluster_make_masks(cluster));
    TRY(cluster_faults_plan(cluster, n_steps, -1));
    for (; p.first_step < n_steps; p.first_step += p.n_steps) {
        TRY(cluster_faults_enter(cluster, p.first_step, &change));
        if (change.memory_lost) return WSC_RAISE(WSC_USAGE, "a small run has no checkpoints");
        TRY(cluster_plan_batch(cluster, &c->params.train_input, true, &plan, &p.batch));
        if (p.values) TRY(stream_cut_batch(cluster->net, &p.batch));
        const int64_t next = hw_faults_next(cluster->faults);
        p.n_steps = (next < n_steps ? next : n_steps) - p.first_step;
        p.first_sample = p.first_step * p.batch.batch_size;
        TRY(cluster_run_pass(cluster, &p, &work));
    }
    stream_net_bytes(cluster->net, &out->bytes_down, &out->bytes_up);
    out->n_micro = p.batch.n_micro;
    return take_carried(cluster, out);
}

enum wsc_err small_run(struct comm *comm, const struct small_config *c, int n_steps,
                       const char *data_dir, struct small_result *out)
{
    struct cluster *cluster = NULL;
    struct data_source *source = NULL;
    const struct memoryx_hooks hooks = {.on_batch = keep, .ctx = out};
    memset(out, 0, sizeof *out);
    if (data_dir) TRY(open_data(c, data_dir, &source));
    enum wsc_err rc =
        cluster_create(&cluster, comm, &c->params, &c->cluster, data_dir != NULL, &hooks);
    if (!rc) rc = pass(cluster, c, n_steps, source, out);
    cluster_destroy(&cluster);
    data_source_close(&source);
    return rc;
}

enum wsc_err small_run_alone(const struct small_config *c, int n_steps, const char *data_dir,
                             struct small_result *out)
{
    struct comm *comm = NULL;
    enum wsc_err rc = comm_create(&comm, false);
    if (!rc) rc = small_run(comm, c, n_steps, data_dir, out);
    comm_destroy(&comm);
    return rc;
}
