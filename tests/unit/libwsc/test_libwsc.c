// SPDX-License-Identifier: Apache-2.0
/* The C interface with arguments that are wrong: a status and a sentence, never a crash.
 * tests/library.sh tests the shared library, with arguments that are right. */
#include "../../support/test.h"

#include <libwsc.h>

#include <string.h>

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
