/** Elapsed time of cases, so that one sees where `make test` spends it.
 *
 *  slowest_begin() before a case and slowest_end() after it; slowest_print() lists those that took
 *  longest, a line each: `  12.3 s  suite.name`.
 */
#ifndef WSC_SLOWEST_H
#define WSC_SLOWEST_H

void slowest_begin(void);
/** Of the case that CUnit runs now. */
void slowest_end(void);
/** The longest cases of this process, and the time of all; nothing below a second. */
void slowest_print(void);
#endif
