/*
 * The one table of fields of a TrainingJob, its conditional defaults and its rules across fields.
 * Parsing, defaults, validation, the JSON form, `explain` and the reference page are loops over it.
 *
 * operator/api/status_table.h has the rows of status.
 *
 * A path ending in "[].x" is a field of each element of a list of layers; its offset is into
 * struct layer_spec, every other offset into struct job.
 */
#ifndef PACELINE_SPEC_TABLE_H
#define PACELINE_SPEC_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "paceline/buf.h"
#include "paceline/spec.h"

/* The kind of a field's value; in parentheses how it is stored. */
enum field_kind {
    FIELD_OBJECT,   /* fields of its own (bool: whether it is there; most are not stored) */
    FIELD_IGNORED,  /* anything; the API server writes it (not stored) */
    FIELD_STRING,   /* (char *) */
    FIELD_INT,      /* (int or int64_t) */
    FIELD_QUANTITY, /* bytes: 4194304 or "4Mi" (int64_t) */
    FIELD_FLOAT,    /* (double) */
    FIELD_BOOL,     /* (bool, or an int: -1 when absent) */
    FIELD_ENUM,     /* (an enum; names[value]) */
    FIELD_PAIR,     /* n or [height, width] (int[2]; {0, 0} when absent) */
    FIELD_INTS,     /* (int64_t[] and size_t) */
    FIELD_FLOATS,   /* (double * and size_t) */
    FIELD_STRINGS,  /* (char ** and size_t; one allocation) */
    FIELD_LAYERS,   /* (struct layer_spec * and size_t) */
    FIELD_MAP,      /* an object of strings (char *: JSON text) */
    FIELD_OPAQUE,  /* an object that is kept as it is; with names: of one of these (char *: JSON) */
    FIELD_OPAQUES, /* a list of such objects (char *: JSON text) */
    /* Of status alone: the operator writes them, and what it reads was written by some version. */
    FIELD_TEXT,       /* a string (const char * in an arena) */
    FIELD_WORD,       /* one of names; the schema takes others too (an enum) */
    FIELD_TIME,       /* (int64_t: milliseconds since 1970; 0 when absent) */
    FIELD_INDICES,    /* a set of indices: "0-3,7" (struct index_map) */
    FIELD_COUNTS,     /* a number for each index: "3:1,5-7:2" (struct index_map) */
    FIELD_LIST,       /* objects, ascending by the first field (const struct * in an arena, int) */
    FIELD_CONDITIONS, /* (struct condition[N_CONDITIONS]) */
};

struct field {
    const char *path;
    enum field_kind kind;
    size_t offset, size;       /* size 0: not stored; FIELD_LIST: of an element */
    size_t n_offset;           /* lists: where their length is */
    double min, max;           /* of numbers, of elements of lists, of the length of strings */
    bool above_min, below_max; /* the bound itself is not allowed */
    size_t max_items;
    const char *const *names; /* allowed words, ended by NULL; enums index it */
    const char *pattern;      /* strings: POSIX extended, what it means in pattern_text */
    const char *pattern_text;
    const char *default_; /* as JSON, words unquoted; NULL: stays absent (-1 in an integer) or see
                             choices */
    bool required;
    bool present; /* an object that the API server makes when it is absent */
    bool fixed;   /* may not change after creation */
    bool paused;  /* may change only while the job is suspended */
    /* Of status alone: */
    bool durable;  /* the operator acts on it: it is written before what follows from it */
    bool optional; /* absent while it is zero; an object: while all in it is, and the int64_t at
                      n_offset, if there is one */
    bool launched; /* absent until the job is launched, and whatever is in it */
    double bound;  /* reading: a larger number becomes this; a text is cut to so many bytes */
    unsigned mask; /* optional numbers: bits of the unsigned at n_offset, set while it is there */
    const char *doc;
};
extern const struct field spec_fields[];
extern const size_t n_spec_fields;
#define SPEC_MAX_FIELDS 256

/*
 * A field with choices applies only while a selector of one has one of its values. default_ is its
 * default there; NULL: required where the field says so, else absent.
 */
struct choice {
    const char *path, *selector;
    const char *values; /* words with a space between; of one row they share the default */
    const char *default_;
};
extern const struct choice spec_choices[];
extern const size_t n_spec_choices;

/*
 * A rule across fields; the first path that the file has gives the line of the message. The API
 * server asks the same condition, but for warnings.
 */
