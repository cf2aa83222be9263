/* predict of a text: how likely its words are, and which come next. */
#ifndef PACELINE_PREDICT_TEXT_H
#define PACELINE_PREDICT_TEXT_H

#include <cjson/cJSON.h>

#include "worker/checkpoint/config.h"
#include "worker/train/trainer.h"

/*
 * Reads the file's words one after the other, from a state of zeros, and sends a `prediction` event
 * about it: the perplexity of its second word and those after it, and the `top` likeliest words
 * after its last one. t comes from inference_init with one sample per pass. ERR_DAMAGED: the file
 * is not a text, or has no word; ERR_INVALID: the checkpoint does not list its words.
 */
MUST_CHECK int predict_text(struct trainer *t, const struct config *config, const char *path,
                            int64_t index, long top, struct err *err);

/* Adds `class`, `probability` and, where the class has a name, `label`. names: NULL, or a list. */
void prediction_add_class(cJSON *to, const cJSON *names, int class, double probability);
/* Adds the list `top` of the likeliest classes, of n. */
void prediction_add_top(cJSON *e, const cJSON *names, const float *probabilities, int n, long top);

#endif
