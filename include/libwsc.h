/** The C interface of wsc: models and machines from files, predictions, runs.
 *
 *  Link with `pkg-config --cflags --libs libwsc`.  Handles are opaque; what a function returns by a
 *  pointer to a pointer is owned by the caller and released by the function of that name.  Every
 *  function that can fail returns a status, 0 for success and otherwise the exit status that the
 *  program `wsc` would have; libwsc_message() has the sentence, with file, line and a hint.  One
 *  thread at a time.  After an error the handle is NULL.  A handle or text that is NULL where the
 *  comment does not allow it is status 2; functions without a status return 0, NULL or "".
 *
 *      libwsc_params *params;
 *      libwsc_machine *machine;
 *      libwsc_sweep *sweep;
 *      int64_t counts[] = {1, 2, 4};
 *      if (libwsc_params_load(&params, "gpt3_111m.yaml", NULL, 0) ||
 *          libwsc_machine_load(&machine, NULL, NULL, 0) ||
 *          libwsc_scale(&sweep, params, machine, counts, 3, NULL))
 *          puts(libwsc_message());
 *
 *  Compatibility: the major number of LIBWSC_VERSION is that of the shared library
 *  (libwsc.so.1).  Within it functions, members at the end of structs and values are added, none
 *  changes or goes; structs are passed with their size, so that older programs keep working. */
