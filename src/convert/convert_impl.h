/** What the files of convert share: the tables of the families, the pieces of a model on both
 *  sides, JSON with checked access. */
#ifndef WSC_CONVERT_IMPL_H
#define WSC_CONVERT_IMPL_H
#include <wsc/convert.h>
#include <wsc/model.h>
#include <wsc/num.h>
#include <wsc/store.h>
#include <wsc/zoo.h>

#include <jansson.h>

#include <stdio.h>

enum {
    CONVERT_NAME_BYTES = 192,
    CONVERT_PATH_BYTES = 4096,
    CONVERT_MAX_TEXT_BYTES = 16 << 20, /**< of a JSON file or header */
    CONVERT_BLOCK_ELEMS = 1 << 22      /**< values in memory at a time */
};

/* ---- json_file.c ----------------------------------------------------------------------------- */

/** Parse @p n bytes of @p path: an object, or an error with line and column.  The caller owns
 *  *@p out (json_decref). */
enum wsc_err convert_json_parse(json_t **out, const char *path, const char *bytes,
                                size_t n) WSC_CHECKED;
/** Read and parse a file of at most CONVERT_MAX_TEXT_BYTES. */
enum wsc_err convert_json_read(json_t **out, const char *path) WSC_CHECKED;
/** `<dir>/<name>`, or an error when that is too long. */
enum wsc_err convert_path(char path[CONVERT_PATH_BYTES], const char *dir,
                          const char *name) WSC_CHECKED;
/** The bytes of a file of at most CONVERT_MAX_TEXT_BYTES, owned by the caller. */
enum wsc_err convert_json_bytes(const char *path, char **bytes, size_t *n) WSC_CHECKED;

/* ---- safetensors.c, safetensors_shards.c ----------------------------------------------------- */

/** More dimensions than any weight has; a file with more is refused. */
enum { CONVERT_MAX_DIMS = 8 };
/** Name in the format: "BF16". */
const char *convert_dtype_name(enum convert_dtype dtype);
/** Size of a value in bytes. */
int64_t convert_dtype_bytes(enum convert_dtype dtype);

/** A tensor of a safetensors file, row-major. */
struct convert_tensor {
    const char *name; /**< owned by the files it belongs to */
    enum convert_dtype dtype;
    int n_dims;
    int64_t shape[CONVERT_MAX_DIMS];
    int64_t n;     /**< elements */
    int64_t bytes; /**< of its data */
    int file;      /**< which of the files */
    int64_t at;    /**< of its first byte in that file */
};

/** The format of products (num.h) that @p dtype is. */
enum num_format convert_dtype_format(enum convert_dtype dtype);

/** A safetensors file that is open. */
struct convert_file {
    char *path; /**< owned */
    int fd;
    int64_t bytes;
};
/** One file, or all shards of a model. */
struct convert_files {
    struct convert_file *file; /**< owned */
    int n_files, file_room;
    struct convert_tensor *tensor; /**< owned, sorted by name; names owned */
    int n_tensors, room;
};
/** Open @p path: a .safetensors file, or a folder with model.safetensors or
 *  model.safetensors.index.json.  Errors: a header that is longer than the file or than 16 MiB, is
 *  no JSON, or names a type twice as large as its bytes; data that overlap, leave gaps or end
 *  beyond the file; a shard that is missing or holds other tensors than the index says. */
enum wsc_err convert_files_open(struct convert_files **out, const char *path) WSC_CHECKED;
/** NULL allowed. */
void convert_files_close(struct convert_files **files);
/** Tensor @p name, or NULL. */
const struct convert_tensor *convert_files_find(const struct convert_files *files,
                                                const char *name);
/** Read rows [row, row + rows) and columns [column, column + columns) of @p t seen as a matrix of
 *  shape[0] rows (a vector: one column) as fp32 into @p out (rows, columns), row-major. */
enum wsc_err convert_files_read(const struct convert_files *files, const struct convert_tensor *t,
                                const struct store_box *box, float *out) WSC_CHECKED;
/** Open file @p path as the next of @p files and add its tensors, unsorted. */
enum wsc_err convert_file_add(struct convert_files *files, const char *path) WSC_CHECKED;

