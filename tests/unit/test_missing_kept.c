/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The members that missing parts keep from one document of the state to the next. */
#include "unit.h"

#include "io/missing_kept.h"

/* A document in which these parts are missing: a switch a with 2 hosts and 5 links, a
 * link b:3, a host c:1. */
static json_t *make(const char *names)
{
	json_t *parts = json_array();
	int switches = strchr(names, 'a') != NULL, links = 0, hosts = 0;

	for (const char *n = names; *n; n++) {
		char guid[] = "0x000000000000000a";
		int of = *n == 'a' ? 5 : 1, with = *n == 'a' ? 2 : *n == 'c';

		guid[17] = *n;
		json_array_append_new(parts,
				      json_pack("{s:s, s:[{s:s, s:i}], s:i, s:i}", "kind",
						*n == 'a'   ? "switch"
						: *n == 'b' ? "link"
							    : "host",
						"ends", "guid", guid, "port",
						*n == 'a'   ? 0
						: *n == 'b' ? 3
							    : 1,
						"hosts", with, "links", of));
		links += of;
		hosts += with;
	}
	return json_pack("{s:{s:{s:i, s:i, s:i}, s:o}}", "missing", "total", "switches",
			 switches, "links", links, "hosts", hosts, "parts", parts);
}

/* What is acknowledged. */
static struct pm_request_part outages[3];
static struct pm_requests requests = {.acknowledged = {.list = outages}};

static void acknowledge(uint64_t guid, unsigned int num, uint64_t since)
{
	outages[requests.acknowledged.num++] = (struct pm_request_part){guid, num, since};
}

/* The host at the port c:1. */
static struct known_hosts known;

/* "SWITCHES LINKS HOSTS ACKNOWLEDGED: SINCE[*][HOST] .." of a document, which is freed.
 */
static void check(struct missing_kept *kept, json_t *document, time_t now,
		  const char *wanted)
{
	const struct missing_facts facts = {
		.hosts = &known, .requests = &requests, .now = now};
	const json_t *missing, *part;
	char text[128];
	size_t i, used;

	missing_take(kept, document);
	assert_int_equal(missing_complete(kept, document, &facts), 0);
	missing = json_object_get(document, "missing");
	used = (size_t)snprintf(
		text, sizeof(text), "%d %d %d %d:",
		(int)json_integer_value(json_object_get(missing, "switches")),
		(int)json_integer_value(json_object_get(missing, "links")),
		(int)json_integer_value(json_object_get(missing, "hosts")),
		(int)json_integer_value(json_object_get(missing, "acknowledged")));
	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		const char *host = json_string_value(json_object_get(part, "host"));

		used += (size_t)snprintf(
			text + used, sizeof(text) - used, " %d%s%s",
			(int)json_integer_value(json_object_get(part, "since")),
			json_is_true(json_object_get(part, "acknowledged")) ? "*" : "",
			host ? host : "");
	}
	assert_string_equal(text, wanted);
	json_decref(document);
}

static void test_since(void **state)
{
	struct missing_kept kept = {0};

	check(&kept, json_pack("{s:n}", "missing"), 1, "0 0 0 0:");
	check(&kept, make("a"), 10, "1 5 2 0: 10");
	check(&kept, make("ab"), 20, "1 6 2 0: 10 20");
	/* The former host is unknown. */
	check(&kept, json_pack("{s:n}", "missing"), 25, "1 6 2 0: 10 20");
	check(&kept, make("bc"), 30, "0 2 1 0: 20 30");
	check(&kept, make("a"), 40, "1 5 2 0: 40");
	check(&kept, make(""), 50, "0 0 0 0:");
	missing_forget(&kept);
}

static void test_acknowledged(void **state)
{
	struct missing_kept kept = {0};

	requests.acknowledged.num = 0;
	check(&kept, make("abc"), 10, "1 7 3 0: 10 10 10");
	acknowledge(0xa, 0, 10);
	acknowledge(0xb, 9, 10); /* another port */
	check(&kept, make("abc"), 20, "0 2 1 1: 10* 10 10");
	check(&kept, json_pack("{s:n}", "missing"), 20, "0 2 1 1: 10* 10 10");
	acknowledge(0xc, 1, 10);
	outages[1].num = 3;
	check(&kept, json_pack("{s:n}", "missing"), 20, "0 0 0 3: 10* 10* 10*");
	check(&kept, make("abc"), 20, "0 0 0 3: 10* 10* 10*");
	/* Returned, and missing again: another failure. */
	check(&kept, make("bc"), 30, "0 0 0 2: 10* 10*");
	check(&kept, make("abc"), 40, "1 5 2 2: 40 10* 10*");
	missing_forget(&kept);
}

/* Acknowledged before it began: that was another part at this place. */
static void test_same_second(void **state)
{
	struct missing_kept kept = {0};

	requests.acknowledged.num = 0;
	acknowledge(0xb, 3, 10);
	check(&kept, make("b"), 10, "0 1 0 0: 11");
	acknowledge(0xb, 3, 11);
	check(&kept, make("b"), 12, "0 0 0 1: 11*");
	missing_forget(&kept);
	requests.acknowledged.num = 0;
}

static void test_restart(void **state)
{
	struct missing_kept kept = {0}, next = {0};
	json_t *document = make("ab");

	requests.acknowledged.num = 0;
	check(&kept, json_incref(document), 10, "1 6 2 0: 10 10");
	acknowledge(0xb, 3, 10);
	check(&kept, json_incref(document), 10, "1 5 2 1: 10 10*");
	missing_begin(&next, document, &requests);
	json_decref(document);
	missing_forget(&kept);
	check(&next, json_pack("{s:n}", "missing"), 20, "1 5 2 1: 10 10*");
	check(&next, make("abc"), 30, "1 6 3 1: 10 10* 30");
	/*
	 * The last state was not written: the outage keeps the age that it had in it.
	 */
	missing_begin(&next, NULL, &requests);
	check(&next, make("ab"), 40, "1 5 2 1: 40 10*");
	missing_forget(&next);
	requests.acknowledged.num = 0;
}

/* A name is that at the time of the failure, also in another process. */
static void test_host(void **unused)
{
	struct known_host list[] = {{.leaf = 0xc, .leaf_port = 1, .name = "h1"}};
	struct missing_kept kept = {0}, next = {0};
	json_t *last;

	known = (struct known_hosts){list, 1};
	check(&kept, make("abc"), 10, "1 7 3 0: 10 10 10h1");
	last = json_pack("{s:O}", "missing", kept.last);
	known = (struct known_hosts){0};
	missing_begin(&next, last, &requests);
	check(&next, make("c"), 20, "0 1 1 0: 10h1");
	check(&next, make(""), 30, "0 0 0 0:");
	check(&next, make("c"), 40, "0 1 1 0: 40");
	json_decref(last);
	missing_forget(&next);
	missing_forget(&kept);
}

/* node-name-map may be in any encoding. */
static void test_host_not_utf8(void **unused)
{
	struct known_host list[] = {{.leaf = 0xc, .leaf_port = 1, .name = "caf\xe9"}};
	struct missing_kept kept = {0};

	known = (struct known_hosts){list, 1};
	check(&kept, make("c"), 10, "0 1 1 0: 10caf\xef\xbf\xbd");
	check(&kept, make("c"), 20, "0 1 1 0: 10caf\xef\xbf\xbd");
	known = (struct known_hosts){0};
	missing_forget(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_since),	    cmocka_unit_test(test_acknowledged),
		cmocka_unit_test(test_same_second), cmocka_unit_test(test_restart),
		cmocka_unit_test(test_host),	    cmocka_unit_test(test_host_not_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
