/** DNS messages and their signatures, byte by byte, and arbitrary other input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  encodeName,
  encodeQuestion,
  encodeUpdate,
  MalformedDnsMessage,
  readMessage,
  readName,
  TYPE,
  textOf,
} from "../../../../../src/server/tls/acme/dns/dns-message.ts";
import { tsigKeyOf } from "../../../../../src/server/tls/acme/dns/rfc2136.ts";
import { sign, verify } from "../../../../../src/server/tls/acme/dns/tsig.ts";
import { TSIG } from "../support/bind.ts";

const VALUE = "LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ";
const UPDATE =
  "123428000001000000010000076578616d706c6503636f6d00000600010f5f61636d652d6368616c6c656e6765076578616d706c6503636f6d" +
  "00001000010000003c002c2b4c504a4e756c2d776f77346d3644737178626e696e687357486c776670304a656377517a59704f4c6d4351";
const MAC = "c02aefdd72d124a81a08a8042fb7ea7d48d5929a81e7fbd3d182bfaad0ed470e";
const RECORD = `0767772d61636d650000fa00ff00000000003d0b686d61632d7368613235360000006553f100012c0020${MAC}123400000000`;

const update = () =>
  encodeUpdate(0x1234, "example.com", { name: "_acme-challenge.example.com", value: VALUE, ttl: 60 });
const key = () => {
  const found = tsigKeyOf(TSIG.name, "HMAC-SHA256.", TSIG.secret);
  assert.ok(found);
  return found;
};

test("an update and its signature match those that BIND accepts", () => {
  assert.equal(update().toString("hex"), UPDATE);
  const { wire, mac } = sign(update(), key(), 1_700_000_000_999);
  assert.equal(mac.toString("hex"), MAC);
  const counted = Buffer.from(UPDATE, "hex");
  counted[11] = 1;
  assert.equal(wire.toString("hex"), counted.toString("hex") + RECORD);
});

test("algorithms are those of TSIG, except the broken one", () => {
  for (const name of ["hmac-sha1", "hmac-sha224", "hmac-sha384", "hmac-sha512."])
    assert.ok(tsigKeyOf("k", name, "AAAA"));
  for (const name of ["hmac-md5", "hmac-md5.sig-alg.reg.int", "sha256", ""]) {
    assert.equal(tsigKeyOf("k", name, "AAAA"), undefined, name);
  }
});

test("an answer with any changed byte is not accepted", () => {
  const request = sign(update(), key(), 1_700_000_000_000);
  // Same form as a server's answer, but not signed over the request's signature.
  const own = sign(encodeQuestion(0x1234, "example.com", TYPE.SOA, false), key(), 1_700_000_000_000);
  assert.equal(verify(readMessage(own.wire), request.mac, key()).kind, "unproven");
  assert.deepEqual(verify(readMessage(update()), request.mac, key()), {
    kind: "unproven",
    error: 0,
    serverTime: undefined,
  });
});

test("names survive a round trip in lower case, and an invalid name is refused", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/), { minLength: 1, maxLength: 8 }), (labels) => {
      const name = labels.join(".");
      const bytes = encodeName(`${name}.`);
      assert.deepEqual(readName(bytes, 0), { name: name.toLowerCase(), end: bytes.length });
    }),
  );
  for (const name of ["a..b", `${"x".repeat(64)}.com`, Array(60).fill("abcd").join(".")]) {
    assert.throws(() => encodeName(name), MalformedDnsMessage, name);
  }
  // A pointer to itself, to what follows, and to nowhere.
  for (const bytes of [[0xc0, 0], [0xc0, 2, 0], [1], [0x40, 0]])
    assert.throws(() => readName(Buffer.from(bytes), 0), MalformedDnsMessage);
});

test("any bytes are read or refused without another error", () => {
  const { wire } = sign(update(), key(), 1_700_000_000_000);
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  const tried = (bytes: Buffer): void => {
    try {
      const message = readMessage(bytes);
      for (const record of [...message.answers, ...message.authorities, ...message.additional]) textOf(record);
      verify(message, Buffer.alloc(32), key());
    } catch (error) {
      assert.ok(error instanceof MalformedDnsMessage, `seed ${seed}: ${bytes.toString("hex")}: ${error}`);
    }
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => tried(Buffer.from(bytes))),
    { seed, numRuns: 500 },
  );
  const changes = fc.array(fc.tuple(fc.nat(wire.length - 1), fc.nat(255)), { maxLength: 6 });
  fc.assert(
    fc.property(changes, fc.nat(wire.length), (list, length) => {
      const bytes = Buffer.from(wire);
      for (const [at, value] of list) bytes[at] = value;
      tried(bytes.subarray(0, length));
      tried(bytes);
    }),
    { seed, numRuns: 2_000 },
  );
});
