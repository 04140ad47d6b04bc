/** Interpretations of a client's message by its readers, whatever its frame type. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import test from "node:test";
import { classifyMessage } from "../../../../../src/server/dataplane/hops/websocket/session-message.ts";

const EVENT = '{"type":"conversation.item.create","item":{"content":[{"text":"\u0122 caf\u00e9 \u{1f600}"}]}}';

const wide = (text: string, isBig: boolean): Buffer => {
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const bytes = Buffer.alloc(4 * points.length);
  for (const [at, point] of points.entries()) {
    if (isBig) bytes.writeUInt32BE(point, 4 * at);
    else bytes.writeUInt32LE(point, 4 * at);
  }
  return bytes;
};
const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le");

const cases: readonly (readonly [what: string, data: Buffer, kind: string])[] = [
  ["JSON in UTF-8", Buffer.from(EVENT), "text"],
  ["prose", Buffer.from("no JSON, and yet a text"), "text"],
  ["UTF-16", utf16(EVENT), "unreadable"],
  ["UTF-16 after much white space", utf16(" ".repeat(5_000) + EVENT), "unreadable"],
  ["UTF-16 with a mark", utf16(`\ufeff${EVENT}`), "unreadable"],
  ["UTF-16 in the other byte order", utf16(EVENT).swap16(), "unreadable"],
  ["UTF-32", wide(EVENT, false), "unreadable"],
  ["UTF-32 in the other byte order", wide(EVENT, true), "unreadable"],
  [
    "bytes that a lenient reader accepts as UTF-8",
    Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    "unreadable",
  ],
  ["silence", Buffer.alloc(4_096), "sound"],
  ["audio that begins like an event", Buffer.concat([Buffer.from('{"'), Buffer.alloc(64, 0x90)]), "sound"],
];
for (const [what, data, kind] of cases) {
  test(`a binary message is read: ${what}`, () => assert.equal(classifyMessage({ data, isBinary: true }).kind, kind));
}

test("random bytes are audio, and bytes declared as text are text", () => {
  for (let i = 0; i < 2_000; i++) {
    const data = Buffer.concat([Buffer.from('{"'), randomBytes(200)]);
    assert.equal(classifyMessage({ data, isBinary: true }).kind, "sound", data.toString("base64"));
  }
  assert.equal(classifyMessage({ data: Buffer.from("\u0000"), isBinary: false }).kind, "text");
});
