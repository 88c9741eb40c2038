// SPDX-License-Identifier: Apache-2.0
/* Sleeps between looks at MPI: they follow the pieces that have moved. */
#include "../../../src/comm/comm_state.h"
#include "../../support/test.h"

enum { IN_FLIGHT = 8, LEAST = 12500, LONGEST = 800000 };

/* So many choices, each after @p finished more pieces; the sleep after them. */
static int64_t after(struct comm *comm, struct comm_nap *nap, int choices, int finished)
{
    for (int i = 0; i < choices; i++) {
        comm->n_finished += finished;
        comm_nap_choose(comm, nap);
    }
    return nap->ns;
}

TEST(comm_nap, sleeps_follow_the_pieces_that_move)
{
    struct comm comm = {.chunks_in_flight = IN_FLIGHT, .n_finished = 1000};
    struct comm_nap nap;
    comm_nap_begin(&comm, &nap);
    T_EQ(nap.ns, COMM_SHORTEST_NAP_NS);
    T_EQ(after(&comm, &nap, 1, IN_FLIGHT / 4), 2 * COMM_SHORTEST_NAP_NS);
    T_EQ(after(&comm, &nap, 5, IN_FLIGHT / 4 + 1), 2 * COMM_SHORTEST_NAP_NS);
    T_EQ(after(&comm, &nap, 1, IN_FLIGHT / 2), COMM_SHORTEST_NAP_NS);
    T_EQ(after(&comm, &nap, 20, IN_FLIGHT), LEAST);
    T_EQ(after(&comm, &nap, 1, 0), 2 * LEAST);
    T_EQ(after(&comm, &nap, 20, 0), LONGEST);
}
