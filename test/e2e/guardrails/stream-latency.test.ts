/**
 * Delay of a byte of a streamed answer after the byte that proves it safe: a provider sends word by word, and the
 * client's receipt after each word is timed. Source: guardrails reference, 5.3.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chat } from "../governance/support/governed.ts";
import { endChunks, startEvents, writeChunk } from "../support/upstream.ts";
import { startInspected } from "./support/inspected.ts";

const file = { after };
const { upstream, gateway, key } = await startInspected(file);

const WORD_COUNT = 40;
const EVERY_MS = 40;
/** Median in milliseconds that counts as no delay on any machine. */
const MAX_MS = 20;
/** Maximum ratio to the provider's own median, which also rises on a busy machine. */
const MAX_RATIO = 4;

/** Returns the delay after each word until something arrived from `url`, in milliseconds, shortest first. */
async function waitsOf(url: string): Promise<readonly number[]> {
  const sentAt: number[] = [];
  upstream.script = (socket) => {
    startEvents(socket);
    let at = 0;
    const timer = setInterval(() => {
      if (at === WORD_COUNT) {
        clearInterval(timer);
        writeChunk(socket, "data: [DONE]\n\n");
        endChunks(socket);
        return;
      }
      const chunk = {
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta: { content: `Plain words, number ${at}. ` }, finish_reason: null }],
      };
      sentAt.push(performance.now());
      writeChunk(socket, `data: ${JSON.stringify(chunk)}\n\n`);
      at++;
    }, EVERY_MS);
  };
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(chat({ model: "compat-1", stream: true })),
  });
  assert.equal(response.status, 200);
  const waits: number[] = [];
  for await (const _ of response.body as unknown as AsyncIterable<Uint8Array>) {
    const last = sentAt.at(-1);
    // Text that the last word proved safe.
    if (last !== undefined && sentAt.length < WORD_COUNT) waits.push(performance.now() - last);
  }
  assert.ok(waits.length > WORD_COUNT / 2, `${waits.length} pieces came`);
  return waits.sort((a, b) => a - b);
}

const medianOf = (waits: readonly number[]): number => waits[Math.floor(waits.length / 2)] ?? Number.NaN;

test("a byte is forwarded soon after the byte that proves it safe", async () => {
  const plain = medianOf(await waitsOf(upstream.url));
  const waits = await waitsOf(gateway.url);
  const [median = Number.NaN, most = Number.NaN] = [medianOf(waits), waits.at(-1)];
  assert.ok(
    median <= Math.max(MAX_MS, MAX_RATIO * plain),
    `median ${median.toFixed(1)} ms, most ${most.toFixed(1)} ms, ${plain.toFixed(1)} ms at the provider`,
  );
});
