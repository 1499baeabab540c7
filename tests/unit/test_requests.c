/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file of operators' requests, changes by a request, and the answers. */
#include "unit.h"
#include "world.h"

#include <portmajor/files/answer.h>
#include <portmajor/files/requests.h>

#include <unistd.h>

/* ---- The file ---- */

#define HEAD "{\"schema\": \"portmajor-requests\", \"version\": 1, "
#define NONE "\"releases\": [], \"rebalance\": null, \"acknowledged\": []}"

static const struct {
	const char *name, *text, *error;
} files[] = {
	{"nothing", HEAD "\"number\": 0, \"drains\": [], " NONE, NULL},
	{"all kinds",
	 HEAD
	 "\"number\": 9, \"drains\": [{\"guid\": \"0x1a\", \"name\": \"leaf5\", \"port\": "
	 "20, \"number\": 4, \"since\": 7, \"by\": \"pia\", \"reason\": null}], "
	 "\"releases\": [{\"guid\": \"0x1\", \"port\": 3, \"number\": 8}, {\"number\": 9}], "
	 "\"rebalance\": {\"rate\": 0, \"number\": 6}, \"acknowledged\": [{\"guid\": "
	 "\"0x2\", \"port\": 0, \"since\": 5}]}",
	 NULL},
	{"no text", "", "f:1: "},
	{"another schema", "{\"schema\": \"portmajor-state\", \"version\": 1}",
	 "f: not portmajor-requests 1"},
	{"another version",
	 "{\"schema\": \"portmajor-requests\", \"version\": 2, \"number\": 0}",
	 "f: not portmajor-requests 1"},
	{"a list", "[]", "f: not portmajor-requests 1"},
	{"no number", HEAD "\"drains\": [], " NONE, "f: a member is"},
	{"twice a member", HEAD "\"number\": 0, \"number\": 0}", "f:1: "},
	{"port 255",
	 HEAD
	 "\"number\": 1, \"drains\": [{\"guid\": \"0x1\", \"name\": \"a\", \"port\": 255, "
	 "\"number\": 1, \"since\": 1}], " NONE,
	 "f: a member is"},
	{"a GUID of 17 digits",
	 HEAD "\"number\": 1, \"drains\": [{\"guid\": \"0x10000000000000000\", \"name\": "
	      "\"a\", \"port\": 1, \"number\": 1, \"since\": 1}], " NONE,
	 "f: a member is"},
	{"a drain twice",
	 HEAD
	 "\"number\": 1, \"drains\": [{\"guid\": \"0x1\", \"name\": \"a\", \"port\": 1, "
	 "\"number\": 1, \"since\": 1}, {\"guid\": \"0x01\", \"name\": \"b\", \"port\": "
	 "1, \"number\": 1, \"since\": 1}], " NONE,
	 "f: a member is"},
	{"a rate too high",
	 HEAD
	 "\"number\": 1, \"drains\": [], \"releases\": [], \"rebalance\": {\"rate\": "
	 "1000001, \"number\": 1}, \"acknowledged\": []}",
	 "f: a member is"},
};

static char *print(const struct pm_requests *requests)
{
	json_t *root = pm_requests_json(requests);
	char *text = json_dumps(root, JSON_COMPACT);

	assert_non_null(text);
	json_decref(root);
	return text;
}

static void test_files(void **state)
{
	for_each_row(row, files) {
		struct pm_requests requests = {0}, again = {0};
		struct pm_error err = {""};
		int rc = pm_requests_parse(row->text, strlen(row->text), "f", &requests,
					   &err);
		char *text, *more;

		if (row->error) {
			if (rc != -EINVAL || requests.number ||
			    strncmp(err.text, row->error, strlen(row->error)) != 0)
				fail_msg("%s: %d %s", row->name, rc, err.text);
			continue;
		}
		if (rc)
			fail_msg("%s: %d %s", row->name, rc, err.text);
		text = print(&requests);
		assert_int_equal(pm_requests_parse(text, strlen(text), "f", &again, &err),
				 0);
		more = print(&again);
		assert_string_equal(text, more);
		free(text);
		free(more);
		pm_requests_free(&requests);
		pm_requests_free(&again);
	}
}

