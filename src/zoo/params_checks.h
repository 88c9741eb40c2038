/** Checks between keys by their subject; zoo_params_check() has their order.
 *
 *  Errors and warnings go to p->diag.  A check also sets the defaults that depend on what it reads.
 */
#ifndef WSC_ZOO_PARAMS_CHECKS_H
#define WSC_ZOO_PARAMS_CHECKS_H
#include <wsc/zoo.h>

/** Report an error at each key of a feature that the kind of the model does not have. */
void zoo_check_features(struct conf_parse *p, const struct zoo_params *params);
/** Both inputs: loaders, batch sizes, tokens before samples. */
void zoo_check_inputs(struct conf_parse *p, struct zoo_params *params);
/** Lengths of samples against the positions of the model, and files of targets. */
void zoo_check_samples(struct conf_parse *p, const struct zoo_params *params);
/** Set the ranges of the numbers that samples have. */
void zoo_set_ranges(struct zoo_params *params);
/** Both sides of an encoder-decoder; nothing for other models. */
void zoo_check_seq2seq(struct conf_parse *p, struct zoo_params *params);
/** Base sizes of muP of an encoder-decoder. */
void zoo_check_mup_of_seq2seq(struct conf_parse *p, struct zoo_model *m);
/** Set the number of positions from the inputs where the model does not give it. */
void zoo_set_positions(struct conf_parse *p, struct zoo_params *params);
/** Find out whether the file has keys of generation. */
void zoo_check_generation(struct conf_parse *p, struct zoo_model *model);
/** The model and its objective. */
void zoo_check_model(struct conf_parse *p, struct zoo_params *params);
#endif
