// LINK: cli/base/format.c
#include "cli/base/format.h"

#include "tests/test.h"

int main(void)
{
    CHECK_STR(format_count(0).s, "0");
    CHECK_STR(format_count(999).s, "999");
    CHECK_STR(format_count(1000).s, "1,000");
    CHECK_STR(format_count(3274634).s, "3,274,634");
    CHECK_STR(format_count(-123456).s, "-123,456");
    CHECK_STR(format_count(NAN).s, "-");
    CHECK_STR(format_count(1e30).s, "1e+30");
    CHECK_STR(format_plural(1, "rank").s, "1 rank");
    CHECK_STR(format_plural(2, "rank").s, "2 ranks");
    CHECK_STR(format_rate(83.44).s, "83.4");
    CHECK_STR(format_rate(7263.2).s, "7,263");
    CHECK_STR(format_rate(NAN).s, "-");
    CHECK_STR(format_percent(0.91425).s, "91.42%");
    CHECK_STR(format_percent(NAN).s, "-");
    CHECK_STR(format_loss(0.23812).s, "0.2381");
    CHECK_STR(format_loss(0.0000123).s, "1.2e-05");
    CHECK_STR(format_loss(0).s, "0.0000");
    CHECK_STR(format_loss(INFINITY).s, "-");
    CHECK_STR(format_perplexity(1.00049).s, "1.000");
    CHECK_STR(format_perplexity(9.5).s, "9.500");
    CHECK_STR(format_perplexity(114.54).s, "114.5");
    CHECK_STR(format_perplexity(9876.2).s, "9,876");
    CHECK_STR(format_perplexity(INFINITY).s, "-");
    CHECK_STR(format_seconds(0.214).s, "0.21 s");
    CHECK_STR(format_seconds(41.34).s, "41.3 s");
    CHECK_STR(format_seconds(99.96).s, "1 min 40 s");
    CHECK_STR(format_seconds(185).s, "3 min 05 s");
    CHECK_STR(format_seconds(3599.6).s, "1 h 00 min");
    CHECK_STR(format_seconds(7440).s, "2 h 04 min");
    CHECK_STR(format_seconds(1e300).s, "-");
    CHECK_STR(format_clock(41).s, "0:41");
    CHECK_STR(format_clock(725).s, "12:05");
    CHECK_STR(format_clock(3723).s, "1:02:03");
    CHECK_STR(format_clock(-1).s, "-:--");
    CHECK_STR(format_clock(NAN).s, "-:--");
    CHECK_STR(format_bytes(512).s, "512 B");
    CHECK_STR(format_bytes(155e6).s, "147.8 MiB");
    CHECK_STR(format_bytes(NAN).s, "-");
    CHECK_STR(format_number(0.05).s, "0.05");
    return test_result();
}
