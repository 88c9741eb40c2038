/** Store: reads and writes HDF5 files, datasets of samples and checkpoints. It owns HDF5.
 *
 *  HDF5 does not print its errors; the innermost reason is part of the one-line error message.
 *  Foreign files are not trusted: another process opens a file first, and links, external storage,
 *  filters, types and sizes are checked before a byte is read. Every file is written to
 *  `<path>.tmp`, synced and renamed. A crash therefore never destroys an older file, and a file
 *  under its final name is complete. HDF5 is not thread-safe: only one thread at a time may call
 *  these functions.
 *
 *  Errors: WSC_IO for the operating system, with HDF5's reason; WSC_FORMAT for the content of a
 *  file, with file and dataset; WSC_USAGE for impossible names; WSC_MPI; WSC_NOMEM. Collective
 *  functions are called by every rank of the file's group in the same order, and all succeed or all
 *  fail.
 *
 *      TRY(store_create(&f, "model.mdl", NULL));
 *      TRY(store_define(f, "model.w", STORE_F32, 2, (int64_t[]){4, 8}));
 *      TRY(store_describe(f));
 *      TRY(store_write(f, "model.w", 0, 32, values));
 *      TRY(store_commit(&f));
 *
 *  Start with struct store_group for checkpoints, with store_samples_open() for datasets. */
#ifndef WSC_STORE_H
#define WSC_STORE_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

/** Hidden subcommand that starts a program as the process which probes HDF5 files. */
#define STORE_PROBE_COMMAND "probe-hdf5"
/** Serve as the probing process, if store_probe() has started this process; the first call in the
 *  main() of every program that opens HDF5 files. The serving process examines files until its
 *  parent ends, then the result is true: return from main(). Otherwise the result is false, and
 *  store_probe() may start this program's own file. */
bool store_probe_served(int argc, char **argv);
/** Set the program (borrowed) that store_probe() starts instead of this program's own file. */
void store_probe_with(const char *program);
/** Let another process examine the HDF5 file @p path, except its values. WSC_FORMAT: HDF5 crashed
 *  on the file in that process, or took more than 5 s of processor time or 120 s in all. WSC_IO: no
 *  process could be started; WSC_USAGE: there is no program to start. Call it before a sample file
 *  is opened for the first time; store_open() calls it itself. Not collective; one thread at a
 *  time. */
enum wsc_err store_probe(const char *path) WSC_CHECKED;

/** The HDF5 library that the program runs with. */
struct store_library {
    char version[32];
    bool parallel;  /**< several ranks can write one file */
    bool deflate;   /**< compressed datasets can be read */
    bool checksums; /**< datasets with checksums of HDF5's own can be read */
};
/** Describe the library; cheap, opens no file. */
void store_library(struct store_library *library);

/* ---- sample files (Model Zoo GPT HDF5) ------------------------------------------------------- */

/** A sample file open for reading: dataset `data` (n, 3, T), or (n, 5, T) for variable-length
 *  sequences packed together, or a *corpus*: rank-1 `data`, where sample i has the input tokens
 *  [iT, iT + T), labels shifted by one, and mask 1. Any integer type. */
struct store_samples;
/** Open and check a sample file.  @p corpus_T is the sequence length of a corpus file (<= 0:
 *  unknown, such files are refused); other files carry their own.  A missing attribute n_examples
 *  is accepted.  WSC_IO, WSC_FORMAT; *@p out is NULL then.  Not collective. */
enum wsc_err store_samples_open(struct store_samples **out, const char *path,
                                int64_t corpus_T) WSC_CHECKED;
/** Open a file of tokens alone: unsigned numbers of 16 bits, the low byte first, which are a corpus
 *  of sequences of @p T tokens.  WSC_IO, WSC_FORMAT; *@p out is NULL then. */
enum wsc_err store_samples_open_tokens(struct store_samples **out, const char *path,
                                       int64_t T) WSC_CHECKED;
/** Find out whether the sample file at @p path has a dataset @p name.  WSC_IO, WSC_FORMAT. */
enum wsc_err store_samples_have(const char *path, const char *name, bool *have) WSC_CHECKED;
/** Open dataset @p name (static) of shape (n, rows, T), with 1 to 6 rows, or (n, T), one row: files
 *  of masked tokens have `data` and `labels`, those of pairs six features.  Errors as those of
 * store_samples_open(). */
enum wsc_err store_samples_open_dataset(struct store_samples **out, const char *path,
                                        const char *name) WSC_CHECKED;
