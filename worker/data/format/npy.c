#include "worker/data/format/npy.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "paceline/mem.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are read as they lie");

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define FLOAT_EXPONENT 0x7f800000u /* all ones: infinite, or none */
#define FLOAT_INTEGERS (1 << 24)   /* up to here each is a float */
#define SHOWN 60                   /* characters of a header that are repeated */

static const struct {
    const char *descr;
    char kind;
    int size;
} types[] = {
    {"<f4", 'f', 4}, {"<f8", 'f', 8}, {"|u1", 'u', 1}, {"|i1", 'i', 1},
    {"<u2", 'u', 2}, {"<i2", 'i', 2}, {"<u4", 'u', 4}, {"<i4", 'i', 4},
    {"<u8", 'u', 8}, {"<i8", 'i', 8}, {"|b1", 'b', 1},
};

/* What is left of the header. */
struct npy_text {
    const char *at, *end;
};

static bool npy_is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_space(struct npy_text *t)
{
    while (t->at < t->end && npy_is_space(*t->at))
        t->at++;
}

/* Whether the next token is this character; then it is consumed. */
static bool npy_take(struct npy_text *t, char c)
{
    skip_space(t);
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

/* A string in quotes of either kind, without escapes. */
static bool take_string(struct npy_text *t, struct npy_text *string)
{
    const char quote = npy_take(t, '\'') ? '\'' : npy_take(t, '"') ? '"' : 0;

    if (!quote)
        return false;
    string->at = t->at;
    while (t->at < t->end && *t->at != quote && *t->at != '\\')
        t->at++;
    string->end = t->at;
    return npy_take(t, quote);
}

static bool npy_is_text(const struct npy_text *t, const char *word)
{
    const size_t n = strlen(word);

    return (size_t)(t->end - t->at) == n && memcmp(t->at, word, n) == 0;
}

static bool npy_take_word(struct npy_text *t, const char *word)
{
    const size_t n = strlen(word);

    skip_space(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

/* Digits, of a number that a size_t holds. */
static bool take_size(struct npy_text *t, size_t *size)
{
    const char *begin;

    skip_space(t);
    begin = t->at;
    for (*size = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        const size_t digit = (size_t)(*t->at - '0');

        if (*size > (SIZE_MAX - digit) / 10)
            return false;
        *size = *size * 10 + digit;
    }
    return t->at > begin;
}

/* Its beginning, fit for a message. */
struct npy_shown {
    char s[SHOWN + 1];
};

static struct npy_shown npy_show(const struct npy_text *t)
{
    struct npy_shown shown = {{0}};
    size_t n = 0;

    for (const char *c = t->at; c < t->end && n < SHOWN; c++)
        shown.s[n++] = *c >= ' ' && *c <= '~' ? *c : '?';
    return shown;
}

static int bad_header(const struct npy *f, const struct npy_text *all, struct err *err)
{
    return err_set(err, ERR_DAMAGED,
                   "%s: found the header %s; needed: {'descr': ..., 'fortran_order': ..., 'shape': "
                   "(...)}, as NumPy writes it",
                   f->name, npy_show(all).s);
}

/* (), (n,), (n, m), ...; dims beyond those that there is room for are counted alone. */
static bool take_shape(struct npy_text *t, struct npy *f)
{
    size_t size;

    f->n_dims = 0;
    if (!npy_take(t, '('))
        return false;
    while (!npy_take(t, ')')) {
        if (!take_size(t, &size))
            return false;
        if (f->n_dims < NPY_MAX_DIMS)
            f->dims[f->n_dims] = size;
        f->n_dims += f->n_dims <= NPY_MAX_DIMS;
        if (npy_take(t, ','))
            continue;
        return f->n_dims > 1 && npy_take(t, ')'); /* (n) is a number and no tuple */
    }
    return true;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

struct npy_header {
    int has;
    struct npy_text descr;
    bool fortran;
};

/* One key with its value; false: it is none of the three, or was there before. */
static bool take_entry(struct npy_text *t, struct npy *f, struct npy_header *h)
{
    struct npy_text key;
    int which = 0;
    bool ok = false;

    if (!take_string(t, &key) || !npy_take(t, ':'))
        return false;
    if (npy_is_text(&key, "descr")) {
        which = HAS_DESCR;
        ok = take_string(t, &h->descr);
    } else if (npy_is_text(&key, "fortran_order")) {
        which = HAS_ORDER;
        h->fortran = npy_take_word(t, "True");
        ok = h->fortran || npy_take_word(t, "False");
    } else if (npy_is_text(&key, "shape")) {
        which = HAS_SHAPE;
        ok = take_shape(t, f);
    }
    ok = ok && !(h->has & which);
    h->has |= which;
    return ok;
}

static int parse_header(struct npy *f, struct npy_header *h, struct npy_text all, struct err *err)
{
    struct npy_text t = all;
    bool ok = npy_take(&t, '{');

    *h = (struct npy_header){.descr = {all.end, all.end}};
    while (ok && !npy_take(&t, '}')) {
        ok = take_entry(&t, f, h);
        if (ok && !npy_take(&t, ',')) {
            ok = npy_take(&t, '}');
            break;
        }
    }
    skip_space(&t);
    return ok && h->has == HAS_ALL && t.at == t.end ? 0 : bad_header(f, &all, err);
}

static int check_type(struct npy *f, const struct npy_header *h, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (npy_is_text(&h->descr, types[i].descr)) {
            f->kind = types[i].kind;
            f->size = types[i].size;
        }
    if (!f->size)
        return err_set(err, ERR_DAMAGED,
                       "%s: found values of type '%s'; allowed: little-endian floats (<f4, <f8), "
                       "integers (|u1, <i4, <i8 and their like) and bools (|b1)",
                       f->name, npy_show(&h->descr).s);
    if (h->fortran)
        return err_set(err, ERR_DAMAGED,
                       "%s: found values in Fortran order; needed: C order, as of "
                       "numpy.ascontiguousarray",
                       f->name);
    return 0;
}

/* Against the bytes after the header, `found`. */
static int npy_check_shape(struct npy *f, size_t found, struct err *err)
{
    size_t bytes = (size_t)f->size;

    if (f->n_dims < 1 || f->n_dims > NPY_MAX_DIMS)
        return err_set(err, ERR_DAMAGED, "%s: found an array of %s dimensions; allowed: 1 to %d",
                       f->name, f->n_dims ? "more than four" : "no", NPY_MAX_DIMS);
    for (int i = 0; i < f->n_dims; i++) {
        if (f->dims[i] < 1)
            return err_set(err, ERR_DAMAGED, "%s: dimension %d is 0; needed: 1 and more", f->name,
                           i + 1);
        if (f->dims[i] > SIZE_MAX / bytes)
            return err_set(
                err, ERR_DAMAGED,
                "%s: dimensions of more bytes than there are addresses; the file has %zu "
                "after its header",
                f->name, found);
        bytes *= f->dims[i];
    }
    if (found != bytes)
        return err_set(err, ERR_DAMAGED,
                       "%s: %s: %zu bytes after the header, whose shape needs %zu", f->name,
                       found < bytes ? "cut short" : "trailing bytes", found, bytes);
    f->n_each = bytes / (size_t)f->size / f->dims[0];
    return 0;
}

static size_t npy_little_endian(const uint8_t *p, size_t n)
{
    size_t v = 0;

    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

int npy_open(struct npy *f, const uint8_t *bytes, size_t len, const char *name, struct err *err)
{
    const size_t before = MAGIC_BYTES + 2; /* the magic number and the version */
    struct npy_header h;

    *f = (struct npy){.name = name};
    if (len < before || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return err_set(err, ERR_DAMAGED,
                       "%s: no .npy file: it does not begin with \\x93NUMPY and a version", name);
    if (bytes[6] < 1 || bytes[6] > 2 || bytes[7] != 0)
        return err_set(err, ERR_DAMAGED, "%s: found version %d.%d; allowed: 1.0 and 2.0", name,
                       bytes[6], bytes[7]);
    const size_t width = bytes[6] == 1 ? 2 : 4; /* of the length */
    const size_t length = len < before + width ? 0 : npy_little_endian(bytes + before, width);
    if (length < 1 || length > len - before - width)
        return err_set(err, ERR_DAMAGED,
                       "%s: cut short: %zu bytes, in which the header does not end", name, len);
    const char *text = (const char *)bytes + before + width;
    f->values = bytes + before + width + length;
    if (parse_header(f, &h, (struct npy_text){text, text + length}, err) || check_type(f, &h, err))
        return -1;
    return npy_check_shape(f, len - before - width - length, err);
}

/* Whether one of the bits' exponents is that of what is not finite. */
static int check_finite(const float *x, size_t n)
{
    uint32_t bad = 0;

    for (size_t k = 0; k < n; k++) {
        uint32_t bits;

        memcpy(&bits, &x[k], sizeof bits);
        bad |= (bits & FLOAT_EXPONENT) == FLOAT_EXPONENT;
    }
    return bad ? -1 : 0;
}

int npy_floats(const struct npy *f, size_t i, float *x)
{
    const uint8_t *from = f->values + i * f->n_each * (size_t)f->size;

    if (f->kind == 'u') {
        for (size_t k = 0; k < f->n_each; k++)
            x[k] = (float)(from[k] / 255.0);
        return 0;
    }
    if (f->size == 4)
        memcpy(x, from, f->n_each * sizeof *x);
    for (size_t k = 0; k < f->n_each && f->size == 8; k++) {
        double v;

        memcpy(&v, from + k * sizeof v, sizeof v);
        x[k] = (float)v;
    }
    return check_finite(x, f->n_each);
}

int npy_numbers(const struct npy *f, size_t i, float *x)
{
    if (f->kind == 'f')
        return npy_floats(f, i, x);
    for (size_t k = 0; k < f->n_each; k++) {
        const int64_t v = npy_integer(f, i * f->n_each + k);

        if (v < -FLOAT_INTEGERS || v > FLOAT_INTEGERS || (v < 0 && f->kind != 'i'))
            return -1;
        x[k] = (float)v;
    }
    return 0;
}

int64_t npy_integer(const struct npy *f, size_t i)
{
    const int unused = 64 - 8 * f->size;
    uint64_t bits = 0;
    int64_t value;

    memcpy(&bits, f->values + i * (size_t)f->size, (size_t)f->size);
    if (f->kind != 'i')
        return bits > INT64_MAX ? -1 : (int64_t)bits;
    bits <<= unused;
    memcpy(&value, &bits, sizeof value);
    return value >> unused;
}
