# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Errors that every part of the report may find."""


class InputError(Exception):
    """A file or command that cannot be used; the text has the reason."""


def describe(documents, describe_one):
    """Describes each; those that are not as documented are bad input."""
    try:
        return [describe_one(document) for document in documents]
    except (LookupError, TypeError, AttributeError, ValueError, OSError) as error:
        raise InputError(f"JSON of {documents[0]['schema']}: not as docs/json.md has it: "
                         f"{error!r}") from error
