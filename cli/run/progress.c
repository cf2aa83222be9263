#include "cli/run/progress.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/format.h"
#include "cli/base/terminal.h"
#include "cli/report/metric_labels.h"
#include "cli/report/table.h"
#include "paceline/buf.h"
#include "paceline/clock.h"
#include "paceline/mem.h"
#include "paceline/text.h"

#define BAR_MIN 6
#define BAR_MAX 40
#define PLAIN_INTERVAL_MS 2000
#define CLEAR_LINE "\r\x1b[K"

enum style { PLAIN, BOLD, DIM, GREEN };
static const char *const style_codes[] = {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m"};

static const char *style(const struct progress *p, enum style s)
{
    return p->colour ? style_codes[s] : "";
}

/* A text from an event or a path, safe for the raw stream. */
struct shown_line {
    char s[640];
};

static struct shown_line shown(const char *text)
{
    struct shown_line copy;

    text_escape(copy.s, sizeof copy.s, text);
    return copy;
}

static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

void progress_init(struct progress *p, FILE *out)
{
    const char *term = getenv("TERM");

    fflush(out);
    *p = (struct progress){.out = terminal_raw(out), .quarter = -1};
    p->live = isatty(fileno(p->out)) && term && *term && strcmp(term, "dumb") != 0;
    p->utf8 = locale_is_utf8();
    p->colour = p->live && !is_set("NO_COLOR");
}

static int terminal_width(const struct progress *p)
{
    struct winsize size;

    return ioctl(fileno(p->out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void progress_end(struct progress *p)
{
    if (p->drawn)
        fputs(CLEAR_LINE, p->out);
    p->drawn = false;
    fflush(p->out);
}

void progress_note(struct progress *p, const char *fmt, ...)
{
    char line[640];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (p->live)
        fprintf(p->out, CLEAR_LINE "%.*s", terminal_width(p) - 1, shown(line).s);
    else
        fprintf(p->out, "%s\n", shown(line).s);
    p->drawn = p->live;
    fflush(p->out);
}

void progress_bar(char *text, size_t size, int cells, double share, bool utf8)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double clamped = share > 0 ? fmin(share, 1) : 0;
    int units = (int)(clamped * cells * (utf8 ? 8 : 1) + 1e-9);
    int full = utf8 ? units / 8 : units, part = utf8 ? units % 8 : 0;
    struct buf b;

    buf_init(&b, size - 1);
    for (int i = 0; i < full; i++)
        buf_puts(&b, utf8 ? "█" : "#");
    buf_puts(&b, eighths[part]);
    for (int i = full + (part > 0); i < cells; i++)
        buf_puts(&b, utf8 ? "░" : "-");
    snprintf(text, size, "%s", b.data);
    buf_release(&b);
}

static void show_start(struct progress *p, const cJSON *e)
{
    int64_t resumed = event_integer(e, "resumedStep");

    p->epochs = event_number(e, "epochs");
    p->steps = event_number(e, "steps");
    p->batches_per_epoch = event_number(e, "batchesPerEpoch");
    /* 1 where the engine does not tell it. */
    p->steps_per_epoch = ceil(p->batches_per_epoch / fmax(event_number(e, "batchesPerUpdate"), 1));
    fprintf(p->out, "%s%s%s: %s, %s parameters, %s training samples\n", style(p, BOLD),
            shown(event_text(e, "job")).s, style(p, PLAIN), shown(event_text(e, "model")).s,
            format_count(event_number(e, "params")).s,
            format_count(event_number(e, "trainSamples")).s);
    fprintf(p->out, "%s%s x %s, %s, batch %s, %s batches per epoch, %s per rank%s\n", style(p, DIM),
            format_plural(event_number(e, "ranks"), "rank").s,
            format_plural(event_number(e, "threads"), "thread").s, shown(history_arithmetic(e).s).s,
            format_count(event_number(e, "batchSize")).s, format_count(p->batches_per_epoch).s,
            format_bytes(event_number(e, "memoryBytes")).s, style(p, PLAIN));
    if (resumed > 0)
        fprintf(p->out, "resumed at step %s\n", format_count((double)resumed).s);
}

/* The share of the epoch after `epoch` whole ones that a step has reached, from 0 to 1. */
static double epoch_share(const struct progress *p, double epoch, double step)
{
    return p->steps_per_epoch > 0 ? (step - epoch * p->steps_per_epoch) / p->steps_per_epoch : 0;
}

static void show_live(struct progress *p, const cJSON *e)
{
    const struct metric_labels *terms = metric_labels_of(e);
    double epoch = event_number(e, "epoch");
    double share = epoch_share(p, epoch, event_number(e, "step"));
    char head[128], tail[640], bar[3 * BAR_MAX + 1];
    int cells;

    snprintf(head, sizeof head, "epoch %s/%s ", format_count(epoch + 1).s,
             format_count(p->epochs).s);
    snprintf(tail, sizeof tail, " %3.0f%%  %s %s  loss %s  %s %s  ETA %s", floor(100 * share),
             format_rate(event_number(e, terms->rate)).s, terms->unit,
             format_loss(event_number(e, "loss")).s, terms->brief,
             terms->format(event_number(e, terms->quality)).s,
             format_clock(event_number(e, "etaSeconds")).s);
    cells = terminal_width(p) - 1 - text_columns(head) - text_columns(tail);
    fputs(CLEAR_LINE, p->out);
    if (cells >= BAR_MIN) {
        progress_bar(bar, sizeof bar, cells < BAR_MAX ? cells : BAR_MAX, share, p->utf8);
        fprintf(p->out, "%s%s%s%s%s", head, style(p, GREEN), bar, style(p, PLAIN), tail);
    } else {
        fprintf(p->out, "%.*s", terminal_width(p) - 1, tail + 1);
    }
    p->drawn = true;
}

/* At most one line per quarter of an epoch, and none within two seconds of the last. */
static void show_plain(struct progress *p, const cJSON *e)
{
    const struct metric_labels *terms = metric_labels_of(e);
    double epoch = event_number(e, "epoch"), step = event_number(e, "step");
    int64_t quarter = (int64_t)(4 * (epoch + epoch_share(p, epoch, step)));

    if (quarter <= p->quarter || clock_ms() < p->quiet_until_ms)
        return;
    p->quarter = quarter;
    p->quiet_until_ms = clock_ms() + PLAIN_INTERVAL_MS;
    fprintf(p->out, "epoch %s/%s  step %s  %s %s  loss %s  %s %s  ETA %s\n",
            format_count(epoch + 1).s, format_count(p->epochs).s, format_count(step).s,
            format_rate(event_number(e, terms->rate)).s, terms->unit,
            format_loss(event_number(e, "loss")).s, terms->quality,
            terms->format(event_number(e, terms->quality)).s,
            format_clock(event_number(e, "etaSeconds")).s);
}

static void show_epoch(struct progress *p, const cJSON *e)
{
    const struct metric_labels *terms = metric_labels_of(e);
    double validation = event_number(e, terms->validation);
    double test = event_number(e, terms->test);
    double epoch = event_number(e, "epoch");

    if (epoch_share(p, epoch, event_number(e, "step")) > 0)
        epoch++;
    fprintf(p->out, "epoch %s/%s  loss %s  %s %s", format_count(epoch).s, format_count(p->epochs).s,
            format_loss(event_number(e, "loss")).s, terms->quality,
            terms->format(event_number(e, terms->quality)).s);
    if (isfinite(validation))
        fprintf(p->out, "  validation %s", terms->format(validation).s);
    if (isfinite(test))
        fprintf(p->out, "  test %s%s%s", style(p, BOLD), terms->format(test).s, style(p, PLAIN));
    fprintf(p->out, "  %s %s  %s\n", format_rate(event_number(e, terms->rate)).s, terms->unit,
            format_seconds(event_number(e, "seconds")).s);
}

static void show_switch(struct progress *p, const cJSON *e)
{
    fprintf(p->out, "switched strategy after epoch %s (%s); ",
            format_count(event_number(e, "epoch")).s, shown(event_text(e, "reason")).s);
    if (cJSON_IsTrue(cJSON_GetObjectItem(e, "relaunch")))
        fprintf(p->out, "launching again\n");
    else
        fprintf(p->out, "the hand-over took %s\n", format_seconds(event_number(e, "seconds")).s);
}

void progress_show(void *arg, enum event_type type, const cJSON *event)
{
    struct progress *p = arg;

    if (type == EVENT_PROGRESS && p->live)
        show_live(p, event);
    else if (type == EVENT_PROGRESS)
        show_plain(p, event);
    else if (type != EVENT_FIRST_STEP && type != EVENT_CHECKPOINT)
        progress_end(p);
    p->trained |= type == EVENT_FIRST_STEP || type == EVENT_PROGRESS || type == EVENT_EPOCH;
    if (type == EVENT_START)
        show_start(p, event);
    if (type == EVENT_EPOCH)
        show_epoch(p, event);
    if (type == EVENT_SWITCH)
        show_switch(p, event);
    fflush(p->out);
}

static void __attribute__((format(printf, 3, 4)))
summary_line(const struct progress *p, const char *name, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fprintf(p->out, "  %s%-14s%s ", style(p, DIM), name, style(p, PLAIN));
    vfprintf(p->out, fmt, args);
    fputc('\n', p->out);
    va_end(args);
}

/* The results on the test set. */
static void summary_test(const struct progress *p, const cJSON *done)
{
    const struct metric_labels *terms = metric_labels_of(done);

    if (terms->values) {
        AUTO(auto_free) char *scores = metric_labels_scores(done, "test");

        summary_line(p, "test", "%s%s%s", style(p, BOLD), scores, style(p, PLAIN));
        return;
    }
    if (!terms->share)
        summary_line(p, "perplexity", "%s%s%s  (test)", style(p, BOLD),
                     terms->format(event_number(done, terms->test)).s, style(p, PLAIN));
    const double top5 = event_number(done, "top5");

    summary_line(p, "test accuracy", "%s%s%s  (loss %s%s%s)", style(p, BOLD),
                 format_percent(event_number(done, "testAccuracy")).s, style(p, PLAIN),
                 format_loss(event_number(done, "testLoss")).s, isfinite(top5) ? ", top-5 " : "",
                 isfinite(top5) ? format_percent(top5).s : "");
    if (isfinite(event_number(done, "testF1")))
        summary_line(p, "test F1", "%s  (precision %s, recall %s; means of the classes)",
                     format_percent(event_number(done, "testF1")).s,
                     format_percent(event_number(done, "testPrecision")).s,
                     format_percent(event_number(done, "testRecall")).s);
}

/* The steps that this run of the command has trained: none where it was resumed at its end or
 * beyond. */
static void summary_trained(const struct progress *p, const struct history *h)
{
    const cJSON *last = cJSON_GetArrayItem(h->epochs, cJSON_GetArraySize(h->epochs) - 1);
    const double step = event_number(h->done, "step");
    const double whole = last ? event_number(last, "epoch") : 0;
    const double share = epoch_share(p, whole, step);

    if (p->trained && share > 0) /* the job's steps have ended in an epoch */
        summary_line(p, "trained", "%s and %.0f%% of epoch %s, %s", format_plural(whole, "epoch").s,
                     floor(100 * share), format_count(whole + 1).s, format_plural(step, "step").s);
    else if (p->trained)
        summary_line(p, "trained", "%s, %s", format_plural(whole, "epoch").s,
                     format_plural(step, "step").s);
    else
        summary_line(p, "trained", "nothing: at step %s already, and the job has %s",
                     format_count(step).s,
                     format_plural(event_number(h->start, "steps"), "step").s);
}

static void summary_time(const struct progress *p, const struct history *h)
{
    const struct metric_labels *terms = metric_labels_of(h->done);
    const struct format_text seconds = format_seconds(event_number(h->done, "seconds"));

    if (p->trained)
        summary_line(p, "time", "%s  (first step after %s)", seconds.s,
                     format_seconds(event_number(h->first_step, "seconds")).s);
    else
        summary_line(p, "time", "%s", seconds.s);
    if (event_true(h->done, "simulated"))
        summary_line(p, "simulated", "%s", FORMAT_SIMULATED);
    if (p->trained)
        summary_line(p, "throughput", "%s %s", format_rate(event_number(h->done, terms->rate)).s,
                     terms->unit);
}

void progress_summary(const struct progress *p, const struct history *h, const char *report)
{
    const cJSON *done = h->done, *start = h->start;
    const char *cpu = event_text(start, "cpu");
    const struct format_text switched = history_switch(h);
    AUTO(auto_free) char *early = history_early_stop(h);

    fputc('\n', p->out);
    summary_trained(p, h);
    if (early)
        summary_line(p, "stopped early", "%s", early);
    if (switched.s[0])
        summary_line(p, "switched", "%s", shown(switched.s).s);
    summary_test(p, done);
    summary_time(p, h);
    summary_line(p, "ran on", "%s x %s, %s%s%s",
                 format_plural(event_number(start, "ranks"), "rank").s,
                 format_plural(event_number(start, "threads"), "thread").s,
                 shown(history_arithmetic(start).s).s, *cpu ? ", " : "", shown(cpu).s);
    summary_line(p, "checkpoint", "%s", shown(event_text(done, "checkpoint")).s);
    summary_line(p, "report", "%s", shown(report).s);
}
