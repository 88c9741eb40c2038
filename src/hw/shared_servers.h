/** What the servers of the machine need of its faults.
 *  The state of the present step, kept by fault_events.c.
 */
#ifndef WSC_HW_SHARED_SERVERS_H
#define WSC_HW_SHARED_SERVERS_H
#include <wsc/hw.h>

/** Divisor of the rate of the input of @p wafer in the present step, at least 1. */
double hw_input_slowness(const struct hw *hw, int wafer);
#endif
