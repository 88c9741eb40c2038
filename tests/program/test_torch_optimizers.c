// SPDX-License-Identifier: Apache-2.0
/* Checkpoints in the optimizers of PyTorch: groups of parameters have every hyper-parameter, and
 * states every scalar, that a step reads. PyTorch makes the step after a checkpoint from its state
 * dict and the gradients of the program (torch_optimizers.py); the weights are those of the next
 * checkpoint. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <wsc/store.h>

#include <stdio.h>

#define STEP "/usr/bin/python3 tests/program/torch_optimizers.py "

/* Optimizers of PyTorch, with arguments other than its defaults. */
static const struct {
    const char *type, *options;
} optimizers[] = {
    {"AdamW", "--set optimizer.eps=1e-12"},
    {"Adam", "--set optimizer.eps=1e-12 --set optimizer.amsgrad=true"},
    {"SGD", "--set optimizer.momentum=0.8 --set optimizer.dampening=0.25"},
    {"SGD", "--set optimizer.momentum=0.8 --set optimizer.nesterov=true"},
    {"SGD", "--set optimizer.maximize=true"},
    {"RMSprop", "--set optimizer.momentum=0.7 --set optimizer.centered=true "
                "--set optimizer.alpha=0.5 --set optimizer.eps=1e-3"},
    {"Adagrad", "--set optimizer.lr_decay=0.5 --set optimizer.initial_accumulator_value=1e-4"},
    {"Adadelta", "--set optimizer.rho=0.4 --set optimizer.eps=1e-3"},
    {"Adamax", "--set optimizer.eps=1e-4"},
    {"NAdam", "--set optimizer.momentum_decay=0.1"},
    {"RAdam", "--set optimizer.betas='[0.8, 0.999]'"},
    {"ASGD", "--set optimizer.lambd=0.5 --set optimizer.t0=1 --set optimizer.alpha=0.6"},
    {"Rprop", "--set optimizer.etas='[0.3, 1.7]' --set optimizer.step_sizes='[1e-5, 1e-3]'"}};

/* Train two steps, and one more with its gradients, in @p dir. */
static void train(const char *dir, const char *type, const char *options)
{
    CU_ASSERT_FATAL(spawn_ok("rm -rf %s", dir));
    CU_ASSERT_FATAL(
        spawn_ok("%s --num_steps 2 --model_dir %s/run --set optimizer.max_gradient_norm=0 "
                 "--set optimizer.optimizer_type=%s %s",
                 job_tiny(), dir, type, options));
    CU_ASSERT_FATAL(spawn_ok("%s --num_steps 1 --model_dir %s/next --set "
                             "optimizer.max_gradient_norm=0 --checkpoint_path "
                             "%s/run/checkpoint_2.mdl --dump_gradients %s/gradients.mdl --set "
                             "optimizer.optimizer_type=%s %s",
                             job_tiny(), dir, dir, dir, type, options));
}

TEST(torch_optimizers, a_checkpoint_continues_in_pytorch)
{
    enum { N = sizeof optimizers / sizeof *optimizers };
    struct spawn_result r;
    char dir[200], list[N * 230] = "";
    int length = 0;
    spawn_run(&r, STEP);
    const bool skip = r.status == 3 || r.status == 127;
    if (skip) (void)fprintf(stderr, "%s", r.err);
    spawn_free(&r);
    for (size_t i = 0; i < N && !skip; i++) {
        (void)snprintf(dir, sizeof dir, "%s/%d", job_path("torch_optimizers"), (int)i);
        train(dir, optimizers[i].type, optimizers[i].options);
        length += snprintf(list + length, sizeof list - (size_t)length, " %s %s",
                           optimizers[i].type, dir);
    }
    if (skip) return;
    spawn_run(&r, STEP "%s", list);
    if (r.status) (void)fprintf(stderr, "%s%s", r.out, r.err);
    T_EQ(r.status, 0);
    spawn_free(&r);
}

/* Keys of optimizers that PyTorch lacks, or whose values its step does not read. */
TEST(torch_optimizers, groups_have_the_hyper_parameters)
{
    static const struct {
        const char *type, *eps, *key;
        double value;
    } row[] = {{"Lion", "1e-8", "betas.1", 0.95},
               {"Adafactor", "[1e-30, 0.002]", "eps.1", 0.002},
               {"Adafactor", "[1e-30, 0.002]", "decay_rate", -0.8},
               {"Adagrad", "1e-8", "lr_decay", 0},
               {"Rprop", "1e-8", "step_sizes.1", 50}};
    const char *dir = job_path("torch_groups");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct store_file *file = NULL;
        char path[300];
        double value = -1;
        (void)snprintf(path, sizeof path, "%s/run/checkpoint_1.mdl", dir);
        CU_ASSERT_FATAL(spawn_ok("rm -rf %s; %s --num_steps 1 --model_dir %s/run --set "
                                 "optimizer.eps='%s' --set optimizer.optimizer_type=%s",
                                 dir, job_tiny(), dir, row[i].eps, row[i].type));
        CU_ASSERT_FATAL(store_open(&file, path) == WSC_OK);
        (void)snprintf(path, sizeof path, "optimizer.param_groups.1.%s", row[i].key);
        T_OK(store_read(file, path, STORE_F64, 0, 1, &value));
        T_NEAR(value, row[i].value, 0);
        CU_ASSERT(store_has(file, "optimizer.param_groups.1.maximize"));
        store_close(&file);
    }
}
