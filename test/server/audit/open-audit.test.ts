/** The trail with its worker, as the node uses it: appended records, output, refusals, and its end. */

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { generatePrivatePem } from "../../../src/base/index.ts";
import { type AuditHead, type AuditRecord, type AuditTrail, MAX_QUEUE_BYTES } from "../../../src/server/audit/index.ts";
import { eventually } from "../../e2e/support/wait.ts";
import { open, place, readingOf } from "./support/open-trail.ts";
import { found, verifyChunks } from "./support/trails.ts";

const parsed = (text: string): readonly AuditRecord[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AuditRecord);

const decide = (trail: AuditTrail, count: number, data: AuditRecord["data"] = {}): void => {
  for (let n = 0; n < count; n += 1) trail.append({ event: "access.decision", data: { n, ...data } });
};

test("a chain starts, records, pauses at the close, and resumes at the next start", async (context) => {
  const at = place(context);
  const first = await open(context, at);
  first.trail.append({ event: "access.decision", controls: ["AC-3"], data: { rule: "r" } });
  await first.trail.close();
  const second = await open(context, at);
  await second.trail.close();
  const records = parsed(at.text());
  assert.deepEqual(
    records.map(({ event, seq }) => [event, seq]),
    [
      ["chain.start", 0],
      ["access.decision", 1],
      ["chain.pause", 2],
      ["chain.resume", 3],
      ["chain.pause", 4],
    ],
  );
  assert.equal(new Set(records.map(({ kid }) => kid)).size, 1);
  const { key, ...start } = records[0]?.data ?? {};
  assert.deepEqual(start, { ephemeral: false, succeeds: null, version: "1.2.3", pid: 77 });
  assert.equal(typeof key, "string");
  assert.deepEqual(found(await verifyChunks([at.text()])), []);
  assert.deepEqual(first.logged, []);
});

test("key and journal belong to their owner alone, and only the lock is left beside them", async (context) => {
  const at = place(context);
  const { trail } = await open(context, at);
  assert.deepEqual(readdirSync(at.dir).toSorted(), ["audit-head", "audit-lock", "audit.key"]);
  assert.match(readFileSync(join(at.dir, "audit.key"), "utf8"), /^-----BEGIN PRIVATE KEY-----\n/);
  for (const name of ["audit-head", "audit.key"]) assert.equal(statSync(join(at.dir, name)).mode & 0o777, 0o600);
  assert.equal(statSync(at.dir).mode & 0o777, 0o700);
  await trail.close();
});

test("a record resolves when it is in the journal on disk", async (context) => {
  const at = place(context);
  const { trail, instruments } = await open(context, at);
  await trail.reserve().record({ event: "admin.write", data: { id: "made-durable" } });
  assert.match(readFileSync(join(at.dir, "audit-head"), "utf8"), /made-durable/);
  assert.equal(readingOf(instruments, "gateway_audit_records_total", "admin.write"), 1);
});

test("a reserved slot is used once, and a released one leaves nothing", async (context) => {
  const at = place(context);
  const { trail, instruments } = await open(context, at);
  const room = trail.reserve();
  assert.ok((readingOf(instruments, "gateway_audit_queue_bytes") ?? 0) >= 4_096);
  room.release();
  room.release();
  assert.equal(readingOf(instruments, "gateway_audit_queue_bytes"), 0);
  await assert.rejects(room.record({ event: "admin.write", data: {} }), /already been used/);
  await trail.close();
  assert.deepEqual(
    parsed(at.text()).map(({ event }) => event),
    ["chain.start", "chain.pause"],
  );
});

test("the last records, the head and the emitted groups are available", async (context) => {
  const at = place(context);
  const emitted: AuditRecord[] = [];
  const { trail } = await open(context, { ...at, onEmitted: (records) => emitted.push(...records) });
  decide(trail, 1_500);
  await trail.close();
  const records = parsed(at.text());
  assert.equal(records.length, 1_502);
  assert.deepEqual(emitted, records);
  assert.deepEqual(trail.recent(3), records.slice(-3));
  const [start] = records;
  assert.deepEqual(trail.recent(5_000), [start, ...records.slice(-1_001)]);
  assert.deepEqual(trail.recent(0), []);
  const last = records.at(-1);
  assert.deepEqual(trail.head, { kid: last?.kid, seq: 1_501, hash: last?.hash });
});

