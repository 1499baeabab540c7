/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Serves the control socket. */
#include "control.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <portmajor/files/answer.h>
#include <portmajor/json/values.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_MS 1000 /* without accepting, when no descriptor is free */
#define ENDING "OpenSM ends"

enum stage {
	READING, /* waits for a whole line */
	QUEUED,	 /* the writer has the request, or will */
	WAITING, /* the request was completed, and is not done */
	WRITING, /* the answer is sent */
};

struct control_client {
	struct control_client *next, **link; /* of the list of all */
	struct control *control;
	struct bufferevent *stream;
	struct event *timer; /* ends the stage, but for QUEUED */
	enum stage stage;
	bool last;  /* its connection ends with this answer */
	bool ended; /* it sends no more */
	struct control_request *request;
	uid_t uid;
	pid_t pid;
};

struct control {
	struct worker *writer;
	pthread_t thread;
	int wake; /* an eventfd: there is news below the lock */

	/* of the thread: */
	struct event_base *base;
	struct event *news, *arrivals, *pause; /* arrivals NULL: no socket */
	struct control_client *clients;
	unsigned int num;
	json_t *requests, *state; /* as published last, or NULL */

	pthread_mutex_t lock;
	struct control_request *queue, **queue_end;
	/* handed to the thread: */
	struct control_request *completed, **completed_end;
	json_t *new_requests, *new_state;
	int new_socket; /* -1: none */
	bool has_socket, ending;
};

static void free_request(struct control_request *request)
{
	if (!request)
		return;
	json_decref(request->json);
	free(request);
}

static void wake(const struct control *control)
{
	const uint64_t one = 1;

	if (write(control->wake, &one, sizeof(one)) < 0)
		errno = 0; /* it is awake: its counter is full */
}

/* ---- A client ---- */

static void start_timer(struct control_client *client, double ms)
{
	const struct timeval after = {(time_t)(ms / 1e3), (suseconds_t)0};

	evtimer_add(client->timer, &after);
}

/* A request that the writer has goes on without its client. */
static void free_client(struct control_client *client)
{
	struct control *control = client->control;

	*client->link = client->next;
	if (client->next)
		client->next->link = client->link;
	control->num--;
	if (client->stage == QUEUED)
		client->request->client = NULL;
	else
		free_request(client->request);
	if (client->timer)
		event_free(client->timer);
	bufferevent_free(client->stream);
	free(client);
}

/* Sends a line, after which the client may go on, unless it is its last one. */
static void send_line(struct control_client *client, const char *line)
{
	struct evbuffer *out = bufferevent_get_output(client->stream);

	free_request(client->request);
	client->request = NULL;
	client->stage = WRITING;
	start_timer(client, CONTROL_MS);
	evbuffer_add(out, line, strlen(line));
	evbuffer_add(out, "\n", 1);
}

