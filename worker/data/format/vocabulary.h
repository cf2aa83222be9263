/*
 * Words of a text and their numbers. A word is a run of bytes without white space; the end of a
 * line is the word <eos>. Number 0 is the most frequent word, and so on; of equally frequent words
 * the one that comes first byte by byte. Of more words than the bound the rarest become <unk>.
 * Reading is bounded by the length of the text; the numbers depend on its bytes alone.
 */
#ifndef PACELINE_VOCABULARY_H
#define PACELINE_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "paceline/err.h"

#define WORD_MAX 4096 /* bytes */

struct vocabulary {
    struct word *words; /* as they were met; those of the vocabulary first, by number */
    size_t n_words, room;
    uint32_t *slots; /* of a hash table: 1 + the word's place, 0: free */
    size_t n_slots;
    int n; /* words that have a number of their own */
    uint32_t unknown;
};

/*
 * The vocabulary of a text: at most `bound` words (2 and more), <eos> and <unk> always among them,
 * also where the text has neither.
 * `text` must outlive it; `name` is for messages. ERR_DAMAGED: what is there is no text (a byte 0,
 * a word of more than WORD_MAX bytes).
 */
MUST_CHECK int vocabulary_build(struct vocabulary *v, const uint8_t *text, size_t len,
                                const char *name, int bound, struct err *err);
/*
 * Makes a vocabulary from known words; words[i] gets number i. The words must outlive it. Of equal
 * words the first counts. ERR_DAMAGED: <unk> is not among them; release *v then, too.
 */
MUST_CHECK int vocabulary_list(struct vocabulary *v, const char *const *words, size_t n,
                               struct err *err);
void vocabulary_release(struct vocabulary *v); /* also fit for AUTO */

/* How many words a text has, line ends included. ERR_DAMAGED as above. */
MUST_CHECK int vocabulary_count(const uint8_t *text, size_t len, const char *name, size_t *n,
                                struct err *err);
/* Their numbers, to `tokens`, which has room for all; the text has been counted. */
void vocabulary_encode(const struct vocabulary *v, const uint8_t *text, size_t len,
                       uint32_t *tokens);
/* The word of a number, and its length. */
const char *vocabulary_word(const struct vocabulary *v, uint32_t number, size_t *len);

#endif
