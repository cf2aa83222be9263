/* The status of a TrainingJob as JSON. */
#ifndef PACELINE_OPERATOR_API_STATUS_JSON_H
#define PACELINE_OPERATOR_API_STATUS_JSON_H

#include "operator/api/trainingjob.h"

/*
 * Fills tj->status and tj->foreign_conditions, strings into tj's arena. An absent field is zero.
 * Fails (ERR_INVALID) naming the field when the index maps do not say what they should: completed
 * work could run again; the rest is filled all the same.
 */
MUST_CHECK int status_decode(struct tj *tj, const cJSON *status, struct err *err);

#endif
