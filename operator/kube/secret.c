#include "operator/kube/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paceline/json.h"
#include "paceline/mem.h"

void secret_free(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}

void auto_secret(char **s) { secret_free(*s); }

void secret_json_free(cJSON *tree)
{
    json_wipe(tree);
    cJSON_Delete(tree);
}

void auto_secret_json(cJSON **tree) { secret_json_free(*tree); }

/* By hand and not by realloc, which would leave a copy behind. */
static char *secret_grow(char *text, size_t len, size_t cap)
{
    char *larger = xmalloc(cap);

    memcpy(larger, text, len);
    explicit_bzero(text, len);
    free(text);
    return larger;
}

int secret_read_file(char **out, size_t *len, const char *path, size_t max, struct err *err)
{
    AUTO(auto_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t n = 0, cap = 8192;
    AUTO(auto_secret) char *text = NULL;
    struct stat st;
    ssize_t got = 1;

    if (fd < 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "%s: %s",
                       path, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size < max)
        cap = (size_t)st.st_size + 2;
    text = xcalloc(1, cap);
    while (got && n <= max) {
        if (n + 1 >= cap) {
            text = secret_grow(text, n, cap * 2);
            cap *= 2;
        }
        got = read(fd, text + n, cap - n - 1);
        if (got < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        n += got > 0 ? (size_t)got : 0;
        text[n] = '\0';
    }
    if (n > max)
        return err_set(err, ERR_INVALID, "%s: larger than the %zu bytes allowed", path, max);
    if (memchr(text, '\0', n))
        return err_set(err, ERR_INVALID, "%s: holds a NUL byte; text is expected", path);
    *len = n;
    *out = STEAL(text);
    return 0;
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    char *text = xmalloc((n + 2) / 3 * 4 + 1), *at = text;

    for (size_t i = 0; i < n; i += 3) {
        uint32_t group = (uint32_t)in[i] << 16;

        group |= i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0;
        group |= i + 2 < n ? in[i + 2] : 0;
        *at++ = alphabet[group >> 18];
        *at++ = alphabet[group >> 12 & 63];
        *at++ = i + 1 < n ? alphabet[group >> 6 & 63] : '=';
        *at++ = i + 2 < n ? alphabet[group & 63] : '=';
    }
    *at = '\0';
    return text;
}

int base64_decode(char **out, size_t *len, const char *text)
{
    size_t n = 0, digits = 0, pads = 0;
    AUTO(auto_secret) char *bytes = xcalloc(1, strlen(text) / 4 * 3 + 4);
    uint32_t group = 0;

    for (; *text; text++) {
        const char *digit = strchr(alphabet, *text);

        if (*text == '\n' || *text == '\r')
            continue;
        if (*text == '=' && digits % 4 + pads >= 2 && pads < 2) {
            pads++;
            continue;
        }
        if (!digit || pads)
            return -1;
        group = group << 6 | (uint32_t)(digit - alphabet);
        if (digits++ % 4) /* the first of four makes no byte yet */
            bytes[n++] = (char)(group >> (2 * ((4 - digits % 4) % 4)));
    }
    if (digits % 4 == 1 || (digits + pads) % 4)
        return -1;
    *len = n;
    *out = STEAL(bytes);
    return 0;
}
