/** Files that PyTorch wrote, for the program's tests: samples as a dataset, weights as a
 * checkpoint, tensors to compare with. */
#ifndef WSC_TEST_TORCH_FILE_H
#define WSC_TEST_TORCH_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

/** A dataset of up to two dimensions as @p type of @p size bytes, owned; *n its elements; @p shape
 *  may be NULL.  Ends the program when there is none. */
void *torch_dataset(hid_t group, const char *name, hid_t type, size_t size, int64_t *n,
                    int64_t shape[2]);
/** A tensor of a group; false after a failure. */
typedef bool (*torch_tensor_fn)(void *ctx, const char *name, int n_dims, const int64_t *shape,
                                const float *x);
/** Call @p fn for all tensors of the group @p name; true when it always was, of at least @p least.
 */
bool torch_for_tensors(hid_t group, const char *name, int least, torch_tensor_fn fn, void *ctx);
/** Write input_ids, attention_mask and labels of @p group, @p n samples of @p length, to
 *  DIR/samples.h5. */
bool torch_write_samples(hid_t group, const char *dir, int n, int length);
/** Write the tensors of the group `weights`, at least @p least, to DIR/weights.mdl. */
bool torch_write_weights(hid_t group, const char *dir, int least);
/** Prints @p what unless the difference is at most @p tolerance of the largest value. */
bool torch_is_near(double largest_difference, double largest, double tolerance, const char *what);
#endif
