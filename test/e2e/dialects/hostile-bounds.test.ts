/**
 * Providers that send more than can be buffered, on translated paths: the client reads the right answer or an error of
 * its own dialect, and the gateway's memory stays bounded. Source: lessons P1 and P3.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { memoryOf } from "../support/machine.ts";
import { post, rawClient } from "../support/raw.ts";
import { reply, startEvents, writeChunk } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { isError, JSON_TYPE, readerOf, STREAMED } from "./support/reading.ts";
import { framesOf, SOUND, sends, startAs, startHostile, TEXT } from "./support/scripted.ts";

const hostile = await startHostile({ after });
const { gateway, upstreams } = hostile;
const read = readerOf(hostile);
const DIALECTS = ["compat", "messages"] as const;
const MEBIBYTE = 1 << 20;
/** Maximum memory for interleaved calls. */
const MAX_HELD_MEBIBYTES = 8;
/** Far more than any buffer holds; unread data stays with the provider. */
const ENDLESS_MEBIBYTES = 300;
/** A provider that could not write for this long is throttled. */
const STILL_MS = 500;

test("fragments of interleaved tool calls are buffered up to a limit, beyond which the answer is an error", async () => {
  const call = (index: number, text: string): object => ({
    choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: text } }] } }],
  });
  const open = (index: number): object => ({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index, id: `call_${index}`, function: { name: "look", arguments: "{" } }] },
      },
    ],
  });
  // The first call continues to the end, so that fragments of the second must wait.
  const interleaved = (mebibytes: number): readonly object[] => [
    open(0),
    open(1),
    ...Array.from({ length: mebibytes }, () => [call(1, " ".repeat(MEBIBYTE)), call(0, " ")]).flat(),
    call(1, "}"),
    call(0, "}"),
    { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  ];
  for (const form of STREAMED) {
    const held = await read("compat", form, sends(...framesOf("compat", interleaved(MAX_HELD_MEBIBYTES - 2))));
    assert.ok(held.kind === "answer", JSON.stringify(held));
    assert.deepEqual(held.calls, [
      ["look", {}],
      ["look", {}],
    ]);
    isError(await read("compat", form, sends(...framesOf("compat", interleaved(MAX_HELD_MEBIBYTES + 1)))));
  }
});

for (const dialect of DIALECTS) {
  const { events, whole } = SOUND[dialect];
  const from = `a ${dialect} provider`;

  test(`${from} whose answer is megabytes long is read correctly or refused, and memory stays bounded`, async () => {
    const before = memoryOf(gateway.pid, "VmHWM");
    const long = "x".repeat(20 * MEBIBYTE);
    const body = JSON.stringify(whole).replace(TEXT, long);
    const large = await read(dialect, "unary", (socket) => reply(socket, { headers: JSON_TYPE, body }));
    if (large.kind === "answer") assert.equal(large.text, long);
    const endless = await read(dialect, "unary", (socket) => {
      startAs(socket, "application/json");
      writeChunk(socket, '{"id":"');
      const piece = Buffer.alloc(MEBIBYTE, 0x61);
      let left = 1_000;
      const more = (): void => {
        if (socket.destroyed) return;
        if (left-- <= 0) socket.end();
        else if (writeChunk(socket, piece)) setImmediate(more);
        else socket.once("drain", more);
      };
      more();
    });
    isError(endless);
    const after = memoryOf(gateway.pid, "VmHWM");
    if (before !== undefined && after !== undefined) {
      assert.ok(after - before < 400 * MEBIBYTE, `grew by ${Math.round((after - before) / MEBIBYTE)} MiB`);
    }
  });

  test(`${from} that is faster than the client is slowed down, and memory stays bounded`, async (t) => {
    const at = events.findIndex((event) => JSON.stringify(event).includes(TEXT.slice(0, 7)));
    const frames = framesOf(dialect, events);
    const long = (frames[at] ?? "").replace(TEXT.slice(0, 7), "x".repeat(MEBIBYTE));
    let written = 0;
    upstreams[dialect].script = (socket) => {
      startEvents(socket);
      for (const frame of frames.slice(0, at)) writeChunk(socket, frame);
      const more = (): void => {
        if (socket.destroyed || written >= ENDLESS_MEBIBYTES) return;
        written += 1;
        if (writeChunk(socket, long)) setImmediate(more);
        else socket.once("drain", more);
      };
      more();
    };
    const before = memoryOf(gateway.pid, "VmRSS");
    const client = await rawClient(t, gateway.port);
    client.socket.pause();
    const path = dialect === "compat" ? "/v1/messages" : "/v1/chat/completions";
    const request = {
      model: `${dialect}-m`,
      max_tokens: 9,
      stream: true,
      messages: [{ role: "user", content: "Hello." }],
    };
    client.send(post(path, JSON.stringify(request), JSON_TYPE));
    let [seen, since] = [0, performance.now()];
    await eventually("the provider is held back", () => {
      if (written !== seen) [seen, since] = [written, performance.now()];
      return written > 0 && performance.now() - since > STILL_MS;
    });
    assert.ok(written < ENDLESS_MEBIBYTES, "it is not taken to its end");
    const now = memoryOf(gateway.pid, "VmRSS");
    if (before !== undefined && now !== undefined) {
      assert.ok(now - before < 100 * MEBIBYTE, `grew by ${Math.round((now - before) / MEBIBYTE)} MiB`);
    }
    client.socket.destroy();
  });
}
