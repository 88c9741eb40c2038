/** One small sweep for report's tests. */
#ifndef REPORT_CASE_H
#define REPORT_CASE_H
#include "../../support/case_files.h"

#include <wsc/report.h>

/** Two models on 1 to 64 systems with parts that add up, three published points. */
struct report_scaling case_scaling(void);
#endif
