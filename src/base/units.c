// SPDX-License-Identifier: Apache-2.0
/* Quantities with units as integers in base units: "150 GB/s", "2.5 us", "40 GiB".  A text is
 * scanned into a decimal (digits x 10^exponent), its suffix found in a table, and digits x factor /
 * divisor computed in 128 bits with rounding to nearest, so that the same text gives the same
 * picoseconds on every host.  At the end: the edit distance for "did you mean". */
#include <wsc/units.h>

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Digits of a number; characters of the user's text in a message; longest text of an edit distance.
 * 19 digits times the largest factor below, 1e18, and a guard digit still fit 128 bits. */
enum { MAX_DIGITS = 19, MAX_QUOTED = 60, MAX_NAME = 63 };

__extension__ typedef unsigned __int128 wide;

/* A scanned number: value = digits * 10^exponent, trailing zeros removed.  too_long: digits other
 * than 0 did not fit, the value is cut.  end: the first character after it. */
struct decimal {
    bool negative;
    bool too_long;
    uint64_t digits;
    long exponent;
    const char *end;
};

/* One suffix: base units = number * factor / divisor. */
struct suffix {
    enum wsc_unit unit;
    const char *name;
    uint64_t factor;
    uint64_t divisor;
};

/* The largest number of MAX_DIGITS digits, and SI factors. */
#define MAX_MANTISSA 9999999999999999999ULL
#define KILO         1000ULL
#define MEGA         1000000ULL
#define GIGA         1000000000ULL
#define TERA         1000000000000ULL
#define PETA         1000000000000000ULL
#define EXA          1000000000000000000ULL

/* Within a unit from small to large; the formatter takes the last row that divides, so rows that
 * only parse (bits, other spellings) stand before the row they must not shadow. */
static const struct suffix suffixes[] = {
    {WSC_UNIT_TIME, "ps", 1, 1},
    {WSC_UNIT_TIME, "ns", KILO, 1},
    {WSC_UNIT_TIME, "\xc2\xb5s", MEGA, 1},
    {WSC_UNIT_TIME, "us", MEGA, 1},
    {WSC_UNIT_TIME, "ms", GIGA, 1},
    {WSC_UNIT_TIME, "s", TERA, 1},
    {WSC_UNIT_TIME, "min", 60 * TERA, 1},
    {WSC_UNIT_TIME, "h", 3600 * TERA, 1},
    {WSC_UNIT_BYTES, "B", 1, 1},
    {WSC_UNIT_BYTES, "kB", KILO, 1},
    {WSC_UNIT_BYTES, "KiB", 1ULL << 10, 1},
    {WSC_UNIT_BYTES, "MB", MEGA, 1},
    {WSC_UNIT_BYTES, "MiB", 1ULL << 20, 1},
    {WSC_UNIT_BYTES, "GB", GIGA, 1},
    {WSC_UNIT_BYTES, "GiB", 1ULL << 30, 1},
    {WSC_UNIT_BYTES, "TB", TERA, 1},
    {WSC_UNIT_BYTES, "TiB", 1ULL << 40, 1},
    {WSC_UNIT_BYTES, "PB", PETA, 1},
    {WSC_UNIT_BYTES, "PiB", 1ULL << 50, 1},
    {WSC_UNIT_RATE, "b/s", 1, 8},
    {WSC_UNIT_RATE, "kb/s", KILO, 8},
    {WSC_UNIT_RATE, "Mb/s", MEGA, 8},
    {WSC_UNIT_RATE, "Gb/s", GIGA, 8},
    {WSC_UNIT_RATE, "Tb/s", TERA, 8},
    {WSC_UNIT_RATE, "bps", 1, 8},
    {WSC_UNIT_RATE, "kbps", KILO, 8},
    {WSC_UNIT_RATE, "Mbps", MEGA, 8},
    {WSC_UNIT_RATE, "Gbps", GIGA, 8},
    {WSC_UNIT_RATE, "Tbps", TERA, 8},
    {WSC_UNIT_RATE, "Gbit/s", GIGA, 8},
    {WSC_UNIT_RATE, "Tbit/s", TERA, 8},
    {WSC_UNIT_RATE, "KiB/s", 1ULL << 10, 1},
    {WSC_UNIT_RATE, "MiB/s", 1ULL << 20, 1},
    {WSC_UNIT_RATE, "GiB/s", 1ULL << 30, 1},
    {WSC_UNIT_RATE, "B/s", 1, 1},
    {WSC_UNIT_RATE, "kB/s", KILO, 1},
    {WSC_UNIT_RATE, "MB/s", MEGA, 1},
    {WSC_UNIT_RATE, "GB/s", GIGA, 1},
    {WSC_UNIT_RATE, "TB/s", TERA, 1},
    {WSC_UNIT_RATE, "PB/s", PETA, 1},
    {WSC_UNIT_FREQUENCY, "Hz", 1, 1},
    {WSC_UNIT_FREQUENCY, "kHz", KILO, 1},
    {WSC_UNIT_FREQUENCY, "MHz", MEGA, 1},
    {WSC_UNIT_FREQUENCY, "GHz", GIGA, 1},
    {WSC_UNIT_POWER, "W", 1, 1},
    {WSC_UNIT_POWER, "kW", KILO, 1},
    {WSC_UNIT_POWER, "MW", MEGA, 1},
    {WSC_UNIT_FLOPS, "FLOP/s", 1, 1},
    {WSC_UNIT_FLOPS, "GFLOP/s", GIGA, 1},
    {WSC_UNIT_FLOPS, "TFLOP/s", TERA, 1},
    {WSC_UNIT_FLOPS, "PFLOP/s", PETA, 1},
    {WSC_UNIT_FLOPS, "EFLOP/s", EXA, 1},
    {WSC_UNIT_PARAMS_RATE, "1/s", 1, 1},
    {WSC_UNIT_PARAMS_RATE, "params/s", 1, 1},
};
enum { N_SUFFIXES = sizeof suffixes / sizeof *suffixes };

