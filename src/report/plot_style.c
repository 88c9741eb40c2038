// SPDX-License-Identifier: Apache-2.0
/* Defines the colours of curves, the axis of efficiencies and panels of several models. The colours
 * are those of Okabe and Ito 2008, "Color Universal Design": distinguishable with every kind of
 * colour vision. The yellow of the set is left out, because it is too pale on white. */
#include "plot_style.h"

#include <wsc/out.h>

#include <math.h>

static const unsigned palette[] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                   0xE69F00, 0x56B4E9, 0x000000};

unsigned report_plot_colour(int k)
{
    return palette[(unsigned)k % (sizeof palette / sizeof *palette)];
}

void report_efficiency_axis(struct wsc_text *t, double low, double high)
{
    static const struct {
        double span, step; /* step of the ticks up to this span of the axis */
    } ticks[] = {{14, 2}, {30, 5}, {55, 10}, {HUGE_VAL, 20}};
    const double top = fmax(100.5, high + 0.5), least = fmin(low, 90);
    int i = 0;
    while (top - least > ticks[i].span)
        i++;
    const double step = ticks[i].step;
    wsc_text_add(t, "set yrange [%.9g:%.9g]\nset ytics %g\n", floor(least / step) * step, top,
                 step);
}

void report_panels(struct wsc_text *script, const char *name, const struct wsc_text *panels, int n,
                   int height)
{
    enum { MOST_HEIGHT = 16000 }; /* a PNG is twice as high, and cairo draws at most 32767 pixels */
    struct wsc_text all = {0};
    if (n > 1) wsc_text_add(&all, "set multiplot layout %d,1\n", n);
    wsc_text_add(&all, "%s%s", panels->n ? panels->bytes : "", n > 1 ? "unset multiplot\n" : "");
    out_gnuplot_output(script, name, all.bytes ? all.bytes : "",
                       n * height < MOST_HEIGHT ? n * height : MOST_HEIGHT);
    script->failed = script->failed || panels->failed || all.failed;
    wsc_text_free(&all);
}
