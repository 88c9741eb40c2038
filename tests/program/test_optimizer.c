// SPDX-License-Identifier: Apache-2.0
/* Ten steps of the optimizer against a second implementation in double precision: AdamW as the
 * Model Zoo has it, warm-up and cosine, clipping by the global norm.  The gradients are those that
 * the program dumps, the weights those of its checkpoints. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/store.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10, MAX_TENSORS = 64 };

/* configs/params/tiny.yaml */
static const double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, decay = 0.1, max_norm = 1.0;

struct tensor {
    char name[128];
    int64_t n;
    double *w, *m, *v;
    float *g, *theirs;
    bool decays;
};
static struct tensor tensor[MAX_TENSORS];
static int n_tensors;

static enum wsc_err add_tensor(void *ctx, const struct store_item *item)
{
    (void)ctx;
    if (strncmp(item->name, "model.", 6) != 0 || n_tensors == MAX_TENSORS) return WSC_OK;
    struct tensor *t = &tensor[n_tensors++];
    (void)snprintf(t->name, sizeof t->name, "%s", item->name);
    t->n = item->shape[0] * (item->n_dims > 1 ? item->shape[1] : 1);
    t->decays = !strstr(item->name, "bias") && !strstr(item->name, "norm");
    TRY_NEW(t->w, WSC_MEM_TEST, t->n);
    TRY_NEW(t->m, WSC_MEM_TEST, t->n);
    TRY_NEW(t->v, WSC_MEM_TEST, t->n);
    TRY_NEW(t->g, WSC_MEM_TEST, t->n);
    TRY_NEW(t->theirs, WSC_MEM_TEST, t->n);
    return WSC_OK;
}

static void free_tensors(void)
{
    for (int i = 0; i < n_tensors; i++) {
        wsc_free(tensor[i].w);
        wsc_free(tensor[i].m);
        wsc_free(tensor[i].v);
        wsc_free(tensor[i].g);
        wsc_free(tensor[i].theirs);
    }
    n_tensors = 0;
}

/* Weights of a checkpoint, or gradients of a dump. */
static enum wsc_err read_all(const char *dir, const char *name, bool gradients, bool first)
{
    char path[300];
    struct store_file *f = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    TRY(store_open(&f, path));
    /* The dump has each tensor once; a checkpoint also has second names. */
    enum wsc_err rc = first ? store_visit(f, add_tensor, NULL) : WSC_OK;
    for (int i = 0; i < n_tensors && !rc; i++)
        rc = store_read(f, tensor[i].name, STORE_F32, 0, tensor[i].n,
                        gradients ? tensor[i].g : tensor[i].theirs);
    store_close(&f);
    return rc;
}

/* 4 steps up from 0 to 3e-3, then half a cosine of 16 steps down to 3e-4; t counts from 0. */
static double learning_rate(int t)
{
    const double pi = 3.14159265358979323846;
    if (t < 4) return 3e-3 * t / 4;
    return 3e-4 + (3e-3 - 3e-4) * 0.5 * (1 + cos(pi * (t - 4) / 16));
}

static double global_norm(void)
{
    double sum = 0;
    for (int i = 0; i < n_tensors; i++)
        for (int64_t k = 0; k < tensor[i].n; k++)
            sum += (double)tensor[i].g[k] * (double)tensor[i].g[k];
    return sqrt(sum);
}

/* The bias correction is one factor in front of u, so that eps is not corrected. */
static void update(int t)
{
    const double scale = fmin(1, max_norm / (global_norm() + 1e-6)), lr = learning_rate(t);
    const double factor = sqrt(1 - pow(beta2, t + 1)) / (1 - pow(beta1, t + 1));
    for (int i = 0; i < n_tensors; i++) {
        struct tensor *x = &tensor[i];
        for (int64_t k = 0; k < x->n; k++) {
            const double g = (double)x->g[k] * scale;
            x->m[k] = beta1 * x->m[k] + (1 - beta1) * g;
            x->v[k] = beta2 * x->v[k] + (1 - beta2) * g * g;
            const double u = factor * x->m[k] / (sqrt(x->v[k]) + eps);
            x->w[k] -= lr * (u + (x->decays ? decay * x->w[k] : 0));
        }
    }
}

/* Largest difference of any tensor, relative to its largest weight. */
static double worst_difference(void)
{
    double worst = 0;
    for (int i = 0; i < n_tensors; i++) {
        double difference = 0, largest = 0;
        for (int64_t k = 0; k < tensor[i].n; k++) {
            difference =
                num_max_error(difference, fabs(tensor[i].w[k] - (double)tensor[i].theirs[k]));
            largest = fmax(largest, fabs(tensor[i].w[k]));
        }
        worst = num_max_error(worst, largest > 0 ? difference / largest : difference);
    }
    return worst;
}

static void start_from_checkpoint(const char *dir)
{
    T_OK(read_all(dir, "checkpoint_0.mdl", false, false));
    for (int i = 0; i < n_tensors; i++)
        for (int64_t k = 0; k < tensor[i].n; k++)
            tensor[i].w[k] = (double)tensor[i].theirs[k];
}

static void compare_metrics(const char *dir, int t)
{
    struct job_metrics m;
    CU_ASSERT_FATAL(job_read(dir, &m) && m.n == t + 1);
    T_NEAR(strtod(m.step[t].grad_norm, NULL), global_norm(), 1e-6);
    T_NEAR(strtod(m.step[t].lr, NULL), learning_rate(t), 1e-12);
}

static void take_step(const char *dir, int t)
{
    char name[64];
    CU_ASSERT_FATAL(spawn_ok("%s --num_csx 2 --num_steps 1 --set runconfig.checkpoint_steps=1 "
                             "--set runconfig.save_initial_checkpoint=true --model_dir %s "
                             "--dump_gradients %s/gradients_%d.mdl",
                             job_tiny(), dir, dir, t));
    (void)snprintf(name, sizeof name, "gradients_%d.mdl", t);
    T_OK(read_all(dir, name, true, t == 0));
    if (t == 0) start_from_checkpoint(dir);
    compare_metrics(dir, t);
    update(t);
    (void)snprintf(name, sizeof name, "checkpoint_%d.mdl", t + 1);
    T_OK(read_all(dir, name, false, false));
    T_NEAR(worst_difference(), 0, 1e-5);
}

TEST(optimizer, ten_steps_of_adamw_in_double)
{
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s", job_path("adamw"));
    for (int t = 0; t < STEPS; t++)
        take_step(dir, t);
    T_EQ(n_tensors, 2 + 2 * 16 + 2);
    free_tensors();
}
