# SPDX-License-Identifier: Apache-2.0
"""Judge YAML files by a JSON Schema: one line `FILE: REASON` for each that it refuses.

usage: schema_check.py SCHEMA FILE...      exit status 3: a Python package is missing
"""
import json
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: the Python package {missing.name} is not installed", file=sys.stderr)
    sys.exit(3)


def reason(validator, path):
    """What YAML or the schema says against the file first, or None."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = yaml.safe_load(file)
        error = jsonschema.exceptions.best_match(validator.iter_errors(tree))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as failure:
        return str(failure).splitlines()[0]
    if error is None:
        return None
    return f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for path in sys.argv[2:]:
        why = reason(validator, path)
        if why is not None:
            print(f"{path}: {why}")


main()