/** Close and release; NULL inside allowed. */
void store_samples_close(struct store_samples **samples);
/** Number of samples of the file. */
int64_t store_samples_n(const struct store_samples *s);
/** Tokens of a sample of the file. */
int64_t store_samples_T(const struct store_samples *s);
/** Rows of a sample: 3 (input_ids, attention_mask, labels), or 5 for packed sequences. */
int store_samples_rows(const struct store_samples *s);
/** Read sample @p i, 0 <= i < n, as int32 (rows, T); values beyond int32 are clamped. */
enum wsc_err store_samples_read(struct store_samples *s, int64_t i, int32_t *out) WSC_CHECKED;
/** Number of tokens of a corpus; -1 for a file of samples. */
int64_t store_samples_n_tokens(const struct store_samples *s);
/** Type of the numbers of an HDF5 file, such as "uint16", with the byte order where it is not the
 *  host's. Owned by @p s. */
const char *store_samples_type(const struct store_samples *s);
/** Read @p n >= 1 tokens of a corpus, from token @p first on, as int32; those beyond it are
 *  clamped. WSC_IO. */
enum wsc_err store_samples_read_tokens(struct store_samples *s, int64_t first, int64_t n,
                                       int32_t *out) WSC_CHECKED;
/** Number of samples of @p T tokens in a corpus of @p n_tokens: each needs one token more, the last
 *  label, which is the first token of the next sample too. */
int64_t store_corpus_n(int64_t n_tokens, int64_t T);
/** Make the sample (3, @p T) of a corpus out of @p T + 1 @p tokens. */
void store_corpus_rows(const int32_t *tokens, int64_t T, int32_t *out);
/** Bytes for the digits of a 64-bit number, its sign and a NUL. */
enum { STORE_DIGITS = 24 };
/** Write value @p at, 0 <= at < rows T, of sample @p i as decimal digits, for a message; exact also
 *  beyond int32. WSC_IO. */
enum wsc_err store_samples_digits(struct store_samples *s, int64_t i, int64_t at,
                                  char text[STORE_DIGITS]) WSC_CHECKED;

/** A sample file being written: (n, 3, T), chunk (1, 3, T), shuffle, gzip level 4 and checksums,
 *  attribute n_examples. Equal samples give identical bytes. */
struct store_samples_writer;
/** Types of the numbers of a sample file being written. */
enum store_int { STORE_INT32, STORE_UINT16 };
/** Shape of a sample file being written: n samples of T tokens. */
struct store_samples_shape {
    /** Samples, and tokens of each, at least 1. */
    int64_t n, T;
    /** Type in the file. */
    enum store_int type;
    bool vsl;   /**< two rows more: attention_span, position_ids */
    bool pairs; /**< 6 rows: those of a chosen and of a rejected text */
    /** 0, or the masked tokens per sample of an encoder: the file then has 2 rows of T, ids and
     *  mask, and a second dataset `labels` (n, 3, predictions) with the masked tokens, their
     *  positions and their weights. */
    int64_t predictions;
};
/** Begin `<path>.tmp`; *@p out is NULL after an error.  Not collective. */
enum wsc_err store_samples_create(struct store_samples_writer **out, const char *path,
                                  const struct store_samples_shape *shape) WSC_CHECKED;
/** Write the next @p k samples, (k, rows, T) row-major; values that fit the type. */
enum wsc_err store_samples_append(struct store_samples_writer *w, const int32_t *data,
                                  int64_t k) WSC_CHECKED;
/** Write the labels of the next @p k samples, (k, 3, predictions); only for files with
 *  `predictions`. */
enum wsc_err store_samples_append_labels(struct store_samples_writer *w, const int32_t *labels,
                                         int64_t k) WSC_CHECKED;
/** Sync the file and rename it to its final name; fails unless n samples were appended. The file is
 *  always closed; on failure it is removed. */
enum wsc_err store_samples_finish(struct store_samples_writer **w) WSC_CHECKED;
/** Close and remove; NULL allowed. */
void store_samples_discard(struct store_samples_writer **w);
/** Create, append and finish in one call, for @p n samples (n, 3, T) in memory, as STORE_INT32. */
enum wsc_err store_samples_write(const char *path, const int32_t *data, int64_t n,
                                 int64_t T) WSC_CHECKED;

/* ---- checkpoints ----------------------------------------------------------------------------- */

/** An MPI communicator (MPI_Comm), passed to parallel HDF5; opaque, because only comm uses MPI. */
struct store_communicator;
/** The processes that write a checkpoint together.  One process: all zero but size = 1, or NULL in
 *  its place. */
