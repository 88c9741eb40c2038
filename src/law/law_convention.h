/** FLOPs of a training by the convention of a law.
 *
 *  Points, ladders and predictions count with it; report prints its name. */
#ifndef WSC_LAW_CONVENTION_H
#define WSC_LAW_CONVENTION_H
#include <wsc/law.h>

/** FLOPs of a training by @p convention; @p hoffmann is what LAW_HOFFMANN counts. */
double law_count(enum law_convention convention, double params, double tokens, double hoffmann);
#endif
