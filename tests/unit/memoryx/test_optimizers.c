// SPDX-License-Identifier: Apache-2.0
/* Ten steps of every optimizer, on any number of shards, against PyTorch or the formulas in double
 * precision; tests/fixtures/make_optimizers.py made the weights.  The shards run their updates with
 * given gradients, without wafers. */
#include "../../../src/memoryx/memoryx_update.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <wsc/hash.h>
#include <wsc/mem.h>
#include <wsc/num.h>

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE "tests/data/optimizers.h5"
enum { STEPS = 10, MAX_SETS = 24, TEXT_BYTES = 2048, MAX_VALUES = 4096 };

/* ---- weights and gradients ------------------------------------------------------------------- */

/* As `numbers` of the script; step -1 are the initial weights. */
static float number(int tensor, int step, int64_t i)
{
    uint32_t k = (uint32_t)i * 2654435761U + (uint32_t)(step + 2) * (40503U * 65537U) +
                 (uint32_t)tensor * (69069U * 257U);
    k = (k ^ k >> 15) * 2246822519U;
    const float u = (float)(k >> 8 & 0xFFFF) / 65536.0F - 0.5F;
    return u / (float)(1 << tensor % 4);
}

struct shard {
    struct memoryx *mx;
    const struct stream_pass *pass;
    int until; /* updates to have done */
};

static void fill(struct memoryx *mx, int step)
{
    for (int i = 0; i < mx->net->model->n_tensors; i++) {
        struct memoryx_part *s = &mx->part[i];
        float *to = step < 0 ? s->w : s->g;
        for (int64_t k = 0; k < s->n; k++)
            to[k] = number(i, step, s->first + k);
    }
}

static enum wsc_err update_shard(void *arg)
{
    const struct shard *s = arg;
    s->mx->pass = s->pass;
    for (int t = (int)s->mx->updates; t < s->until; t++) {
        fill(s->mx, t);
        s->mx->batch = (struct memoryx_batch){.step = t + 1, .has_values = true};
        TRY(memoryx_update(s->mx, t));
    }
    return WSC_OK;
}

/* ---- a case ---------------------------------------------------------------------------------- */

struct case_of {
    const char *name;
    char text[TEXT_BYTES]; /* settings, cut into lines */
    const char *set[MAX_SETS];
    int n_sets;
    float value[MAX_VALUES];
    int64_t n_values;
    int stride;
    enum zoo_optimizer_type type; /* as the params say it */
};

static void spawn_shard(struct shard *s, struct comm *comm, const struct cluster *c, int m)
{
    static const struct stream_pass pass = {
        .mode = STREAM_TRAIN, .values = true, .batch = {.batch_size = 6, .n_micro = 1}};
    *s = (struct shard){c->memoryx[m], &pass, STEPS};
    fill(c->memoryx[m], -1);
    T_OK(comm_spawn(comm, stream_role_of_shard(c->net->topology, m), update_shard, s, 512 << 10,
                    "shard"));
}

/* The cluster of @p shards with ten steps done; the caller destroys it and @p comm. */
static struct cluster *train(const struct small_config *c, struct comm **comm, int shards)
{
    static struct shard shard[HW_MAX_SHARDS];
    struct cluster *cluster;
    const struct memoryx_hooks hooks = {0};
    T_OK(comm_create(comm, false));
    T_OK(cluster_create(&cluster, *comm, &c->params, &c->cluster, true, &hooks));
    T_EQ(cluster->net->topology->n_shards, shards);
    for (int m = 0; m < shards; m++)
        spawn_shard(&shard[m], *comm, cluster, m);
    T_OK(comm_run(*comm));
    return cluster;
}

/* Weights of all shards as one vector; the caller frees it. */
static float *gather(const struct cluster *c)
{
    float *all = wsc_alloc(WSC_MEM_TEST, (size_t)c->model->n_params, sizeof *all), *to = all;
    for (int i = 0; i < c->model->n_tensors; i++) {
        for (int m = 0; m < c->net->topology->n_shards; m++) {
            const struct memoryx_part *s = &c->memoryx[m]->part[i];
            memcpy(to + s->first, s->w, (size_t)s->n * sizeof *to);
        }
        to += c->model->tensor[i].n_elems;
    }
    return all;
}

static void check_tensor(const struct case_of *x, const struct model_tensor *t, const float *w,
                         const float *expected)
{
    double difference = 0, largest = 0;
    for (int64_t i = 0; i < t->n_elems; i += x->stride) {
        const double value = (double)expected[i / x->stride];
        difference = num_max_error(difference, fabs((double)w[i] - value));
        largest = fmax(largest, fabs(value));
    }
    if (!(difference <= 1e-5 * largest))
        (void)fprintf(stderr, "%s: %s is off by %.3g of %.3g\n", x->name, t->name, difference,
                      largest);
    CU_ASSERT(difference <= 1e-5 * largest);
}