test("request records do not push out change records, which are found by event", async (context) => {
  const at = place(context);
  const { trail } = await open(context, at);
  decide(trail, 300);
  trail.append({ event: "admin.write", data: { id: "this-morning", text: '"event":"auth.failure",' } });
  decide(trail, 1_400);
  for (let n = 0; n < 600; n += 1) trail.append({ event: "auth.failure", data: { n, text: '"event":"admin.write",' } });
  trail.append({ event: "config.applied", data: { sources: [] } });
  await trail.close();
  const kept = trail.recent(5_000);
  assert.deepEqual(
    trail.recent(5_000, "admin.write").map(({ data }) => data["id"]),
    ["this-morning"],
  );
  const ofRequests = kept.filter(({ event }) => event === "access.decision" || event === "auth.failure");
  assert.equal(ofRequests.length, 1_000);
  assert.equal(trail.recent(5_000, "auth.failure").length, 600);
  assert.equal(trail.recent(7, "auth.failure").at(-1)?.data["n"], 599);
  assert.deepEqual(
    kept.filter((record) => !ofRequests.includes(record)).map(({ event }) => event),
    ["chain.start", "admin.write", "config.applied", "chain.pause"],
  );
  assert.deepEqual(
    kept.map(({ seq }) => seq),
    kept.map(({ seq }) => seq).toSorted((a, b) => a - b),
  );
});

test("the last thousand changes are kept, too", async (context) => {
  const at = place(context);
  const { trail } = await open(context, at);
  for (let n = 0; n < 1_200; n += 1) trail.append({ event: "admin.write", data: { n } });
  await trail.close();
  const kept = trail.recent(5_000);
  assert.equal(kept.length, 1_000);
  assert.equal(kept[0]?.data["n"], 201);
});

test("after a restart the last records come from the journal", async (context) => {
  const at = place(context);
  const first = await open(context, at);
  decide(first.trail, 5);
  await first.trail.close();
  const { trail } = await open(context, at);
  await eventually("the resume record", () => trail.recent(1)[0]?.event === "chain.resume");
  assert.deepEqual(
    trail.recent(10).map(({ seq }) => seq),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
});

test("an export that throws is logged and has no other effect", async (context) => {
  const at = place(context);
  const { trail, logged } = await open(context, {
    ...at,
    onEmitted() {
      throw new Error("no collector");
    },
  });
  await trail.reserve().record({ event: "admin.write", data: {} });
  await trail.close();
  assert.equal(parsed(at.text()).length, 3);
  assert.ok(logged.some(({ message }) => message === "an export of the audit trail failed"));
});

test("without a directory the key lives with the process, and a log line says so", async (context) => {
  const at = place(context);
  const kids = new Set<string>();
  for (let start = 0; start < 2; start += 1) {
    const { trail } = await open(context, { dir: undefined, fd: at.fd });
    await trail.reserve().record({ event: "admin.write", data: {} });
    await trail.close();
    kids.add(trail.head?.kid ?? "");
  }
  assert.equal(kids.size, 2);
  const starts = parsed(at.text()).filter(({ event }) => event === "chain.start");
  assert.deepEqual(
    starts.map(({ data }) => data["ephemeral"]),
    [true, true],
  );
  const report = await verifyChunks([at.text()]);
  assert.deepEqual(report.findings, []);
  assert.deepEqual(
    report.chains.map(({ ephemeral }) => ephemeral),
    [true, true],
  );
});

test("at the close the cluster gets the last head and the predecessor of a new chain", async (context) => {
  const at = place(context);
  const before: AuditHead = { kid: "k".repeat(43), seq: 9, hash: "h".repeat(43) };
  const shown: { readonly seq: number; readonly succeeds: AuditHead | null | undefined }[] = [];
  const witness = async ({ seq }: AuditHead, succeeds: AuditHead | null | undefined): Promise<void> => {
    shown.push({ seq, succeeds });
  };
  const first = await open(context, { ...at, witness, witnessed: () => before });
  await first.trail.close();
  assert.equal(shown.at(-1)?.seq, 1);
  assert.deepEqual(
    shown.map(({ succeeds }) => succeeds),
    [before, undefined].slice(0, shown.length),
  );
  assert.deepEqual(parsed(at.text())[0]?.data["succeeds"], before);
  const head = first.trail.head;
  await (await open(context, { ...at, witness, witnessed: () => head })).trail.close();
  assert.deepEqual(shown.at(-1), { seq: 3, succeeds: undefined });
});

test("a second trail in the same directory is refused while the first is open", async (context) => {
  const at = place(context);
  const { trail } = await open(context, at);
  await assert.rejects(open(context, at), { name: "AuditError", code: "locked", message: /its own audit\.dir/ });
  await trail.close();
  await (await open(context, at)).trail.close();
  assert.deepEqual(found(await verifyChunks([at.text()])), []);
});

test("a lock file left unreadable by a crash is recreated", async (context) => {
  const at = place(context);
  await (await open(context, at)).trail.close();
  writeFileSync(join(at.dir, "audit-lock", "CURRENT"), "nonsense\n");
  await (await open(context, at)).trail.close();
  assert.deepEqual(found(await verifyChunks([at.text()])), []);
});

const RSA = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
}).privateKey;
const OTHER_KEY = generatePrivatePem("ed25519");

