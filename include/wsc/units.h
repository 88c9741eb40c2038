/** Numbers and quantities as text: `5ms`, `48 KiB`, `150 GB/s`, `1e-05`.  Layer 0.
 *
 *  A quantity becomes an integer of its base unit by decimal arithmetic, so that it never passes
 *  through a rounded double; only what is finer than the base unit is rounded, to nearest.  Case
 *  counts: `Gb/s` are bits, `GB/s` are bytes.  Nothing is guessed: a number without a unit, an
 *  unknown unit, trailing text, `nan`, `inf`, `1_000` and `010` are errors.
 *  On an error the output is untouched and the sentence of the error names the text.
 */
#ifndef WSC_UNITS_H
#define WSC_UNITS_H
#include <wsc/err.h>

#include <stddef.h>
#include <stdint.h>

/** What is measured; the base unit of the integer, an example for messages. */
#define WSC_UNIT_MAP(XX)                                                                           \
    XX(NONE, "", "12")                                                                             \
    XX(TIME, "ps", "5 us")                                                                         \
    XX(BYTES, "bytes", "48 KiB")                                                                   \
    XX(RATE, "bytes/s", "150 GB/s")                                                                \
    XX(FREQUENCY, "Hz", "850 MHz")                                                                 \
    XX(POWER, "W", "23 kW")                                                                        \
    XX(FLOPS, "FLOP/s", "7.5 PFLOP/s")                                                             \
    XX(PARAMS_RATE, "1/s", "2e9 params/s")

/** Kind of a quantity; WSC_UNIT_MAP has the base unit of each. */
enum wsc_unit {
#define XX(name, base, example) WSC_UNIT_##name,
    WSC_UNIT_MAP(XX)
#undef XX
};

/** Whole number: digits with an optional sign, or a float without fraction (`2147483648.0`,
 *  `1e6`). */
enum wsc_err wsc_units_int(const char *text, int64_t *out) WSC_CHECKED;
/** Finite number; whole numbers are fine (`0`, `10`). */
enum wsc_err wsc_units_double(const char *text, double *out) WSC_CHECKED;
/** Non-negative number with a unit of the kind @p unit, in base units.  WSC_UNIT_NONE wants no
 *  unit, and may be negative. */
enum wsc_err wsc_units_quantity(enum wsc_unit unit, const char *text, int64_t *out) WSC_CHECKED;
/** Write @p value base units with the largest unit that divides it: 850000000 Hz is `850 MHz`.
 *  wsc_units_quantity() reads back the same value.  48 bytes are always enough. */
void wsc_units_format(enum wsc_unit unit, int64_t value, char *text, size_t size);
/** Base unit of @p unit: "ps", "bytes", ...; "" for WSC_UNIT_NONE. */
const char *wsc_units_base(enum wsc_unit unit);
/** Number of insertions, deletions, replacements and swaps of neighbours that turn @p a into
 *  @p b; letters of different case differ.  Strings longer than 63 bytes: the longer length. */
int wsc_units_distance(const char *a, const char *b);
#endif
