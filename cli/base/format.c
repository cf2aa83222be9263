#include "cli/base/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static struct format_text __attribute__((format(printf, 1, 2))) format_text_of(const char *fmt, ...)
{
    struct format_text t;
    va_list args;

    va_start(args, fmt);
    vsnprintf(t.s, sizeof t.s, fmt, args);
    va_end(args);
    return t;
}

static const struct format_text none = {"-"};

struct format_text format_count(double n)
{
    struct format_text digits, t;
    size_t out = 0;

    if (!isfinite(n) || fabs(n) >= 1e18)
        return isfinite(n) ? format_number(n) : none;
    digits = format_text_of("%.0f", n);
    for (const char *d = digits.s; *d; d++) {
        size_t left = 0;

        while (d[left])
            left++;
        if (left % 3 == 0 && out > 0 && t.s[out - 1] != '-')
            t.s[out++] = ',';
        t.s[out++] = *d;
    }
    t.s[out] = '\0';
    return t;
}

struct format_text format_plural(double n, const char *noun)
{
    return format_text_of("%.24s %s%s", format_count(n).s, noun, n == 1 ? "" : "s");
}

struct format_text format_rate(double per_second)
{
    return per_second < 100 ? format_text_of("%.1f", per_second) : format_count(per_second);
}

struct format_text format_percent(double share)
{
    return isfinite(share) ? format_text_of("%.2f%%", 100 * share) : none;
}

struct format_text format_loss(double loss)
{
    if (!isfinite(loss))
        return none;
    return loss != 0 && fabs(loss) < 1e-3 ? format_text_of("%.1e", loss)
                                          : format_text_of("%.4f", loss);
}

struct format_text format_perplexity(double perplexity)
{
    if (!isfinite(perplexity))
        return none;
    return perplexity < 10     ? format_text_of("%.3f", perplexity)
           : perplexity < 1000 ? format_text_of("%.1f", perplexity)
                               : format_count(perplexity);
}

struct format_text format_seconds(double seconds)
{
    long long whole;

    if (!isfinite(seconds) || fabs(seconds) >= 1e15)
        return none;
    whole = llround(seconds);
    if (seconds < 10)
        return format_text_of("%.2f s", seconds);
    if (seconds < 99.95)
        return format_text_of("%.1f s", seconds);
    if (whole < 3600)
        return format_text_of("%lld min %02lld s", whole / 60, whole % 60);
    return format_text_of("%lld h %02lld min", whole / 3600, whole % 3600 / 60);
}

struct format_text format_clock(double seconds)
{
    long long whole;

    if (!isfinite(seconds) || seconds < 0 || seconds >= 1e12)
        return format_text_of("-:--");
    whole = llround(seconds);
    if (whole < 3600)
        return format_text_of("%lld:%02lld", whole / 60, whole % 60);
    return format_text_of("%lld:%02lld:%02lld", whole / 3600, whole % 3600 / 60, whole % 60);
}

struct format_text format_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;

    if (!isfinite(bytes))
        return none;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    return format_text_of(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

struct format_text format_number(double n)
{
    return isfinite(n) ? format_text_of("%.6g", n) : none;
}
