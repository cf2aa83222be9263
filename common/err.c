#include "paceline/err.h"

#include <stdarg.h>

#include "paceline/text.h"

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    char msg[sizeof err->msg]; /* arguments may point into err->msg, and are of any bytes */
    va_list args;

    va_start(args, fmt);
    vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    err->code = code;
    text_escape(err->msg, sizeof err->msg, msg);
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    char raw[sizeof err->msg], context[sizeof err->msg], msg[sizeof err->msg];
    va_list args;

    va_start(args, fmt);
    vsnprintf(raw, sizeof raw, fmt, args);
    va_end(args);
    text_escape(context, sizeof context, raw);
    memcpy(msg, err->msg, sizeof msg);
    if (snprintf(err->msg, sizeof err->msg, "%s: %s", context, msg) >= (int)sizeof err->msg)
        memcpy(err->msg + sizeof err->msg - 4, "...", 4);
    return -1;
}

int err_exit_code(enum err_code code)
{
    switch (code) {
    case ERR_NONE:
        return EXIT_OK;
    case ERR_INVALID:
        return EXIT_INVALID;
    case ERR_DAMAGED:
    case ERR_NOT_FOUND:
        return EXIT_DATA;
    case ERR_IO:
        return EXIT_STORAGE;
    case ERR_DIVERGED:
        return EXIT_DIVERGED;
    case ERR_INTERRUPTED:
        return EXIT_INTERRUPTED;
    case ERR_CONFLICT:
    case ERR_FORBIDDEN:
    case ERR_GONE:
    case ERR_TRANSIENT:
    case ERR_SILENT:
        break;
    }
    return EXIT_UNEXPECTED;
}
