/** Published figures of single matrix products: cycles of programs of other authors, times of
 *  products measured on a machine, ratios of FLOPs.
 *
 *  They are not training steps, so they have their own file
 *  (benchmarks/reference/products/sparse.csv), separate from the figures of <wsc/validation.h>.
 *  Each has its own tolerance:
 *
 *      struct validation_product *row = NULL;
 *      int n = 0;
 *      TRY(validation_products_read(path, &row, &n));
 *      TRY(validation_products_predict(row, n, &folders, machine));
 *
 *  src/validation/product_laws.c has the formulas; `wsc validate` prints the table. */
#ifndef WSC_VALIDATION_PRODUCTS_H
#define WSC_VALIDATION_PRODUCTS_H
#include <wsc/err.h>
#include <wsc/hw.h>
#include <wsc/validation.h>

#include <stdbool.h>
#include <stdint.h>

/** Algorithm of a product; it decides how a row is predicted. */
enum validation_layout {
    VALIDATION_LAYOUT_CSC,    /**< compressed columns in the PEs, a software loop over them */
    VALIDATION_LAYOUT_GEMM,   /**< dense tiles in the PEs, a software loop over them */
    VALIDATION_LAYOUT_STREAM, /**< weights stream over a wafer: cycles_product() */
    VALIDATION_LAYOUT_FLOPS,  /**< FLOPs of a training: dense equivalent / useful */
    VALIDATION_N_LAYOUTS
};
/** A published figure of a product.  Sizes that a layout does not need are 0. */
struct validation_product {
    char id[48];
    enum validation_layout layout;
    bool most;       /**< true: the slowest PE; false: the mean of all PEs, or the total */
    char unit[16];   /**< cycles, s or 1 */
    double value;    /**< as published */
    int64_t w, h;    /**< PEs */
    int64_t n, k, m; /**< matrix (n, k) times (k, m); STREAM: m tokens */
    double density;  /**< fraction of non-zeros of the matrix */
    double count;    /**< STREAM: number of products, one after the other */
    double floor_s;  /**< STREAM: time measured without the products */
    char model[48];  /**< FLOPS: name of a params file */
    /** Overrides separated by `;`. STREAM: numbers of the machine, `cluster.KEY=VALUE`; FLOPS: keys
     *  of the params; other layouts have none. */
    char set[160];
    enum validation_kind kind;
    double tolerance; /**< relative to value */
    char conditions[256], source[160];
    char file[256];       /**< file of the row, for messages */
    int line, set_column; /**< its line, and the column of `set` in it, from 1; 0: no file */
    double predicted;     /**< result */
};
/** Read the rows of a CSV with the columns id, layout, figure (mean, most, total), unit, value,
 *  grid (WxH), matrix (NxKxM), density, count, floor, model, set, kind, tolerance (in percent),
 *  conditions, source. The caller owns *@p rows, also after an error. WSC_CONFIG with the position
 *  in the file, also when it cannot be opened; WSC_IO, WSC_NOMEM. */
enum wsc_err validation_products_read(const char *path, struct validation_product **rows,
                                      int *n) WSC_CHECKED;
/** Predict all rows on @p machine with the overrides of each row; models are in @p folders.
 *  WSC_CONFIG: an override that the layout of its row does not have, or a wrong one, with file,
 *  line and column; a model that cannot be read. WSC_NOMEM. */
enum wsc_err validation_products_predict(struct validation_product *rows, int n,
                                         const struct validation_folders *folders,
                                         const struct hw_machine *machine) WSC_CHECKED;
/** True if the prediction is inside the tolerance, or the row is of kind context. */
bool validation_product_holds(const struct validation_product *row);
#endif
