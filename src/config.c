/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1 << 20)

static int set_lid_order(struct pm_config *config, const char *value)
{
	return pm_lid_order_parse(value, &config->lid_order);
}

static int set_migrate(struct pm_config *config, const char *value)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return -EINVAL;
	config->migrate = !strcmp(value, "yes");
	return 0;
}

static const struct {
	const char *name;
	int (*set)(struct pm_config *config, const char *value);
	const char *values;
} keys[] = {
	{"lid_order", set_lid_order, "grouped, leaf-major or port-major"},
	{"migrate", set_migrate, "yes or no"},
};

#define NUM_KEYS (sizeof(keys) / sizeof(*keys))

void pm_config_init(struct pm_config *config)
{
	*config = (struct pm_config){.lid_order = PM_GROUPED};
}

static int set_key(struct pm_config *config, const char *key, const char *value,
		   unsigned int *given, const char *source, unsigned int line,
		   struct pm_error *err)
{
	for (size_t i = 0; i < NUM_KEYS; i++) {
		if (strcmp(key, keys[i].name))
			continue;
		if (given[i])
			return pm_error_set(err, -EINVAL,
					    "%s:%u: %s was given in line %u "
					    "already",
					    source, line, key, given[i]);
		given[i] = line;
		if (!value || keys[i].set(config, value))
			return pm_error_set(
				err, -EINVAL, "%s:%u: %s must be %s, not \"%s\"", source,
				line, key, keys[i].values, value ? value : "");
		return 0;
	}
	return pm_error_set(err, -EINVAL, "%s:%u: unknown key \"%s\"", source, line, key);
}

static int parse_line(char *text, struct pm_config *config, unsigned int *given,
		      const char *source, unsigned int line, struct pm_error *err)
{
	static const char blanks[] = " \t\r";
	char *rest = NULL, *key, *value, *more;

	text[strcspn(text, "#")] = '\0';
	key = strtok_r(text, blanks, &rest);
	if (!key)
		return 0;
	value = strtok_r(NULL, blanks, &rest);
	more = strtok_r(NULL, blanks, &rest);
	if (more)
		return pm_error_set(err, -EINVAL, "%s:%u: \"%s\" behind the value of %s",
				    source, line, more, key);
	return set_key(config, key, value, given, source, line, err);
}

int pm_config_parse(const char *text, const char *source, struct pm_config *config,
		    struct pm_error *err)
{
	unsigned int given[NUM_KEYS] = {0}, line = 0;
	struct pm_config result;
	char *copy = strdup(text), *rest = copy, *item;
	int rc = 0;

	if (!copy)
		return pm_error_set(err, -ENOMEM, "out of memory");
	pm_config_init(&result);
	while (!rc && (item = strsep(&rest, "\n")))
		rc = parse_line(item, &result, given, source, ++line, err);
	free(copy);
	if (!rc)
		*config = result;
	return rc;
}

int pm_config_read(const char *path, struct pm_config *config, struct pm_error *err)
{
	FILE *file = fopen(path, "r");
	char *text;
	size_t length;
	int rc;

	if (!file)
		return pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	text = malloc(MAX_FILE + 1);
	if (!text) {
		fclose(file);
		return pm_error_set(err, -ENOMEM, "out of memory");
	}
	errno = 0;
	length = fread(text, 1, MAX_FILE + 1, file);
	if (ferror(file))
		rc = pm_error_set(err, errno ? -errno : -EIO, "%s: %s", path,
				  strerror(errno));
	else if (length > MAX_FILE)
		rc = pm_error_set(err, -EFBIG, "%s: longer than 1 MiB", path);
	else if (memchr(text, '\0', length))
		rc = pm_error_set(err, -EINVAL, "%s: not a text file", path);
	else {
		text[length] = '\0';
		rc = pm_config_parse(text, path, config, err);
	}
	free(text);
	fclose(file);
	return rc;
}
