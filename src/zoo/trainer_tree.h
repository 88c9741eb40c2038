/** The tree that the conversion of the trainer style builds, and the functions that put keys into
 *  it; the conversion of files of gigaGPT uses the same ones. Errors go to the `diag` of the
 *  conversion; lack of memory sets its `no_memory`. */
#ifndef WSC_ZOO_TRAINER_TREE_H
#define WSC_ZOO_TRAINER_TREE_H
#include <wsc/zoo.h>

/** Which key of the trainer style names the evaluated data set; a greater one wins. */
enum zoo_eval_rank {
    ZOO_EVAL_NONE,         /**< no key yet */
    ZOO_EVAL_VALIDATE_ALL, /**< validate_all.val_dataloaders */
    ZOO_EVAL_VALIDATE,     /**< validate.val_dataloader */
    ZOO_EVAL_FIT           /**< fit.val_dataloader */
};
/** State of one conversion to the runconfig style; gigaGPT's has only the first two members. */
struct zoo_trainer {
    struct conf_doc *doc;         /**< its root is the tree under construction; borrowed */
    struct conf_diag *diag;       /**< errors and warnings of the file; borrowed */
    const struct conf_node *eval; /**< data set that is evaluated; NULL: none yet */
    const char *eval_path;        /**< the user's key of `eval` */
    enum zoo_eval_rank eval_rank; /**< which key `eval` comes from */
    const struct conf_node *val_checkpoint;  /**< validate.ckpt_path; NULL: not given */
    const struct conf_node *all_checkpoints; /**< validate_all.ckpt_paths; NULL: not given */
    const struct conf_node *global_micro;    /**< of GlobalFlags; NULL: not given */
    bool trains;                             /**< the file has training data */
};

/** A formatted text in the memory of the document, cut to 2 CONF_MAX_PATH; "" without memory. */
const char *zoo_trainer_text(struct zoo_trainer *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** Report that @p node, the value of key @p path, should have been @p expected ("a list"). */
void zoo_trainer_wrong_form(struct conf_diag *d, const struct conf_node *node, const char *path,
                            const char *expected);
/** Put a shared copy of @p node at the dotted path @p to, replacing an earlier value. */
void zoo_trainer_put(struct zoo_trainer *t, const char *to, const struct conf_node *node);
/** Put a shared copy of @p node, which stands under @p path, at the dotted path @p to; warn when
 *  it replaces another value of the file. */
void zoo_trainer_put_over(struct zoo_trainer *t, const char *to, const struct conf_node *node,
                          const char *path);
/** Put a shared copy of @p node at the dotted path @p to unless a value stands there. */
void zoo_trainer_put_absent(struct zoo_trainer *t, const char *to, const struct conf_node *node);
/** Put the scalar @p text at the dotted path @p to; messages place it at @p pos of the file. */
void zoo_trainer_put_text(struct zoo_trainer *t, const char *to, const char *text,
                          struct conf_pos pos);
/** Put the entries of @p map, which the user knows as @p path, into the section @p section.  A key
 *  that the section has already keeps its value, with a warning where the two differ. */
void zoo_trainer_merge(struct zoo_trainer *t, const char *section, const struct conf_node *map,
                       const char *path);
/** The entry of a map that must have exactly one key; NULL after an error about @p path. */
const struct conf_entry *zoo_trainer_single(struct conf_diag *d, const struct conf_node *node,
                                            const char *path);
#endif