/* ---- safetensors_writer.c -------------------------------------------------------------------- */

/** A safetensors file being written: all tensors are known, values come in order. */
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
/** Complete, sync, rename.  Closed whatever happens. */
enum wsc_err convert_writer_finish(struct convert_writer **w) WSC_CHECKED;
/** Close and remove; NULL allowed. */
void convert_writer_discard(struct convert_writer **w);

/* ---- hf_families.c --------------------------------------------------------------------------- */

/** How the lines of a Hugging Face tensor are those of one to three of ours.  A line is an output
 *  feature: a row of a linear layer's weight, an element of its bias. */
enum convert_layout {
    CONVERT_SAME = 0,
    CONVERT_TRANSPOSED = 1, /**< weights are (in, out): a line is a column (Conv1D of GPT-2) */
    CONVERT_GROUPED = 2,    /**< query heads of a group, then its key and value head, group by
                                 group; otherwise all queries, all keys, all values */
    CONVERT_ROTARY = 4      /**< rotary halves there, rotary pairs here: queries and keys */
};

/** A row of a family's table.  In names `#` at the start is a block ("transformer.h.3."), `@` an
 *  expert, `*` both "weight" and "bias", `/` at the start leaves out the family's prefix. */
struct convert_rule {
    const char *hf;
    const char *cs[3]; /**< without "model."; `#` is "transformer_decoder.layers.3." */
    int layout;        /**< of enum convert_layout */
};

struct convert_family {
    const char *name;         /**< what --model takes */
    const char *model_type;   /**< of config.json */
    const char *architecture; /**< class of the model with a head */
    const char *prefix;       /**< of the tensors of the body; a folder may leave it out */
    const char *blocks;       /**< "h", "layers" */
    const struct convert_rule *rule;
    int n_rules;
    const struct convert_key *key;
    int n_keys;
    const char *const *ignored; /**< keys of config.json without influence, NULL at the end */
    const char *select; /**< boolean key by which families of one model_type differ, or NULL */
    bool selected;      /**< its value */
};
/** The family of a folder's configuration, and the one that is called @p name. */
enum wsc_err convert_family_of(const char *path, const json_t *config,
                               const struct convert_family **out) WSC_CHECKED;
enum wsc_err convert_family_named(const char *name, const struct convert_family **out) WSC_CHECKED;
/** Is @p name (of a folder) a buffer: a mask or a table of angles, no weight? */
bool convert_is_buffer(const char *name);

/* ---- hf_config.c ----------------------------------------------------------------------------- */

enum { CONVERT_VALUE_BYTES = 64 };
enum convert_value { CONVERT_INT, CONVERT_REAL, CONVERT_BOOL, CONVERT_TEXT };
struct convert_word {
    const char *hf, *cs;
};
/** A folder's config.json. */
struct convert_source {
    const char *path; /**< for messages, borrowed */
    char *text;       /**< its bytes, owned, with a NUL after them */
    size_t n;         /**< of the bytes */
    json_t *json;     /**< the object, owned */
};
/** A folder's configuration on its way to params. */
struct convert_yaml {
    const struct convert_source *from;
    const struct convert_key *key; /**< the row that is being converted */
    FILE *out;
};
/** Our side: params, the model they give. */
struct convert_side {
    const struct convert_family *family;
    const struct zoo_params *params;
    const struct model *model;
    bool fold; /**< to Hugging Face: the model's factors become part of its tensors */
};
enum { CONVERT_MAX_READS = 4 };
/** A configuration key on both sides: one value, as it stands or through `word`.  Without `cs` the
 *  folder must have `fixed`, without `hf` the params must (with `any`: may have anything).  A key
 *  that is more than a value has functions. */
