// SPDX-License-Identifier: Apache-2.0
/* Keys of params that are said to change no virtual time: each gets other values in every kind of
 * model that has it, and steps end at the same picosecond. */
#include "../../support/params_case.h"
#include "../../support/small_run.h"
#include "../../support/test.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 2, MOST_SETS = 8, MOST_VALUES = 24 };

/* Models that have other keys. */
#define ROTARY "model.position_embedding_type=rotary", "model.rotary_dim=8"
#define ROPE   "model.pos_scaling_extra_args."
static const struct {
    bool t5;
    const char *sets[MOST_SETS];
} models[] = {
    {.sets = {"model.mixed_precision=true"}},
    {.sets = {ROTARY, "model.attention_qk_norm_layer=layernorm", "model.loss_scaling=batch_size"}},
    {.sets = {ROTARY, "model.pos_scaling_type=llama3", "model.pos_scaling_factor=2"}},
    {.sets = {ROTARY, "model.pos_scaling_type=yarn", "model.pos_scaling_factor=2",
              ROPE "original_max_position_embeddings=8"}},
    {.sets = {ROTARY, "model.pos_scaling_type=longrope", ROPE "original_max_position_embeddings=8",
              ROPE "short_factor=[1, 1, 1, 1]", ROPE "long_factor=[1, 2, 3, 4]"}},
    {.sets = {"model.moe.num_experts=4", "model.moe.top_k=2"}},
    {.sets = {"model.mup_base_hidden_size=16", "model.mup_base_filter_size=64"}},
    {.sets = {"model.dpo.beta=0.2", "train_input.data_processor=DpoHDF5DataProcessor"}},
    {.sets = {"model.objective=masked_lm", "train_input.data_processor=BertHDF5DataProcessor",
              "train_input.max_predictions_per_seq=4", "model.disable_nsp=true",
              "model.token_dropout=true", "model.mask_token_id=5"}},
    {.sets = {"model.objective=classification", "train_input.data_processor=SST2DataProcessor"}},
    {.sets = {"model.objective=token_classification",
              "train_input.data_processor=BertTokenClassifierDataProcessor"}},
    {.t5 = true},
    {.t5 = true, .sets = {"model.mup_base_hidden_size=64", "model.mup_base_filter_size=128"}},
};
enum { N_MODELS = sizeof models / sizeof *models };

/* The model @p m, with @p set unless it is NULL. */
static enum wsc_err open_model(struct small_config *c, int m, const char *set)
{
    const char *sets[MOST_SETS + 2] = {NULL};
    struct conf_set all[MOST_SETS + 1];
    int n = 0;
    for (; n < MOST_SETS && models[m].sets[n]; n++)
        sets[n] = models[m].sets[n];
    if (set) sets[n++] = set;
    if (!models[m].t5) return small_config_init(c, 2, sets);
    for (int i = 0; i < n; i++)
        all[i] = (struct conf_set){.text = sets[i]};
    T_OK(small_config_init(c, 2, NULL));
    zoo_params_fini(&c->params);
    return zoo_params_parse(&c->params, "t5.yaml", params_t5, strlen(params_t5), all, n);
}

static int64_t end_of(const struct small_config *c)
{
    static struct small_result r;
    const enum wsc_err rc = small_run_alone(c, STEPS, NULL, &r);
    CU_ASSERT_EQUAL_FATAL(rc, WSC_OK);
    return r.batch[STEPS - 1].end.ps;
}

/* Values of @p key to try; those of special forms by a part of the name. */
static int values_of(const struct conf_key *key, const char *values[MOST_VALUES])
{
    static const struct {
        const char *part, *value;
    } special[] = {{"initializer", "{name: constant, val: 0.5}"},
                   {"_factor", "[1.5, 2, 2.5, 3]"},
                   {"stop_sequences", "[[3]]"}};
    int n = 0;
    for (; key->choices && key->choices[n].name && n < MOST_VALUES; n++)
        values[n] = key->choices[n].name;
    if (n) return n;
    if (key->type == CONF_T_SPECIAL) {
        for (size_t i = 0; i < sizeof special / sizeof *special; i++)
            if (strstr(key->path, special[i].part)) values[n++] = special[i].value;
        return n;
    }
    static const char *const flags[] = {"true", "false"}, *const numbers[] = {"2", "0.25"};
    values[0] = key->type == CONF_T_BOOL ? flags[0] : numbers[0];
    values[1] = key->type == CONF_T_BOOL ? flags[1] : numbers[1];
    return key->type == CONF_T_INT ? 1 : 2;
}

/* Is @p key one that model @p m has, and its time @p before whatever value it has? */
static bool keeps_time(const struct conf_key *key, int m, int64_t before)
{
    static struct small_config c;
    const char *values[MOST_VALUES];
    const int n = values_of(key, values);
    bool acts = false;
    for (int i = 0; i < n; i++) {
        char set[160];
        (void)snprintf(set, sizeof set, "%s=%s", key->path, values[i]);
        if (!open_model(&c, m, set) && zoo_key_acts(&c.params, key->path)) {
            const int64_t end = end_of(&c);
            if (end != before) (void)fprintf(stderr, "model %d: time follows %s\n", m, set);
            CU_ASSERT(end == before);
            acts = true;
        }
        small_config_fini(&c);
    }
    return acts;
}

TEST(no_time, keys_that_change_values_alone_keep_the_time)
{
    static struct small_config c;
    const struct conf_table *table = zoo_params_table();
    int64_t before[N_MODELS];
    for (int m = 0; m < N_MODELS; m++) {
        T_OK(open_model(&c, m, NULL));
        before[m] = end_of(&c);
        small_config_fini(&c);
    }
    for (int i = 0; i < table->n; i++) {
        int n = 0;
        if (!table->key[i].no_time) continue;
        for (int m = 0; m < N_MODELS; m++)
            n += keeps_time(&table->key[i], m, before[m]);
        if (!n) (void)fprintf(stderr, "no model has %s\n", table->key[i].path);
        CU_ASSERT(n > 0);
    }
}
