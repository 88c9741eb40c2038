// SPDX-License-Identifier: Apache-2.0
/* micro_batch_size: explore, as a user runs it: every size with the speed that it has alone. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* What `wsc run` prints with --json and @p options; the caller frees it. */
static json_t *run_json(const char *options)
{
    struct spawn_result r;
    spawn_run(&r, "%s --model_dir %s --json %s", job_tiny(), job_path("explore"), options);
    T_EQ(r.status, 0);
    json_t *root = json_loads(r.out, 0, NULL);
    if (!root) (void)fprintf(stderr, "%s%s", r.out, r.err);
    spawn_free(&r);
    return root;
}

static long long step_time_of(int size)
{
    char options[96];
    (void)snprintf(options, sizeof options,
                   "--num_csx 2 --compile_only --set train_input.micro_batch_size=%d", size);
    json_t *root = run_json(options);
    const long long time =
        json_integer_value(json_object_get(json_object_get(root, "speed"), "step_time_ps"));
    json_decref(root);
    return time;
}

/* 16 sequences on two systems: 1, 2, 4 or 8 at a time. */
TEST(explore, every_size_has_the_speed_of_a_run_with_it)
{
    json_t *root = run_json("--num_csx 2 --set train_input.batch_size=16 "
                            "--set train_input.micro_batch_size=explore");
    const json_t *tried = json_object_get(root, "explored");
    long long fastest = -1, its_size = 0;
    T_EQ(json_array_size(tried), 4);
    for (size_t i = 0; i < json_array_size(tried); i++) {
        const json_t *row = json_array_get(tried, i);
        const int size = (int)json_integer_value(json_object_get(row, "micro_batch_size"));
        const long long time = json_integer_value(json_object_get(row, "step_time_ps"));
        T_EQ(size, 1 << i);
        CU_ASSERT(time > 0 && (fastest < 0 || time != fastest));
        if (fastest < 0 || time < fastest) its_size = size;
        if (fastest < 0 || time < fastest) fastest = time;
    }
    T_EQ(json_integer_value(json_object_get(root, "micro_batch_size")), its_size);
    json_decref(root);
}

TEST(explore, bounds_are_kept)
{
    json_t *root = run_json("--num_csx 2 --set 'train_input.micro_batch_size={explore: "
                            "{min: 2, max: 3}}'");
    const json_t *row = json_array_get(json_object_get(root, "explored"), 0);
    T_EQ(json_array_size(json_object_get(root, "explored")), 1);
    T_EQ(json_integer_value(json_object_get(row, "micro_batch_size")), 2);
    T_EQ(json_integer_value(json_object_get(row, "step_time_ps")), step_time_of(2));
    json_decref(root);
}

TEST(explore, no_size_within_the_bounds_is_an_error)
{
    struct spawn_result r;
    spawn_run(&r,
              "%s --model_dir %s --num_csx 1 --set "
              "'train_input.micro_batch_size={explore: {min: 5, max: 7}}'",
              job_tiny(), job_path("explore"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "no size within the bounds divides the 8 sequences"));
    spawn_free(&r);
}

/* The table of the fastest, and nothing that a run leaves. */
TEST(explore, prints_a_table_and_stops)
{
    struct spawn_result r;
    const char *dir = job_path("explore");
    spawn_run(&r, "%s --model_dir %s --set train_input.micro_batch_size=explore; ls %s", job_tiny(),
              dir, dir);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "fastest: micro_batch_size "));
    CU_ASSERT_PTR_NULL(strstr(r.out, "metrics.jsonl"));
    spawn_free(&r);
}
