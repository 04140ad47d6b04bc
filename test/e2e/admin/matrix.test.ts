// tier: test
/**
 * Every operation of the admin API on socket and listener: without a credential, with a role without permission, and
 * with one that has it. Every answer is checked against the OpenAPI document. Source: design decisions, section 3;
 * specification document 1, Authentication.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { OperationId } from "../../../src/admin-api/index.ts";
import { INPUTS, OPERATION_IDS, operationOf, resourceOf, sendingOf, targetOf } from "./support/inputs.ts";
import { type Issuer, startIssuer } from "./support/issuer.ts";
import { type Plane, startPlane } from "./support/plane.ts";
import { type Received, refusedOf, send } from "./support/send.ts";
import { suiteOwner } from "./support/suite.ts";

const GOVERNED = OPERATION_IDS.filter((id) => operationOf(id).isOpen !== true);
const OPEN = OPERATION_IDS.filter((id) => operationOf(id).isOpen === true);

const entity = (id: OperationId): string => `${resourceOf(id).kind}::"${resourceOf(id).name}"`;
const actions = (ids: readonly OperationId[]): string => ids.map((id) => `Action::"${id}"`).join(", ");

/**
 * Three roles per operation: one with exactly this permission, one with all others, one with it on all other resources.
 */
const POLICY = [
  'permit(principal in Role::"local", action, resource);',
  ...GOVERNED.flatMap((id) => [
    `permit(principal in Role::"with-${id}", action == Action::"${id}", resource == ${entity(id)});`,
    `permit(principal in Role::"without-${id}", action in [${actions(GOVERNED.filter((it) => it !== id))}], resource);`,
    `permit(principal in Role::"elsewhere-${id}", action == Action::"${id}", resource) unless { resource == ${entity(id)} };`,
  ]),
].join("\n");

/** Local callers may read everything except keys, and change nothing. */
const POLICY_AGAINST_LOCAL = `
  permit(principal is User, action, resource);
  permit(principal in Role::"local", action in Action::"read", resource);
  forbid(principal in Role::"local", action == Action::"list_keys", resource);
`;

/** Address of an issuer without a listener. */
const NOWHERE = "http://127.0.0.1:9";

function assertForbidden(id: OperationId, answer: Received): void {
  assert.equal(answer.status, 403, `${id}: ${answer.text}`);
  const { code, message, details } = refusedOf(answer);
  assert.equal(code, "forbidden");
  assert.ok(message.includes(id) && message.includes(entity(id)), message);
  assert.deepEqual([details["action"], details["resource"]], [id, entity(id)]);
}

test("every operation of the table has a request in this matrix", () => {
  assert.deepEqual(Object.keys(INPUTS).sort(), [...OPERATION_IDS].sort());
});

describe("with an issuer and a policy", () => {
  const owner = suiteOwner();
  let issuer: Issuer;
  let plane: Plane;
  before(async () => {
    issuer = await startIssuer(owner);
    const login = { client_id: "gateway-cli", scopes: ["openid", "groups"] };
    plane = await startPlane(owner, { issuer: issuer.url, policy: POLICY, binding: { login } });
  });

  for (const id of GOVERNED) {
    test(`${id} answers 401 without a token, 403 to a caller without permission, and success to a permitted caller`, async () => {
      const { network, local, node } = plane;
      const { method } = operationOf(id);
      const target = targetOf(id);
      const sending = await sendingOf(id, node.client);
      const as = async (role: string) => {
        await INPUTS[id].prepare?.(node.client);
        return send(network, method, target, { ...sending, token: await issuer.tokenOf("alice", role) });
      };
      const unauthenticated = await send(network, method, target, sending);
      assert.equal(unauthenticated.status, 401);
      assert.equal(unauthenticated.headers["www-authenticate"], "Bearer");

      assertForbidden(id, await as(`without-${id}`));
      assertForbidden(id, await as(`elsewhere-${id}`));
      const permitted = await as(`with-${id}`);
      assert.equal(permitted.status, INPUTS[id].status, permitted.text);

      await INPUTS[id].prepare?.(node.client);
      const here = await send(local, method, target, await sendingOf(id, node.client));
      assert.equal(here.status, INPUTS[id].status, here.text);
    });
  }

  for (const id of OPEN) {
    test(`${id} is answered without a token`, async () => {
      for (const listener of [plane.network, plane.local]) {
        const { status, text } = await send(listener, operationOf(id).method, targetOf(id));
        assert.equal(status, INPUTS[id].status, text);
      }
    });
  }

  test("the probes are answered without a token; no other path besides the operations succeeds", async () => {
    for (const path of ["/healthz", "/readyz"]) assert.equal((await send(plane.network, "GET", path)).status, 200);
    for (const path of ["/", "/metrics", "/admin", "/admin/v1", "/v1/models"]) {
      assert.equal((await send(plane.network, "GET", path)).status, 404, path);
    }
  });

  test("a query shows a table exactly to callers that may list it", async () => {
    const token = await issuer.tokenOf("alice", "with-run_query", "with-list_query_tables", "with-list_keys");
    const tables = await send(plane.network, "GET", "/admin/v1/query/tables", { token });
    const { items } = JSON.parse(tables.text) as { readonly items: readonly { readonly name: string }[] };
    assert.deepEqual(
      items.map(({ name }) => name),
      ["keys"],
    );
    const select = (from: string) =>
      send(plane.network, "POST", "/admin/v1/query", { token, body: JSON.stringify({ sql: `select * from ${from}` }) });
    assert.equal((await select("keys")).status, 200);
    const hidden = await select("secrets");
    const unknown = await select("nothing");
    assert.deepEqual([hidden.status, unknown.status], [400, 400]);
    assert.equal(refusedOf(hidden).message, refusedOf(unknown).message.replaceAll("nothing", "secrets"));
  });
});

