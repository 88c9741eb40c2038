/** What the files of `data` share when they make datasets: the joined input, the output folders. */
#ifndef WSC_DATA_IMPL_H
#define WSC_DATA_IMPL_H
#include <wsc/data.h>

#include <stdbool.h>

/* text.c */

/** The inputs one after the other, as one stream of bytes. */
struct data_text;
enum wsc_err data_text_open(struct data_text **out, const char *const *path, int n) WSC_CHECKED;
/** Up to @p room bytes; *n is 0 only at the end. */
enum wsc_err data_text_read(struct data_text *text, unsigned char *out, int64_t room,
                            int64_t *n) WSC_CHECKED;
void data_text_close(struct data_text **text);
/** Bytes of all inputs, by reading what is compressed. */
enum wsc_err data_text_size(const char *const *path, int n, int64_t *bytes) WSC_CHECKED;

/* folder.c */

/** Refuse a folder @p dir that holds anything not made by us; a missing or empty one is fine. */
enum wsc_err data_folder_check(const char *dir) WSC_CHECKED;
/** Make @p dir with its parents, empty: what an earlier run of ours left in it is removed. */
enum wsc_err data_folder_begin(const char *dir) WSC_CHECKED;
/** Put @p tmp in the place of @p dir, which passed data_folder_check(). */
enum wsc_err data_folder_finish(const char *tmp, const char *dir) WSC_CHECKED;
/** Remove a folder of ours with its files; nothing happens to one that is not. */
void data_folder_remove(const char *dir);

/* params.c */

/** Counts of one part (train or val), for its data_params.json. */
struct data_part {
    int64_t first, n_samples;   /**< in samples of the whole */
    int64_t n_tokens, n_masked; /**< positions; those with mask 0 */
    int64_t n_bytes, n_chars;   /**< of its input text; characters of UTF-8 */
    int64_t label_count[256];
};
/** Entropy of label_count, nats. */
double data_part_entropy(const struct data_part *part);
/** Write `<dir>/data_params.json` in the Model Zoo's keys. */
enum wsc_err data_params_write(const char *dir, const struct data_make *make,
                               const struct data_part *part) WSC_CHECKED;
/** The text by which our data_params.json is known again. */
#define DATA_CREATED_BY "\"created_by\": \"wsc data\""
#endif
