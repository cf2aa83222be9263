// LINK: common/err.c common/text.c common/mem.c worker/data/format/npy.c
/* NumPy's files, made here by the description of their format; NumPy's own are compared with by
 * tests/cli/test_arrays.sh where there is a NumPy. */
#include <math.h>
#include <stdbool.h>

#include "paceline/mem.h"
#include "tests/test.h"
#include "worker/data/format/npy.h"

struct npy_bytes {
    uint8_t *data; /* malloc'ed */
    size_t len;
};

/* A file of this header, of version 1.0 or 2.0, and these values. */
static struct npy_bytes npy_bytes(int version, const char *header, const void *values, size_t size)
{
    const size_t n = strlen(header), before = version == 1 ? 10 : 12;
    struct npy_bytes b = {xcalloc(before + n + size, 1), before + n + size};

    memcpy(b.data, "\x93NUMPY", 6);
    b.data[6] = (uint8_t)version;
    for (size_t i = 8; i < before; i++)
        b.data[i] = (uint8_t)(n >> 8 * (i - 8));
    memcpy(b.data + before, header, n);
    if (size)
        memcpy(b.data + before + n, values, size);
    return b;
}

static const float floats[] = {1, -2, 0x1p-149F, 3.5F, 0, 1e30F};

static void reads_floats(void)
{
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n",
        "{\"shape\":(2,3,),'fortran_order':False,\n\t'descr':\"<f4\"}",
        " { 'descr' : '<f4' , 'shape' : ( 2 , 1 , 3 ) , 'fortran_order' : False } ",
    };

    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        for (int version = 1; version <= 2; version++) {
            struct npy_bytes b = npy_bytes(version, headers[i], floats, sizeof floats);
            struct npy f;
            struct err err = {0};
            float x[3] = {0};

            CHECK_INT(npy_open(&f, b.data, b.len, "a", &err), 0);
            CHECK_STR(err.msg, "");
            CHECK_INT(f.n_dims, i == 2 ? 3 : 2);
            CHECK_INT(f.dims[0], 2);
            CHECK_INT(f.dims[f.n_dims - 1], 3);
            CHECK_INT(f.n_each, 3);
            CHECK_INT(npy_floats(&f, 1, x), 0);
            for (size_t k = 0; k < 3; k++)
                CHECK(x[k] == floats[3 + k]);
            free(b.data);
        }
}

static void reads_other_floats(void)
{
    const double doubles[] = {0.1, -7, 1e-300};
    const uint8_t pixels[] = {0, 51, 255};
    struct npy_bytes d = npy_bytes(1, "{'descr':'<f8','fortran_order':False,'shape':(1,3)}",
                                   doubles, sizeof doubles);
    struct npy_bytes u =
        npy_bytes(1, "{'descr':'|u1','fortran_order':False,'shape':(1,3)}", pixels, sizeof pixels);
    struct npy f;
    struct err err = {0};
    float x[3] = {0};

    CHECK_INT(npy_open(&f, d.data, d.len, "a", &err), 0);
    CHECK_INT(npy_floats(&f, 0, x), 0);
    CHECK(x[0] == 0.1F && x[1] == -7 && x[2] == 0);
    CHECK_INT(npy_open(&f, u.data, u.len, "a", &err), 0);
    CHECK_INT(npy_floats(&f, 0, x), 0);
    CHECK(x[0] == 0 && x[1] == 0.2F && x[2] == 1);
    free(d.data);
    free(u.data);
}

