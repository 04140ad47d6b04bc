// tier: all
/** `gateway check` of certificates by ACME: the authority, the DNS of challenges, and where names resolve. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { type Document, writeFiles } from "../../e2e/support/config.ts";
import { type DnsServer, dnsServer } from "../../e2e/support/dns.ts";
import { freePort, listenLocally } from "../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";
import { peer } from "../../peers/index.ts";
import { startBind, TSIG } from "../../server/tls/acme/support/bind.ts";
import { bufferIo } from "../buffer-io.ts";

const file = { after };
const names: DnsServer = await dnsServer(file);
names.names.set("gw.example.com", { addresses: ["127.0.0.1"] });
names.names.set("both.example.com", { addresses: ["127.0.0.1", "203.0.113.5"] });
names.names.set("away.example.com", { addresses: ["203.0.113.5", "2001:db8::5"] });
names.names.set("broken.example.com", "failure");

interface Manners {
  readonly meta?: Document;
  readonly more?: Document;
  readonly aheadMs?: number;
  /** Replaces the directory. */
  readonly body?: string;
}

/** Serves the directory of an authority, and nothing else of it. */
async function authority(owner: Owner, { meta = {}, more = {}, aheadMs = 0, body }: Manners = {}): Promise<string> {
  const server = createServer((request, response) => {
    const at = (name: string): string => `http://${request.headers.host}/${name}`;
    const directory = { newNonce: at("nonce"), newAccount: at("account"), newOrder: at("order"), meta, ...more };
    response.setHeader("date", new Date(Date.now() + aheadMs).toUTCString());
    response.setHeader("content-type", "application/json");
    response.end(body ?? JSON.stringify(directory));
  });
  const port = await listenLocally(server);
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}/dir`;
}

interface Checked {
  readonly status: number;
  /** Lines about the certificate. */
  readonly lines: readonly string[];
}

async function check(owner: Owner, tls: Document, changes: Document = {}, dns = names.address): Promise<Checked> {
  const files = await writeFiles(owner, {}, { tls, ...changes });
  const io = bufferIo({ env: { GATEWAY_DNS_SERVERS: dns } });
  const status = await execute(["check", "-config", files.nodePath, "-timeout", "5s"], io);
  const lines = io.out().split("\n").slice(0, -1);
  const isOurs = (line: string): boolean => /^.{6}(certificate|domain|DNS of|configuration: .*tls)/.test(line);
  return { status, lines: lines.filter((line) => isOurs(line) || line.startsWith("fail")) };
}

test("the authority is asked for its terms, and each name is resolved", async (t) => {
  const meta = { termsOfService: "https://ca.example/terms\u001b[2J" };
  const ca = await authority(t, { meta, more: { renewalInfo: "http://x" } });
  const { status, lines } = await check(t, { domains: ["gw.example.com"], ca });
  assert.equal(status, 0, lines.join("\n"));
  assert.match(
    lines[0] ?? "",
    /^note {2}certificate: the authority connects to port 80 of each domain \(HTTP-01\): forward that port to 127\.0/,
  );
  assert.match(
    lines[1] ?? "",
    /^ok {4}certificate authority: http:\S+\/dir answered in \d+ ms; no external account binding is required; renewal information is available; ordering a certificate accepts its terms of service, https:\/\/ca\.example\/terms \[2J$/,
  );
  assert.equal(lines[2], "ok    domain gw.example.com: resolves to this machine (127.0.0.1)");
  assert.equal(lines.length, 3);
});

test("a name that resolves elsewhere is a note, and an unresolvable one fails if it must be validated", async (t) => {
  const ca = await authority(t);
  const domains = ["both.example.com", "away.example.com", "none.example.com", "broken.example.com"];
  const { status, lines } = await check(t, { domains, ca });
  assert.equal(status, 1);
  const of = (name: string): string => lines.find((line) => line.includes(`domain ${name}`)) ?? "";
  assert.equal(
    of("both.example.com"),
    "note  domain both.example.com: resolves to this machine (127.0.0.1), but also to 203.0.113.5, which is not an address of this machine: check that port 80 there reaches a node of this cluster",
  );
  assert.match(of("away.example.com"), /^note .*: resolves to 203\.0\.113\.5, 2001:db8::5, which are not addresses of/);
  assert.match(
    of("none.example.com"),
    /^fail .*has no DNS record of type A or AAAA, so the authority cannot verify the domain$/,
  );
  assert.match(of("broken.example.com"), /^fail .*the DNS lookup failed: E[A-Z]+, so the authority/);
});

test("a required but missing binding and a clock hours off fail; minutes are a note", async (t) => {
  const domains = ["gw.example.com"];
  const eab = { key_id: "kid", mac_key: "c2VjcmV0" };
  const bound = await authority(t, { meta: { externalAccountRequired: true } });
  const cases = [
    [{ ca: bound }, /^fail .*requires external account binding: set `tls\.eab`$/],
    [{ ca: bound, eab }, /^ok .*the account is bound with `tls\.eab`/],
    [
      { ca: await authority(t, { aheadMs: 2 * 3_600_000 }) },
      /^fail .*machine is 120 min behind the clock of .*no certificate is/,
    ],
    [{ ca: await authority(t, { aheadMs: -10 * 60_000 }) }, /^note .*machine is 10 min ahead of the clock of/],
    [{ ca: await authority(t, { body: "<html>" }) }, /^fail .*declared as JSON but is not JSON/],
    [{ ca: await authority(t, { body: "{}" }) }, /^fail .*no `newNonce`/],
    [{ ca: `http://127.0.0.1:${await freePort()}/dir` }, /^fail .*cannot be reached: nothing listens there/],
  ] as const;
  for (const [tls, message] of cases) {
    const { status, lines } = await check(t, { domains, ...tls });
    const line = lines.find((it) => it.includes("certificate authority")) ?? "";
    assert.match(line, message);
    assert.equal(status, line.startsWith("fail") ? 1 : 0, lines.join("\n"));
    assert.doesNotMatch(lines.join("\n"), /c2VjcmV0/);
  }
});

