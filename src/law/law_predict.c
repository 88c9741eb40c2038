// SPDX-License-Identifier: Apache-2.0
/* Loss of a training by the law, and its time on the emulated machine: a simulated step of the
 * global batch of the params, as `wsc run` and a ladder have it, and what evaluations, checkpoints
 * and failures add.  Called by `wsc law --predict`. */
#include "law_convention.h"

#include <string.h>

enum wsc_err law_predict(const struct law_fit *fit, const struct scaling_model *model,
                         const struct hw_machine *cluster, int64_t num_csx, double tokens_per_param,
                         struct law_prediction *out)
{
    struct scaling_row row;
    struct scaling_training t;
    TRY(scaling_point(model, cluster, num_csx, model->params->train_input.batch_size, &row));
    TRY(scaling_training_at(model, cluster, &row, 0, tokens_per_param, &t));
    const double flop = law_count(fit->convention, (double)row.params, t.tokens, t.flop_hoffmann);
    *out = (struct law_prediction){
        .params = row.params,
        .num_csx = num_csx,
        .global_batch = row.global_batch,
        .tokens = t.tokens,
        .flop = flop,
        .loss = law_loss(fit, flop),
        .half_width = law_half_width(fit, flop),
        .published = scaling_expected_loss(t.flop_hoffmann, t.tokens / (double)t.params),
        .seconds = t.seconds};
    (void)snprintf(out->name, sizeof out->name, "%s", model->name);
    return WSC_OK;
}
