// LINK: common worker/data worker/kernels/random_scalar.c
// LIBS: -ljpeg -lpng
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/test.h"
#include "tests/unit/scratch.h"
#include "worker/data/data.h"
#include "worker/data/format/vocabulary.h"
#include "worker/data/store/identity.h"

static char *folder;

static const char *swap; /* once: the training file's bytes after the vocabulary was counted */

static void change_file(void)
{
    AUTO(auto_free) char *path = xasprintf("%s/train.txt", folder);
    AUTO(auto_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

    CHECK_INT(pwrite(fd, swap, strlen(swap), 0), strlen(swap));
    CHECK_INT(ftruncate(fd, (off_t)strlen(swap)), 0);
    swap = NULL;
}

/* Instead of the C library's: vocabularies are sorted between counting a text and encoding it. */
void qsort(void *base, size_t n, size_t size, int (*order)(const void *, const void *))
{
    char *at = base, held[64];

    if (swap)
        change_file();
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && order(at + (k - 1) * size, at + k * size) > 0; k--) {
            memcpy(held, at + k * size, size);
            memcpy(at + k * size, at + (k - 1) * size, size);
            memcpy(at + (k - 1) * size, held, size);
        }
}

static void put(const char *name, const char *text)
{
    scratch_write(folder, name, text, strlen(text));
}

/* The numbers of `text` by the vocabulary of `train`, as characters: 0, 1, ..., 9. */
static const char *numbers(const char *train, int bound, const char *text)
{
    static char shown[64];
    AUTO(vocabulary_release) struct vocabulary v;
    uint32_t tokens[60];
    struct err err;
    size_t n;

    CHECK_INT(vocabulary_build(&v, (const uint8_t *)train, strlen(train), "t", bound, &err), 0);
    CHECK_INT(vocabulary_count((const uint8_t *)text, strlen(text), "t", &n, &err), 0);
    vocabulary_encode(&v, (const uint8_t *)text, strlen(text), tokens);
    for (size_t i = 0; i < n; i++)
        shown[i] = (char)('0' + tokens[i]);
    shown[n] = '\0';
    return shown;
}

/* By count, then byte by byte; a line's end is a word; what is unknown is <unk>. */
static void counts_words(void)
{
    CHECK_STR(numbers("b a b\n a b c\n", 9, "b <eos> a c \n"), "01231"); /* <unk> is 4 */
    CHECK_STR(numbers("b a b\n a b c\n", 9, "zebra b"), "40");
    CHECK_STR(numbers("\tb  a\r\nb\va", 9, " a\fb\n"), "012");
    CHECK_STR(numbers("ab a abc b\n", 9, "<eos> a ab abc b"), "01234"); /* a prefix comes first */
    CHECK_STR(numbers("a\n\n", 9, "\n\n"), "00");
    CHECK_STR(numbers("a <unk> <unk> b\n", 9, "zebra <unk>"), "00");
}

/* The rarest words share <unk>, which has a number all the same, and so has the end of a line. */
static void bounds_words(void)
{
    CHECK_STR(numbers("c c c b b a\n", 4, "c b <eos> a <unk>"), "01233");
    CHECK_STR(numbers("c c c b b b a a\n", 3, "c b a <eos> <unk>"), "20212");
    CHECK_STR(numbers("c c c b b b a a\n", 2, "c b a <eos> <unk>"), "11101");
    CHECK_STR(numbers("<unk> <unk> b b b a a\n", 3, "b <unk> <eos> a"), "0121");
    CHECK_STR(numbers("", 2, "a \n"), "10");
}

/* The numbers are those of the list; of equal words the first counts. */
static void lists_words(void)
{
    static const char *const words[] = {"the", "<unk>", "cat", "<eos>", "cat", "a"};
    static const char text[] = "a cat saw the\n<unk>";
    static const uint32_t want[] = {5, 2, 1, 0, 3, 1};
    AUTO(vocabulary_release) struct vocabulary v = {0};
    struct vocabulary none = {0};
    uint32_t tokens[6];
    struct err err;
    size_t len;

    CHECK_INT(vocabulary_list(&v, words, ARRAY_LEN(words), &err), 0);
    CHECK_INT(v.n, 6);
    CHECK_INT(v.unknown, 1);
    vocabulary_encode(&v, (const uint8_t *)text, strlen(text), tokens);
    CHECK_BYTES(tokens, want, sizeof want);
    CHECK(memcmp(vocabulary_word(&v, 5, &len), "a", 1) == 0 && len == 1);
    CHECK_INT(vocabulary_list(&none, words, 1, &err), -1);
    CHECK_STR(err.msg, "a vocabulary of 1 words without <unk>");
    vocabulary_release(&none);
}

static void refuses_what_is_no_text(void)
{
    static char word[WORD_MAX + 4];
    struct err err;
    size_t n;

    CHECK_INT(vocabulary_count((const uint8_t *)"ab\0c", 4, "file", &n, &err), -1);
    CHECK_INT(err.code, ERR_DAMAGED);
    CHECK_STR(err.msg, "file: found a byte 0 at 2; allowed: text");
    memset(word, 'w', sizeof word);
    word[1] = ' ';
    CHECK_INT(vocabulary_count((const uint8_t *)word, WORD_MAX + 2, "file", &n, &err), 0);
    CHECK_INT(n, 2);
    CHECK_INT(vocabulary_count((const uint8_t *)word, WORD_MAX + 3, "file", &n, &err), -1);
    CHECK_STR(err.msg, "file: word 2 has 4097 bytes; allowed: 4096");
}

static struct job text_job(int64_t batch, int64_t steps)
{
    struct job job = {0};