test("without the cluster secret the check fails as at startup, offline too", async (t) => {
  const dir = await authority(t);
  const cluster = { node_id: "n1", data_dir: "data", bootstrap: true };
  const { status, lines } = await check(t, { domains: ["gw.example.com"], ca: dir }, { cluster });
  assert.equal(status, 1);
  assert.match(lines[0] ?? "", /^fail {2}configuration: .*tls\.domains: needs `cluster\.secret`/);
});

const bind = await peer("bind9");

test("write permission is tested at the DNS server, and nothing is left there", { skip: bind.missing }, async (t) => {
  const server = await startBind(bind.missing === false ? bind.path : "");
  atEnd(t, () => server.close());
  const ca = await authority(t);
  const dns = {
    provider: "rfc2136",
    server: server.address,
    key_name: TSIG.name,
    key_alg: TSIG.algorithm,
    key: TSIG.secret,
  };
  const cases = [
    [["example.com", "*.example.com"], {}, 0, /^ok .*takes signed updates of example\.com$/],
    [["deleg.example.com"], {}, 0, /^ok .*takes signed updates of acme\.example\.net$/],
    [["api.example.com"], {}, 1, /^fail .*_acme-challenge\.api\.example\.com: the key may not write this name/],
    [["example.com"], { key: "AAAA" }, 1, /^fail .*tls\.dns\.key \(BADSIG\)/],
    [
      ["example.com"],
      { server: `127.0.0.1:${await freePort()}` },
      1,
      /^fail .*the DNS server 127\S+ cannot be reached/,
    ],
  ] as const;
  for (const [domains, changes, expected, message] of cases) {
    const { status, lines } = await check(t, { domains, ca, dns: { ...dns, ...changes } }, {}, server.address);
    assert.equal(status, expected, lines.join("\n"));
    assert.match(lines.find((it) => it.includes("DNS of challenges")) ?? "", message);
    assert.doesNotMatch(lines.join("\n"), new RegExp(TSIG.secret));
  }
  assert.deepEqual(await server.txt("_acme-challenge.example.com"), []);
});
