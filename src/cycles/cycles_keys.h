// SPDX-License-Identifier: Apache-2.0
/** Keys that stream past their queries as the programs of the mesh have them: the scores that a PE
 *  keeps, and the cycles of the two sums over keys where arriving values start the multiply-adds
 *  and a head has several columns. */
#ifndef WSC_CYCLES_KEYS_H
#define WSC_CYCLES_KEYS_H
#include <wsc/cycles_ops.h>

/** Scores of one sequence and one head on a PE. */
struct cycles_scores {
    double rows;    /**< one for each key that a query of the PE attends to */
    double queries; /**< scores of a row, mean */
};

/** Those of the PE with most scores. Counts all keys: rows x tokens steps. */
struct cycles_scores cycles_most_scores(const struct cycles_layout *l);

/** Cycles of one AXPY over the queries that attend to a key, mean over the keys: the elements, the
 *  unused part of their last cycle, the start. */
double cycles_key_axpy(const struct cycles_layout *l);

/** Q K' and dO V' of all sequences: sums over the features of a head, along its columns to the one
 *  that keeps the scores of the key. */
double cycles_scores_of_keys(const struct cycles_layout *l);

/** P V and dS K of all sequences: sums over the keys. */
double cycles_mix_of_keys(const struct cycles_layout *l);
#endif
