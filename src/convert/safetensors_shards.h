/** A model in one safetensors file or several: opening all, finding a tensor by its name whichever
 *  file has it. */
#ifndef WSC_CONVERT_SAFETENSORS_SHARDS_H
#define WSC_CONVERT_SAFETENSORS_SHARDS_H
#include "safetensors.h"

#include <wsc/err.h>

/** Open @p path: a .safetensors file, or a folder with model.safetensors or
 *  model.safetensors.index.json.  Errors: a header that is longer than the file or than 16 MiB, is
 *  no JSON, or names a type twice as large as its bytes; data that overlap, leave gaps or end
 *  beyond the file; a shard that is missing or holds other tensors than the index says. */
enum wsc_err convert_files_open(struct convert_files **out, const char *path) WSC_CHECKED;
/** Tensor @p name, or NULL. */
const struct convert_tensor *convert_files_find(const struct convert_files *files,
                                                const char *name);
#endif
