/*
 * Logs: one line to stderr, `level ts msg key=value`. Never called from pure modules. log_context
 * ("rank=1", "job=ns/name") is appended to every line. Bytes that are not printable UTF-8 are
 * written as \xNN, so a message can neither start a new line nor send control codes to a terminal.
 */
#ifndef PACELINE_LOG_H
#define PACELINE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_init(enum log_level level, const char *context); /* context is copied */
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

#endif
