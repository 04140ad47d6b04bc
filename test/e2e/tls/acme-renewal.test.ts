/** A certificate with seconds to live is renewed by a serving gateway, and status and metrics follow. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { peer } from "../../peers/index.ts";
import { startPebble } from "../../server/tls/acme/support/pebble.ts";
import { startWithFiles } from "../support/config.ts";
import { freePort } from "../support/ports.ts";
import { atEnd, eventually } from "../support/wait.ts";
import { handshake } from "./support.ts";

const pebble = await peer("pebble");

const DOMAIN = "gw.example.com";
const DEPLOYMENT = { providers: [{ name: "main", dialect: "compat", base_url: "http://127.0.0.1:9/v1" }] };
/** The certificate is renewed at half of its life. */
const LIFE_SECONDS = 16;

function statusOf(socketPath: string): Promise<{ readonly certificates?: unknown }> {
  return new Promise((resolve, reject) => {
    get({ socketPath, path: "/admin/v1/status" }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      answer.on("end", () => resolve(JSON.parse(text)));
    }).on("error", reject);
  });
}

test("a certificate is replaced while requests continue, and status and metrics follow", {
  skip: pebble.missing,
}, async (t) => {
  const port = await freePort();
  const authority = await startPebble(pebble.path, { httpPort: port, lifeSeconds: LIFE_SECONDS });
  atEnd(t, () => authority.close());
  const dir = await mkdtemp(join(tmpdir(), "gateway-renewal-"));
  atEnd(t, () => rm(dir, { recursive: true, force: true }));
  const socket = join(dir, "admin.sock");
  const tls = { domains: [DOMAIN], email: "ops@example.com", ca: authority.directory, trusted_roots: authority.roots };
  const changes = { listen: `127.0.0.1:${port}`, admin: { local_socket: socket }, tls };
  const gateway = await startWithFiles(t, DEPLOYMENT, changes);
  const ca = await authority.issuer();
  const serial = async (): Promise<string | undefined> => {
    try {
      const connection = await handshake(t, port, { ca, servername: DOMAIN });
      const { serialNumber } = connection.getPeerCertificate();
      connection.destroy();
      return serialNumber;
    } catch {
      return undefined;
    }
  };
  const metrics = async (): Promise<string> => await (await fetch(gateway.metricsUrl ?? "")).text();
  const notAfter = async () =>
    Number(/^gateway_certificate_not_after_seconds ([0-9.e+]+)$/m.exec(await metrics())?.[1] ?? 0);

  const first = await eventually("the first certificate", serial);
  const expires = await notAfter();

  // One kept-alive connection, and new ones: none of them may fail.
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const fresh = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  atEnd(t, () => {
    kept.destroy();
    fresh.destroy();
  });
  let connections = 0;
  const ask = (agent: Agent): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request(
        { agent, host: "127.0.0.1", port, path: "/v1/nothing", servername: DOMAIN, ca, rejectUnauthorized: true },
        (answer) => {
          answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
        },
      );
      asked.on("socket", () => {
        if (agent === kept && !asked.reusedSocket) connections += 1;
      });
      asked.on("error", reject).end();
    });
  let requestCount = 0;
  const second = await eventually(
    "the second certificate",
    async () => {
      const statuses = await Promise.all([ask(kept), ask(fresh)]);
      // The gateway answers; the provider is not running.
      assert.deepEqual(statuses, [502, 502]);
      requestCount += 1;
      const now = await serial();
      return now !== first && now;
    },
    (LIFE_SECONDS + 15) * 1_000,
  );
  await ask(kept);
  assert.equal(connections, 1, "the connection that was kept is that of before");
  assert.ok(requestCount > 5, `${requestCount} rounds`);
  assert.deepEqual(authority.counts(), { orders: 2, issued: 2 });
  assert.ok((await notAfter()) > expires);
  const text = JSON.stringify((await statusOf(socket)).certificates).toUpperCase();
  assert.ok(text.includes(second) && !text.includes(first ?? "-"), text);

  const names = [...(await metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
    "no series is exposed twice",
  );

  const eab = { key_id: "kid-1", mac_key: "c2VjcmV0" };
  await gateway.files.writeNode({ ...changes, tls: { ...tls, email: "other@example.com", eab } });
  const from = gateway.log().length;
  gateway.signal("SIGHUP");
  await gateway.logged("reloaded", from);
  const lines = gateway.log().filter(({ message }) => message === "a change of the node file needs a restart");
  assert.deepEqual(lines.map(({ key }) => key).sort(), ["tls.eab", "tls.email"]);
  assert.match(
    String(lines.find(({ key }) => key === "tls.eab")?.["note"]),
    /another tls\.email creates a new account/,
  );
});
