/** Messages between a program that opens HDF5 files and the process that checks them first: a file
 *  descriptor goes one way, a verdict comes back. probe.c sends, prober.c answers. */
#ifndef WSC_STORE_PROBER_H
#define WSC_STORE_PROBER_H
#include <sys/types.h>

/** What the prober answers to a file. */
enum store_verdict_kind {
    STORE_LOOK_PASSED = 1, /**< HDF5 got to the end of what is read before values */
    STORE_LOOK_FAILED,     /**< it did not; `detail` is the signal, 0 when there was none */
    STORE_LOOK_NOT_STARTED /**< there was no process to look; `detail` is errno */
};
struct store_verdict {
    int kind;   /**< of enum store_verdict_kind */
    int detail; /**< see there */
};

/** Wait for the end of process @p pid whatever signals arrive; its status, or -1. */
int store_reap(pid_t pid);
/** Receive requests from socket @p from and answer them, until the other side closes it. */
void store_prober_serve(int from);
#endif
