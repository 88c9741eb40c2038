// SPDX-License-Identifier: Apache-2.0
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/report.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct report_heatmap map_of(const struct report_panel *panel, int w, int h)
{
    return (struct report_heatmap){.title = "it's a \"title\" of 100 %",
                                   .note = "a note",
                                   .w = w,
                                   .h = h,
                                   .panel = panel,
                                   .n_panels = 1};
}

TEST(report_heatmap, dots_of_several_cells)
{
    T_EQ(report_heatmap_fold(1, 1), 1);
    T_EQ(report_heatmap_fold(750, 994), 1);
    T_EQ(report_heatmap_fold(1024, 3), 1);
    T_EQ(report_heatmap_fold(1025, 3), 2);
    T_EQ(report_heatmap_fold(3, 2048), 2);
}

TEST(report_heatmap, writes_a_picture_of_one_cell_and_of_many)
{
    static float value[3 * 2048];
    const struct report_panel panel = {"share, % of cycles", value, false};
    const struct report_heatmap one = map_of(&panel, 1, 1), wide = map_of(&panel, 2048, 3);
    struct stat info;
    char path[300];
    for (int i = 0; i < 3 * 2048; i++)
        value[i] = (float)(i % 101);
    (void)snprintf(path, sizeof path, "%s/one.png", test_tmpdir());
    T_OK(report_heatmap_write(path, &one));
    CU_ASSERT(!stat(path, &info) && info.st_size > 1000);
    (void)snprintf(path, sizeof path, "%s/wide.png", test_tmpdir());
    T_OK(report_heatmap_write(path, &wide));
    CU_ASSERT(!stat(path, &info) && info.st_size > 1000);
    T_EQ(wsc_mem_in_use(WSC_MEM_REPORT), 0);
}

TEST(report_heatmap, refusals_leave_nothing_behind)
{
    const float value[4] = {1, 2, NAN, 3};
    const struct report_panel panel = {"a share", value, true};
    const struct report_heatmap map = map_of(&panel, 2, 2);
    struct stat info;
    char path[300];
    (void)snprintf(path, sizeof path, "%s/bad.png", test_tmpdir());
    T_EQ(report_heatmap_write(path, &map), WSC_NUMERIC);
    T_STR(wsc_err_message(), "a share: PE (0, 1) is nan, expected a finite number");
    CU_ASSERT(stat(path, &info) != 0);
    (void)snprintf(path, sizeof path, "%s/no_such_folder/bad.png", test_tmpdir());
    T_EQ(report_heatmap_write(path, &map), WSC_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "no_such_folder/bad.png: cannot be written"));
    T_EQ(out_can_write(test_tmpdir()), WSC_IO);
    T_EQ(wsc_mem_in_use(WSC_MEM_REPORT), 0);
}