    job.dataset.name = (char *)"text";
    job.dataset.path = folder;
    job.dataset.steps = steps;
    job.dataset.vocabulary = 100;
    job.training.batch_size = batch;
    return job;
}

#define TRAIN "a b c d e f g h i j k l m n\n" /* 15 words: <eos> is 0, a 1, b 2, ... */

static void check_sample(const struct dataset *set, uint32_t id, const char *want)
{
    float x[3];
    uint32_t labels[3];
    char got[8] = "       ";

    CHECK_INT(set->ops->row(set, id, NULL, NULL, x, NULL), 0);
    set->ops->labels(set, id, labels);
    for (int i = 0; i < 3; i++) {
        got[i] = (char)('a' - 1 + (int)x[i]);
        got[4 + i] = (char)('a' - 1 + (int)labels[i]);
    }
    CHECK_STR(got, want);
}

/* The digest is of all words of each stream, with those at its end that make no row. */
static void check_digest(const struct dataset *set, const uint32_t *words, uint32_t streams,
                         size_t length)
{
    const struct job none = {0};
    struct digest want = digest_begin(streams);
    uint64_t got = 0;
    struct err err;

    for (uint32_t i = 0; i < streams; i++)
        identity_add(&want, words + i * length, length * sizeof *words);
    CHECK_INT(identity_samples(&got, set, &none, &err), 0);
    CHECK(got == digest_end(&want));
    CHECK(identity_labels(set) == 0);
}

/* Two streams of seven words: a..g and h..n; a batch goes on where the one before it ended. */
static void check_contents(const struct datasets *d)
{
    static const uint32_t train[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

    check_digest(&d->train, train, 2, 7);
    CHECK_INT(d->train.n, 4);
    CHECK_INT(d->n_train, 4);
    CHECK_INT(d->train.classes, 16); /* with <eos> and <unk> */
    CHECK_INT(d->train.shape.w, 3);
    CHECK_INT(d->n_validation, 2);
    CHECK_INT(d->test.n, 2);
    check_sample(&d->train, 0, "abc bcd");
    check_sample(&d->train, 1, "hij ijk");
    check_sample(&d->train, 2, "def efg");
    check_sample(&d->train, 3, "klm lmn");
    check_sample(&d->validation, 1, "efg fgh");
    check_sample(&d->test, 0, "nml mlk");
}

static void cuts_streams(void)
{
    struct job job = text_job(2, 3);
    struct datasets d;
    struct data_facts facts;
    struct err err = {0};

    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    check_contents(&d);
    datasets_release(&d);
    job.dataset.limit = 1;
    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
    CHECK_INT(d.n_train, 2); /* a whole batch */
    datasets_release(&d);
    CHECK_INT(datasets_look(&facts, &job, false, &err), 0);
    CHECK_INT(facts.shape.w, 3);
    CHECK_INT(facts.n_train, 4);
    CHECK_INT(facts.n_test, 2);
}

/* Ranks of a host see the same copy. */
static void shares_a_copy(void)
{
    struct job job = text_job(2, 3);
    AUTO(auto_free) char *run = xasprintf("text-%d", (int)getpid());
    struct datasets d;
    struct err err;
    int status;
    pid_t child = fork();

    if (child == 0) {
        int rc = datasets_load(&d, &job, run, 1, 2, &err);
        if (rc == 0)
            check_contents(&d);
        _exit(rc != 0 || test_failed != 0);
    }
    CHECK_INT(datasets_load(&d, &job, run, 0, 2, &err), 0);
    check_contents(&d);
    datasets_release(&d);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
}

static void check_refused(struct job job, enum err_code code, const char *part)
{
    struct datasets d;
    struct err err = {0};

    CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), -1);
    CHECK_INT(err.code, code);
    CHECK_CONTAINS(err.msg, part);
    CHECK(!d.memory.map);
}

static void refuses(void)
{
    check_refused(
        text_job(2, 7), ERR_INVALID,
        "found 15 words; needed for spec.training.batchSize 2 and spec.dataset.steps 7: 16");
    check_refused(text_job(5, 1), ERR_INVALID, "valid.txt: found 9 words");
    put("test.txt", "");
    check_refused(text_job(2, 3), ERR_INVALID, "test.txt: found 0 words");
    AUTO(auto_free) char *path = xasprintf("%s/test.txt", folder);
    unlink(path);
    check_refused(text_job(2, 3), ERR_NOT_FOUND, "/test.txt");
    struct job job = text_job(2, 3);
    job.dataset.path = (char *)"/nowhere";
    check_refused(job, ERR_NOT_FOUND, "no training file in \"/nowhere\"; needed: train.txt");
}

/* A file that somebody writes to is read as it was. */
static void reads_what_it_counted(void)
{
    static const char *const others[] = {
        "a a a a a a a a a a a a a a a", /* more words in as many bytes */
        "abcdefghijklmnopqrstuvwxyz",
        "",
    };

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct job job = text_job(2, 3);
        struct datasets d;
        struct err err = {0};

        put("train.txt", TRAIN);
        swap = others[i];
        CHECK_INT(datasets_load(&d, &job, "", 0, 1, &err), 0);
        CHECK(!swap);
        check_contents(&d);
        datasets_release(&d);
    }
    put("train.txt", TRAIN);
}

int main(void)
{
    folder = scratch_make();
    put("train.txt", TRAIN);
    put("valid.txt", "a b c d e f g h\n");
    put("test.txt", "n m l k j i h g\n");
    counts_words();
    bounds_words();
    lists_words();
    refuses_what_is_no_text();
    cuts_streams();
    reads_what_it_counted();
    shares_a_copy();
    refuses();
    scratch_remove(folder);
    return test_result();
}
