// SPDX-License-Identifier: Apache-2.0
/* Keys of `optimizer` that one type of optimizer takes and another does not: each value is used,
 * ignored with a warning, or refused. */
#include "../../support/params_case.h"
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/mem.h>
#include <wsc/zoo.h>

#include <stdio.h>
#include <string.h>

#define INPUT                                                                                      \
    "train_input: {data_processor: GptHDF5MapDataProcessor, data_dir: ./d, batch_size: 8}\n"
#define MODEL "model: {vocab_size: 256, hidden_size: 64, num_heads: 2}\n"

/* The text of params with an optimizer of type @p type and its keys @p keys; static. */
static const char *text_of(const char *type, const char *keys)
{
    static char text[1000];
    (void)snprintf(text, sizeof text,
                   INPUT MODEL "optimizer: {optimizer_type: %s, learning_rate: 1e-3%s}\n", type,
                   keys);
    return text;
}

/* Rprop uses signs of gradients only, so that it has no decay to add to them. */
TEST(optimizer_params, rprop_ignores_every_decay_with_a_warning)
{
    static const char plain[] = "optimizer.weight_decay: ignored: not an argument of Rprop",
                      tagged[] = "optimizer.tagged_schedules: entry 2: weight_decay is ignored: "
                                 "not an argument of Rprop";
    static const struct {
        const char *type, *keys, *warning; /* NULL: none */
    } row[] = {{"Rprop", "", NULL},
               {"Rprop", ", weight_decay: 0.9", plain},
               {"Rprop", ", weight_decay: {scheduler: Constant, val: 0.9}", plain},
               {"Rprop",
                ", params: {params: bias, tag: b}, tagged_schedules: [{param_group_tags: b, "
                "learning_rate: 1}, {param_group_tags: b, weight_decay: 0.1}]",
                tagged},
               {"SGD", ", weight_decay: 0.9", NULL},
               {"SGD",
                ", params: {params: bias, tag: b}, tagged_schedules: {param_group_tags: b, "
                "weight_decay: 0.1}",
                NULL}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct zoo_params p = params_parsed(text_of(row[i].type, row[i].keys));
        T_EQ(p.n_warnings, row[i].warning ? 1 : 0);
        CU_ASSERT(!row[i].warning || params_warn(&p, row[i].warning));
        zoo_params_fini(&p);
    }
}

/* Adafactor has two eps; the second number of a list would be lost with any other optimizer. */
TEST(optimizer_params, a_list_of_eps_is_that_of_adafactor)
{
    static const char list[] = ", eps: [1e-8, 7]",
                      error[] = "t.yaml:3:61: optimizer.eps: expected a number, got a list; hint: "
                                "Adafactor alone has two eps, Adam one";
    CU_ASSERT(params_refused(text_of("Adam", list), error));
    CU_ASSERT(params_refused(text_of("RMSprop", list), "two eps, RMSprop one"));
    struct zoo_params p = params_parsed(text_of("Adafactor", list));
    CU_ASSERT(p.optimizer.eps == 1e-8 && p.optimizer.eps_rms == 7);
    zoo_params_fini(&p);
    p = params_parsed(text_of("SGD", list));
    CU_ASSERT(params_warn(&p, "optimizer.eps: ignored: not an argument of SGD"));
    zoo_params_fini(&p);
}

/* beta1 is the decay rate of a first moment; betas are no argument of the Model Zoo's Adafactor. */
TEST(optimizer_params, adafactor_has_no_first_moment)
{
    struct zoo_params p = params_parsed(text_of("Adafactor", ", beta1: null"));
    T_EQ(p.n_warnings, 0);
    zoo_params_fini(&p);
    CU_ASSERT(params_refused(text_of("Adafactor", ", beta1: 0.9"),
                             "optimizer.beta1: the first moment of Adafactor is not supported; "
                             "hint: leave it out"));
    p = params_parsed(text_of("Adafactor", ", betas: [0.9, 0.95]"));
    CU_ASSERT(params_warn(&p, "optimizer.betas: ignored: not an argument of Adafactor"));
    zoo_params_fini(&p);
    p = params_parsed(text_of("Adam", ", beta1: 0.9"));
    CU_ASSERT(params_warn(&p, "optimizer.beta1: old spelling"));
    zoo_params_fini(&p);
}