#ifndef LIBWSC_H
#define LIBWSC_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/** C linkage for all functions. */
extern "C" {
#endif

#if defined __GNUC__
#    pragma GCC visibility push(default)
#endif

/** Version of this interface: major * 1000 + minor. */
#define LIBWSC_VERSION 1003

/** A params file with all defaults. */
typedef struct libwsc_params libwsc_params;
/** The constants of a machine. */
typedef struct libwsc_machine libwsc_machine;
/** The results of a sweep. */
typedef struct libwsc_sweep libwsc_sweep;

/** Version of the interface that the library has, as LIBWSC_VERSION. */
int libwsc_version(void);
/** Version and revision of the program that the library is of; static. */
const char *libwsc_program(void);
/** What went wrong in the call that failed last; valid until the next call. */
const char *libwsc_message(void);

/** Read a params file of the Model Zoo, of any style.  @p set has @p n_sets texts `path=value`
 *  that override keys, as `--set` of the program: those of the machine may be among them, which
 *  libwsc_machine_load() takes.  Status 2: a file that is wrong. */
int libwsc_params_load(libwsc_params **params, const char *path, const char *const *set,
                       int n_sets);
/** The effective params as YAML, owned by @p params; NULL without memory. */
const char *libwsc_params_text(libwsc_params *params);
/** Number of warnings of the file. */
int libwsc_params_n_warnings(const libwsc_params *params);
/** Warning number @p i, from 0; owned by @p params. */
const char *libwsc_params_warning(const libwsc_params *params, int i);
/** Release; NULL inside allowed. */
void libwsc_params_free(libwsc_params **params);

/** Read a cluster file; @p path NULL takes the built-in CS-2.  @p set overrides constants:
 *  `cluster.swarmx.link_rate=12.5GB/s`; those of the params may be among them.  Status 2: a file
 *  that is wrong. */
int libwsc_machine_load(libwsc_machine **machine, const char *path, const char *const *set,
                        int n_sets);
/** Add to the warnings of @p params what has no effect on @p machine: overrides of its constants,
 *  overrides of one of the two that only the other has got, servers, patterns of sparsity that
 * match no tensor, a profile of a run.  @p most_csx: the largest number of systems of a sweep; 0:
 *  libwsc_run().  Those of an earlier call go.  Since 1001. */
int libwsc_params_check(libwsc_params *params, const libwsc_machine *machine, int64_t most_csx);
/** Name of the machine, owned by @p machine. */
const char *libwsc_machine_name(const libwsc_machine *machine);
/** Release; NULL inside allowed. */
void libwsc_machine_free(libwsc_machine **machine);

/** How the batch grows in a sweep. */
struct libwsc_scaling {
    size_t size;           /**< sizeof(struct libwsc_scaling) */
    int strong;            /**< 1: the global batch stays; 0: it grows with the systems */
    int64_t batch_per_csx; /**< weak scaling: sequences per system; 0: as the params say */
};
/** One point of a sweep: the steady-state step on a number of systems, with the columns of
 *  scaling.csv.  The five times of the step are its parts and add up to it. */
struct libwsc_point {
    size_t size;             /**< in: sizeof(struct libwsc_point) */
    int64_t params;          /**< parameters of the model */
    int64_t num_csx;         /**< systems */
    int64_t global_batch;    /**< sequences of a step */
    int64_t micro_batch;     /**< largest micro-batch of a system, sequences */
    double tokens_per_s;     /**< of the emulated machine */
    double samples_per_s;    /**< of the emulated machine */
    double speedup;          /**< over the rate per system at the smallest number of systems */
    double efficiency;       /**< speedup / num_csx */
    int64_t step_time_ps;    /**< virtual time of a step, ps */
    int64_t compute_ps;      /**< of it: computing */
    int64_t weights_ps;      /**< of it: waiting for weights or spilled activations */
    int64_t reduce_ps;       /**< of it: waiting for the reduction */
    int64_t boundary_ps;     /**< of it: the boundary between steps */
    double mfu;              /**< model FLOPs over the peak of the wafers */
    double joules_per_token; /**< of the whole cluster */
    int64_t input_ps;        /**< of the step: waiting for input */
};
/** Simulate the steady-state step of @p params on each of @p n_counts numbers of systems.
 *  @p scaling NULL: weak scaling with the batch of the params.  Nothing is trained and no file is
 *  written.  Status 2: also faults of the machine that come or go.  Status 3: the model does not
 * fit the machine. */
int libwsc_scale(libwsc_sweep **sweep, const libwsc_params *params, const libwsc_machine *machine,
                 const int64_t *num_csx, int n_counts, const struct libwsc_scaling *scaling);
/** Number of points. */
int libwsc_sweep_n(const libwsc_sweep *sweep);
/** Point number @p i, from 0, in the order of the counts; point->size says how much of it is
 *  written.  Status 2: there is no such point, or the size is too small. */
int libwsc_sweep_point(const libwsc_sweep *sweep, int i, struct libwsc_point *point);
/** The text of scaling.csv, owned by @p sweep; NULL without memory. */
const char *libwsc_sweep_csv(libwsc_sweep *sweep);
/** Release; NULL inside allowed. */
void libwsc_sweep_free(libwsc_sweep **sweep);

/** Train or evaluate, as runconfig.mode of @p params says, in this process, and write the files of
 * a run below runconfig.model_dir (metrics.jsonl, performance.json, run.log, checkpoints).  Nothing
 * is printed.  Status 2: also params for which the program does something else: mode generate,
 *  validate_only, compile_only, micro_batch_size explore, a list of trainers of which no override
 *  `phase=N` chooses one.
 *  @p numerics: "host", "mesh" or "none".  Data sets are looked at by another process, the program
 *  that libwsc_use_program() names.  Signals are the caller's: none stops a run, and no handler may
 *  run on the calling thread, which should block them; libwsc_stop() stops a run (status 5). */
int libwsc_run(const libwsc_params *params, const libwsc_machine *machine, const char *numerics);
/** Ask the run or the sweep of this process to stop; nothing without either.  A run writes a
 *  checkpoint within about a second and a step, unless runconfig.checkpoint_steps is 0, and ends;
 *  a sweep ends without results (since 1003).  From any thread, also from a signal handler.
 *  Since 1002. */
void libwsc_stop(void);
/** Name the installed program `wsc`, absolute, before the first run that reads data.  The text is
 *  copied. */
void libwsc_use_program(const char *path);

#if defined __GNUC__
#    pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
