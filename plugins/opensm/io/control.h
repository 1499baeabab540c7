/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: a Unix socket in the store's folder, on which commands of root and
 * of OpenSM's user send requests (requests.h), a JSON object in a line each, and get an
 * answer (answer.h) in a line.
 *
 * A thread serves all clients by events. It touches no file and takes no lock of
 * OpenSM's, so it can always be joined. It queues requests; the writer's thread
 * (kept_requests.h) takes all that wait, in order, and completes them. Then each is
 * answered, in the same order, if it is done, and otherwise when it is, judged by each
 * state that is published, or after the "wait" seconds that it names.
 *
 * A client that sends more than CONTROL_LINE bytes without an end of line, or no whole
 * line within CONTROL_MS, gets an error, as does one above CONTROL_CLIENTS; one that does
 * not read its answer within CONTROL_MS gets nothing. Their connections are closed. A
 * client's next request is read when it has got its answer.
 */
#ifndef PORTMAJOR_CONTROL_H
#define PORTMAJOR_CONTROL_H

#include "engine/worker.h"

#include <portmajor/base/error.h>

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CONTROL_LINE ((size_t)256 << 10)
#define CONTROL_MS 10000
#define CONTROL_CLIENTS 256
#define CONTROL_WAIT_S 86400 /* longest wait of a request */

struct control;
struct control_client;

/* A request of a client, the writer's from control_take to control_publish. */
struct control_request {
	struct control_request *next;
	struct control_client *client; /* the control thread's */
	json_t *json;
	uid_t uid;
	pid_t pid;
	/* What the writer found: */
	uint64_t number;	/* see pm_requests_apply */
	struct pm_error reason; /* why it is refused, or "" */
};

/* The worker is poked when requests wait. NULL without memory. */
struct control *control_start(struct worker *writer);

/*
 * Ends the thread: what waits is answered, as OpenSM ends. On main, after the writer has
 * ended or was left behind; control may be NULL.
 */
void control_stop(struct control *control);

/* After control_stop, and only if the writer has ended. */
void control_free(struct control *control);

/* ---- On the writer's thread ---- */

/* Serves the clients of a listening socket, which it takes over; -1: of none. */
void control_listen(struct control *control, int fd);

/* The requests that wait, in their order, for control_publish; NULL: none. */
struct control_request *control_take(struct control *control);

/*
 * Publishes what is requested and the state, each a copy that it takes over or NULL:
 * nothing new; and then completes requests, in their order. They must be in both copies.
 */
void control_publish(struct control *control, json_t *requests, json_t *state,
		     struct control_request *completed);

#endif
