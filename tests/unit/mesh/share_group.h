/** Processes that share a fabric, as threads of a test: the functions of struct mesh_share over
 *  common memory. */
#ifndef WSC_TEST_SHARE_GROUP_H
#define WSC_TEST_SHARE_GROUP_H
#include <wsc/mesh.h>

enum { SHARE_MOST = 8 };
/* Call @p work(share, arg + part * bytes) for each part at once, and wait for all of them; @return
 * how many times they gave their neighbours something. */
int64_t share_group_run(int parts, void (*work)(const struct mesh_share *share, void *arg),
                        void *arg, size_t bytes);
#endif
