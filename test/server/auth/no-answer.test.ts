/** An issuer that switches protocols instead of answering. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { probeIssuer } from "../../../src/server/auth/index.ts";
import { listenLocally } from "../../e2e/support/ports.ts";

const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";

test("a protocol switch is an immediate failure and not an endless wait", async (t) => {
  const server = createServer(
    (socket) => void socket.on("error", () => undefined).once("data", () => socket.write(SWITCH)),
  );
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  t.after(() => server.close());
  const issuer = {
    name: "corp",
    url,
    jwksUrl: `${url}/keys`,
    caFile: undefined,
    tokenFile: undefined,
    subjectClaim: "sub",
    nameClaim: undefined,
  };
  const found = await probeIssuer(issuer, { timeoutMs: 60_000, signal: new AbortController().signal });
  assert.deepEqual(found, { kind: "failed", step: "keys", message: `${url}/keys: closed without an answer` });
});
