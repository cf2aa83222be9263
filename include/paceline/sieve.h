/*
 * A sieve reads JSON in pieces of any size, keeps the fields that a table names, and drops the rest
 * as it arrives. Its memory depends on what it keeps, never on what it reads. The text that it
 * keeps is small enough to be parsed into a tree.
 *
 * A list or a watch is read object by object, and each object is passed on at its end.
 */
#ifndef PACELINE_SIEVE_H
#define PACELINE_SIEVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/buf.h"

#define SIEVE_TEXT_MAX 4096      /* bytes of a string as it is written; longer ones are cut */
#define SIEVE_ELEMENTS_MAX 1024  /* of a list; those after them are dropped */
#define SIEVE_ITEM_MAX (1 << 20) /* bytes kept of one item; what follows is dropped */
#define SIEVE_DEPTH 16           /* of objects and lists that are kept in part */
#define SIEVE_NAME_SIZE 64       /* of a member in a table */

enum sieve_rule {
    /* Keeps scalars, the members of an object that are in `fields`, and the elements of a list,
     * each by the same rule. */
    SIEVE_FIELDS,
    /* The value is kept as it stands, whatever it is. One of more than max_bytes or max_values is
     * kept as `false`; if `large` is set, as a list of one: what the rule `large` keeps of it. Four
     * digits of its numbers count as one value more, as long numbers take longer to read and to
     * write. A control character in a string counts as the six bytes that json_print writes. */
    SIEVE_WHOLE,
    /* Each element of this list is an item. The list itself is kept empty. */
    SIEVE_ITEMS,
};

/* A member that is kept. A table of them ends with a name that is NULL. */
struct sieve_field {
    const char *name;
    const struct sieve_field *fields; /* of the member's own members; NULL: none is kept */
    enum sieve_rule rule;
    size_t max_bytes, max_values;    /* SIEVE_WHOLE */
    const struct sieve_field *large; /* SIEVE_WHOLE; may be NULL */
    const char *only; /* of a list of strings: this one is kept, all others become one null */
    const char *when; /* of a list of objects: those are kept in which this member is true */
};

/* Receives one item, NUL-terminated and valid during the call. cut: a part of it exceeded the
 * bounds above and was left out. Returns false to stop. */
typedef bool sieve_fn(void *arg, const char *text, size_t len, bool cut);

enum sieve_result {
    SIEVE_OK,
    SIEVE_STOPPED, /* the callback returned false */
    SIEVE_BAD,     /* no JSON */
};

struct sieve_frame { /* an object or a list that is open, and kept in part */
    const struct sieve_field *rule;
    uint32_t n;              /* members or elements kept so far */
    bool list, items, other; /* items: its elements are; other: it has its null */
    bool large;              /* the list of one around what is kept of a large value */
    bool chosen;             /* its member `when` is true */
    size_t mark;             /* where its text begins, with the comma before it */
};

struct sieve {
    struct sieve_field root;
    bool stream; /* each value at the top is an item */
    int state, policy;
    struct sieve_frame frames[SIEVE_DEPTH];
    int depth;
    const struct sieve_field *member; /* of the key that was read; NULL: not kept */
    char key[SIEVE_NAME_SIZE];
    size_t key_len;
    struct buf rest, item; /* what is kept outside of items, and of the current item */
    bool in_item, cut;
    /* The scalar, or the value that is kept or dropped whole, which is being read. */
    size_t start, mark, read, values, digits, growth;
    uint32_t nesting;
    bool string, escaped, c1; /* c1: the byte before was 0xc2, with which U+0080 to U+009F begin */
};

/*
 * fields: the members of the top-level value. stream: there are many top-level values, separated by
 * white space, and each is an item; otherwise there is one. The tables must outlive the sieve.
 */
void sieve_init(struct sieve *s, const struct sieve_field *fields, bool stream);
void sieve_release(struct sieve *s); /* also fit for AUTO */

/* Takes n more bytes and calls fn for each item that ends in them. After any result but SIEVE_OK,
 * do not feed more. An item may still hold invalid JSON (a bad number); its parser finds that. */
enum sieve_result sieve_feed(struct sieve *s, const char *bytes, size_t n, sieve_fn *fn, void *arg);

/* Whether the text may end here: the one value is complete, or the stream is between two values. If
 * so, s->rest is the kept part of the one value. */
bool sieve_complete(const struct sieve *s);

#endif
