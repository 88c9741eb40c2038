// SPDX-License-Identifier: Apache-2.0
/* `--numerics mesh`: a GPT whose every kernel runs wavelet by wavelet, on any number of systems,
 * ranks and threads, beside the same run on the host. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2, KERNELS = 15 };

#define TWO_LANES   "--set lanes=2 --set cluster.wafer.pe_cols=13 "
#define THREE_LANES "--set lanes=3 --set cluster.wafer.pe_cols=18 "

static const char model[] =
    "--set model.hidden_size=16 --set model.num_heads=2 --set model.filter_size=32 "
    "--set model.num_hidden_layers=1 --set train_input.batch_size=3 "
    "--set eval_input.batch_size=2 "
    "--set cluster.wafer.pe_cols=6 --set cluster.wafer.pe_rows=5 "
    "--set runconfig.checkpoint_steps=0 --set optimizer.learning_rate=0.003";

/* The folder of the run, NULL when it failed. */
static const char *train(const char *before, const char *options, struct job_metrics *m)
{
    const char *dir = job_path("numerics");
    if (!spawn_ok("%s %s %s --max_steps %d --model_dir %s %s", before, job_tiny(), model, STEPS,
                  dir, options))
        return NULL;
    return job_read(dir, m) && m->n == STEPS ? dir : NULL;
}

static const char *reference(struct job_metrics *m)
{
    const char *dir = train("", "--numerics mesh --num_csx 2", m);
    CU_ASSERT_FATAL(dir != NULL);
    return dir;
}

TEST(numerics, mesh_and_host_agree)
{
    struct job_metrics host = {0}, mesh = {0};
    (void)reference(&mesh);
    CU_ASSERT_FATAL(train("", "--numerics host --num_csx 2", &host) != NULL);
    for (int i = 0; i < STEPS; i++) {
        T_NEAR(strtod(mesh.step[i].loss, NULL), strtod(host.step[i].loss, NULL), 1e-5);
        T_NEAR(strtod(mesh.step[i].grad_norm, NULL), strtod(host.step[i].grad_norm, NULL), 1e-4);
        CU_ASSERT(mesh.step[i].step_time_ps != host.step[i].step_time_ps); /* counted, not formed */
    }
}

/* What the analytical model alone reads has no effect on simulated kernels, and a warning each. */
TEST(numerics, mesh_has_no_use_for_rates_of_the_analytical_model)
{
    static const char *const key[] = {"simd_fmachs=1.5",
                                      "simd_fadds=0.5",
                                      "simd_fmuls=0.5",
                                      "simd_faddh=1",
                                      "vector_setup_cycles=9",
                                      "vector_setup_fp32_cycles=30",
                                      "vector_setup_add_cycles=99",
                                      "vector_setup_copy_cycles=99",
                                      "ramp_cycles=9",
                                      "masked_scores=0.1",
                                      "kernel_factor=2"};
    enum { N = sizeof key / sizeof *key };
    char sets[N * 64] = "";
    struct job_metrics usual, other[2] = {0};
    (void)reference(&usual);
    for (int i = 0; i < N; i++)
        (void)snprintf(sets + strlen(sets), sizeof sets - strlen(sets), " --set cluster.wafer.%s",
                       key[i]);
    for (int i = 0; i < 2; i++) {
        char options[N * 64 + 200];
        const char *log = job_path("log");
        (void)snprintf(options, sizeof options, "--numerics %s --num_csx 2 %s 2>%s",
                       i ? "host" : "mesh", sets, log);
        CU_ASSERT_FATAL(train("", options, &other[i]) != NULL);
        if (!i)
            CU_ASSERT(spawn_ok("test $(grep -c 'without effect: kernels are simulated' %s) = %d",
                               log, N));
    }
    T_EQ(other[0].step[0].step_time_ps, usual.step[0].step_time_ps);
    CU_ASSERT(other[1].step[0].step_time_ps > usual.step[0].step_time_ps);
}

/* What may change the plan, and with it the time, gets a warning too: the memory of an emulated PE
 * is that of the hardware. */
TEST(numerics, mesh_has_no_use_for_another_memory)
{
    struct job_metrics m;
    char options[200];
    const char *log = job_path("log");
    (void)snprintf(options, sizeof options,
                   "--numerics mesh --set cluster.wafer.sram_per_pe=47KiB "
                   "--set cluster.wafer.sram_reserved_per_pe=4KiB "
                   "--set cluster.wafer.simd_fmacs=0.25 2>%s",
                   log);
    CU_ASSERT_FATAL(train("", options, &m) != NULL);
    CU_ASSERT(spawn_ok("test $(grep -c 'without effect: an emulated PE has 48 KiB' %s) = 2", log));
    CU_ASSERT(spawn_ok("grep -q 'simd_fmacs: without effect: kernels are simulated' %s", log));
}