struct convert_key {
    const char *hf, *old_hf; /**< key of config.json; another name that some folders have */
    const char *cs;          /**< key below `model.` */
    enum convert_value type;
    const char *fixed;
    bool any;
    const char *missing; /**< value when config.json does not have the key; NULL: it must */
    const struct convert_word *word; /**< pairs, {NULL, NULL} at the end */
    enum wsc_err (*to_cs)(struct convert_yaml *y);
    enum wsc_err (*to_hf)(json_t *config, const struct convert_side *cs);
    const char *reads[CONVERT_MAX_READS]; /**< other keys of config.json that to_cs takes in */
};
/** A line of the section `model`. */
void convert_yaml_add(struct convert_yaml *y, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** The value of key->hf as text ("null", "12", "gelu"), checked for key->type. */
enum wsc_err convert_config_value(const struct convert_key *key, const struct convert_source *s,
                                  char text[CONVERT_VALUE_BYTES]) WSC_CHECKED;
/** Set a key of config.json; takes @p value, NULL is an error. */
enum wsc_err convert_config_set(json_t *config, const char *key, json_t *value) WSC_CHECKED;
/** The params file of a folder, owned by the caller. */
enum wsc_err convert_config_to_yaml(const struct convert_family *family,
                                    const struct convert_source *s, const char *checkpoint,
                                    char **yaml) WSC_CHECKED;
/** config.json of params; the caller owns *@p config. */
enum wsc_err convert_config_to_json(const struct convert_side *cs, enum convert_dtype dtype,
                                    json_t **config) WSC_CHECKED;

/* ---- hf_source.c ----------------------------------------------------------------------------- */

/** Take in @p n bytes of config.json, for convert_source_fini() also after an error; @p path is
 *  borrowed. */
enum wsc_err convert_source_parse(struct convert_source *s, const char *path, const char *bytes,
                                  size_t n) WSC_CHECKED;
/** Take in the file @p path, for convert_source_fini() also after an error. */
enum wsc_err convert_source_read(struct convert_source *s, const char *path) WSC_CHECKED;
void convert_source_fini(struct convert_source *s);
/** Raise "path:line:column: key: text", with the place of the top-level key @p key if it is there.
 */
enum wsc_err convert_source_raise(const struct convert_source *s, enum wsc_err code,
                                  const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** Raise the error @p rc of params again that were made of @p s and read under its path: with the
 *  keys and places of config.json. */
enum wsc_err convert_source_blame(const struct convert_source *s,
                                  const struct convert_family *family, enum wsc_err rc);

/* ---- tensor_map.c ---------------------------------------------------------------------------- */

enum { CONVERT_MAX_PARTS = 3 };
/** A Hugging Face tensor and the one to three of ours that are its lines. */
struct convert_pair {
    char hf[CONVERT_NAME_BYTES];
    int layout;
    int n_parts;
    int tensor[CONVERT_MAX_PARTS];   /**< of model->tensor */
    float factor[CONVERT_MAX_PARTS]; /**< of the values on their way to Hugging Face */
    int64_t lines[CONVERT_MAX_PARTS], n_lines;
    int64_t width; /**< input features; 1 for vectors */
    int n_dims;
    int64_t groups, head_dim, rotary_dim;
};
/** Does the model multiply embeddings, scores or logits by what no key of a folder says?  And must
 *  its tied embedding become two tensors for that? */
bool convert_has_factors(const struct model *model);
bool convert_unties(const struct model *model);
/** The pairs of a model, in the order of the family's table. */
struct convert_map {
    struct convert_pair *pair; /**< owned */
    int n_pairs;
};
/** Every tensor of the model must have its place; @p bare: names without the family's prefix. */
enum wsc_err convert_map_create(struct convert_map *map, const struct convert_side *cs,
                                bool bare) WSC_CHECKED;
void convert_map_fini(struct convert_map *map);
/** Attribute of a checkpoint: the types its tensors had in the folder it came from, as JSON. */
#define CONVERT_DTYPES "__source_dtypes__"
/** What a checkpoint holds of @p t. */
static inline struct store_tensor convert_tensor_of(const struct model_tensor *t)
{
    return (struct store_tensor){t->name, t->alias, t->n_dims, t->shape};
}
/** Shape of the Hugging Face tensor. */
void convert_pair_shape(const struct convert_pair *pair, int64_t shape[2]);
/** Line of the Hugging Face tensor that row @p row of part @p part is, and back. */
int64_t convert_pair_line(const struct convert_pair *pair, int part, int64_t row);
int64_t convert_pair_row(const struct convert_pair *pair, int64_t line, int *part);
#endif
