/** Exhibits: published tables and figures as wholes, drawn again from predictions.
 *
 *  An exhibit is an entry of benchmarks/reference/exhibits.yaml: which rows of the published
 *  figures belong to it, and which curves it has (throughput against the number of systems, time of
 *  a step against the batch).  validation_reproduce() predicts the rows and simulates the curves;
 *  <wsc/report.h> draws them.  Nothing in an exhibit is typed in: each figure is read from a row,
 *  also in titles and notes, or simulated.
 */
#ifndef WSC_VALIDATION_EXHIBITS_H
#define WSC_VALIDATION_EXHIBITS_H
#include <wsc/err.h>
#include <wsc/scaling.h>
#include <wsc/text.h>
#include <wsc/validation.h>

#include <stdint.h>

/** Picture of an exhibit, in addition to the table of its rows. */
enum validation_picture {
    VALIDATION_RATIOS,  /**< predicted / published speed, one mark per row */
    VALIDATION_BATCHES, /**< time of a step by global batch, one curve per model */
    VALIDATION_SYSTEMS, /**< throughput and efficiency by number of systems, a curve per model */
    VALIDATION_N_PICTURES
};
/** Maximum number of points of a curve, and of curves of an exhibit. */
enum { VALIDATION_MAX_COUNTS = 16, VALIDATION_MAX_CURVES = 64 };
/** Whole numbers of an exhibit, rising: node counts, batches. */
struct validation_counts {
    int64_t item[VALIDATION_MAX_COUNTS];
    int n;
};
/** A position in the file of exhibits, from 1. */
struct validation_place {
    int line, column;
};
/** One published table or figure.  Texts are owned.  In titles and notes `{ROW}` stands for the
 *  figure of the row with that name, and `{ROW/OTHER}` for the ratio of two. */
struct validation_exhibit {
    char *id;    /**< begins the names of its files; at most OUT_PICTURE_NAME_BYTES */
    char *title; /**< heading */
    char *note;  /**< conditions in a sentence or two; NULL: none */
    int picture; /**< enum validation_picture */
    char *rows;  /**< names of rows or patterns with `*`, separated by blanks; NULL: none */
    struct validation_place title_at, note_at, rows_at;
    /* Models, machine and points of the curves; NULL and 0 in an exhibit without curves. */
    char *models;                     /**< names of params files, separated by blanks */
    char *cluster;                    /**< name of a machine file */
    char *set;                        /**< overrides `path=value`, separated by `;`; NULL: none */
    struct validation_counts num_csx; /**< VALIDATION_SYSTEMS: numbers of systems */
    struct validation_counts batch;   /**< VALIDATION_BATCHES, on one system: sequences */
    int64_t batch_per_csx;            /**< sequences; 0: batch_size / num_csx of the params */
    int64_t msl;                      /**< tokens of a sequence; 0: from the params */
    int64_t measured_to;              /**< largest number of systems measured; 0: none */
};
/** The exhibits of a file. */
struct validation_exhibits {
    char *path;                      /**< owned: the file */
    struct validation_exhibit *item; /**< owned */
    int n;
};
/** Read the file @p path. Errors (WSC_CONFIG) name file, line, column and key. Call
 *  validation_exhibits_fini() on @p out also after an error. */
enum wsc_err validation_exhibits_read(const char *path,
                                      struct validation_exhibits *out) WSC_CHECKED;
/** Keep only the exhibits with one of the @p n ids @p id. WSC_USAGE names an id that does not exist
 *  and lists those that exist. */
enum wsc_err validation_exhibits_keep(struct validation_exhibits *e, const char *const *id,
                                      int n) WSC_CHECKED;
/** Release what validation_exhibits_read() allocated. */
void validation_exhibits_fini(struct validation_exhibits *e);

/** A curve of an exhibit: one model. */
struct validation_curve {
    const char *model;       /**< borrowed from the exhibit's cases */
    struct scaling_row *row; /**< owned; in rising order of node count or batch */
    double *below, *above;   /**< owned; 90 % band of tokens/s relative to row: 0.9, 1.1 */
    int *n_machines;         /**< owned; sampled machines of the band, as of a prediction */
    int n;
    int64_t msl; /**< tokens of a sequence */
};
/** A row whose conditions are not those of the curve of its model. */
enum { VALIDATION_NO_CURVE = -1 };
/** An exhibit with its predictions and curves. */
struct validation_reproduced {
    const struct validation_exhibit *exhibit; /**< borrowed */
    char *title;                              /**< owned: with the figures of rows */
    char *note; /**< owned, likewise; at its end, the rows that are not in the picture */
    const struct validation_prediction **row; /**< owned list; predicted rows */
    /** Owned (n_rows): the curve that a row is a point of; n_curves: none has its model;
     *  VALIDATION_NO_CURVE: the conditions differ. */
    int *curve_of;
    const struct validation_figure **context; /**< owned list; rows without enough conditions */
    struct validation_curve *curve;           /**< owned */
    const struct hw_machine *cluster; /**< machine of the curves, borrowed; NULL: no curve */
    int n_rows, n_context, n_curves;
};
/** Exhibits with their predictions. */
struct validation_reproduction {
    struct validation_reproduced *item; /**< owned */
    int n;
    /** Owned: the rows of the exhibits, each once, and all fitted rows, which the bands need. */
    struct validation_figure *figure;
    struct validation_result result; /**< predictions of `figure` */
    struct validation_cases *curves; /**< owned; models and machines of the curves */
    struct validation_figure *model; /**< owned; rows from which `curves` were loaded */
    const char *command;             /**< for provenance; borrowed */
};
/** Predict the rows of @p comparison that belong to @p exhibits, and simulate the curves of the
 *  exhibits. A pattern without a matching row is an error (WSC_CONFIG) that names it. Collective
 *  over @p comm, whose ranks divide the points of the curves; NULL: this process computes all. Call
 *  validation_reproduction_fini() on @p out also after an error. */
enum wsc_err validation_reproduce(const struct validation_comparison *comparison,
                                  const struct validation_exhibits *exhibits, struct comm *comm,
                                  struct validation_reproduction *out) WSC_CHECKED;
/** The names of the judged rows of @p comparison that no exhibit has, separated by ", ". */
enum wsc_err validation_exhibits_missing(const struct validation_comparison *comparison,
                                         const struct validation_exhibits *exhibits,
                                         struct wsc_text *names) WSC_CHECKED;
/** Release what validation_reproduce() allocated. */
void validation_reproduction_fini(struct validation_reproduction *r);
#endif