static void notices_what_is_not_finite(void)
{
    const double bad[] = {NAN, -INFINITY, 1e39, 3.4e38, 0};
    struct npy_bytes d =
        npy_bytes(1, "{'descr':'<f8','fortran_order':False,'shape':(5,)}", bad, sizeof bad);
    struct npy f;
    struct err err = {0};
    float x = 0;

    CHECK_INT(npy_open(&f, d.data, d.len, "a", &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_INT(npy_floats(&f, i, &x), i < 3 ? -1 : 0);
    free(d.data);
}

static void reads_integers(void)
{
    static const struct {
        const char *descr;
        const char *bytes;
        size_t size;
        int64_t want[2];
    } cases[] = {
        {"|u1", "\x05\xff", 2, {5, 255}},
        {"|b1", "\x01\0", 2, {1, 0}},
        {"|i1", "\x05\xff", 2, {5, -1}},
        {"<u2", "\x05\x00\xff\xff", 4, {5, 65535}},
        {"<i2", "\x05\x01\xfe\xff", 4, {261, -2}},
        {"<u4", "\x05\0\0\0\xff\xff\xff\xff", 8, {5, 4294967295}},
        {"<i4", "\x05\0\0\0\xff\xff\xff\xff", 8, {5, -1}},
        {"<u8", "\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16, {5, -1}},
        {"<i8", "\x05\0\0\0\x01\0\0\0\xfd\xff\xff\xff\xff\xff\xff\xff", 16, {4294967301, -3}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char header[100];
        struct npy f;
        struct err err = {0};

        snprintf(header, sizeof header, "{'descr':'%s','fortran_order':False,'shape':(2,)}",
                 cases[i].descr);
        struct npy_bytes b = npy_bytes(1, header, cases[i].bytes, cases[i].size);
        CHECK_INT(npy_open(&f, b.data, b.len, "a", &err), 0);
        for (size_t k = 0; k < 2; k++)
            CHECK_INT(npy_integer(&f, k), cases[i].want[k]);
        free(b.data);
    }
}

/* Numbers of any kind as they are: u1 is no pixel here. */
static void reads_numbers(void)
{
    static const struct {
        const char *descr;
        const char *bytes;
        size_t size;
        float want[2];
        int rc;
    } cases[] = {
        {"|b1", "\x01\0", 2, {1, 0}, 0},
        {"|u1", "\x05\xff", 2, {5, 255}, 0},
        {"<i2", "\x05\x01\xfe\xff", 4, {261, -2}, 0},
        {"<f4", "\0\0\x80\x3f\0\0\0\xc0", 8, {1, -2}, 0},
        {"<i4", "\0\0\0\1\0\0\0\xff", 8, {0x1p24F, -0x1p24F}, 0},
        {"<i4", "\1\0\0\1\0\0\0\xff", 8, {0}, -1},
        {"<i4", "\0\0\0\1\xff\xff\xff\xfe", 8, {0}, -1},
        {"<u8", "\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16, {0}, -1},
        {"<f4", "\0\0\x80\x3f\0\0\x80\x7f", 8, {0}, -1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char header[100];
        struct npy f;
        struct err err = {0};
        float x[4] = {9, 9, 9, 9};

        snprintf(header, sizeof header, "{'descr':'%s','fortran_order':False,'shape':(1,2)}",
                 cases[i].descr);
        struct npy_bytes b = npy_bytes(1, header, cases[i].bytes, cases[i].size);
        CHECK_INT(npy_open(&f, b.data, b.len, "a", &err), 0);
        CHECK_INT(npy_numbers(&f, 0, x), cases[i].rc);
        for (size_t k = 0; k < 2 && !cases[i].rc; k++)
            CHECK(x[k] == cases[i].want[k]);
        free(b.data);
    }
}

static void check_refused(struct npy_bytes b, const char *sentence)
{
    struct npy f;
    struct err err = {0};

    CHECK_INT(npy_open(&f, b.data, b.len, "a", &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_STR(err.msg, sentence);
    free(b.data);
}

#define HEADER(descr, order, shape) \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"
#define NEEDED "; needed: {'descr': ..., 'fortran_order': ..., 'shape': (...)}, as NumPy writes it"
#define TYPES                                                                                  \
    "; allowed: little-endian floats (<f4, <f8), integers (|u1, <i4, <i8 and their like) and " \
    "bools (|b1)"

static void refuses(void)
{
    static const struct {
        const char *header, *sentence;
    } cases[] = {
        {HEADER(">f4", "False", "(6,)"), "a: found values of type '>f4'" TYPES},
        {HEADER("<f2", "False", "(6,)"), "a: found values of type '<f2'" TYPES},
        {HEADER("<f4\033[2J", "False", "(6,)"), "a: found values of type '<f4?[2J'" TYPES},
        {HEADER("<f4", "True", "(2, 3)"),
         "a: found values in Fortran order; needed: C order, as of numpy.ascontiguousarray"},
        {HEADER("<f4", "False", "()"), "a: found an array of no dimensions; allowed: 1 to 4"},
        {HEADER("<f4", "False", "(1, 1, 1, 1, 6)"),
         "a: found an array of more than four dimensions; allowed: 1 to 4"},
        {HEADER("<f4", "False", "(6, 0)"), "a: dimension 2 is 0; needed: 1 and more"},
        {HEADER("<f4", "False", "(7,)"),
         "a: cut short: 24 bytes after the header, whose shape needs 28"},
        {HEADER("<f4", "False", "(5,)"),
         "a: trailing bytes: 24 bytes after the header, whose shape needs 20"},
        {HEADER("<f4", "False", "(4294967296, 4294967296)"),
         "a: dimensions of more bytes than there are addresses; the file has 24 after its header"},
        {HEADER("<f4", "False", "(18446744073709551616,)"),
         "a: found the header {'descr': '<f4', 'fortran_order': False, 'shape': (184467440" NEEDED},
        {HEADER("<f4", "False", "(6)"),
         "a: found the header {'descr': '<f4', 'fortran_order': False, 'shape': (6), }" NEEDED},
        {"", "a: cut short: 34 bytes, in which the header does not end"},
        {"{}", "a: found the header {}" NEEDED},
        {"{'descr': '<f4', 'descr': '<f4'}",
         "a: found the header {'descr': '<f4', 'descr': '<f4'}" NEEDED},
        {"{'descr': [('x', '<f4')]}", "a: found the header {'descr': [('x', '<f4')]}" NEEDED},
        {"{'descr': '<f4', 'shape': (6,)}",
         "a: found the header {'descr': '<f4', 'shape': (6,)}" NEEDED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} 1",
         "a: found the header {'descr': '<f4', 'fortran_order': False, 'shape': (6,)} 1" NEEDED},
        {"{'descr': '<f4', 'fortran_order': None, 'shape': (6,)}",
         "a: found the header {'descr': '<f4', 'fortran_order': None, 'shape': (6,)}" NEEDED},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_refused(npy_bytes(1, cases[i].header, floats, sizeof floats), cases[i].sentence);
    check_refused(npy_bytes(3, HEADER("<f4", "False", "(6,)"), floats, sizeof floats),
                  "a: found version 3.0; allowed: 1.0 and 2.0");
    struct npy_bytes other = npy_bytes(1, HEADER("<f4", "False", "(6,)"), floats, sizeof floats);
    other.data[0] = 0x92;
    check_refused(other, "a: no .npy file: it does not begin with \\x93NUMPY and a version");
}

/* Cut anywhere a file is refused, and nothing is read beyond its end (of the sanitised build). */
static void refuses_every_cut(void)
{
    for (int version = 1; version <= 2; version++) {
        struct npy_bytes b =
            npy_bytes(version, HEADER("<f4", "False", "(6,)"), floats, sizeof floats);

        for (size_t len = 0; len < b.len; len++) {
            uint8_t *cut = memcpy(xmalloc(len + 1), b.data, len);
            uint8_t *end = xrealloc(cut, len ? len : 1);
            struct npy f;
            struct err err = {0};

            CHECK_INT(npy_open(&f, end, len, "a", &err), -1);
            free(end);
        }
        free(b.data);
    }
}

int main(void)
{
    reads_floats();
    reads_other_floats();
    notices_what_is_not_finite();
    reads_integers();
    reads_numbers();
    refuses();
    refuses_every_cut();
    return test_result();
}
