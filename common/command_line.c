#include "paceline/command_line.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "paceline/mem.h"
#include "paceline/nearest.h"

#define DAY_MS 86400000

void word_list_add(struct word_list *list, const char *word)
{
    list->items = xrealloc(list->items, (list->n + 2) * sizeof *list->items);
    list->items[list->n++] = word;
    list->items[list->n] = NULL;
}

void word_list_release(struct word_list *list)
{
    free(list->items);
    *list = (struct word_list){0};
}

/* "--name" or "-n", of len bytes. */
static const struct option_row *option_find(const struct command_line *line, const char *word,
                                            size_t len)
{
    for (size_t i = 0; i < line->n_rows; i++) {
        const struct option_row *row = &line->rows[i];
        const bool is_name = row->name && strncmp(word, "--", 2) == 0 &&
                             strlen(row->name) + 2 == len &&
                             memcmp(word + 2, row->name, len - 2) == 0;
        const bool is_letter = row->letter && len == 2 && word[1] == row->letter;

        if (is_name || is_letter)
            return row;
    }
    return NULL;
}

static int option_unknown(const struct command_line *line, const char *argument, size_t len,
                          struct err *err)
{
    AUTO(auto_free) char *word = xasprintf("%.*s", (int)len, argument);
    AUTO(auto_free) const char **names = xcalloc(line->n_rows + 1, sizeof *names);
    const char *bare = word + strspn(word, "-"), *near, *field;
    size_t n = 0;

    for (size_t i = 0; i < line->n_rows; i++)
        if (line->rows[i].name)
            names[n++] = line->rows[i].name;
    near = nearest(bare, names, n);
    if (near)
        return err_set(err, ERR_INVALID, "unknown option %s; did you mean --%s?", word, near);
    field = line->field_like && option_find(line, "--set", 5) ? line->field_like(bare) : NULL;
    if (field)
        return err_set(err, ERR_INVALID, "unknown option %s; did you mean --set %s=...?", word,
                       field);
    return err_set(err, ERR_INVALID, "unknown option %s", word);
}

/* The index of value among the choices, or -1 with err. */
static int choice_find(const struct option_row *row, const char *value, struct err *err)
{
    AUTO(buf_release) struct buf allowed; /* "debug, info, warn or error" */

    buf_init(&allowed, 0);
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], value) == 0)
            return i;
        buf_printf(&allowed, "%s%s",
                   i == 0                ? ""
                   : row->choices[i + 1] ? ", "
                                         : " or ",
                   row->choices[i]);
    }
    return err_set(err, ERR_INVALID, "--%s is \"%s\"; it takes %s", row->name, value, allowed.data);
}

static int count_store(int64_t *out, const struct option_row *row, const char *value,
                       struct err *err)
{
    char *end;

    errno = 0;
    *out = strtoll(value, &end, 10);
    if (isdigit((unsigned char)*value) && !*end && errno == 0 && *out >= row->min &&
        (!row->max || *out <= row->max))
        return 0;
    if (!row->max)
        return err_set(err, ERR_INVALID, "--%s is \"%s\"; it takes a whole number from %lld",
                       row->name, value, (long long)row->min);
    return err_set(err, ERR_INVALID, "--%s is \"%s\"; it takes a whole number from %lld to %lld",
                   row->name, value, (long long)row->min, (long long)row->max);
}

static int number_store(double *out, const struct option_row *row, const char *value,
                        struct err *err)
{
    char *end;

    *out = strtod(value, &end);
    if (end != value && !*end && *out >= (double)row->min && *out <= (double)row->max)
        return 0;
    return err_set(err, ERR_INVALID, "--%s is \"%s\"; it takes a number from %lld to %lld",
                   row->name, value, (long long)row->min, (long long)row->max);
}

/* "1m30s" as Go writes it, without fractions, in milliseconds; -1: the text is something else. */
static int64_t duration_parse(const char *text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    int64_t total = 0;
    size_t next = ARRAY_LEN(units); /* units shrink from left to right */

    if (!*text)
        return -1;
    while (*text) {
        size_t digits = strspn(text, "0123456789"), unit = ARRAY_LEN(units), letters;

        if (digits == 0 || digits > 9)
            return -1;
        letters = strspn(text + digits, "hms");
        for (size_t i = 0; i < next; i++)
            if (strlen(units[i].unit) == letters &&
                strncmp(text + digits, units[i].unit, letters) == 0)
                unit = i;
        if (unit == ARRAY_LEN(units))
            return -1;
        total += strtoll(text, NULL, 10) * units[unit].ms;
        next = unit;
        text += digits + letters;
    }
    return total;
}

static int duration_store(int64_t *out, const struct option_row *row, const char *value,
                          struct err *err)
{
    *out = duration_parse(value);
    if (*out > 0 && *out <= DAY_MS)
        return 0;
    return err_set(err, ERR_INVALID,
                   "--%s is \"%s\"; it takes a time such as 15s, 500ms or 1m30s, up to 24h",
                   row->name, value);
}

/* A DNS label, or several with dots: what the API takes for namespaces and Leases. */
static bool name_is_good(const char *name)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    const size_t n = strlen(name);

    return n > 0 && n <= 253 && strspn(name, inner) == n && !strchr("-.", name[0]) &&
           !strchr("-.", name[n - 1]);
}

static int text_store(const char **out, const struct option_row *row, const char *value,
                      struct err *err)
{
    *out = value;
    if (row->kind == OPTION_NAME && !name_is_good(value))
        return err_set(err, ERR_INVALID,
                       "--%s is \"%s\"; it takes a name of lower-case letters, digits and dashes",
                       row->name, value);
    if (row->kind == OPTION_TEXT && row->choices)
        return choice_find(row, value, err) < 0 ? -1 : 0;
    if (row->kind == OPTION_TEXT && !*value)
        return err_set(err, ERR_INVALID, "--%s is empty", row->name);
    return 0;
}

