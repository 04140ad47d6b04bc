/** Command lines, checked by a shell that parses them. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { commandOf, commandsOfTask, quoted } from "../../../src/console/format/command-line.ts";
import { actionOf } from "../../../src/console/model/action.ts";

const ENDPOINT = { endpointFlags: "-socket /run/gateway.sock" };
const nothing = () => ({ message: "" });

test("an action with a body is written with endpoint, quoted body, method and path", () => {
  const action = actionOf(
    "put_suspension",
    { params: { kind: "provider", name: "acme" }, body: { reason: "it's down", duration: "30m" } },
    nothing,
  );
  assert.equal(
    commandOf(action, ENDPOINT),
    `gateway admin -socket /run/gateway.sock -d '{"reason":"it'\\''s down","duration":"30m"}' PUT suspensions/provider:acme`,
  );
});

test("the command line of a GET omits the method, and a query string is quoted", () => {
  assert.equal(
    commandOf(actionOf("list_keys", { query: { consistent: true } }, nothing), ENDPOINT).endsWith(
      " 'keys?consistent=true'",
    ),
    true,
  );
  assert.equal(commandOf(actionOf("list_keys", {}, nothing), { endpointFlags: "" }), "gateway admin keys");
});

test("a document is put in a file first", () => {
  for (const body of ["@secrets", `a: ${"x".repeat(20_000)}`, "nul \0"]) {
    const action = actionOf("put_source", { params: { name: "team" }, body }, nothing);
    assert.equal(commandOf(action, ENDPOINT), "gateway admin -socket /run/gateway.sock -d @FILE PUT sources/team");
  }
});

test("a task of several steps gives one command per step", () => {
  const task = {
    kind: "steps",
    steps: [
      { kind: "job", job: { kind: "save_snapshot", file: "before prune.tgz" } },
      { kind: "actions", actions: [actionOf("delete_cluster_member", { params: { id: "n3" } }, nothing)] },
    ],
  } as const;
  assert.deepEqual(commandsOfTask(task, ENDPOINT), [
    "gateway snapshot save -socket /run/gateway.sock 'before prune.tgz'",
    "gateway admin -socket /run/gateway.sock DELETE cluster_members/n3",
  ]);
});

test("a shell parses any quoted word back", () => {
  const word = fc
    .string({ unit: "grapheme", maxLength: 20 })
    .filter((text) => !text.includes("\0") && text.isWellFormed());
  fc.assert(
    fc.property(fc.array(word, { minLength: 20, maxLength: 20 }), (words) => {
      const read = execFileSync("/bin/sh", [
        "-c",
        `for word in "$@"; do :; done; printf '%s\\0' ${words.map(quoted).join(" ")}`,
      ]);
      assert.deepEqual(read.toString().split("\0").slice(0, -1), words);
    }),
    { numRuns: 20 },
  );
});
