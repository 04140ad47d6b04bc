/** A failed start, by the status that a supervisor sees. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startFailure } from "../../src/cli/start-failure.ts";
import { placeSocket } from "../../src/server/admin/listeners/socket-path.ts";
import { unwritable } from "../../src/server/audit/audit-error.ts";
import { listenLocally } from "../e2e/support/ports.ts";

test("an unwritable audit trail is a storage fault", () => {
  const full = Object.assign(new Error("no space"), { code: "ENOSPC" });
  const { status, message } = startFailure(unwritable("/data/audit-head", full));
  assert.equal(status, 11);
  assert.match(message, /free space on that disk/);
});

test("an address that the system refuses for another reason cannot be listened on", async () => {
  // A link-local address needs a zone.
  const error = await new Promise<Error>((resolve) => createServer().once("error", resolve).listen(0, "fe80::1"));
  const { status, message } = startFailure(error);
  assert.equal(status, 12, message);
  assert.match(message, /^cannot listen: .*fe80::1/);
});

test("an address that is taken or needs a right says what to do", () => {
  const failed = (code: string) =>
    startFailure(new Error("metrics: cannot listen on :80", { cause: Object.assign(new Error("x"), { code }) }));
  assert.deepEqual(failed("EADDRINUSE"), {
    status: 12,
    message:
      "cannot listen: another process uses the address (metrics: cannot listen on :80): stop it (`ss -ltnp` names it), or use another address",
  });
  assert.match(failed("EACCES").message, /\): use a port from 1024 on, or give the process CAP_NET_BIND_SERVICE$/);
  assert.match(failed("EADDRNOTAVAIL").message, /\): use one of its own, or leave the host out for all of them$/);
});

test("a local socket that another process serves cannot be listened on", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "gateway-start-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, "admin.sock");
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(path, resolve));
  t.after(() => other.close());
  const failed = placeSocket(path, () => listenLocally(createServer()));
  const error: unknown = await failed.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { status, message } = startFailure(error);
  assert.equal(status, 12);
  assert.match(message, /another process listens on .*admin\.sock; stop it/);
});

test("a local socket whose path cannot be used cannot be listened on", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "gateway-start-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const places = [
    [directory, /is not a socket; remove it/],
    [join(directory, "absent", "admin.sock"), /its directory does not exist/],
    [join(directory, "a".repeat(200)), /is too long/],
  ] as const;
  for (const [path, reason] of places) {
    const error: unknown = await placeSocket(path, () => listenLocally(createServer())).catch((it: unknown) => it);
    const { status, message } = startFailure(error);
    assert.equal(status, 12, message);
    assert.match(message, /^cannot listen: admin\.local_socket: /);
    assert.match(message, reason);
  }
});
