/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Failovers to the next engine, and failbacks, as series of text; then their highest
 * number, on drawn series. PM_SEED and PM_ROUNDS are as in test_properties.c.
 */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/policy/failback.h>

#define FIRST_MS 60000
#define LONGEST_MS 3600000

static const struct pm_reachable all = {.connected = 100, .pairs = 100},
				 most = {.connected = 100, .pairs = 75},
				 some = {.connected = 100, .pairs = 60},
				 half = {.connected = 100, .pairs = 50},
				 few = {.connected = 100, .pairs = 49},
				 doubtful = {.connected = 49, .pairs = 24},
				 tiny = {.connected = 20, .pairs = 20};

static const struct pm_reachable *reachable_of(char letter)
{
	switch (letter) {
	case 'a':
		return &all;
	case 'm':
		return &most;
	case 's':
		return &some;
	case 'h':
		return &half;
	case 'b':
		return &doubtful;
	case 't':
		return &tiny;
	default:
		return &few;
	}
}

/*
 * SECONDSx: the reachable share by then, x a(ll), m(ost: 75%), s(ome: 60%), h(alf) or
 * f(ew); a + follows if portmajor routes from then on, a - if the next engine does,
 * then =N, the seconds until portmajor does, if it will. c: the hold is cleared; l:
 * holds last 1 to 2 s from then on.
 */
static const struct {
	const char *name, *series;
} series[] = {
	{"a tree with holes", "0a+ 1m+ 2s+ 3h+ 4s+"},
	{"at the low mark", "0h+ 1f- 2h- 3s-"},
	{"at the high mark", "0f- 1s- 2m-=60 61m-=1 62m+"},
	{"back after the hold", "0a+ 10f- 20a-=60 79a-=1 80a+ 81h+"},
	{"a hold is without a break", "0f- 10a-=60 60s- 70a-=60 129m-=1 130a+"},
	{"worse and better on hold", "0f- 10a-=60 20f- 21a-=60 81a+"},
	{"twice", "0f- 10a-=60 70a+ 71f- 80a-=120 200a+"},
	{"longer and longer",
	 "0f- 0a-=60 60a+ 60f- 60a-=120 180a+ 180f- 180a-=240 420a+ 420f- 420a-=480 900a+ "
	 "900f- 900a-=960 1860a+ 1860f- 1860a-=1920 3780a+ 3780f- 3780a-=3600 7380a+ "
	 "7380f- 7380a-=3600"},
	{"just not forgotten", "0f- 10a-=60 70a+ 3669f- 3669a-=120"},
	{"forgotten", "0f- 10a-=60 70a+ 3670f- 3670a-=60"},
	{"long away is not forgotten", "0f- 9999a-=60 10059a+ 10060f- 10060a-=120"},
	{"cleared", "0f- 10a-=60 20c 20a+ 21f- 21a-=60"},
	{"shorter times", "0f- 10a-=60 11l 12a+ 13f- 13a-=2"},
	{"cleared too early", "0f- 10c 11f- 12s- 13a+"},
	{"nothing is joined", "0f- 10n-=60 70n+ 71a+"},
	{"few are joined at first", "0b-"},
	{"few are joined for a while", "0a+ 1b+=60 31b+=30 60b+=1 61a+ 62b+=60"},
	{"few are joined for good",
	 "0a+ 1b+=60 61b- 62a-=60 122a+ 123b+=60 182b+=1 183b- 184a-=120"},
	{"few are served of half", "0a+ 1b+=60 2f-"},
	{"as few as before", "0a+ 1b+=60 2t+ 3b+=60 63b-"},
};

static void check_step(const struct pm_failback *failback, uint64_t next_ms,
		       const char *name, const char *token)
{
	const char *wanted = token + strspn(token, "0123456789") + 1;
	char text[40] = "+";

	if (failback->failed_over)
		snprintf(text, sizeof(text), "-");
	if (next_ms != UINT64_MAX)
		snprintf(text + 1, sizeof(text) - 1, "=%u",
			 (unsigned int)(next_ms / 1000));
	if (strcmp(text, wanted) != 0)
		fail_msg("%s: %s, not %s", name, token, text);
}

