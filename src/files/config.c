/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads portmajor.conf. */
#include <portmajor/base/lexer.h>
#include <portmajor/base/nearest.h>
#include <portmajor/base/textfile.h>
#include <portmajor/base/trusted.h>
#include <portmajor/files/config.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1 << 20)
#define MAX_SECONDS 86400

static int set_lid_order(struct pm_config *config, const char *value)
{
	return pm_lid_order_parse(value, &config->lid_order);
}

static int set_flag(const char *value, bool *flag)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return -EINVAL;
	*flag = !strcmp(value, "yes");
	return 0;
}

/* Reads digits only: no sign, blanks or unit. */
static int set_number(const char *value, uint32_t low, uint32_t high, uint32_t *number)
{
	size_t digits = strspn(value, "0123456789");
	unsigned long parsed;

	if (!digits || digits > 9 || value[digits])
		return -EINVAL;
	parsed = strtoul(value, NULL, 10);
	if (parsed < low || parsed > high)
		return -EINVAL;
	*number = (uint32_t)parsed;
	return 0;
}

static int set_seconds(const char *value, uint32_t *ms)
{
	uint32_t seconds;

	if (set_number(value, 1, MAX_SECONDS, &seconds))
		return -EINVAL;
	*ms = seconds * 1000;
	return 0;
}

static int set_migrate(struct pm_config *config, const char *value)
{
	return set_flag(value, &config->migrate);
}

static int set_flap_limit(struct pm_config *config, const char *value)
{
	return set_number(value, 0, PM_DAMPING_LIMIT_MAX, &config->flap.limit);
}

static int set_flap_window(struct pm_config *config, const char *value)
{
	return set_seconds(value, &config->flap.window_ms);
}

static int set_flap_hold(struct pm_config *config, const char *value)
{
	return set_seconds(value, &config->flap.hold_ms);
}

static int set_flap_hold_max(struct pm_config *config, const char *value)
{
	return set_seconds(value, &config->flap.hold_max_ms);
}

static int set_early_repair(struct pm_config *config, const char *value)
{
	return set_flag(value, &config->early_repair);
}

static int set_throttle_sweeps(struct pm_config *config, const char *value)
{
	return set_flag(value, &config->throttle_sweeps);
}

static int set_early_repair_budget(struct pm_config *config, const char *value)
{
	return set_number(value, 1, 10000, &config->early_repair_budget_ms);
}

static int set_rebalance(struct pm_config *config, const char *value)
{
	if (strcmp(value, "auto") && strcmp(value, "request"))
		return -EINVAL;
	config->rebalance_auto = !strcmp(value, "auto");
	return 0;
}

static int set_rebalance_rate(struct pm_config *config, const char *value)
{
	return set_number(value, 1, PM_REBALANCE_RATE_MAX, &config->rebalance_rate);
}

static int set_shadow(struct pm_config *config, const char *value)
{
	return set_flag(value, &config->shadow);
}

/* A path must be absolute, as the OpenSM daemon runs in another folder. */
static int set_path(const char *value, char path[PM_CONFIG_PATH])
{
	size_t length = strlen(value);

	if (value[0] != '/' || value[length - 1] == '/' || length >= PM_CONFIG_PATH)
		return -EINVAL;
	memcpy(path, value, length + 1);
	return 0;
}

static int set_prometheus(struct pm_config *config, const char *value)
{
	return set_path(value, config->prometheus);
}

static int set_event_syslog(struct pm_config *config, const char *value)
{
	return set_flag(value, &config->event_syslog);
}

static int set_event_command(struct pm_config *config, const char *value)
{
	return set_path(value, config->event_command);
}

static int set_event_command_severity(struct pm_config *config, const char *value)
{
	return pm_event_severity_parse(value, &config->event_command_severity);
}

static int set_event_command_kinds(struct pm_config *config, const char *value)
{
	return pm_event_kinds_parse(value, &config->event_command_kinds);
}

static int set_port_error_limit(struct pm_config *config, const char *value)
{
	return set_number(value, 0, PM_PORT_ERROR_LIMIT_MAX, &config->port_error_limit);
}

#define TEXT_OF_(number) #number
#define TEXT_OF(number) TEXT_OF_(number)
#define A_FLAG "yes or no"
#define SECONDS "1 to " TEXT_OF(MAX_SECONDS) " seconds"

#define FIELD(member)                                                                    \
	offsetof(struct pm_config, member), sizeof(((struct pm_config *)NULL)->member)

