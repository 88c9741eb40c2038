/** Exhibits: published tables and figures as wholes, drawn again from predictions.
 *
 *  An exhibit is an entry of benchmarks/reference/exhibits.yaml: which rows of the published
 *  figures belong to it, and which curves it has (throughput against the number of systems, time of
 *  a step against the batch).  validation_reproduce() predicts the rows and simulates the curves;
 *  <wsc/report.h> draws them.  Nothing in an exhibit is typed in: each number is read from a row or
 *  simulated.
 */
#ifndef WSC_VALIDATION_EXHIBITS_H
#define WSC_VALIDATION_EXHIBITS_H
#include <wsc/err.h>
#include <wsc/scaling.h>
#include <wsc/validation.h>

#include <stdint.h>

/** What an exhibit shows besides the table of its rows. */
enum validation_picture {
    VALIDATION_RATIOS,  /**< predicted over published speed, a mark for each row */
    VALIDATION_BATCHES, /**< time of a step against the global batch, a curve for each model */
    VALIDATION_SYSTEMS, /**< throughput and efficiency against the number of systems, likewise */
    VALIDATION_N_PICTURES
};
/** Most points of a curve. */
enum { VALIDATION_MAX_COUNTS = 16 };
/** Whole numbers of an exhibit, rising: node counts, batches. */
struct validation_counts {
    int64_t item[VALIDATION_MAX_COUNTS];
    int n;
};
/** One published table or figure.  Texts are owned. */
struct validation_exhibit {
    char *id;    /**< begins the names of its files */
    char *title; /**< heading */
    char *note;  /**< conditions in a sentence or two; NULL: none */
    int picture; /**< enum validation_picture */
    char *rows;  /**< names of rows or patterns with `*`, separated by blanks; NULL: none */
    int rows_line, rows_column; /**< where they stand in the file, from 1 */
    /** What the curves are of; NULL and 0 in an exhibit that has none. */
    char *models;                     /**< names of params files, separated by blanks */
    char *cluster;                    /**< name of a machine file */
    char *set;                        /**< overrides `path=value`, separated by `;`; NULL: none */
    struct validation_counts num_csx; /**< of VALIDATION_SYSTEMS */
    struct validation_counts batch;   /**< sequences, of VALIDATION_BATCHES on one system */
    int64_t batch_per_csx;            /**< sequences; 0: batch_size / num_csx of the params */
    int64_t msl;                      /**< tokens of a sequence; 0: of the params */
    int64_t measured_to;              /**< systems up to which there are measurements; 0: none */
};
/** The exhibits of a file. */
struct validation_exhibits {
    char *path;                      /**< owned: the file */
    struct validation_exhibit *item; /**< owned */
    int n;
};
/** Read @p path.  Errors (WSC_CONFIG) name file, line, column and key.  validation_exhibits_fini()
 *  @p out also after an error. */
enum wsc_err validation_exhibits_read(const char *path,
                                      struct validation_exhibits *out) WSC_CHECKED;
/** Keep only the exhibits with one of the @p n ids @p id; WSC_USAGE names one that does not exist,
 *  with the list of those that do. */
enum wsc_err validation_exhibits_keep(struct validation_exhibits *e, const char *const *id,
                                      int n) WSC_CHECKED;
/** Release what validation_exhibits_read() allocated. */
void validation_exhibits_fini(struct validation_exhibits *e);

/** A curve of an exhibit: one model. */
struct validation_curve {
    const char *model;       /**< borrowed from the exhibit's cases */
    struct scaling_row *row; /**< owned; by node count or batch, rising */
    double *below, *above;   /**< owned; 90 % band of tokens/s relative to row: 0.9, 1.1 */
    int n;
};
/** An exhibit and what the emulator makes of it. */
struct validation_reproduced {
    const struct validation_exhibit *exhibit; /**< borrowed */
    const struct validation_prediction **row; /**< owned list; rows that are predicted */
    const struct validation_figure **context; /**< owned list; rows that say too little */
    struct validation_curve *curve;           /**< owned */
    const struct hw_machine *cluster;         /**< of the curves, borrowed; NULL: no curve */
    int n_rows, n_context, n_curves;
};
/** Exhibits with their predictions. */
struct validation_reproduction {
    struct validation_reproduced *item; /**< owned */
    int n;
    /** Owned: the rows that exhibits name, each once, and all fitted ones, for the bands. */
    struct validation_figure *figure;
    struct validation_result result; /**< their predictions */
    struct validation_cases *curves; /**< owned; models and machines of the curves */
    struct validation_figure *model; /**< owned; what `curves` were loaded by */
    const char *command;             /**< for provenance; borrowed */
};
/** Predict the rows of @p exhibits among those of @p comparison, and simulate their curves.  A
 *  pattern that no row matches is an error (WSC_CONFIG) that names it.  Collective over @p comm,
 *  whose ranks share the points of the curves; NULL: this process alone.
 *  validation_reproduction_fini() @p out also after an error. */
enum wsc_err validation_reproduce(const struct validation_comparison *comparison,
                                  const struct validation_exhibits *exhibits, struct comm *comm,
                                  struct validation_reproduction *out) WSC_CHECKED;
/** Release what validation_reproduce() allocated. */
void validation_reproduction_fini(struct validation_reproduction *r);
#endif
