/*
 * The values of spec.dataset.name: one row for each says how its files are read, what its samples
 * are, where it comes from, and what is published about it. Rules, defaults, the command and the
 * engine take what they know of a set from here.
 */
#ifndef PACELINE_NAMED_SETS_H
#define PACELINE_NAMED_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paceline/net.h"

/* name; its struct data_kind (worker/data/store/kind.h), NAME_kind; SAMPLES_; ORIGIN_; published
 * samples to train and to test with, classes, channels, height, width (0: nobody knows) */
#define NAMED_SETS(X)                                               \
    X("fashion-mnist", idx, BYTES, INSTALLED, 70000, 10, 1, 28, 28) \
    X("mnist", idx, BYTES, FETCHED, 70000, 10, 1, 28, 28)           \
    X("cifar10", cifar, BYTES, FETCHED, 60000, 10, 3, 32, 32)       \
    X("cifar100", cifar, BYTES, FETCHED, 60000, 100, 3, 32, 32)     \
    X("idx", idx, BYTES, FOLDER, 0, 0, 0, 0, 0)                     \
    X("images", images, BYTES, FOLDER, 0, 0, 0, 0, 0)               \
    X("arrays", arrays, MAPPED, FOLDER, 0, 0, 0, 0, 0)              \
    X("csv", csv, FLOATS, FOLDER, 0, 0, 0, 0, 0)                    \
    X("text", text, WORDS, FOLDER, 0, 0, 0, 0, 0)                   \
    X("patterns", patterns, BYTES, MADE, 0, 0, 0, 0, 0)             \
    X("spectra", spectra, BYTES, MADE, 0, 0, 0, 0, 0)               \
    X("scenes", scenes, BYTES, MADE, 0, 0, 0, 0, 0)

/* For an array of the names. */
#define SET_NAME(name, ...) name,

/* Values of dataset.name, with a space between, for the choices of other fields. */
#define SETS_MADE "patterns spectra scenes"
#define SETS_NOT_TEXT "fashion-mnist mnist cifar10 cifar100 idx images arrays csv " SETS_MADE

/* For rules (common/rule_expr.h), and the same sets as messages tell them: those that need a path,
 * those whose samples can be read one by one, those whose samples are numbers and no pixels. */
#define SETS_IN_FOLDERS "['idx', 'images', 'arrays', 'csv', 'text']"
#define SETS_IN_FOLDERS_TOLD "idx, images, arrays, csv and text"
#define SETS_STREAMED "['images', 'idx', 'mnist', 'fashion-mnist', 'cifar10', 'cifar100']"
#define SETS_STREAMED_TOLD "images, idx, mnist, fashion-mnist, cifar10, cifar100"
#define SETS_OF_NUMBERS "['arrays', 'csv']"
#define SETS_OF_NUMBERS_TOLD "arrays or csv"

/* dataset.normalize: of the training samples' values in 0..1, or nothing. */
#define SETS_NORMALIZE(X)                  \
    X("fashion-mnist", "0.2860", "0.3530") \
    X("mnist", "0.1307", "0.3081")         \
    X("cifar10", "0.4734", "0.2516")       \
    X("cifar100", "0.4782", "0.2682")      \
    X("idx", "0", "1")                     \
    X("images arrays csv", "0", "1")       \
    X(SETS_MADE, "0.5", "0.25")

/* Fields of spec.dataset that belong to some sets: the field, the sets, its default. */
#define SETS_FIELDS(X)                       \
    X("validationSplit", SETS_NOT_TEXT, "0") \
    X("shuffle", SETS_NOT_TEXT, "true")      \
    X("steps", "text", "20")                 \
    X("vocabulary", "text", "10000")         \
    X("imageSize", "images", "0")            \
    X("color", "images", "auto")             \
    X("draft", "images", "false")            \
    X("maxDamaged", "images", "0")           \
    X("testSplit", "images", "0.2")          \
    X("cachePath", "images", NULL)           \
    X("labelColumn", "csv", "label")         \
    X("made", SETS_MADE, NULL)

/* Bytes; floats in memory, or in files that are read on demand; words. */
enum set_samples { SAMPLES_BYTES, SAMPLES_FLOATS, SAMPLES_MAPPED, SAMPLES_WORDS };

/* Made by the engine; in the folder dataset.path; fetched by `paceline data`; the same, and a
 * package of Debian. The last two may be used without a path. */
enum set_origin { ORIGIN_MADE, ORIGIN_FOLDER, ORIGIN_FETCHED, ORIGIN_INSTALLED };

struct named_set {
    const char *name;
    enum set_samples of;
    enum set_origin origin;
    uint32_t samples;
    int classes;
    struct shape shape;
};

static inline bool named_set_is_floats(const struct named_set *set)
{
    return set->of == SAMPLES_FLOATS || set->of == SAMPLES_MAPPED;
}

/* NULL: there is none of this name, or name is NULL. */
const struct named_set *named_set_find(const char *name);

/* What job->dataset.name names; nothing is known of a name that is none. */
struct job;
const struct named_set *job_named_set(const struct job *job);

/* The published names of a set's classes in the order of its labels. NULL, with *n 0, if the set
 * has no names or name is NULL. */
const char *const *named_set_classes(const char *name, size_t *n);

#endif
