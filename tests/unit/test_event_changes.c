/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that are differences between two documents of the state. */
#include "unit.h"

#include "io/event_changes.h"

#include <unistd.h>

static const char path[] = "test_event_changes.tmp";

/* The file's lines without their times, each with a "|" behind it. */
static void read_lines(char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	char line[512];
	size_t used = 0;

	*text = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		assert_non_null(strchr(line, ' '));
		used += (size_t)snprintf(text + used, size - used, "%s|",
					 strchr(line, ' ') + 1);
	}
	if (file)
		fclose(file);
	unlink(path);
}

/* A document with these members beside those of a master that routes. */
static json_t *make(const char *members)
{
	json_t *document =
		json_loads("{\"opensm\": \"OpenSM 3\", \"plugin\": \"1\", "
			   "\"pid\": 7, \"started\": 5, \"running\": true, "
			   "\"sm_state\": \"master\", "
			   "\"engine\": {\"active\": true, \"used\": \"portmajor\"}}",
			   0, NULL);
	json_t *more = json_loads(members, 0, NULL);

	assert_non_null(more);
	assert_false(json_object_update(document, more));
	json_decref(more);
	return document;
}

#define END(guid, name, port)                                                            \
	"{\"guid\": \"" guid "\", \"name\": \"" name "\", \"port\": " #port "}"
#define LINK END("0x1", "leaf1", 20) ", " END("0x2", "s1", 3)
#define OTHER_LINK END("0x1", "leaf1", 21) ", " END("0x2", "s1", 4)
#define HOST_AT_LEAF9 END("0x77", "n17", 1) ", " END("0x19", "leaf9", 4)
#define MISSING(parts) "{\"missing\": {\"parts\": [" parts "]}}"
#define PART(kind, ends, more)                                                           \
	"{\"kind\": \"" kind "\", \"ends\": [" ends "], \"hosts\": 18" more "}"
#define CHANGED(kind, end, was)                                                          \
	"\"changed\": {\"list\": [{\"kind\": \"" kind "\", \"ends\": [" end "], "        \
	"\"was\": [" was "]}]}"
#define LEAF(n) PART("switch", END("0x1" #n, "leaf" #n, 0), "")
#define FLAP(state)                                                                      \
	"{\"flapping\": [{\"state\": \"" state                                           \
	"\", \"downs\": 4, \"hold_ms\": 60000, \"ends\": [" LINK "]}]}"
#define DRAIN(more)                                                                        \
	"{\"drained\": {\"list\": [{\"guid\": \"0x1\", \"name\": \"s0\", \"port\": 4" more \
	"}], \"error\": null}}"
#define FOLLOWED ", \"followed\": true"
#define UNSET(list) "{\"unset\": {\"list\": [" list "]}}"
#define UNSET_LEAF(blocks, different)                                                    \
	"{\"guid\": \"0x5\", \"name\": \"leaf5\", \"port\": 0, \"blocks\": " blocks      \
	", \"different\": " different "}"
#define MANAGERS(list) "{\"managers\": [" list "]}"
#define MANAGER(state)                                                                   \
	"{\"guid\": \"0x3\", \"name\": \"sm2\", \"sm_state\": \"" state                  \
	"\", \"priority\": 4}"
#define NO_DRAIN "{\"drained\": {\"list\": [], \"error\": null}}"