static const struct {
	const char *name;
	int (*set)(struct pm_config *config, const char *value);
	const char *values;
	size_t offset, size; /* of the value */
	enum pm_config_kind kind;
} keys[] = {
	{"lid_order", set_lid_order, "grouped, leaf-major or port-major",
	 FIELD(lid_order), PM_CONFIG_RESTART},
	{"migrate", set_migrate, A_FLAG, FIELD(migrate), PM_CONFIG_RESTART},
	{"flap_limit", set_flap_limit, "0 to " TEXT_OF(PM_DAMPING_LIMIT_MAX),
	 FIELD(flap.limit), PM_CONFIG_LIVE},
	{"flap_window", set_flap_window, SECONDS, FIELD(flap.window_ms), PM_CONFIG_LIVE},
	{"flap_hold", set_flap_hold, SECONDS, FIELD(flap.hold_ms), PM_CONFIG_LIVE},
	{"flap_hold_max", set_flap_hold_max, SECONDS, FIELD(flap.hold_max_ms),
	 PM_CONFIG_LIVE},
	{"early_repair", set_early_repair, A_FLAG, FIELD(early_repair), PM_CONFIG_LIVE},
	{"throttle_sweeps", set_throttle_sweeps, A_FLAG, FIELD(throttle_sweeps),
	 PM_CONFIG_LIVE},
	{"early_repair_budget", set_early_repair_budget, "1 to 10000 milliseconds",
	 FIELD(early_repair_budget_ms), PM_CONFIG_LIVE},
	{"rebalance", set_rebalance, "auto or request", FIELD(rebalance_auto),
	 PM_CONFIG_LIVE},
	{"rebalance_rate", set_rebalance_rate,
	 "1 to " TEXT_OF(PM_REBALANCE_RATE_MAX) " blocks per second",
	 FIELD(rebalance_rate), PM_CONFIG_LIVE},
	{"shadow", set_shadow, A_FLAG, FIELD(shadow), PM_CONFIG_RESTART},
	{"prometheus", set_prometheus, "the absolute path of a file or folder",
	 FIELD(prometheus), PM_CONFIG_RESTART},
	{"event_syslog", set_event_syslog, A_FLAG, FIELD(event_syslog), PM_CONFIG_LIVE},
	{"event_command", set_event_command, "the absolute path of a program",
	 FIELD(event_command), PM_CONFIG_LIVE},
	{"event_command_severity", set_event_command_severity,
	 "error, warning, notice or info", FIELD(event_command_severity), PM_CONFIG_LIVE},
	{"event_command_kinds", set_event_command_kinds,
	 "kinds of portmajor-events(1), separated by commas", FIELD(event_command_kinds),
	 PM_CONFIG_LIVE},
	{"port_error_limit", set_port_error_limit,
	 "0 to " TEXT_OF(PM_PORT_ERROR_LIMIT_MAX) " errors", FIELD(port_error_limit),
	 PM_CONFIG_LIVE},
};

#define NUM_KEYS (sizeof(keys) / sizeof(*keys))

void pm_config_init(struct pm_config *config)
{
	*config = (struct pm_config){
		.lid_order = PM_GROUPED,
		.flap = {.limit = 3,
			 .window_ms = 60 * 1000,
			 .hold_ms = 60 * 1000,
			 .hold_max_ms = 3600 * 1000},
		.early_repair = true,
		.throttle_sweeps = true,
		.early_repair_budget_ms = 200,
		.rebalance_auto = true,
		.rebalance_rate = 1000,
		.event_syslog = true,
		.event_command_severity = EVENT_INFO,
		.port_error_limit = 10,
	};
}

static int fail_unknown(const struct pm_lexer *lexer, struct pm_text key)
{
	char name[64], hint[PM_NEAREST_HINT];
	struct pm_nearest nearest = {0};

	snprintf(name, sizeof(name), "%.*s", (int)pm_text_length(key), key.at);
	for (size_t i = 0; i < NUM_KEYS; i++)
		pm_nearest_offer(&nearest, name, keys[i].name);
	return pm_lexer_fail(lexer, "unknown key \"%.*s\"%s", PM_SHOWN(key),
			     pm_nearest_hint(&nearest, hint));
}

static int set_key(const struct pm_lexer *lexer, struct pm_text key, struct pm_text value,
		   struct pm_config *config, unsigned int *given)
{
	char string[PM_CONFIG_PATH + 1];

	for (size_t i = 0; i < NUM_KEYS; i++) {
		if (!pm_text_is(key, keys[i].name))
			continue;
		if (given[i])
			return pm_lexer_fail(lexer, "%s was given in line %u already",
					     keys[i].name, given[i]);
		given[i] = lexer->line;
		snprintf(string, sizeof(string), "%.*s", (int)pm_text_length(value),
			 value.at);
		if (!*string || keys[i].set(config, string))
			return pm_lexer_fail(lexer, "%s must be %s, not \"%s\"",
					     keys[i].name, keys[i].values, string);
		return 0;
	}
	return fail_unknown(lexer, key);
}

