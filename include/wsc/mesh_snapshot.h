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
/** Functions that write and read snapshots. With several processes, begin() and end() are
 *  collective, in the same order on all of them; each process calls the other functions
 *  independently. */
struct mesh_archive {
    void *ctx; /**< for the functions; borrowed */
    /** Begin a snapshot after @p cycles simulated cycles, of @p n arrays. */
    enum wsc_err (*begin)(void *ctx, int64_t cycles, const struct mesh_array *array, int n);
    /** Write words [first, first + n) of an array; each word is written once, by one process. */
    enum wsc_err (*write)(void *ctx, const char *name, int64_t first, int64_t n,
                          const int64_t *word);
    /** End the snapshot. If @p rc is an error, it is incomplete and must not replace an older one.
     *  Returns @p rc, or the error of storing the snapshot. */
    enum wsc_err (*end)(void *ctx, enum wsc_err rc);
    /** Number of words of an array in the snapshot to resume from; 0: no such array. */
    enum wsc_err (*size)(void *ctx, const char *name, int64_t *n);
    /** Read words [first, first + n) of an array. */
    enum wsc_err (*read)(void *ctx, const char *name, int64_t first, int64_t n, int64_t *word);
};
/** When to write snapshots, and whether to resume. */
struct mesh_snapshots_config {
    struct mesh_archive archive; /**< copied; read functions are needed only with `resumes`, write
                                      functions only with `writes` */
    int64_t every;               /**< interval in cycles over all programs; 0: none at intervals */
    bool writes;  /**< write snapshots; also when a run is asked to stop (struct mesh_config) */
    bool resumes; /**< resume from the snapshot of the archive */
};
/** Snapshots of all programs of one host task, on all fabrics that it makes. */
struct mesh_snapshots;
/** Make the snapshots and, with config->resumes, read the snapshot to resume from. WSC_FORMAT: the
 *  file has no snapshot of this version; *@p out is NULL then. */
enum wsc_err mesh_snapshots_create(struct mesh_snapshots **out,
                                   const struct mesh_snapshots_config *config) WSC_CHECKED;
/** Free it and set the handle to NULL; NULL inside is allowed. */
void mesh_snapshots_destroy(struct mesh_snapshots **s);
/** State that no program follows, so that data which the host reads later is not kept. NULL is
 *  allowed. */
void mesh_snapshots_last(struct mesh_snapshots *s);

/** Cycles of all programs before the snapshot that this run resumed from; this run did not simulate
 *  them. 0 for NULL and for a run that does not resume. */
int64_t mesh_snapshots_resumed(const struct mesh_snapshots *s);
/** Cycles of all programs that have ended, with those before the snapshot. 0 for NULL. */
int64_t mesh_snapshots_over(const struct mesh_snapshots *s);

/** Add @p array, which tasks of @p m change, to the state of the program. It has @p bytes bytes for
 *  each PE, row by row, and is borrowed until mesh_note_end() or the end of the fabric. Call it
 *  before mesh_run(). At most 8 arrays at a time; WSC_CAPACITY for more. */
enum wsc_err mesh_note(struct mesh *m, void *array, int64_t bytes) WSC_CHECKED;
/** Remove @p array, which belongs to one program, before it is freed. NULL, and an array that was
 *  not added, are allowed. */
void mesh_note_end(struct mesh *m, const void *array);
#endif
