/** Global batches that the real cluster refuses, and micro-batches that leave it idle.
 *
 *  The emulator computes them, so they are warnings: of the parse of a params file
 *  (src/zoo/params_check_input.c), and of rows of `wsc validate --points`, whose columns replace
 * the batches of the file. */
#ifndef WSC_ZOO_BATCH_H
#define WSC_ZOO_BATCH_H
#include <stdint.h>

/** What is wrong with a batch, without the names of the keys; "": nothing. */
struct zoo_batch_notes {
    char batch[128]; /**< about the global batch */
    char micro[192]; /**< about the micro-batch */
};
/** Check that @p batch sequences divide among @p num_csx systems, and that the share of a system
 *  divides into micro-batches of @p micro sequences (CONF_AUTO, CONF_NULL: no given size). The
 *  batch and the number of systems are at least 1. */
struct zoo_batch_notes zoo_batch_notes(int64_t batch, int64_t micro, int64_t num_csx);
#endif
