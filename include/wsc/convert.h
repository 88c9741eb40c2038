/** Convert: converts checkpoints of other programs, Hugging Face folders to `.mdl` files and back.
 *
 *  A Hugging Face model is a folder with config.json and model.safetensors, or shards of it with
 *  model.safetensors.index.json; pytorch_model.bin and its shards are read as well. Here a model is
 *  a checkpoint with the Model Zoo's tensor names and a params file. One table per family
 *  (src/convert/hf_families.c) says which tensors and which configuration keys belong together; the
 *  same table serves both directions, and a folder that went through both has the same bytes in
 *  every tensor.
 *
 *  Files of others are not trusted: every length, offset and shape is checked before memory is
 *  taken. Values move in blocks, so memory does not grow with a tensor or a model. What is written
 *  gets its final name when it is complete. Not collective: one process.
 *
 *      struct convert_job job = {.input = "gpt2", .out = "gpt2_cs", .dtype = CONVERT_OTHER};
 *      struct convert_result done;
 *      TRY(convert_from_hf(&job, &done));
 *
 *  Errors: WSC_FORMAT for the content of a file, with tensor or key and config.json:line:column;
 *  WSC_IO; WSC_CONFIG for params; WSC_USAGE. Start reading at struct convert_job; read next
 *  docs/FAMILIES.md. */
#ifndef WSC_CONVERT_H
#define WSC_CONVERT_H
#include <wsc/conf.h>
#include <wsc/err.h>
#include <wsc/store.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Types of weights in the safetensors format; tensors of other types are skipped. */
enum convert_dtype { CONVERT_F32, CONVERT_F16, CONVERT_BF16, CONVERT_OTHER };

/* ---- conversion ------------------------------------------------------------------------------ */

/** Called with the progress of a conversion, in bytes of the values of the input. */
typedef void (*convert_progress_fn)(void *ctx, int64_t done, int64_t total);

/** Names of the families that can be written, separated by spaces; their rows are in
 *  src/convert/hf_families.c. */
#define CONVERT_FAMILIES                                                                           \
    "gpt2 gptj gpt-neox llama mistral mixtral qwen2 gemma2 bloom falcon-7b falcon-40b starcoder "  \
    "santacoder btlm jais mpt codegen bert roberta esm2 t5 t5-v1.1 bert-classifier bert-tokens "   \
    "bert-answers roberta-classifier roberta-tokens roberta-answers esm2-classifier esm2-tokens"

/** A conversion in either direction. Strings are borrowed; members for the other direction are not
 *  read. */
struct convert_job {
    const char *input;  /**< from Hugging Face: the folder; to Hugging Face: the checkpoint */
    const char *params; /**< to Hugging Face: the params file */
    const char *family; /**< to Hugging Face: one of CONVERT_FAMILIES */
    const struct conf_set *set; /**< overrides of the params */
    /** Length of `set`. */
    int n_sets;
    const char *out;          /**< folder, made if it is missing */
    enum convert_dtype dtype; /**< to Hugging Face: type of tensors; CONVERT_OTHER: unchanged */
    /** To Hugging Face: maximum size of a file, bytes, above 0. */
    int64_t shard_bytes;
    /** Leave out tensors without a counterpart, with a warning, instead of failing. */
    bool lenient;
    convert_progress_fn progress; /**< NULL: none */
    void *progress_ctx;
};
/** Result of a conversion. */
struct convert_result {
    /** Name of the family; static. */
    const char *family;
    /** Numbers of written tensors, parameters and files. */
    int64_t n_tensors, n_params, n_files;
    int64_t n_left_out; /**< lenient: tensors of the input or the model without a counterpart */
    char checkpoint[4096], params[4096]; /**< paths of written files; "": none */
};
/** Convert a folder to `<out>/model.mdl` and `<out>/params.yaml`. config.json states the family. */
enum wsc_err convert_from_hf(const struct convert_job *job,
                             struct convert_result *result) WSC_CHECKED;
/** Convert a checkpoint and params to `<out>/config.json` and `<out>/model.safetensors`, or shards
 *  and their index when the tensors exceed job->shard_bytes. */
enum wsc_err convert_to_hf(const struct convert_job *job,
                           struct convert_result *result) WSC_CHECKED;
/** Set *@p yes to true if the first bytes of the file are those of safetensors or of torch.save. */
enum wsc_err convert_is_weights(const char *path, bool *yes) WSC_CHECKED;
/** Visit, in order of names, the tensors of a weights file, or of a folder with such a file or its
 *  shards. Type names are those of safetensors ("BF16"). Returns an error of @p visit. */
enum wsc_err convert_visit(const char *path, store_visit_fn visit, void *ctx) WSC_CHECKED;
/** Merge the low-rank adapters of a checkpoint and of params with `lora_params` into their
 * matrices, and write `<out>/model.mdl` and `<out>/params.yaml` without adapters. */
enum wsc_err convert_merge_adapters(const struct convert_job *job,
                                    struct convert_result *result) WSC_CHECKED;
#endif