static void test_written(void **state)
{
	char folder[] = "/tmp/portmajor-test-XXXXXX", path[64];
	struct pm_requests requests = {.number = 3}, found = {0};
	struct pm_error err;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/requests", folder);
	assert_int_equal(pm_requests_read(path, &found, &err), 0);
	assert_int_equal(found.number, 0);
	assert_int_equal(pm_requests_write(path, &requests, &err), 0);
	assert_int_equal(pm_requests_read(path, &found, &err), 0);
	assert_int_equal(found.number, 3);
	pm_requests_free(&found);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(pm_requests_write(path, &requests, &err), -ENOENT);
}

/* ---- Requests ---- */

static struct pm_requests now;
static json_t *state_now;
static struct world world;
static const struct pm_plan *plan;

static uint64_t guid_of(const char *name)
{
	const struct pm_fabric *topology = world.plan->topology;

	return topology->nodes[pm_fabric_find_name(topology, name)].guid;
}

static json_t *make_part(uint64_t guid, unsigned int port)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)guid);
	return json_pack("{s:s, s:i}", "guid", text, "port", (int)port);
}

/* Takes over the parts; NULL: all. */
static json_t *make(const char *kind, json_t *parts)
{
	return parts ? json_pack("{s:s, s:s, s:o}", "request", kind, "by", "pia", "parts",
				 parts)
		     : json_pack("{s:s, s:b}", "request", kind, "all", 1);
}

/* Applies a request, which it takes over; its number, or fails. */
static uint64_t apply(json_t *request)
{
	const struct pm_request_facts facts = {plan, state_now, 1000};
	struct pm_error err = {""};
	uint64_t number;

	if (pm_requests_apply(&now, request, &facts, &number, &err))
		fail_msg("refused: %s", err.text);
	json_decref(request);
	return number;
}

static void refuse(json_t *request, const char *why)
{
	const struct pm_request_facts facts = {plan, state_now, 1000};
	struct pm_error err = {""};
	char *before = print(&now), *after;
	uint64_t number;

	assert_int_equal(pm_requests_apply(&now, request, &facts, &number, &err),
			 -EINVAL);
	if (!strstr(err.text, why))
		fail_msg("%s: not %s", err.text, why);
	after = print(&now);
	assert_string_equal(before, after);
	free(before);
	free(after);
	json_decref(request);
}

/* The answer's state and cause, and whether waiting is of no use: "pending|..|0". */
static void check_answer(const char *kind, json_t *parts, uint64_t number,
			 const char *wanted)
{
	json_t *request = make(kind, parts), *requests = pm_requests_json(&now), *answer;
	const struct pm_answer_facts facts = {.requests = requests, .state = state_now};
	const char *cause;
	char text[300];
	bool over;

	answer = pm_answer_make(request, number, &facts, &over);
	assert_non_null(answer);
	cause = json_string_value(json_object_get(answer, "cause"));
	snprintf(text, sizeof(text), "%s|%s|%d",
		 json_string_value(json_object_get(answer, "state")), cause ? cause : "",
		 over);
	assert_string_equal(text, wanted);
	json_decref(answer);
	json_decref(request);
	json_decref(requests);
}

static void set_state(const char *text)
{
	json_error_t error;

	json_decref(state_now);
	state_now = text ? json_loads(text, 0, &error) : NULL;
	assert_true(!text || state_now);
}

static int set_up(void **state)
{
	world_make(&world, world_director(36), PM_GROUPED);
	plan = world.plan;
	now = (struct pm_requests){0};
	set_state(NULL);
	return 0;
}

static int tear_down(void **state)
{
	pm_requests_free(&now);
	set_state(NULL);
	world_free(&world);
	return 0;
}

static json_t *one(const char *name, unsigned int port)
{
	return json_pack("[o]", make_part(guid_of(name), port));
}

/*
 * A new master gets its predecessor's acknowledgements, and everything if it has no
 * requests.
 */
