/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* JSON values and rows: each type of a member, texts that are not UTF-8, no memory. */
#include "unit.h"

#include <portmajor/json/rows.h>
#include <portmajor/json/values.h>

struct sample {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	int number;
	time_t time;
	double real;
	bool yes;
	const char *pointed, *none;
	char text[8];
};

#define SAMPLE(member) PM_JSON_ROW(struct sample, member)

static const struct pm_json_row sample_rows[] = {
	{"u8", SAMPLE(u8)},
	{"u16", SAMPLE(u16)},
	{"u32", SAMPLE(u32)},
	{"u64", SAMPLE(u64)},
	{"number", SAMPLE(number)},
	{"time", SAMPLE(time)},
	{"real", SAMPLE(real)},
	{"yes", SAMPLE(yes)},
	{"pointed", SAMPLE(pointed)},
	{"none", SAMPLE(none)},
	{"text", SAMPLE(text)},
	{"is_set", .type = PM_JSON_IS_SET, .offset = offsetof(struct sample, pointed)},
	{0},
};

static void check_dump(json_t *value, const char *expected)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_string_equal(text, expected);
	free(text);
	json_decref(value);
}

static void test_types(void **state)
{
	const struct sample sample = {255, 65535,      4294967295, 1ULL << 62,
				      -1,  1790000000, 1.5,	   true,
				      "x", NULL,       "text"};

	check_dump(pm_json_rows(sample_rows, &sample),
		   "{\"u8\":255,\"u16\":65535,\"u32\":4294967295,"
		   "\"u64\":4611686018427387904,\"number\":-1,\"time\":1790000000,"
		   "\"real\":1.5,\"yes\":true,\"pointed\":\"x\",\"none\":null,"
		   "\"text\":\"text\",\"is_set\":true}");
}

/*
 * Descriptions are read back; missing members, or those of another type, are left out.
 */
static void test_back(void **state)
{
	const struct sample sample = {255, 65535,      4294967295, 1ULL << 62,
				      -1,  1790000000, 1.5,	   true,
				      "x", NULL,       "text"};
	struct sample back = {.none = "before", .text = "before"};
	json_t *object = pm_json_rows(sample_rows, &sample);

	pm_json_rows_get(sample_rows, object, &back);
	assert_int_equal(back.u8, sample.u8);
	assert_int_equal(back.u16, sample.u16);
	assert_int_equal(back.u32, sample.u32);
	assert_int_equal(back.u64, sample.u64);
	assert_int_equal(back.number, sample.number);
	assert_int_equal(back.time, sample.time);
	assert_true(back.real == sample.real);
	assert_true(back.yes);
	assert_string_equal(back.pointed, "x");
	assert_null(back.none);
	assert_string_equal(back.text, "before");
	json_object_set_new(object, "u32", json_string("7"));
	json_object_set_new(object, "yes", json_integer(1));
	json_object_del(object, "time");
	json_object_set_new(object, "pointed", json_integer(1));
	pm_json_rows_get(sample_rows, object, &back);
	assert_int_equal(back.u32, 0);
	assert_false(back.yes);
	assert_int_equal(back.time, 0);
	assert_null(back.pointed);
	pm_json_rows_get(sample_rows, NULL, &back);
	assert_int_equal(back.u8, 0);
	json_decref(object);
}

/* Bytes that begin no character, or one that does not end, are replaced one by one. */
static void test_texts(void **state)
{
	check_dump(pm_json_text("s\xc3\xbc\xffx\xe2\x82"),
		   "\"s\xc3\xbc\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\"");
	check_dump(pm_json_text(NULL), "null");
	check_dump(pm_json_filled(""), "null");
	check_dump(pm_json_guid(0xabc), "\"0x0000000000000abc\"");
}

static void test_no_list(void **state)
{
	assert_null(pm_json_append(NULL, json_true()));
	assert_null(pm_json_append(json_array(), NULL));
	assert_null(pm_json_object((const struct pm_json_member[]){{"a", NULL}, {0}}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
