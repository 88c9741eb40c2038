// SPDX-License-Identifier: Apache-2.0
/* libFuzzer's side: WSC_FUZZ_TARGET in the environment names the target; without it they are
 * listed. */
#include "fuzz.h"

#include <wsc/log.h>
#include <wsc/store.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("WSC_FUZZ_TARGET");
    if (store_probe_served(*argc, *argv)) _Exit(0);
    wsc_log_set_level(WSC_LOG_ERROR);
    for (target = fuzz_target; target->name; target++)
        if (name && !strcmp(name, target->name)) return 0;
    for (target = fuzz_target; target->name; target++)
        (void)printf("%s\t%s\n", target->name, target->what);
    (void)fflush(stdout);
    _Exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    (void)target->run(bytes, n);
    return 0;
}
