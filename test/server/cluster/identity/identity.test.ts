import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type ConnectionOptions, connect, createServer, type TLSSocket } from "node:tls";
import { type Identity, startCertificateRenewal } from "../../../../src/server/cluster/identity/index.ts";
import { forge } from "./forged.ts";
import { identityOf, keysOf, OTHER_SECRET, SECRET } from "./made.ts";

type Judged = ReturnType<Identity["checkPeer"]>;

/** Returns both sides' view of one connection; `undefined` for a side whose handshake failed. */
async function meet(server: Identity, client: Identity, over: ConnectionOptions = {}, face = 0) {
  const listener = createServer(server.serverOptions());
  let seen: Judged | undefined;
  let error: string | undefined;
  listener.on("secureConnection", (socket: TLSSocket) => {
    seen = server.checkPeer(socket);
    socket.on("error", () => undefined);
    socket.end("hello");
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ host: "127.0.0.1", port, ...client.dialCredentials()[face]?.options, ...over });
  let found: Judged | undefined;
  let isReused = false;
  let session: Buffer | undefined;
  let received = "";
  socket.on("secureConnect", () => {
    found = client.checkPeer(socket);
    isReused = socket.isSessionReused();
  });
  socket.on("session", (input: Buffer) => {
    session = input;
  });
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  socket.on("error", (cause: NodeJS.ErrnoException) => {
    error = cause.code;
  });
  await new Promise((resolve) => socket.once("close", resolve));
  const closed = once(listener, "close");
  listener.close();
  await closed;
  return { seen, found, error, received, session, isReused, protocol: socket.getProtocol() };
}

test("nodes with the same secret make the same authority, byte for byte", async () => {
  const [one, two, other] = await Promise.all([
    identityOf("n1"),
    identityOf("n2"),
    identityOf("n1", { secret: OTHER_SECRET }),
  ]);
  assert.equal(one.caCertificate, two.caCertificate);
  assert.notEqual(one.caCertificate, other.caCertificate);
  const authority = new X509Certificate(one.caCertificate);
  assert.ok(authority.ca);
  assert.equal(authority.subject, `CN=gw-cluster-${one.clusterIds[0]}`);
  assert.equal(authority.serialNumber, "01");
  assert.equal(authority.publicKey.asymmetricKeyType, "ed25519");
  assert.deepEqual(
    [authority.validFrom, authority.validTo].map((text) => new Date(text).toISOString()),
    ["2020-01-01T00:00:00.000Z", "2120-01-01T00:00:00.000Z"],
  );
});

test("two nodes of one cluster identify each other over TLS 1.3", async () => {
  const [n1, n2] = await Promise.all([identityOf("n1"), identityOf("n2")]);
  const [clusterId] = n1.clusterIds;
  const { seen, found, received } = await meet(n1, n2);
  assert.deepEqual(seen, { kind: "node", id: "n2", clusterId });
  assert.deepEqual(found, { kind: "node", id: "n1", clusterId });
  assert.equal(received, "hello");
});

test("a command line is distinguished from a node", async () => {
  const [node, cli] = await Promise.all([identityOf("n1"), identityOf("0a1b", { kind: "cli" })]);
  assert.deepEqual((await meet(node, cli)).seen, { kind: "cli", id: "0a1b", clusterId: node.clusterIds[0] });
});

test("TLS 1.2 is refused", async () => {
  const [n1, n2] = await Promise.all([identityOf("n1"), identityOf("n2")]);
  const { error, seen } = await meet(n1, n2, {
    secureContext: undefined,
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.2",
  });
  assert.equal(seen, undefined);
  assert.equal(error, "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION");
});

test("another secret is refused by both sides", async () => {
  const [node, outsider] = await Promise.all([identityOf("n1"), identityOf("n2", { secret: OTHER_SECRET })]);
  const checked = await meet(node, outsider);
  assert.match(checked.error ?? "", /CERT/);
  assert.equal(checked.found, undefined);
  const unchecked = await meet(node, outsider, { rejectUnauthorized: false });
  assert.equal(unchecked.seen, undefined);
  assert.equal(unchecked.received, "");
});

test("a client without a certificate is refused", async () => {
  const node = await identityOf("n1");
  const { seen, received } = await meet(node, node, { secureContext: undefined, ca: node.caCertificate });
  assert.equal(seen, undefined);
  assert.equal(received, "");
});

test("an expired certificate is refused, and one valid from tomorrow is not", async () => {
  const dayMs = 86_400_000;
  const node = await identityOf("n1");
  const expired = await identityOf("n2", { now: () => Date.now() - 366 * dayMs });
  const ahead = await identityOf("n3", { now: () => Date.now() + 0.9 * dayMs });
  assert.equal((await meet(node, expired)).seen, undefined);
  assert.equal((await meet(expired, node)).error, "CERT_HAS_EXPIRED");
  assert.equal((await meet(node, ahead)).seen?.kind, "node");
});

