/** Colours of curves and the axis of efficiencies, shared by the pictures of this folder.
 *  scaling_plot.c and exhibit_plot.c include it. */
#ifndef WSC_PLOT_STYLE_H
#define WSC_PLOT_STYLE_H
#include <wsc/text.h>

/** Colour of the k-th curve as 0xRRGGBB, from 0; they repeat after seven. */
unsigned report_plot_colour(int k);
/** Append gnuplot's range and ticks of an axis of efficiencies from @p low to @p high percent: 90
 * to 100.5 or more, with few enough ticks that their labels do not touch in a low panel. */
void report_efficiency_axis(struct wsc_text *t, double low, double high);
#endif