TEST(numerics, mesh_values_on_any_number_of_systems_ranks_and_threads)
{
    struct job_metrics two, m;
    (void)reference(&two);
    static const char *const before[] = {"", "mpirun --quiet -n 3", "OMP_NUM_THREADS=2"};
    static const char *const options[] = {"--num_csx 1", "--num_csx 2", "--num_csx 2"};
    for (int i = 0; i < 3; i++) {
        char all[64];
        (void)snprintf(all, sizeof all, "--numerics mesh %s", options[i]);
        CU_ASSERT_FATAL(train(before[i], all, &m) != NULL);
        CU_ASSERT(job_same_values(&m, &two));
        if (i) CU_ASSERT(job_same_times(&m, &two));
    }
}

/* In 16 bits, with loss scaling where the format needs it: losses beside the host's, whose residual
 * stream, norms and biases are fp32 where the mesh rounds them to the format. */
TEST(numerics, mesh_trains_in_16_bits)
{
    static const struct {
        const char *options;
        double unit; /* half of the last place of 1 */
    } format[] = {{"bfloat16", 1.0 / 256},
                  {"float16 --set optimizer.loss_scaling_factor=dynamic", 1.0 / 2048},
                  {"cbfloat16 --set optimizer.loss_scaling_factor=dynamic", 1.0 / 1024}};
    for (int f = 0; f < 3; f++) {
        struct job_metrics host, mesh, m;
        char half[200], options[256];
        (void)snprintf(half, sizeof half,
                       "--set model.mixed_precision=true --set model.fp16_type=%s",
                       format[f].options);
        (void)snprintf(options, sizeof options, "--num_csx 2 %s", half);
        CU_ASSERT_FATAL(train("", options, &host) != NULL);
        (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 2 %s", half);
        CU_ASSERT_FATAL(train("", options, &mesh) != NULL);
        for (int i = 0; i < STEPS; i++)
            T_NEAR(strtod(mesh.step[i].loss, NULL), strtod(host.step[i].loss, NULL),
                   format[f].unit);
        CU_ASSERT(strcmp(mesh.step[STEPS - 1].loss, host.step[STEPS - 1].loss) != 0);
        CU_ASSERT_FATAL(train("mpirun --quiet -n 3", options, &m) != NULL);
        CU_ASSERT(job_same_values(&m, &mesh) && job_same_times(&m, &mesh));
        (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 1 %s", half);
        CU_ASSERT_FATAL(train("OMP_NUM_THREADS=2", options, &m) != NULL);
        CU_ASSERT(job_same_values(&m, &mesh));
    }
}

/* performance.json lists simulated cycles beside those of the analytical model. */
TEST(numerics, mesh_tells_the_cycles_of_each_kernel)
{
    struct job_metrics m;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/performance.json", reference(&m));
    json_t *json = json_load_file(path, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    T_STR(json_string_value(json_object_get(json, "numerics")), "mesh");
    const json_t *kernels = json_object_get(json, "kernels");
    T_EQ(json_array_size(kernels), KERNELS);
    json_int_t cycles = 0, ps = 0;
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *k = json_array_get(kernels, i);
        CU_ASSERT(json_integer_value(json_object_get(k, "calls")) > 0);
        CU_ASSERT(json_integer_value(json_object_get(k, "analytical_cycles")) > 0);
        cycles += json_integer_value(json_object_get(k, "cycles"));
        ps += json_integer_value(json_object_get(k, "time_ps"));
    }
    CU_ASSERT(cycles > 0);
    /* The wafer that counted most computed all its cycles within the run's time. */
    CU_ASSERT(ps <= json_integer_value(json_object_get(json, "virtual_time_ps")));
    json_decref(json);
}

/* The list of kernels of the run in @p dir; the caller decrefs. */
static json_t *kernels_of(const char *dir)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/performance.json", dir);
    json_t *json = json_load_file(path, 0, NULL), *kernels = json_object_get(json, "kernels");
    json_incref(kernels);
    json_decref(json);
    return kernels;
}

/* Evaluations have a fabric of their own: the steps after them continue with the recordings of the
 * training, and its cycles are those of all its steps. */
TEST(numerics, evaluations_leave_the_training_on_the_mesh_alone)
{
    struct job_metrics alone, m;
    json_t *const kernels = kernels_of(reference(&alone));
    CU_ASSERT_EQUAL_FATAL(json_array_size(kernels), KERNELS);
    for (int steps = 1; steps <= 2; steps++) {
        char options[160];
        (void)snprintf(options, sizeof options,
                       "--numerics mesh --num_csx 2 --mode train_and_eval "
                       "--set runconfig.eval_frequency=1 --set runconfig.eval_steps=%d",
                       steps);
        const char *dir = train(steps == 2 ? "mpirun --quiet -n 3" : "", options, &m);
        CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
        CU_ASSERT(job_same_values(&m, &alone));
        json_t *const found = kernels_of(dir);
        CU_ASSERT(json_equal(found, kernels));
        json_decref(found);
    }
    json_decref(kernels);
}

static bool train_mixture(const char *before, const char *how, const char *routing,
                          struct job_metrics *m)
{
    char options[512];
    (void)snprintf(options, sizeof options,
                   "--numerics %s --set model.moe.num_experts=5 --set model.moe.top_k=2 %s", how,
                   routing);
    return train(before, options, m) != NULL;
}

/* Mixtures of experts: losses beside the host's, the same bits whoever computes.  Where the router
 * begins with zeros, all experts are equal and the first ones are chosen.  In 16 bits the
 * tolerances are half of the last place of 1, and 16 times that for the norm of a gradient. */
TEST(numerics, mesh_trains_mixtures_of_experts)
{
    static const struct {
        double loss, norm; /* tolerances */
        const char *options;
    } routing[] = {
        {1e-5, 1e-4, "--set model.moe.load_balancing_loss_coef=0.3"},
        {1e-5, 1e-4,
         "--set model.moe.gate_initializer=zeros --set cluster.wafer.data_triggered=false"},
        {1.0 / 256, 1.0 / 16,
         "--set model.moe.load_balancing_loss_coef=0.3 --set model.mixed_precision=true "
         "--set model.fp16_type=bfloat16"},
        {1e-5, 1e-4,
         "--set model.moe.router_selection_nonlinearity=sigmoid "
         "--set model.moe.num_shared_experts=1 --set model.moe.probability_before_ffn=true "
         "--set model.nonlinearity=swiglu --set cluster.wafer.pe_rows=8"}};
    for (int i = 0; i < (int)(sizeof routing / sizeof *routing); i++) {
        struct job_metrics host, mesh, m;
        CU_ASSERT_FATAL(train_mixture("", "host --num_csx 2", routing[i].options, &host));
        CU_ASSERT_FATAL(train_mixture("", "mesh --num_csx 2", routing[i].options, &mesh));
        for (int s = 0; s < STEPS; s++) {
            T_NEAR(strtod(mesh.step[s].loss, NULL), strtod(host.step[s].loss, NULL),
                   routing[i].loss);
            T_NEAR(strtod(mesh.step[s].grad_norm, NULL), strtod(host.step[s].grad_norm, NULL),
                   routing[i].norm);
        }
        CU_ASSERT_FATAL(
            train_mixture("mpirun --quiet -n 3", "mesh --num_csx 2", routing[i].options, &m));
        CU_ASSERT(job_same_values(&m, &mesh) && job_same_times(&m, &mesh));
        CU_ASSERT_FATAL(
            train_mixture("OMP_NUM_THREADS=2", "mesh --num_csx 1", routing[i].options, &m));
        CU_ASSERT(job_same_values(&m, &mesh));
    }
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static bool train_lanes(const char *before, const char *how, const char *options,
                        struct job_metrics *m)
{
    char all[512];
    (void)snprintf(all, sizeof all, "--numerics mesh %s %s", options, how);
    return train(before, all, m) != NULL;
}

/* Lanes of six columns on wider wafers: the bits of one lane of six columns, whoever computes, in
 * less time.  On three systems each has a sample, so that two lanes of three are idle. */
TEST(numerics, mesh_lanes_have_the_bits_of_one)
{
    static const char *const options[] = {
        "",
        "--set reduction_leaf=2 --set train_input.batch_size=5 --set cluster.wafer.pe_rows=10",
        "--set model.mixed_precision=true --set model.fp16_type=bfloat16",
        "--set cluster.wafer.data_triggered=false",
        "--set model.num_heads=4 --set model.attention_module=multiquery_attention "
        "--set model.extra_attention_params.num_kv_groups=2",
        "--set model.moe.num_experts=5 --set model.moe.top_k=2 "
        "--set model.moe.load_balancing_loss_coef=0.3"};
    for (int i = 0; i < (int)(sizeof options / sizeof *options); i++) {
        struct job_metrics one = {0}, two = {0}, three = {0}, m;
        CU_ASSERT_FATAL(train_lanes("", "--num_csx 1", options[i], &one));
        CU_ASSERT_FATAL(train_lanes("", TWO_LANES "--num_csx 1", options[i], &two));
        CU_ASSERT_FATAL(
            train_lanes("OMP_NUM_THREADS=2", THREE_LANES "--num_csx 1", options[i], &three));
        CU_ASSERT(job_same_values(&two, &one) && job_same_values(&three, &one));
        CU_ASSERT(two.step[0].step_time_ps < one.step[0].step_time_ps);
        CU_ASSERT(three.step[0].step_time_ps < two.step[0].step_time_ps);
        CU_ASSERT_FATAL(
            train_lanes("mpirun --quiet -n 2", TWO_LANES "--num_csx 1", options[i], &m));
        CU_ASSERT(job_same_values(&m, &one) && job_same_times(&m, &two));
    }
}

/* As many lanes as the planner takes for the whole batch, whatever the systems: the same bits. */
TEST(numerics, mesh_lanes_of_the_planner_do_not_depend_on_the_systems)
{
    struct job_metrics one, two, three, again;
    CU_ASSERT_FATAL(train_lanes("", "--set lanes=auto --num_csx 1", "", &one));
    CU_ASSERT_FATAL(train_lanes("", "--set lanes=3 --num_csx 1", "", &three));
    CU_ASSERT(job_same_values(&one, &three) && job_same_times(&one, &three));
    CU_ASSERT_FATAL(train_lanes("", "--set lanes=auto --num_csx 3", "", &two));
    CU_ASSERT_FATAL(train_lanes("mpirun --quiet -n 3", "--set lanes=auto --num_csx 3", "", &again));
    CU_ASSERT(job_same_values(&one, &two) && job_same_values(&one, &again));
    CU_ASSERT(job_same_times(&two, &again));
}

/* Simulated cycles over those of the analytical model, of each kernel of a run. */
static int read_ratios(const char *options, double ratio[KERNELS], const char *name[KERNELS])
{
    static char names[KERNELS][32];
    struct job_metrics m;
    char path[512], all[512];
    (void)snprintf(all, sizeof all,
                   "--numerics mesh --num_csx 1 --set train_input.batch_size=4 "
                   "--set cluster.wafer.pe_rows=8 %s",
                   options);
    const char *dir = train("", all, &m);
    CU_ASSERT_FATAL(dir != NULL);
    (void)snprintf(path, sizeof path, "%s/performance.json", dir);
    json_t *json = json_load_file(path, 0, NULL);
    const json_t *kernels = json_object_get(json, "kernels");
    const int n = (int)json_array_size(kernels);
    for (int i = 0; i < n && i < KERNELS; i++) {
        const json_t *k = json_array_get(kernels, (size_t)i);
        ratio[i] = (double)json_integer_value(json_object_get(k, "cycles")) /
                   (double)json_integer_value(json_object_get(k, "analytical_cycles"));
        (void)snprintf(names[i], sizeof names[i], "%s",
                       json_string_value(json_object_get(k, "kernel")));
        name[i] = names[i];
    }
    json_decref(json);
    return n;
}

/* The analytical model says of lanes what it says of one, within 3 % of its cycles.  Rows of the
 * embedding that several tokens share are drawn, and the lane with most of them decides. */
TEST(numerics, mesh_cycles_of_lanes_are_as_near_to_the_model_as_those_of_one)
{
    static const char *const lanes[] = {"--set lanes=2 --set cluster.wafer.pe_cols=12",
                                        "--set lanes=4 --set cluster.wafer.pe_cols=24"};
    double one[KERNELS], ratio[KERNELS];
    const char *name[KERNELS];
    T_EQ(read_ratios("", one, name), KERNELS);
    for (int i = 0; i < (int)(sizeof lanes / sizeof *lanes); i++) {
        T_EQ(read_ratios(lanes[i], ratio, name), KERNELS);
        for (int k = 0; k < KERNELS; k++)
            CU_ASSERT(fabs(ratio[k] - 1) <
                      fabs(one[k] - 1) + (strcmp(name[k], "embedding") != 0 ? 0.03 : 0.15));
    }
}

TEST(numerics, mesh_refuses_lanes_that_nothing_fills)
{
    static const struct {
        const char *options, *message;
    } refused[] = {{"--set lanes=4", "lanes: 4, but a micro-batch has at most 3 micro-shards of 1 "
                                     "sample on a wafer; hint: --set lanes=3"},
                   {"--set lanes=3 --num_csx 3", "at most 1 micro-shard of 1 sample"},
                   {"--set lanes=7", "lanes: 7, but a wafer has 6 columns of PEs"},
                   {"--set lanes=0", "lanes: must be in 1 .. 64, got 0"},
                   {"--set lanes=many", "lanes: "}};
    for (int i = 0; i < (int)(sizeof refused / sizeof *refused); i++) {
        struct spawn_result r;
        spawn_run(&r, "%s %s --numerics mesh %s --max_steps 1 --model_dir %s", job_tiny(), model,
                  refused[i].options, job_path("numerics"));
        T_EQ(r.status, 2);
        CU_ASSERT(strstr(r.err, refused[i].message) != NULL);
        spawn_free(&r);
    }
}

/* Logits that are no numbers choose some expert of those that there are, and the loss ends the
 * run. */
TEST(numerics, mesh_ends_a_mixture_that_diverges)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s %s --numerics mesh --set model.moe.num_experts=5 --set model.moe.top_k=2 "
              "--set optimizer.learning_rate=1e30 --max_steps 6 --model_dir %s",
              job_tiny(), model, job_path("numerics"));
    T_EQ(r.status, 4);
    CU_ASSERT(strstr(r.err, "NaN loss detected") != NULL);
    spawn_free(&r);
}

