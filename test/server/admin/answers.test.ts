/** Answers match the operations table, from which clients are generated. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type CallInput,
  type LoginIssuer,
  OPERATIONS,
  type Operation,
  type OperationAnswer,
  type OperationId,
  TABLES,
  type TableName,
} from "../../../src/admin-api/index.ts";
import { faultsOf } from "../../../src/server/admin/validate-input.ts";
import { commands } from "../../../src/server/core/state/index.ts";
import { backendMember, FAILED, FAILING_MEMBER } from "./support/memory-backends.ts";
import { NOW, openAdmin } from "./support/open-admin.ts";

type ListId = `list_${TableName}`;

/** Calls in an order in which each finds what it needs. Lists that are not here are read at the end. */
const CALLS: { readonly [Id in Exclude<OperationId, ListId>]: CallInput<Id> } & {
  readonly [Id in ListId]?: CallInput<Id>;
} = {
  create_key: { body: { name: "a", metadata: { x: "y" }, expires_in: "1h" } },
  get_key: { params: { name: "a" } },
  update_key: { params: { name: "a" }, body: { profile: "p" } },
  rotate_key: { params: { name: "a" } },
  list_keys: {},
  put_suspension: { params: { kind: "key", name: "a" }, body: { reason: "r", duration: "1m" } },
  list_suspensions: {},
  delete_suspension: { params: { kind: "key", name: "a" } },
  put_acknowledgement: { params: { name: "key:a" }, body: { reason: "r", duration: "1m", severity: "warn" } },
  list_acknowledgements: {},
  delete_acknowledgement: { params: { name: "key:a" } },
  delete_key: { params: { name: "a" } },
  put_secret: { params: { name: "s" }, body: { value: "v" } },
  list_secrets: {},
  rewrap_secrets: {},
  delete_secret: { params: { name: "s" } },
  put_source: { params: { name: "c" }, body: "a: 1" },
  list_sources: {},
  get_source: { params: { name: "c" } },
  list_source_revisions: { params: { name: "c" } },
  get_source_revision: { params: { name: "c", revision: 1 } },
  rollback_source: { params: { name: "c" }, body: { revision: 1 } },
  get_config: {},
  delete_source: { params: { name: "c" } },
  reload_config: {},
  rehearse: { body: {} },
  delete_cluster_member: { params: { id: "n3" } },
  prune_cluster: { body: { keep: ["n1"] } },
  transfer_leader: { body: {} },
  save_snapshot: {},
  restore_snapshot: { body: (async function* () {})() },
  get_status: {},
  get_whoami: {},
  get_login: {},
  get_openapi: {},
  list_backend_members: { params: { name: "acme" } },
  list_backend_history: { params: { name: "acme" } },
  list_backend_errors: { params: { name: "acme" } },
  list_audit_records: { query: { limit: 10 } },
  inspect_guardrails: { body: { segments: [{ kind: "user", text: "a" }], profile: "p" } },
  run_query: { body: { sql: "SELECT name FROM keys" } },
  list_query_tables: {},
};

const LOGIN: LoginIssuer = {
  name: "corp",
  issuer: "https://id.example.com",
  client_id: "gateway",
  scopes: ["openid"],
  extra: { audience: "gateway" },
  token: "id",
};

test("every operation gives the answer that its description states", async (t) => {
  const { client, sources, backends, governed, memory } = await openAdmin(t, { logins: [LOGIN] });
  backends.configure("acme");
  governed.configure({ profiles: ["p"], budgets: ["b"] });
  governed.spend("b", 10);
  backends.fail("acme", {
    ...FAILED,
    time: new Date(NOW).toISOString(),
    status: 503,
    kind: "5xx",
    attempt: 1,
    moved_to: null,
  });
  backends.have("acme", [backendMember("192.0.2.1:8000"), backendMember("192.0.2.2:8000", FAILING_MEMBER)]);
  const head = { node: "n1", kid: "k".repeat(43), seq: 1, hash: "h".repeat(43) };
  await memory.cluster.write(commands.auditWitness(head), { by: { iss: "local", sub: "unix:0" }, timeoutMs: 1_000 });
  const call = client.call as (id: OperationId, input: object) => Promise<OperationAnswer<OperationId>>;
  let rows = 0;
  const lists = Object.keys(TABLES).map((table) => `list_${table}`);
  for (const id of new Set([...Object.keys(CALLS), ...lists]) as Set<OperationId>) {
    if (id === "reload_config") sources.ownByFile();
    const { answer }: Operation = OPERATIONS[id];
    const response = await call(id, CALLS[id] ?? {});
    if (answer.kind === "json") assert.deepEqual(faultsOf(answer.schema, response), [], id);
    if (answer.kind === "empty") assert.equal(response, undefined, id);
    if (answer.kind === "stream")
      for await (const part of response as AsyncIterable<Uint8Array>) rows += part.length > 0 ? 0 : 1;
    if (answer.kind !== "list") continue;
    const { items } = response as { readonly items: readonly unknown[] };
    assert.ok(items.length > 0 || id === "list_usage", id);
    for (const row of items) assert.deepEqual(faultsOf(TABLES[answer.table], row), [], id);
  }
  assert.equal(rows, 0, "an archive has no empty pieces");
});
