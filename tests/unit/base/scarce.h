/** Memory that runs out at a chosen allocation of this library, once.  Unit tests only: their
 *  program is linked so that calloc and malloc of the library come by here.
 */
#ifndef WSC_TEST_SCARCE_H
#define WSC_TEST_SCARCE_H
#include <stdbool.h>
#include <stdint.h>

/** Let the allocation after @p n more ones fail. */
void test_scarce_after(int64_t n);
/** No allocation fails from now on; true when one did. */
bool test_scarce_end(void);
#endif
