/** A safetensors file that is being written, under a temporary name until it is complete; to_hf.c
 *  writes the values. */
#ifndef WSC_CONVERT_SAFETENSORS_WRITER_H
#define WSC_CONVERT_SAFETENSORS_WRITER_H
#include "json_file.h"

#include <wsc/convert.h>
#include <wsc/err.h>

#include <stdint.h>

/** A file that is being written: all tensors are known, and values arrive in order. */
struct convert_writer;
struct convert_out_tensor {
    char name[CONVERT_NAME_BYTES];
    enum convert_dtype dtype;
    int n_dims;
    int64_t shape[2], n;
};
enum wsc_err convert_writer_create(struct convert_writer **out, const char *path,
                                   const struct convert_out_tensor *tensor, int n) WSC_CHECKED;
/** The next @p n values, in the tensors' order, in tensor->dtype. */
enum wsc_err convert_writer_append(struct convert_writer *w, const float *x, int64_t n) WSC_CHECKED;
/** Complete the file, sync and rename it. It is closed also after an error. */
enum wsc_err convert_writer_finish(struct convert_writer **w) WSC_CHECKED;
/** Close and remove the file; NULL allowed. */
void convert_writer_discard(struct convert_writer **w);
#endif
