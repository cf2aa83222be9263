/* What an answer of the API server means to the controller. */
#ifndef PACELINE_OPERATOR_CONTROLLER_ANSWER_H
#define PACELINE_OPERATOR_CONTROLLER_ANSWER_H

#include <stdbool.h>

#include "operator/kube/kube.h"
#include "paceline/err.h"
#include "paceline/json.h"

enum answer {
    ANSWER_OK,        /* 2xx */
    ANSWER_EXISTS,    /* 409 AlreadyExists */
    ANSWER_CONFLICT,  /* 409: somebody changed it first, or a precondition failed */
    ANSWER_NOT_FOUND, /* 404 */
    ANSWER_FORBIDDEN, /* 401, 403: quota, policy, rights; may change without our doing */
    ANSWER_INVALID,   /* 400, 413, 422: never acceptable as it is */
    ANSWER_GONE,      /* 410 */
    ANSWER_BUSY,      /* 429, or 503 with Retry-After: all requests should wait */
    ANSWER_UNKNOWN,   /* 5xx, or no answer: the request may have been carried out */
};

/*
 * json_parse for answers of the API server. The server has already accepted the objects, so no
 * content of an object makes a list unreadable: content that json_parse would refuse ("\\u0000" in
 * an annotation, a hundred nested lists, two keys that become equal by this) is replaced or left
 * out.
 */
MUST_CHECK int answer_parse(cJSON **out, const char *text, size_t len, const char *name,
                            struct err *err);

/*
 * For an object, or a watch's event with one, that answer_parse still refuses: parses its metadata,
 * which the API server has checked and which names the object and its owner. Fails if the metadata
 * cannot be parsed.
 */
MUST_CHECK int answer_parse_identity(cJSON **out, const char *text, size_t len, bool event,
                                     const char *name, struct err *err);

/* Whether body is a list. Other answers with 200 (a proxy's page, an empty object) must not pass
 * for an empty list. */
bool answer_is_list(const cJSON *body);

/*
 * Classifies the answer. If body is not NULL, *body gets the parsed body of an OK. An OK whose body
 * is not JSON counts as UNKNOWN, with *body NULL. message gets the server's sentence of any other
 * answer.
 */
enum answer answer_read(const struct kube_response *r, cJSON **body, char *message, size_t size);

#endif