struct rule {
    const char
        *paths[6];       /* the fields it reads, ended by NULL; the first one is where it is told */
    const char *allowed; /* the rule in one sentence */
    bool warning;
    bool alone; /* where it is broken, the rules after it are not asked */
    /* All jobs; those with spec.model; those without; those with spec.mpi. */
    enum { RULE_ANY, RULE_BUILTIN, RULE_IMAGE, RULE_MPI } job;
    const char *holds; /* the condition (rule_expr.h) */
    const char *found; /* what was found where it does not hold; [[EXPRESSION]] is an integer */
    /* What was found, where a program can say more than found; NULL: it cannot. */
    void (*describe)(const struct job *job, struct buf *found);
};
/* The i-th of all rules; NULL after the last. */
const struct rule *spec_rule(size_t i);

/* Whether the rule is asked of a job with (or without) spec.model and spec.mpi. */
bool rule_is_for(const struct rule *rule, bool model, bool mpi);

const struct field *spec_field_find(const char *path); /* NULL when there is none */
/* The object that the field belongs to; NULL: none, or a list's element. */
const struct field *field_above(const struct field *f);
/* Its choices, which stand together in spec_choices; n 0: it has none. */
const struct choice *field_choices(const struct field *f, size_t *n);
/* The field that a row of spec_choices names as its selector. */
const struct field *choice_selector(const struct choice *choice);
bool field_in_layer(const struct field *f);   /* of struct layer_spec */
const char *field_key(const struct field *f); /* the last word of its path */

/*
 * The sections that belong to the built-in engine, "spec.model" first. Without spec.model the
 * others may not be there, and no field of them is part of the effective spec.
 */
#define N_BUILTIN_SECTIONS 7
extern const char *const spec_builtin_sections[N_BUILTIN_SECTIONS];
#define SPEC_FIXED "may not change after creation: delete the job and create it anew"
#define SPEC_PAUSED "may change only while the job is suspended: set runPolicy.suspend first"
#define SPEC_NEEDS_MODEL "found, but it belongs to jobs with spec.model only"
bool field_builtin(const struct field *f);

/* The most code points of a string. */
size_t field_max_length(const struct field *f);

/* Appends what is allowed: "an integer from 1 to 8", "one of tree, ring, mpi". */
void field_allowed(const struct field *f, struct buf *out);

/* Appends why a field is refused where no choice of its holds: "found, but it belongs to ...". */
void field_belongs(const struct field *f, struct buf *out);

/* "integer", "string", ... for people. */
const char *field_kind_name(enum field_kind kind);

/*
 * How a field may change when a run is resumed (spec_resume.c is the table): by a user who asks for
 * it (`paceline run --resume`), or unasked, as a job does that is created again with the name of an
 * earlier one and finds its checkpoints in the durable folder. A checkpoint records the fields that
 * are SAME or TUNED.
 */
enum on_resume {
    ON_RESUME_SAME,  /* may not change: it would be another model, or another course */
    ON_RESUME_TUNED, /* may change if asked: the training goes on with the new value */
    ON_RESUME_ASKED, /* may change if asked: it decides the course of the training, but what a
                        checkpoint means does not depend on it */
    ON_RESUME_FREE   /* may change: it does not decide the weights, or only how long to train */
};
/* Rows of the table: a field, and all below it that have no row of their own. */
struct resume_row {
    const char *path;
    enum on_resume on_resume;
};
extern const struct resume_row spec_resume_rows[];
extern const size_t n_spec_resume_rows;
enum on_resume field_on_resume(const struct field *f);

/* Prints the fields of a job that are present and apply, in the form of a job file. wanted selects
 * among them; NULL: all. */
cJSON *job_tree(const struct job *job, bool (*wanted)(const struct field *f));

/*
 * Whether f applies to base (a struct job or layer_spec), as all objects do that it is in. When it
 * does not, *choice is a row that names the selector of f, or of such an object; when it does, the
 * row that holds (NULL for a field without choices).
 */
bool field_applies(const struct field *f, const void *base, const struct choice **choice);

/* Checks the value and stores it; false, with base as it was, when it is not allowed. */
MUST_CHECK bool field_store(const struct field *f, void *base, const cJSON *value);
/* Of a list of the right length: its first element that is not allowed, and where; else NULL. */
const cJSON *field_bad_element(const struct field *f, const cJSON *value, size_t *index);
/* An object is there: noted where it has a place for it. */
void field_store_present(const struct field *f, void *base);
/* Stores what an absent field without a default holds. */
void field_store_absent(const struct field *f, void *base);
/* The stored value as a new tree, or NULL when the field is absent. */
cJSON *field_load(const struct field *f, const void *base);
/* The whole number in base: an int, an int64_t or an enum, as the field's size says. */
int64_t field_get_int(const struct field *f, const void *base);
void field_put_int(const struct field *f, void *base, int64_t x);
/* The index of the word in names, or -1. */
int field_name_index(const struct field *f, const char *word);
/* Frees what the field owns. */
void field_free(const struct field *f, void *base);

#endif
