/* A fuzz target's main without libFuzzer: runs the inputs named on the command line, and an empty
 * one, once. Crashing or tripping a sanitizer is the failure. */
#include <stddef.h>
#include <stdint.h>

#include "paceline/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct buf input;
        struct err err;
        if (buf_read_file(&input, argv[i], 1 << 24, &err) != 0) {
            fprintf(stderr, "%s\n", err.msg);
            return 1;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)input.data, input.len);
        buf_release(&input);
    }
    return 0;
}