const REFUSED: readonly {
  readonly what: string;
  damage(dir: string): void;
  readonly code: string;
  readonly messagePattern: RegExp;
  readonly nodeId?: string;
}[] = [
  {
    what: "an invalid key",
    damage: (dir) => writeFileSync(join(dir, "audit.key"), "no"),
    code: "damaged",
    messagePattern: /restore it, or remove it together with audit-head/,
  },
  {
    what: "a key of another kind",
    damage: (dir) => writeFileSync(join(dir, "audit.key"), RSA),
    code: "damaged",
    messagePattern: /not an Ed25519 private key/,
  },
  {
    what: "another chain's key",
    damage: (dir) => writeFileSync(join(dir, "audit.key"), OTHER_KEY),
    code: "damaged",
    messagePattern: /is not the key of the chain/,
  },
  {
    what: "a missing key",
    damage: (dir) => rmSync(join(dir, "audit.key")),
    code: "damaged",
    messagePattern: /audit\.key is missing beside audit-head/,
  },
  {
    what: "a damaged journal",
    damage: (dir) => writeFileSync(join(dir, "audit-head"), "no"),
    code: "damaged",
    messagePattern: /damaged at byte 0: .*remove audit-head/,
  },
  {
    what: "another node's directory",
    damage: () => undefined,
    code: "damaged",
    messagePattern: /is that of node n1, and this is n2/,
    nodeId: "n2",
  },
];

for (const { what, damage, code, messagePattern, nodeId = "n1" } of REFUSED) {
  test(`${what} is refused with the remedy, and nothing is changed`, async (context) => {
    const at = place(context);
    await (await open(context, at)).trail.close();
    damage(at.dir);
    const before = at.text();
    await assert.rejects(open(context, { ...at, nodeId }), { name: "AuditError", code, message: messagePattern });
    assert.equal(at.text(), before);
  });
}

test("a lost journal starts a new chain under a new key that names the last witnessed head", async (context) => {
  const at = place(context);
  const first = await open(context, at);
  decide(first.trail, 3);
  await first.trail.close();
  const head = first.trail.head;
  rmSync(join(at.dir, "audit-head"));
  const { trail, logged } = await open(context, { ...at, witnessed: () => head });
  await trail.close();
  assert.notEqual(trail.head?.kid, head?.kid);
  assert.match(logged[0]?.message ?? "", /a new chain begins/);
  const report = await verifyChunks([at.text()]);
  assert.deepEqual(report.findings, []);
  assert.equal(report.chains.length, 2);
  assert.deepEqual(parsed(at.text()).findLast(({ event }) => event === "chain.start")?.data["succeeds"], head);
});

test("a full queue refuses and counts records, and accepts again when there is room", async (context) => {
  const at = place(context);
  const { trail, instruments } = await open(context, at);
  const rooms = [];
  const refusal = { name: "GatewayError", code: "audit_unavailable" };
  for (;;) {
    try {
      rooms.push(trail.reserve());
    } catch (error) {
      assert.equal((error as { code?: string }).code, "audit_unavailable");
      break;
    }
  }
  assert.ok(rooms.length > MAX_QUEUE_BYTES / 8_192);
  assert.throws(() => decide(trail, 10), refusal);
  assert.ok((readingOf(instruments, "gateway_audit_refused_total") ?? 0) >= 2);
  for (const room of rooms) room.release();
  decide(trail, 1);
});

test("after the close no record is accepted, and the trail did not end by itself", async (context) => {
  const at = place(context);
  const { trail } = await open(context, at);
  const room = trail.reserve();
  await Promise.all([trail.close(), trail.close()]);
  assert.throws(() => decide(trail, 1), { code: "audit_unavailable", message: /closed/ });
  assert.throws(() => trail.reserve(), { code: "audit_unavailable" });
  await assert.rejects(room.record({ event: "admin.write", data: {} }), { code: "audit_unavailable" });
  assert.equal(await Promise.race([trail.ended, new Promise((resolve) => setImmediate(resolve))]), undefined);
});

test("a directory that cannot be created is refused with its path", async (context) => {
  const at = place(context);
  writeFileSync(at.dir, "a file");
  await assert.rejects(open(context, at), { name: "AuditError", code: "unwritable", message: /audit: EEXIST|ENOTDIR/ });
});

test("a worker that does not answer in time is abandoned, with the remedy", async (context) => {
  const at = place(context);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  // Its answer cannot arrive before this turn ends.
  const opening = open(context, at);
  context.mock.timers.tick(60_000);
  await assert.rejects(opening, {
    name: "AuditError",
    code: "worker",
    message: /did not open within 60 s: check that the disk of .+ responds and .*start again$/,
  });
});