static void test_inherit(void **state)
{
	struct pm_request_part theirs[] = {{7, 1, 500}, {8, 0, 600}}, ours = {7, 1, 400};
	struct pm_requests from = {.number = 9, .acknowledged = {theirs, 2, 2}};
	struct pm_requests none = {0},
			   other = {.number = 2, .acknowledged = {&ours, 1, 1}};

	assert_int_equal(pm_requests_inherit(&now, &none), 0);
	assert_int_equal(pm_requests_inherit(&now, &from), 1);
	assert_int_equal(now.number, 9);
	assert_true(pm_requests_is_acknowledged(&now, 8, 0, 600));
	assert_int_equal(pm_requests_copy(&other, &now, NULL), 0);
	assert_int_equal(pm_requests_inherit(&now, &from), 1);
	assert_int_equal(now.number, 2);
	assert_int_equal(now.acknowledged.num, 3); /* each outage has its own */
	assert_true(pm_requests_is_acknowledged(&now, 7, 1, 500));
	assert_true(pm_requests_is_acknowledged(&now, 8, 0, 600));
	assert_int_equal(pm_requests_inherit(&now, &from), 0);
}

static void test_no_request(void **state)
{
	refuse(json_object(), "not a request");
	refuse(json_pack("{s:i}", "request", 7), "not a request");
	refuse(json_array(), "not a request");
	refuse(make("drained", json_array()), "not a request");
	refuse(json_pack("{s:s, s:i}", "request", "drain", "parts", 7),
	       "a list of parts");
	refuse(json_pack("{s:s, s:b, s:[{}]}", "request", "undrain", "all", 1, "parts"),
	       "a list of parts");
	refuse(make("drain", json_pack("[i]", 7)), "no GUID and port");
	refuse(make("drain", json_pack("[{s:s, s:i}]", "guid", "0x0", "port", 1)),
	       "no GUID and port");
	refuse(make("drain", json_pack("[{s:s, s:i}]", "guid", "0x1", "port", -1)),
	       "no GUID and port");
	/* Queries change nothing, whatever is known. */
	assert_int_equal(apply(make("drain", json_array())), 0);
	assert_int_equal(apply(make("release", json_array())), 0);
	assert_int_equal(apply(make("rebalance", json_array())), 0);
}

static void test_drain(void **state)
{
	refuse(make("drain", NULL), "have to be named");
	refuse(make("drain", one("leaf0", 0)), "leaf0 has hosts, which need it");
	refuse(make("drain", one("leaf0", 1)), "port 1 of leaf0 leads to a host: only");
	refuse(make("drain", one("leaf0", 99)), "leaf0 has no cable at port 99");
	refuse(make("drain", json_pack("[o, o]", make_part(guid_of("leaf0"), 20),
				       make_part(0x17, 0))),
	       "0x0000000000000017 is not in the plan");
	assert_int_equal(apply(make("drain", one("leaf0", 20))), 1);
	assert_int_equal(apply(make("drain", one("leaf0", 20))), 1); /* it is */
	assert_int_equal(now.drains.num, 1);
	assert_string_equal(now.drains.list[0].by, "pia");
	assert_int_equal(now.drains.list[0].since, 1000);
	assert_int_equal(apply(make("drain", one("s1-line0", 0))), 2);
	refuse(make("undrain", one("leaf0", 21)), "is not drained");
	assert_int_equal(apply(make("undrain", one("leaf0", 20))), 3);
	assert_int_equal(now.drains.num, 1);
	assert_int_equal(apply(make("undrain", NULL)), 4);
	assert_int_equal(apply(make("undrain", NULL)), 4);
	assert_int_equal(now.drains.num, 0);
	plan = NULL; /* none is known yet */
	assert_int_equal(apply(make("drain", json_pack("[o]", make_part(0x17, 0)))), 5);
}

/* A long text is cut between two characters. */
static void test_long_text(void **state)
{
	char text[2 * PM_REQUEST_TEXT + 1];
	json_t *request = make("drain", one("leaf0", 20));

	for (size_t i = 0; i < PM_REQUEST_TEXT; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 2);
	text[2 * PM_REQUEST_TEXT] = '\0';
	json_object_set_new(request, "reason", json_string(text + 1 - 1));
	json_object_set_new(request, "by", json_pack("s+", "x", text));
	apply(request);
	assert_int_equal(strlen(now.drains.list[0].reason), PM_REQUEST_TEXT);
	assert_int_equal(strlen(now.drains.list[0].by), PM_REQUEST_TEXT - 1);
	json_decref(pm_requests_json(&now));
}

