/** The safetensors format: the header of a file gives its tensors.  safetensors_writer.h writes
 *  it. */
#ifndef WSC_CONVERT_SAFETENSORS_H
#define WSC_CONVERT_SAFETENSORS_H
#include "weight_files.h"

#include <wsc/err.h>

/** True when the last of @p files begins as the format does: a length and a JSON object. */
bool convert_safetensors_is(const struct convert_files *files);
/** Add the tensors of the last of @p files, unsorted.  Errors: a header that is longer than the
 *  file or than 16 MiB, is no JSON, or names a type twice as large as its bytes; data that overlap,
 *  leave gaps or end beyond the file. */
enum wsc_err convert_safetensors_add(struct convert_files *files) WSC_CHECKED;
#endif
