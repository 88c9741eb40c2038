/** The row of a family of models: names and layouts of tensors on both sides, keys of
 *  config.json.  hf_families.c has the rows. */
#ifndef WSC_CONVERT_HF_FAMILY_H
#define WSC_CONVERT_HF_FAMILY_H
#include "hf_key.h"

#include <stdbool.h>

/** How the lines of a Hugging Face tensor are those of one to three of ours.  A line is an output
 *  feature: a row of a linear layer's weight, an element of its bias. */
enum convert_layout {
    CONVERT_SAME = 0,
    CONVERT_TRANSPOSED = 1, /**< weights are (in, out): a line is a column (Conv1D of GPT-2) */
    CONVERT_GROUPED = 2,    /**< query heads of a group, then its key and value head, group by
                                 group; otherwise all queries, all keys, all values */
    CONVERT_ROTARY = 4,     /**< rotary halves there, rotary pairs here: queries and keys */
    CONVERT_QUARTERS = 8    /**< four groups, each with a quarter of the first part's heads, of the
                                 second's, of the third's: CodeGen, which was trained on four cores */
};

/** A row of a family's table.  In names `#` at the start is a block ("transformer.h.3."), `&` one
 * of the decoder after an encoder, `@` an expert, `*` both "weight" and "bias", `/` at the start
 * leaves out the family's prefix. */
struct convert_rule {
    const char *hf;
    const char *cs[3]; /**< without "model."; `#` is a block, family->stack and its number */
    int layout;        /**< of enum convert_layout */
};

struct convert_family {
    const char *name;         /**< what --model takes */
    const char *model_type;   /**< of config.json */
    const char *architecture; /**< class of the model with a head */
    const char *prefix;       /**< of the tensors of the body; a folder may leave it out */
    const char *blocks;       /**< "h", "layers"; of an encoder with a decoder the encoder's */
    const struct convert_rule *rule;
    int n_rules;
    const struct convert_key *key;
    int n_keys;
    const char *const *ignored; /**< keys of config.json without influence, NULL at the end */
    const char *select;         /**< key by which families of one model_type differ, or NULL */
    const char *selected;       /**< its value; "false" is also that of an absent key */
    const char *stack;          /**< our blocks, without "model."; NULL: those of a decoder */
    /** Endings of tensors that belong to other tasks than ours, NULL at the end; they are left out
     *  with a warning. */
    const char *const *beside;
    /** Blocks of a decoder after an encoder, theirs and ours; NULL for other families. */
    const char *decoder_blocks, *decoder_stack;
    /** Names of tensors that are copies of others, NULL at the end; they are left out. */
    const char *const *copies;
    const char *processor; /**< data loader of the params; NULL: that of decoders */
    bool has_factors;      /**< config.json has keys for the factors of muP */
};
#endif
