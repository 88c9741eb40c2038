/** The ledger of a net: amounts of the stages in the steps that its roles are in, kept by
 *  stream_amounts.c. */
#ifndef WSC_STREAM_LEDGER_H
#define WSC_STREAM_LEDGER_H
#include <wsc/stream.h>

/** Make an empty ledger; *@p out is to be destroyed also after an error.  WSC_NOMEM. */
enum wsc_err stream_ledger_create(struct stream_ledger **out,
                                  const struct model *model) WSC_CHECKED;
/** Release *@p ledger and null it; NULL allowed. */
void stream_ledger_destroy(struct stream_ledger **ledger);
#endif