static void send_answer(struct control_client *client, json_t *answer)
{
	char *line =
		answer ? json_dumps(answer, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	send_line(client,
		  line ? line : "{\"state\": \"pending\", \"cause\": \"out of memory\"}");
	free(line);
	json_decref(answer);
}

/* The connection ends with this. */
static void send_refusal(struct control_client *client, const char *reason)
{
	json_t *answer = json_pack("{s:s, s:s, s:n}", "state", "refused", "reason",
				   reason, "cause");

	client->last = true;
	send_answer(client, answer);
}

/* Answers a request if it is done or refused, or at all events. */
static bool answer(struct control_client *client, bool anyway, const char *cause)
{
	const struct control_request *request = client->request;
	const struct pm_answer_facts facts = {
		.requests = client->control->requests,
		.state = client->control->state,
		.reason = request->reason.text[0] ? request->reason.text : NULL,
		.cause = cause,
	};
	bool over;
	json_t *made = pm_answer_make(request->json, request->number, &facts, &over);

	if (over || anyway || !made) {
		send_answer(client, made);
		return true;
	}
	json_decref(made);
	return false;
}

/* Has the writer follow a request; refuses what is no JSON. */
static void queue_line(struct control_client *client, const char *line, size_t length)
{
	struct control *control = client->control;
	struct control_request *request = calloc(1, sizeof(*request));
	json_error_t error;

	if (request)
		request->json = pm_json_parse(line, length, &error);
	if (!request || !json_is_object(request->json)) {
		send_refusal(client, request && (request->json || error.text[0])
					     ? "not a JSON object"
					     : "out of memory");
		free_request(request);
		return;
	}
	request->client = client;
	request->uid = client->uid;
	request->pid = client->pid;
	client->request = request;
	client->stage = QUEUED;
	evtimer_del(client->timer);
	pthread_mutex_lock(&control->lock);
	*control->queue_end = request;
	control->queue_end = &request->next;
	pthread_mutex_unlock(&control->lock);
	worker_poke(control->writer);
}

static void read_request_line(struct control_client *client)
{
	struct evbuffer *in = bufferevent_get_input(client->stream);
	size_t length;
	char *line;

	if (client->stage != READING)
		return;
	line = evbuffer_readln(in, &length, EVBUFFER_EOL_LF);
	if (line)
		queue_line(client, line, length);
	else if (evbuffer_get_length(in) > CONTROL_LINE)
		send_refusal(client, "a request is longer than 256 KiB");
	free(line);
}

static void on_read(struct bufferevent *stream, void *context)
{
	(void)stream;
	read_request_line(context);
}

/* All is sent: the next request. */
static void on_written(struct bufferevent *stream, void *context)
{
	struct control_client *client = context;

	(void)stream;
	if (client->stage != WRITING)
		return;
	if (client->last) {
		free_client(client);
		return;
	}
	client->stage = READING;
	start_timer(client, CONTROL_MS);
	read_request_line(client);
	if (client->stage == READING && client->ended)
		free_client(client);
}

/* No more requests come; one that is under way is answered without waiting. */
static void on_end(struct bufferevent *stream, short what, void *context)
{
	struct control_client *client = context;

	(void)stream;
	if (!(what & BEV_EVENT_EOF) || client->stage == READING) {
		free_client(client);
		return;
	}
	client->ended = true;
	if (client->stage == WAITING)
		answer(client, true, NULL);
}

static void on_time(evutil_socket_t fd, short what, void *context)
{
	struct control_client *client = context;

	(void)fd;
	(void)what;
	if (client->stage == READING)
		send_refusal(client, "no whole request came within 10 s");
	else if (client->stage == WAITING)
		answer(client, true, NULL);
	else if (client->stage == WRITING)
		free_client(client);
}

/* ---- Connections ---- */

/* Who it is; only root and OpenSM's user may ask. */
static bool may_ask(struct control_client *client, int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return false;
	client->uid = peer.uid;
	client->pid = peer.pid;
	return !peer.uid || peer.uid == geteuid();
}

/* Takes over the connection. */
static void add_client(struct control *control, int fd)
{
	struct control_client *client = calloc(1, sizeof(*client));

	if (client)
		client->stream =
			bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client || !client->stream) {
		free(client);
		close(fd);
		return;
	}
	client->control = control;
	client->next = control->clients;
	client->link = &control->clients;
	if (client->next)
		client->next->link = &client->next;
	control->clients = client;
	control->num++;
	client->timer = evtimer_new(control->base, on_time, client);
	bufferevent_setcb(client->stream, on_read, on_written, on_end, client);
	bufferevent_setwatermark(client->stream, EV_READ, 0, CONTROL_LINE + 1);
	if (!client->timer || bufferevent_enable(client->stream, EV_READ | EV_WRITE))
		free_client(client);
	else if (!may_ask(client, fd))
		send_refusal(client, "only root and the user of OpenSM may ask");
	else if (control->num > CONTROL_CLIENTS)
		send_refusal(client, "too many connections");
	else
		start_timer(client, CONTROL_MS);
}