static void check_values(const struct case_of *x, const struct model *model, const float *w)
{
    const float *expected = x->value;
    for (int i = 0; i < model->n_tensors; i++) {
        check_tensor(x, &model->tensor[i], w, expected);
        w += model->tensor[i].n_elems;
        expected += (model->tensor[i].n_elems + x->stride - 1) / x->stride;
    }
    T_EQ(expected - x->value, x->n_values);
}

/* Returns a hash of the weights. */
static uint64_t run_case(struct case_of *x, int shards)
{
    char of_shards[64];
    struct small_config c;
    struct comm *comm = NULL;
    (void)snprintf(of_shards, sizeof of_shards, "cluster.memoryx.shards=%d", shards);
    x->set[x->n_sets] = of_shards;
    x->set[x->n_sets + 1] = NULL;
    T_OK(small_config_init(&c, 1, x->set));
    x->type = c.params.optimizer.type;
    struct cluster *cluster = train(&c, &comm, shards);
    const int64_t n = cluster->model->n_params;
    float *w = gather(cluster);
    if (shards == 1) check_values(x, cluster->model, w);
    const uint64_t hash = wsc_hash64(w, (size_t)n * sizeof *w, 0);
    wsc_free(w);
    cluster_destroy(&cluster);
    comm_destroy(&comm);
    small_config_fini(&c);
    return hash;
}

/* ---- the fixture ----------------------------------------------------------------------------- */

static void read_text(hid_t object, const char *name, char text[TEXT_BYTES])
{
    hid_t attr = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attr);
    CU_ASSERT_FATAL(H5Tget_size(type) < TEXT_BYTES);
    memset(text, 0, TEXT_BYTES);
    CU_ASSERT(H5Aread(attr, type, text) >= 0);
    (void)H5Tclose(type);
    (void)H5Aclose(attr);
}

static void read_case(hid_t file, const char *name, struct case_of *x)
{
    static const char *const model[] = {"model.hidden_size=16",
                                        "model.num_hidden_layers=1",
                                        "model.filter_size=96",
                                        "model.vocab_size=70",
                                        "model.max_position_embeddings=16",
                                        "optimizer.max_gradient_norm=0",
                                        "optimizer.weight_decay=0"};
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    *x = (struct case_of){.name = name};
    x->n_values = H5Sget_simple_extent_npoints(space);
    CU_ASSERT_FATAL(x->n_values <= MAX_VALUES);
    CU_ASSERT(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x->value) >= 0);
    read_text(set, "set", x->text);
    hid_t stride = H5Aopen(file, "stride", H5P_DEFAULT);
    CU_ASSERT(H5Aread(stride, H5T_NATIVE_INT, &x->stride) >= 0);
    (void)H5Aclose(stride);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    for (size_t i = 0; i < sizeof model / sizeof *model; i++)
        x->set[x->n_sets++] = model[i];
    char *rest = x->text;
    for (char *line = strsep(&rest, "\n"); line && x->n_sets < MAX_SETS - 2;
         line = strsep(&rest, "\n"))
        x->set[x->n_sets++] = line;
}

static herr_t visit(hid_t file, const char *name, const H5L_info_t *info, void *cases)
{
    static struct case_of x;
    int *of_type = cases;
    (void)info;
    read_case(file, name, &x);
    const uint64_t one = run_case(&x, 1);
    const bool same = run_case(&x, 2) == one && run_case(&x, 4) == one && run_case(&x, 5) == one;
    if (!same) (void)fprintf(stderr, "%s depends on the number of shards\n", name);
    CU_ASSERT(same);
    of_type[x.type]++;
    return 0;
}

/* Each optimizer has a case. */
TEST(memoryx_optimizers, ten_steps_on_any_number_of_shards)
{
    int cases[ZOO_N_OPTIMIZERS] = {0};
    hid_t file = H5Fopen(FIXTURE, H5F_ACC_RDONLY, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
    (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, cases);
    (void)H5Fclose(file);
    for (int type = 0; type < ZOO_N_OPTIMIZERS; type++) {
        if (!cases[type]) (void)fprintf(stderr, "no case of optimizer %d\n", type);
        CU_ASSERT(cases[type] > 0);
    }
}

TEST(memoryx_optimizers, the_fixture_has_the_tensors_of_the_model)
{
    static struct case_of x;
    char names[TEXT_BYTES], *rest = names;
    struct small_config c;
    struct model *model;
    hid_t file = H5Fopen(FIXTURE, H5F_ACC_RDONLY, H5P_DEFAULT);
    read_text(file, "names", names);
    read_case(file, "adamw", &x);
    (void)H5Fclose(file);
    x.set[x.n_sets] = NULL;
    T_OK(small_config_init(&c, 1, x.set));
    T_OK(model_create(&model, &c.params, HW_STREAM_BLOCK));
    for (int i = 0; i < model->n_tensors; i++)
        T_STR(model->tensor[i].name, strsep(&rest, "\n"));
    CU_ASSERT(!rest);
    model_destroy(&model);
    small_config_fini(&c);
}
