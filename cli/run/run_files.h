/*
 * job.json and events.jsonl of a run folder. They are those of the earlier run in the folder until
 * the engine has taken the new job; a run that is refused leaves them as they were.
 */
#ifndef PACELINE_CLI_RUN_FILES_H
#define PACELINE_CLI_RUN_FILES_H

#include "cli/run/folder.h"
#include "cli/run/session.h"

struct run_files {
    char *spec, *new_spec;
    char *events, *new_events;
    bool resume;
    bool append; /* the events of this run go after those of the run that it resumes */
};

void run_files_init(struct run_files *f, const struct folder *folder, bool resume);
void run_files_release(struct run_files *f); /* also fit for AUTO */

/* Writes the new job.json from text and opens the events of the session. ERR_IO. */
MUST_CHECK int run_files_open(const struct run_files *f, struct session *s, const char *text,
                              struct err *err);
/* The file that the engine has to read: the new job.json until the session has started. */
const char *run_files_spec(const struct run_files *f, const struct session *s);
/* The engine has taken the job: the new files get their names. arg: the run_files; a session's
 * on_start. */
void run_files_keep(void *arg);
/* The engine has not taken the job: the folder becomes as it was before folder_take. */
void run_files_undo(const struct run_files *f, struct session *s, struct folder *folder);

#endif
