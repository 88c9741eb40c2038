/** Keys of `model` about generated texts, which the Model Zoo's downstream evaluations set: how the
 *  next token is chosen, and where a text ends. Part of struct zoo_model. The options of `wsc run
 *  --mode generate` come before them (src/app/cmd_run.c). */
#ifndef WSC_ZOO_GENERATION_H
#define WSC_ZOO_GENERATION_H
#include <stdbool.h>
#include <stdint.h>

/** Most stop sequences, and most tokens of one. */
enum { ZOO_MAX_STOPS = 32, ZOO_MAX_STOP_TOKENS = 16 };
/** Sequences of tokens that end a text: sequence i is token[i], n_tokens[i] >= 1 of them. */
struct zoo_stops {
    int n;
    int n_tokens[ZOO_MAX_STOPS];
    int32_t token[ZOO_MAX_STOPS][ZOO_MAX_STOP_TOKENS];
};
/** True when the last of the @p n tokens of @p text are one of the sequences. */
bool zoo_stops_at(const struct zoo_stops *stops, const int32_t *text, int64_t n);

/** A file with one of the keys has the Model Zoo's values for the others, which are the defaults of
 *  these fields; a file without leaves everything to the options. */
struct zoo_generation {
    bool given;            /**< the file has one of the keys */
    int64_t max_tokens;    /**< tokens added to a prompt; CONF_NULL: those of the option */
    int64_t top_k;         /**< sample among the k most likely tokens; 0: all */
    double temperature;    /**< 0: the most likely token */
    double top_p;          /**< sample among the most likely with this probability together */
    struct zoo_stops stop; /**< of new tokens */
};
#endif
