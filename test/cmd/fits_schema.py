# SPDX-License-Identifier: BSD-3-Clause
"""fits_schema SCHEMA FILE...: does JSON fit a JSON Schema? Of that as much as ours say; a word that
is not known here is an error, and so is a key that a schema does not have: ours tell all of them."""
import json
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "examples", "type", "properties", "required",
         "items", "enum", "const", "minimum"}


def is_a(value, name):
    return isinstance(value, TYPES[name]) and not (name == "integer" and isinstance(value, bool))


def check(value, schema, top, where):
    if "$ref" in schema:
        schema = top["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    for word in schema.keys() - KNOWN:
        yield f"schema: {word} is not known"
    names = schema.get("type", list(TYPES))
    if not any(is_a(value, name) for name in ([names] if isinstance(names, str) else names)):
        yield f"{where}: {value!r} is no {names}"
        return
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{where}: {value!r} is not among {schema.get('enum', schema.get('const'))}"
    if "examples" in schema and value not in schema["examples"]:
        yield f"{where}: {value!r} is none of the words {schema['examples']}"
    if is_a(value, "integer") and value < schema.get("minimum", value):
        yield f"{where}: {value} is below {schema['minimum']}"
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where}: {key} is missing"
        for key, item in value.items():
            if key in schema["properties"]:
                yield from check(item, schema["properties"][key], top, f"{where}.{key}")
            else:
                yield f"{where}: {key} is not in the schema"
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from check(item, schema["items"], top, f"{where}[{i}]")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    bad = 0
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as file:
            for sentence in check(json.load(file), schema, schema, name.rsplit("/", 1)[-1]):
                print(sentence)
                bad += 1
    sys.exit(bad > 0)


main()
