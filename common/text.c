#include "paceline/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "paceline/mem.h"

/* The length that a first byte announces; 0: no character begins with it. */
static size_t text_announced(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Whether the second byte may follow the first: not if the character is longer than it needs to be,
 * a surrogate, or beyond U+10FFFF. */
static bool may_follow(unsigned char first, unsigned char second)
{
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    return second >= low && second <= high;
}

/* The number of bytes, of the first n, that can belong to the character at s. */
static size_t fitting(const unsigned char *s, size_t n)
{
    size_t i = 1, wanted = text_announced(s[0]);

    if (wanted > 1 && n > 1 && !may_follow(s[0], s[1]))
        return 1;
    while (i < wanted && i < n && (s[i] & 0xc0) == 0x80)
        i++;
    return i;
}

size_t text_character(const char *s, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)s;

    if (!n || !text_announced(bytes[0]))
        return 0;
    return fitting(bytes, n) == text_announced(bytes[0]) ? text_announced(bytes[0]) : 0;
}

bool text_is_partial(const char *s, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)s;

    return n && n < text_announced(bytes[0]) && fitting(bytes, n) == n;
}

static uint32_t code_point(const unsigned char *s, size_t n)
{
    uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (s[i] & 0x3f);
    return c;
}

size_t text_printable(const char *s, size_t n)
{
    static const struct {
        uint32_t first, last;
    } refused[] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
    };
    size_t bytes = text_character(s, n);
    uint32_t c = bytes ? code_point((const unsigned char *)s, bytes) : 0;

    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (c >= refused[i].first && c <= refused[i].last)
            return 0;
    return bytes;
}

void text_print(FILE *out, const char *text)
{
    size_t left = strlen(text);

    while (left) {
        const size_t n = text_printable(text, left);

        if (n)
            fwrite(text, 1, n, out);
        else
            fprintf(out, "\\x%02x", (unsigned char)*text);
        text += n ? n : 1;
        left -= n ? n : 1;
    }
}

void text_escape(char *out, size_t size, const char *text)
{
    size_t left = strlen(text);
    char *end = out + size - 1; /* the last byte, for the NUL */

    while (left) {
        size_t n = text_printable(text, left), needed = n ? n : 4;

        if ((size_t)(end - out) < needed)
            break;
        if (n)
            memcpy(out, text, n);
        else
            snprintf(out, 5, "\\x%02x", (unsigned char)*text);
        out += needed;
        text += n ? n : 1;
        left -= n ? n : 1;
    }
    *out = '\0';
}