#define MASTER "{\"sm_state\": \"master\", \"engine\": {\"active\": true}, "
#define HELD                                                                             \
	MASTER "\"drained\": {\"settled\": true, \"number\": 0, \"list\": []}, "         \
	       "\"flapping\": [{\"state\": \"on-hold\", \"ends\": [{\"guid\": \"0x1\", " \
	       "\"port\": 2}, {\"guid\": \"0x3\", \"port\": 4}]}, {\"state\": "          \
	       "\"watched\", \"ends\": [{\"guid\": \"0x5\", \"port\": 6}]}]}"
#define FREE                                                                             \
	MASTER "\"drained\": {\"settled\": true, \"number\": 0, \"list\": []}, "         \
	       "\"flapping\": []}"

static void test_release(void **state)
{
	refuse(make("release", NULL), "has not seen the fabric");
	set_state("{\"sm_state\": \"standby\"}");
	refuse(make("release", NULL), "not the master (standby)");
	set_state("{\"sm_state\": \"master\", \"shadow\": {}}");
	refuse(make("release", NULL), "shadow mode");
	set_state(HELD);
	refuse(make("release", json_pack("[o]", make_part(5, 6))), "is no link on hold");
	assert_int_equal(apply(make("release", json_pack("[o]", make_part(3, 4)))), 1);
	assert_int_equal(apply(make("release", NULL)), 2);
	check_answer("release", json_pack("[o]", make_part(3, 4)), 1, "pending||0");
	check_answer("release", json_array(), 0, "pending||0");
	assert_true(pm_requests_released(&now, 1));
	assert_false(pm_requests_released(&now, 1));
	assert_int_equal(now.releases.num, 1);
	assert_int_equal(now.releases.list[0].guid, 0);
	set_state(FREE);
	check_answer("release", json_pack("[o]", make_part(3, 4)), 1, "done||1");
	check_answer("release", NULL, 2, "pending||0");
	assert_true(pm_requests_released(&now, 2));
	check_answer("release", NULL, 2, "done||1");
}

/* A drain by the number of the requests that its effect was judged by. */
static json_t *make_judged(unsigned int port, uint64_t seen)
{
	json_t *request = make("drain", one("leaf0", port));

	json_object_set_new(request, "seen", json_integer((json_int_t)seen));
	return request;
}

static void test_judged(void **state)
{
	set_state(HELD);
	assert_int_equal(apply(make_judged(20, 0)), 1);
	refuse(make_judged(21, 0), PM_REQUEST_OUTDATED);
	assert_int_equal(apply(make_judged(21, 1)), 2);
	assert_int_equal(apply(make("release", NULL)), 3); /* no drain */
	assert_int_equal(apply(make_judged(22, 2)), 4);
	assert_int_equal(apply(make("undrain", one("leaf0", 21))), 5);
	refuse(make_judged(23, 4), PM_REQUEST_OUTDATED);
	assert_int_equal(apply(make_judged(23, 5)), 6);
}

#define MISSING(acknowledged)                                                             \
	MASTER "\"missing\": {\"parts\": [{\"since\": 7, \"acknowledged\": " acknowledged \
	       ", \"ends\": [{\"guid\": \"0x1\", \"port\": 0}]}, {\"since\": 8, "         \
	       "\"acknowledged\": false, \"ends\": [{\"guid\": \"0x2\", \"port\": 3}, "   \
	       "{\"guid\": \"0x4\", \"port\": 5}]}]}}"

