/**
 * Reasons of suspensions and acknowledgements contain no secret: a pasted one is refused, and neither repeated nor
 * stored.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { AdminError } from "../../../src/admin-api/index.ts";
import { mintKey } from "../../../src/server/auth/virtual-key.ts";
import { openAdmin } from "./support/open-admin.ts";

const { text: KEY } = mintKey(randomBytes);
/** A key with a wrong checksum, like one typed from paper. */
const MISTYPED = `${KEY.slice(0, -1)}${KEY.endsWith("0") ? "1" : "0"}`;
/** Split so that no source scanner takes it for a credential. */
const AWS = ["AKIA", "Z7QPLM3NXTW5RV2J"].join("");

for (const [what, secret] of [
  ["virtual key", KEY],
  ["mistyped virtual key", MISTYPED],
  ["access key", AWS],
  ["password", "password=q7Rz1Lk9Xv3T"],
] as const) {
  test(`a reason with a ${what} is refused with the remedy and stored nowhere`, async (t) => {
    const { client, audit } = await openAdmin(t);
    const reason = `leaked in a chat: ${secret}, revoke it`;
    const asked = [
      client.call("put_suspension", { params: { kind: "model", name: "m" }, body: { reason } }),
      client.call("put_acknowledgement", { params: { name: "provider:a" }, body: { reason, duration: "1h" } }),
    ];
    for (const answer of asked) {
      await assert.rejects(answer, (error) => {
        assert.ok(error instanceof AdminError);
        assert.deepEqual([error.status, error.code], [400, "invalid"]);
        assert.match(error.message, /looks like a secret.*nothing was written\. Remove it/);
        assert.ok(!JSON.stringify([error.message, error.details]).includes(secret));
        return true;
      });
    }
    assert.deepEqual((await client.call("list_suspensions")).items, []);
    assert.deepEqual((await client.call("list_acknowledgements")).items, []);
    assert.equal(audit.entries.length, 2);
    assert.ok(!JSON.stringify(audit.entries).includes(secret));
  });
}

test("ordinary reasons are accepted", async (t) => {
  const { client } = await openAdmin(t);
  const reasons = [
    "key rotation until the evening, ticket INC-204711",
    "key jK3mP9Qx was pasted into a chat by alice@example.com",
    "https://status.example/incidents/9f2c11d0-6a1b-4a58-9e02-7a6f6f2f9d11",
    "after commit 946221ad tokens were counted twice",
  ];
  for (const reason of reasons) {
    await client.call("put_suspension", { params: { kind: "model", name: "m" }, body: { reason } });
    assert.deepEqual(
      (await client.call("list_suspensions")).items.map((row) => row.reason),
      [reason],
    );
  }
});
