#include "worker/data/format/vocabulary.h"

#include <stdbool.h>

#include "paceline/mem.h"

#define EOS "<eos>"
#define UNK "<unk>"

struct word {
    const char *bytes;
    size_t len;
    uint64_t count;
};

/* Where a text is being read. */
struct word_reader {
    const char *at, *end;
};

static bool vocabulary_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The next word, NULL after the last. */
static const char *next_word(struct word_reader *r, size_t *len)
{
    const char *word;

    while (r->at < r->end && vocabulary_is_space(*r->at))
        if (*r->at++ == '\n') {
            *len = strlen(EOS);
            return EOS;
        }
    word = r->at;
    while (r->at < r->end && !vocabulary_is_space(*r->at))
        r->at++;
    *len = (size_t)(r->at - word);
    return *len ? word : NULL;
}

static struct word_reader reader_of(const uint8_t *text, size_t len)
{
    return (struct word_reader){(const char *)text, (const char *)text + len};
}

int vocabulary_count(const uint8_t *text, size_t len, const char *name, size_t *n, struct err *err)
{
    struct word_reader r = reader_of(text, len);
    const uint8_t *zero = len ? memchr(text, 0, len) : NULL;
    size_t bytes;

    if (zero)
        return err_set(err, ERR_DAMAGED, "%s: found a byte 0 at %zu; allowed: text", name,
                       (size_t)(zero - text));
    for (*n = 0; next_word(&r, &bytes); ++*n)
        if (bytes > WORD_MAX)
            return err_set(err, ERR_DAMAGED, "%s: word %zu has %zu bytes; allowed: %d", name,
                           *n + 1, bytes, WORD_MAX);
    return 0;
}

/* FNV-1a, with its high half folded in. */
static size_t hash(const char *word, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)word[i]) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

/* The slot that has the word, or the one that it would go to. */
static uint32_t *vocabulary_find(const struct vocabulary *v, const char *word, size_t len)
{
    for (size_t i = hash(word, len);; i++) {
        uint32_t *slot = &v->slots[i & (v->n_slots - 1)];
        const struct word *w = *slot ? &v->words[*slot - 1] : NULL;

        if (!w || (w->len == len && memcmp(w->bytes, word, len) == 0))
            return slot;
    }
}

/* A new table, less than half full, of all words. */
static void rehash(struct vocabulary *v)
{
    while (v->n_slots < 2 * (v->n_words + 1))
        v->n_slots = v->n_slots ? 2 * v->n_slots : 1024;
    free(v->slots);
    v->slots = xcalloc(v->n_slots, sizeof *v->slots);
    for (size_t i = 0; i < v->n_words; i++)
        *vocabulary_find(v, v->words[i].bytes, v->words[i].len) = (uint32_t)i + 1;
}

static void vocabulary_add(struct vocabulary *v, const char *word, size_t len, uint64_t times)
{
    uint32_t *slot = vocabulary_find(v, word, len);

    if (!*slot) {
        if (v->n_words == v->room) {
            v->room = v->room ? 2 * v->room : 1024;
            v->words = xrealloc(v->words, v->room * sizeof *v->words);
        }
        v->words[v->n_words++] = (struct word){.bytes = word, .len = len};
        *slot = (uint32_t)v->n_words;
    }
    v->words[*slot - 1].count += times;
    if (2 * (v->n_words + 1) > v->n_slots)
        rehash(v);
}

static int by_count(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    const size_t len = x->len < y->len ? x->len : y->len;
    const int order = memcmp(x->bytes, y->bytes, len);

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return order ? order : x->len < y->len ? -1 : 1;
}

static uint32_t vocabulary_place(const struct vocabulary *v, const char *word)
{
    return *vocabulary_find(v, word, strlen(word)) - 1;
}

/* A word that is too rare for a number gets this one, all the same. */
static void vocabulary_keep(struct vocabulary *v, const char *special, int number)
{
    const uint32_t at = vocabulary_place(v, special);
    const struct word w = v->words[at];

    if (at < (uint32_t)v->n)
        return;
    v->words[at] = v->words[number];
    v->words[number] = w;
    rehash(v);
}

int vocabulary_build(struct vocabulary *v, const uint8_t *text, size_t len, const char *name,
                     int bound, struct err *err)
{
    struct word_reader r = reader_of(text, len);
    const char *word;
    size_t n;

    *v = (struct vocabulary){0};
    if (vocabulary_count(text, len, name, &n, err))
        return -1;
    rehash(v);
    while ((word = next_word(&r, &n)))
        vocabulary_add(v, word, n, 1);
    vocabulary_add(v, UNK, strlen(UNK), 0);
    vocabulary_add(v, EOS, strlen(EOS), 0);
    qsort(v->words, v->n_words, sizeof *v->words, by_count);
    rehash(v);
    v->n = v->n_words < (size_t)bound ? (int)v->n_words : bound;
    vocabulary_keep(v, UNK, v->n - 1);
    v->unknown = vocabulary_place(v, UNK);
    vocabulary_keep(v, EOS, v->unknown + 1 == (uint32_t)v->n ? v->n - 2 : v->n - 1);
    return 0;
}

int vocabulary_list(struct vocabulary *v, const char *const *words, size_t n, struct err *err)
{
    *v = (struct vocabulary){.words = xcalloc(n, sizeof *v->words), .room = n, .n = (int)n};
    v->n_words = n;
    for (size_t i = 0; i < n; i++)
        v->words[i] = (struct word){.bytes = words[i], .len = strlen(words[i])};
    while (v->n_slots < 2 * (n + 1))
        v->n_slots = v->n_slots ? 2 * v->n_slots : 1024;
    v->slots = xcalloc(v->n_slots, sizeof *v->slots);
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot = vocabulary_find(v, v->words[i].bytes, v->words[i].len);

        if (!*slot)
            *slot = (uint32_t)i + 1;
    }
    const uint32_t unknown = *vocabulary_find(v, UNK, strlen(UNK));
    if (!unknown)
        return err_set(err, ERR_DAMAGED, "a vocabulary of %zu words without " UNK, n);
    v->unknown = unknown - 1;
    return 0;
}

void vocabulary_release(struct vocabulary *v)
{
    free(v->words);
    free(v->slots);
    *v = (struct vocabulary){0};
}

void vocabulary_encode(const struct vocabulary *v, const uint8_t *text, size_t len,
                       uint32_t *tokens)
{
    struct word_reader r = reader_of(text, len);
    const char *word;
    size_t n;

    while ((word = next_word(&r, &n))) {
        const uint32_t at = *vocabulary_find(v, word, n);

        *tokens++ = at && at <= (uint32_t)v->n ? at - 1 : v->unknown;
    }
}

const char *vocabulary_word(const struct vocabulary *v, uint32_t number, size_t *len)
{
    *len = v->words[number].len;
    return v->words[number].bytes;
}