static void test_acknowledge(void **state)
{
	refuse(make("acknowledge", json_pack("[o]", make_part(1, 0))),
	       "has not seen the fabric");
	set_state(MISSING("false"));
	check_answer("acknowledge", json_array(), 0, "pending||0");
	refuse(make("acknowledge", json_pack("[o, o]", make_part(1, 0), make_part(9, 0))),
	       "is neither missing nor changed");
	assert_int_equal(apply(make("acknowledge", json_pack("[o]", make_part(1, 0)))),
			 1);
	assert_int_equal(apply(make("acknowledge", json_pack("[o]", make_part(1, 0)))),
			 0);
	assert_true(pm_requests_is_acknowledged(&now, 1, 0, 7));
	assert_false(pm_requests_is_acknowledged(&now, 1, 0, 8));
	check_answer("acknowledge", json_pack("[o]", make_part(1, 0)), 1, "done||1");
	check_answer("acknowledge", json_array(), 0, "pending||0");
	assert_int_equal(apply(make("acknowledge", NULL)), 2);
	assert_int_equal(now.acknowledged.num, 2);
	check_answer("acknowledge", NULL, 2, "done||1");
	/*
	 * If the state is unknown, nothing is forgotten, and not all is reported done.
	 */
	set_state(NULL);
	refuse(make("acknowledge", NULL), "has not seen the fabric");
	set_state("{\"sm_state\": \"standby\", \"missing\": null}");
	refuse(make("acknowledge", NULL), "does not know what is missing");
	/* Another outage of one, and the other has returned. */
	set_state(MASTER "\"missing\": {\"parts\": [{\"since\": 9, \"ends\": [{\"guid\": "
			 "\"0x1\", \"port\": 0}]}]}}");
	assert_int_equal(apply(make("acknowledge", NULL)), 3);
	assert_int_equal(now.acknowledged.num, 1);
	assert_int_equal(now.acknowledged.list[0].mark, 9);
	/* A replaced switch that is missing, too, and a cable at another place. */
	set_state(MASTER
		  "\"missing\": {\"parts\": [{\"since\": 9, \"ends\": [{\"guid\": "
		  "\"0x1\", \"port\": 0}]}]}, \"changed\": {\"list\": ["
		  "{\"since\": 8, \"ends\": [{\"guid\": \"0x1\", \"port\": 0}]}, "
		  "{\"since\": 8, \"ends\": [{\"guid\": \"0x2\", \"port\": 3}]}]}}");
	check_answer("acknowledge", json_array(), 0, "pending||0");
	assert_int_equal(apply(make("acknowledge", json_pack("[o]", make_part(2, 3)))),
			 4);
	assert_true(pm_requests_is_acknowledged(&now, 2, 3, 8));
	assert_false(pm_requests_is_acknowledged(&now, 1, 0, 8));
	assert_int_equal(apply(make("acknowledge", json_pack("[o]", make_part(1, 0)))),
			 5);
	assert_true(pm_requests_is_acknowledged(&now, 1, 0, 8));
	assert_true(pm_requests_is_acknowledged(&now, 1, 0, 9));
	check_answer("acknowledge", json_array(), 0, "done||1");
}

static void test_too_many(void **state)
{
	json_t *parts = json_array();

	for (unsigned int i = 1; i <= PM_REQUEST_PARTS + 1; i++)
		json_array_append_new(parts, json_pack("{s:i, s:[o]}", "since", 7, "ends",
						       make_part(i, 0)));
	set_state(MASTER "\"missing\": {}}");
	json_object_set_new(json_object_get(state_now, "missing"), "parts",
			    json_incref(parts));
	refuse(make("acknowledge", NULL), "too many");
	assert_int_equal(json_array_remove(parts, PM_REQUEST_PARTS), 0);
	json_decref(parts);
}

/* A file that could not be read again is not written. */
static void test_too_long(void **state)
{
	char folder[] = "/tmp/portmajor-test-XXXXXX", path[64], text[PM_REQUEST_TEXT + 1];
	struct pm_error err = {""};
	json_t *parts = json_array(), *request;

	memset(text, '\\', PM_REQUEST_TEXT);
	text[PM_REQUEST_TEXT] = '\0';
	for (unsigned int i = 1; i <= 16000; i++)
		json_array_append_new(parts, make_part(i, 0));
	request = make("drain", parts);
	json_object_set_new(request, "by", json_string(text));
	json_object_set_new(request, "reason", json_string(text));
	plan = NULL;
	apply(request);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/requests", folder);
	assert_int_equal(pm_requests_write(path, &now, &err), -EFBIG);
	assert_non_null(strstr(err.text, "more than 16 MiB"));
	assert_int_equal(rmdir(folder), 0);
}

#define BALANCE(off, active)                                                             \
	MASTER "\"balance\": {\"entries_off\": " off ", \"rebalancing\": " active "}}"

