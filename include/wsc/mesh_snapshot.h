/** Snapshots of a fabric: write the state of a run to a file at intervals, and resume the run from
 *  it.
 *
 *  A snapshot is taken between two cycles. It has the whole state of the fabric: wavelets,
 *  switches, queues, operations, memories, edges, host data of tasks (mesh_note()) and the counts
 *  of a watch. It does not depend on the number of threads or processes, so a run may be resumed
 *  with another number of them. A resumed run has the cycles, values, counts and errors of an
 *  uninterrupted one.
 *
 *  To resume, the caller repeats all its calls from mesh_create() on. Programs that had ended are
 *  not run again: the snapshot has the data that the host read from them (counts, words over edges,
 *  copies out) and returns them again. The program that was running continues in the cycle of the
 *  snapshot. The code of the caller must therefore depend only on its arguments and on data read
 *  from the fabric.
 *
 *  A snapshot identifies task functions and maps by their position in the executable, so only the
 *  executable that wrote it can read it. The reader of the file checks this, and that arguments are
 *  equal.
 *
 *      TRY(mesh_snapshots_create(&s, &config));
 *      TRY(mesh_create(&m, &(struct mesh_config){.w = w, .h = h, .snapshots = s}));
 *      ...
 *      TRY(mesh_run(m, &stats)); */
#ifndef WSC_MESH_SNAPSHOT_H
#define WSC_MESH_SNAPSHOT_H
#include <wsc/err.h>
#include <wsc/mesh.h>

#include <stdbool.h>
#include <stdint.h>

/** An array of 64-bit words of a snapshot; the name is static. */
struct mesh_array {
    const char *name;
    int64_t n;
};
/** Where snapshots go and come from.  With several processes all of them call begin() and end(), in
 *  the same order; the others they call each for itself. */
struct mesh_archive {
    void *ctx; /**< for the functions; borrowed */
    /** Begin a snapshot after @p cycles simulated cycles, of @p n arrays. */
    enum wsc_err (*begin)(void *ctx, int64_t cycles, const struct mesh_array *array, int n);
    /** Write words [first, first + n) of an array; each word is written once, by one process. */
    enum wsc_err (*write)(void *ctx, const char *name, int64_t first, int64_t n,
                          const int64_t *word);
    /** The snapshot is complete, or with an error in @p rc it is not and must not replace an older
     *  one; the result is @p rc, or why it could not be kept. */
    enum wsc_err (*end)(void *ctx, enum wsc_err rc);
    /** Words of an array of the snapshot to resume from, 0 when it has none. */
    enum wsc_err (*size)(void *ctx, const char *name, int64_t *n);
    /** Read words [first, first + n) of an array. */
    enum wsc_err (*read)(void *ctx, const char *name, int64_t first, int64_t n, int64_t *word);
};
/** When to write snapshots, and whether to resume. */
struct mesh_snapshots_config {
    struct mesh_archive archive; /**< copied; read functions only where it resumes, write functions
                                      only where it writes */
    int64_t every;               /**< cycles of all programs together; 0: none at intervals */
    bool writes;                 /**< also when a run is asked to stop (struct mesh_config) */
    bool resumes;
};
/** Snapshots of all programs of one task of the host, over as many fabrics as it makes. */
struct mesh_snapshots;
/** Open the archive for resuming, if that is wanted.  WSC_FORMAT for a file that does not hold a
 *  snapshot of this version; *@p out is NULL then. */
enum wsc_err mesh_snapshots_create(struct mesh_snapshots **out,
                                   const struct mesh_snapshots_config *config) WSC_CHECKED;
/** Free it and set the handle to NULL; NULL inside is allowed. */
void mesh_snapshots_destroy(struct mesh_snapshots **s);
/** No program follows: what the host reads from now on need not be kept.  NULL is allowed. */
void mesh_snapshots_last(struct mesh_snapshots *s);

/** Cycles of all programs before the snapshot that was resumed from, which did not run here; 0 for
 *  NULL and where nothing is resumed. */
int64_t mesh_snapshots_resumed(const struct mesh_snapshots *s);

/** Tasks of @p m change @p array (borrowed while the fabric is there), which has @p bytes for each
 *  PE, in rows: it belongs to the state of the program.  Before mesh_run(); at most 8 arrays, more
 *  are WSC_CAPACITY. */
enum wsc_err mesh_note(struct mesh *m, void *array, int64_t bytes) WSC_CHECKED;
#endif