static const struct row {
	const char *name, *before, *now;
	const char *lines;
} rows[] = {
	{"nothing changed", MISSING(LEAF(9)), MISSING(LEAF(9)), ""},
	{"a switch is missing", MISSING(""), MISSING(LEAF(9)),
	 "warning missing leaf9 (18 hosts)|"},
	{"a link returned", MISSING(PART("link", LINK, "")), MISSING(""),
	 "notice returned leaf1[20]-s1[3]|"},
	{"a host with its name", MISSING(""),
	 MISSING(PART("host", END("0x1", "leaf1", 4), ", \"host\": \"n17\"")),
	 "warning missing host n17 at leaf1[4]|"},
	{"acknowledged", MISSING(LEAF(9)),
	 MISSING(PART("switch", END("0x19", "leaf9", 0), ", \"acknowledged\": true")),
	 "notice acknowledged leaf9 (18 hosts)|"},
	{"more than are named", MISSING(""),
	 MISSING(LEAF(1) ", " LEAF(2) ", " LEAF(3) ", " LEAF(4) ", " LEAF(5)),
	 "warning missing 5: leaf1 (18 hosts), leaf2 (18 hosts), leaf3 (18 hosts), "
	 "leaf4 (18 hosts), ..|"},
	{"its place is another cable's", MISSING(PART("link", LINK, "")),
	 "{\"missing\": {\"parts\": []}, " CHANGED("recabled", END("0x1", "leaf1", 20),
						   END("0x3", "s2", 3)) "}",
	 "notice recabled missing no more: leaf1[20]-s1[3]|"},
	{"another cable was moved", MISSING(PART("link", LINK, "")),
	 "{\"missing\": {\"parts\": []}, " CHANGED("recabled", END("0x1", "leaf1", 21),
						   END("0x3", "s2", 3)) "}",
	 "notice returned leaf1[20]-s1[3]|"},
	{"it was replaced", MISSING(PART("switch", END("0x1", "leaf1", 0), "")),
	 "{\"missing\": {\"parts\": []}, " CHANGED("replaced", END("0x8", "leaf1", 0),
						   END("0x1", "leaf1", 0)) "}",
	 "notice replaced missing no more: leaf1 (18 hosts)|"},
	{"a host was moved", MISSING(PART("host", HOST_AT_LEAF9, ", \"host\": \"n17\"")),
	 "{\"missing\": {\"parts\": []}, " CHANGED(
		 "moved", END("0x77", "n17", 1) ", " END("0x12", "leaf2", 4),
		 END("0x19", "leaf9", 4)) "}",
	 "notice moved missing no more: host n17 at leaf9[4]|"},
	{"one of two returned",
	 MISSING(PART("link", LINK, "") ", " PART("link", OTHER_LINK, "")),
	 "{\"missing\": {\"parts\": []}, " CHANGED("recabled", END("0x1", "leaf1", 20),
						   END("0x3", "s2", 3)) "}",
	 "notice returned leaf1[21]-s1[4]|"
	 "notice recabled missing no more: leaf1[20]-s1[3]|"},
	{"a switch beside a change returned",
	 MISSING(PART("switch", END("0x2", "s1", 0), "")),
	 "{\"missing\": {\"parts\": []}, " CHANGED("recabled", END("0x2", "s1", 3),
						   END("0x1", "leaf1", 20)) "}",
	 "notice returned s1 (18 hosts)|"},
	{"a switch is back before its hosts", MISSING(LEAF(9)),
	 MISSING(PART("host", END("0x77", "n17", 1) ", " END("0x19", "leaf9", 4),
		      ", \"host\": \"n17\"")),
	 "notice missing host n17 at leaf9[4] (still)|notice returned leaf9|"},
	{"a part that was drained before", MISSING(""),
	 MISSING(PART("link", LINK, ", \"drained\": true")),
	 "warning missing leaf1[20]-s1[3] (drained)|"},
	{"a host behind a switch that is missing", MISSING(LEAF(9)),
	 MISSING(LEAF(9) ", " PART("host",
				   END("0x77", "n17", 1) ", " END("0x19", "leaf9", 4),
				   ", \"host\": \"n17\"")),
	 "warning missing host n17 at leaf9[4]|"},
	{"a host flaps", "{\"flapping_hosts\": {\"list\": []}}",
	 "{\"flapping_hosts\": {\"list\": [{\"kind\": \"host\", \"host\": \"n17\", "
	 "\"downs\": 5, \"first\": 10, \"last\": 22, \"ends\": [" END("0x1", "leaf1",
								      4) "]}]}}",
	 "warning flapping host n17 at leaf1[4], down 5 times in 12 s|"},
	{"not known any more", MISSING(LEAF(9)), "{\"missing\": null}", ""},
	{"a drain", NO_DRAIN,
	 DRAIN(FOLLOWED ", \"by\": \"root\", \"reason\": \"optics\""),
	 "notice drained s0:4 by root: optics|"},
	{"a drain of what hosts need, which is named first", NO_DRAIN,
	 "{\"drained\": {\"error\": null, \"list\": [{\"guid\": \"0x1\", \"name\": \"s0\", "
	 "\"port\": 4, \"state\": \"out\"" FOLLOWED
	 "}, {\"guid\": \"0x2\", \"name\": \"s1\", \"port\": 0, \"by\": \"root\", "
	 "\"state\": \"needed\"" FOLLOWED "}]}}",
	 "notice drained s1 (needed) by root, s0:4|"},
	{"a drain that is not done", NO_DRAIN, DRAIN(""), ""},
	{"a drain that ends by itself", NO_DRAIN,
	 DRAIN(FOLLOWED ", \"until\": 86399, \"by\": \"pia\""),
	 "notice drained s0:4 until 1970-01-01 23:59:59 by pia|"},
	{"it is done", DRAIN(""), DRAIN(FOLLOWED), "notice drained s0:4|"},
	{"it is taken back before", DRAIN(""), NO_DRAIN, ""},
	{"no drain", DRAIN(FOLLOWED ", \"by\": \"root\""), NO_DRAIN,
	 "notice undrained s0:4|"},
	{"silent", UNSET(""), UNSET(UNSET_LEAF("2", "false")),
	 "warning unset leaf5 does not answer LFT Sets (2 blocks)|"},
	{"other content", UNSET(""), UNSET(UNSET_LEAF("1", "true")),
	 "warning unset leaf5 acknowledges LFT Sets with other content (1 block)|"},
	{"fewer blocks", UNSET(UNSET_LEAF("2", "false")), UNSET(UNSET_LEAF("1", "false")),
	 ""},
	{"set", UNSET(UNSET_LEAF("2", "false")), UNSET(""),
	 "notice set leaf5 has its table again|"},
	{"went down once", "{\"flapping\": []}", FLAP("noted"), ""},
	{"on hold", FLAP("noted"), FLAP("on-hold"),
	 "warning held leaf1[20]-s1[3] (4 times down, on hold for 60 s)|"},
	{"down while on hold", FLAP("on-hold"), FLAP("down"), ""},
	{"up and still on hold", FLAP("down"), FLAP("on-hold"), ""},
	{"watched again", FLAP("on-hold"), FLAP("watched"),
	 "notice released leaf1[20]-s1[3]|"},
	{"no master", "{\"no_master\": null}", "{\"no_master\": \"port down\"}",
	 "error master none: port down|"},
	{"a master again", "{\"no_master\": \"port down\"}", "{\"no_master\": null}",
	 "notice master there is one again|"},
	{"no master, and the end", "{\"no_master\": \"port down\"}",
	 "{\"no_master\": null, \"running\": false}", "notice opensm OpenSM has ended|"},
	{"another engine", "{}",
	 "{\"engine\": {\"active\": false, \"used\": \"minhop\", \"reason\": \"no tree\"}}",
	 "error engine OpenSM fell back to minhop: no tree|"},
	{"standby", "{}", "{\"sm_state\": \"standby\"}",
	 "notice opensm OpenSM is standby|"},
	{"ended", "{}", "{\"running\": false}", "notice opensm OpenSM has ended|"},
	{"a drain ends beside a change", DRAIN(FOLLOWED),
	 "{\"drained\": {\"list\": [], \"error\": null}, " CHANGED(
		 "recabled", END("0x1", "s0", 4), END("0x3", "s2", 3)) "}",
	 "notice undrained s0:4|"},
	{"another process", "{\"running\": false, \"no_master\": \"port down\"}",
	 "{\"pid\": 8, \"no_master\": null}",
	 "notice opensm OpenSM 3 started, pid 8, with portmajor 1|"
	 "notice opensm OpenSM is master|"},
	{"killed", "{}", "{\"pid\": 8}",
	 "warning opensm the last OpenSM (pid 7) was killed or has crashed|"
	 "notice opensm OpenSM 3 started, pid 8, with portmajor 1|"
	 "notice opensm OpenSM is master|"},
	{"a standby", "{}", MANAGERS(MANAGER("standby")),
	 "notice opensm port 0x3 (sm2) is standby, priority 4|"},
	{"the standby goes", MANAGERS(MANAGER("standby")), MANAGERS(""),
	 "warning opensm port 0x3 (sm2), a standby, has gone|"},
	{"the former master goes", MANAGERS(MANAGER("master")), MANAGERS(""),
	 "warning opensm port 0x3 (sm2), the former master, has gone|"},
	{"a master takes over",
	 "{\"sm_state\": \"standby\", \"managers\": [" MANAGER("master") "]}",
	 MANAGERS(MANAGER("former")), "notice opensm OpenSM is master|"},
	{"the former master has gone", MANAGERS(MANAGER("former")), MANAGERS(""),
	 "warning opensm port 0x3 (sm2), the former master, has gone|"},
	{"the former master is one still", MANAGERS(MANAGER("former")),
	 MANAGERS(MANAGER("master")),
	 "error master two masters of one fabric: the other is OpenSM of port 0x3 "
	 "(sm2)|"},
	{"the standby stays", MANAGERS(MANAGER("standby")), MANAGERS(MANAGER("standby")),
	 ""},
	{"two masters", MANAGERS(MANAGER("standby")), MANAGERS(MANAGER("master")),
	 "error master two masters of one fabric: the other is OpenSM of port 0x3 "
	 "(sm2)|"},
	{"another master", "{\"sm_state\": \"standby\"}",
	 "{\"sm_state\": \"standby\", \"managers\": [" MANAGER("master") "]}",
	 "notice opensm port 0x3 (sm2) is master, priority 4|"},
	{"a takeover by a standby",
	 "{\"sm_state\": \"standby\", \"managers\": [" MANAGER("master") "]}",
	 MANAGERS(""), "notice opensm OpenSM is master|"},
	{"rebalancing", "{}",
	 "{\"balance\": {\"rebalancing\": true, \"blocks_off\": 36}}",
	 "info balance rebalancing: 36 LFT blocks are not the plan's|"},
	{"rebalanced", "{\"balance\": {\"rebalancing\": true, \"blocks_off\": 36}}",
	 "{\"balance\": {\"rebalancing\": false, \"blocks_off\": 0}}",
	 "info balance rebalanced|"},
	{"rebalanced in part",
	 "{\"balance\": {\"rebalancing\": true, \"blocks_off\": 36}}",
	 "{\"balance\": {\"rebalancing\": false, \"blocks_off\": 1}}",
	 "warning balance ended early: 1 LFT block is not the plan's|"},
};

