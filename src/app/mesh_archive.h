/** Snapshots of `wsc mesh KERNEL` as HDF5 files: --snapshot, --every, --resume, and the signal that
 *  asks for one.
 *
 *  app_snapshot_begin(), the run, app_snapshot_end().
 */
#ifndef WSC_APP_MESH_ARCHIVE_H
#define WSC_APP_MESH_ARCHIVE_H
#include "requests.h"

#include <wsc/comm.h>
#include <wsc/err.h>

/** The text of a snapshot's file that has the kernel and its options. */
#define APP_SNAPSHOT_CASE "wsc.mesh.case"
/** Where snapshots of one command go and come from. */
struct app_snapshots;
/** Open the file to resume from, and listen for a signal: those of <wsc/stop.h> end the run between
 *  two cycles, after a snapshot where @p o asks for them.  The case of @p o is given what it needs.
 *  WSC_IO and WSC_FORMAT name the file; collective over @p comm (NULL: this process alone).
 *  *@p out is NULL after an error. */
enum wsc_err app_snapshot_begin(struct app_snapshots **out, struct app_mesh *o,
                                struct comm *comm) WSC_CHECKED;
/** Close what is open and stop to listen; @p rc of the run, with a hint when a signal ended it. */
enum wsc_err app_snapshot_end(struct app_snapshots **s, enum wsc_err rc) WSC_CHECKED;
#endif
