// SPDX-License-Identifier: Apache-2.0
/* The C interface with arguments that are wrong: a status and a sentence, never a crash.
 * tests/library.sh tests the shared library, with arguments that are right. */
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <libwsc.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PARAMS "configs/params/tiny.yaml"

/* True when the call was refused with a message that says @p what. */
static bool refused(int status, const char *what)
{
    return status == 2 && strstr(libwsc_message(), what);
}

TEST(libwsc, files_and_overrides_that_are_null)
{
    const char *const sets[] = {"model.hidden_size=8", NULL};
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    CU_ASSERT(refused(libwsc_params_load(NULL, PARAMS, NULL, 0), "params is NULL"));
    CU_ASSERT(refused(libwsc_params_load(&params, NULL, NULL, 0), "path is NULL"));
    CU_ASSERT(refused(libwsc_params_load(&params, PARAMS, NULL, 1), "set is NULL"));
    CU_ASSERT(refused(libwsc_params_load(&params, PARAMS, sets, 2), "set is NULL"));
    CU_ASSERT(refused(libwsc_params_load(&params, PARAMS, sets, -1), "n_sets is -1"));
    CU_ASSERT_PTR_NULL(params);
    CU_ASSERT(refused(libwsc_machine_load(NULL, NULL, NULL, 0), "machine is NULL"));
    CU_ASSERT(refused(libwsc_machine_load(&machine, NULL, NULL, 1), "set is NULL"));
    CU_ASSERT_PTR_NULL(machine);
}

TEST(libwsc, handles_that_are_null_and_a_batch_that_is_too_large)
{
    const int64_t one = 1;
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    libwsc_sweep *sweep = NULL;
    CU_ASSERT_FATAL(!libwsc_params_load(&params, PARAMS, NULL, 0) &&
                    !libwsc_machine_load(&machine, NULL, NULL, 0));
    CU_ASSERT(refused(libwsc_scale(NULL, params, machine, &one, 1, NULL), "sweep is NULL"));
    CU_ASSERT(refused(libwsc_scale(&sweep, NULL, machine, &one, 1, NULL), "params is NULL"));
    CU_ASSERT(refused(libwsc_scale(&sweep, params, NULL, &one, 1, NULL), "machine is NULL"));
    CU_ASSERT(refused(libwsc_scale(&sweep, params, machine, NULL, 1, NULL), "num_csx is NULL"));
    const struct libwsc_scaling large = {sizeof large, .batch_per_csx = INT64_MAX};
    CU_ASSERT(refused(libwsc_scale(&sweep, params, machine, &one, 1, &large), "batch_per_csx"));
    CU_ASSERT_PTR_NULL(sweep);
    CU_ASSERT(refused(libwsc_sweep_point(NULL, 0, NULL), "sweep is NULL"));
    CU_ASSERT(refused(libwsc_run(NULL, machine, "host"), "params is NULL"));
    CU_ASSERT(refused(libwsc_run(params, NULL, "host"), "machine is NULL"));
    CU_ASSERT(refused(libwsc_run(params, machine, NULL), "numerics is NULL"));
    CU_ASSERT_EQUAL(libwsc_sweep_n(NULL), 0);
    CU_ASSERT_PTR_NULL(libwsc_sweep_csv(NULL));
    CU_ASSERT_PTR_NULL(libwsc_machine_name(NULL));
    CU_ASSERT_PTR_NULL(libwsc_params_text(NULL));
    CU_ASSERT_EQUAL(libwsc_params_n_warnings(NULL), 0);
    CU_ASSERT_STRING_EQUAL(libwsc_params_warning(NULL, 0), "");
    libwsc_use_program(NULL);
    libwsc_params_free(&params);
    libwsc_machine_free(&machine);
    libwsc_params_free(NULL);
    libwsc_machine_free(NULL);
    libwsc_sweep_free(NULL);
}

/* True when the program `wsc` does something else for PARAMS with @p set, which a run refuses. */
static bool is_other_work(const char *path, const char *set, const char *what)
{
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    int status = libwsc_params_load(&params, path, &set, set ? 1 : 0);
    if (!status) status = libwsc_machine_load(&machine, NULL, NULL, 0);
    const bool loaded = !status;
    if (loaded) status = libwsc_run(params, machine, "none");
    libwsc_params_free(&params);
    libwsc_machine_free(&machine);
    return loaded && refused(status, what);
}

