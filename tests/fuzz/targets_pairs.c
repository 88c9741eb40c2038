// SPDX-License-Identifier: Apache-2.0
/* Well-formed HDF5 files of pairs with any contents: the bytes say which datasets a file has, of
 * which type and shape, in one piece or in chunks, and their numbers.  What is taken must be what
 * the bytes say (src/data/pair_samples.c).  The target `pairs` damages the files themselves, after
 * the prober, and is a thousand times slower. */
#include "../../src/data/pair_samples.h"
#include "fuzz.h"

#include <hdf5.h>
#include <string.h>

static const char *const name[1 + DATA_PAIR_ROWS] = {
    "data",           "chosen_input_ids",   "chosen_attention_mask",
    "chosen_labels",  "rejected_input_ids", "rejected_attention_mask",
    "rejected_labels"};

/* ---- what the bytes say ---------------------------------------------------------------------- */

enum { MOST_DIMS = 3, MOST = 8 * 8 * 8 };

/* A dataset of the file. */
struct said {
    bool there, chunks;
    unsigned type; /* of types() */
    int n_dims;
    hsize_t shape[MOST_DIMS];
    hsize_t n;
    int64_t value[MOST];
};

/* In the file. */
static hid_t types(unsigned which)
{
    const hid_t of[] = {H5T_STD_I32LE, H5T_STD_U16LE, H5T_STD_I64BE, H5T_STD_U8LE,
                        H5T_STD_I8LE,  H5T_STD_U32BE, H5T_STD_U64LE, H5T_IEEE_F32LE};
    return of[which % 8];
}

/* Most shapes agree with the first one's. */
static void read_shape(struct fuzz_bytes *in, struct said *s, const struct said *usual)
{
    const unsigned how = fuzz_next(in);
    if (usual && how % 8) {
        s->n_dims = usual->n_dims;
        memcpy(s->shape, usual->shape, sizeof s->shape);
    } else {
        s->n_dims = (int)(how / 8 % (MOST_DIMS + 1));
        for (int d = 0; d < s->n_dims; d++)
            s->shape[d] = fuzz_next(in) % 8;
    }
    s->n = 1;
    for (int d = 0; d < s->n_dims; d++)
        s->n *= s->shape[d];
}

static void read_said(struct fuzz_bytes *in, struct said *s, const struct said *usual)
{
    const unsigned how = fuzz_next(in);
    s->there = how % 16 != 15;
    s->chunks = how / 16 % 2;
    s->type = how / 32;
    read_shape(in, s, usual);
    for (hsize_t e = 0; e < s->n; e++) {
        const unsigned low = fuzz_next(in);
        s->value[e] =
            low < 240 ? (int64_t)low : (int64_t)((uint64_t)fuzz_next(in) << 4 * (low - 240));
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool write_set(hid_t file, const char *set, const struct said *s)
{
    const hid_t space =
        s->n_dims ? H5Screate_simple(s->n_dims, s->shape, NULL) : H5Screate(H5S_SCALAR);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    if (s->chunks && s->n) (void)H5Pset_chunk(how, s->n_dims ? s->n_dims : 1, s->shape);
    if (!s->n_dims) (void)H5Pset_layout(how, H5D_CONTIGUOUS);
    const hid_t dset = H5Dcreate2(file, set, types(s->type), space, H5P_DEFAULT, how, H5P_DEFAULT);
    const bool good =
        dset >= 0 && H5Dwrite(dset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, s->value) >= 0;
    if (dset >= 0) (void)H5Dclose(dset);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    return good;
}

/* In memory until it is closed. */
static void write_file(const char *path, const struct said *said)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_fapl_core(access, 1 << 14, true);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    fuzz_check(file >= 0, "no file");
    for (int i = 0; i <= DATA_PAIR_ROWS; i++)
        fuzz_check(!said[i].there || write_set(file, name[i], &said[i]), "a dataset not written");
    fuzz_check(H5Fclose(file) >= 0, "no room for a file");
    (void)H5Pclose(access);
}

/* ---- what was read --------------------------------------------------------------------------- */

/* An element as the file holds it, then as an int32: both conversions keep to the range. */
static int32_t expected(const struct said *s, hsize_t e)
{
    static const int64_t most[] = {INT32_MAX, UINT16_MAX, INT64_MAX, UINT8_MAX,
                                   INT8_MAX,  UINT32_MAX, INT64_MAX};
    static const int64_t least[] = {INT32_MIN, 0, INT64_MIN, 0, INT8_MIN, 0, 0};
    const int64_t x = s->value[e];
    const int64_t kept = x > most[s->type]    ? most[s->type]
                         : x < least[s->type] ? least[s->type]
                                              : x;
    return (int32_t)(kept > INT32_MAX ? INT32_MAX : kept < INT32_MIN ? INT32_MIN : kept);
}

static void check_pair(const struct said *said, int64_t i, const int32_t *rows, int64_t T)
{
    const bool apart = said[1].there;
    for (int64_t r = 0; r < DATA_PAIR_ROWS; r++) {
        const struct said *s = &said[apart ? 1 + r : 0];
        const hsize_t first = (hsize_t)(apart ? i : i * DATA_PAIR_ROWS + r) * (hsize_t)T;
        for (hsize_t t = 0; t < (hsize_t)T; t++)
            fuzz_check(rows[(hsize_t)(r * T) + t] == expected(s, first + t), "other numbers");
    }
}

static bool read_pairs(struct data_pairs *p, const struct said *said)
{
    static int32_t rows[DATA_PAIR_ROWS * 8];
    const int64_t n = data_pairs_n(p), T = data_pairs_T(p);
    fuzz_check(n >= 0 && n < 8 && T > 0 && T < 8, "pairs of a size that no dataset has");
    for (int64_t i = 0; i < n; i++) {
        if (!fuzz_taken(data_pairs_read(p, i, rows))) return false;
        check_pair(said, i, rows, T);
    }
    return true;
}

bool fuzz_pair_sets(const uint8_t *bytes, size_t n)
{
    static struct said said[1 + DATA_PAIR_ROWS];
    char path[FUZZ_PATH_BYTES + 16];
    struct fuzz_bytes in = {bytes, n};
    struct data_pairs *p = NULL;
    const bool apart = fuzz_next(&in) % 2;
    read_said(&in, &said[0], NULL);
    for (int i = 1; i <= DATA_PAIR_ROWS; i++) {
        read_said(&in, &said[i], i > 1 ? &said[1] : NULL);
        said[i].there &= apart;
    }
    (void)snprintf(path, sizeof path, "%s/pair_sets.h5", fuzz_folder());
    write_file(path, said);
    const bool taken = fuzz_taken(data_pairs_open(&p, path)) && read_pairs(p, said);
    data_pairs_close(&p);
    fuzz_check_memory(WSC_MEM_DATA);
    fuzz_check_memory(WSC_MEM_STORE);
    return taken;
}