/* Beyond twice the clients not even an answer is held ready. */
static void on_arrival(evutil_socket_t fd, short what, void *context)
{
	const struct timeval pause = {PAUSE_MS / 1000, 0};
	struct control *control = context;
	struct sockaddr_storage client; /* unnamed */
	socklen_t length = sizeof(client);
	int connection = accept4(fd, (struct sockaddr *)&client, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)what;
	if (connection >= 0 && control->num < 2 * CONTROL_CLIENTS) {
		add_client(control, connection);
	} else if (connection >= 0) {
		close(connection);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		event_del(control->arrivals);
		evtimer_add(control->pause, &pause);
	}
}

static void on_pause_over(evutil_socket_t fd, short what, void *context)
{
	struct control *control = context;

	(void)fd;
	(void)what;
	if (control->arrivals)
		event_add(control->arrivals, NULL);
}

static void close_socket(struct control *control)
{
	int fd;

	if (!control->arrivals)
		return;
	fd = event_get_fd(control->arrivals);
	event_free(control->arrivals);
	control->arrivals = NULL;
	close(fd); /* now another thread may get its number */
}

static void open_socket(struct control *control, int fd)
{
	close_socket(control);
	if (fd < 0)
		return;
	control->arrivals =
		event_new(control->base, fd, EV_READ | EV_PERSIST, on_arrival, control);
	if (!control->arrivals)
		close(fd);
	else if (event_add(control->arrivals, NULL))
		close_socket(control);
}

/* ---- News of the writer ---- */

/* Completed requests are answered, or wait. */
static void complete_request(struct control_request *request)
{
	struct control_client *client = request->client;
	double wait_s = json_number_value(json_object_get(request->json, "wait"));

	request->next = NULL;
	if (!client) {
		free_request(request);
		return;
	}
	client->stage = WAITING;
	wait_s = wait_s > CONTROL_WAIT_S ? CONTROL_WAIT_S : wait_s;
	if (!answer(client, client->ended || !(wait_s >= 1), NULL))
		start_timer(client, wait_s * 1e3);
}

static void judge_waiting(struct control *control, bool ends)
{
	struct control_client *next;

	for (struct control_client *client = control->clients; client; client = next) {
		next = client->next;
		if (client->stage == WAITING)
			answer(client, ends, ends ? ENDING : NULL);
	}
}

static void replace(json_t **now, json_t *with)
{
	if (!with)
		return;
	json_decref(*now);
	*now = with;
}

/* Refuses what the writer has not taken, and sends what can be sent at once. */
static void end(struct control *control)
{
	struct control_request *queue, *next;

	pthread_mutex_lock(&control->lock);
	queue = control->queue;
	control->queue = NULL;
	control->queue_end = &control->queue;
	pthread_mutex_unlock(&control->lock);
	for (; queue; queue = next) {
		next = queue->next;
		pm_error_set(&queue->reason, 0, ENDING);
		complete_request(queue);
	}
	judge_waiting(control, true);
	for (struct control_client *client = control->clients; client;
	     client = client->next) {
		struct evbuffer *out = bufferevent_get_output(client->stream);

		evbuffer_unfreeze(out, 1); /* the stream would write it, in its loop */
		if (evbuffer_get_length(out))
			evbuffer_write(out, bufferevent_getfd(client->stream));
	}
	event_base_loopbreak(control->base);
}