TEST(libwsc, a_run_refuses_what_the_program_does_otherwise)
{
    CU_ASSERT(is_other_work(PARAMS, "runconfig.mode=generate", "needs prompts"));
    CU_ASSERT(is_other_work(PARAMS, "runconfig.validate_only=true", "validate_only"));
    CU_ASSERT(is_other_work(PARAMS, "runconfig.compile_only=true", "compile_only"));
    CU_ASSERT(is_other_work(PARAMS, "train_input.micro_batch_size=explore", "explore"));
    CU_ASSERT(is_other_work("configs/params/tiny_phases.yaml", NULL, "several trainers"));
}

/* Rate on two systems with @p faults, the status in *@p status. */
static double rate_with(const char *faults, int *status)
{
    const int64_t two = 2;
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    libwsc_sweep *sweep = NULL;
    struct libwsc_point point = {.size = sizeof point};
    *status = libwsc_params_load(&params, PARAMS, NULL, 0);
    if (!*status) *status = libwsc_machine_load(&machine, NULL, &faults, 1);
    if (!*status) *status = libwsc_scale(&sweep, params, machine, &two, 1, NULL);
    if (!*status) *status = libwsc_sweep_point(sweep, 0, &point);
    libwsc_sweep_free(&sweep);
    libwsc_machine_free(&machine);
    libwsc_params_free(&params);
    return point.tokens_per_s;
}

TEST(libwsc, a_sweep_refuses_modes_that_do_not_train)
{
    static const char *const mode[] = {"runconfig.mode=eval", "runconfig.mode=generate"};
    for (int i = 0; i < 2; i++) {
        const int64_t one = 1;
        libwsc_params *params = NULL;
        libwsc_machine *machine = NULL;
        libwsc_sweep *sweep = NULL;
        CU_ASSERT_EQUAL(libwsc_params_load(&params, PARAMS, &mode[i], 1), 0);
        CU_ASSERT_EQUAL(libwsc_machine_load(&machine, NULL, NULL, 0), 0);
        CU_ASSERT(refused(libwsc_scale(&sweep, params, machine, &one, 1, NULL),
                          "runconfig.mode: the mode does not train"));
        CU_ASSERT_PTR_NULL(sweep);
        libwsc_machine_free(&machine);
        libwsc_params_free(&params);
    }
}

TEST(libwsc, a_sweep_refuses_faults_that_come_or_go)
{
    int status;
    const double sound = rate_with("cluster.faults=[]", &status);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(rate_with("cluster.faults=[{kind: straggler, wafer: 0, factor: 3}]", &status) <
              sound);
    CU_ASSERT_EQUAL(status, 0);
    (void)rate_with("cluster.faults=[{kind: straggler, wafer: 0, factor: 3, from: 11}]", &status);
    CU_ASSERT(refused(status, "a step like all others"));
    (void)rate_with("cluster.faults=[{kind: lost_wafer, rate: 1e-4}]", &status);
    CU_ASSERT(refused(status, "a step like all others"));
}

/* The program prints a table of the costs of faults for this run. */
static void run_with_fault(void)
{
    static const char fault[] = "cluster.faults=[{kind: straggler, wafer: 0, factor: 3, from: 2}]";
    const char *const machine_set[] = {fault};
    char folder[512];
    const char *const sets[] = {folder, "runconfig.max_steps=3", "runconfig.num_csx=2"};
    (void)snprintf(folder, sizeof folder, "runconfig.model_dir=%s/fault", test_tmpdir());
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    CU_ASSERT_EQUAL(libwsc_params_load(&params, PARAMS, sets, 3), 0);
    CU_ASSERT_EQUAL(libwsc_machine_load(&machine, NULL, machine_set, 1), 0);
    if (params && machine) CU_ASSERT_EQUAL(libwsc_run(params, machine, "none"), 0);
    libwsc_params_free(&params);
    libwsc_machine_free(&machine);
}

TEST(libwsc, a_run_prints_nothing)
{
    CU_ASSERT_STRING_EQUAL(case_capture(1, run_with_fault), "");
    CU_ASSERT(strstr(case_read(case_path("fault/performance.json")), "\"straggler") != NULL);
}

static atomic_bool over;

