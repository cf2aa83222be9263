#include "cli/report/report_times.h"

#include <math.h>
#include <string.h>

#include "cli/report/page.h"
#include "paceline/mem.h"

#define ROWS_MAX 100
#define RANKS_MAX 32 /* with rows of their own */

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
        struct format_text value = format_seconds(t->seconds[i]);

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

static double report_times_at(const cJSON *values, int i)
{
    const cJSON *item = cJSON_GetArrayItem(values, i);

    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static double of_rank(const cJSON *event, const char *measure, int rank)
{
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(event, "perRank");

    return report_times_at(cJSON_GetObjectItemCaseSensitive(ranks, measure), rank);
}

/* The resources that each rank used, and the bytes that it sent to each other rank. */
static void rank_row(struct buf *out, const struct history *h, int rank, int n)
{
    static const char *const bytes[] = {"peakBytes", "groupPeakBytes"};
    const cJSON *sent = cJSON_GetObjectItemCaseSensitive(h->done, "bytesTo");
    const double user = of_rank(h->done, "user", rank), system = of_rank(h->done, "system", rank);

    buf_printf(out, "<tr><td>%d</td><td>%s</td><td>%s</td><td>%s</td>", rank,
               format_seconds(user).s, format_seconds(system).s,
               format_percent((user + system) / times_of(h->done).all).s);
    buf_printf(out, "<td>%s</td>", format_bytes(of_rank(h->start, "idleBytes", rank)).s);
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++)
        buf_printf(out, "<td>%s</td>", format_bytes(of_rank(h->done, bytes[i], rank)).s);
    for (int to = 0; sent && to < n; to++)
        buf_printf(out, "<td>%s</td>",
                   format_bytes(report_times_at(cJSON_GetArrayItem(sent, rank), to)).s);
    buf_puts(out, "</tr>\n");
}

static void ranks(struct buf *out, const struct history *h)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(h->done, "perRank");
    const int n = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(all, "user"));

    if (n == 0 || n > RANKS_MAX)
        return;
    buf_puts(out, "<section class=\"card\"><div class=\"head\"><h2>What each rank used</h2></div>"
                  "<table class=\"num\"><tr><th>rank</th><th>user</th><th>system</th>"
                  "<th>CPUs</th><th>memory idle</th><th>at most</th><th>its group's</th>");
    for (int to = 0; to < n && n > 1; to++)
        buf_printf(out, "<th>sent to %d</th>", to);
    buf_puts(out, "</tr>\n");
    for (int rank = 0; rank < n; rank++)
        rank_row(out, h, rank, n > 1 ? n : 0);
    buf_puts(out, "</table></section>\n");
}

/* Of one layer or row the mean over the profiles, which all have the same ones. */
static double profile_mean(const struct history *h, const char *list, int i, const char *field)
{
    const cJSON *profile;
    double sum = 0;

    cJSON_ArrayForEach(profile, h->profiles)
    {
        const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(profile, list), i);

        sum += fmax(0, field ? event_number(item, field) : item ? item->valuedouble : 0);
    }
    return sum / cJSON_GetArraySize(h->profiles);
}

static void profile_layer(struct buf *out, const struct history *h, const cJSON *layer, int i)
{
    static const char *const parts[] = {"forward", "backward", "weights", "update"};

    buf_puts(out, "<tr><td>");
    svg_text(out, event_text(layer, "layer"));
    buf_puts(out, "</td><td>");
    svg_text(out, event_text(layer, "kind"));
    buf_puts(out, "</td>");
    for (size_t p = 0; p < ARRAY_LEN(parts); p++)
        buf_printf(out, "<td>%s</td>", format_count(profile_mean(h, "layers", i, parts[p])).s);
    buf_puts(out, "</tr>\n");
}

/* Microseconds per epoch on rank 0, by operator and by layer. */
static void profile(struct buf *out, const struct history *h)
{
    const cJSON *first = cJSON_GetArrayItem(h->profiles, 0), *item;
    int i = 0;

    if (!first)
        return;
    buf_printf(
        out,
        "<section class=\"card\"><div class=\"head\"><h2>Operators</h2><div class=\"legend\">"
        "<span>microseconds per epoch on rank 0, mean of %d</span></div></div>"
        "<table class=\"num\"><tr><th>operator</th><th>us</th></tr>\n",
        cJSON_GetArraySize(h->profiles));
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(first, "rows"))
    {
        buf_puts(out, "<tr><td>");
        svg_text(out, item->string);
        buf_printf(out, "</td><td>%s</td></tr>\n",
                   format_count(profile_mean(h, "rows", i++, NULL)).s);
    }
    buf_puts(out, "</table><table class=\"num\"><tr><th>layer</th><th>kind</th><th>forward</th>"
                  "<th>backward</th><th>weights</th><th>update</th></tr>\n");
    i = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(first, "layers"))
        profile_layer(out, h, item, i++);
    buf_puts(out, "</table></section>\n");
}

void report_times(struct buf *out, const struct history *h)
{
    const struct times all = times_of(h->done);

    if (all.all > 0)
        whole_run(out, &all);
    table(out, h);
    ranks(out, h);
    profile(out, h);
}