test("no session is resumed", async () => {
  const [n1, n2] = await Promise.all([identityOf("n1"), identityOf("n2")]);
  const { session } = await meet(n1, n2);
  const again = await meet(n1, n2, session === undefined ? {} : { session });
  assert.equal(again.received, "hello");
  assert.equal(again.isReused, false);
});

test("a certificate of the authority is a peer only if it names exactly one node of this cluster", async () => {
  const keys = await keysOf(SECRET);
  const node = await identityOf("n1");
  const good = { type: "url", value: `gateway://${keys.clusterId}/node/n2` } as const;
  const cases = [
    [{ names: [good] }, "node"],
    [{ names: [{ type: "dns", value: "peer.gateway.internal" }] }, "the certificate names no peer"],
    [{ names: [good, { ...good, value: `${good.value}x` }] }, "the certificate names no peer"],
    [{ names: [{ ...good, value: `gateway://${keys.clusterId}/admin/n2` }] }, "the certificate names no peer"],
    [{ names: [{ ...good, value: `${good.value}, URI:x` }] }, "the certificate names no peer"],
    [{ names: [{ ...good, value: "gateway://0123456789abcdef/node/n2" }] }, "the certificate names another cluster"],
    [{ names: [good], isAuthority: true }, "the certificate is an authority's"],
  ] as const;
  for (const [forgery, expected] of cases) {
    const { cert, key } = await forge(keys, forgery);
    const { seen } = await meet(node, node, { secureContext: undefined, ca: node.caCertificate, cert, key });
    assert.equal(seen?.kind === "refused" ? seen.reason : seen?.kind, expected, JSON.stringify(forgery));
  }
});

test("the authority's own certificate and key do not make a peer", async () => {
  const keys = await keysOf(SECRET);
  const node = await identityOf("n1");
  const key = keys.caKey.export({ format: "pem", type: "pkcs8" }).toString();
  const over = { secureContext: undefined, ca: node.caCertificate, cert: node.caCertificate, key };
  assert.notEqual((await meet(node, node, over)).seen?.kind, "node");
});

test("while the secret changes, any two nodes have a certificate that both accept", async () => {
  const before = await identityOf("n1", { secret: OTHER_SECRET });
  const between = await identityOf("n2", { secret: SECRET, previous: OTHER_SECRET });
  const after = await identityOf("n3", { secret: SECRET });
  const faces = async (server: Identity, client: Identity) => {
    const met = await Promise.all([meet(server, client), meet(server, client, {}, 1)]);
    return met.map(({ seen, found, received }) => seen?.kind === "node" && found?.kind === "node" && received !== "");
  };
  assert.deepEqual(await faces(between, before), [false, true]);
  assert.deepEqual(await faces(before, between), [false, true]);
  assert.deepEqual(await faces(between, between), [true, true]);
  assert.deepEqual((await faces(between, after))[0], true);
  assert.deepEqual((await faces(after, between))[0], true);
  assert.deepEqual(await faces(after, before), [false, false]);
});

test("renewed certificates differ, have the same authority, and are announced", async () => {
  let now = Date.now();
  const node = await identityOf("n1", { now: () => now });
  const peer = await identityOf("n2");
  const before = { cert: node.serverOptions().cert, issuedAt: node.issuedAt };
  let calls = 0;
  const stop = node.onRefresh(() => {
    calls += 1;
  });
  now += 1_000;
  await node.refresh();
  assert.notEqual(node.serverOptions().cert, before.cert);
  assert.equal(node.issuedAt, before.issuedAt + 1_000);
  assert.equal((await meet(node, peer)).seen?.kind, "node");
  assert.equal((await meet(peer, node)).seen?.kind, "node");
  stop();
  await node.refresh();
  assert.equal(calls, 1);
});

test("certificates are renewed after thirty days", async () => {
  const dayMs = 86_400_000;
  let now = Date.now();
  const node = await identityOf("n1", { now: () => now });
  const refreshed = new Promise<void>((resolve) => node.onRefresh(resolve));
  let look = () => {};
  let isStopped = false;
  const stop = startCertificateRenewal(node, {
    now: () => now,
    onFailure: (error) => assert.fail(String(error)),
    every: (_, input) => {
      look = input;
      return () => {
        isStopped = true;
      };
    },
  });
  const { issuedAt } = node;
  now += 29 * dayMs;
  look();
  assert.equal(node.issuedAt, issuedAt);
  now += dayMs;
  look();
  await refreshed;
  assert.equal(node.issuedAt, now);
  stop();
  assert.ok(isStopped);
});

test("an id that a certificate cannot contain is refused", async () => {
  await assert.rejects(identityOf("n1/../n2"), RangeError);
});
