/** Colours of curves, the axis of efficiencies and panels of several models, shared by the pictures
 * of this folder. scaling_plot.c, exhibit_plot.c, study_plot.c and sparsity_sweep.c include it. */
#ifndef WSC_PLOT_STYLE_H
#define WSC_PLOT_STYLE_H
#include <wsc/text.h>

/** Colour of the k-th curve as 0xRRGGBB, from 0; they repeat after seven. */
unsigned report_plot_colour(int k);
/** Append gnuplot's range and ticks of an axis of efficiencies from @p low to @p high percent: 90
 * to 100.5 or more, with few enough ticks that their labels do not touch in a low panel. */
void report_efficiency_axis(struct wsc_text *t, double low, double high);
/** Append to the script @p script a picture NAME.svg and NAME.png of @p n panels below each other,
 *  each @p height high as far as a PNG can be as high as all. @p panels has the commands of all of
 *  them, a `plot` line each. */
void report_panels(struct wsc_text *script, const char *name, const struct wsc_text *panels, int n,
                   int height);
#endif
