/** Helpers of report's tests: files in, output captured, one small sweep. */
#ifndef REPORT_CASE_H
#define REPORT_CASE_H
#include <wsc/report.h>

/** `<test folder>/<name>`, one of eight rotating buffers. */
const char *case_path(const char *name);
/** The whole file as a string; "" when it is not there.  Static buffer, valid until the next. */
const char *case_read(const char *path);
void case_write(const char *path, const char *text);
/** What @p body writes to file descriptor @p fd (1 or 2); valid until the next case_read. */
const char *case_capture(int fd, void (*body)(void));
/** Two models on 1 to 64 systems with parts that add up, three published points. */
struct report_scaling case_scaling(void);
#endif
