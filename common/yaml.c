#include "paceline/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <yaml.h>

#include "paceline/json.h"
#include "paceline/mem.h"

struct yaml_input {
    const char *text;
    size_t len;
};

/* Each value is at most: an entry, a key, a tag, an anchor, itself, its value's mark, its end. */
#define TOKENS_PER_VALUE 8
#define TOO_DEEP "%s:%d: nested deeper than %d levels"
#define TOO_MANY "%s:%d: more than %d values"

struct yaml_reader {
    struct yaml_doc *doc;
    yaml_document_t source;
    const char *name;
    size_t text_bytes; /* of all strings and keys so far, aliases expanded */
    struct err *err;
};

void yaml_release(struct yaml_doc *doc)
{
    cJSON_Delete(doc->root);
    free(doc->marks);
    *doc = (struct yaml_doc){0};
}

void yaml_mark(struct yaml_doc *doc, const cJSON *node, int line)
{
    if ((doc->n_marks & (doc->n_marks - 1)) == 0) /* grows at powers of two */
        doc->marks = xrealloc(doc->marks, (2 * doc->n_marks + 1) * sizeof *doc->marks);
    doc->marks[doc->n_marks++] = (struct yaml_mark){node, line};
}

int yaml_line(const struct yaml_doc *doc, const cJSON *node)
{
    for (size_t i = doc->n_marks; i-- > 0;)
        if (doc->marks[i].node == node)
            return doc->marks[i].line;
    return 0;
}

static int yaml_line_of(const yaml_node_t *node) { return (int)node->start_mark.line + 1; }

static int yaml_fail(const struct yaml_reader *r, int line, const char *what)
{
    return err_set(r->err, ERR_INVALID, "%s:%d: %s", r->name, line, what);
}

static bool yaml_one_of(const char *s, const char *const *words)
{
    while (*words && strcmp(s, *words) != 0)
        words++;
    return *words != NULL;
}

static const char *skip_digits(const char *s) { return s + strspn(s, "0123456789"); }

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? of the core schema. */
static bool is_decimal(const char *s)
{
    const char *whole, *fraction, *exponent;

    s += *s == '-' || *s == '+';
    whole = skip_digits(s);
    fraction = *whole == '.' ? skip_digits(whole + 1) : whole;
    if (whole == s && fraction <= whole + 1)
        return false;
    if (*fraction != 'e' && *fraction != 'E')
        return *fraction == '\0';
    exponent = fraction + 1 + (fraction[1] == '-' || fraction[1] == '+');
    return skip_digits(exponent) > exponent && *skip_digits(exponent) == '\0';
}

/* 0o17 and 0x1f; at most 2^64, beyond which it stays text. */
static bool prefixed_integer(const char *s, double *number)
{
    bool hex = s[0] == '0' && s[1] == 'x';
    const char *digits = hex ? "0123456789abcdefABCDEF" : "01234567";

    if (s[0] != '0' || !(hex || s[1] == 'o') || !s[2] || s[2 + strspn(s + 2, digits)])
        return false;
    errno = 0;
    *number = (double)strtoull(s + 2, NULL, hex ? 16 : 8);
    return errno == 0;
}

static void plain_scalar(const char *s, cJSON **out)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    double number;

    if (yaml_one_of(s, nulls))
        *out = cJSON_CreateNull();
    else if (yaml_one_of(s, trues) || yaml_one_of(s, falses))
        *out = cJSON_CreateBool(yaml_one_of(s, trues));
    else if (prefixed_integer(s, &number))
        *out = cJSON_CreateNumber(number);
    else if (is_decimal(s) && isfinite(strtod(s, NULL)))
        *out = cJSON_CreateNumber(strtod(s, NULL));
    else
        *out = cJSON_CreateString(s); /* also if it is not finite: then the field is reported */
}

/* A few aliases could otherwise copy one long string thousands of times. */
static int count_text(struct yaml_reader *r, const yaml_node_t *node)
{
    r->text_bytes += node->data.scalar.length;
    if (r->text_bytes <= YAML_MAX_BYTES)
        return 0;
    return err_set(r->err, ERR_INVALID,
                   "%s:%d: with its aliases expanded, the text of all values is longer than %zu "
                   "bytes",
                   r->name, yaml_line_of(node), YAML_MAX_BYTES);
}

