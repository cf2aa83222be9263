#include "operator/kube/retry_after.h"

#include <curl/curl.h>

#define LONGEST_S 86400

int64_t retry_after_ms(const char *value, size_t len, int64_t now_s)
{
    char text[64];
    int64_t seconds = 0;
    size_t digits;

    while (len && strchr(" \t\r\n", value[len - 1]))
        len--;
    while (len && (*value == ' ' || *value == '\t')) {
        value++;
        len--;
    }
    if (!len || len >= sizeof text || memchr(value, '\0', len))
        return -1;
    memcpy(text, value, len);
    text[len] = '\0';
    digits = strspn(text, "0123456789");
    if (digits == len) {
        seconds = digits > 6 ? LONGEST_S : strtol(text, NULL, 10);
    } else {
        time_t date = curl_getdate(text, NULL);

        if (date < 0)
            return -1;
        seconds = date > now_s ? date - now_s : 0;
    }
    return (seconds < LONGEST_S ? seconds : LONGEST_S) * 1000;
}
