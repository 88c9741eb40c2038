// SPDX-License-Identifier: Apache-2.0
/* Numbers as people read them: SI prefixes with three digits, step times with four, numbers of
 * parameters as model cards write them, durations, percentages.  A number is scaled by powers of
 * 1000 until it is below 1000 after rounding, so that 999.7 becomes 1.00 k and never 1000. */
#include <wsc/out.h>
#include <wsc/units.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Powers of 1000 of the first and the last prefix, p and E. */
enum { SMALLEST = -4, LARGEST = 6 };

/* @p scaled, between 1 and 1000, with @p digits significant digits: the limits are those at which
 * rounding adds a digit before the point. */
static void add_digits(char *text, size_t size, double scaled, int digits)
{
    double ten = 10.0 - 5.0 * pow(10.0, -digits), hundred = 10.0 * ten;
    int before = scaled < ten ? 1 : scaled < hundred ? 2 : 3;
    (void)snprintf(text, size, "%.*f", digits > before ? digits - before : 0, scaled);
}

/* Sign, number, blank, prefix, unit; 0 and numbers that are not finite have no prefix. */
static void format(char *text, int size, double value, int digits, const char *unit)
{
    static const char *const prefix[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    double scaled = fabs(value), limit = 1000.0 - 500.0 * pow(10.0, -digits);
    char number[64];
    int power = 0;
    if (value == 0 || !isfinite(value)) {
        (void)snprintf(text, (size_t)size, "%g%s%s", value, *unit ? " " : "", unit);
        return;
    }
    for (; scaled >= limit && power < LARGEST; power++)
        scaled /= 1000;
    for (; scaled < limit / 1000 && power > SMALLEST; power--)
        scaled *= 1000;
    const char *letter = prefix[power - SMALLEST];
    add_digits(number, sizeof number, scaled, digits);
    (void)snprintf(text, (size_t)size, "%s%s%s%s%s", value < 0 ? "-" : "", number,
                   *letter || *unit ? " " : "", letter, unit);
}

void out_si_unit(char *text, int size, double value, const char *unit)
{
    format(text, size, value, 3, unit);
}

void out_si(char *text, int size, double value)
{
    format(text, size, value, 3, "");
}

void out_step_time(char *text, int size, int64_t ps)
{
    format(text, size, wsc_seconds((double)ps), 4, "s");
}

void out_params(char *text, int size, int64_t params)
{
    format(text, size, (double)params, 3, "");
    char *giga = strchr(text, 'G');
    if (giga) *giga = 'B';
}

void out_duration(char *text, size_t size, double seconds)
{
    const double minute = 60, hour = 3600, day = 86400, year = 365.25 * day;
    if (isinf(seconds))
        (void)snprintf(text, size, "never ends");
    else if (seconds < 2 * minute)
        (void)snprintf(text, size, "%.3g s", seconds);
    else if (seconds < 2 * hour)
        (void)snprintf(text, size, "%.3g min", seconds / minute);
    else if (seconds < 2 * day)
        (void)snprintf(text, size, "%.3g h", seconds / hour);
    else if (seconds < 2 * year)
        (void)snprintf(text, size, "%.3g days", seconds / day);
    else
        (void)snprintf(text, size, "%.3g years", seconds / year);
}

/* True for a text such as "-0.0 %". */
static bool is_minus_zero(const char *text)
{
    return *text == '-' && !text[1 + strspn(text + 1, "0. %")];
}

const char *out_percent(char text[static OUT_PERCENT_SIZE], int decimals, double share)
{
    (void)snprintf(text, OUT_PERCENT_SIZE, "%.*f %%", decimals, 100 * share);
    return is_minus_zero(text) ? memmove(text, text + 1, strlen(text)) : text;
}

const char *out_change(char text[static OUT_PERCENT_SIZE], int decimals, double share)
{
    (void)snprintf(text, OUT_PERCENT_SIZE, "%+.*f %%", decimals, 100 * share);
    if (is_minus_zero(text)) *text = '+';
    return text;
}
