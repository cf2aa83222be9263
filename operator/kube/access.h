/*
 * How to reach an API server and as whom: what a kubeconfig or a service account says, resolved
 * and checked, but with nothing run or sent yet.
 */
#ifndef PACELINE_OPERATOR_KUBE_ACCESS_H
#define PACELINE_OPERATOR_KUBE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "paceline/err.h"

/* Text that stands in a file, which may be replaced at any time, or here. All NULL: none. */
struct material {
    char *file;  /* read again when it changes; NULL: fixed */
    char *text;  /* when file is NULL */
    char *where; /* for messages */
};

/* A program that prints credentials (client-go's exec plugins). */
struct exec_config {
    char *command; /* NULL: none */
    char **args;   /* without the command */
    char **env;    /* "NAME=value", over our own environment */
    size_t n_args, n_env;
    char *api_version; /* "client.authentication.k8s.io/v1" or ".../v1beta1" */
    char *install_hint;
    char *cluster; /* JSON of the cluster without its CA, when the program wants it; or NULL */
};

struct kube_access {
    char *server;          /* "https://host:port/prefix" without a slash at the end */
    char *tls_server_name; /* NULL: the host of server */
    char *proxy_url;       /* NULL: as the environment says; "": none */
    bool insecure;         /* the server's certificate is not checked */
    struct material ca;    /* none: the system's */
    struct material cert, key;
    struct material token;
    char *username, *password;
    struct exec_config exec;
    char *namespace_; /* of the context or the service account; NULL: not said */
    char *source;     /* for logs: "context admin of /root/.kube/config" */
};

void kube_access_release(struct kube_access *a); /* also fit for AUTO */
/* Hands everything over: *from is empty then. */
void kube_access_move(struct kube_access *to, struct kube_access *from);

/*
 * Finds credentials as controllers do: the kubeconfig that is named; else the files of $KUBECONFIG;
 * else the service account of the pod we run in; else ~/.kube/config. context NULL: the current
 * one. ERR_NOT_FOUND when there are none, ERR_INVALID when they are wrong; *a is then empty.
 */
MUST_CHECK int kube_access_load(struct kube_access *a, const char *kubeconfig, const char *context,
                                struct err *err);

/* Reads the text of m into *out (NULL when m is none); the caller frees it (secret_free). */
MUST_CHECK int material_read(const struct material *m, char **out, struct err *err);
#define MATERIAL_MAX ((size_t)1 << 20)

/*
 * Checks and normalises the URL of a server: http or https, a host, perhaps a port and a path;
 * "host:port" alone is https. The caller frees *out. where begins the message.
 */
MUST_CHECK int server_url(char **out, const char *url, const char *where, struct err *err);

#endif
