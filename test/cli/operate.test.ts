/** The pure parts of the verbs that read and change a running gateway. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { TABLES } from "../../src/admin-api/index.ts";
import { execute } from "../../src/cli/main.ts";
import { ALL_LISTS, columnsOf, listNamed, type Row } from "../../src/cli/operate/printable-lists.ts";
import { conditionOf } from "../../src/cli/operate/row-conditions.ts";
import { parseFlags, UsageError } from "../../src/cli/parse-flags.ts";
import { bufferIo } from "./buffer-io.ts";

test("every list of the admin API can be read, with existing columns", () => {
  assert.deepEqual(ALL_LISTS.map(({ table }) => table).sort(), Object.keys(TABLES).sort());
  for (const list of ALL_LISTS) {
    const names = columnsOf(list).map(({ name }) => name);
    for (const column of [...list.columns, ...list.name]) assert.ok(names.includes(column), `${list.table}.${column}`);
  }
  const listNames = ALL_LISTS.flatMap(({ table, aliases }) => [table, ...aliases]);
  assert.equal(new Set(listNames).size, listNames.length);
});

const NAMED: readonly (readonly [typed: string, table: string])[] = [
  ["keys", "keys"],
  ["key", "keys"],
  ["KEYS", "keys"],
  ["providers", "backends"],
  ["provider", "backends"],
  ["members", "cluster_members"],
  ["cluster-members", "cluster_members"],
  ["mcp", "mcp_servers"],
  ["refusal", "refusals"],
  ["cert", "certificates"],
];

test("a list is found by its name, the singular, and other tools' names for it", () => {
  for (const [typed, table] of NAMED) assert.equal(listNamed(typed).table, table, typed);
  assert.throws(() => listNamed("kyes"), /there is no list 'kyes' \(did you mean 'keys'\?\)/);
});

const NOW = Date.parse("2026-01-31T00:00:00Z");
const HOUR = 3_600_000;
const KEYS = columnsOf(listNamed("keys"));
const MEMBERS = columnsOf(listNamed("members"));
const PROFILES = columnsOf(listNamed("profiles"));

const ROW: Row = { name: "ci", profile: null, status: "active", last_used_at: new Date(NOW - 2 * HOUR).toISOString() };
const MEMBER: Row = { id: "n1", lag: 7, clock_offset_ms: null, voter: true };
const PROFILE: Row = { name: "dev", allowed_models: ["gpt-4o", "claude-*"], access_rules: 0 };

test("conditions select rows by text, number, time, list and absence", () => {
  const holds: readonly (readonly [row: Row, columns: typeof KEYS, condition: string, isMet: boolean])[] = [
    [ROW, KEYS, "status=active", true],
    [ROW, KEYS, "status = active", true],
    [ROW, KEYS, "STATUS=active", true],
    [ROW, KEYS, "status!=active", false],
    [ROW, KEYS, "name~C", true],
    [ROW, KEYS, "name~x", false],
    [ROW, KEYS, "profile=", true],
    [ROW, KEYS, "profile!=", false],
    [ROW, KEYS, "last_used_at<3h", true],
    [ROW, KEYS, "last_used_at<1h", false],
    [ROW, KEYS, "last_used_at>1h", true],
    [ROW, KEYS, "last_used_at<2026-01-31T00:00:00Z", true],
    [ROW, KEYS, "last_used_at>=2026-01-31T00:00:00Z", false],
    [{ ...ROW, last_used_at: null }, KEYS, "last_used_at<999h", false],
    [MEMBER, MEMBERS, "lag=7", true],
    [MEMBER, MEMBERS, "lag=07", true],
    [MEMBER, MEMBERS, "lag>=7", true],
    [MEMBER, MEMBERS, "lag<7", false],
    [MEMBER, MEMBERS, "lag!=8", true],
    [MEMBER, MEMBERS, "clock_offset_ms>0", false],
    [MEMBER, MEMBERS, "clock_offset_ms=", true],
    [MEMBER, MEMBERS, "voter=true", true],
    [PROFILE, PROFILES, "allowed_models=gpt-4o", true],
    [PROFILE, PROFILES, "allowed_models=gpt", false],
    [PROFILE, PROFILES, "allowed_models~claude", true],
    [{ ...PROFILE, allowed_models: [] }, PROFILES, "allowed_models=", true],
  ];
  for (const [row, columns, condition, isMet] of holds) {
    assert.equal(conditionOf([condition], columns, NOW)(row), isMet, condition);
  }
  assert.equal(conditionOf(["status=active", "name=cd"], KEYS, NOW)(ROW), false);
  assert.equal(conditionOf([], KEYS, NOW)(ROW), true);
});

test("an invalid condition lists the valid forms", () => {
  for (const [condition, why] of [
    ["status", /write COLUMN=VALUE/],
    ["=x", /write COLUMN=VALUE/],
    ["statsu=x", /no column 'statsu' \(did you mean 'status'\?\)/],
    ["last_used_at<soon", /compare it with 24h or/],
  ] as const) {
    assert.throws(() => conditionOf([condition], KEYS, NOW), why);
  }
  assert.throws(() => conditionOf(["lag>many"], MEMBERS, NOW), /'lag' is a number/);
});

const FLAGS = {
  reason: { kind: "string", meaning: "why" },
  yes: { kind: "boolean", meaning: "consent" },
} as const;

test("flags of these verbs are parsed before and after the arguments, until --", () => {
  const read = (args: string) => {
    const parsed = parseFlags(FLAGS, args.split(" "), { isInterleaved: true });
    assert.ok(parsed.kind === "options");
    return [parsed.options.reason, parsed.options.yes, ...parsed.positionals];
  };
  assert.deepEqual(read("provider:x -reason busy -yes"), ["busy", true, "provider:x"]);
  assert.deepEqual(read("-reason busy provider:x"), ["busy", false, "provider:x"]);
  assert.deepEqual(read("a -yes b"), [undefined, true, "a", "b"]);
  assert.deepEqual(read("a -- -yes"), [undefined, false, "a", "-yes"]);
  assert.deepEqual(read("- -yes"), [undefined, true, "-"]);
  assert.throws(() => parseFlags(FLAGS, ["a", "-no"], { isInterleaved: true }), UsageError);
});

test("verbs of other tools point to ours, and a group alone prints its help", async () => {
  for (const [args, why] of [
    [["list"], /'gateway get LIST'/],
    [["describe", "key", "ci"], /'gateway get LIST NAME'/],
    [["logs"], /stderr/],
    [["members"], /'gateway get members'/],
    [["keys", "mnt"], /did you mean 'mint'/],
    [["wait", "redy"], /did you mean 'ready'/],
  ] as const) {
    const io = bufferIo();
    assert.equal(await execute(args, io), 2);
    assert.match(io.err(), why);
  }
  const io = bufferIo();
  assert.equal(await execute(["keys"], io), 0);
  assert.match(io.out(), /Usage: gateway keys VERB/);
  for (const verb of ["mint", "rotate", "revoke", "find"])
    assert.match(io.out(), new RegExp(`^ {2}keys ${verb} `, "m"));
});