static void test_rebalance(void **state)
{
	json_t *request;

	set_state(BALANCE("5", "false"));
	request = make("rebalance", NULL);
	json_object_set_new(request, "rate", json_integer(0));
	refuse(request, "not a rate");
	request = make("rebalance", NULL);
	json_object_set_new(request, "rate", json_integer(500));
	assert_int_equal(apply(request), 1);
	assert_int_equal(now.rate, 500);
	check_answer("rebalance", NULL, 1, "pending||0");
	check_answer("rebalance", json_array(), 0, "pending||1");
	assert_int_equal(apply(make("rebalance", NULL)), 2);
	assert_false(pm_requests_rebalanced(&now, 1)); /* there is a newer one */
	assert_true(pm_requests_rebalanced(&now, 2));
	assert_false(pm_requests_rebalanced(&now, 2));
	check_answer("rebalance", NULL, 2, "pending||1"); /* given up */
	set_state(BALANCE("5", "true"));
	check_answer("rebalance", NULL, 2, "pending||0");
	set_state(BALANCE("0", "false"));
	check_answer("rebalance", NULL, 2, "done||1");
}

/* It changes nothing, and is answered by a reading that is new enough. */
static void test_check(void **state)
{
	json_t *request = make("check", NULL);

	assert_true(pm_request_is_check(request));
	refuse(request, "OpenSM has not seen the fabric yet");
	set_state("{\"sm_state\": \"standby\"}");
	refuse(make("check", NULL), "OpenSM is not the master (standby)");
	set_state(MASTER "\"tables_read\": null}");
	assert_int_equal(apply(make("check", NULL)), 0);
	assert_int_equal(now.number, 0);
	refuse(make("check", one("leaf0", 0)), "of all switches only");
	check_answer("check", NULL, 3, "pending||0");
	set_state(MASTER "\"tables_read\": {\"number\": 2}}");
	check_answer("check", NULL, 3, "pending||0");
	set_state(MASTER "\"tables_read\": {\"number\": 3}}");
	check_answer("check", NULL, 3, "done||1");
	check_answer("check", json_array(), 0, "done||1");
}

/* ---- Drains' answers ---- */

static void set_drained(uint64_t number, bool settled, const char *word)
{
	char text[600];

	snprintf(text, sizeof(text),
		 MASTER
		 "\"unset\": {\"count\": %d, \"list\": [%s]}, \"drained\": "
		 "{\"number\": %d, \"settled\": %s, \"list\": [{\"guid\": "
		 "\"0x%016llx\", \"port\": 20, \"since\": 1000, \"state\": \"%s\"}]}}",
		 !settled, settled ? "" : "{\"name\": \"leaf9\"}", (int)number,
		 settled ? "true" : "false", (unsigned long long)guid_of("leaf0"), word);
	set_state(text);
}

static void test_drain_answers(void **state)
{
	uint64_t number = apply(make("drain", one("leaf0", 20)));

	check_answer("drain", one("leaf0", 20), number,
		     "pending|OpenSM has not seen the fabric yet|0");
	set_drained(0, true, "out"); /* of a former drain of this second */
	check_answer("drain", one("leaf0", 20), number, "pending||0");
	set_drained(number, false, "pending");
	check_answer("drain", one("leaf0", 20), number,
		     "pending|leaf9 has not acknowledged its table|0");
	set_drained(number, true, "out");
	check_answer("drain", one("leaf0", 20), number, "done||1");
	check_answer("drain", json_array(), 0, "done||1");
	set_drained(number, true, "needed"); /* for good */
	check_answer("drain", one("leaf0", 20), number, "pending||1");
	number = apply(make("undrain", NULL));
	check_answer("undrain", NULL, number, "pending||0");
	set_drained(number, true, "out");
	check_answer("undrain", NULL, number, "done||1");
	set_state("{\"sm_state\": \"standby\"}");
	check_answer("undrain", NULL, number,
		     "pending|OpenSM is not the master (standby): it follows as the "
		     "master|0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_written),
		cmocka_unit_test_setup_teardown(test_inherit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_judged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_release, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_acknowledge, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rebalance, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drain_answers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
