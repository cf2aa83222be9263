#include "cli/report_times.h"

#include <math.h>
#include <string.h>

#include "cli/page.h"
#include "paceline/mem.h"

#define ROWS_MAX 100

/* In the order, and the colours, of the bars. */
static const char *const names[] = {"forward", "backward", "update",     "communication",
                                    "data",    "evaluate", "checkpoint", "other"};

struct times {
    double seconds[ARRAY_LEN(names)], all;
};

static double mean(const cJSON *values)
{
    const cJSON *value;
    double sum = 0;

    cJSON_ArrayForEach(value, values) sum += value->valuedouble;
    return values && values->child ? sum / cJSON_GetArraySize(values) : 0;
}

static struct times times_of(const cJSON *event)
{
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(event, "perRank");
    struct times t = {.all = 0};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        t.seconds[i] = fmax(0, mean(cJSON_GetObjectItemCaseSensitive(ranks, names[i])));
        t.all += t.seconds[i];
    }
    return t;
}

static void whole_run(struct buf *out, const struct times *t)
{
    buf_puts(out, "<figure class=\"card\"><div class=\"head\"><h2>Where the time went</h2>"
                  "<div class=\"legend\">");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct text value = format_seconds(t->seconds[i]);

        snprintf(value.s + strlen(value.s), sizeof value.s - strlen(value.s), ", %.1f%%",
                 100 * t->seconds[i] / t->all);
        if (t->seconds[i] > 0)
            page_legend(out, (int)i, names[i], value.s);
    }
    buf_puts(out, "</div></div>");
    svg_shares(out, t->seconds, ARRAY_LEN(names), t->all);
    buf_puts(out, "</figure>\n");
}

static void row(struct buf *out, const cJSON *epoch, double longest)
{
    const struct times t = times_of(epoch);

    buf_printf(out, "<tr><td>%s</td>", format_count(event_number(epoch, "epoch")).s);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        buf_printf(out, "<td>%.3f</td>", t.seconds[i]);
    buf_printf(out, "<td>%.3f</td><td class=\"bar\">", t.all);
    svg_shares(out, t.seconds, ARRAY_LEN(names), longest);
    buf_puts(out, "</td></tr>\n");
}

/* All epochs, or of very many each k-th. */
static void table(struct buf *out, const struct history *h)
{
    const int each = (cJSON_GetArraySize(h->epochs) + ROWS_MAX - 1) / ROWS_MAX;
    const cJSON *epoch;
    double longest = 0;
    int i = 0;

    cJSON_ArrayForEach(epoch, h->epochs) longest = fmax(longest, times_of(epoch).all);
    if (longest <= 0)
        return;
    buf_puts(out, "<section class=\"card\"><div class=\"head\"><h2>Epoch by epoch</h2>"
                  "<div class=\"legend\"><span>seconds, means over ranks</span></div></div>"
                  "<table class=\"num\"><tr><th>epoch</th>");
    for (size_t k = 0; k < ARRAY_LEN(names); k++)
        buf_printf(out, "<th>%s</th>", names[k]);
    buf_puts(out, "<th>all</th><th></th></tr>\n");
    cJSON_ArrayForEach(epoch, h->epochs) if (i++ % each == 0) row(out, epoch, longest);
    buf_puts(out, "</table></section>\n");
}

void report_times(struct buf *out, const struct history *h)
{
    const struct times all = times_of(h->done);

    if (all.all > 0)
        whole_run(out, &all);
    table(out, h);
}
