/*
 * `paceline-agent install DIR`: an agent for images that are not ours, with the libraries that it
 * needs. paceline-agent-portable, which lies beside this program, is the same program linked for
 * /paceline: it asks nothing of the image that it runs in, whatever its C library is.
 */
#ifndef PACELINE_AGENT_INSTALL_H
#define PACELINE_AGENT_INSTALL_H

/* Copies into DIR, which has to be /paceline where it is to be run: DIR/paceline-agent, its
 * loader as DIR/lib/ld.so and its libraries. Returns the exit code. */
int agent_install(int argc, char **argv);

#endif
