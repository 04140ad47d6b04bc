/**
 * Every name server of a zone is checked for a record before the authority: late ones, ones without it, unreachable
 * ones.
 */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { test } from "node:test";
import { awaitRecords } from "../../../../../src/server/tls/acme/dns/propagation.ts";
import type { DnsServer } from "../../../../../src/server/tls/acme/dns/query-server.ts";
import { freePort } from "../../../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../../../e2e/support/wait.ts";

const NAME = "_acme-challenge.gw.example.com";
const signal = AbortSignal.timeout(30_000);
const QUICK = { everyMs: 5, limitMs: 20_000 };

interface NameServer extends DnsServer {
  queryCount: number;
}

/** A UDP server that answers TXT with the result of `values` for the number of the query. */
async function nameServer(owner: Owner, values: (queryCount: number) => readonly string[]): Promise<NameServer> {
  const socket = createSocket("udp4");
  const server = { address: "127.0.0.1", port: 0, queryCount: 0 };
  socket.on("message", (question, { port, address }) => {
    server.queryCount += 1;
    const records = values(server.queryCount).map((value) => {
      const text = Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
      const head = Buffer.from("c00c0010000100000000", "hex");
      return Buffer.concat([head, Buffer.from([text.length >> 8, text.length & 0xff]), text]);
    });
    const head = Buffer.from(question.subarray(0, 12));
    // An authoritative answer; an unknown name has no record.
    head.writeUInt16BE(records.length === 0 ? 0x8403 : 0x8400, 2);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, question.subarray(12), ...records]), port, address);
  });
  await new Promise<void>((bound) => socket.bind(0, "127.0.0.1", bound));
  atEnd(owner, () => void socket.close());
  server.port = socket.address().port;
  return server;
}

test("the wait ends once the last server has the value, whatever other values there are", async (t) => {
  const prompt = await nameServer(t, () => ["another", "value"]);
  const late = await nameServer(t, (queryCount) => (queryCount < 4 ? ["another"] : ["another", "value"]));
  await awaitRecords([{ name: NAME, value: "value", servers: [prompt, late] }], signal, QUICK);
  assert.deepEqual([prompt.queryCount, late.queryCount], [4, 4]);
});

test("each record is awaited at its own servers", async (t) => {
  const one = await nameServer(t, () => ["one"]);
  const two = await nameServer(t, (queryCount) => (queryCount < 2 ? [] : ["two"]));
  const records = [
    { name: NAME, value: "one", servers: [one] },
    { name: "_acme-challenge.example.com", value: "two", servers: [two] },
  ];
  await awaitRecords(records, signal, QUICK);
  assert.deepEqual([one.queryCount, two.queryCount], [1, 2]);
});

test("an unreachable server is not waited for, even if all are", async (t) => {
  const gone = { address: "127.0.0.1", port: await freePort() };
  const there = await nameServer(t, (queryCount) => (queryCount < 2 ? [] : ["value"]));
  await awaitRecords([{ name: NAME, value: "value", servers: [gone, there] }], signal, QUICK);
  assert.equal(there.queryCount, 2);
  await awaitRecords([{ name: NAME, value: "value", servers: [gone] }], signal, QUICK);
});

test("a server that never has the value is named, and the order continues", async (t) => {
  const never = await nameServer(t, () => ["another"]);
  const there = await nameServer(t, () => ["value"]);
  const record = { name: NAME, value: "value", servers: [there, never] };
  await assert.rejects(
    awaitRecords([record], signal, { everyMs: 5, limitMs: 200 }),
    (error: Error & { reason?: string; keepsOrder?: boolean }) => {
      assert.deepEqual([error.reason, error.keepsOrder], ["dns_propagation", true]);
      assert.match(error.message, /^_acme-challenge\.gw\.example\.com is not at every name server .*: 127\.0\.0\.1$/);
      return true;
    },
  );
});

test("a signal ends the wait with its reason", async (t) => {
  const stop = new AbortController();
  const never = await nameServer(t, (queryCount) => {
    if (queryCount === 3) stop.abort(new Error("stopped"));
    return [];
  });
  const waiting = awaitRecords([{ name: NAME, value: "value", servers: [never] }], stop.signal, QUICK);
  await assert.rejects(waiting, { message: "stopped" });
});