struct store_group {
    /** Communicator of the ranks that hold MemoryX shards, borrowed while the file is open. NULL:
     *  one process without MPI; the next three members are then not used. */
    const struct store_communicator *communicator;
    /** Replace *@p x by its maximum over all processes; collective over the communicator. */
    enum wsc_err (*max)(void *ctx, int64_t *x);
    /** Replace @p x (@p n) by its sums over all processes, element by element, modulo 2^64;
     *  collective over the communicator. */
    enum wsc_err (*sum)(void *ctx, uint64_t *x, int n);
    void *ctx;      /**< for max and sum, borrowed */
    int rank, size; /**< of this process, of the group */
};

/** A checkpoint open for writing or reading.
 *
 *  Layout: datasets at the root named by the dotted key, contiguous, little-endian; root attributes
 *  `__version__` (0.5, the layout of cstorch 2.4 to 2.10), `__wsc_version__` (ours), `__digest__`
 *  and, last, `__SUCCESS__`. Every dataset has an attribute `__sum__` over its elements, which does
 *  not depend on the division of the dataset among ranks. The digest covers all names, shapes and
 *  sums.
 *
 *  Files of cstorch 1.7 to 2.10 are read: chunks compressed with LZ4, bfloat16 in 16-bit integers,
 *  quoted names, numbers, second names and tensors of one value that have no dataset of their own.
 *  Python objects in them are skipped; external links are not followed. */
struct store_file;
/** Create `<path>.tmp`, replacing one that a crash left.  Collective over @p group; all ranks
 *  succeed or all fail. */
enum wsc_err store_create(struct store_file **out, const char *path,
                          const struct store_group *group) WSC_CHECKED;
/** Open a file for reading. A file marked as one of wsc or cstorch must be complete and of a known
 *  version; a plain HDF5 file with tensors at its root is accepted. Not collective. */
enum wsc_err store_open(struct store_file **out, const char *path) WSC_CHECKED;
/** Version of our layout of a file that is open for reading; 0: another program wrote it. */
int64_t store_version(const struct store_file *f);
/** The path that the file was opened or created with, for messages; borrowed. */
const char *store_path(const struct store_file *f);
/** Complete a file: check that every element was written exactly once, mark the file complete,
 *  flush it to disk, rename it to the final name (group rank 0), sync the folder. Collective: all
 *  ranks succeed or all fail, and a rank whose store_write() failed calls it too. The file is
 *  always closed. On failure it is removed, and an older file of that name does not change. */
enum wsc_err store_commit(struct store_file **file) WSC_CHECKED;
/** Close a file. A file being written is removed; the call is then collective. NULL allowed. */
void store_close(struct store_file **file);
/** Verify a checkpoint: read every dataset, compare it with its `__sum__` if it has one, and
 *  compare all of them with the file's `__digest__`. It reads the whole file. Not collective. */
enum wsc_err store_check(const char *path) WSC_CHECKED;

/** Types of a dataset in memory (float, double, int64_t, unsigned char); the file has them
 *  little-endian, truth values as h5py writes them: an enumeration of 8 bits. */
enum store_type { STORE_F32, STORE_F64, STORE_I64, STORE_BOOL };
/** Add a dataset of rank 0 to 2, row-major; @p shape has @p n_dims extents.  Collective: every rank
 *  of the group defines the same datasets in the same order.  Room on the disk is reserved at once,
 *  so a full disk shows here. */
enum wsc_err store_define(struct store_file *f, const char *name, enum store_type type, int n_dims,
                          const int64_t *shape) WSC_CHECKED;
/** Write elements [first, first + n) of the flattened dataset, in its type. Not collective; the
 *  parts of all ranks together must cover each element once. */
enum wsc_err store_write(struct store_file *f, const char *name, int64_t first, int64_t n,
                         const void *data) WSC_CHECKED;
/** Read elements [first, first + n) of the flattened dataset as @p type: any float type comes as
 *  F32 or F64, any integer type as I64, truth values and integers as BOOL: not 0 is true.
 * WSC_FORMAT when the dataset is missing or of another kind. Not collective. */
enum wsc_err store_read(struct store_file *f, const char *name, enum store_type type, int64_t first,
                        int64_t n, void *data) WSC_CHECKED;
/** Read dataset @p name, which must hold one whole number in [@p lo, @p hi]; @p value stays as it
 * was otherwise.  Not collective. */
enum wsc_err store_read_i64(struct store_file *f, const char *name, int64_t lo, int64_t hi,
                            int64_t *value) WSC_CHECKED;
/** A part of a dataset of rank 2: rows [row, row + rows) and columns [column, column + columns); of
 *  rank 1: of its only column. */