static void test_rows(void **state)
{
	for_each_row(row, rows) {
		struct pm_config config = {.event_syslog = false};
		struct events *events = events_start(&config);
		json_t *before = make(row->before), *now = make(row->now);
		struct pm_error err = {""};
		char lines[1024];

		print_message("%s\n", row->name);
		event_changes_note(events, before, now);
		assert_int_equal(events_write(events, path, &err), 0);
		read_lines(lines, sizeof(lines));
		assert_string_equal(lines, row->lines);
		json_decref(before);
		json_decref(now);
		events_stop(events);
	}
}

/* All that there is, is new. */
static void test_first(void **state)
{
	struct pm_config config = {.event_syslog = false};
	struct events *events = events_start(&config);
	json_t *now = make(MISSING(LEAF(9)));
	struct pm_error err = {""};
	char lines[1024];

	event_changes_note(events, NULL, now);
	assert_int_equal(events_write(events, path, &err), 0);
	read_lines(lines, sizeof(lines));
	assert_string_equal(lines,
			    "notice opensm OpenSM 3 started, pid 7, with portmajor 1|"
			    "notice opensm OpenSM is master|"
			    "notice engine portmajor routes|"
			    "warning missing leaf9 (18 hosts)|");
	json_decref(now);
	events_stop(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_first),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
