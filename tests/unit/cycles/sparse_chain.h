/** The dataflow of a product with sparse weights as a max-plus system: what cycles_sparse.c has
 *  an equation for.  Columns of a row of PEs form the sums of one output after the other; the sums
 *  go from both ends of the row to the column that the output belongs to, a word a cycle. */
#ifndef WSC_TEST_SPARSE_CHAIN_H
#define WSC_TEST_SPARSE_CHAIN_H
#include <stdint.h>

struct sparse_chain {
    int cols, turns;     /**< columns; outputs: as many, so many times */
    int k, accumulators; /**< features of a column; outputs that it works on at a time */
    double axpy, share;  /**< cycles of a weight, and of an output's addition to the chain */
    double words, relay; /**< of a vector of sums; cycles from a column to the next */
    double density;
    int random; /**< 0: each column has its mean of weights for each output */
};
/** Cycles of an output. */
double sparse_chain_run(const struct sparse_chain *s, uint64_t seed);
#endif
