/* Text from elsewhere, for logs and terminals. */
#ifndef PACELINE_TEXT_H
#define PACELINE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TEXT_CHARACTER_MAX 4 /* bytes of the longest UTF-8 character */

/* The length in bytes of the UTF-8 character at s; 0 if there is none. Reads at most n bytes. */
size_t text_character(const char *s, size_t n);

/* Whether the n bytes at s begin a UTF-8 character that needs more bytes. */
bool text_is_partial(const char *s, size_t n);

/*
 * The length in bytes of the printable character at s; 0 if there is none. Bytes that are not
 * UTF-8, control characters (also C1, which some terminals obey), line separators, and characters
 * that change the direction of writing are not printable. Reads at most n bytes.
 */
size_t text_printable(const char *s, size_t n);

/* Copies text into out, with \xNN for each byte that is not part of a printable character. If size
 * is too small, it cuts between characters. out always ends with a NUL. */
void text_escape(char *out, size_t size, const char *text);

/* The same to a stream, never cut: for names from data, which may forge a line of an answer. */
void text_print(FILE *out, const char *text);

#endif
