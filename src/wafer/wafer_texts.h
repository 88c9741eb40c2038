/** The texts that a wafer generates, which the files of generation share. A wafer has a contiguous
 *  share of all prompts; each prompt has one text, or the consecutive texts of a beam search. */
#ifndef WSC_WAFER_TEXTS_H
#define WSC_WAFER_TEXTS_H
#include "wafer_state.h"

#include <stdbool.h>
#include <stdint.h>

struct wafer_beams;

struct wafer_texts {
    struct wafer *w;
    int first, n_prompts; /* first prompt and number of prompts of this wafer */
    int n_beams, n;       /* texts of a prompt, and of all prompts of this wafer */
    bool pairs;           /* encoder and decoder: prompts are sources, texts are targets */
    int64_t T;            /* most positions of a text that fit into the model's context */
    int64_t length_max;   /* most tokens of a text at the end */
    int32_t *text;        /* owned (n, length_max) */
    int64_t *length;      /* owned (n) */
    bool *ended; /* owned (n): by a token or a stop sequence, or the search of the prompt */
    struct data_range *at;     /* owned (n): positions that the step computes */
    int64_t n_live;            /* texts with new positions in the step */
    int64_t n_live_steps;      /* steps with such texts so far */
    float *scratch;            /* owned (V) */
    struct wafer_beams *beams; /* owned; NULL without beam search */
};
#endif