static void *ask_to_stop(void *arg)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)arg;
    while (!atomic_load(&over)) {
        libwsc_stop();
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Status of a run of @p steps steps in virtual time alone. */
static int run_steps(const char *steps)
{
    char folder[512];
    const char *const sets[] = {steps, folder, "runconfig.checkpoint_steps=0"};
    (void)snprintf(folder, sizeof folder, "runconfig.model_dir=%s/stopped", test_tmpdir());
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    int status = libwsc_params_load(&params, PARAMS, sets, 3);
    if (!status) status = libwsc_machine_load(&machine, NULL, NULL, 0);
    if (!status) status = libwsc_run(params, machine, "none");
    libwsc_params_free(&params);
    libwsc_machine_free(&machine);
    return status;
}

TEST(libwsc, a_call_from_another_thread_stops_a_run)
{
    pthread_t thread;
    libwsc_stop(); /* no run: nothing */
    CU_ASSERT_EQUAL(run_steps("runconfig.max_steps=2"), 0);
    atomic_store(&over, false);
    CU_ASSERT_FATAL(!pthread_create(&thread, NULL, ask_to_stop, NULL));
    CU_ASSERT_EQUAL(run_steps("runconfig.max_steps=1000000000"), 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(libwsc_message(), "stopped by a call after step"));
    atomic_store(&over, true);
    CU_ASSERT(!pthread_join(thread, NULL));
    CU_ASSERT_EQUAL(run_steps("runconfig.max_steps=2"), 0);
}

/* Status of a sweep over N_LARGE times so many systems; a second or more of computing. */
static int sweep_large(void)
{
    enum { N_LARGE = 100, SYSTEMS = 4096 };
    int64_t counts[N_LARGE];
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    libwsc_sweep *sweep = NULL;
    for (int i = 0; i < N_LARGE; i++)
        counts[i] = SYSTEMS;
    int status = libwsc_params_load(&params, PARAMS, NULL, 0);
    if (!status) status = libwsc_machine_load(&machine, NULL, NULL, 0);
    if (!status) status = libwsc_scale(&sweep, params, machine, counts, N_LARGE, NULL);
    CU_ASSERT((sweep == NULL) == (status != 0));
    libwsc_sweep_free(&sweep);
    libwsc_machine_free(&machine);
    libwsc_params_free(&params);
    return status;
}

TEST(libwsc, a_call_from_another_thread_stops_a_sweep)
{
    int status;
    pthread_t thread;
    libwsc_stop(); /* no sweep: nothing */
    const double before = rate_with("cluster.faults=[]", &status);
    CU_ASSERT_EQUAL(status, 0);
    atomic_store(&over, false);
    CU_ASSERT_FATAL(!pthread_create(&thread, NULL, ask_to_stop, NULL));
    CU_ASSERT_EQUAL(sweep_large(), 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(libwsc_message(), "stopped by a call"));
    atomic_store(&over, true);
    CU_ASSERT(!pthread_join(thread, NULL));
    CU_ASSERT_EQUAL(rate_with("cluster.faults=[]", &status), before);
    CU_ASSERT_EQUAL(status, 0);
}

TEST(libwsc, what_has_no_effect_on_a_machine_is_a_warning)
{
    static const char pattern[] =
        "sparsity=[{algorithm: static, sparsity: 0.5, param_filter: [\"no*\"]}]";
    const char *const sets[] = {pattern, "runconfig.op_profiler_config.start_step=1",
                                "runconfig.op_profiler_config.end_step=2"};
    const char *const detection = "cluster.recovery.detection=1s";
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    CU_ASSERT_FATAL(!libwsc_params_load(&params, PARAMS, sets, 3) &&
                    !libwsc_machine_load(&machine, NULL, &detection, 1));
    const int n = libwsc_params_n_warnings(params);
    CU_ASSERT_EQUAL(libwsc_params_check(params, machine, 0), 0);
    CU_ASSERT_EQUAL(libwsc_params_n_warnings(params), n + 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(libwsc_params_warning(params, n + 2), "no profile"));
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(libwsc_params_check(params, machine, 4), 0);
    CU_ASSERT_EQUAL(libwsc_params_n_warnings(params), n + 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(libwsc_params_warning(params, n), "recovery.detection"));
    CU_ASSERT_PTR_NOT_NULL(strstr(libwsc_params_warning(params, n + 1), "pattern no*"));
    CU_ASSERT(refused(libwsc_params_check(NULL, machine, 0), "params is NULL"));
    CU_ASSERT(refused(libwsc_params_check(params, NULL, 0), "machine is NULL"));
    libwsc_params_free(&params);
    libwsc_machine_free(&machine);
}

/* One list may be given to both; what only one has got, and is of the other, is named. */
TEST(libwsc, overrides_of_the_other_handle_are_warnings)
{
    const char *const both[] = {"cluster.memoryx.shards=2", "model.hidden_size=128"};
    const char *const of_params = both[1], *const of_machine = both[0];
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    CU_ASSERT_FATAL(!libwsc_params_load(&params, PARAMS, both, 2) &&
                    !libwsc_machine_load(&machine, NULL, both, 2));
    const int n = libwsc_params_n_warnings(params);
    CU_ASSERT_EQUAL(libwsc_params_check(params, machine, 4), 0);
    CU_ASSERT_EQUAL(libwsc_params_n_warnings(params), n);
    libwsc_params_free(&params);
    libwsc_machine_free(&machine);
    CU_ASSERT_FATAL(!libwsc_params_load(&params, PARAMS, &of_machine, 1) &&
                    !libwsc_machine_load(&machine, NULL, &of_params, 1));
    CU_ASSERT_EQUAL(libwsc_params_check(params, machine, 4), 0);
    CU_ASSERT_EQUAL(libwsc_params_n_warnings(params), n + 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(libwsc_params_warning(params, n),
                                  "cluster.memoryx.shards: without effect; hint: an override of "
                                  "the machine"));
    CU_ASSERT_PTR_NOT_NULL(strstr(libwsc_params_warning(params, n + 1),
                                  "model.hidden_size: without effect; hint: an override of the "
                                  "params"));
    libwsc_params_free(&params);
    libwsc_machine_free(&machine);
}

/* A point for each count and no other; the CSV has a head and a line for each, with the name of the
 * file alone, and stays where it is. */
TEST(libwsc, a_sweep_has_its_points_and_no_others)
{
    const int64_t counts[] = {1, 2};
    libwsc_params *params = NULL;
    libwsc_machine *machine = NULL;
    libwsc_sweep *sweep = NULL;
    struct libwsc_point point = {.size = sizeof point};
    CU_ASSERT_FATAL(!libwsc_params_load(&params, PARAMS, NULL, 0) &&
                    !libwsc_machine_load(&machine, NULL, NULL, 0) &&
                    !libwsc_scale(&sweep, params, machine, counts, 2, NULL));
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(libwsc_sweep_point(sweep, i, &point), 0);
        CU_ASSERT_EQUAL(point.num_csx, counts[i]);
    }
    /* A caller of a later version has members that this one does not write. */
    struct {
        struct libwsc_point point;
        int64_t later;
    } newer = {.point.size = sizeof newer, .later = -1};
    CU_ASSERT_EQUAL(libwsc_sweep_point(sweep, 1, &newer.point), 0);
    CU_ASSERT(newer.point.size == sizeof point && newer.later == -1 && newer.point.num_csx == 2);
    point.size = sizeof point - 1;
    CU_ASSERT(refused(libwsc_sweep_point(sweep, 0, &point), "a struct of"));
    CU_ASSERT(refused(libwsc_sweep_point(sweep, -1, &point), "no point -1"));
    CU_ASSERT(refused(libwsc_sweep_point(sweep, 2, &point), "no point 2"));
    const char *csv = libwsc_sweep_csv(sweep), *first = csv ? strchr(csv, '\n') : NULL;
    CU_ASSERT(first != NULL);
    if (!first) return;
    CU_ASSERT(!strncmp(first, "\ntiny,", 6));
    const char *second = strchr(first + 1, '\n');
    CU_ASSERT(second && !strncmp(second, "\ntiny,", 6));
    CU_ASSERT(csv == libwsc_sweep_csv(sweep));
    const char *text = libwsc_params_text(params);
    CU_ASSERT(text && text == libwsc_params_text(params) && strstr(text, "model:"));
    libwsc_sweep_free(&sweep);
    libwsc_machine_free(&machine);
    libwsc_params_free(&params);
}
