/** Files of torch.save (pytorch_model.bin), read without executing anything: torch_weights.c, for
 *  weight_shards.c. */
#ifndef WSC_CONVERT_TORCH_WEIGHTS_H
#define WSC_CONVERT_TORCH_WEIGHTS_H
#include "weight_files.h"

#include <wsc/err.h>

#include <stdbool.h>

/** True when the last of the files begins as torch.save writes it, in either of its formats. */
bool convert_torch_is(const struct convert_files *files);
/** Add the tensors of the last of @p files, unsorted: a dictionary of names and tensors, whose
 *  values may be views of shared storages.  Errors: the format of before torch 1.6; a damaged zip
 *  directory (zip_directory.h); a pickle that asks for a name or an opcode beyond those of tensors,
 *  with the name and the position (pickle.h); a tensor that leaves its storage, a storage that does
 *  not fit its entry. */
enum wsc_err convert_torch_add(struct convert_files *files) WSC_CHECKED;
#endif
