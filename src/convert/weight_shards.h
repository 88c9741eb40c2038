/** A model in one file or several, in safetensors or of torch.save: opening all, finding a tensor
 *  by its name whichever file has it. */
#ifndef WSC_CONVERT_WEIGHT_SHARDS_H
#define WSC_CONVERT_WEIGHT_SHARDS_H
#include "weight_files.h"

#include <wsc/err.h>

/** Open @p path: a file of weights, or a folder with model.safetensors or pytorch_model.bin or the
 *  index of either's shards, model.safetensors.index.json or pytorch_model.bin.index.json.  Errors:
 *  those of convert_safetensors_add() and convert_torch_add(); a shard that is missing or holds
 *  other tensors than the index says. */
enum wsc_err convert_files_open(struct convert_files **out, const char *path) WSC_CHECKED;
/** Tensor @p name, or NULL. */
const struct convert_tensor *convert_files_find(const struct convert_files *files,
                                                const char *name);
#endif
