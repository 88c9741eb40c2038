// SPDX-License-Identifier: Apache-2.0
#include "kernels_impl.h"

#include <stdio.h>
#include <string.h>

static const char reductions[] = "star chain tree two-phase auto snake";

static const struct mesh_kernel kernel[] = {
    {"broadcast", "", "--words", "PE (0, 0) to all", mesh_run_broadcast},
    {"reduce", reductions, "--words", "sum at PE (0, 0), rows first, then a column",
     mesh_run_reduce},
    {"allreduce", "star chain tree two-phase auto snake ring ktree", "--words --groups",
     "sum at all PEs: reduce and broadcast, a ring, or a tree from the middle of a row",
     mesh_run_allreduce},
    {"scatter", "", "--words", "a block of PE (0, 0) to each PE", mesh_run_scatter},
    {"gather", "", "--words", "a block of each PE to PE (0, 0)", mesh_run_gather},
    {"transpose", "", "--words", "blocks of a square fabric over its diagonal", mesh_run_transpose},
    {"gemv", reductions, "--m --n", "y (m) = A (m, n) x (n)", mesh_run_gemv},
    {"gemm", "summa stream", "--m --n --k --zeros",
     "C (m, n) = A (m, k) B (k, n); stream: A are weights from the edge", mesh_run_gemm},
    {"fmacs", "", "--length --calls", "calls of fp32 fmacs on one PE", mesh_run_fmacs},
};
enum { N_KERNELS = sizeof kernel / sizeof *kernel };

const struct mesh_kernel *mesh_kernel_at(int i)
{
    return i >= 0 && i < N_KERNELS ? &kernel[i] : NULL;
}

enum wsc_err mesh_kernel_find(const char *name, const struct mesh_kernel **out)
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
