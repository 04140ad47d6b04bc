/** A rule's verdict on a body: the refusal that it throws, or `undefined` when the body is accepted. */

import assert from "node:assert/strict";
import { Refused } from "../../../src/simulator/dialect-errors.ts";
import type { JsonObject } from "../../../src/simulator/json-fields.ts";

interface Refusal {
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null | undefined;
}

export function refusalOf(check: () => void): Refusal | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refused, `a refusal, not ${String(error)}`);
    assert.equal(error.status, 400);
    return { message: error.message, param: error.param, code: error.code };
  }
}

/** The value as it would arrive on the wire. */
export function asJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
