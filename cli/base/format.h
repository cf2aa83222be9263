/* Numbers as people read them; each result is a short string in the caller's text. */
#ifndef PACELINE_CLI_FORMAT_H
#define PACELINE_CLI_FORMAT_H

#include <stdint.h>

/* After results of jobs that job_simulated(): what is simulated. */
#define FORMAT_SIMULATED "times are those of slower computers or networks (spec.debug)"

struct format_text {
    char s[48];
};

struct format_text format_count(double n);                    /* 60,000; "-" for NAN */
struct format_text format_plural(double n, const char *noun); /* 1 rank, 2 ranks */
struct format_text format_rate(double per_second);            /* 7,263; 83.4 below 100 */
struct format_text format_percent(double share);              /* 0.9142: 91.42% */
struct format_text format_loss(double loss);                  /* 0.2381; 1.2e-05 when tiny */
struct format_text format_perplexity(double perplexity);      /* 4.321, 114.5, 9,876 */
struct format_text format_seconds(double seconds); /* 0.21 s, 41.3 s, 3 min 05 s, 2 h 04 min */
struct format_text format_clock(double seconds);   /* 0:41, 12:05, 1:02:03 */
struct format_text format_bytes(double bytes);     /* 148.2 MiB */
struct format_text format_number(double n);        /* as short as %g */

#endif
