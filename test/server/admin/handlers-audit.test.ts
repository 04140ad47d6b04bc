/** Witnessed heads as a list, the last records, and how to sign in. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LoginIssuer } from "../../../src/admin-api/index.ts";
import { rfc3339 } from "../../../src/server/admin/handler-types.ts";
import { auditHandlers, auditHeadList } from "../../../src/server/admin/handlers/audit.ts";
import { loginHandlers } from "../../../src/server/admin/handlers/login.ts";
import { watchList } from "../../../src/server/admin/lists.ts";
import { commands } from "../../../src/server/core/state/index.ts";
import { callOf, handlerPorts, NOW } from "./support/handler-ports.ts";
import { AUDIT_RECORD } from "./support/memory-audit.ts";

const AT_ONCE = { index: undefined, waitMs: 0, signal: new AbortController().signal };
const WRITE = { by: { iss: "local", sub: "unix:1000" }, timeoutMs: 1_000 };
const hash = (letter: string): string => letter.repeat(43);
const kid = (letter: string): string => letter.repeat(43);

test("heads are listed by node and chain, with the number of contradictions of each node", async () => {
  const ports = handlerPorts();
  const list = watchList(auditHeadList(ports));
  const read = () => list.read(AT_ONCE, () => NOW);
  const witness = (node: string, letter: string, seq: number, text: string) =>
    ports.cluster.write(commands.auditWitness({ node, kid: kid(letter), seq, hash: hash(text) }), WRITE);
  const empty = await read();
  assert.deepEqual([...empty.rows], []);

  await witness("n2", "k", 4, "a");
  await witness("n1", "k", 7, "b");
  await witness("n1", "k", 7, "c");
  await witness("n1", "k", 7, "d");
  const { index, rows } = await read();
  assert.ok(index > empty.index);
  const witnessed_at = rfc3339(NOW);
  assert.deepEqual(
    [...rows],
    [
      { node: "n1", kid: kid("k"), seq: 7, hash: hash("b"), witnessed_at, conflicts: 2 },
      { node: "n2", kid: kid("k"), seq: 4, hash: hash("a"), witnessed_at, conflicts: 0 },
    ],
  );
});

test("the requested number of last records is answered, 100 by default", async () => {
  const requests: unknown[] = [];
  const ports = handlerPorts({
    audit: {
      ...handlerPorts().audit,
      recent(limit, event) {
        requests.push([limit, event]);
        return [AUDIT_RECORD];
      },
    },
  });
  const { list_audit_records: answer } = auditHandlers;
  assert.deepEqual(await answer(callOf("list_audit_records", { query: {} }), ports), {
    value: { items: [AUDIT_RECORD] },
  });
  await answer(callOf("list_audit_records", { query: { limit: 7, event: "admin.write" } }), ports);
  assert.deepEqual(requests, [
    [100, undefined],
    [7, "admin.write"],
  ]);
});

test("sign-in methods are answered; without any, the key that configures one is named", async () => {
  const login: LoginIssuer = {
    name: "corp",
    issuer: "https://id.example.com",
    client_id: "gateway",
    scopes: ["openid"],
    extra: {},
    token: "id",
  };
  const { get_login: answer } = loginHandlers;
  assert.deepEqual(await answer(callOf("get_login"), handlerPorts({ logins: [login] })), {
    value: { issuers: [login] },
  });
  assert.throws(() => answer(callOf("get_login"), handlerPorts()), {
    code: "not_found",
    message: /`admin\.issuers\[\]\.login`/,
  });
});
