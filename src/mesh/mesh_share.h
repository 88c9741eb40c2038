/** A fabric that several processes run, each a band of rows: the exchange between the bands after
 *  every cycle, and the agreement of all processes at the end. Without struct mesh_share these
 *  functions do nothing. */
#ifndef WSC_MESH_SHARE_H
#define WSC_MESH_SHARE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* Allocate what the exchange over borders needs, after mesh_link(). */
enum wsc_err mesh_share_begin(struct mesh *m);
void mesh_share_fini(struct mesh *m);
/* Exchange with the neighbouring bands between two cycles: wavelets, routers to visit, room in
 * channels. Needed after each cycle in which something may have crossed. */
enum wsc_err mesh_share_cycle(struct mesh *m);
/* True when neighbours have sent something for the next cycle. */
bool mesh_share_has_messages(const struct mesh *m);
/* True when this process has sent something over a border in the cycle that ended. */
bool mesh_share_has_sent(const struct mesh *m);
/* A lower bound of the cycle in which something leaves over the borders of this process; 0: not
 * known. */
int64_t mesh_share_ahead(const struct mesh *m);
/* Report how many cycles the processes may run until the next exchange; determines when
 * mesh_share_ahead() tries again. */
void mesh_share_gained(const struct mesh *m, int64_t cycles);
/* Replace each of @p n values by the minimum over all processes. */
enum wsc_err mesh_share_least(const struct mesh *m, int64_t *value, int n);
/* Agree on one error: in every process return that of the band with the earliest one, of equal
 * ones the northernmost; @p rc is the error of this process. */
enum wsc_err mesh_share_agree(const struct mesh *m, enum wsc_err rc);
/* Add up the counts of all bands. */
enum wsc_err mesh_share_stats(const struct mesh *m, struct mesh_stats *stats);
/* After a snapshot was read: set what the neighbours know of the rows of this process. */
void mesh_share_resume(struct mesh *m);
/* Give every process the counts of all bands and the words that left over edges. */
enum wsc_err mesh_share_results(struct mesh *m, struct mesh_stats *stats);
/* Give every process the state of all PEs, routers and edges, so that each reports leftovers as
 * one process would. Memories of PEs are not sent. */
enum wsc_err mesh_share_state(struct mesh *m);
/* The process that runs PE @p at. */
int mesh_share_part(const struct mesh *m, int64_t at);
/* The first PE of process @p part; for part = number of processes, the number of PEs. */
int64_t mesh_share_first(const struct mesh *m, int part);
/* Send @p n bytes from process @p owner to every process. */
enum wsc_err mesh_share_from(const struct mesh *m, int owner, void *bytes, int64_t n);
/* Gather an array with entries for all PEs: every process has the part of its own PEs and gets the
 * rest. The entries of the PEs before PE @p at take offset(m, at) bytes. */
enum wsc_err mesh_share_places(const struct mesh *m, void *bytes,
                               int64_t (*offset)(const struct mesh *m, int64_t at));
/* Gather in @p host the rows of all bands, @p bytes for each PE of @p rect. */
enum wsc_err mesh_share_rows(const struct mesh *m, struct mesh_rect rect, void *host,
                             int64_t bytes);
#endif
