// tier: test
/**
 * Audit trail of the admin plane, read from the stderr of a real process: every change, denial and rejected caller is
 * recorded once, and the whole trail verifies. Source: design decisions, section 4; specification document 1, "audit
 * verify".
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { eventually } from "../support/wait.ts";
import { INPUTS, OPERATION_IDS, operationOf, resourceOf, sendingOf, targetOf } from "./support/inputs.ts";
import { type Issuer, startIssuer } from "./support/issuer.ts";
import { type Plane, startPlane } from "./support/plane.ts";
import { exchange, send } from "./support/send.ts";
import { suiteOwner } from "./support/suite.ts";
import { recordsIn, type SeenRecord, verify, witnessedHeads } from "./support/trail.ts";

const POLICY = `
  permit(principal in Role::"local", action, resource);
  @id("admins")
  permit(principal in Role::"admin", action, resource);
  @id("not-the-snapshot")
  forbid(principal, action == Action::"save_snapshot", resource) when { principal is User };
`;

const CHANGES = OPERATION_IDS.filter((id) => operationOf(id).group !== "read");

describe("audit trail", () => {
  const owner = suiteOwner();
  let issuer: Issuer;
  let plane: Plane;
  before(async () => {
    issuer = await startIssuer(owner);
    plane = await startPlane(owner, { issuer: issuer.url, policy: POLICY });
  });

  const records = () => recordsIn(plane.node.output());
  const ofRequest = (id: string) =>
    eventually(`the record of ${id}`, () => {
      const found = records().filter(({ data }) => data["request_id"] === id);
      return found.length > 0 && found;
    });
  const factsOf = ({ event, data }: SeenRecord) => {
    const { action, resource, principal, door, outcome } = data;
    return { event, action, resource, principal, door, outcome };
  };

  for (const id of CHANGES) {
    test(`${id} is recorded once, with caller, action and target, over either listener`, async () => {
      const token = await issuer.token({
        sub: "alice",
        groups: ["admin"],
        name: "ignored",
        preferred_username: "alice.a",
      });
      const principals = { local: `unix:${process.getuid?.()}`, network: "corp/alice" };
      for (const listener of ["local", "network"] as const) {
        await INPUTS[id].prepare?.(plane.node.client);
        const { headers, ...sending } = await sendingOf(id, plane.node.client);
        const requestId = `${id}-${listener}`;
        const named = { ...sending, token, headers: { ...headers, "x-request-id": requestId } };
        const { status } = await send(plane[listener], operationOf(id).method, targetOf(id), named);
        const isDenied = listener === "network" && id === "save_snapshot";
        assert.equal(status, isDenied ? 403 : INPUTS[id].status);
        const [record, ...more] = await ofRequest(requestId);
        assert.ok(record);
        const { kind, name } = resourceOf(id);
        assert.deepEqual(factsOf(record), {
          event: isDenied ? "access.decision" : "admin.write",
          action: id,
          resource: `${kind}::"${name}"`,
          principal: principals[listener],
          door: listener,
          outcome: isDenied ? undefined : status < 400 ? "done" : "refused",
        });
        assert.equal(record.data["principal_name"], listener === "network" ? "alice.a" : undefined);
        if (id === "create_key") assert.equal(record.data["name"], "matrix");
        if (isDenied) assert.deepEqual(record.data["policies"], ["not-the-snapshot"]);
        assert.deepEqual(more, []);
      }
    });
  }

  test("the record is in the journal before the answer is sent, so it survives a lost stderr", async () => {
    // A record of this process arrives no later than the answer to another request.
    await send(plane.local, "PUT", targetOf("put_suspension"), {
      body: '{"reason":"for the record"}',
      headers: { "x-request-id": "reason" },
    });
    const [record] = await ofRequest("reason");
    assert.equal(record?.data["reason"], "for the record");
  });

  test("allowed reads leave no record; a denied read records the policy that denied it", async () => {
    const headers = { "x-request-id": "denied" };
    const token = await issuer.tokenOf("bob", "nobody");
    assert.equal((await send(plane.network, "GET", "/admin/v1/keys", { token, headers })).status, 403);
    await send(plane.local, "GET", "/admin/v1/keys", { headers: { "x-request-id": "read" } });
    const [record] = await ofRequest("denied");
    const { action, resource, principal, roles, decision, policies } = record?.data ?? {};
    assert.deepEqual(
      { action, resource, principal, roles, decision, policies },
      {
        action: "list_keys",
        resource: 'Table::"keys"',
        principal: "corp/bob",
        roles: ["nobody"],
        decision: "deny",
        policies: [],
      },
    );
    assert.ok(records().every(({ data }) => data["request_id"] !== "read"));
  });

  test("unauthenticated requests are recorded, at most ten a second; the rest are counted", async () => {
    const already = records().filter(({ event }) => event === "auth.failure").length;
    const [head, claims, signature = ""] = (await issuer.tokenOf("mallory", "admin")).split(".");
    const token = `${head}.${claims}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    const attempts = 100;
    const startedAt = Date.now();
    await Promise.all(
      Array.from({ length: attempts }, () => exchange(plane.network, "GET", "/admin/v1/whoami", { token })),
    );
    const seconds = Math.floor(Date.now() / 1_000) - Math.floor(startedAt / 1_000) + 1;
    const sampled = () =>
      records()
        .filter(({ event }) => event === "auth.failure")
        .slice(already);
    // A record in a later second says how many were left out.
    const counted = () => sampled().reduce((sum, { data }) => sum + 1 + Number(data["suppressed"] ?? 0), 0);
    let more = 0;
    await eventually("the count of the others", async () => {
      if (counted() >= attempts) return true;
      more += 1;
      await exchange(plane.network, "GET", "/admin/v1/whoami", { token });
      return counted() >= attempts;
    });
    assert.ok(counted() <= attempts + more);
    const inTime = sampled().filter(({ ts }) => Date.parse(ts) < (Math.floor(startedAt / 1_000) + seconds) * 1_000);
    assert.ok(inTime.length >= 10 && inTime.length <= 10 * seconds, `${inTime.length} in ${seconds} s`);
    const [first] = sampled();
    assert.deepEqual([first?.data["door"], first?.data["fault"]], ["network", "signature"]);
    assert.ok(!JSON.stringify(sampled()).includes(token.slice(0, 40)));
  });

  test("the trail verifies against the witnessed heads; a cut or changed trail does not", async (t) => {
    const { node } = plane;
    const heads = await eventually("a witnessed head", async () => {
      const text = await witnessedHeads(t, node);
      const [head] = JSON.parse(text) as readonly { readonly seq: number }[];
      return (head?.seq ?? 0) > 0 && text;
    });
    const output = node.output();
    const whole = await verify(t, node.dir, output, heads);
    assert.equal(whole.status, 0, whole.text);
    assert.match(whole.text, /^ok {3}n1 /m);

    const [{ seq = 0 } = {}] = JSON.parse(heads) as readonly { readonly seq?: number }[];
    const lines = output.split("\n");
    const at = lines.findIndex((line) => line.includes(`"seq":${seq},`));
    assert.ok(at > 0);
    const without = (from: number, to: number) => lines.filter((_, index) => index < from || index >= to).join("\n");
    const cut = await verify(t, node.dir, without(at, lines.length), heads);
    assert.equal(cut.status, 1, cut.text);
    assert.equal((await verify(t, node.dir, without(at, lines.length))).status, 0, "only the heads tell of the end");
    const gap = lines.findIndex((line) => line.includes('"event":"admin.write"'));
    assert.equal((await verify(t, node.dir, without(gap, gap + 1), heads)).status, 1);
    const changed = output.replace('"outcome":"done"', '"outcome":"refused"');
    assert.notEqual(changed, output);
    assert.equal((await verify(t, node.dir, changed, heads)).status, 1);
  });
});
