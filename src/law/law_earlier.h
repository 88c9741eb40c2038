/** Check of the folder of a size against the params with which its training began.
 *
 *  law_ladder.c calls it before each training of a ladder, on rank 0.
 */
#ifndef WSC_LAW_EARLIER_H
#define WSC_LAW_EARLIER_H
#include <wsc/zoo.h>

/** Compare @p p with the params that an earlier training wrote to its model_dir. WSC_CONFIG with
 *  file and line if they differ in a key that changes the loss; a warning for data folders. */
enum wsc_err law_check_earlier(const struct zoo_params *p) WSC_CHECKED;
#endif
