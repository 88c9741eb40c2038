/** What the tests of convert share: folders in the test's own place, JSON, logits. */
#ifndef HF_CASE_H
#define HF_CASE_H
#include "../../../src/convert/hf_config.h"
#include "../../../src/convert/hf_families.h"
#include "../../../src/convert/safetensors_writer.h"
#include "../../../src/convert/tensor_map.h"
#include "../../../src/convert/weight_shards.h"

#include <wsc/convert.h>

#include <stdbool.h>

/** Path of @p name in the test's folder; a few live at a time. */
const char *hf_path(const char *name);
/** Write @p n bytes; false when that fails. */
bool hf_write(const char *path, const void *bytes, size_t n);
bool hf_write_text(const char *path, const char *text);
bool hf_exists(const char *path);
/** A safetensors file: @p header as it stands with its length before, then @p n bytes of data. */
bool hf_write_safetensors(const char *path, const char *header, size_t n);
/** Folder @p dir with @p config and random tensors of the right shapes: @p dtype, norms F32. */
bool hf_write_random(const char *dir, const char *config, enum convert_dtype dtype, uint64_t seed);
/** Do the folders have the same tensors, byte by byte, but for @p n_left_out that @p b does not
 * have? Says which one differs. */
bool hf_same_tensors(const char *a, const char *b, int n_left_out);
/** Largest difference between logits of @p checkpoint under @p params and those in
 *  @p reference.json, relative to the largest logit; negative when something fails. */
double hf_logits_error(const char *checkpoint, const char *params, const char *reference);
#endif
