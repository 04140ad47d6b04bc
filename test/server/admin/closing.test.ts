/** A plane that closes during changes records their outcomes before it has closed. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { PERMIT_ALL } from "../../../src/server/admin/access/types.ts";
import { openAdminPlane } from "../../../src/server/admin/admin-plane.ts";
import { openAdminSocket } from "../../../src/server/admin/index.ts";
import { handlerPorts } from "./support/handler-ports.ts";
import { createMemoryAudit } from "./support/memory-audit.ts";
import { createMemoryCluster } from "./support/memory-cluster.ts";

test("a restore cut off by a closing listener is recorded before the admin plane closes", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "gateway-admin-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, "admin.sock");
  const { audit, entries } = createMemoryAudit();
  const { cluster } = createMemoryCluster(() => 0);
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const ports = handlerPorts({
    audit,
    cluster: {
      ...cluster,
      // Like the real cluster, it removes a file before it reports its end.
      async restore(_archive, { signal }) {
        begin();
        if (signal?.aborted !== true) await once(signal ?? new AbortController().signal, "abort");
        await rm(join(directory, "archive"), { force: true });
        throw signal?.reason;
      },
    },
  });
  const plane = openAdminPlane(ports, PERMIT_ALL);
  const peerCredentials = () => ({ uid: 1000, gid: 1000, pid: undefined });
  const listener = await openAdminSocket({ path, plane, peerCredentials });

  const headers = { "content-type": "application/gzip" };
  const sent = request({ socketPath: path, method: "POST", path: "/admin/v1/snapshot", headers, agent: false });
  sent.on("error", () => undefined);
  sent.write("part of an archive");
  await begun;
  await listener.close(0);
  await plane.close();

  assert.deepEqual(
    entries.map(({ event, data }) => [event, data["action"], data["outcome"]]),
    [["admin.write", "restore_snapshot", "unknown"]],
  );
});
