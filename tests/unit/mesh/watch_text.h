/** All that an observer shows of a run that has ended, as one text. */
#ifndef WSC_TEST_WATCH_TEXT_H
#define WSC_TEST_WATCH_TEXT_H
#include <wsc/mesh.h>

/* An observer with causes that traces all @p w x @p h PEs; the caller destroys it. */
struct mesh_watch *watch_all(int w, int h, int64_t max_events);
/* Counts of each of the @p w x @p h PEs and routers, the critical path with its legs, the trace;
 * for free(). */
char *watch_text(const struct mesh_watch *watch, int w, int h);
#endif
