/** Size and hash of one file, in bounded time: hosts that each have their own copy of the sample
 *  files compare these sums before a run. */
#ifndef WSC_DATA_FILE_SUM_H
#define WSC_DATA_FILE_SUM_H
#include <wsc/data.h>

/** The sum of the file @p path, which is borrowed: over all bytes if they are at most @p most, else
 *  over blocks of 1 MiB spread over it, with @p most bytes in all but at least two blocks. */
enum wsc_err data_sum_file(const char *path, int64_t most, struct data_file_sum *sum) WSC_CHECKED;
#endif
