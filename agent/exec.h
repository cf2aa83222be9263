/* `paceline-agent exec HOST COMMAND...`: what mpirun calls instead of ssh. */
#ifndef PACELINE_AGENT_EXEC_H
#define PACELINE_AGENT_EXEC_H

/* The program: returns its exit code. */
int agent_exec(int argc, char **argv);

#endif
