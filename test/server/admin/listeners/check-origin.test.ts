/** Requests of web pages are refused by host, origin and site; those of programs are not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CheckToken } from "../../../../src/server/admin/listeners/token-authentication.ts";
import { openNetwork } from "./support/open-network.ts";
import { ask, codeOf } from "./support/raw.ts";

const principal = { issuer: "corp", subject: "ann", roles: [] };
const tokens: CheckToken = async () => ({ kind: "principal", principal });

/** Statuses without and with an issuer. */
const CASES: readonly (readonly [host: string, others: readonly string[], open: number, trusted: number])[] = [
  // Hosts.
  ["127.0.0.1", [], 200, 200],
  ["127.0.0.1:8485", [], 200, 200],
  ["127.9.9.9", [], 200, 200],
  ["[::1]:8485", [], 200, 200],
  ["[0:0:0:0:0:0:0:1]", [], 200, 200],
  ["localhost:1", [], 200, 200],
  ["LocalHost", [], 200, 200],
  ["gateway.example", [], 403, 200],
  ["10.0.0.1", [], 403, 200],
  ["[2001:db8::1]", [], 403, 200],
  ["0.0.0.0", [], 403, 200],
  ["localhost.", [], 403, 200],
  ["localhost.evil.example", [], 403, 200],
  ["127.0.0.1.evil.example", [], 403, 200],
  ["127.0.0.1@evil.example", [], 400, 400],
  ["evil.example/127.0.0.1", [], 400, 400],
  ["127.0.0.1:99999", [], 400, 400],
  ["127.0.0.256", [], 400, 400],
  ["[::1", [], 400, 400],
  ["", [], 400, 400],
  // Origins.
  ["localhost:8485", ["origin: http://localhost:8485"], 200, 200],
  ["localhost:8485", ["origin: HTTP://LOCALHOST:8485"], 200, 200],
  ["localhost", ["origin: http://localhost"], 200, 200],
  ["localhost:80", ["origin: http://localhost"], 200, 200],
  ["[::1]:8485", ["origin: http://[::1]:8485"], 200, 200],
  ["gateway.example", ["origin: https://gateway.example"], 403, 200],
  ["localhost:8485", ["origin: http://localhost:3000"], 403, 403],
  ["localhost:8485", ["origin: http://127.0.0.1:8485"], 403, 403],
  ["localhost:8485", ["origin: http://evil.example"], 403, 403],
  ["localhost:8485", ["origin: http://localhost:8485.evil.example"], 403, 403],
  ["localhost:8485", ["origin: null"], 403, 403],
  ["localhost:8485", ["origin: "], 403, 403],
  ["localhost:8485", ["origin: file://"], 403, 403],
  ["localhost:8485", ["origin: localhost:8485"], 403, 403],
  ["localhost:8485", ["origin: http://localhost:8485", "origin: http://evil.example"], 403, 403],
  // Sites.
  ["localhost", ["sec-fetch-site: same-origin"], 200, 200],
  ["localhost", ["sec-fetch-site: none"], 200, 200],
  ["localhost", ["sec-fetch-site: cross-site"], 403, 403],
  ["localhost", ["sec-fetch-site: same-site"], 403, 403],
  ["localhost", ["sec-fetch-site: none", "sec-fetch-site: cross-site"], 403, 403],
];

const pair = (line: string): readonly [string, string] => {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2)];
};

const CODES: Readonly<Record<number, string>> = { 200: "none", 400: "invalid", 403: "forbidden" };

test("each combination of host, origin and site is answered as in the table, with and without an issuer", async (t) => {
  const open = await openNetwork(t);
  const trusted = await openNetwork(t, { tokens });
  for (const [host, others, openStatus, trustedStatus] of CASES) {
    for (const [{ port }, status] of [
      [open, openStatus],
      [trusted, trustedStatus],
    ] as const) {
      const headers = [["host", host] as const, ...others.map(pair), ["authorization", "Bearer a"] as const];
      const answer = await ask(port, "/admin/v1/whoami", headers);
      const what = `${host} ${others.join(" ")} ${status === trustedStatus ? "trusted" : "open"}`;
      assert.deepEqual([answer.status, codeOf(answer)], [status, CODES[status]], what);
    }
  }
});

test("open paths and unknown paths are also refused to web pages", async (t) => {
  const { port } = await openNetwork(t, { tokens });
  const foreign = ["origin", "http://evil.example"] as const;
  for (const target of ["/admin/v1/login", "/admin/v1/nothing", "/", "/healthz/", "http://localhost/healthz"]) {
    assert.equal((await ask(port, target, [["host", "localhost"], foreign])).status, 403, target);
  }
  assert.equal((await ask(port, "/healthz", [["host", "localhost"], foreign], { method: "POST" })).status, 403);
  assert.equal(
    (await ask(port, "/admin/v1/keys", [["host", "localhost"], foreign], { method: "OPTIONS" })).status,
    403,
  );
});

test("no answer allows another origin to read it", async (t) => {
  const { port } = await openNetwork(t);
  for (const [method, origin] of [
    ["GET", "http://localhost"],
    ["GET", "http://evil.example"],
    ["OPTIONS", "http://evil.example"],
  ] as const) {
    const { headers } = await ask(
      port,
      "/admin/v1/whoami",
      [
        ["host", "localhost"],
        ["origin", origin],
      ],
      { method },
    );
    assert.deepEqual(
      [...headers.keys()].filter((name) => name.startsWith("access-control-")),
      [],
    );
  }
});