struct store_box {
    int64_t row, rows, column, columns;
};
/** Read a box of dataset @p name as STORE_F32 into @p out (rows, columns).  Not collective. */
enum wsc_err store_read_box(struct store_file *f, const char *name, const struct store_box *box,
                            float *out) WSC_CHECKED;
/** Add a second name @p alias for the dataset @p name (tied tensors).  Collective. */
enum wsc_err store_link(struct store_file *f, const char *name, const char *alias) WSC_CHECKED;
/** Set the number that cstorch reads as @p key; a dataset of that name may exist or not. @p value
 *  is known to all ranks, and every rank of the group calls it. */
enum wsc_err store_set_number(struct store_file *f, const char *key, enum store_type type,
                              double value) WSC_CHECKED;
/** A number of a checkpoint and the variable of this process that holds it: exactly one of the two
 *  pointers is set, both borrowed. In a file it is a dataset of one element and a number for
 *  cstorch. */
struct store_counter {
    const char *name;
    int64_t *whole;    /**< as STORE_I64 */
    double *real;      /**< as STORE_F64 */
    int64_t low, high; /**< allowed range of *whole in a file that is read; not used with real */
};
/** Define @p n counters with their current values, before store_describe(). Collective: every rank
 *  of the group defines the same ones. */
enum wsc_err store_define_counters(struct store_file *f, const struct store_counter *c,
                                   int n) WSC_CHECKED;
/** Write the current values of the counters; called by one rank of the group. */
enum wsc_err store_write_counters(struct store_file *f, const struct store_counter *c,
                                  int n) WSC_CHECKED;
/** Read the counters that the file has, in the order of the table; others do not change. WSC_FORMAT
 *  for one that is no number, or out of range. Not collective. */
enum wsc_err store_read_counters(struct store_file *f, const struct store_counter *c,
                                 int n) WSC_CHECKED;
/** Write the tree of keys (`__spec__`) and the kind of each value (`<key>.__metadata__`), which
 *  make the file a state dict for cstorch. Call it after all definitions. Names below "wsc." are
 *  not in the tree; tensors of a model are in it under the second level of store_define_tensor().
 *  Collective. */
enum wsc_err store_describe(struct store_file *f) WSC_CHECKED;
/** Set text attribute @p name of the root. Collective; a process that could not make its text
 * passes NULL, and all return an error. */
enum wsc_err store_set_text(struct store_file *f, const char *name, const char *value) WSC_CHECKED;
/** Text attribute @p name of the root, owned by the caller.  Not collective. */
enum wsc_err store_get_text(struct store_file *f, const char *name, char **value) WSC_CHECKED;
/** Is there a dataset @p name, or a value without one? */
bool store_has(const struct store_file *f, const char *name);
/** Is there an attribute @p name at the root? */
bool store_has_text(const struct store_file *f, const char *name);
/** Shape of a dataset; fails when it does not exist.  @p shape holds 2; a scalar has n_dims 0. */
enum wsc_err store_shape(const struct store_file *f, const char *name, int *n_dims,
                         int64_t *shape) WSC_CHECKED;
/** A dataset or value in a file, see store_visit(); borrowed. */
struct store_item {
    const char *name;
    const char *type; /**< the stored one, e.g. "float32" */
    /** Rank, and extents (n_dims). */
    int n_dims;
    const int64_t *shape;
    const char *same_as; /**< first name of the dataset if this is a second one; otherwise NULL */
};
/** What store_visit() calls; an error ends the visit. */
typedef enum wsc_err (*store_visit_fn)(void *ctx, const struct store_item *item);
/** Visit all that the file holds, in name order; passes on the error of @p visit. */
enum wsc_err store_visit(struct store_file *f, store_visit_fn visit, void *ctx) WSC_CHECKED;

/* ---- tensors of a model ---------------------------------------------------------------------- */

/** A tensor that a checkpoint should hold; borrowed. */
struct store_tensor {
    const char *name, *alias; /**< Model Zoo names; the second "" when there is none */
    /** Rank, 1 or 2, and extents. */
    int n_dims;
    const int64_t *shape;
    const char *also; /**< a third name; "" when there is none */
};
/** Bytes of a name with its NUL; digits of a step in the name of a checkpoint. */
enum { STORE_NAME_BYTES = 192, STORE_STEP_DIGITS = 18 };
/** The largest step of a checkpoint: STORE_STEP_DIGITS digits of its file's name. */
#define STORE_LAST_STEP INT64_C(999999999999999999)
/** Add the tensor as STORE_F32 under all its names, and under all below the "model." level that a
 *  state dict adds.  Collective. */