/* Adds a role's rule, which has several words; a file may have several rules. */
static int add_role(const struct pm_lexer *lexer, struct pm_text rule,
		    struct pm_config *config)
{
	const char *wrong = pm_role_rules_add(&config->roles, rule);

	return wrong ? pm_lexer_fail(lexer,
				     "role must be compute|io|service|aggregation "
				     "guid|device|name VALUE, not \"%.*s\": %s",
				     PM_SHOWN(rule), wrong)
		     : 0;
}

static int parse_setting(const struct pm_lexer *lexer, struct pm_text line,
			 struct pm_config *config, unsigned int *given)
{
	struct pm_text rest = pm_text_before(line, '#'), key, value, more;

	if (!pm_text_take_word(&rest, &key))
		return 0;
	if (pm_text_is(key, "role"))
		return add_role(lexer, rest, config);
	pm_text_take_word(&rest, &value);
	if (pm_text_take_word(&rest, &more))
		return pm_lexer_fail(lexer, "\"%.*s\" behind the value of %.*s",
				     PM_SHOWN(more), PM_SHOWN(key));
	return set_key(lexer, key, value, config, given);
}

/* Whether a line requests shadow mode, whatever else is wrong with the text. */
static bool requests_shadow(const char *text)
{
	struct pm_lexer lexer = pm_lexer_begin(text, strlen(text), "", -EINVAL, NULL);
	struct pm_config scratch = {.shadow = false};
	struct pm_text line;

	while (pm_lexer_next(&lexer, &line)) {
		unsigned int given[NUM_KEYS] = {0};

		parse_setting(&lexer, line, &scratch, given);
	}
	return scratch.shadow;
}

static int check_together(const struct pm_config *config, const char *source,
			  struct pm_error *err)
{
	if (config->flap.hold_max_ms >= config->flap.hold_ms)
		return 0;
	return pm_error_set(err, -EINVAL, "%s: flap_hold_max, %u, is below flap_hold, %u",
			    source, config->flap.hold_max_ms / 1000,
			    config->flap.hold_ms / 1000);
}

int pm_config_parse(const char *text, const char *source, struct pm_config *config,
		    struct pm_error *err)
{
	struct pm_lexer lexer = pm_lexer_begin(text, strlen(text), source, -EINVAL, err);
	unsigned int given[NUM_KEYS] = {0};
	struct pm_config result;
	struct pm_text line;
	int rc = 0;

	pm_config_init(&result);
	while (!rc && pm_lexer_next(&lexer, &line))
		rc = parse_setting(&lexer, line, &result, given);
	if (!rc)
		rc = check_together(&result, source, err);
	if (!rc)
		*config = result;
	else
		config->shadow = requests_shadow(text);
	return rc;
}

int pm_config_read(const char *path, struct pm_config *config, struct pm_error *err)
{
	char *text = NULL;
	int rc = pm_textfile_read_string(path, MAX_FILE, &text, err);

	if (!rc)
		rc = pm_config_parse(text, path, config, err);
	free(text);
	return rc;
}

int pm_config_read_trusted(const char *path, struct pm_config *config,
			   struct pm_error *err)
{
	int rc = pm_trusted_linked_file(path, err);

	return rc ? rc : pm_config_read(path, config, err);
}

static void add_name(const char *name, char names[PM_CONFIG_KEYS])
{
	size_t length = strlen(names);

	snprintf(names + length, PM_CONFIG_KEYS - length, "%s%s", length ? ", " : "",
		 name);
}

bool pm_config_compare(const struct pm_config *before, const struct pm_config *now,
		       enum pm_config_kind kind, char names[PM_CONFIG_KEYS])
{
	names[0] = '\0';
	for (size_t i = 0; i < NUM_KEYS; i++)
		if (keys[i].kind == kind &&
		    memcmp((const char *)before + keys[i].offset,
			   (const char *)now + keys[i].offset, keys[i].size) != 0)
			add_name(keys[i].name, names);
	if (kind == PM_CONFIG_LIVE && !pm_role_rules_equal(&before->roles, &now->roles))
		add_name("role", names);
	return names[0];
}

void pm_config_take_live(struct pm_config *config, const struct pm_config *now)
{
	for (size_t i = 0; i < NUM_KEYS; i++)
		if (keys[i].kind == PM_CONFIG_LIVE)
			memcpy((char *)config + keys[i].offset,
			       (const char *)now + keys[i].offset, keys[i].size);
	config->roles = now->roles;
}
