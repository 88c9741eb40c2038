/** Numbers and quantities as text: `5ms`, `48 KiB`, `150 GB/s`, `1e-05`.
 *
 *  A quantity is converted to an integer number of its base unit in decimal arithmetic, without a
 *  rounded double; only digits below the base unit are rounded, to nearest. A text therefore gives
 *  equal picoseconds on every host. Upper and lower case differ: `Gb/s` are bits, `GB/s` are bytes.
 *  A number without a unit, an unknown unit, trailing text, `nan`, `inf`, `1_000` and `010` are
 *  errors (WSC_CONFIG). After an error the output is unchanged; the message names the text, with
 * the nearest unit as a hint.
 *
 *      int64_t ps;
 *      TRY(wsc_units_quantity(WSC_UNIT_TIME, "2.5 us", &ps));
 *
 *  Here ps is 2500000.  <wsc/conf.h> reads machine and params files with these functions. */
#ifndef WSC_UNITS_H
#define WSC_UNITS_H
#include <wsc/err.h>

#include <stddef.h>
#include <stdint.h>

/** The table of kinds of quantities: name, base unit of the integer, an example for messages. A
 *  table in src/base/units.c has the suffixes that each kind accepts: SI prefixes, KiB to PiB for
 *  bytes, b/s, bps and bit/s for rates in bits. */
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

/** Read a whole number: digits with an optional sign, or a float without fraction (`2147483648.0`,
 *  `1e6`), blanks around it allowed. WSC_CONFIG if it is not a number, has a fraction, or exceeds
 *  int64. */
enum wsc_err wsc_units_int(const char *text, int64_t *out) WSC_CHECKED;
/** Read a finite number in decimal; whole numbers are fine (`0`, `10`).  WSC_CONFIG for
 *  hexadecimal, `nan`, `inf` and numbers that overflow or underflow a double. */
enum wsc_err wsc_units_double(const char *text, double *out) WSC_CHECKED;
/** Read a non-negative number with a unit of the kind @p unit, in base units; a blank may separate
 *  them. With WSC_UNIT_NONE there is no unit, and the number may be negative. WSC_CONFIG also for
 *  more than 19 digits, a number above int64, and a number above 0 that is less than half of the
 *  base unit. */
enum wsc_err wsc_units_quantity(enum wsc_unit unit, const char *text, int64_t *out) WSC_CHECKED;
/** Write @p value base units in the largest unit that divides it: 850000000 Hz is `850 MHz`; 0 has
 *  the smallest unit. wsc_units_quantity() reads back the same value. 48 bytes are always enough; a
 *  smaller @p size cuts the text. */
void wsc_units_format(enum wsc_unit unit, int64_t value, char *text, size_t size);
/** Write @p value base units with at most @p digits digits in the largest unit that leaves
 *  something before the point: `1.1 GHz`, `976.6 TB/s`; multiples of 1024 that need no more digits
 *  keep theirs: `48 KiB`. 48 bytes are enough. */
void wsc_units_format_digits(enum wsc_unit unit, double value, int digits, char *text, size_t size);
/** Seconds of @p ps picoseconds, for rates and for output. */
static inline double wsc_seconds(double ps)
{
    return ps * 1e-12;
}
/** Base unit of @p unit: "ps", "bytes", ...; "" for WSC_UNIT_NONE; static. */
const char *wsc_units_base(enum wsc_unit unit);
/** Suffix number @p i, from 0, that quantities of the kind @p unit may have: "ps", "ns", ...; NULL
 *  after the last; static. */
const char *wsc_units_suffix(enum wsc_unit unit, int i);
/** The suffix of the kind @p unit that is spelt most like the one in @p text: "kB" for "3 KB"; NULL
 *  where @p text has no number, no suffix or a right one; static. */
const char *wsc_units_nearest(enum wsc_unit unit, const char *text);
/** Number of insertions, deletions, replacements and swaps of neighbours that change @p a into @p b
 *  (optimal string alignment distance), for "did you mean" hints. Upper and lower case differ. For
 *  strings longer than 63 bytes the result is the length of the longer one. */
int wsc_units_distance(const char *a, const char *b);
#endif
