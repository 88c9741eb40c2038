/** The bytes of one file, expanded if its first bytes are those of gzip (RFC 1952) or zstd (RFC
 *  8878); several consecutive members or frames are one stream. */
#ifndef WSC_DATA_UNPACK_H
#define WSC_DATA_UNPACK_H
#include <wsc/err.h>

#include <stdint.h>

struct data_unpack;
/** Open @p path, borrowed; *@p out is NULL on failure. */
enum wsc_err data_unpack_open(struct data_unpack **out, const char *path) WSC_CHECKED;
/** Close the file; NULL allowed. */
void data_unpack_close(struct data_unpack **unpack);
/** Read up to @p room bytes; *@p n is 0 only at the end. A file that ends too early, is damaged, or
 *  has other data after its compressed data is an error. */
enum wsc_err data_unpack_read(struct data_unpack *u, unsigned char *out, int64_t room,
                              int64_t *n) WSC_CHECKED;
/** Number of bytes of the file itself that were read so far. */
int64_t data_unpack_used(const struct data_unpack *u);
#endif
