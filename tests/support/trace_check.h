/** A trace of the virtual timeline read back: are its rows free of overlaps, do its arrows lead
 *  forward?
 */
#ifndef WSC_TEST_TRACE_CHECK_H
#define WSC_TEST_TRACE_CHECK_H
#include <wsc/err.h>

#include <stdint.h>

/** What a trace has. */
struct trace_counts {
    int n_bars, n_arrows;
    int n_overlaps; /**< bars that begin before an earlier one of their row ends */
    int n_backward; /**< arrows that end before they begin */
    int n_loose;    /**< ends of arrows where no bar of their row begins */
};
/** Count in the file @p path. */
enum wsc_err trace_count(const char *path, struct trace_counts *out) WSC_CHECKED;
/** Arrows of the file @p path from row @p from to row @p to, by their names. */
enum wsc_err trace_count_arrows(const char *path, const char *from, const char *to,
                                int *n) WSC_CHECKED;
/** Bars of row @p row of the file @p path. */
enum wsc_err trace_count_bars(const char *path, const char *row, int *n) WSC_CHECKED;
#endif