static void test_series(void **state)
{
	static const struct pm_reachable none = {.connected = 0};

	for_each_row(row, series) {
		char *copy = strdup(row->series), *rest = copy, *token;
		struct pm_failback failback;

		pm_failback_init(&failback, FIRST_MS, LONGEST_MS);
		while ((token = strsep(&rest, " "))) {
			char *what;
			uint64_t at = 1000 * strtoull(token, &what, 10);

			if (*what == 'c')
				pm_failback_clear(&failback);
			else if (*what == 'l')
				pm_failback_set_holds(&failback, 1000, 2000);
			else
				check_step(&failback,
					   pm_failback_observe(
						   &failback,
						   *what == 'n' ? &none
								: reachable_of(*what),
						   at),
					   row->name, token);
		}
		free(copy);
	}
}

/* A caller that observes each change, and at each requested time. */
struct watch {
	struct pm_failback failback;
	const struct pm_reachable *reachable;
	uint64_t now, next; /* ms; when to look without a change */
	uint32_t given;	    /* failovers */
	uint64_t at[64];    /* when, the first ones */
};

static void look(struct watch *w)
{
	bool failed_over = w->failback.failed_over;
	uint64_t left = pm_failback_observe(&w->failback, w->reachable, w->now);

	w->next = left == UINT64_MAX ? left : w->now + left;
	if (!failed_over && w->failback.failed_over) {
		if (w->given < LENGTH(w->at))
			w->at[w->given] = w->now;
		w->given++;
	}
}

static void stay(struct watch *w, const struct pm_reachable *reachable, uint64_t ms)
{
	uint64_t end = w->now + ms;

	w->reachable = reachable;
	look(w);
	while (w->next < end) {
		w->now = w->next;
		look(w);
		/* Its observation was requested for a reason. */
		assert_false(w->failback.failed_over);
	}
	w->now = end;
}

/* A cable that flaps 20 times across the thresholds: the number of failovers. */
static void test_flaps(void **state)
{
	static const struct {
		const char *name;
		uint32_t down_s, up_s, given;
		bool back; /* in the end */
	} rows[] = {
		{"one a second", 1, 1, 1, true},
		{"up for almost a hold", 1, 59, 1, true},
		{"up for a hold", 1, 60, 1, true},
		{"up for more than a hold", 1, 61, 2, true},
		{"up for two minutes", 600, 121, 3, true},
		{"up for a quarter of an hour", 5, 900, 5, true},
		{"up for an hour", 5, 3600, 7, true},
		{"up for two hours", 5, 7260, 20, true},
	};

	for_each_row(row, rows) {
		struct watch w = {.now = 5};

		pm_failback_init(&w.failback, FIRST_MS, LONGEST_MS);
		stay(&w, &all, 1000);
		for (int flap = 0; flap < 20; flap++) {
			stay(&w, &few, 1000u * row->down_s);
			stay(&w, &all, 1000u * row->up_s);
		}
		stay(&w, &all, LONGEST_MS);
		stay(&w, &all, 1);
		if (w.given != row->given || w.failback.failed_over == row->back)
			fail_msg("%s: given away %u times", row->name, w.given);
	}
}

/* Whatever happens, no more than six failovers within any hour. */
static void test_bound(void **state)
{
	static const char letters[] = "amshfff";
	uint64_t seed = from_environment("PM_SEED", 1),
		 rounds = from_environment("PM_ROUNDS", 300);
	uint32_t most_in_an_hour = 0;

	for (uint64_t end = seed + rounds; seed < end; seed++) {
		struct random random = {seed};
		uint32_t longest = random_range(&random, 1, 400);
		struct watch w = {.now = 0};

		pm_failback_init(&w.failback, FIRST_MS, LONGEST_MS);
		while (w.given < LENGTH(w.at) && w.now < 1000u * 86400) {
			char letter = letters[random_below(&random, sizeof(letters) - 1)];

			/* The worst case is a failure right after a failback. */
			if (w.failback.failed_over && random_chance(&random, 60))
				stay(&w, &all, w.failback.hold_ms + 1);
			else
				stay(&w, reachable_of(letter),
				     1000u * random_range(&random, 0, longest));
		}
		for (uint32_t i = 0; i < w.given && i < LENGTH(w.at); i++) {
			uint32_t count = 0;

			for (uint32_t k = i; k < w.given && k < LENGTH(w.at); k++)
				count += w.at[k] - w.at[i] < LONGEST_MS;
			if (count > most_in_an_hour)
				most_in_an_hour = count;
			if (count > 6)
				fail_msg("seed %llu: %u times in an hour",
					 (unsigned long long)seed, count);
		}
	}
	print_message("given away at most %u times in an hour\n", most_in_an_hour);
	if (rounds >= 300)
		assert_int_equal(most_in_an_hour, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_flaps),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
