// SPDX-License-Identifier: Apache-2.0
/* Params files as texts in a test; see params_case.h. */
#include "params_case.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

const char params_t5[] = "train_input: {data_processor: T5HDF5DataProcessor, data_dir: ./x, "
                         "batch_size: 8, src_max_sequence_length: 512, "
                         "tgt_max_sequence_length: 128}\n"
                         "model: {name: t5, vocab_size: 32128, hidden_size: 512, d_kv: 64, "
                         "num_heads: 8, filter_size: 2048, num_hidden_layers: 2}\n"
                         "optimizer: {optimizer_type: AdamW, learning_rate: 0.1}\n"
                         "runconfig: {max_steps: 10}\n";

struct zoo_params params_parsed(const char *text)
{
    struct zoo_params p;
    T_OK(zoo_params_parse(&p, "t.yaml", text, strlen(text), NULL, 0));
    return p;
}

bool params_warn(const struct zoo_params *p, const char *part)
{
    for (int i = 0; i < p->n_warnings; i++)
        if (strstr(p->warning[i].text, part)) return true;
    return false;
}

bool params_refused(const char *text, const char *part)
{
    struct zoo_params p;
    const bool is = zoo_params_parse(&p, "t.yaml", text, strlen(text), NULL, 0) == WSC_CONFIG &&
                    strstr(wsc_err_message(), part);
    if (!is) (void)fprintf(stderr, "expected \"%s\", got: %s\n", part, wsc_err_message());
    zoo_params_fini(&p);
    return is;
}
