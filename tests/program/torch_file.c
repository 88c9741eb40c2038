// SPDX-License-Identifier: Apache-2.0
/* Reader of the HDF5 files that scripts of tests/fixtures wrote with PyTorch, and writer of what
 * the program takes: a dataset of samples and a checkpoint of plain tensors. */
#include "torch_file.h"

#include <wsc/mem.h>
#include <wsc/store.h>

#include <stdio.h>
#include <stdlib.h>

void *torch_dataset(hid_t group, const char *name, hid_t type, size_t size, int64_t *n,
                    int64_t shape[2])
{
    hsize_t dims[2] = {1, 1};
    void *data = NULL;
    hid_t set = H5Dopen2(group, name, H5P_DEFAULT), space = H5Dget_space(set);
    if (H5Sget_simple_extent_ndims(space) <= 2) (void)H5Sget_simple_extent_dims(space, dims, NULL);
    *n = (int64_t)(dims[0] * dims[1]);
    for (int d = 0; shape && d < 2; d++)
        shape[d] = (int64_t)dims[d];
    data = wsc_alloc(WSC_MEM_TEST, (size_t)*n, size);
    if (!data || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) abort();
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    return data;
}

bool torch_write_samples(hid_t group, const char *dir, int n, int length)
{
    static const char *const row[] = {"input_ids", "attention_mask", "labels"};
    int32_t *data = wsc_alloc(WSC_MEM_TEST, (size_t)n * 3 * (size_t)length, sizeof *data);
    char path[200];
    if (!data) abort();
    for (int r = 0; r < 3; r++) {
        int64_t m;
        int32_t *values = torch_dataset(group, row[r], H5T_NATIVE_INT32, sizeof *values, &m, NULL);
        for (int i = 0; m == (int64_t)n * length && i < n * length; i++)
            data[(i / length * 3 + r) * length + i % length] = values[i];
        wsc_free(values);
    }
    (void)snprintf(path, sizeof path, "%s/samples.h5", dir);
    const bool written = store_samples_write(path, data, n, length) == WSC_OK;
    wsc_free(data);
    return written;
}

struct visit {
    torch_tensor_fn fn;
    void *ctx;
    int n;
    bool ok;
};

static herr_t visit_one(hid_t group, const char *name, const H5L_info_t *info, void *arg)
{
    struct visit *v = arg;
    int64_t n, shape[2];
    (void)info;
    hid_t set = H5Dopen2(group, name, H5P_DEFAULT), space = H5Dget_space(set);
    int n_dims = H5Sget_simple_extent_ndims(space);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    float *x = torch_dataset(group, name, H5T_NATIVE_FLOAT, sizeof *x, &n, shape);
    v->ok = v->fn(v->ctx, name, n_dims, shape, x) && v->ok;
    v->n++;
    wsc_free(x);
    return 0;
}

bool torch_for_tensors(hid_t group, const char *name, int least, torch_tensor_fn fn, void *ctx)
{
    struct visit v = {fn, ctx, 0, true};
    hid_t tensors = H5Gopen2(group, name, H5P_DEFAULT);
    (void)H5Literate(tensors, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit_one, &v);
    (void)H5Gclose(tensors);
    return v.ok && v.n >= least;
}

static bool define_tensor(void *ctx, const char *name, int n_dims, const int64_t *shape,
                          const float *x)
{
    (void)x;
    return store_define(ctx, name, STORE_F32, n_dims, shape) == WSC_OK;
}

static bool write_tensor(void *ctx, const char *name, int n_dims, const int64_t *shape,
                         const float *x)
{
    return store_write(ctx, name, 0, shape[0] * (n_dims > 1 ? shape[1] : 1), x) == WSC_OK;
}

bool torch_write_weights(hid_t group, const char *dir, int least)
{
    const struct store_group alone = {.size = 1};
    struct store_file *f = NULL;
    char path[200];
    (void)snprintf(path, sizeof path, "%s/weights.mdl", dir);
    return store_create(&f, path, &alone) == WSC_OK &&
           torch_for_tensors(group, "weights", least, define_tensor, f) &&
           torch_for_tensors(group, "weights", least, write_tensor, f) &&
           store_commit(&f) == WSC_OK;
}

bool torch_is_near(double largest_difference, double largest, double tolerance, const char *what)
{
    if (largest_difference <= tolerance * largest) return true;
    (void)fprintf(stderr, "%s: off by %.3g of %.3g\n", what, largest_difference, largest);
    return false;
}
