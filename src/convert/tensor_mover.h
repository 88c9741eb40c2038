/** Values from one side to the other, a block at a time: tensor_mover.c, for from_hf.c and to_hf.c.
 */
#ifndef WSC_CONVERT_TENSOR_MOVER_H
#define WSC_CONVERT_TENSOR_MOVER_H
#include "tensor_map.h"
#include "weight_files.h"

#include <wsc/convert.h>
#include <wsc/err.h>
#include <wsc/model.h>

/** Two blocks of memory, their source and their destination. */
struct convert_mover {
    const struct convert_job *job;
    float *block, *source; /**< owned */
    int64_t elems;         /**< elements of each block */
    int64_t done, total;   /**< values, for the progress display */
    bool warned;           /**< a value that is not finite was named, of the pair that is moved */
    struct store_file *store;
    const struct convert_files *files; /**< from Hugging Face */
    const struct convert_tensor *from;
    struct convert_writer *writer; /**< to it */
};
enum wsc_err convert_mover_init(struct convert_mover *m, const struct convert_map *map,
                                const struct convert_job *job) WSC_CHECKED;
void convert_mover_fini(struct convert_mover *m);
/** Move a pair from m->from to our tensors in m->store. */
enum wsc_err convert_move_to_cs(struct convert_mover *m, const struct convert_pair *p,
                                const struct model *model) WSC_CHECKED;
/** Move a pair from our tensors in m->store to m->writer. */
enum wsc_err convert_move_to_hf(struct convert_mover *m, const struct convert_pair *p,
                                const struct model *model) WSC_CHECKED;
#endif