static int scalar(struct yaml_reader *r, const yaml_node_t *node, cJSON **out)
{
    const char *s = (const char *)node->data.scalar.value;

    if (strlen(s) != node->data.scalar.length)
        return yaml_fail(r, yaml_line_of(node), "a string holds a NUL character");
    if (count_text(r, node))
        return -1;
    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        plain_scalar(s, out);
    else
        *out = cJSON_CreateString(s);
    return 0;
}

static int convert(struct yaml_reader *r, int id, int key_line, int depth, cJSON **out);

static int sequence(struct yaml_reader *r, const yaml_node_t *node, int depth, cJSON *list)
{
    for (const int *item = node->data.sequence.items.start; item < node->data.sequence.items.top;
         item++) {
        cJSON *value = NULL;

        if (convert(r, *item, 0, depth + 1, &value))
            return -1;
        cJSON_AddItemToArray(list, value);
    }
    return 0;
}

struct key {
    const char *word;
    int line, place; /* place: its number in the mapping */
};

static int yaml_compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    const int order = strcmp(x->word, y->word);

    return order ? order : x->place - y->place;
}

/* Refuses the first key that equals an earlier one. It sorts them, because a mapping may have
 * thousands. */
static int check_twice(const struct yaml_reader *r, struct key *keys, size_t n)
{
    const struct key *first = NULL, *second = NULL;

    qsort(keys, n, sizeof *keys, yaml_compare_keys);
    for (size_t i = 1; i < n; i++)
        if (strcmp(keys[i - 1].word, keys[i].word) == 0 &&
            (!second || keys[i].place < second->place)) {
            first = &keys[i - 1];
            second = &keys[i];
        }
    if (!second)
        return 0;
    return err_set(r->err, ERR_INVALID,
                   "%s:%d: key \"%.60s\" stands twice; the first is on line %d", r->name,
                   second->line, second->word, first->line);
}

static int check_keys(struct yaml_reader *r, const yaml_node_t *node)
{
    const yaml_node_pair_t *pairs = node->data.mapping.pairs.start;
    const size_t n = (size_t)(node->data.mapping.pairs.top - pairs);
    AUTO(auto_free) struct key *keys = xcalloc(n, sizeof *keys);

    for (size_t i = 0; i < n; i++) {
        const yaml_node_t *key = yaml_document_get_node(&r->source, pairs[i].key);

        if (key->type != YAML_SCALAR_NODE)
            return yaml_fail(r, yaml_line_of(key), "a key is not a plain word; keys are strings");
        keys[i] = (struct key){(const char *)key->data.scalar.value, yaml_line_of(key), (int)i};
        if (strlen(keys[i].word) != key->data.scalar.length)
            return yaml_fail(r, yaml_line_of(key), "a key holds a NUL character");
        if (count_text(r, key))
            return -1;
    }
    return check_twice(r, keys, n);
}

static int mapping(struct yaml_reader *r, const yaml_node_t *node, int depth, cJSON *object)
{
    if (check_keys(r, node))
        return -1;
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&r->source, pair->key);
        cJSON *value = NULL;

        if (convert(r, pair->value, yaml_line_of(key), depth + 1, &value))
            return -1;
        cJSON_AddItemToObject(object, (const char *)key->data.scalar.value, value);
    }
    return 0;
}

static bool has_own_tag(const yaml_node_t *node)
{
    static const char *const defaults[] = {YAML_STR_TAG, YAML_SEQ_TAG, YAML_MAP_TAG, NULL};

    return !yaml_one_of((const char *)node->tag, defaults);
}

