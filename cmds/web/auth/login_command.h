/* login_command.h - `gweb login` and `gweb sign`: a user proves itself to a gweb that runs */
#ifndef CMDS_LOGIN_COMMAND_H
#define CMDS_LOGIN_COMMAND_H

#define LOGIN_URL          "http://127.0.0.1:7380"
#define LOGIN_URL_VARIABLE "GPUSCHED_WEB"

/* argv[0] is the subcommand: "login" or "sign". Returns the exit status. */
int login_main(int argc, char **argv);

#endif
