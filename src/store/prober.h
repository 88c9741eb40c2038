/** Messages between a program that opens HDF5 files and the process that checks them first: a file
 *  descriptor is sent, a verdict comes back. probe.c sends, prober.c answers. */
#ifndef WSC_STORE_PROBER_H
#define WSC_STORE_PROBER_H
#include <sys/types.h>

/** Answers of the prober. */
enum store_verdict_kind {
    STORE_LOOK_PASSED = 1, /**< HDF5 read everything that precedes the values */
    STORE_LOOK_FAILED,     /**< HDF5 did not; `detail` is the signal, 0 without one */
    STORE_LOOK_NOT_STARTED /**< no process could be started; `detail` is errno */
};
struct store_verdict {
    int kind;   /**< of enum store_verdict_kind */
    int detail; /**< see the constants */
};

/** Wait for the end of process @p pid, also if signals arrive. Returns its status, or -1. */
int store_reap(pid_t pid);
/** Receive requests from socket @p from and answer them, until the other side closes it. */
void store_prober_serve(int from);
#endif
