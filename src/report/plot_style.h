/** What the pictures of this folder share: the colours of curves.
 *  scaling_plot.c and exhibit_plot.c include it. */
#ifndef WSC_PLOT_STYLE_H
#define WSC_PLOT_STYLE_H
/** Colour of the k-th curve as 0xRRGGBB, from 0; they repeat after seven. */
unsigned report_plot_colour(int k);
#endif
