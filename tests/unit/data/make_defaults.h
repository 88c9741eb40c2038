// SPDX-License-Identifier: Apache-2.0
/* The request for a dataset from which tests of data start. */
#ifndef WSC_TEST_MAKE_DEFAULTS_H
#define WSC_TEST_MAKE_DEFAULTS_H
#include <wsc/data.h>

/* The byte tokenizer's usual values in all fields but input, tokenizer and out_dir. */
static inline void make_defaults(struct data_make *make)
{
    *make = (struct data_make){.key = "text",
                               .errors = DATA_ERRORS_KEEP,
                               .bos_id = DATA_NO_ID,
                               .eos_id = DATA_NO_ID,
                               .T = 256,
                               .samples_per_file = 2000,
                               .checkpoint_bytes = (int64_t)64 << 20};
}
#endif
