// SPDX-License-Identifier: Apache-2.0
/* Colours of curves.  Okabe and Ito 2008, "Color Universal Design": distinguishable with every kind
 * of colour vision.  The yellow of the set is left out, it is too pale on white. */
#include "plot_style.h"

static const unsigned palette[] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                   0xE69F00, 0x56B4E9, 0x000000};

unsigned report_plot_colour(int k)
{
    return palette[(unsigned)k % (sizeof palette / sizeof *palette)];
}
