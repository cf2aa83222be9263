/*
 * `paceline-agent install DIR`: installs an agent, with the libraries that it needs, for images
 * that are not ours. The installed program is paceline-agent-portable, which lies beside this one
 * and is linked for /paceline. It needs nothing of the image that it runs in, whatever the C
 * library there.
 */
#ifndef PACELINE_AGENT_INSTALL_H
#define PACELINE_AGENT_INSTALL_H

/* Copies DIR/paceline-agent, its loader as DIR/lib/ld.so, and its libraries. DIR must be mounted at
 * /paceline where the agent runs. Returns the exit code. */
int agent_install(int argc, char **argv);

#endif
