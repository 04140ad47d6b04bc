import assert from "node:assert/strict";
import { test } from "node:test";
import { ownListeners } from "../../../../src/server/upstream/index.ts";
import { blockedKind, isLoopback } from "../../../../src/server/upstream/pools/blocked-addresses.ts";

test("blocked addresses are refused in every form that leads to them", () => {
  const fenced: Readonly<Record<string, readonly string[]>> = {
    "an unspecified": ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0", "64:ff9b::0:1"],
    "a link-local": [
      "169.254.169.254",
      "fe80::1",
      "febf::1",
      "fe80::1%eth0",
      "fd00:ec2::254",
      "::ffff:169.254.169.254",
      "::ffff:a9fe:a9fe",
      "::169.254.1.1",
      "64:ff9b::a9fe:a9fe",
      "2002:a9fe:a9fe::1",
    ],
    "a multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "a reserved": ["240.0.0.1", "255.255.255.255"],
  };
  for (const [description, addresses] of Object.entries(fenced)) {
    for (const address of addresses) assert.equal(blockedKind(address), description, address);
  }
  const dialed = ["10.0.0.7", "192.168.1.1", "100.64.0.1", "127.0.0.1", "::1", "fd00::1", "203.0.113.9", "2001:db8::1"];
  for (const address of dialed) assert.equal(blockedKind(address), undefined, address);
});

test("loopback is recognized in every form", () => {
  for (const address of ["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]) {
    assert.ok(isLoopback(address), address);
  }
  for (const address of ["128.0.0.1", "10.0.0.1", "::2", "fd00::1"]) assert.ok(!isLoopback(address), address);
});

test("a listener is recognized at its address, or at every address of this machine if it has none", () => {
  const isOwn = ownListeners(["127.0.0.1:8080", "0.0.0.0:9000", "[::]:9001", "/run/gateway/admin.sock"]);
  assert.ok(isOwn("127.0.0.1", 8080));
  assert.ok(!isOwn("127.0.0.2", 8080));
  assert.ok(isOwn("127.0.0.2", 9000));
  assert.ok(isOwn("::1", 9001));
  assert.ok(!isOwn("203.0.113.9", 9000));
  assert.ok(!isOwn("127.0.0.1", 9002));
});
