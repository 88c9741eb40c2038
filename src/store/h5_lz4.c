// SPDX-License-Identifier: Apache-2.0
/* Reads HDF5 filter 32004, LZ4. A chunk is 8 bytes of its size, 4 bytes of the size of a block,
 * both big-endian, then for each block 4 bytes of its stored size and its data. A block that
 * compression did not make smaller is stored as it was. */
#include "h5_lz4.h"
#include "h5_info.h"

#include <lz4.h>
#include <string.h>

/* Bytes to which the current dataset's chunks must expand. HDF5 reads past the end of a shorter
 * result, and does not give a filter this number. */
static size_t expected_bytes;

void store_lz4_expect(const struct store_info *info)
{
    expected_bytes = info->chunk_bytes;
}

/* The unread part of a chunk. */
struct input {
    const unsigned char *at;
    size_t n;
};

static bool take_number(struct input *in, int n_bytes, uint64_t *value)
{
    if (in->n < (size_t)n_bytes) return false;
    *value = 0;
    for (int i = 0; i < n_bytes; i++)
        *value = *value << 8 | in->at[i];
    in->at += n_bytes;
    in->n -= (size_t)n_bytes;
    return true;
}

static bool take_block(struct input *in, char *out, size_t n_out)
{
    uint64_t stored;
    if (!take_number(in, 4, &stored) || stored > in->n || stored > INT32_MAX) return false;
    if (stored == n_out)
        memcpy(out, in->at, n_out);
    else if (LZ4_decompress_safe((const char *)in->at, out, (int)stored, (int)n_out) != (int)n_out)
        return false;
    in->at += stored;
    in->n -= stored;
    return true;
}

static bool take_blocks(struct input *in, char *out, size_t n_out)
{
    uint64_t block;
    if (!take_number(in, 4, &block) || !block || block > INT32_MAX) return false;
    for (size_t done = 0; done < n_out;) {
        const size_t n = n_out - done < block ? n_out - done : (size_t)block;
        if (!take_block(in, out + done, n)) return false;
        done += n;
    }
    return true;
}

/* The filter itself (H5Z_func_t): returns the bytes of the result, 0 on failure. */
static size_t expand(unsigned flags, size_t n_values, const unsigned *values, size_t n_bytes,
                     size_t *room, void **buffer)
{
    uint64_t total;
    struct input in = {*buffer, n_bytes};
    (void)n_values, (void)values;
    if (!(flags & H5Z_FLAG_REVERSE) || !take_number(&in, 8, &total)) return 0;
    if (!total || total != expected_bytes) return 0;
    char *out = H5allocate_memory((size_t)total, false);
    if (!out) return 0;
    if (!take_blocks(&in, out, (size_t)total)) {
        (void)H5free_memory(out);
        return 0;
    }
    (void)H5free_memory(*buffer);
    *buffer = out;
    *room = (size_t)total;
    return (size_t)total;
}

void store_lz4_register(void)
{
    static const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                                        .id = STORE_LZ4_FILTER,
                                        .encoder_present = 0,
                                        .decoder_present = 1,
                                        .name = "LZ4",
                                        .can_apply = NULL,
                                        .set_local = NULL,
                                        .filter = expand};
    /* replaces an earlier registration; a query would search for plugins */
    (void)H5Zregister(&filter);
}