enum wsc_err store_define_tensor(struct store_file *f, const struct store_tensor *t) WSC_CHECKED;
/** Add the mask of the tensor as STORE_BOOL under the names of the tensor with `_mask` after them,
 * as releases from 2.2 on have it.  Collective. */
enum wsc_err store_define_mask(struct store_file *f, const struct store_tensor *t) WSC_CHECKED;
/** Find under which name the file holds the mask of a tensor: beside it, or among the states of the
 *  optimizer of masks of releases 1.8 to 2.1; false when under none. */
bool store_find_mask(const struct store_file *f, const struct store_tensor *t,
                     char name[STORE_NAME_BYTES]);
/** Add the selection of trained weights of the tensor as STORE_BOOL, under the names of the tensor
 *  with `_requires_grad` appended. Collective. */
enum wsc_err store_define_selected(struct store_file *f, const struct store_tensor *t) WSC_CHECKED;
/** Find the name under which the file holds the selection of trained weights of a tensor; false:
 *  none. */
bool store_find_selected(const struct store_file *f, const struct store_tensor *t,
                         char name[STORE_NAME_BYTES]);
/** Find under which name the file holds a tensor: the first, the second, the third, that of
 * release 2.0, one of them below the "model." level that a flattened state dict adds, or the first
 * two without the level "policy_model." or "ref_model." of preference optimization, or with the
 * former; false when under none. */
bool store_find_tensor(const struct store_file *f, const struct store_tensor *t,
                       char name[STORE_NAME_BYTES]);
/** Fails unless dataset @p name has the tensor's shape; the error has both. */
enum wsc_err store_check_shape(const struct store_file *f, const char *name,
                               const struct store_tensor *t) WSC_CHECKED;
/** Count the datasets named "model...." that do not belong to the model: they are none of the @p n
 *  tensors or their masks, and no buffers that can be computed (slopes of ALiBi, counts of
 *  metrics). *@p first is the first of them, owned by the file, *@p n_unknown their number. State
 *  of other parts of a trainer is allowed. */
enum wsc_err store_count_unknown(const struct store_file *f, const struct store_tensor *t, int n,
                                 const char **first, int *n_unknown) WSC_CHECKED;

/* ---- folders of checkpoints ------------------------------------------------------------------ */

/** Placeholder of the step in the name of a checkpoint. */
#define STORE_STEP "{step}"
/** A folder of checkpoints, and their name: one STORE_STEP in it.  Borrowed texts. */
struct store_folder {
    const char *dir, *name;
};
/** Path of the checkpoint of step @p step, which need not be there; owned by the caller.
 *  WSC_NOMEM. */
enum wsc_err store_step_path(const struct store_folder *folder, int64_t step,
                             char **path) WSC_CHECKED;
/** Find path and step of the newest checkpoint but the @p skip newest ones (0: of all).
 *  Names have a step, or `<step>_<YYYYmmdd_HHMMSS>`, which a trainer writes when the first name
 *  exists; step and stamp decide which is newest. *@p path, owned by the caller, is NULL when there
 *  is no checkpoint or no such folder. Left-over `.tmp` files are ignored. */
enum wsc_err store_newest(const struct store_folder *folder, int skip, char **path,
                          int64_t *step) WSC_CHECKED;
/** Find a checkpoint of a run (one with `global_step`) in the folder whose name is not that of its
 *  checkpoints, as a run with another checkpoint_name left it, and that was written after
 *  @p since_ns, nanoseconds since 1970. The file @p but (NULL: none), `.tmp` files and those that
 *  cannot be read are not meant. *@p path, owned by the caller, is NULL when there is none.
 *  WSC_IO, WSC_NOMEM. */
enum wsc_err store_find_other(const struct store_folder *folder, int64_t since_ns, const char *but,
                              char **path) WSC_CHECKED;
/** Remove left-over `.tmp` files of an earlier crash, and the checkpoints up to @p newest except
 *  the last @p keep (keep <= 0: remove none). Before any checkpoint is removed, that of step @p
 *  newest is verified with store_check(); when this fails, none is removed. Files of later steps
 *  are not touched. Do not call it while a checkpoint is being written. */
enum wsc_err store_prune(const struct store_folder *folder, int64_t newest,
                         int64_t keep) WSC_CHECKED;
/** Lock the folder @p dir for this process until store_release() or the end of the process, also by
 *  a kill. Fails when another process has the lock. *@p claim is -1 on file systems without locks.
 */
enum wsc_err store_claim(const char *dir, int *claim) WSC_CHECKED;
/** Release the lock of store_claim(); -1 allowed. */
void store_release(int claim);
#endif
