/*
 * The simulated API server on standard input and output, for comparison with a real one: a line is
 * "METHOD \t path \t content type \t accept \t body", its answer "status \t body". WATCH answers
 * with the lines that a watch would have by now, one after the other in a JSON list.
 */
#include "paceline/mem.h"
#include "tests/sim/apiserver.h"

static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

static void answer_watch(struct api *api, const struct kube_request *r)
{
    struct api_answer a = {0};
    struct api_watch *w = watch_new(api, r, &a);
    const char *comma = "";

    if (!w) {
        printf("%d\t%s\n", a.status, a.body.data);
    } else {
        printf("200\t[");
        for (;;) {
            AUTO(buf_release) struct buf line = {0};

            if (!watch_next(w, api->store.rv, &line))
                break;
            printf("%s%s", comma, line.data);
            comma = ",";
        }
        printf("]\n");
    }
    watch_free(w);
    answer_release(&a);
}

static void answer_line(struct api *api, char *line)
{
    char *fields[5] = {"", "", "", "", ""}, *rest = line;
    struct kube_request r = {0};

    for (int i = 0; i < 5 && rest; i++)
        fields[i] = strsep(&rest, "\t");
    r.path = fields[1];
    r.content_type = *fields[2] ? fields[2] : NULL;
    r.accept = *fields[3] ? fields[3] : NULL;
    r.body = *fields[4] ? fields[4] : NULL;
    r.body_len = strlen(fields[4]);
    if (strcmp(fields[0], "WATCH") == 0) {
        answer_watch(api, &r);
        return;
    }
    for (int i = 0; i < 5; i++) {
        if (strcmp(fields[0], methods[i]) == 0) {
            struct api_answer a = {0};

            r.method = (enum kube_method)i;
            api_handle(api, &r, &a);
            printf("%d\t%s\n", a.status, a.body.data);
            answer_release(&a);
            return;
        }
    }
    printf("0\tno such method\n");
}

int main(void)
{
    AUTO(auto_free) char *line = NULL;
    size_t cap = 0;
    struct api api;

    api_init(&api, 95, 1);
    api.store.now_ms = 1800000000000;
    while (getline(&line, &cap, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        answer_line(&api, line);
        fflush(stdout);
    }
    api_release(&api);
    return 0;
}