/* Base unit and example by kind, from WSC_UNIT_MAP. */
static const struct {
    const char *base, *example;
} units[] = {
#define XX(name, base_, example_) [WSC_UNIT_##name] = {base_, example_},
    WSC_UNIT_MAP(XX)
#undef XX
};

const char *wsc_units_base(enum wsc_unit unit)
{
    return units[unit].base;
}

const char *wsc_units_suffix(enum wsc_unit unit, int i)
{
    for (int k = 0; k < N_SUFFIXES; k++)
        if (suffixes[k].unit == unit && !i--) return suffixes[k].name;
    return NULL;
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

/* Append one digit before or after the point; once MAX_DIGITS are full the exponent counts what is
 * dropped, and dropped zeros lose nothing. */
static void add_digit(struct decimal *d, char c, bool fraction)
{
    uint64_t digit = (uint64_t)(c - '0');
    bool fits = d->digits <= (MAX_MANTISSA - digit) / 10;
    if (fits) {
        d->digits = d->digits * 10 + digit;
        d->exponent -= fraction;
        return;
    }
    d->too_long = d->too_long || digit;
    d->exponent += !fraction;
}

/* An `e` that no digits follow belongs to the unit, not to the number. */
static const char *scan_exponent(const char *s, long *exponent)
{
    if (*s != 'e' && *s != 'E') return s;
    const char *digit = s + 1;
    bool negative = *digit == '-';
    if (*digit == '-' || *digit == '+') digit++;
    if (!isdigit((unsigned char)*digit)) return s;
    long value = 0;
    for (; isdigit((unsigned char)*digit); digit++)
        if (value < 100000) value = value * 10 + (*digit - '0');
    *exponent += negative ? -value : value;
    return digit;
}

/* Sign, digits, point, digits, exponent.  False when there is no number, or one with a leading
 * zero, which some readers take for octal. */
static bool scan(const char *text, struct decimal *d)
{
    *d = (struct decimal){0};
    const char *s = skip_blanks(text);
    d->negative = *s == '-';
    if (*s == '-' || *s == '+') s++;
    if (*s == '0' && isdigit((unsigned char)s[1])) return false;
    int n = 0;
    for (; isdigit((unsigned char)*s); s++, n++)
        add_digit(d, *s, false);
    if (*s == '.')
        for (s++; isdigit((unsigned char)*s); s++, n++)
            add_digit(d, *s, true);
    if (!n) return false;
    while (d->digits && d->digits % 10 == 0) {
        d->digits /= 10;
        d->exponent++;
    }
    d->end = scan_exponent(s, &d->exponent);
    return true;
}

/* The text for a message: cut, and without control characters. */
static const char *quoted(const char *text, char out[MAX_QUOTED + 4])
{
    size_t n = strnlen(text, MAX_QUOTED + 1);
    bool cut = n > MAX_QUOTED;
    if (cut) n = MAX_QUOTED;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(iscntrl((unsigned char)text[i]) ? '?' : text[i]);
    memcpy(out + n, cut ? "..." : "", cut ? 4 : 1);
    return out;
}

/* The error for a text that is no number, with a hint for the two usual causes: a leading zero
 * (octal in some readers) and underscores (digit groups of YAML 1.1 and Python). */
static enum wsc_err not_a_number(const char *what, const char *text)
{
    char q[MAX_QUOTED + 4];
    struct decimal d;
    const char *digits = skip_blanks(text);
    if (*digits == '-' || *digits == '+') digits++;
    enum wsc_err rc = WSC_RAISE(WSC_CONFIG, "expected %s, got \"%s\"", what, quoted(text, q));
    if (*digits == '0' && isdigit((unsigned char)digits[1]))
        return wsc_err_hint(rc, "write it without the leading zero");
    if (scan(text, &d) && *d.end == '_') return wsc_err_hint(rc, "write it without underscores");
    return rc;
}

/* digits * 10^exponent * factor / divisor, rounded to nearest; false when it exceeds int64. */
static bool scale(const struct decimal *d, const struct suffix *s, int64_t *out, bool *exact)
{
    const wide limit = (wide)INT64_MAX;
    wide value = (wide)d->digits * s->factor, divisor = s->divisor;
    *exact = true;
    for (long e = d->exponent; value && e > 0; e--) {
        if (value / divisor > limit) return false;
        value *= 10;
    }
    for (long e = d->exponent; value && e < 0; e++) {
        if (divisor > value * 2) { /* less than half of a base unit, however many digits follow */
            *exact = false;
            *out = 0;
            return true;
        }
        divisor *= 10;
    }
    *exact = value % divisor == 0;
    wide rounded = (value + divisor / 2) / divisor;
    if (rounded > limit) return false;
    *out = (int64_t)rounded;
    return true;
}

enum wsc_err wsc_units_int(const char *text, int64_t *out)
{
    static const struct suffix one = {WSC_UNIT_NONE, "", 1, 1};
    struct decimal d;
    int64_t value;
    bool exact;
    char q[MAX_QUOTED + 4];
    if (!scan(text, &d) || *skip_blanks(d.end)) return not_a_number("a whole number", text);
    if (d.too_long || !scale(&d, &one, &value, &exact))
        return WSC_RAISE(WSC_CONFIG, "\"%s\" is too large", quoted(text, q));
    if (!exact)
        return WSC_RAISE(WSC_CONFIG, "expected a whole number, got \"%s\"", quoted(text, q));
    *out = d.negative ? -value : value;
    return WSC_OK;
}

enum wsc_err wsc_units_double(const char *text, double *out)
{
    struct decimal d;
    char q[MAX_QUOTED + 4];
    if (!scan(text, &d) || *skip_blanks(d.end)) return not_a_number("a number", text);
    errno = 0;
    double value = strtod(text, NULL);
    if (!isfinite(value) || (errno == ERANGE && value == 0))
        return WSC_RAISE(WSC_CONFIG, "\"%s\" is outside the range of a double", quoted(text, q));
    *out = value;
    return WSC_OK;
}

/* Length without blanks at the end. */
static size_t trimmed_length(const char *s)
{
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
        n--;
    return n;
}

/* NULL: no such suffix; *nearest is then the closest one of the same unit. */
static const struct suffix *find_suffix(enum wsc_unit unit, const char *s, const char **nearest)
{
    char name[MAX_NAME + 1] = "";
    size_t n = trimmed_length(s);
    int best = 1 << 30;
    *nearest = "";
    if (n <= MAX_NAME) memcpy(name, s, n);
    for (int i = 0; i < N_SUFFIXES; i++) {
        if (suffixes[i].unit != unit) continue;
        if (n == strlen(suffixes[i].name) && !strncmp(s, suffixes[i].name, n)) return &suffixes[i];
        /* A wrong case is the likeliest slip, of as few letters as possible, since B and b differ
         * by 8; then the same prefix counts. */
        int d = 2 * wsc_units_distance(name, suffixes[i].name) - (name[0] == suffixes[i].name[0]);
        if (!strcasecmp(name, suffixes[i].name)) d -= 2 * MAX_NAME;
        if (d >= best) continue;
        best = d;
        *nearest = suffixes[i].name;
    }
    return NULL;
}

const char *wsc_units_nearest(enum wsc_unit unit, const char *text)
{
    struct decimal d;
    const char *nearest;
    if (!scan(text, &d)) return NULL;
    const char *rest = skip_blanks(d.end);
    return *rest && !find_suffix(unit, rest, &nearest) ? nearest : NULL;
}

/* "expected a quantity such as 5 us, got ...", with the nearest unit as a hint. */
static enum wsc_err quantity_error(enum wsc_unit unit, const char *text, const char *nearest)
{
    char q[MAX_QUOTED + 4];
    enum wsc_err rc = WSC_RAISE(WSC_CONFIG, "expected a quantity such as %s, got \"%s\"",
                                units[unit].example, quoted(text, q));
    return nearest && *nearest ? wsc_err_hint(rc, "did you mean %s?", nearest) : rc;
}

enum wsc_err wsc_units_quantity(enum wsc_unit unit, const char *text, int64_t *out)
{
    struct decimal d;
    int64_t value;
    bool exact;
    const char *nearest = NULL;
    char q[MAX_QUOTED + 4];
    if (unit == WSC_UNIT_NONE) return wsc_units_int(text, out);
    if (!scan(text, &d)) return quantity_error(unit, text, NULL);
    const char *rest = skip_blanks(d.end);
    const struct suffix *s = find_suffix(unit, rest, &nearest);
    if (!s) return quantity_error(unit, text, *rest ? nearest : NULL);
    if (d.negative && d.digits)
        return WSC_RAISE(WSC_CONFIG, "\"%s\" must not be negative", quoted(text, q));
    if (d.too_long)
        return WSC_RAISE(WSC_CONFIG, "\"%s\" has more than %d digits", quoted(text, q), MAX_DIGITS);
    if (!scale(&d, s, &value, &exact))
        return WSC_RAISE(WSC_CONFIG, "\"%s\" is too large", quoted(text, q));
    if (d.digits && !value)
        return WSC_RAISE(WSC_CONFIG, "\"%s\" is less than half of the base unit, 1 %s",
                         quoted(text, q), units[unit].base);
    *out = value;
    return WSC_OK;
}

/* The last row whose factor divides the value; rows with a divisor (bits) are never written. */
void wsc_units_format(enum wsc_unit unit, int64_t value, char *text, size_t size)
{
    const struct suffix *best = NULL;
    for (int i = 0; i < N_SUFFIXES; i++) {
        const struct suffix *s = &suffixes[i];
        if (s->unit != unit || s->divisor != 1 || value % (int64_t)s->factor) continue;
        if (!best || (value ? s->factor >= best->factor : s->factor < best->factor)) best = s;
    }
    long long shown = (long long)(best ? value / (int64_t)best->factor : value);
    (void)snprintf(text, size, "%lld%s%s", shown, best ? " " : "", best ? best->name : "");
}

void wsc_units_format_digits(enum wsc_unit unit, double value, int digits, char *text, size_t size)
{
    static const struct {
        enum wsc_unit unit;
        double factor;
        const char *name;
    } decimal[] = {{WSC_UNIT_TIME, 1e12, "s"},           {WSC_UNIT_TIME, 1e9, "ms"},
                   {WSC_UNIT_TIME, 1e6, "us"},           {WSC_UNIT_TIME, 1e3, "ns"},
                   {WSC_UNIT_BYTES, 1e15, "PB"},         {WSC_UNIT_BYTES, 1e12, "TB"},
                   {WSC_UNIT_BYTES, 1e9, "GB"},          {WSC_UNIT_BYTES, 1e6, "MB"},
                   {WSC_UNIT_BYTES, 1e3, "kB"},          {WSC_UNIT_RATE, 1e15, "PB/s"},
                   {WSC_UNIT_RATE, 1e12, "TB/s"},        {WSC_UNIT_RATE, 1e9, "GB/s"},
                   {WSC_UNIT_RATE, 1e6, "MB/s"},         {WSC_UNIT_RATE, 1e3, "kB/s"},
                   {WSC_UNIT_FREQUENCY, 1e9, "GHz"},     {WSC_UNIT_FREQUENCY, 1e6, "MHz"},
                   {WSC_UNIT_POWER, 1e6, "MW"},          {WSC_UNIT_POWER, 1e3, "kW"},
                   {WSC_UNIT_FLOPS, 1e15, "PFLOP/s"},    {WSC_UNIT_FLOPS, 1e12, "TFLOP/s"},
                   {WSC_UNIT_PARAMS_RATE, 1, "params/s"}};
    wsc_units_format(unit, llround(value), text, size);
    const bool binary = strstr(text, "iB") != NULL;
    if (strspn(text, "0123456789") <= (size_t)(binary ? digits : 3)) return;
    for (size_t i = 0; i < sizeof decimal / sizeof *decimal; i++)
        if (decimal[i].unit == unit && value >= decimal[i].factor) {
            (void)snprintf(text, size, "%.*g %s", digits, value / decimal[i].factor,
                           decimal[i].name);
            return;
        }
}

/* The least of three. */
static int smallest(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment distance (Damerau-Levenshtein without repeated edits). */
int wsc_units_distance(const char *a, const char *b)
{
    int row[3][MAX_NAME + 1];
    int n = (int)strnlen(a, MAX_NAME + 1), m = (int)strnlen(b, MAX_NAME + 1);
    if (n > MAX_NAME || m > MAX_NAME) return n > m ? n : m;
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int cost = a[i - 1] != b[j - 1];
            now[j] = smallest(last[j] + 1, now[j - 1] + 1, last[j - 1] + cost);
            bool swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swap && before[j - 2] + 1 < now[j]) now[j] = before[j - 2] + 1;
        }
    }
    return row[n % 3][m];
}
