#include "cli/report/page.h"

#include <math.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;"
    "--page:#f6f7f9;--card:#fff;--ink:#14181f;--soft:#5b6472;--line:#e3e6eb;--grid:#eceef2;"
    "--s0:#7c8aa5;--s1:#e08a00;--s2:#0b8a6a;--s3:#3b63d8;--s4:#b0447f;--s5:#8a6bd1;--s6:#c2452f;--"
    "s7:#2389ad;--on:#fff}"
    "@media(prefers-color-scheme:dark){:root{"
    "--page:#0f1216;--card:#171b21;--ink:#e8ebf0;--soft:#97a1b1;--line:#2a303a;--grid:#232932;"
    "--s0:#8fa0c0;--s1:#f0a93a;--s2:#35c498;--s3:#7d9dff;--s4:#e07bb4;--s5:#b39bf0;--s6:#ff9280;--"
    "s7:#6cc7e6;--on:#08110e}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--page);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    "font-variant-numeric:tabular-nums}"
    "main{max-width:1040px;margin:0 auto;padding:48px 24px 72px}"
    ".kicker{margin:0;color:var(--s2);font-size:13px;font-weight:650;letter-spacing:.04em}"
    "h1{margin:4px 0 4px;font-size:36px;line-height:1.15;font-weight:680;letter-spacing:-.02em;"
    "overflow-wrap:anywhere}"
    ".sub{margin:0 0 28px;color:var(--soft)}"
    "h2{margin:0;font-size:15px;font-weight:640}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:1px;"
    "background:var(--line);border:1px solid var(--line);border-radius:12px;overflow:hidden;"
    "margin-bottom:20px}"
    ".tile{background:var(--card);padding:16px 18px}"
    ".tile p{margin:0;color:var(--soft);font-size:13px}"
    ".tile b{display:block;font-size:25px;line-height:1.3;font-weight:640;letter-spacing:-.01em}"
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:20px}"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:12px;"
    "padding:18px 20px;margin:0 0 20px;min-width:0}.two>.card{margin:0}.two{margin-bottom:20px}"
    ".head{display:flex;flex-wrap:wrap;gap:4px 16px;justify-content:space-between;"
    "margin-bottom:10px}"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:13px;color:var(--soft)}"
    ".legend span{white-space:nowrap}"
    ".legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}"
    ".legend b{color:var(--ink);font-weight:600}"
    "svg{display:block;width:100%;height:auto;font:12px system-ui,sans-serif}"
    "svg.inner{width:auto}svg.shares{height:26px}td.bar{min-width:160px}td.bar "
    "svg.shares{height:14px;margin:4px 0 0 12px}"
    ".tick{fill:var(--soft);font-size:11px}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".cell{fill:var(--ink);font-size:11px;pointer-events:none}.cell.on{fill:var(--on)}"
    ".grid{stroke:var(--grid)}.base{stroke:var(--line);stroke-width:1.5}"
    ".line{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}"
    ".fine{stroke-width:1.3;opacity:.75}.dashed{stroke-dasharray:5 5;stroke-width:1.5}"
    ".mark{stroke:var(--card);stroke-width:1.5}"
    ".right{fill:var(--s2)}.wrong{fill:var(--s4)}"
    "table{border-collapse:collapse;width:100%;font-size:14px}"
    "td,th{padding:6px 0;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}"
    "tr:last-child td{border-bottom:0}"
    "td:first-child{color:var(--soft);padding-right:18px;white-space:nowrap}"
    "td+td{overflow-wrap:anywhere}"
    "table.num td,table.num th{text-align:right}table.num td:first-child,"
    "table.num th:first-child{text-align:left}th{color:var(--soft);font-weight:500;font-size:13px}"
    "pre{margin:12px 0 0;font:12.5px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
    "columns:3 260px;column-gap:28px;white-space:pre-wrap;overflow-wrap:anywhere}"
    "summary{cursor:pointer;font-weight:640;font-size:15px}"
    "footer{color:var(--soft);font-size:13px}"
    "@media print{.card,.tiles{break-inside:avoid}body{background:#fff}}";

#define COLOURS 8