static int option_store(void *values, const struct option_row *row, const char *value,
                        struct err *err)
{
    void *to = (char *)values + row->offset;

    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return 0;
    case OPTION_LIST:
        word_list_add(to, value);
        return 0;
    case OPTION_TEXT:
    case OPTION_NAME:
        return text_store(to, row, value, err);
    case OPTION_COUNT:
        return count_store(to, row, value, err);
    case OPTION_NUMBER:
        return number_store(to, row, value, err);
    case OPTION_DURATION:
        return duration_store(to, row, value, err);
    case OPTION_CHOICE:
        *(int *)to = choice_find(row, value, err);
        return *(int *)to < 0 ? -1 : 0;
    }
    return -1;
}

/* Takes argv[*i], and the word after it where that is the value. */
static int option_take(const struct command_line *line, void *values, char **argv, int *i,
                       struct err *err)
{
    const char *word = argv[*i], *value = strchr(word, '=');
    const size_t len = strcspn(word, "=");
    const struct option_row *row = option_find(line, word, len);

    if (!row)
        return option_unknown(line, word, len, err);
    if (row->kind == OPTION_FLAG && value)
        return err_set(err, ERR_INVALID, "--%s takes no value", row->name);
    if (value)
        value++;
    else if (row->kind != OPTION_FLAG)
        value = argv[++*i];
    if (row->kind != OPTION_FLAG && !value)
        return err_set(err, ERR_INVALID, "--%s needs a value", row->name);
    return option_store(values, row, value, err);
}

static struct word_list *operands_of(const struct command_line *line, void *values)
{
    return line->max_operands ? (struct word_list *)((char *)values + line->operands) : NULL;
}

static int operand_take(const struct command_line *line, void *values, const char *word,
                        bool dashes, struct err *err)
{
    struct word_list *operands = operands_of(line, values);

    if (!operands || operands->n == line->max_operands || (line->after_dashes && !dashes))
        return err_set(err, ERR_INVALID, "one argument too many: %s", word);
    word_list_add(operands, word);
    return 0;
}

static int operands_check(const struct command_line *line, void *values, bool dashes,
                          struct err *err)
{
    const struct word_list *operands = operands_of(line, values);

    if (!operands || operands->n > 0)
        return 0;
    if (line->after_dashes && dashes)
        return err_set(err, ERR_INVALID, "nothing follows --");
    if (line->operand)
        return err_set(err, ERR_INVALID, "%.*s is missing", (int)strcspn(line->operand, " "),
                       line->operand);
    return 0;
}

int command_line_read(const struct command_line *line, void *values, int argc, char **argv,
                      struct buf *answer, struct err *err)
{
    bool dashes = false; /* "--" was there */
    int rc = 0;

    for (int i = 1; i < argc && rc == 0; i++) {
        const char *word = argv[i];

        if (dashes || word[0] != '-' || !word[1]) {
            rc = operand_take(line, values, word, dashes, err);
        } else if (strcmp(word, "--") == 0) {
            dashes = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            command_line_help(line, answer);
            return 1;
        } else if (line->version && strcmp(word, "--version") == 0) {
            buf_printf(answer, "%s\n", line->version);
            return 1;
        } else {
            rc = option_take(line, values, argv, &i, err);
        }
    }
    if (rc == 0)
        rc = operands_check(line, values, dashes, err);
    if (rc == 0 && line->check)
        rc = line->check(values, err);
    return rc;
}

bool command_line_parse(const struct command_line *line, void *values, int argc, char **argv,
                        int *exit_code)
{
    AUTO(buf_release) struct buf answer;
    struct err err;
    int rc;

    buf_init(&answer, 0);
    rc = command_line_read(line, values, argc, argv, &answer, &err);
    if (rc > 0)
        fputs(answer.data, stdout);
    if (rc < 0)
        fprintf(stderr, "%s: %s; `%s --help` says more\n", line->program, err.msg, line->program);
    *exit_code = rc < 0 ? EXIT_INVALID : EXIT_OK;
    return rc == 0;
}

/* "-o, --out DIR"; the caller owns it. */
static char *option_words(const struct option_row *row)
{
    const char letter[] = {'-', row->letter, ',', ' ', '\0'};

    return xasprintf("%s--%s%s%s", row->letter ? letter : "", row->name, row->value ? " " : "",
                     row->value ? row->value : "");
}

void command_line_help(const struct command_line *line, struct buf *out)
{
    size_t width = 0;

    for (size_t i = 0; i < line->n_rows; i++) {
        AUTO(auto_free) char *words = line->rows[i].name ? option_words(&line->rows[i]) : NULL;

        if (words && line->rows[i].help && strlen(words) > width)
            width = strlen(words);
    }
    buf_puts(out, line->before ? line->before : "");
    for (size_t i = 0; i < line->n_rows; i++) {
        AUTO(auto_free) char *words = line->rows[i].name ? option_words(&line->rows[i]) : NULL;
        const char *text = line->rows[i].help;

        if (!words)
            buf_printf(out, "%s\n", text);
        else if (text)
            buf_printf(out, "  %-*s", (int)width, words);
        for (const char *at = text; words && at; at = strchr(at, '\n')) {
            at += *at == '\n';
            buf_printf(out, "%*s%.*s\n", at == text ? 2 : (int)width + 4, "",
                       (int)strcspn(at, "\n"), at);
        }
    }
    buf_puts(out, line->after ? line->after : "");
}
