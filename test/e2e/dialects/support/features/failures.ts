/** Features that end other than with an answer: errors, and clients that disconnect. */
import assert from "node:assert/strict";
import { APIError as AnthropicError } from "@anthropic-ai/sdk";
import { APIError as OpenaiError } from "openai";
import { isShort } from "../../../../support/random-length.ts";
import { eventually } from "../../../support/wait.ts";
import type { Cell, Feature } from "../cell.ts";
import { QUESTION_REQUEST } from "./question.ts";

/**
 * Design decisions, section 6: the provider is disconnected within 100 ms after the client. `npm run test:long` checks
 * that; a machine that runs other tests meanwhile gets ten times as long.
 */
const LEFT_WITHIN_MS = isShort ? 1_000 : 100;
/** A machine is rarely busy in all three tries. */
const TRIES = 3;

const errorClass = ({ client }: Cell) => (client === "openai" ? OpenaiError : AnthropicError);

/** Returns the error of a request, which must be of the client's SDK. */
async function errorOf(cell: Cell): Promise<{ status: unknown; type: unknown }> {
  const raised = await cell.ask(QUESTION_REQUEST).then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(raised instanceof errorClass(cell), `the SDK's own error and not ${raised}`);
  const { status, type } = raised as { readonly status?: unknown; readonly type?: unknown };
  return { status, type };
}

const MID_STREAM_TYPES = {
  openai: /^(server_error|service_unavailable_error)$/,
  anthropic: /^(api|overloaded)_error$/,
};

/** Resolves when an endless answer has begun; `leave` disconnects the client. */
async function begun({ rig, client, model, form, upstream }: Cell): Promise<{ readonly leave: () => void }> {
  const leaving = new AbortController();
  const options = { signal: leaving.signal };
  const { openai, anthropic } = rig.clients;
  const ignore = (): void => undefined; // the client's own abort rejects it
  const { requests } = rig.simulators[upstream].counts();
  const first = new Promise<void>((done) => {
    if (client === "openai") {
      const params = { ...QUESTION_REQUEST.openai, model };
      if (form === "unary") void openai.chat.completions.create(params, options).catch(ignore);
      else if (form === "helper") {
        const stream = openai.chat.completions.stream(params, options).on("chunk", () => done());
        stream.on("error", ignore).on("abort", ignore);
      } else {
        void openai.chat.completions
          .create({ ...params, stream: true }, options)
          .then(async (stream) => {
            for await (const _ of stream) done();
          })
          .catch(ignore);
      }
    } else {
      const params = { ...QUESTION_REQUEST.anthropic, max_tokens: 100, model };
      if (form === "unary") void anthropic.messages.create(params, options).catch(ignore);
      else if (form === "helper") {
        const stream = anthropic.messages.stream(params, options).on("streamEvent", () => done());
        stream.on("error", ignore).on("abort", ignore);
      } else {
        void anthropic.messages
          .create({ ...params, stream: true }, options)
          .then(async (stream) => {
            for await (const _ of stream) done();
          })
          .catch(ignore);
      }
    }
  });
  await eventually("the request at the provider", () => rig.simulators[upstream].counts().requests > requests);
  if (form !== "unary") await first;
  return { leave: () => leaving.abort() };
}

async function leavesIn(cell: Cell): Promise<number> {
  const { leave } = await begun(cell);
  const simulator = cell.rig.simulators[cell.upstream];
  const { aborted } = simulator.counts();
  const leftAt = performance.now();
  leave();
  await eventually("the provider is left", () => simulator.counts().aborted > aborted);
  return performance.now() - leftAt;
}

async function leaves(cell: Cell): Promise<void> {
  const times: number[] = [];
  while (times.length < TRIES && !times.some((ms) => ms <= LEFT_WITHIN_MS)) times.push(await leavesIn(cell));
  assert.ok(Math.min(...times) <= LEFT_WITHIN_MS, `the provider was left after ${times} ms`);
}

export const FAILURE_FEATURES: readonly Feature[] = [
  {
    name: "an error within the stream",
    model: "sim-error-mid-stream",
    forms: ["raw", "helper"],
    async run(cell) {
      const { type } = await errorOf(cell);
      assert.match(String(type), MID_STREAM_TYPES[cell.client]);
    },
  },
  {
    name: "an error as the first event",
    model: "sim-error-first-event",
    forms: ["raw", "helper"],
    async run(cell) {
      const { type } = await errorOf(cell);
      assert.match(String(type), MID_STREAM_TYPES[cell.client]);
    },
  },
  {
    name: "a stream that breaks off",
    model: "sim-drop-mid-stream",
    forms: ["raw", "helper"],
    async run(cell) {
      await errorOf(cell);
    },
  },
  {
    name: "a client that leaves before the answer",
    model: "sim-slow-30s",
    forms: ["unary"],
    run: leaves,
  },
  {
    name: "a client that leaves within the stream",
    model: "sim-slow-stream-30s",
    forms: ["raw", "helper"],
    run: leaves,
  },
];
