/** The texts that a wafer generates, which the files of generation share: a contiguous share of all
 *  prompts, each with one text or the beams of a search, which follow each other.
 */
#ifndef WSC_WAFER_TEXTS_H
#define WSC_WAFER_TEXTS_H
#include "wafer_state.h"

#include <stdbool.h>
#include <stdint.h>

struct wafer_beams;

struct wafer_texts {
    struct wafer *w;
    int first, n_prompts;  /* of all prompts */
    int n_beams, n;        /* texts of a prompt, and of all of this wafer's */
    bool pairs;            /* encoder and decoder: prompts are sources, texts are targets */
    int64_t T;             /* most positions of a text that the model sees */
    int64_t length_max;    /* of any text at the end */
    int32_t *text;         /* owned (n, length_max) */
    int64_t *length;       /* owned (n) */
    bool *ended;           /* owned (n): by the end-of-text token, or the search of the prompt */
    struct data_range *at; /* owned (n): positions of the step */
    int64_t n_live;        /* texts with new positions in it */
    float *scratch;        /* owned (V) */
    struct wafer_beams *beams; /* owned; NULL without beam search */
};
#endif
