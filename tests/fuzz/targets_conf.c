// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <wsc/conf.h>
#include <wsc/hw.h>
#include <wsc/model.h>
#include <wsc/units.h>
#include <wsc/zoo.h>

/* What is accepted also becomes a model, or is refused there: sizes multiply. */
bool fuzz_params(const uint8_t *bytes, size_t n)
{
    struct zoo_params p;
    struct model *m = NULL;
    char *text = fuzz_as_text(bytes, n);
    enum wsc_err rc = zoo_params_parse(&p, "params.yaml", text, n, NULL, 0);
    if (!rc) rc = model_create(&m, &p, HW_STREAM_BLOCK);
    const bool taken = fuzz_taken(rc);
    fuzz_check(!m || (m->n_params > 0 && m->n_stages > 0 && m->T > 0 && m->V > 0),
               "a model of no size");
    model_destroy(&m);
    zoo_params_fini(&p);
    wsc_free(text);
    fuzz_check_memory(WSC_MEM_CONF);
    fuzz_check_memory(WSC_MEM_MODEL);
    return taken;
}

bool fuzz_cluster(const uint8_t *bytes, size_t n)
{
    struct hw_machine c;
    char *text = fuzz_as_text(bytes, n);
    const bool taken = fuzz_taken(hw_machine_parse(&c, "cluster.yaml", text, n, NULL, 0));
    fuzz_check(!taken || (c.wafer.pe_rows > 0 && c.memoryx.shards > 0 && c.swarmx.fanout > 1),
               "a machine of no size");
    hw_machine_fini(&c);
    wsc_free(text);
    fuzz_check_memory(WSC_MEM_CONF);
    return taken;
}

/* `--set path=value` for both kinds of file. */
bool fuzz_set(const uint8_t *bytes, size_t n)
{
    static const char least[] = "train_input: {data_dir: d, batch_size: 4}\n"
                                "model: {vocab_size: 256, hidden_size: 8, num_hidden_layers: 1, "
                                "num_heads: 1, filter_size: 16, max_position_embeddings: 16}\n"
                                "optimizer: {optimizer_type: AdamW, learning_rate: 0.1}\n"
                                "runconfig: {max_steps: 1}\n";
    struct zoo_params p;
    struct hw_machine c;
    char *text = fuzz_as_text(bytes, n);
    const struct conf_set set = {.text = text};
    bool taken = fuzz_taken(zoo_params_parse(&p, "params.yaml", least, sizeof least - 1, &set, 1));
    taken |= fuzz_taken(hw_machine_parse(&c, NULL, NULL, 0, &set, 1));
    zoo_params_fini(&p);
    hw_machine_fini(&c);
    wsc_free(text);
    fuzz_check_memory(WSC_MEM_CONF);
    return taken;
}

/* What is read is written so that it reads back as the same. */
static bool check_quantity(enum wsc_unit unit, const char *text)
{
    int64_t value, again;
    char written[64];
    if (!fuzz_taken(wsc_units_quantity(unit, text, &value))) return false;
    fuzz_check(value >= 0 || unit == WSC_UNIT_NONE, "a negative quantity");
    wsc_units_format(unit, value, written, sizeof written);
    fuzz_check(!wsc_units_quantity(unit, written, &again) && again == value,
               "a quantity that does not read back");
    return true;
}

bool fuzz_units(const uint8_t *bytes, size_t n)
{
    char *text = fuzz_as_text(bytes, n);
    bool taken = false;
    double real;
    int64_t whole;
    for (int unit = WSC_UNIT_NONE; unit <= WSC_UNIT_PARAMS_RATE; unit++)
        taken |= check_quantity((enum wsc_unit)unit, text);
    if (!wsc_units_double(text, &real)) fuzz_check(real - real == 0, "a number that is not finite");
    if (!wsc_units_int(text, &whole))
        fuzz_check(!wsc_units_double(text, &real), "an int, no number");
    (void)wsc_units_distance(text, "150 GB/s");
    wsc_free(text);
    return taken;
}
