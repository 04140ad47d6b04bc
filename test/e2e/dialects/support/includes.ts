/** Partial comparison: a value must have the expected members and may have more. */
import assert from "node:assert/strict";

/**
 * Each member of an expected object is looked up; `undefined` requires its absence. Lists have equal length; a pattern
 * requires a text, and a function decides by itself.
 */
export function assertIncludes(actual: unknown, expected: unknown, at = "$"): void {
  if (typeof expected === "function") {
    expected(actual);
  } else if (expected instanceof RegExp) {
    assert.equal(typeof actual, "string", `${at} is a text`);
    assert.match(String(actual), expected, at);
  } else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${at} is a list, and not ${JSON.stringify(actual)}`);
    assert.equal(actual.length, expected.length, `${at} has this length: ${JSON.stringify(actual)}`);
    for (const [index, each] of expected.entries()) assertIncludes(actual[index], each, `${at}[${index}]`);
  } else if (typeof expected === "object" && expected !== null) {
    assert.ok(typeof actual === "object" && actual !== null, `${at} is an object, and not ${JSON.stringify(actual)}`);
    const members = new Map<string, unknown>(Object.entries(actual));
    for (const [name, each] of Object.entries(expected)) assertIncludes(members.get(name), each, `${at}.${name}`);
  } else {
    assert.equal(actual, expected, at);
  }
}
