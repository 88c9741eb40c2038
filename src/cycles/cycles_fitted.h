// SPDX-License-Identifier: Apache-2.0
/* The fitted coefficients of the analytical model, which no document states and no machine file
 * has.  Each was read off simulated cycles of the mesh, those of `phi` off a simulated chain of
 * columns.  One row is one coefficient; the equations read it from here, and a golden test writes
 * the table of docs/MODEL.md, section 11, from these rows. */
#ifndef WSC_CYCLES_FITTED_H
#define WSC_CYCLES_FITTED_H

/** XX(name, value, term of the equation, equation in docs/MODEL.md). */
#define CYCLES_FITTED_MAP(XX)                                                                      \
    XX(chain_hidden, 3, "start / chain_hidden, additions that a start hides", "share")             \
    XX(chain_ends, 2, "1 + chain_ends / cols, ends that add two vectors", "share")                 \
    XX(chain_short, 3.5, "cols + ends - chain_short, relays of a chain", "chain")                  \
    XX(token_gap, 2, "gap / token_gap, words that come in during an AXPY", "axpys")                \
    XX(token_more, 3, "token_more cycles of each token", "axpys")                                  \
    XX(row_sum_back, 1, "sides + row_sum_back, times the words sent", "row_sum")                   \
    XX(head_ends, 1.5, "head_ends - head_fewer / head_cols, sums that end", "contract_features")   \
    XX(head_fewer, 2, "head_ends - head_fewer / head_cols, sums that end", "contract_features")    \
    XX(head_least, 0.5, "at least head_least vectors of a key", "contract_features")               \
    XX(head_hidden, 2, "start / head_hidden, additions that a start hides", "contract_features")   \
    XX(loop_ends, 1.5, "loop_ends (q_mean - gap), in loops", "contract_features")                  \
    XX(loop_slope, 0.4, "loop_slope q_mean - loop_offset, in loops", "contract_features")          \
    XX(loop_offset, 2, "loop_slope q_mean - loop_offset, in loops", "contract_features")           \
    XX(pass_hidden, 3, "q_mean - gap / pass_hidden, in loops", "contract_keys")                    \
    XX(key_start, 0.5, "max(start, key_start), keys that the first row passes on",                 \
       "contract_features, contract_keys")                                                         \
    XX(key_sent, 0.36, "key_sent k / rows, values that a row sends, on the mesh",                  \
       "contract_features")                                                                        \
    XX(key_ends, 0.74, "key_ends q_mean, sums of a key, on the mesh", "contract_features")         \
    XX(key_pair, 0.41, "key_pair q_mean, sums of two columns, on the mesh", "contract_features")   \
    XX(key_rounded, 1.4, "key_rounded of each key in 16 bits, on the mesh", "contract_features")   \
    XX(key_ahead, 0.9, "key_ahead of each key, sent ahead, on the mesh", "contract_features")      \
    XX(chain_fabric, 1.5, "2 q_mean + chain_fabric s_f, on the mesh of WSE-3",                     \
       "contract_features")                                                                        \
    XX(row_own, 0.5, "row_own k / rows, values that a row sends, on the mesh", "contract_keys")    \
    XX(row_sent, 2, "row_sent q_mean, a row in 32 bits, on the mesh", "contract_keys")             \
    XX(row_rounded, 2.1, "row_rounded q_mean, a row in 16 bits, on the mesh", "contract_keys")     \
    XX(row_fabric, 0.6, "row_fabric s_f, on the mesh of WSE-3", "contract_keys")                   \
    XX(row_ahead, 2.4, "row_ahead of each key, sent ahead, on the mesh", "contract_keys")          \
    XX(row_way, 1.6, "row_way head_cols hops, way of a row, on the mesh", "contract_keys")         \
    XX(key_same, 1, "key_same cycles of each key of one row, on the mesh", "contract_queries")     \
    XX(key_next, 2, "key_next cycles of the first key of a row, on the mesh", "contract_queries")  \
    XX(turn_hidden, 0.35, "turns - 1 - turn_hidden, on the mesh", "waits")                         \
    XX(value_relay, 0.4, "value_relay (t - 1), AXPYs of two cycles, on the mesh",                  \
       "grad by columns")                                                                          \
    XX(value_relay_full, 1,                                                                        \
       "value_relay_full (t - 1), AXPYs of one or two cycles without a pause, on the mesh",        \
       "grad by columns")                                                                          \
    XX(wait, 0.886, "wait cols^wait_cols, columns that wait for each other", "phi")                \
    XX(wait_cols, 0.085, "wait cols^wait_cols, columns that wait for each other", "phi")           \
    XX(spare_less, 0.16, "accumulators - spare_less - spare_busy busy", "phi")                     \
    XX(place_tasks, 1.5, "dot + place_tasks, tasks of a place, on the mesh", "sampled")            \
    XX(fullest, 0.8, "fullest sqrt(2 ln cols / outputs), on the mesh", "phi")                      \
    XX(next_end, 1, "t + relay + next_end, ends one after the other, on the mesh", "end times")    \
    XX(turn_short, 19, "(ends - 1) relay + t - turn_short, sums of a turn, on the mesh",           \
       "end times")                                                                                \
    XX(way_short, 2, "(ends - way_short) (relay + next_end), way of a turn, on the mesh",          \
       "end times")                                                                                \
    XX(way_rounded, 3, "(ends - way_rounded) relay in 16 bits on WSE-2, on the mesh", "end times") \
    XX(pair_pause, 2, "at least pair_pause, two ends in 16 bits on WSE-2, on the mesh",            \
       "end times")                                                                                \
    XX(pair_rounded, 0.5, "pair_rounded t - relay, two ends in 16 bits on WSE-2, on the mesh",     \
       "end times")                                                                                \
    XX(round_share, 0.25, "round_share (setup_copy - 1 - round_hidden t), WSE-3, on the mesh",     \
       "end times")                                                                                \
    XX(round_hidden, 0.5, "round_share (setup_copy - 1 - round_hidden t), WSE-3, on the mesh",     \
       "end times")                                                                                \
    XX(turn_rounded, 12, "turn_short + turn_rounded in 16 bits on WSE-2, on the mesh",             \
       "end times")                                                                                \
    XX(crowd_cols, 3, "1 - k / (crowd_cols cols), AXPYs of one cycle, on the mesh", "end times")   \
    XX(ends_vary, 0.2, "ends_vary deviations, loads that hold ends up, on the mesh", "end times")  \
    XX(either, 1.5, "either s, where loads or ends decide, on the mesh", "end times")              \
    XX(spare_busy, 0.94, "accumulators - spare_less - spare_busy busy", "phi")

/** Values of the coefficients by name. */
struct cycles_fit {
#define CYCLES_FIT_MEMBER(name, value, term, equation) double name;
    CYCLES_FITTED_MAP(CYCLES_FIT_MEMBER)
#undef CYCLES_FIT_MEMBER
};
extern const struct cycles_fit cycles_fit;
#endif