describe("with a policy that denies local callers", () => {
  const owner = suiteOwner();
  let plane: Plane;
  before(async () => {
    plane = await startPlane(owner, {
      issuer: "http://127.0.0.1:9",
      policy: POLICY_AGAINST_LOCAL,
      deployment: { providers: [] },
    });
  });

  for (const id of GOVERNED.filter((it) => operationOf(it).group !== "read" || it === "list_keys")) {
    test(`${id} is refused to a local caller before its body is read`, async () => {
      assertForbidden(id, await send(plane.local, operationOf(id).method, targetOf(id), { body: "{" }));
    });
  }

  test("an operation that the policy permits is answered", async () => {
    const answer = await send(plane.local, "GET", "/admin/v1/whoami");
    const uid = process.getuid?.();
    assert.deepEqual(JSON.parse(answer.text), { issuer: "local", subject: `unix:${uid}`, roles: ["local"] });
  });

  test("while the issuer is unreachable, a token is neither accepted nor reported as invalid", async (t) => {
    const otherIssuer = await startIssuer(t);
    const token = await otherIssuer.token({ iss: NOWHERE, groups: ["everything"] });
    const answer = await send(plane.network, "GET", "/admin/v1/whoami", { token });
    assert.deepEqual([answer.status, answer.headers["www-authenticate"]], [503, undefined]);
    assert.equal(refusedOf(answer).code, "busy");
  });
});

describe("without an issuer", () => {
  const owner = suiteOwner();
  let plane: Plane;
  before(async () => {
    plane = await startPlane(owner);
  });

  for (const id of OPERATION_IDS.filter((it) => it !== "get_login")) {
    test(`${id} is answered to any caller on the loopback listener`, async () => {
      await INPUTS[id].prepare?.(plane.node.client);
      const sending = await sendingOf(id, plane.node.client);
      const { status, text } = await send(plane.network, operationOf(id).method, targetOf(id), sending);
      assert.equal(status, INPUTS[id].status, text);
    });
  }

  test("there is no way to sign in", async () => {
    assert.equal((await send(plane.network, "GET", "/admin/v1/login")).status, 404);
  });

  test("the caller is `loopback`, whatever identity the request claims", async () => {
    const { text } = await send(plane.network, "GET", "/admin/v1/whoami", { token: "anything" });
    assert.deepEqual(JSON.parse(text), { issuer: "local", subject: "loopback", roles: ["loopback"] });
  });

  for (const [what, headers] of [
    ["a foreign name that resolves to this machine", { host: "attacker.example" }],
    ["a name that contains the loopback address", { host: "127.0.0.1.attacker.example" }],
    ["a page of another origin", { origin: "https://attacker.example" }],
    ["a page of another site", { "sec-fetch-site": "cross-site" }],
    ["a page without an origin", { origin: "null" }],
  ] as const) {
    test(`${what} is refused for every operation`, async () => {
      for (const id of OPERATION_IDS) {
        const { status } = await send(plane.network, operationOf(id).method, targetOf(id), { headers });
        assert.equal(status, 403, id);
      }
    });
  }

  test("other host names of this machine are accepted", async () => {
    const { port } = plane.network;
    for (const host of [`localhost:${port}`, `127.0.0.2:${port}`, `[::1]:${port}`, "localhost"]) {
      assert.equal((await send(plane.network, "GET", "/admin/v1/whoami", { headers: { host } })).status, 200, host);
    }
  });
});
