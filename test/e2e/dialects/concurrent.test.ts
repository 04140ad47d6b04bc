/**
 * Concurrent streams on translated paths, with events written in random order of connections: each client reads only
 * its own answer. Source: lesson P37. A failure prints the seed.
 */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import type { Dialect } from "../../../src/server/core/dialects/routes/routes.ts";
import { idle } from "../support/metrics.ts";
import { endChunks, reply, startEvents, writeChunk } from "../support/upstream.ts";
import { framesOf, readBy, SOUND, startHostile, TEXT } from "./support/scripted.ts";
import { FORMS } from "./support/sdk-answer.ts";

const AT_ONCE = 50;
const ROUNDS = 4;
/** Share of clients that do not read their answer to the end. */
const LEAVING = 0.3;
/** Maximum bytes of a stream in one write. */
const LONGEST_PIECE = 200;

const hostile = await startHostile({ after });

/** Park and Miller's generator: numbers in [0, 1), the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state - 1) / 2_147_483_646;
  };
}

interface Stream {
  readonly socket: Socket;
  rest: Buffer;
}

/** Holds requests until `count` have arrived, then writes pieces of their streams in random order. */
function interleaved(random: () => number, count: number, rejected: (error: unknown) => void): void {
  const streams: Stream[] = [];
  let arrived = 0;
  const write = (): void => {
    const at = Math.floor(random() * streams.length);
    const stream = streams[at];
    if (stream === undefined) return;
    const size = 1 + Math.floor(random() * LONGEST_PIECE);
    if (stream.socket.destroyed) stream.rest = Buffer.alloc(0);
    else writeChunk(stream.socket, stream.rest.subarray(0, size));
    stream.rest = stream.rest.subarray(size);
    if (stream.rest.length === 0) {
      if (!stream.socket.destroyed) endChunks(stream.socket);
      streams.splice(at, 1);
    }
    setImmediate(write);
  };
  for (const dialect of ["compat", "messages"] as const) {
    hostile.upstreams[dialect].script = (socket, { body }) => {
      try {
        const { stream } = JSON.parse(body.toString()) as { readonly stream?: boolean };
        const marker = /marker-\d+-\d+-/.exec(body.toString())?.[0] ?? "no marker";
        if (stream === true) {
          startEvents(socket);
          streams.push({ socket, rest: Buffer.from(markedFrames(dialect, marker)) });
        } else reply(socket, { headers: ["Content-Type: application/json"], body: markedWhole(dialect, marker) });
        arrived += 1;
        if (arrived === count) write();
      } catch (error) {
        rejected(error);
      }
    };
  }
}

/** Long enough to be cut many times, in two parts, and unique to one client. */
const partsOf = (marker: string): readonly [string, string] => [
  `${marker}${TEXT}`.repeat(5),
  `${marker}${TEXT}`.repeat(35),
];

const markedWhole = (dialect: Dialect, marker: string): string =>
  JSON.stringify(SOUND[dialect].whole).replace(TEXT, partsOf(marker).join(""));

function markedFrames(dialect: Dialect, marker: string): string {
  const [first, second] = partsOf(marker);
  const frames = framesOf(dialect, SOUND[dialect].events).join("");
  // Replaces the second part first, since the first occurs in its text.
  return frames.replace(TEXT.slice(7), second).replace(TEXT.slice(0, 7), first);
}

/** Disconnects during the answer, after reading some of it. */
async function leave(upstream: Dialect, marker: string): Promise<void> {
  const { openai, anthropic } = hostile.clients;
  const request = {
    model: `${upstream}-m`,
    messages: [{ role: "user" as const, content: marker }],
    stream: true as const,
  };
  const stream =
    upstream === "messages"
      ? await openai.chat.completions.create(request)
      : await anthropic.messages.create({ ...request, max_tokens: 100 });
  let events = 0;
  for await (const event of stream) {
    for (const [found] of JSON.stringify(event).matchAll(/marker-\d+-\d+-/g)) assert.equal(found, marker);
    events += 1;
    if (events < 3) continue;
    // An SDK that continues to read may wait forever for its closed connection.
    stream.controller.abort();
    return;
  }
}

for (let round = 0; round < ROUNDS; round++) {
  const seed = randomInt(1, 2 ** 31);
  test(`${AT_ONCE} concurrent clients each read their own answer, or leave it (seed ${seed})`, async () => {
    const random = randomOf(seed);
    await new Promise<void>((done, failed) => {
      interleaved(random, AT_ONCE, failed);
      const answers = Array.from({ length: AT_ONCE }, async (_, at) => {
        const marker = `marker-${round}-${at}-`;
        const upstream = at % 2 === 0 ? "compat" : "messages";
        if (random() < LEAVING) return leave(upstream, marker);
        const form = FORMS[Math.floor(random() * FORMS.length)] ?? "raw";
        const answer = await readBy(hostile, { upstream, form, text: marker });
        assert.ok(answer.kind === "answer", JSON.stringify(answer));
        assert.equal(answer.text, partsOf(marker).join(""));
        assert.equal(answer.calls.length, 1);
      });
      Promise.all(answers).then(() => done(), failed);
    });
    await idle(hostile.gateway);
  });
}
