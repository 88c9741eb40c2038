// SPDX-License-Identifier: Apache-2.0
/* Params files of every style while memory runs out: wherever it does, the parse and the dump
 * return WSC_NOMEM and keep nothing. */
#include "../../support/test.h"
#include "../base/scarce.h"

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <string.h>

enum { MOST_TRIES = 20000 };

static int64_t memory_in_use(void)
{
    return wsc_mem_in_use(WSC_MEM_CONF) + wsc_mem_in_use(WSC_MEM_BASE);
}

/* Parse the bytes and dump the params. */
static enum wsc_err attempt(const char *bytes, size_t n)
{
    static const struct conf_set sets[] = {{.text = "model.hidden_size=128"},
                                           {.text = "runconfig.num_csx=4"}};
    struct zoo_params params;
    char *dump = NULL;
    enum wsc_err rc = zoo_params_parse(&params, "t.yaml", bytes, n, sets, 2);
    if (!rc) rc = zoo_params_dump(&params, &dump);
    wsc_free(dump);
    zoo_params_fini(&params);
    return rc;
}

/* Let each allocation fail in turn until none does. */
static void fail_each(const char *path)
{
    char *bytes = NULL;
    size_t n = 0;
    int k = 0, wrong = 0;
    T_OK(conf_read_file(path, &bytes, &n));
    const int64_t before = memory_in_use();
    for (bool failed = true; failed && k < MOST_TRIES; k++) {
        test_scarce_after(k);
        const enum wsc_err rc = attempt(bytes, n);
        failed = test_scarce_end();
        wrong += rc != (failed ? WSC_NOMEM : WSC_OK) || memory_in_use() != before;
    }
    T_EQ(wrong, 0);
    CU_ASSERT(k > 10 && k < MOST_TRIES);
    wsc_free(bytes);
}

TEST(zoo_scarce, params_of_every_style_need_memory)
{
    fail_each("tests/golden/params/runconfig.yaml");
    fail_each("tests/golden/params/trainer.yaml");
    fail_each("tests/golden/params/giga_gpt.yaml");
    fail_each("tests/golden/params/families.yaml");
}
