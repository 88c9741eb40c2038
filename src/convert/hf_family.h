/** The row of a family of models: names and layouts of tensors on both sides, keys of
 *  config.json.  hf_families.c has the rows. */
#ifndef WSC_CONVERT_HF_FAMILY_H
#define WSC_CONVERT_HF_FAMILY_H
#include "hf_key.h"

#include <stdbool.h>

/** Relation of the lines of a Hugging Face tensor to those of one to three tensors of this program.
 *  A line is an output feature: a row of a linear layer's weight, an element of its bias. */
enum convert_layout {
    CONVERT_SAME = 0,
    CONVERT_TRANSPOSED = 1, /**< weights are (in, out): a line is a column (Conv1D of GPT-2) */
    CONVERT_GROUPED = 2,    /**< query heads of a group, then its key and its value head, group by
                               group; otherwise all queries, all keys, all values */
    CONVERT_ROTARY = 4,     /**< queries and keys: rotary halves there, rotary pairs here */
    CONVERT_OFFSET = 16,    /**< norms: 1 is added to the weights of the folder (Gemma) */
    CONVERT_QUARTERS = 8    /**< four groups, each with a quarter of the heads of the first part, of
                               the second, of the third: CodeGen, which was trained on four cores */
};

/** A row of a family's table of tensors. In names, `#` at the start is a block
 *  ("transformer.h.3."), `&` a block of a decoder after an encoder, `@` an expert, `*` both
 *  "weight" and "bias"; `/` at the start leaves out the family's prefix. */
struct convert_rule {
    const char *hf;
    const char *cs[3]; /**< without "model."; `#` is a block, family->stack and its number */
    int layout;        /**< of enum convert_layout */
};

struct convert_family {
    const char *name;         /**< name of the family for --model */
    const char *model_type;   /**< of config.json */
    const char *architecture; /**< class of the model with a head */
    const char *prefix;       /**< prefix of the tensors of the body; a folder may omit it */
    /** "h", "layers"; for an encoder with a decoder, blocks of the encoder */
    const char *blocks;
    const struct convert_rule *rule;
    int n_rules;
    const struct convert_key *key;
    int n_keys;
    const char *const *ignored; /**< keys of config.json without influence, NULL at the end */
    const char *select;         /**< key that distinguishes families of one model_type, or NULL */
    const char *selected;       /**< value of this key; "false" also stands for an absent key */
    /** blocks of this program, without "model."; NULL: those of a decoder */
    const char *stack;
    /** Endings of tensors for tasks that are not supported, NULL at the end; they are left out with
     *  a warning. */
    const char *const *beside;
    /** Blocks of a decoder after an encoder, on both sides; NULL for other families. */
    const char *decoder_blocks, *decoder_stack;
    /** Names of tensors that are copies of others, NULL at the end; they are left out. */
    const char *const *copies;
    const char *processor; /**< data loader of the params; NULL: that of decoders */
    bool has_factors;      /**< config.json has keys for the factors of muP */
};
#endif
