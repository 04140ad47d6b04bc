import assert from "node:assert/strict";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { UsageError } from "../../../src/cli/parse-flags.ts";
import { run } from "../../../src/cli/verbs/logout.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { type Home, makeHome, signInOf } from "./temporary-home.ts";

const A = "https://a.example";
const B = "https://b.example/prefix";
const PLAIN = { all: false, list: false };
const STAYS = "The token stays valid at the identity provider until it expires.\n";

function homeWithTwo(owner: Owner): Home {
  const home = makeHome(owner);
  const expiresAt = Date.UTC(2030, 0, 2, 3, 4, 5);
  home.write(signInOf(A, { issuer: "https://login.example", callerName: "alice", expiresAt }));
  home.write(signInOf(B, { issuer: "https://i.example", callerName: "bob\u001b[2J", expiresAt: undefined }));
  return home;
}

test("the sign-in to one gateway is removed, and the others stay", async (t) => {
  const home = homeWithTwo(t);
  const io = home.io();
  assert.equal(await run(PLAIN, [`${B}/`], io), 0);
  assert.equal(io.err(), `Removed the sign-in to ${B}. ${STAYS}`);
  assert.equal(io.out(), "");
  assert.equal(home.read(B), undefined);
  assert.equal(home.read(A)?.callerName, "alice");
  assert.equal(readdirSync(home.directory).length, 1);
});

test("without a sign-in the status is 1 for a named gateway and 0 for the default", async (t) => {
  const home = makeHome(t);
  const io = home.io({ env: { GATEWAY_ADMIN_URL: A } });
  assert.equal(await run(PLAIN, [A], io), 1);
  assert.equal(await run(PLAIN, [], io), 0);
  assert.equal(io.err(), `There is no sign-in to ${A} on this machine.\n`.repeat(2));
});

test("a damaged file and one that others can read are removed too", async (t) => {
  const home = homeWithTwo(t);
  writeFileSync(home.path(A), "{");
  chmodSync(home.path(B), 0o644);
  for (const url of [A, B]) assert.equal(await run(PLAIN, [url], home.io()), 0);
  assert.deepEqual(readdirSync(home.directory), []);
});

test("-all removes every sign-in and the leftovers of interrupted writes", async (t) => {
  const home = homeWithTwo(t);
  writeFileSync(home.path(A), "{");
  writeFileSync(`${home.path("https://c.example")}.0123456789ab.tmp`, "half");
  const io = home.io();
  assert.equal(await run({ all: true, list: false }, [], io), 0);
  assert.equal(io.err(), `Removed 2 sign-ins. ${STAYS}`);
  assert.deepEqual(readdirSync(home.directory), []);
  assert.equal(await run({ all: true, list: false }, [], io), 0);
  assert.ok(io.err().endsWith("There is no sign-in on this machine.\n"));
});

test("-list prints a table without tokens and changes nothing", async (t) => {
  const home = homeWithTwo(t);
  const before = readdirSync(home.directory);
  const io = home.io();
  assert.equal(await run({ all: true, list: true }, [], io), 0);
  assert.equal(
    io.out(),
    [
      "URL                       ISSUER                 WHO           EXPIRES",
      "https://a.example         https://login.example  alice         2030-01-02T03:04:05Z",
      "https://b.example/prefix  https://i.example      bob\\u001b[2J",
      "",
    ].join("\n"),
  );
  assert.equal(io.err(), "");
  assert.deepEqual(readdirSync(home.directory), before);
});

test("-list names unused files, and accepts a gateway", async (t) => {
  const home = homeWithTwo(t);
  writeFileSync(home.path(A), "{");
  const io = home.io();
  assert.equal(await run({ all: false, list: true }, [], io), 0);
  assert.equal(io.err(), `${home.path(A)} is not used: it is damaged. \`gateway logout -all\` removes it.\n`);
  const one = home.io();
  assert.equal(await run({ all: false, list: true }, [B], one), 0);
  assert.deepEqual([one.out().split("\n").length, one.err()], [3, ""]);
  const none = makeHome(t).io();
  assert.equal(await run({ all: false, list: true }, [], none), 0);
  assert.deepEqual([none.out(), none.err()], ["", "There is no sign-in on this machine.\n"]);
});

test("a gateway must be named, and not together with -all", async (t) => {
  const io = makeHome(t).io();
  await assert.rejects(run(PLAIN, [], io), UsageError);
  await assert.rejects(run({ all: true, list: false }, [A], io), UsageError);
  await assert.rejects(run(PLAIN, ["a.example"], io), UsageError);
});
