// SPDX-License-Identifier: Apache-2.0
#include "program_job.h"

#include <stdio.h>
#include <string.h>

static const char reductions[] = "star chain tree two-phase auto snake";

static const struct programs_kernel kernel[] = {
    {"broadcast", "", "--words", "PE (0, 0) to all", programs_run_broadcast},
    {"reduce", reductions, "--words", "sum at PE (0, 0), rows first, then a column",
     programs_run_reduce},
    {"allreduce", "star chain tree two-phase auto snake ring ktree", "--words --groups",
     "sum at all PEs: reduce and broadcast, a ring, or a tree from the middle of a row",
     programs_run_allreduce},
    {"scatter", "", "--words", "a block of PE (0, 0) to each PE", programs_run_scatter},
    {"gather", "", "--words", "a block of each PE to PE (0, 0)", programs_run_gather},
    {"transpose", "", "--words", "blocks of a square fabric over its diagonal",
     programs_run_transpose},
    {"gemv", reductions, "--m --n", "y (m) = A (m, n) x (n)", programs_run_gemv},
    {"gemm", "summa stream", "--m --n --k --zeros",
     "C (m, n) = A (m, k) B (k, n); stream: A are weights from the edge", programs_run_gemm},
    {"fmacs", "", "--length --calls", "calls of fp32 fmacs on one PE", programs_run_fmacs},
};
enum { N_KERNELS = sizeof kernel / sizeof *kernel };

const struct programs_kernel *programs_kernel_at(int i)
{
    return i >= 0 && i < N_KERNELS ? &kernel[i] : NULL;
}

enum wsc_err programs_kernel_find(const char *name, const struct programs_kernel **out)
{
    char names[256] = "";
    for (int i = 0; i < N_KERNELS; i++) {
        *out = &kernel[i];
        if (!strcmp(name, kernel[i].name)) return WSC_OK;
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", kernel[i].name);
    }
    *out = NULL;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "%s: no such kernel", name), "there are %s", names);
}
