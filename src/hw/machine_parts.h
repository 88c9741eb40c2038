/** What the readers of machine files share: faults, uncertainty, files that others are based on. */
#ifndef WSC_MACHINE_FILE_H
#define WSC_MACHINE_FILE_H
#include <wsc/hw.h>

/* ---- faults ---------------------------------------------------------------------------------- */

/** Add `KIND:KEY=VALUE,...`, the text of set number @p set, to the list `faults`. */
void hw_faults_add(struct conf_doc *doc, struct conf_diag *d, const char *text, int set);
void hw_read_faults(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *list);

/* ---- uncertainty ------------------------------------------------------------------------------
 */

/** Fill low and high of @p s from @p text (`10 %`, `1 us..5 us`; NULL: by kind), for row @p row
 *  of the cluster table and the value that is already in @p c. */
void hw_uncertainty_read(struct conf_parse *p, int row, const struct conf_node *text,
                         struct hw_source *s);

/** Parse the text of hw_machine_read(): a file with what it is based on merged under it. */
bool hw_machine_doc(struct conf_doc *doc, struct conf_diag *d, const char *bytes, size_t n_bytes);

/** configs/cluster/cs2.yaml as it was when the program was built. */
const char *hw_builtin_cs2(size_t *n_bytes);
#endif
