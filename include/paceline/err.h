/*
 * Errors: one struct on the caller's stack, no allocation.
 *
 * A function that can fail is `int f(..., struct err *err)`: 0, or -1 with err filled.
 * On success err is untouched. The code is what the caller decides on; the message is what a
 * person reads: where, what was found, what is allowed. It is one line of printable UTF-8, whatever
 * the arguments hold (text_escape): names of files and words of data cannot forge a line.
 */
#ifndef PACELINE_ERR_H
#define PACELINE_ERR_H

enum err_code {
    ERR_NONE = 0,
    ERR_INVALID,     /* the input is wrong; trying again will not help */
    ERR_DAMAGED,     /* a file is not what it should be: data, checkpoint */
    ERR_NOT_FOUND,   /* a file, field or object is absent */
    ERR_IO,          /* the system refused: disk full, permission, broken pipe */
    ERR_CONFLICT,    /* somebody else changed it first */
    ERR_FORBIDDEN,   /* we may not */
    ERR_GONE,        /* what we resumed from no longer exists */
    ERR_TRANSIENT,   /* trying again may help */
    ERR_SILENT,      /* the same; the other end says nothing */
    ERR_DIVERGED,    /* training produced NaN or infinity, or replicas differ */
    ERR_INTERRUPTED, /* the last */
};

struct err {
    enum err_code code;
    char msg[512];
};

/* Fills *err and returns -1, so that a caller writes `return err_set(err, ERR_IO, ...)`. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context in front of the message that is there ("context: message"); returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Exit codes of every Paceline program, from an error code:
 * 0 done, 1 unexpected, 2 usage or invalid input, 3 data or file missing or damaged,
 * 4 training diverged, 5 I/O (disk full), 130 interrupted.
 */
enum exit_code {
    EXIT_OK = 0,
    EXIT_UNEXPECTED = 1,
    EXIT_INVALID = 2,
    EXIT_DATA = 3,
    EXIT_DIVERGED = 4,
    EXIT_STORAGE = 5,
    EXIT_INTERRUPTED = 130,
};
int err_exit_code(enum err_code code);

#define MUST_CHECK __attribute__((warn_unused_result))

#endif
