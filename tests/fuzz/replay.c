/* A fuzz target's main without libFuzzer: runs the inputs named on the command line, and an empty
 * one, once. Crashing or tripping a sanitizer is the failure. Nothing of ours is linked for it, so
 * a target that leaves an object out of its LINK line fails here as it would with libFuzzer. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An allocation of just the file's bytes: AddressSanitizer sees a read past them. NULL: not
 * readable. */
static uint8_t *read_input(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *data = malloc(MOST);
    *size = data ? fread(data, 1, MOST, file) : 0;
    const int failed = ferror(file);
    fclose(file);
    if (failed || !data) {
        free(data);
        return NULL;
    }
    uint8_t *exact = realloc(data, *size ? *size : 1);
    return exact ? exact : data;
}

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        size_t size;
        uint8_t *input = read_input(argv[i], &size);
        if (!input) {
            fprintf(stderr, "%s cannot be read\n", argv[i]);
            return 1;
        }
        LLVMFuzzerTestOneInput(input, size);
        free(input);
    }
    return 0;
}
