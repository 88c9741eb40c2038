// SPDX-License-Identifier: Apache-2.0
/* How the FLOPs of a training are counted: as by Hoffmann et al. 2022, appendix F, or 6 parameters
 * tokens.  All points of a law have one convention, and its predictions have it too. */
#include "law_convention.h"

static const char *const name[LAW_N_CONVENTIONS] = {[LAW_HOFFMANN] = "hoffmann", [LAW_6PD] = "6pd"};

const char *law_convention_name(enum law_convention convention)
{
    return name[convention];
}

/* A product of a weight takes 2 FLOPs in the forward pass and 4 in the backward pass. */
double law_count(enum law_convention convention, double params, double tokens, double hoffmann)
{
    const double flop_per_parameter_and_token = 6;
    return convention == LAW_6PD ? flop_per_parameter_and_token * params * tokens : hoffmann;
}
