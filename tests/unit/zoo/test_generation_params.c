// SPDX-License-Identifier: Apache-2.0
/* Keys of `model` about generated texts: values, dumps and faults. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

static enum wsc_err parse(struct zoo_params *p, const char *keys)
{
    char text[800];
    (void)snprintf(text, sizeof text,
                   "model:\n  vocab_size: 50\n  hidden_size: 8\n  num_hidden_layers: 1\n"
                   "  num_heads: 1\n  filter_size: 8\n  max_position_embeddings: 8\n%s"
                   "runconfig:\n  mode: generate\n",
                   keys);
    return zoo_params_parse(p, "t.yaml", text, strlen(text), NULL, 0);
}

TEST(generation_params, keys_have_the_model_zoo_s_defaults_beside_one_another)
{
    struct zoo_params p;
    T_OK(parse(&p, ""));
    CU_ASSERT_FALSE(p.model.generation.given);
    zoo_params_fini(&p);
    T_OK(parse(&p, "  start_token: 3\n"));
    const struct zoo_generation *g = &p.model.generation;
    CU_ASSERT(g->given && g->max_tokens == CONF_NULL && !g->top_k && !g->stop.n);
    CU_ASSERT(g->temperature == 0 && g->top_p == 1);
    zoo_params_fini(&p);
    T_OK(parse(&p, "  max_tokens: 9\n  temperature: 0.5\n  top_k: 4\n  top_p: 0.25\n"
                   "  stop_sequences: [[1, 2], [49]]\n"));
    CU_ASSERT(g->given && g->max_tokens == 9 && g->top_k == 4 && g->stop.n == 2);
    CU_ASSERT(g->temperature == 0.5 && g->top_p == 0.25);
    CU_ASSERT(g->stop.n_tokens[0] == 2 && g->stop.token[0][0] == 1 && g->stop.token[0][1] == 2);
    CU_ASSERT(g->stop.n_tokens[1] == 1 && g->stop.token[1][0] == 49);
    zoo_params_fini(&p);
    T_OK(parse(&p, "  stop_sequences: 7\n"));
    CU_ASSERT(g->stop.n == 1 && g->stop.n_tokens[0] == 1 && g->stop.token[0][0] == 7);
    zoo_params_fini(&p);
}

/* A dump gives what the file gives, also about keys that it does not have. */
TEST(generation_params, dumps_mean_the_same)
{
    static const struct {
        const char *keys, *line;
    } row[] = {{"", NULL},
               {"  top_k: 3\n", "    stop_sequences: null\n"},
               {"  stop_sequences: [[1, 2], [49]]\n", "    stop_sequences: [[1, 2], [49]]\n"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p, again;
        char *dump = NULL, *second = NULL;
        T_OK(parse(&p, row[i].keys));
        T_OK(zoo_params_dump(&p, &dump));
        CU_ASSERT(row[i].line ? strstr(dump, row[i].line) != NULL
                              : strstr(dump, "temperature") == NULL);
        T_OK(zoo_params_parse(&again, "t.yaml", dump, strlen(dump), NULL, 0));
        T_OK(zoo_params_dump(&again, &second));
        T_STR(dump, second);
        T_EQ(p.model.generation.given, again.model.generation.given);
        CU_ASSERT(!memcmp(&p.model.generation.stop, &again.model.generation.stop,
                          sizeof(struct zoo_stops)));
        wsc_free(dump);
        wsc_free(second);
        zoo_params_fini(&p);
        zoo_params_fini(&again);
    }
}

TEST(generation_params, wrong_stop_sequences_are_named)
{
    static const struct {
        const char *value, *says;
    } row[] = {{"[1, 2]", "t.yaml:8:20: model.stop_sequences: expected a token id or a list of "
                          "lists of token ids, got \"1\""},
               {"[[1], []]", "t.yaml:8:25: model.stop_sequences: expected a token id or a list of"},
               {"{a: 1}", "t.yaml:8:19: model.stop_sequences: expected a token id or a list of"},
               {"-1", "t.yaml:8:19: model.stop_sequences: expected a token id, got \"-1\""},
               {"[[x]]", "t.yaml:8:21: model.stop_sequences: expected a token id, got \"x\""},
               {"[[[1]]]", "t.yaml:8:21: model.stop_sequences: expected a token id, got a list"},
               {"[[1], [2, 50]]", "model.stop_sequences: token 50, texts have 50 token ids"},
               {"[[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]",
                "model.stop_sequences: a sequence of more than 16 tokens"},
               {"[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],"
                "[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]",
                "model.stop_sequences: more than 32 sequences"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p;
        char keys[300];
        (void)snprintf(keys, sizeof keys, "  stop_sequences: %s\n", row[i].value);
        T_EQ(parse(&p, keys), WSC_CONFIG);
        if (!strstr(wsc_err_message(), row[i].says))
            (void)fprintf(stderr, "%s\n", wsc_err_message());
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), row[i].says));
        zoo_params_fini(&p);
    }
}

TEST(generation_params, a_text_stops_at_a_whole_sequence)
{
    const struct zoo_stops stops = {.n = 2, .n_tokens = {2, 1}, .token = {{1, 2}, {9}}};
    const int32_t text[] = {1, 2, 9, 1, 1, 2};
    static const bool expected[] = {false, false, true, true, false, false, true};
    for (int n = 0; n <= 6; n++)
        T_EQ(zoo_stops_at(&stops, text, n), expected[n]);
    CU_ASSERT_FALSE(zoo_stops_at(&(struct zoo_stops){0}, text, 6));
}
