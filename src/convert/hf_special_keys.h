/** Configuration keys of the families that are more than a value: hf_special_keys.c,
 *  hf_special_rotary.c and hf_special_encoders.c, for hf_families.c. */
#ifndef WSC_CONVERT_HF_SPECIAL_KEYS_H
#define WSC_CONVERT_HF_SPECIAL_KEYS_H
#include "hf_key.h"

#define CONVERT_SPECIAL_MAP(XX)                                                                    \
    XX(inner)        /**< n_inner; null: four times n_embd */                                      \
    XX(ffn_hidden)   /**< ffn_hidden_size; absent: four times hidden_size */                       \
    XX(four_hidden)  /**< no key: four times hidden_size */                                        \
    XX(head_dim)     /**< width of a head; absent: hidden_size / num_attention_heads */            \
    XX(whole_heads)  /**< rotary over whole heads */                                               \
    XX(full_layers)  /**< no layer has a window */                                                 \
    XX(other_layers) /**< every other layer, from the first one, has the window */                 \
    XX(query_scalar) /**< the scores are divided by its root, not by that of head_dim */           \
    XX(root_scale)   /**< no key: embeddings times the root of hidden_size */                      \
    XX(rotary_pct)   /**< fraction of a head that is rotated */                                    \
    XX(rope_scaling) /**< linear and llama3 */                                                     \
    XX(kv_heads)     /**< num_key_value_heads; absent: that of all heads */                        \
    XX(num_kv_heads) /**< num_kv_heads, the name of Falcon */                                      \
    XX(multi_query)  /**< one key and value head, or all */                                        \
    XX(experts) /**< number of experts, experts per token, factor of the load-balancing loss */    \
    XX(one_kv_head)        /**< no key: one key and value head for all */                          \
    XX(logits_scale)       /**< width_scale, or mup_output_alpha times mup_width_scale */          \
    XX(expansion)          /**< filter as a multiple of d_model */                                 \
    XX(mpt_attention)      /**< the object attn_config of MPT */                                   \
    XX(quarters)           /**< heads that can be divided into four groups */                      \
    XX(bert_heads)         /**< masked tokens alone, or also pairs of sentences */                 \
    XX(masked_head)        /**< masked tokens alone */                                             \
    XX(labels)             /**< number of classes of a head */                                     \
    XX(sequence_objective) /**< classes of sequences, or a regression */                           \
    XX(sequence_labels)    /**< number of classes; none of a regression */                         \
    XX(dense_act)          /**< dense_act_fn, is_gated_act: what feed_forward_proj implies */      \
    XX(head_dropout)       /**< dropout before a head of classes */                                \
    XX(padded_positions)   /**< rows of the position table, including those of padding */          \
    XX(pair_vocabulary)    /**< one vocabulary for encoder and decoder */

#define XX(name)                                                                                   \
    enum wsc_err convert_##name##_to_cs(struct convert_yaml *y) WSC_CHECKED;                       \
    enum wsc_err convert_##name##_to_hf(json_t *config, const struct convert_side *cs) WSC_CHECKED;
CONVERT_SPECIAL_MAP(XX)
#undef XX
/** Base of the rotary frequencies, as rope_theta or in rope_parameters; the conversion back is that
 *  of a plain value. */
enum wsc_err convert_rope_theta_to_cs(struct convert_yaml *y) WSC_CHECKED;
#endif