static void on_news(evutil_socket_t fd, short what, void *context)
{
	struct control *control = context;
	struct control_request *completed, *next;
	json_t *requests, *state;
	bool ending, has_socket;
	uint64_t count;
	int listening;

	(void)what;
	if (read(fd, &count, sizeof(count)) < 0)
		errno = 0; /* there is no news */
	pthread_mutex_lock(&control->lock);
	completed = control->completed;
	control->completed = NULL;
	control->completed_end = &control->completed;
	requests = control->new_requests;
	state = control->new_state;
	control->new_requests = control->new_state = NULL;
	has_socket = control->has_socket;
	listening = control->new_socket;
	control->has_socket = false;
	ending = control->ending;
	pthread_mutex_unlock(&control->lock);
	replace(&control->requests, requests);
	replace(&control->state, state);
	if (has_socket)
		open_socket(control, listening);
	if (requests || state)
		judge_waiting(control, false);
	for (; completed; completed = next) {
		next = completed->next;
		complete_request(completed);
	}
	if (ending)
		end(control);
}

/* ---- The writer's thread ---- */

void control_listen(struct control *control, int fd)
{
	int before = -1;

	pthread_mutex_lock(&control->lock);
	if (control->has_socket)
		before = control->new_socket;
	control->new_socket = fd;
	control->has_socket = true;
	pthread_mutex_unlock(&control->lock);
	if (before >= 0)
		close(before);
	wake(control);
}

struct control_request *control_take(struct control *control)
{
	struct control_request *queue;

	pthread_mutex_lock(&control->lock);
	queue = control->queue;
	control->queue = NULL;
	control->queue_end = &control->queue;
	pthread_mutex_unlock(&control->lock);
	return queue;
}

void control_publish(struct control *control, json_t *requests, json_t *state,
		     struct control_request *completed)
{
	pthread_mutex_lock(&control->lock);
	replace(&control->new_requests, requests);
	replace(&control->new_state, state);
	*control->completed_end = completed;
	while (*control->completed_end)
		control->completed_end = &(*control->completed_end)->next;
	pthread_mutex_unlock(&control->lock);
	wake(control);
}

/* ---- Begin and end ---- */

static void *serve(void *context)
{
	struct control *control = context;

	event_base_dispatch(control->base);
	while (control->clients)
		free_client(control->clients);
	close_socket(control);
	return NULL;
}

/* With all signals blocked: they are OpenSM's, and a lost client is no SIGPIPE. */
static int start_thread(struct control *control)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&control->thread, NULL, serve, control);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		pthread_setname_np(control->thread, "portmajor-ctl");
	return rc;
}

static void free_list(struct control_request *list)
{
	while (list) {
		struct control_request *next = list->next;

		free_request(list);
		list = next;
	}
}

void control_free(struct control *control)
{
	if (!control)
		return;
	if (control->news)
		event_free(control->news);
	if (control->pause)
		event_free(control->pause);
	if (control->base)
		event_base_free(control->base);
	if (control->wake >= 0)
		close(control->wake);
	if (control->has_socket && control->new_socket >= 0)
		close(control->new_socket);
	free_list(control->queue);
	free_list(control->completed);
	json_decref(control->requests);
	json_decref(control->state);
	json_decref(control->new_requests);
	json_decref(control->new_state);
	pthread_mutex_destroy(&control->lock);
	free(control);
}

struct control *control_start(struct worker *writer)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control)
		return NULL;
	control->writer = writer;
	pthread_mutex_init(&control->lock, NULL);
	control->queue_end = &control->queue;
	control->completed_end = &control->completed;
	control->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (control->wake >= 0)
		control->base = event_base_new();
	if (control->base) {
		control->news = event_new(control->base, control->wake,
					  EV_READ | EV_PERSIST, on_news, control);
		control->pause = evtimer_new(control->base, on_pause_over, control);
	}
	if (control->news && control->pause && !event_add(control->news, NULL) &&
	    !start_thread(control))
		return control;
	control_free(control);
	return NULL;
}

void control_stop(struct control *control)
{
	if (!control)
		return;
	pthread_mutex_lock(&control->lock);
	control->ending = true;
	pthread_mutex_unlock(&control->lock);
	wake(control);
	pthread_join(control->thread, NULL);
}
