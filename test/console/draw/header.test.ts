import assert from "node:assert/strict";
import { test } from "node:test";
import { drawHeader, drawHealth } from "../../../src/console/draw/header.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { dataOf, frameOf, NOW, READINGS, stateAt, VIEWS } from "./fixture.ts";

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

const away = {
  kind: "offline",
  since: NOW - 72_000,
  retryAt: NOW + 2_000,
  failure: { status: 0, code: "unreachable", message: "connect ENOENT", at: NOW },
} as const;

test("while no endpoint answers, the health line is dim and r is offered", () => {
  for (const size of ["120x35", "80x24"]) {
    const state = stateAt(size);
    const offline = { ...state, link: { ...state.link, state: away } };
    const [, now] = drawHeader(state, VIEWS);
    const [, before] = drawHeader(offline, VIEWS);
    assert.ok(now.some(({ tone }) => tone === "fail" || tone === "warn"));
    assert.ok(before.every(({ text, tone }) => text.trim() === "" || tone === "dim"));
    assert.equal(textOfLine(before), textOfLine(now));
    assert.match(frameOf(offline).map(textOfLine).join("\n"), /r try now/);
    assert.doesNotMatch(frameOf(state).map(textOfLine).join("\n"), /r try now/);
  }
});

test("a narrow identity line drops the socket path first, and keeps role, term and index", () => {
  const state = stateAt("100x30");
  const name = `unix:/run/${"a-long-folder/".repeat(12)}admin.sock`;
  const long = { ...state, link: { ...state.link, endpoint: { ...state.link.endpoint, name } } };
  for (const columns of [100, 110, 120, 160]) {
    const identity = textOfLine(drawHeader({ ...long, size: { columns, rows: 35 } }, VIEWS)[0]);
    assert.match(identity, / unix:\S+…\S*sock {2}unix:1000 \(admin\) {2}node n1 LEADER term 12 index 88412 /);
  }
  const who = { issuer: "idp", subject: `user-${"x".repeat(100)}`, roles: ["admin"] };
  const data = dataOf({ ...READINGS, get_whoami: { value: who } });
  const identity = textOfLine(drawHeader({ ...long, data }, VIEWS)[0]);
  assert.doesNotMatch(identity, /admin\.sock/);
  assert.match(identity, /user-x+… {2}node n1 LEADER term 12 index 88412 /);
});