/* What a router does beside products is what the analytical model says of it, and is counted. */
TEST(numerics, mesh_counts_the_cycles_of_routing)
{
    struct job_metrics m;
    char path[512];
    int found = 0;
    const char *dir = train("",
                            "--numerics mesh --num_csx 1 --set model.moe.num_experts=5 "
                            "--set model.moe.top_k=2 --set model.moe.load_balancing_loss_coef=0.3",
                            &m);
    CU_ASSERT_FATAL(dir != NULL);
    (void)snprintf(path, sizeof path, "%s/performance.json", dir);
    json_t *json = json_load_file(path, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    const json_t *kernels = json_object_get(json, "kernels");
    T_EQ(json_array_size(kernels), KERNELS + 4);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *k = json_array_get(kernels, i);
        const char *name = json_string_value(json_object_get(k, "kernel"));
        if (strcmp(name, "router") != 0 && strcmp(name, "dispatch") != 0) continue;
        const double simulated = (double)json_integer_value(json_object_get(k, "cycles"));
        T_NEAR(simulated / (double)json_integer_value(json_object_get(k, "analytical_cycles")), 1,
               0.1);
        found++;
    }
    T_EQ(found, 4);
    json_decref(json);
}

/* Cycles of a kernel in performance.json, and those of the analytical model. */
static void cycles_of(const char *dir, const char *kernel, const char *pass, double *simulated,
                      double *analytical)
{
    char path[512];
    *simulated = *analytical = 0;
    (void)snprintf(path, sizeof path, "%s/performance.json", dir);
    json_t *json = json_load_file(path, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    size_t i;
    const json_t *k;
    json_array_foreach(json_object_get(json, "kernels"), i, k)
    {
        if (strcmp(json_string_value(json_object_get(k, "kernel")), kernel) != 0 ||
            strcmp(json_string_value(json_object_get(k, "pass")), pass) != 0)
            continue;
        *simulated += (double)json_integer_value(json_object_get(k, "cycles"));
        *analytical += (double)json_integer_value(json_object_get(k, "analytical_cycles"));
    }
    json_decref(json);
}

/* Few weights, whose gradients alone are computed, keys that heads share among them: the host's
 * losses, the same bits whoever computes, fewer cycles than for all gradients. */
TEST(numerics, mesh_trains_sparse_weights)
{
    static const char sparse[] =
        "--set sparsity='{algorithm: static, sparsity: 0.97}' --set model.filter_size=64 "
        "--set model.hidden_size=32 --set model.num_heads=2 "
        "--set model.attention_module=multiquery_attention "
        "--set model.extra_attention_params='{num_kv_groups: 1}'";
    char options[512];
    struct job_metrics host, mesh, m;
    double some, expected, all;
    (void)snprintf(options, sizeof options, "--numerics host --num_csx 2 %s", sparse);
    CU_ASSERT_FATAL(train("", options, &host) != NULL);
    (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 2 %s", sparse);
    const char *dir = train("", options, &mesh);
    CU_ASSERT_FATAL(dir != NULL);
    cycles_of(dir, "product", "weight gradient", &some, &expected);
    T_NEAR(some / expected - 1, 0, 0.1);
    for (int s = 0; s < STEPS; s++) {
        T_NEAR(strtod(mesh.step[s].loss, NULL), strtod(host.step[s].loss, NULL), 1e-5);
        T_NEAR(strtod(mesh.step[s].grad_norm, NULL), strtod(host.step[s].grad_norm, NULL), 1e-4);
    }
    CU_ASSERT_FATAL(train("mpirun --quiet -n 3", options, &m) != NULL);
    CU_ASSERT(job_same_values(&m, &mesh) && job_same_times(&m, &mesh));
    (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 1 %s", sparse);
    CU_ASSERT_FATAL(train("OMP_NUM_THREADS=2", options, &m) != NULL);
    CU_ASSERT(job_same_values(&m, &mesh));
    (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 2 %s %s", sparse,
                   "--set cluster.wafer.sparse_gradient=dense");
    dir = train("", options, &m);
    CU_ASSERT_FATAL(dir != NULL);
    cycles_of(dir, "product", "weight gradient", &all, &expected);
    CU_ASSERT(some < all);
}

/* ---- what a family may have beside ----------------------------------------------------------- */

/* Losses beside the host's, the same bits on one system, on three ranks and on two threads; what
 * two systems logged in @p mesh. */
static void check_feature(const char *feature, double loss, double norm, struct job_metrics *mesh)
{
    struct job_metrics host, m;
    char options[400];
    (void)snprintf(options, sizeof options, "--numerics host --num_csx 2 %s", feature);
    CU_ASSERT_FATAL(train("", options, &host) != NULL);
    (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 2 %s", feature);
    CU_ASSERT_FATAL(train("", options, mesh) != NULL);
    for (int s = 0; s < STEPS; s++) {
        T_NEAR(strtod(mesh->step[s].loss, NULL), strtod(host.step[s].loss, NULL), loss);
        T_NEAR(strtod(mesh->step[s].grad_norm, NULL), strtod(host.step[s].grad_norm, NULL), norm);
    }
    CU_ASSERT_FATAL(train("mpirun --quiet -n 2", options, &m) != NULL);
    CU_ASSERT(job_same_values(&m, mesh) && job_same_times(&m, mesh));
    (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 1 %s", feature);
    CU_ASSERT_FATAL(train("OMP_NUM_THREADS=2", options, &m) != NULL);
    CU_ASSERT(job_same_values(&m, mesh));
    (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 3 %s", feature);
    CU_ASSERT_FATAL(train("", options, &m) != NULL);
    CU_ASSERT(job_same_values(&m, mesh));
    (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 1 " TWO_LANES "%s", feature);
    CU_ASSERT_FATAL(train("", options, &m) != NULL);
    CU_ASSERT(job_same_values(&m, mesh));
}

#define BF16 "--set model.mixed_precision=true --set model.fp16_type=bfloat16 "

/* A run that lacks the feature has other losses, which shows that the feature is there.  Tolerances
 * of 16 bits are half of the last place of 1, and 16 times that for the norm of a gradient. */
static void check_features(const char *const *feature, int n)
{
    struct job_metrics without, with;
    CU_ASSERT_FATAL(train("", "--numerics mesh --num_csx 1", &without) != NULL);
    for (int i = 0; i < n; i++) {
        const bool half = strstr(feature[i], BF16) != NULL;
        check_feature(feature[i], half ? 1.0 / 256 : 1e-5, half ? 1.0 / 16 : 1e-4, &with);
        CU_ASSERT(strcmp(with.step[0].loss, without.step[0].loss) != 0);
    }
}

/* Simulated cycles of a kernel over those of the analytical model, with @p feature, in one pass or
 * two (NULL: not the second). */
static void check_ratios(const char *feature, const char *kernel, const char *one, const char *two,
                         double tolerance)
{
    const char *const pass[] = {one, two};
    struct job_metrics m;
    char options[400];
    double simulated, analytical;
    (void)snprintf(options, sizeof options,
                   "--numerics mesh --num_csx 1 --set cluster.wafer.pe_rows=8 %s", feature);
    const char *dir = train("", options, &m);
    CU_ASSERT_FATAL(dir != NULL);
    for (int p = 0; p < 2 && pass[p]; p++) {
        cycles_of(dir, kernel, pass[p], &simulated, &analytical);
        T_NEAR(simulated / analytical - 1, 0, tolerance);
    }
}

TEST(numerics, mesh_trains_with_smoothed_labels)
{
    static const char *const smoothed[] = {
        "--set model.label_smoothing=0.2", BF16 "--set model.label_smoothing=0.2",
        "--set model.label_smoothing=0.1 --set model.final_logit_softcapping=2"};
    check_features(smoothed, 3);
    check_ratios(smoothed[0], "loss", "forward", "backward", 0.02);
}

/* On six columns two heads have three each; eight heads have four columns, two on each, and their
 * keys are shared by two of them. */
TEST(numerics, mesh_trains_with_norms_of_queries_and_keys)
{
    static const char *const normed[] = {
        "--set model.attention_qk_norm_layer=layernorm",
        "--set model.attention_qk_norm_layer=rmsnorm --set model.position_embedding_type=rotary "
        "--set model.rotary_dim=4",
        "--set model.attention_qk_norm_layer=layernorm --set model.num_heads=8 "
        "--set model.hidden_size=32 --set model.attention_module=multiquery_attention "
        "--set model.extra_attention_params.num_kv_groups=4 --set cluster.wafer.pe_rows=8",
        BF16 "--set model.attention_qk_norm_layer=layernorm --set model.num_heads=8 "
             "--set model.hidden_size=32 --set cluster.wafer.pe_rows=8"};
    check_features(normed, 4);
    for (int i = 0; i < 3; i++) {
        check_ratios(normed[i], "norm", "forward", "backward", 0.1);
    }
}

/* Values over the tokens of a sequence, also of several on a lane, on rows of which some have no
 * token (70 rows, 64 tokens). */
TEST(numerics, mesh_trains_routers_by_sinkhorn)
{
#define ROUTED "--set model.moe.num_experts=5 --set model.moe.top_k=2 "
#define SELECT "--set model.moe.router_selection_nonlinearity=sinkhorn "
#define WEIGH  "--set model.moe.expert_weighting_nonlinearity=sinkhorn "
    static const char *const routed[] = {
        ROUTED SELECT,
        ROUTED SELECT
        "--set model.moe.sinkhorn_n_iters=4 "
        "--set train_input.batch_size=5 --set reduction_leaf=2 --set cluster.wafer.pe_rows=12",
        ROUTED SELECT WEIGH "--set cluster.wafer.pe_rows=70",
        ROUTED WEIGH "--set model.moe.load_balancing_loss_coef=0.3", ROUTED SELECT BF16};
    check_features(routed, 5);
    check_ratios(routed[0], "router", "forward", NULL, 0.1);
    check_ratios(routed[1], "router", "forward", NULL, 0.1);
    check_ratios(routed[3], "router", "backward", NULL, 0.1);
#undef ROUTED
#undef SELECT
#undef WEIGH
}

/* The host's random numbers: other masks would be other losses.  Of dropout the analytical model
 * has no cycles. */
TEST(numerics, mesh_trains_with_dropout)
{
#define RATES                                                                                      \
    "--set model.dropout_rate=0.2 --set model.attention_dropout_rate=0.1 "                         \
    "--set model.embedding_dropout_rate=0.3 --set cluster.wafer.pe_rows=8 "
    static const char *const dropped[] = {
        RATES, RATES BF16,
        "--set model.dropout_rate=0.0 --set model.attention_dropout_rate=0.4 --set "
        "model.num_heads=8 "
        "--set cluster.wafer.pe_rows=10 --set train_input.batch_size=6 --set "
        "train_input.micro_batch_size=2",
        RATES "--set model.norm_first_sandwich=true --set model.embedding_layer_norm=true "
              "--set cluster.wafer.pe_rows=12",
        RATES "--set model.moe.num_experts=5 --set model.moe.top_k=2 "
              "--set cluster.wafer.pe_rows=12"};
    double simulated, analytical;
    struct job_metrics m;
    check_features(dropped, 5);
    const char *dir = train("", "--numerics mesh --num_csx 1 " RATES, &m);
    CU_ASSERT_FATAL(dir != NULL);
    cycles_of(dir, "dropout", "forward", &simulated, &analytical);
    CU_ASSERT(simulated > 0 && !(analytical > 0));
    CU_ASSERT(spawn_ok("grep -q 'Dropout: 20 cycles a random number' %s/run.log", dir));
    check_ratios(RATES, "attention", "forward", NULL, 0.1);
#undef RATES
}

#define SLOPES "--set model.position_embedding_type=alibi --set model.alibi_trainable_slopes=true "
TEST(numerics, mesh_trains_slopes_of_the_distance)
{
    static const char *const slopes[] = {
        SLOPES, SLOPES BF16,
        SLOPES "--set model.num_heads=8 --set cluster.wafer.pe_rows=14 "
               "--set train_input.batch_size=5 --set reduction_leaf=2",
        SLOPES "--set model.attention_logit_softcapping=1 --set model.num_heads=4 "
               "--set cluster.wafer.pe_rows=10"};
    check_features(slopes, 4);
    check_ratios(slopes[0], "attention", "forward", "backward", 0.1);
}

#define RELATIVE "--set model.position_embedding_type=relative "
TEST(numerics, mesh_trains_relative_positions)
{
    static const char *const relative[] = {
        RELATIVE, RELATIVE BF16,
        RELATIVE "--set model.relative_attention_num_buckets=6 --set model.num_heads=8 "
                 "--set cluster.wafer.pe_rows=14 --set train_input.batch_size=5 "
                 "--set reduction_leaf=2",
        RELATIVE "--set model.attention_logit_softcapping=1 --set cluster.wafer.pe_rows=70"};
    check_features(relative, 4);
    check_ratios(relative[0], "attention", "forward", "backward", 0.1);
}

/* An adapter begins at 0, so the first loss is that without it; then only adapters train.  Keys
 * that heads share, the tables and the output layer have them too. */
TEST(numerics, mesh_trains_adapters)
{
#define LORA                                                                                       \
    "--set model.lora_params='{r: 3, alpha: 40, target_modules: [TransformerDecoderLayer]}' "
    static const char *const adapted[][2] = {
        {LORA, ""},
        {LORA, BF16},
        {"--set model.lora_params='{r: 9, alpha: 90, dropout: 0.2, target_modules: [Linear]}' ",
         "--set model.num_heads=4 --set model.attention_module=multiquery_attention "
         "--set model.extra_attention_params.num_kv_groups=2 --set cluster.wafer.pe_rows=8"},
        {"--set model.lora_params='[{r: 2, alpha: 30, target_modules: [Embedding]}, "
         "{r: 3, alpha: 20, dropout: 0.1, target_modules: [lm_head]}]' ",
         "--set model.share_embedding_weights=false"}};
    for (int i = 0; i < 4; i++) {
        struct job_metrics without, with;
        char feature[400], options[460];
        const bool half = i == 1;
        (void)snprintf(feature, sizeof feature, "%s%s", adapted[i][0], adapted[i][1]);
        check_feature(feature, half ? 1.0 / 256 : 1e-5, half ? 1.0 / 16 : 1e-4, &with);
        (void)snprintf(options, sizeof options, "--numerics mesh --num_csx 1 %s", adapted[i][1]);
        CU_ASSERT_FATAL(train("", options, &without) != NULL);
        CU_ASSERT(strcmp(with.step[0].loss, without.step[0].loss) == 0);
        CU_ASSERT(strcmp(with.step[STEPS - 1].loss, without.step[STEPS - 1].loss) != 0);
    }
    check_ratios(LORA, "product", "weight gradient", NULL, 0.1);
#undef LORA
}

/* A frozen matrix streams, but no cycles go into its gradient. */
TEST(numerics, mesh_leaves_frozen_gradients_out)
{
    static const char *const options[] = {"--numerics mesh --num_csx 1",
                                          "--numerics mesh --num_csx 1 --set model.freeze='[ffn]'"};
    struct job_metrics m;
    double products[2], gradients[2], expected;
    for (int i = 0; i < 2; i++) {
        const char *dir = train("", options[i], &m);
        CU_ASSERT_FATAL(dir != NULL);
        cycles_of(dir, "product", "forward", &products[i], &expected);
        cycles_of(dir, "product", "weight gradient", &gradients[i], &expected);
    }
    T_NEAR(products[1], products[0], 0);
    CU_ASSERT(gradients[1] < 0.9 * gradients[0]);
    check_feature("--set model.freeze='[ffn]'", 1e-5, 1e-4, &m);
}

/* With a frozen table of tokens, the rows of positions alone leave, which are not random. */
TEST(numerics, mesh_and_model_leave_frozen_tables_out)
{
    check_ratios("--set model.share_embedding_weights=false "
                 "--set model.freeze='[word_embeddings]'",
                 "embedding", "backward", NULL, 0.1);
}

TEST(numerics, mesh_evaluates_and_generates)
{
    struct job_metrics m;
    const char *dir = job_path("numerics");
    CU_ASSERT_FATAL(
        spawn_ok("%s %s --set runconfig.checkpoint_steps=2 --max_steps 2 --model_dir %s",
                 job_tiny(), model, dir));
    CU_ASSERT(job_read(dir, &m));
    struct spawn_result host, mesh, lanes;
    spawn_run(&host, "%s %s --mode eval --model_dir %s --set runconfig.eval_steps=1 2>&1",
              job_tiny(), model, dir);
    spawn_run(&mesh,
              "%s %s --mode eval --model_dir %s --set runconfig.eval_steps=1 --numerics mesh 2>&1",
              job_tiny(), model, dir);
    T_EQ(mesh.status, 0);
    const char *a = strstr(host.out, "Avg Eval Loss: "), *b = strstr(mesh.out, "Avg Eval Loss: ");
    CU_ASSERT_FATAL(a && b);
    T_NEAR(strtod(b + 15, NULL), strtod(a + 15, NULL), 1e-5);
    spawn_run(&lanes,
              "%s %s " TWO_LANES
              "--mode eval --model_dir %s --set runconfig.eval_steps=1 --numerics mesh 2>&1",
              job_tiny(), model, dir);
    const char *c = strstr(lanes.out, "Avg Eval Loss: ");
    T_NEAR(c ? strtod(c + 15, NULL) : NAN, strtod(a + 15, NULL), 1e-5);
    spawn_free(&host);
    spawn_free(&mesh);
    spawn_free(&lanes);
    static const char prompt[] =
        "--mode generate --prompt 'The ' --prompt cat --prompt mat --max_new_tokens 2 "
        "--temperature 0 "
        "--set runconfig.autoload_last_checkpoint=false";
    spawn_run(&host, "%s %s %s --model_dir %s | grep -v INFO:", job_tiny(), model, prompt, dir);
    spawn_run(&mesh, "%s %s %s --model_dir %s --numerics mesh | grep -v INFO:", job_tiny(), model,
              prompt, dir);
    CU_ASSERT(!strncmp(host.out, "The ", 4));
    T_STR(mesh.out, host.out);
    spawn_run(&lanes,
              "%s %s %s " TWO_LANES "--model_dir %s --numerics mesh | grep -v INFO:", job_tiny(),
              model, prompt, dir);
    T_STR(lanes.out, host.out);
    spawn_free(&host);
    spawn_free(&mesh);
    spawn_free(&lanes);
}

/* A step of minutes ends some seconds after a signal; the checkpoint before it stays, and from it
 * the run resumes. */
TEST(numerics, a_signal_ends_a_long_step_on_the_mesh)
{
    const char *dir = job_path("given_up");
    struct spawn_result r;
    const char *saved = "--numerics mesh --set runconfig.checkpoint_steps=1 --num_csx 1";
    CU_ASSERT_FATAL(
        spawn_ok("%s %s %s --max_steps 1 --model_dir %s", job_tiny(), model, saved, dir));
    spawn_run(&r,
              "%s %s %s --set train_input.batch_size=512 --set train_input.micro_batch_size=4 "
              "--max_steps 2 --model_dir %s & p=$!; "
              "while kill -0 $p && ! grep -q 'from global step 1' %s/run.log; do sleep 0.05; done; "
              "sleep 0.3; kill -TERM $p; wait $p",
              job_tiny(), model, saved, dir, dir);
    T_EQ(r.status, 5);
    CU_ASSERT(strstr(r.err, "stopped by a signal before cycle") != NULL);
    CU_ASSERT(strstr(r.err, "the step was given up") != NULL);
    spawn_free(&r);
    CU_ASSERT(spawn_ok("test \"$(ls %s | grep -c checkpoint)\" -eq 1", dir));
    CU_ASSERT(spawn_ok("%s %s %s --max_steps 2 --model_dir %s", job_tiny(), model, saved, dir));
    CU_ASSERT(spawn_ok("test -e %s/checkpoint_2.mdl", dir));
}