/* key_line 0: the value stands in a list or alone, and its own line counts. */
static int convert(struct yaml_reader *r, int id, int key_line, int depth, cJSON **out)
{
    const yaml_node_t *node = yaml_document_get_node(&r->source, id);
    AUTO(auto_json) cJSON *value = NULL;

    if (depth > YAML_MAX_DEPTH)
        return err_set(r->err, ERR_INVALID, TOO_DEEP, r->name, yaml_line_of(node), YAML_MAX_DEPTH);
    if (r->doc->n_marks >= YAML_MAX_NODES)
        return err_set(r->err, ERR_INVALID, TOO_MANY, r->name, yaml_line_of(node), YAML_MAX_NODES);
    if (has_own_tag(node))
        return err_set(r->err, ERR_INVALID, "%s:%d: found the tag %.60s; tags are not allowed",
                       r->name, yaml_line_of(node), (const char *)node->tag);
    if (node->type == YAML_SCALAR_NODE) {
        if (scalar(r, node, &value))
            return -1;
    } else {
        value = node->type == YAML_MAPPING_NODE ? cJSON_CreateObject() : cJSON_CreateArray();
    }
    yaml_mark(r->doc, value, key_line ? key_line : yaml_line_of(node));
    if (node->type == YAML_SEQUENCE_NODE && sequence(r, node, depth, value))
        return -1;
    if (node->type == YAML_MAPPING_NODE && mapping(r, node, depth, value))
        return -1;
    *out = STEAL(value);
    return 0;
}

/* The byte at the mark in a UTF-8 text; 0 at its end. Marks count characters. */
static char marked(const char *text, size_t len, const yaml_mark_t *mark)
{
    size_t i = 0;

    for (size_t line = 0; line < mark->line && i < len; i++)
        line += text[i] == '\n';
    for (size_t column = 0; column < mark->column && i < len; column++)
        do
            i++;
        while (i < len && (text[i] & 0xc0) == 0x80);
    return i < len ? text[i] : '\0';
}

/* Reports what libyaml could not read. */
static int load_error(const yaml_parser_t *p, const struct yaml_input *in, const char *name,
                      struct err *err)
{
    size_t line = p->problem_mark.line + 1;

    if (p->error == YAML_READER_ERROR) { /* it has no mark */
        line = 1;
        for (size_t i = 0; i < p->problem_offset && i < in->len; i++)
            line += in->text[i] == '\n';
        return err_set(err, ERR_INVALID, "%s:%zu: this is not text in UTF-8: %s", name, line,
                       p->problem ? p->problem : "out of memory");
    }
    if (p->error == YAML_SCANNER_ERROR && marked(in->text, in->len, &p->problem_mark) == '\t')
        return err_set(err, ERR_INVALID, "%s:%zu: found a tab; YAML is indented by spaces", name,
                       line);
    return err_set(err, ERR_INVALID, "%s:%zu: not valid YAML: %s%s%s", name, line,
                   p->context ? p->context : "", p->context ? ", " : "",
                   p->problem ? p->problem : "out of memory");
}

/* The document is converted only when nothing follows it. */
static int yaml_load(struct yaml_reader *r, yaml_parser_t *parser, const struct yaml_input *in)
{
    yaml_document_t second;
    const yaml_node_t *root, *extra;
    int line = 0, rc = 0;

    root = yaml_document_get_root_node(&r->source);
    if (!root)
        return 0;
    if (!yaml_parser_load(parser, &second))
        return load_error(parser, in, r->name, r->err);
    extra = yaml_document_get_root_node(&second);
    if (extra)
        line = yaml_line_of(extra);
    yaml_document_delete(&second);
    if (extra)
        rc = yaml_fail(r, line, "a second document begins; a file holds one");
    return rc ? rc : convert(r, 1, 0, 1, &r->doc->root);
}

/* Sets UTF-8, so that libyaml and check_blanks read the same characters. */
static void set_input(yaml_parser_t *parser, const char *text, size_t len)
{
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)text, len);
}

/* The length of the blank or the line break at the start of text; 0 if there is neither. */
static size_t blank_bytes(const char *text, size_t len)
{
    static const char *const wide[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};

    if (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(wide); i++)
        if (len >= strlen(wide[i]) && memcmp(text, wide[i], strlen(wide[i])) == 0)
            return strlen(wide[i]);
    return 0;
}

/*
 * Within a scalar libyaml keeps blanks in a buffer. The buffer grows to the longest run, and
 * libyaml clears all of it after each word.
 */
