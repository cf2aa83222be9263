/*
 * The built-in networks: small programs that write lists of layers, so that a family with a depth
 * or a kind of shortcut is one function. paceline/net.h makes shapes and counts of a list.
 */
#ifndef PACELINE_NETWORKS_H
#define PACELINE_NETWORKS_H

#include "paceline/arena.h"
#include "paceline/net.h"

/* Layers as a user would write them; owns the list, its names and inputs. All zero: empty. */
struct layer_list {
    struct layer_spec *items;
    size_t n, room;
    struct arena arena;
};
void layer_list_release(struct layer_list *l); /* also fit for AUTO */

/* A built-in network, for samples of any shape that fits and any number of classes. */
struct net_def {
    const char *name, *description;
    struct shape in; /* what it was designed for, and for how many classes */
    int classes;
    void (*write)(struct layer_list *l, const struct net_def *def, int classes);
    int size;       /* of a family's member: its writer says what of */
    bool zero_fill; /* ResNet-34: the kind of shortcut */
};
extern const struct net_def net_defs[];
extern const size_t n_net_defs;
const struct net_def *net_def_find(const char *name); /* NULL when there is none */

/* Fills an empty list; classes 0: those it was designed for. The caller owns it. */
void net_def_layers(struct layer_list *l, const struct net_def *def, int classes);
/* net_build of it at the shape and classes it was designed for; never fails. */
void net_def_build(struct net *net, const struct net_def *def);

/* Flatten, dense and ReLU for each hidden layer, dense: the "mlp" with these sizes. */
void net_write_mlp(struct layer_list *l, const int64_t *hidden, size_t n_hidden, int classes);

#endif
