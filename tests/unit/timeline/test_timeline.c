// SPDX-License-Identifier: Apache-2.0
/* A step taken apart: for random clusters, models and batches the graph of events must give the
 * picosecond of the run of the roles, its path must add up to the step, its links must carry what
 * the roles' links carry. */
#include "../../support/random_case.h"
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/timeline.h>

#include <stdio.h>
#include <string.h>

enum { CASES = 150 };

static struct timeline_job job_of(const struct small_config *c, int64_t first_step)
{
    return (struct timeline_job){.params = &c->params,
                                 .cluster = &c->cluster,
                                 .num_csx = c->params.runconfig.num_csx,
                                 .global_batch = c->params.train_input.batch_size,
                                 .first_step = first_step,
                                 .n_steps = 1};
}

static void check_path(const struct timeline *t)
{
    struct report_stretch *path;
    struct report_breakdown parts;
    int64_t step_ps, sum = 0;
    int n;
    timeline_step(t, &step_ps, &parts);
    T_OK(timeline_path(t, &path, &n));
    CU_ASSERT_FATAL(n > 0);
    for (int i = 0; i < n; i++) {
        CU_ASSERT(path[i].end_ps > path[i].begin_ps);
        if (i) T_EQ(path[i].begin_ps, path[i - 1].end_ps);
        sum += path[i].end_ps - path[i].begin_ps;
    }
    T_EQ(sum, step_ps);
    T_EQ(path[n - 1].end_ps - path[0].begin_ps, step_ps);
    wsc_free(path);
}

static void check_profile(const struct timeline *t)
{
    struct report_module *row;
    struct report_breakdown parts;
    int64_t step_ps, sum = 0;
    int n;
    timeline_step(t, &step_ps, &parts);
    T_OK(timeline_profile(t, &row, &n));
    for (int i = 0; i < n; i++)
        sum += row[i].ps;
    T_EQ(sum, step_ps);
    wsc_free(row);
}

/* All steps carry the same, so what the run's links carried in n steps is n times the step's. */
static void check_links(const struct timeline *t, const struct small_config *c)
{
    enum { STEPS = 2 };
    struct small_result r;
    struct report_link *link;
    struct report_breakdown parts;
    int64_t step_ps, bytes[2] = {0};
    int n;
    timeline_step(t, &step_ps, &parts);
    T_OK(small_run_alone(c, STEPS, NULL, &r));
    T_OK(timeline_links(t, &link, &n));
    for (int i = 0; i < n; i++)
        bytes[i % 2] += link[i].bytes;
    T_EQ(STEPS * bytes[0], r.bytes_down);
    T_EQ(STEPS * bytes[1], r.bytes_up);
    wsc_free(link);
}

static void check_case(uint64_t i)
{
    struct random_case c;
    struct small_config config;
    struct timeline *t = NULL;
    random_case_draw(&c, i, i % 2);
    T_OK(random_case_config(&c, &config));
    const struct timeline_job job = job_of(&config, random_case_int(i, 99, 0, 5));
    T_OK(timeline_create(&t, &job)); /* ends the program when the two ways differ */
    check_path(t);
    check_profile(t);
    check_links(t, &config);
    timeline_destroy(&t);
    small_config_fini(&config);
}

TEST(timeline, random_steps_add_up)
{
    for (uint64_t i = 0; i < CASES; i++)
        check_case(i);
    T_EQ(wsc_mem_in_use(WSC_MEM_TIMELINE), 0);
}
