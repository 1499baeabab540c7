/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Notes about phases, repairs and balance, in the document and as metrics. */
#include "unit.h"

#include "io/activity.h"

#define PORT "0x0000000000000001"

static struct activity activity = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The document, with JSON's members as they are read; the caller frees it. */
static json_t *describe(void)
{
	json_t *document = json_pack("{s:n, s:n, s:n, s:{s:i}}", "phase", "balance",
				     "repairs_by_phase", "since_start", "runs", 3);

	assert_non_null(document);
	assert_int_equal(activity_describe(&activity, document), 0);
	return document;
}

static void check(const json_t *document, const char *wanted)
{
	char *text =
		json_dumps(document, JSON_COMPACT | JSON_PRESERVE_ORDER |
					     JSON_REAL_PRECISION(6) | JSON_ENCODE_ANY);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

/* All metrics; the caller frees the text. */
static char *print(const json_t *document)
{
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	activity_print_metrics(out, document, "port_guid=\"" PORT "\"");
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_nothing_known(void **state)
{
	json_t *document = describe();
	char *text = print(document);

	assert_true(json_is_null(json_object_get(document, "phase")));
	assert_true(json_is_null(json_object_get(document, "balance")));
	check(json_object_get(document, "since_start"),
	      "{\"runs\":3,\"traps_dropped\":0,\"multicast_sent\":0,"
	      "\"multicast_acked\":0,\"multicast_bound\":0}");
	assert_true(json_is_null(json_object_get(document, "multicast")));
	assert_null(strstr(text, "portmajor_phase{"));
	assert_non_null(strstr(text, "portmajor_phase_repairs_total{port_guid=\"" PORT
				     "\",phase=\"links\"} 0\n"));
	free(text);
	json_decref(document);
}

/* Metrics of the document in test_noted. */
static void check_metrics(const json_t *document)
{
	char *text = print(document);

	assert_non_null(strstr(text, "portmajor_phase{port_guid=\"" PORT
				     "\",phase=\"routing\"} 1\n"));
	assert_non_null(strstr(text, ",phase=\"idle\"} 0\n"));
	assert_non_null(strstr(text, "# TYPE portmajor_phase_repairs_total counter\n"));
	assert_non_null(strstr(text,
			       "portmajor_phase_first_set_seconds_total{port_guid=\"" PORT
			       "\",phase=\"discovery\"} 0.006000\n"));
	assert_non_null(strstr(text,
			       "portmajor_phase_repairs_sent_total{port_guid=\"" PORT
			       "\",phase=\"discovery\"} 2\n"));
	free(text);
}

static void test_noted(void **state)
{
	static const struct state_repair_time times[] = {
		{PHASE_DISCOVERY, 4.5, 10.0},
		{PHASE_DISCOVERY, 1.5, 12.0},
		{PHASE_DISCOVERY, -1.0, 99.0}, /* no block was sent */
		{PHASE_LINKS, 0.0, 0.5},
	};
	static const struct state_balance balance = {5000000000, 200, 7, true, 150};
	const time_t before = time(NULL);
	json_t *document, *repairs, *change;

	for_each_row(row, times)
		activity_note_repair(&activity, row);
	activity_note_balance(&activity, &balance);
	activity_note_traps_dropped(&activity, 2);
	activity_note_traps_dropped(&activity, 3);
	activity_note_multicast(&activity,
				&(struct state_multicast){
					.left = "x", .sent = 2, .acked = 1, .bound = 2});
	activity_note_multicast(
		&activity,
		&(struct state_multicast){NULL, 1, 1, 1, 1, true, 10, 8, 9, 2, 1.5});
	activity_note_multicast(
		&activity,
		&(struct state_multicast){NULL, 7, 6, 5, 4, true, 0, 0, 0, 0, 9});
	activity_note_phase(&activity, PHASE_IDLE);
	activity_note_phase(&activity, PHASE_ROUTING);
	document = describe();
	repairs = json_object_get(document, "repairs_by_phase");
	check(json_object_get(document, "phase"), "\"routing\"");
	check(json_object_get(document, "balance"),
	      "{\"entries_off\":5000000000,\"blocks_off\":200,\"switches_off\":7,"
	      "\"rebalancing\":true,\"blocks_left\":150}");
	check(json_object_get(document, "since_start"),
	      "{\"runs\":3,\"traps_dropped\":5,\"multicast_sent\":12,"
	      "\"multicast_acked\":9,\"multicast_bound\":11}");
	change = json_object_get(json_object_get(document, "multicast"), "last_change");
	assert_in_range(json_integer_value(json_object_get(change, "time")),
			(uintmax_t)before, (uintmax_t)time(NULL));
	json_object_del(change, "time");
	check(json_object_get(document, "multicast"),
	      "{\"left_to_opensm\":null,\"groups\":7,\"trees\":6,\"down_and_up\":5,"
	      "\"members_left_out\":4,\"incomplete\":true,\"last_change\":{\"sent\":10,"
	      "\"acked\":8,\"bound\":9,\"ordered\":2,\"milliseconds\":1.5}}");
	assert_int_equal(json_object_size(repairs), PHASES);
	check(json_object_get(repairs, "discovery"),
	      "{\"repairs\":3,\"sent\":2,\"first_set_ms\":6.0,\"first_set_ms_max\":4.5,"
	      "\"last_answer_ms\":22.0,\"last_answer_ms_max\":12.0}");
	check(json_object_get(repairs, "links"),
	      "{\"repairs\":1,\"sent\":1,\"first_set_ms\":0.0,\"first_set_ms_max\":0.0,"
	      "\"last_answer_ms\":0.5,\"last_answer_ms_max\":0.5}");
	check_metrics(document);
	json_decref(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
