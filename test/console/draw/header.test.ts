import assert from "node:assert/strict";
import { test } from "node:test";
import { drawHealth } from "../../../src/console/draw/header.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { dataOf, READINGS, stateAt } from "./fixture.ts";

test("a provider counts as suspended from its suspension on, before its measured state says so", () => {
  const suspension = {
    kind: "provider",
    name: "acme-chat",
    reason: "incident",
    by: "unix:1000",
    created_at: "2026-11-20T14:02:00Z",
    until: null,
    status: "active",
  } as const;
  const health = (status: "active" | "ended"): string => {
    const data = dataOf({ ...READINGS, list_suspensions: { value: [{ ...suspension, status }] } });
    return textOfLine(drawHealth({ ...stateAt("120x35"), data }));
  };
  assert.match(health("active"), /providers 2 ok 2 SUSP/);
  assert.match(health("ended"), /providers 2 ok 1 FAIL 1 SUSP/);
});
