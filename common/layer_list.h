/*
 * Writing a list of layers, one call a layer. A layer takes what the one before it gives;
 * list_from and the joins take outputs by name, and list_last names the last one.
 */
#ifndef PACELINE_LAYER_LIST_H
#define PACELINE_LAYER_LIST_H

#include "paceline/networks.h"

struct layer_spec *list_add(struct layer_list *l, struct layer_spec layer);
/* The name of the last layer's output, NET_INPUT when there is none; lives as long as the list. */
char *list_last(struct layer_list *l);
/* The last layer takes this output instead of that of the layer before it. */
void list_from(struct layer_list *l, char *output);

/* Initial weights are He's but where the text says otherwise; windows are padded (same). */
void list_conv(struct layer_list *l, int filters, int kernel, int stride, bool bias);
void list_dense(struct layer_list *l, int units);
void list_pool(struct layer_list *l, enum layer_type type, int kernel, int stride);
void list_plain(struct layer_list *l, enum layer_type type); /* relu, flatten, globalavgpool */
void list_dropout(struct layer_list *l, double rate);
void list_norm(struct layer_list *l); /* as PyTorch: epsilon 1e-5, momentum 0.1, groups of 32 */
void list_norm_relu(struct layer_list *l);
void list_join(struct layer_list *l, enum layer_type type, char *const *outputs, size_t n);

/* A family's writers, one a file. */
void net_write_fashion(struct layer_list *l, const struct net_def *def, int classes);
void net_write_mnist(struct layer_list *l, const struct net_def *def, int classes);
void net_write_default_mlp(struct layer_list *l, const struct net_def *def, int classes);
void net_write_resnet_v1(struct layer_list *l, const struct net_def *def, int classes);
void net_write_resnet_v2(struct layer_list *l, const struct net_def *def, int classes);
void net_write_resnet34(struct layer_list *l, const struct net_def *def, int classes);
void net_write_densenet(struct layer_list *l, const struct net_def *def, int classes);
void net_write_squeezenet(struct layer_list *l, const struct net_def *def, int classes);
void net_write_googlenet(struct layer_list *l, const struct net_def *def, int classes);
void net_write_vgg(struct layer_list *l, const struct net_def *def, int classes);
void net_write_multimodal(struct layer_list *l, const struct net_def *def, int classes);
void net_write_lstm(struct layer_list *l, const struct net_def *def, int classes);

#endif
