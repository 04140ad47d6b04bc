// tier: all
/** DNS-01 by signed updates with BIND, and certificates of a Pebble that queries it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createInstruments, nullLog } from "../../../../../src/base/index.ts";
import { type AcmeSettings, openAcme, rfc2136Provider, tsigKeyOf } from "../../../../../src/server/tls/index.ts";
import { peer } from "../../../../peers/index.ts";
import { type Bind, startBind, TSIG } from "../support/bind.ts";
import { createMemoryCluster } from "../support/memory-cluster.ts";
import { startPebble } from "../support/pebble.ts";

const [bind, pebble] = await Promise.all([peer("bind9"), peer("pebble")]);
const skip = { skip: bind.missing };
const server: Bind | undefined = bind.missing === false ? await startBind(bind.path) : undefined;
after(() => server?.close());
const address = server?.address ?? "";
const signal = AbortSignal.timeout(60_000);

const provider = ({ name = TSIG.name as string, secret = TSIG.secret as string, now = Date.now } = {}) => {
  const key = tsigKeyOf(name, TSIG.algorithm, secret);
  assert.ok(key);
  return rfc2136Provider({ server: address, key, nameServers: [address], now });
};
const txt = async (name: string) => await (server as Bind).txt(name);

const NAME = "_acme-challenge.gw.example.com";
const record = (value: string, name = NAME) => ({ name, value });

test("values are written beside each other, and each is removed separately", skip, async () => {
  const dns = provider();
  await dns.publish([record("one"), record("two")], signal);
  assert.deepEqual(await txt(NAME), ["one", "two"]);
  await dns.publish([record("one")], signal);
  await dns.remove(record("one"), signal);
  assert.deepEqual(await txt(NAME), ["two"]);
  await dns.remove(record("one"), signal);
  await dns.remove(record("two"), signal);
  assert.deepEqual(await txt(NAME), []);
});

test("a challenge delegated by a CNAME is written at its target", skip, async () => {
  const dns = provider();
  const delegated = record("value", "_acme-challenge.deleg.example.com");
  await dns.publish([delegated], signal);
  assert.deepEqual(await txt("deleg.acme.example.net"), ["value"]);
  await dns.remove(delegated, signal);
  assert.deepEqual(await txt("deleg.acme.example.net"), []);
});

test("a refusal of the server is reported with the remedy", skip, async () => {
  const cases = [
    [provider({ name: "nobody." }), NAME, "dns_auth", /key_name.*BADKEY/],
    [provider({ secret: "AAAA" }), NAME, "dns_auth", /tls\.dns\.key .*BADSIG/],
    [provider({ name: "other." }), NAME, "dns_auth", /may not write this name/],
    [provider(), "_acme-challenge.api.example.com", "dns_auth", /may not write this name/],
    [
      provider({ now: () => Date.now() - 3_600_000 }),
      NAME,
      "dns_auth",
      /BADTIME\); its clock is (3600|3599|3601) s ahead/,
    ],
    [provider(), "_acme-challenge.loop.example.com", "dns_update", /form a loop/],
  ] as const;
  for (const [dns, name, reason, message] of cases) {
    await assert.rejects(dns.publish([record("x", name)], signal), (error: Error & { reason?: string }) => {
      assert.equal(error.reason, reason, error.message);
      assert.match(error.message, message);
      assert.ok(!error.message.includes(TSIG.secret));
      return true;
    });
  }
  assert.deepEqual(await txt(NAME), []);
});

test("an unreachable server is reported as such, and a signal ends the wait", skip, async () => {
  const key = tsigKeyOf(TSIG.name, TSIG.algorithm, TSIG.secret);
  assert.ok(key);
  const away = rfc2136Provider({ server: "127.0.0.1:1", key, nameServers: ["127.0.0.1:1"], now: Date.now });
  await assert.rejects(away.publish([record("x")], signal), { reason: "dns_update" });
  const stopped = AbortSignal.abort(new Error("stopped"));
  await assert.rejects(provider().publish([record("x")], stopped), { message: "stopped" });
});

const both = { skip: bind.missing || pebble.missing };

test("a wildcard and its apex are validated in one order, and nothing is left over", both, async () => {
  const authority = await startPebble(pebble.path, { httpPort: 1, dnsServer: address });
  const settings: AcmeSettings = {
    domains: ["example.com", "*.example.com", "*.gw.example.com"],
    email: "ops@example.com",
    ca: authority.directory,
    roots: authority.roots,
    eab: undefined,
    dns: provider(),
    dnsSettings: undefined,
  };
  const cluster = createMemoryCluster();
  const acme = openAcme({
    settings,
    store: cluster.store("n1"),
    userAgent: "gateway/test",
    listening: Promise.resolve(),
    now: Date.now,
    random: Math.random,
    instruments: createInstruments(),
    log: nullLog,
  });
  try {
    const isClean = () => cluster.rows("certificate").every(({ value }) => value.includes('"litter":[]'));
    await new Promise<void>((done) => {
      const end = acme.onChange(() => {
        if (acme.current() === undefined || !isClean()) return;
        end();
        done();
      });
    });
    assert.deepEqual(acme.current()?.names.toSorted(), ["*.example.com", "*.gw.example.com", "example.com"]);
    assert.deepEqual(await txt("_acme-challenge.example.com"), []);
    assert.deepEqual(await txt(NAME), []);
  } finally {
    await acme.close();
    await authority.close();
  }
});
