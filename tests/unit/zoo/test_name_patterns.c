// SPDX-License-Identifier: Apache-2.0
/* Patterns of params files: expressions match as Python's re.search(), by its module re, and what
 * POSIX does not have is refused with its place; globs match as its fnmatch.fnmatchcase(). */
#include "../../support/test.h"

#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"model.layers.1.ffn.weight", "model.layers.12.attn.proj_q.bias",
                                    "model.lm_head.weight", "d.w-s"};
enum { N_NAMES = sizeof names / sizeof *names };

/* Which of the names re.search() finds: one digit for each. */
static const struct {
    const char *expression, *found;
} row[] = {
    {"layers\\.\\d\\.", "1000"},
    {"layers\\.\\d+\\.", "1100"},
    {"layers\\.[\\d]+\\.attn", "0100"},
    {"layers\\.[^\\D1]", "0000"},
    {"layers\\.1[\\D]", "1000"},
    {"\\Amodel\\.l[am]", "1110"},
    {"weight\\Z", "1010"},
    {"^d\\.w\\-s$", "0001"},
    {"[\\w.]+weight", "1010"},
    {"proj[^\\w]q", "0000"},
    {"proj[\\W_]q", "0100"},
    {"w[^^]s", "0001"},
    {"w[.\\-]s", "0001"},
    {"[]a]ttn", "0100"},
    {"\\bw\\b", "0001"},
    {"(?:attn|ffn)\\.", "1100"},
    {"layers\\..*?\\.ffn", "1000"},
    {"layers\\.1\\d+?\\.", "0100"},
    {"\\Bs\\S", "1100"},
    {"[a-c]s$", "0100"},
    {"[^a-c]s$", "0001"},
};

TEST(zoo_patterns, expressions_match_as_in_python)
{
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[64], found[N_NAMES + 1] = "";
        const struct zoo_patterns p = {true, 1, {text}};
        (void)snprintf(text, sizeof text, "%s", row[i].expression);
        for (int k = 0; k < N_NAMES; k++)
            found[k] = zoo_patterns_match(&p, 0, names[k]) ? '1' : '0';
        if (strcmp(found, row[i].found) != 0) (void)printf("\n  %s\n", row[i].expression);
        T_STR(found, row[i].found);
    }
}

TEST(zoo_patterns, other_expressions_are_refused)
{
#define ESCAPE                                                                                     \
    "\\ with this character is not supported; hint: \\d \\D \\w \\W \\s \\S \\b \\B \\A \\Z, or "  \
    "\\ before punctuation"
#define INVALID "not a regular expression; hint: .*linear_layer.weight"
    static const struct {
        const char *expression, *says;
    } bad[] = {{"a\\tb", ESCAPE},
               {"a[\\n]", ESCAPE},
               {"(?i)a", "(?...) is not supported"},
               {"(?P<n>a)", "(?...)"},
               {"[a", INVALID},
               {"a)", INVALID},
               {"*a", INVALID},
               {"a**", INVALID},
               {"a|+", INVALID},
               {"[b-a]", INVALID},
               {"a\\", INVALID},
               {"a{2}", "repetition counts"},
               {"(a)\\1", "back-references"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        struct zoo_params p;
        (void)snprintf(text, sizeof text,
                       "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d, "
                       "batch_size: 8}\n"
                       "model: {vocab_size: 256, hidden_size: 64, num_heads: 2}\n"
                       "optimizer: {optimizer_type: AdamW, learning_rate: 1e-3}\n"
                       "sparsity: {sparsity: 0.5, param_name_patterns: '%s'}\n",
                       bad[i].expression);
        T_EQ(zoo_params_parse(&p, "t.yaml", text, strlen(text), NULL, 0), WSC_CONFIG);
        CU_ASSERT(strstr(wsc_err_message(), "t.yaml:4:48: sparsity.param_name_patterns: ") != NULL);
        CU_ASSERT(strstr(wsc_err_message(), bad[i].says) != NULL);
        if (!strstr(wsc_err_message(), bad[i].says)) (void)printf("\n  %s\n", wsc_err_message());
        zoo_params_fini(&p);
    }
}

/* In a set of Python's globs ^ is a member wherever it stands; ! at the beginning negates. */
TEST(zoo_patterns, globs_match_as_in_python)
{
    static const char *const name[] = {"model.layers.0.attn.weight", "model.layers.11.attn.bias",
                                       "^a", "^"};
    static const char *const glob[][2] = {{"model.layers.[^1]*", "0100"},
                                          {"model.layers.[!1]*", "1000"},
                                          {"*[^]", "0001"},
                                          {"[^]", "0001"},
                                          {"[^^]a", "0010"},
                                          {"[^-z]a", "0010"},
                                          {"[^]a]", "0000"},
                                          {"*.[0^]*", "1000"},
                                          {"[^a", "0000"},
                                          {"^a", "0010"},
                                          {"[!^]a", "0000"},
                                          {"*[^w]eight", "1000"}};
    for (size_t i = 0; i < sizeof glob / sizeof *glob; i++) {
        char text[32], found[5] = "";
        const struct zoo_patterns p = {false, 1, {text}};
        (void)snprintf(text, sizeof text, "%s", glob[i][0]);
        for (int k = 0; k < 4; k++)
            found[k] = zoo_patterns_match(&p, 0, name[k]) ? '1' : '0';
        if (strcmp(found, glob[i][1]) != 0) (void)printf("\n  %s\n", text);
        T_STR(found, glob[i][1]);
    }
}
