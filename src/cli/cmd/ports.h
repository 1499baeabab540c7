/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ports of OpenSM on this machine, each with a folder of the plugin's, and requests
 * to the OpenSM that uses it (requests.h), by its control socket. Where none runs, the
 * folder is locked, and its file of requests changed.
 */
#ifndef PORTMAJOR_CLI_PORTS_H
#define PORTMAJOR_CLI_PORTS_H

#include <jansson.h>

#include <portmajor/files/requests.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_port {
	char *folder;		 /* with a slash at its end */
	int fd;			 /* the control socket; -1: not connected */
	int lock;		 /* of the folder; -1: not locked */
	bool stopped;		 /* no OpenSM uses it */
	json_t *state;		 /* as last written, or NULL */
	struct pm_requests kept; /* as in the file */
	json_t *request;	 /* to send; NULL: nothing is asked of it */
	json_t *answer;		 /* (answer.h) */
};

struct cli_ports {
	struct cli_port *list; /* masters first */
	size_t num;
	char *wanted; /* the pattern of folders, for messages */
};

/*
 * Finds all ports, reads their files, and connects. changes: requests will change
 * something, so each port is connected, or locked; otherwise files will do. An exit
 * status, with a message. The caller frees *ports in any case.
 */
int cli_ports_open(bool changes, struct cli_ports *ports);

/* The same for the port of one folder, without changes. */
int cli_ports_open_folder(const char *folder, struct cli_ports *ports);
void cli_ports_free(struct cli_ports *ports);

/* Whether OpenSM runs there, is the master and, with `routes`, not in shadow mode. */
bool cli_port_is_master(const struct cli_port *port, bool routes);

/* A new request by the user of this command; `parts` is taken over; NULL: all. */
json_t *cli_port_request(const char *name, json_t *parts);

/* A request's part; the label may be NULL. */
json_t *cli_port_part(uint64_t guid, unsigned int port, const char *label);

/*
 * Sends all requests, and reads the answers, which may take wait_s; where OpenSM does not
 * run, changes the file and makes the answer. An exit status, with a message.
 */
int cli_ports_ask(struct cli_ports *ports, uint32_t wait_s);

/*
 * The answers in one object: schema, `state`, `reason`, `cause`, and the list of this
 * name, each part once. A message tells the reason of a refusal.
 */
json_t *cli_ports_join(const struct cli_ports *ports, const char *command,
		       const char *list);

/* An exit status for a joined answer: EXIT_FINDINGS if it is not done, or refused. */
int cli_ports_judge(const json_t *joined, bool changes, bool waits);

/* Prints "pending  CAUSE" for a joined answer that has one. */
void cli_ports_print_cause(const json_t *joined);

#endif
