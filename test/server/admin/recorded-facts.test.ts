/** Audit records of a change: as a dry run and as a write, with the caller and any number of roles. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATIONS } from "../../../src/admin-api/index.ts";
import { recordChange } from "../../../src/server/admin/authorize.ts";
import { eventText, fitEvent } from "../../../src/server/audit/fit-event.ts";
import { createMemoryAudit } from "./support/memory-audit.ts";
import { createMemoryCluster } from "./support/memory-cluster.ts";
import { openAdmin } from "./support/open-admin.ts";

test("a dry run is recorded as a dry run, whether it compiles or not, and a later write as a write", async (t) => {
  const { client, audit } = await openAdmin(t);
  const put = (body: string, query = {}) => client.call("put_source", { params: { name: "a" }, query, body });
  await put("providers: []", { dry_run: true });
  await assert.rejects(put("refused", { dry_run: true }));
  await put("providers: []");
  assert.deepEqual(
    audit.entries.map(({ data }) => [data["outcome"], data["dry_run"]]),
    [
      ["done", true],
      ["refused", true],
      ["done", undefined],
    ],
  );
});

/** A cluster in which another writer undoes each write before its author reads the result. */
function undoing(undo: { readonly t: string; readonly p: unknown }) {
  const { cluster } = createMemoryCluster(() => 0);
  return {
    ...cluster,
    async write(...asked: Parameters<typeof cluster.write>) {
      const result = await cluster.write(...asked);
      await cluster.write(undo, asked[1]);
      return result;
    },
  };
}

test("a key deleted right after minting is still recorded as minted", async (t) => {
  const cluster = undoing({ t: "key.delete", p: { name: "ci" } });
  const { send, audit } = await openAdmin(t, { cluster });
  const { status, json } = await send("POST", "/admin/v1/keys", { body: '{"name":"ci"}' });
  assert.deepEqual([status, json().error.details], [409, { outcome: "done" }]);
  assert.deepEqual([audit.entries[0]?.data["outcome"], audit.entries[0]?.data["code"]], ["done", "conflict"]);
});

test("a suspension lifted right after it was put is still recorded as put", async (t) => {
  const cluster = undoing({ t: "suspension.delete", p: { kind: "model", name: "ci" } });
  const { send, audit } = await openAdmin(t, { cluster });
  const { status, json } = await send("PUT", "/admin/v1/suspensions/model:ci", { body: '{"reason":"leaked"}' });
  assert.deepEqual([status, json().error.details], [409, { outcome: "done" }]);
  assert.equal(audit.entries[0]?.data["outcome"], "done");
});

test("a record names caller and resource in full, however many roles the caller has", async () => {
  const { audit, entries } = createMemoryAudit();
  const subject = `spiffe://cluster.example/ns/${"payments-".repeat(10)}/sa/deployer`;
  const roles = Array.from({ length: 256 }, (_, at) => `${at}-0b8f6a52-6f0e-4a1e-9c55-2f6b7f9d1c3e`);
  const name = "k".repeat(128);
  const asked = {
    id: "delete_key",
    operation: OPERATIONS.delete_key,
    principal: { issuer: "corp", subject, roles },
    resource: { kind: "Key", name },
    listener: "network",
    requestId: "r".repeat(128),
  } as const;
  await recordChange(audit, asked, async () => ({ value: undefined }));
  const [entry] = entries;
  assert.ok(entry);
  const place = { node: "n1", kid: "k".repeat(43), seq: 1, prev: "p".repeat(43), ts: "2026-11-20T12:00:00.000Z" };
  const { data } = JSON.parse(`${fitEvent(eventText(entry), place).beforeHash.slice(0, -1)}}`) as {
    data: Record<string, unknown>;
  };
  assert.equal(data["principal"], `corp/${subject}`);
  assert.equal(data["resource"], `Key::"${name}"`);
  const result = data["roles"] as readonly string[];
  assert.deepEqual(result.slice(0, -1), roles.slice(0, result.length - 1));
  assert.equal(result.at(-1), `… ${roles.length - result.length + 1} more`);
});
