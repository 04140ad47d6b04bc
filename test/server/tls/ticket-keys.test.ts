import assert from "node:assert/strict";
import { test } from "node:test";
import { createTicketKeys } from "../../../src/server/tls/index.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const now = 20_000 * DAY_MS;
const secret = Buffer.alloc(32, 1);

test("nodes with one secret have the same keys on one day; another secret or day has others", () => {
  const [mine, peers, others] = [secret, secret, Buffer.alloc(32, 2)].map((it) => createTicketKeys(it)(now));
  assert.equal(mine?.length, 48);
  assert.deepEqual(mine, peers);
  assert.notDeepEqual(mine, others);
  assert.deepEqual(createTicketKeys(secret)(now + DAY_MS - 1), mine);
  assert.notDeepEqual(createTicketKeys(secret)(now + DAY_MS), mine);
});

test("a process without a secret has keys of its own, the same all day", () => {
  const own = createTicketKeys(undefined);
  assert.deepEqual(own(now), own(now + 1));
  assert.notDeepEqual(own(now), createTicketKeys(undefined)(now));
});
