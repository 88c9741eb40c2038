/** The parts of reading a machine file that machine_file.c and the key table put together: faults,
 *  uncertainty, files that others are based on, the built-in machine. */
#ifndef WSC_HW_MACHINE_PARTS_H
#define WSC_HW_MACHINE_PARTS_H
#include <wsc/hw.h>

/* ---- faults ---------------------------------------------------------------------------------- */

/** Add `KIND:KEY=VALUE,...`, the text of `--set` number @p set, to the list `faults` of @p doc. */
void hw_faults_add(struct conf_doc *doc, struct conf_diag *d, const char *text, int set);
/** Reader of the key `faults`; @p list is a struct hw_fault_list. */
void hw_read_faults(struct conf_parse *p, const struct conf_key *key, const struct conf_node *node,
                    void *list);

/* ---- uncertainty ----------------------------------------------------------------------------- */

/** Fill low and high of @p s from @p text (`10 %`, `1 us..5 us`; NULL: by kind), for row @p row of
 * the table and its value, which must be in p->out already. */
void hw_uncertainty_read(struct conf_parse *p, int row, const struct conf_node *text,
                         struct hw_source *s);
/** Fill the correlations of @p s from @p map (`{wafer.clock: 0.4}`; NULL: none), for row @p row of
 *  the table; only calibrated constants have some. */
void hw_correlation_read(struct conf_parse *p, int row, const struct conf_node *map,
                         struct hw_source *s);

/* ---- texts ----------------------------------------------------------------------------------- */

/** Parse the text of hw_machine_read(): a file with what it is based on merged under it.  @p skip:
 * leave out the file and those that follow it, so many in all.  False after an error, which is in
 * @p d. */
bool hw_machine_doc(struct conf_doc *doc, struct conf_diag *d, const char *bytes, size_t n_bytes,
                    int skip);

/** The text of configs/cluster/cs2.yaml when the program was built, @p n_bytes long; static. */
const char *hw_builtin_cs2(size_t *n_bytes);
#endif
