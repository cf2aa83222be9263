/* The control thread: polls requests, steps the controller, publishes snapshots, until a signal. */
#ifndef PACELINE_OPERATOR_LOOP_H
#define PACELINE_OPERATOR_LOOP_H

#include "operator/agents/transport.h"
#include "operator/controller/controller.h"
#include "operator/kube/client.h"
#include "operator/web/web.h"

struct loop_config {
    struct kube_client *client;
    struct agent_transport *agents; /* NULL: pods are not reached */
    struct web *web;                /* NULL: none */
    /* master_key NULL: it is got from the Secret before the controller begins. */
    struct controller_config controller;
};

/*
 * From now on SIGTERM and SIGINT ask for an orderly end, a second one ends at once, and SIGHUP and
 * SIGPIPE do nothing. To be called once, before loop_run and before threads are started.
 */
void loop_catch_signals(struct kube_client *client);

/* Runs until a signal, then until the controller has stopped or LOOP_STOP_MS have passed. */
#define LOOP_STOP_MS 10000
void loop_run(const struct loop_config *config);

#endif