static void page_style(struct buf *out)
{
    buf_puts(out, "<style>");
    buf_puts(out, style);
    for (int i = 0; i < COLOURS; i++)
        buf_printf(out,
                   ".line.s%d{stroke:var(--s%d)}.mark.s%d,.fill.s%d{fill:var(--s%d)}"
                   "i.s%d{background:var(--s%d)}",
                   i, i, i, i, i, i, i);
    buf_puts(out, "</style>");
}

void page_begin(struct buf *out, const char *kicker, const char *title, const char *subtitle)
{
    buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    svg_text(out, title);
    buf_puts(out, "</title>\n");
    page_style(out);
    buf_puts(out, "</head>\n<body><main><header><p class=\"kicker\">");
    svg_text(out, kicker);
    buf_puts(out, "</p><h1>");
    svg_text(out, title);
    buf_puts(out, "</h1><p class=\"sub\">");
    svg_text(out, subtitle);
    buf_puts(out, "</p></header>\n");
}

void page_end(struct buf *out) { buf_puts(out, "</main></body></html>\n"); }

void page_tiles_begin(struct buf *out) { buf_puts(out, "<section class=\"tiles\">"); }

void page_tile(struct buf *out, const char *name, const char *value, const char *note)
{
    buf_puts(out, "<div class=\"tile\"><p>");
    svg_text(out, name);
    buf_puts(out, "</p><b>");
    svg_text(out, value);
    buf_puts(out, "</b><p>");
    svg_text(out, note);
    buf_puts(out, "</p></div>");
}

void page_tiles_end(struct buf *out) { buf_puts(out, "</section>\n"); }

static int has_points(const struct svg_series *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->x[i]) && isfinite(s->y[i]))
            return 1;
    return 0;
}

void page_legend(struct buf *out, int colour, const char *label, const char *value)
{
    buf_printf(out, "<span><i class=\"s%d\"></i>", colour);
    svg_text(out, label);
    buf_puts(out, " <b>");
    svg_text(out, value);
    buf_puts(out, "</b></span>");
}

void page_plot(struct buf *out, const char *title, const struct svg_plot *plot)
{
    buf_puts(out, "<figure class=\"card\"><div class=\"head\"><h2>");
    svg_text(out, title);
    buf_puts(out, "</h2><div class=\"legend\">");
    for (size_t i = 0; i < plot->n_series && plot->n_series > 1; i++)
        if (has_points(&plot->series[i]))
            page_legend(out, plot->series[i].colour, plot->series[i].label, "");
    buf_puts(out, "</div></div>");
    svg_plot(out, plot);
    buf_puts(out, "</figure>\n");
}

#define DRAWING_WIDTH 460
#define DRAWING_HEIGHT 250 /* of the plot */
#define LEGEND_LINE 18

void page_drawing(struct buf *out, const struct svg_plot *plot)
{
    int height = DRAWING_HEIGHT + LEGEND_LINE * (int)plot->n_series;

    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">",
               DRAWING_WIDTH, height);
    page_style(out);
    buf_printf(out, "<svg style=\"width:%dpx;height:%dpx\">", DRAWING_WIDTH, DRAWING_HEIGHT);
    svg_plot(out, plot);
    buf_puts(out, "</svg>");
    for (size_t i = 0; i < plot->n_series; i++) {
        int y = DRAWING_HEIGHT + LEGEND_LINE * (int)i;

        buf_printf(out,
                   "<rect class=\"fill s%d\" x=\"50\" y=\"%d\" width=\"10\" height=\"10\" "
                   "rx=\"3\"/><text class=\"tick\" x=\"68\" y=\"%d\">",
                   plot->series[i].colour, y, y + 9);
        svg_text(out, plot->series[i].label);
        buf_puts(out, "</text>");
    }
    buf_puts(out, "</svg>\n");
}

void page_fact(struct buf *out, const char *name, const char *value)
{
    if (!value[0] || strcmp(value, "-") == 0)
        return;
    buf_puts(out, "<tr><td>");
    svg_text(out, name);
    buf_puts(out, "</td><td>");
    svg_text(out, value);
    buf_puts(out, "</td></tr>");
}
