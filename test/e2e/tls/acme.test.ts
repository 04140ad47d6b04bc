/**
 * Three nodes, one authority: the validator is sent to each in turn, all serve what one ordered, and no key is stored
 * in plain text.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { peer } from "../../peers/index.ts";
import { startPebble } from "../../server/tls/acme/support/pebble.ts";
import { startWithFiles } from "../support/config.ts";
import { freePort, listenLocally } from "../support/ports.ts";
import { atEnd, eventually } from "../support/wait.ts";
import { handshake } from "./support.ts";

const pebble = await peer("pebble");

const DOMAINS = ["gw.example.com", "api.example.com", "mcp.example.com"];
const DEPLOYMENT = { providers: [{ name: "main", dialect: "compat", base_url: "http://127.0.0.1:9/v1" }] };

/** Prefixes of P-256 keys in DER and PEM; the key of the audit trail, in its own file, is of another type. */
const KEY_DER = Buffer.from("308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420", "hex");
const KEY_PEM = KEY_DER.toString("base64").slice(0, 44);
const UNSEALED = [KEY_DER, Buffer.from(KEY_PEM), Buffer.from(KEY_PEM).toString("base64").slice(0, 56)];

test("a cluster has one certificate, validated at every node and served by every node", {
  skip: pebble.missing,
}, async (t) => {
  const ports = await Promise.all(DOMAINS.map(freePort));
  const requestCounts = ports.map(() => 0);
  let turn = 0;
  // Like a load balancer, tries the next server if one refuses.
  const balancer = createServer({ pauseOnConnect: true }, async (socket) => {
    socket.on("error", () => undefined);
    const [onward, at] = await reached();
    requestCounts[at] = (requestCounts[at] ?? 0) + 1;
    socket.pipe(onward).pipe(socket);
    socket.resume();
  });
  async function reached(): Promise<readonly [Socket, number]> {
    for (;;) {
      const at = turn++ % ports.length;
      const onward = connect(ports[at] ?? 0, "127.0.0.1");
      onward.on("error", () => undefined);
      const isOpen = await once(onward, "connect").then(
        () => true,
        () => false,
      );
      if (isOpen) return [onward, at];
    }
  }
  const httpPort = await listenLocally(balancer);
  atEnd(t, () => void balancer.close());
  const authority = await startPebble(pebble.path, { httpPort });
  atEnd(t, () => authority.close());
  const root = await mkdtemp(join(tmpdir(), "gateway-acme-"));
  atEnd(t, () => rm(root, { recursive: true, force: true }));

  const peers = await Promise.all(
    ["n1", "n2", "n3"].map(async (id) => ({
      id,
      raft_addr: `127.0.0.1:${await freePort()}`,
      forward_addr: `127.0.0.1:${await freePort()}`,
    })),
  );
  const nodes = await Promise.all(
    peers.map(async ({ id, raft_addr, forward_addr }, at) => {
      const data_dir = join(root, id);
      await mkdir(data_dir);
      return await startWithFiles(t, DEPLOYMENT, {
        listen: `127.0.0.1:${ports[at]}`,
        cluster: {
          node_id: id,
          data_dir,
          secret: "the secret of a cluster under test",
          raft_addr,
          forward_addr,
          peers,
        },
        tls: { domains: DOMAINS, email: "ops@example.com", ca: authority.directory, trusted_roots: authority.roots },
      });
    }),
  );
  const ca = await authority.issuer();
  const serials = await Promise.all(
    nodes.map(({ port }) =>
      eventually("a certificate of the authority", async () => {
        try {
          const socket = await handshake(t, port, { ca, servername: "api.example.com" });
          const { serialNumber } = socket.getPeerCertificate();
          socket.destroy();
          return serialNumber;
        } catch {
          return undefined;
        }
      }),
    ),
  );
  assert.equal(new Set(serials).size, 1);
  assert.deepEqual(authority.counts(), { orders: 1, issued: 1 });
  // A node that did not listen yet was skipped.
  assert.ok(requestCounts.filter((times) => times > 0).length > 1, `asked: ${requestCounts.join(", ")}`);
  assert.equal(nodes.flatMap(({ log }) => log().filter(({ message }) => message === "certificate issued")).length, 1);

  let seen = 0;
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    if (bytes.includes("gw.example.com")) seen += 1;
    for (const text of UNSEALED) assert.ok(!bytes.includes(text), `${entry.name} holds a key`);
  }
  assert.ok(seen > 0, "what was replicated is looked at");
  for (const { log } of nodes) assert.ok(!JSON.stringify(log()).includes("PRIVATE KEY"));
});
