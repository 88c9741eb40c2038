/** What other files of hw need of the faults in force.
 *  The state of the present step; shared_servers.c asks for it.
 */
#ifndef WSC_HW_FAULT_EVENTS_H
#define WSC_HW_FAULT_EVENTS_H
#include <wsc/hw.h>

/** Divisor of the rate of the input of @p wafer in the present step, at least 1. */
double hw_input_slowness(const struct hw *hw, int wafer);
#endif
