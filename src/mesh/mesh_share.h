/** A fabric that several processes run, each a band of rows: the exchange between the bands after
 *  every cycle, and the agreement of all processes at the end. Without struct mesh_share these
 *  functions do nothing. */
#ifndef WSC_MESH_SHARE_H
#define WSC_MESH_SHARE_H
#include "mesh_state.h"

#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/* After mesh_link(): memory for what crosses. */
enum wsc_err mesh_share_begin(struct mesh *m);
void mesh_share_fini(struct mesh *m);
/* Between two cycles, when something may have crossed: wavelets, wake-ups and room in channels go
 * to the neighbouring bands. */
enum wsc_err mesh_share_cycle(struct mesh *m);
/* Have neighbours sent something for the next cycle? */
bool mesh_share_has_mail(const struct mesh *m);
/* Has this process sent something over a border in the cycle that ended? */
bool mesh_share_has_sent(const struct mesh *m);
/* The cycle up to which, itself not included, nothing leaves over the own borders; 0: not known. */
int64_t mesh_share_ahead(const struct mesh *m);
/* The processes may run so many cycles until the next exchange. */
void mesh_share_gained(const struct mesh *m, int64_t cycles);
/* Each of @p n values becomes the least of all processes. */
enum wsc_err mesh_share_least(const struct mesh *m, int64_t *value, int n);
/* The error @p rc of the band that has the earliest one, among equals the northernmost, in every
 * process. */
enum wsc_err mesh_share_agree(const struct mesh *m, enum wsc_err rc);
/* Counts of all bands. */
enum wsc_err mesh_share_stats(const struct mesh *m, struct mesh_stats *stats);
/* After a snapshot was read: what the neighbours know of the own rows. */
void mesh_share_resume(struct mesh *m);
/* Counts of all bands, and the words that left over edges. */
enum wsc_err mesh_share_results(struct mesh *m, struct mesh_stats *stats);
/* Every process gets the state of all PEs, routers and edges, so that what is left over can be
 * judged as one process would; memories stay where they are. */
enum wsc_err mesh_share_state(struct mesh *m);
/* The process that runs PE @p at. */
int mesh_share_part(const struct mesh *m, int64_t at);
/* The first PE of process @p part; of the one after the last: how many PEs there are. */
int64_t mesh_share_first(const struct mesh *m, int part);
/* Every process gets @p n bytes that process @p owner has. */
enum wsc_err mesh_share_from(const struct mesh *m, int owner, void *bytes, int64_t n);
/* Every process gets @p bytes of all PEs, of which it has its own; those before PE @p at take
 * offset(m, at). */
enum wsc_err mesh_share_places(const struct mesh *m, void *bytes,
                               int64_t (*offset)(const struct mesh *m, int64_t at));
/* Every process gets the rows of all bands in @p host, @p bytes for each PE of @p rect. */
enum wsc_err mesh_share_rows(const struct mesh *m, struct mesh_rect rect, void *host,
                             int64_t bytes);
#endif
