/** What the pictures of this folder share: scaling_plot.c, exhibit_plot.c. */
#ifndef WSC_PLOT_STYLE_H
#define WSC_PLOT_STYLE_H
/** Colour of the k-th curve as 0xRRGGBB, from 0; they repeat after seven. */
unsigned report_plot_colour(int k);
#endif