static int check_blanks(const struct yaml_reader *r, const char *text, size_t len)
{
    size_t run = 0;
    int line = 1;

    for (size_t at = 0, n; at < len; at += n ? n : 1) {
        n = blank_bytes(text + at, len - at);
        run = n ? run + n : 0;
        line += text[at] == '\n';
        if (run > YAML_MAX_BLANKS)
            return err_set(r->err, ERR_INVALID,
                           "%s:%d: more than %d blanks and empty lines in a row", r->name, line,
                           YAML_MAX_BLANKS);
    }
    return 0;
}

struct yaml_census {
    int depth, anchors, tokens;
};

static int check_token(const struct yaml_reader *r, const yaml_token_t *t, struct yaml_census *c)
{
    const int line = (int)t->start_mark.line + 1;

    switch (t->type) {
    case YAML_BLOCK_SEQUENCE_START_TOKEN:
    case YAML_BLOCK_MAPPING_START_TOKEN:
    case YAML_FLOW_SEQUENCE_START_TOKEN:
    case YAML_FLOW_MAPPING_START_TOKEN:
        if (++c->depth > YAML_MAX_DEPTH)
            return err_set(r->err, ERR_INVALID, TOO_DEEP, r->name, line, YAML_MAX_DEPTH);
        break;
    case YAML_BLOCK_END_TOKEN:
    case YAML_FLOW_SEQUENCE_END_TOKEN:
    case YAML_FLOW_MAPPING_END_TOKEN:
        c->depth--;
        break;
    case YAML_ANCHOR_TOKEN:
        if (++c->anchors > YAML_MAX_ANCHORS)
            return err_set(r->err, ERR_INVALID, "%s:%d: more than %d anchors", r->name, line,
                           YAML_MAX_ANCHORS);
        break;
    case YAML_TAG_DIRECTIVE_TOKEN:
        return yaml_fail(r, line, "found the directive %TAG; tags are not allowed");
    default:
        break;
    }
    if (++c->tokens > TOKENS_PER_VALUE * YAML_MAX_NODES)
        return err_set(r->err, ERR_INVALID, TOO_MANY, r->name, line, YAML_MAX_NODES);
    return 0;
}

/*
 * libyaml has no bounds of its own, and its time grows with the square of the depth, and of the
 * number of anchors, aliases and directives. So the tokens are counted before anything is made of
 * them. A mistake of syntax is left to the loader, which has the better sentence.
 */
static int check_tokens(const struct yaml_reader *r, const char *text, size_t len)
{
    yaml_parser_t scanner;
    struct yaml_census c = {0};
    bool more = true;
    int rc = 0;

    if (!yaml_parser_initialize(&scanner))
        return err_set(r->err, ERR_INVALID, "%s: out of memory", r->name);
    set_input(&scanner, text, len);
    while (more && !rc) {
        yaml_token_t token;

        more = yaml_parser_scan(&scanner, &token) && token.type != YAML_NO_TOKEN &&
               token.type != YAML_STREAM_END_TOKEN;
        rc = more ? check_token(r, &token, &c) : 0;
        if (more)
            yaml_token_delete(&token);
    }
    yaml_parser_delete(&scanner);
    return rc;
}

int yaml_parse(struct yaml_doc *doc, const char *text, size_t len, const char *name,
               struct err *err)
{
    const struct yaml_input in = {text, len};
    struct yaml_reader r = {.doc = doc, .name = name, .err = err};
    yaml_parser_t parser;
    int rc = -1;

    *doc = (struct yaml_doc){0};
    if (len > YAML_MAX_BYTES)
        return err_set(err, ERR_INVALID, "%s: %zu bytes of YAML; at most %zu are allowed", name,
                       len, YAML_MAX_BYTES);
    if (check_blanks(&r, text, len) || check_tokens(&r, text, len))
        return -1;
    if (!yaml_parser_initialize(&parser))
        return err_set(err, ERR_INVALID, "%s: out of memory", name);
    set_input(&parser, text, len);
    if (yaml_parser_load(&parser, &r.source)) {
        rc = yaml_load(&r, &parser, &in);
        yaml_document_delete(&r.source);
    } else {
        load_error(&parser, &in, name, err);
    }
    yaml_parser_delete(&parser);
    return rc;
}
