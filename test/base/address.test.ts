/** Listen and dial addresses: parsing, refusals, and round trips. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress } from "../../src/base/address.ts";

const ACCEPTED = [
  [":9464", { port: 9464 }],
  [":0", { port: 0 }],
  ["localhost:0", { host: "localhost", port: 0 }],
  ["127.0.0.1:80", { host: "127.0.0.1", port: 80 }],
  ["0.0.0.0:65535", { host: "0.0.0.0", port: 65_535 }],
  ["node-1.gateway_internal.svc:7000", { host: "node-1.gateway_internal.svc", port: 7000 }],
  ["[::1]:80", { host: "::1", port: 80 }],
  ["[::]:80", { host: "::", port: 80 }],
  ["[fe80::1%eth0]:80", { host: "fe80::1%eth0", port: 80 }],
  ["[::ffff:10.0.0.1]:80", { host: "::ffff:10.0.0.1", port: 80 }],
] as const;

for (const [text, address] of ACCEPTED) {
  test(`${text} is parsed and formatted unchanged`, () => {
    assert.deepEqual(parseAddress(text), address);
    assert.equal(formatAddress(address), text);
  });
}

const REFUSED = [
  ["nothing", ""],
  ["a port without its colon", "9464"],
  ["a host without a port", "localhost"],
  ["an empty port", "localhost:"],
  ["a port beyond 65535", ":65536"],
  ["a negative port", ":-1"],
  ["a port with a sign", ":+80"],
  ["a named port", ":http"],
  ["an IPv6 address without brackets", "::1:80"],
  ["brackets around text that is not an address", "[localhost]:80"],
  ["brackets around groups that do not parse", "[1::2::3]:80"],
  ["an open bracket", "[::1:80"],
  ["empty brackets", "[]:80"],
  ["a URL", "http://localhost:80"],
  ["an IPv4 address out of range", "127.0.0.300:80"],
  ["an IPv4 address of three parts", "127.0.1:80"],
  ["a space", "local host:80"],
  ["a newline at the end", ":80\n"],
  ["a name longer than DNS allows", `${"a".repeat(254)}:80`],
] as const;

for (const [what, text] of REFUSED) {
  test(`${what} is not an address`, () => assert.equal(parseAddress(text), undefined));
}
