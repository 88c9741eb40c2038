/** The source revision of the program, as the pages of the manual date it.
 *
 *  out_version() of <wsc/out.h> names it.
 */
#ifndef WSC_OUT_REVISION_H
#define WSC_OUT_REVISION_H

/** Day of the source revision, e.g. "2026-01-31"; static. */
const char *out_revision_date(void);
#endif
