/** Commands of `:`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOfText } from "../../../src/console/store/parse-command.ts";
import { packsView } from "../../../src/console/views/packs.ts";
import { VIEWS as OTHERS } from "./fixture.ts";

const VIEWS = [...OTHERS, packsView];

const go = (view: string, subject?: string, filter?: string) => ({
  kind: "go",
  place: { view, ...(subject !== undefined && { subject }) },
  filter,
});

const READ: readonly (readonly [text: string, command: object])[] = [
  ["", { kind: "nothing" }],
  ["   ", { kind: "nothing" }],
  ["q", { kind: "quit" }],
  ["quit", { kind: "quit" }],
  ["log", { kind: "log" }],
  ["help", { kind: "help" }],
  ["providers", go("providers")],
  ["backends", go("providers")],
  ["prov", go("providers")],
  [" back ", go("providers")],
  ["err", go("errors")],
  ["errors acme-chat", go("errors", "acme-chat")],
  ["prov /acme", go("providers", undefined, "acme")],
  ["prov /^acme/", go("providers", undefined, "/^acme/")],
  ["prov /", go("providers", undefined, "")],
  ["errors acme-chat /5xx", go("errors", "acme-chat", "5xx")],
  ["errors a/b", go("errors", "a/b")],
  ["errors /opt/packs", go("errors", undefined, "opt/packs")],
  // Where a path is allowed, text with a slash is one.
  ["packs /opt/packs", go("packs", "/opt/packs")],
  ["packs default /opt/packs ./ours /pii", go("packs", "default /opt/packs ./ours", "pii")],
  ["packs /pii", go("packs", undefined, "pii")],
  ["packs /^pii/", go("packs", undefined, "/^pii/")],
];

for (const [text, command] of READ) {
  test(`:${text} is parsed`, () => assert.deepEqual(commandOfText(text, VIEWS), command));
}

const WRONG = [
  ["providres", /there is no view providres; did you mean providers\?/],
  ["zzz", /there is no view zzz; \? lists them/],
  ["prov acme", /providers takes only a filter after its name/],
  ["constructor", /there is no view constructor/],
] as const;

for (const [text, message] of WRONG) {
  test(`:${text} is not a command, and the closest ones are suggested`, () => {
    const command = commandOfText(text, VIEWS);
    assert.ok(command.kind === "wrong");
    assert.match(command.message, message);
  });
}

test("a common prefix of two view names is ambiguous", () => {
  const views = VIEWS.map((view, at) => ({ ...view, id: `v${at}`, aliases: [] }));
  const command = commandOfText("v", views);
  assert.ok(command.kind === "wrong");
  assert.equal(command.message, "v may be v0, v1, v2, v3, v4");
});
