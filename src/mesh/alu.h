/** The arithmetic of a PE: the table of operations with their rates, and the formats of numbers.
 *  vector.c and pe.c compute elements with it; the conversions are exact or rounded to nearest
 *  even. */
#ifndef WSC_MESH_ALU_H
#define WSC_MESH_ALU_H
#include <wsc/mesh.h>

#include <stdint.h>
#include <string.h>

/* The result of one element as bits, from the bits of a, b and c. */
uint32_t mesh_alu(enum num_half half, int code, const uint32_t v[3]);
struct mesh_code_info {
    const char *name;
    char type[3]; /* of dst, a, b */
    uint8_t simd[2], setup;
};
extern const struct mesh_code_info mesh_code_info[MESH_N_CODES];
static inline int mesh_type_bytes(char type)
{
    return type == 's' ? 4 : 2;
}
static inline float mesh_as_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline uint32_t mesh_as_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
/* An exact product by 2^(127 - bias) changes the bias of the exponent; it also normalises denormal
 * numbers. Infinities and NaNs are inserted afterwards. A number of bfloat16 is the upper half of
 * an fp32 number. Mantissa and bias are constants of the caller, so that there is no branch and
 * loops vectorise. */
static inline float mesh_widen(uint16_t bits, int mantissa, int bias)
{
    const int shift = 23 - mantissa;
    const float scale = mesh_as_float((uint32_t)(254 - bias) << 23);
    if (mantissa == 7 && bias == 127) return mesh_as_float((uint32_t)bits << 16);
    const uint32_t magnitude = (bits & 0x7FFFU) << shift;
    const uint32_t infinity = (0x8000U - (1U << mantissa)) << shift;
    const uint32_t sign = (bits & 0x8000U) << 16;
    uint32_t result = mesh_as_bits(mesh_as_float(magnitude) * scale) | sign;
    result = magnitude == infinity ? 0x7F800000U | sign : result;
    return mesh_as_float(magnitude > infinity ? 0x7FC00000U : result);
}
/* mesh_fp16_to_float() and so on, for each row of NUM_HALF_MAP. */
#define XX(id, word, name, mantissa, bias, ...)                                                    \
    static inline float mesh_##word##_to_float(uint16_t bits)                                      \
    {                                                                                              \
        return mesh_widen(bits, mantissa, bias);                                                   \
    }
NUM_HALF_MAP(XX)
#undef XX
#endif
