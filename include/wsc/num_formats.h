/** Number formats: the one table from which every enum, option, layout and rule by format follows.
 *
 *  A number with m mantissa bits and exponent bias b is (1 + f / 2^m) 2^(e - b) with e from 1 to
 *  2^(15 - m) - 2, or for e = 0 (subnormal) f 2^(1 - b - m); the greatest e is that of infinity
 *  (f = 0) and NaN, as in IEEE 754. fp32 has 16 bits more. A further 16-bit format is one row at
 *  the end of NUM_HALF_MAP. Its numbers must be numbers of fp32, which widening needs: b at most
 *  127.
 *
 *  The header contains no functions of arrays, so that the mesh and the params files can include it
 *  without <wsc/num.h>, which has num_narrow() and num_widen(). */
#ifndef WSC_NUM_FORMATS_H
#define WSC_NUM_FORMATS_H
#include <stdint.h>

/** The 16-bit formats, XX(enumerator, word of an option, name in params files, m, b, loss scaling,
 *  default loss scale, softmax level); struct num_format_row explains the columns. The order is
 *  that of enum num_half: a mesh that names no format has the first one. CB16 is cbfloat16: 1 sign,
 *  6 exponent and 9 mantissa bits; its exponent bias, 31, is assumed (the symmetric choice; none is
 *  published). */
#define NUM_HALF_MAP(XX)                                                                           \
    XX(FP16, fp16, "float16", 10, 15, NUM_LOSS_SCALED, 15, 2)                                      \
    XX(BF16, bf16, "bfloat16", 7, 127, NUM_LOSS_UNSCALED, 15, 2)                                   \
    XX(CB16, cb16, "cbfloat16", 9, 31, NUM_LOSS_DYNAMIC, 31, 1)
/** fp32 and the 16-bit formats, with the columns of NUM_HALF_MAP. No file can ask for the softmax
 *  level of fp32, 3. */
#define NUM_FORMAT_MAP(XX)                                                                         \
    XX(FP32, fp32, "fp32", 23, 127, NUM_LOSS_UNSCALED, 0, 3)                                       \
    NUM_HALF_MAP(XX)

/** Formats of stored numbers: NUM_FP32, then NUM_FP16 and the other rows of NUM_HALF_MAP. */
enum num_format {
#define XX(id, ...) NUM_##id,
    NUM_FORMAT_MAP(XX)
#undef XX
        NUM_N_FORMATS
};
/** The 16-bit formats alone: NUM_HALF_FP16 and the other rows of NUM_HALF_MAP. */
enum num_half {
#define XX(id, ...) NUM_HALF_##id,
    NUM_HALF_MAP(XX)
#undef XX
        NUM_N_HALVES
};

/** The word of a row and a space before it. */
#define NUM_SPACED_WORD(id, word, ...) " " #word
/** Words of an option for all formats, with a space between two, in the order of enum num_format.
 */
#define NUM_FORMAT_OPTIONS (&(NUM_FORMAT_MAP(NUM_SPACED_WORD))[1])
/** Words of an option for the 16-bit formats, in the order of enum num_half. */
#define NUM_HALF_OPTIONS (&(NUM_HALF_MAP(NUM_SPACED_WORD))[1])

/** Does training in a format multiply the loss by a scale that keeps small gradients from becoming
 *  0: never, by a number or dynamically, only dynamically. */
enum num_loss_scaling { NUM_LOSS_UNSCALED, NUM_LOSS_SCALED, NUM_LOSS_DYNAMIC };
/** What the modules ask of a format at run time. */
struct num_format_row {
    const char *word, *name; /**< of options; of params files and messages */
    int mantissa, bias;      /**< m and b */
    enum num_loss_scaling loss_scaling;
    int loss_scale;    /**< exponent of 2: first and largest dynamic loss scale by default, those of
                            the Model Zoo */
    int softmax_level; /**< least precision_opt_level at which the softmax has 16 bits */
};
/** The rows of NUM_FORMAT_MAP. */
extern const struct num_format_row num_formats[NUM_N_FORMATS];

/** Bytes of one element. */
static inline int64_t num_format_bytes(enum num_format f)
{
    return f == NUM_FP32 ? 4 : 2;
}
/** A 16-bit format as one of all formats. */
static inline enum num_format num_format_of(enum num_half half)
{
    return (enum num_format)((int)half + NUM_FP32 + 1);
}
/** A format other than NUM_FP32 as one of the 16-bit formats; for NUM_FP32 the first of them. */
static inline enum num_half num_half_of(enum num_format f)
{
    return (enum num_half)(f == NUM_FP32 ? 0 : (int)f - NUM_FP32 - 1);
}
#endif
