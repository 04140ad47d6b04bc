/** Opens the inspection of an answer stream with a real guard, and makes chunks for it. */
import assert from "node:assert/strict";
import { inspectStream } from "../../../../src/server/answers/index.ts";
import { type Dialect, openStreamTexts, SseSplitter } from "../../../../src/server/core/dialects/index.ts";
import { JudgedAnswer } from "../../../../src/server/core/guardrails/index.ts";
import type { Guard } from "../../../../src/server/snapshot/index.ts";
import { countedMetrics, occasion } from "../../dataplane/support/guards.ts";

export const delta = (content: string, index = 0, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index, delta: { content }, finish_reason: null, ...more }] })}\n\n`;
export const FINISH = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`;
export const DONE = "data: [DONE]\n\n";

interface Opened {
  readonly push: (text: string | Buffer) => Promise<void>;
  readonly end: () => Promise<void>;
  readonly shown: () => string;
  readonly answer: JudgedAnswer;
  readonly counted: Readonly<Record<string, number>>;
  readonly woken: () => Promise<void>;
  readonly held: () => number;
}

export function open(guard: Guard, dialect: Dialect = "compat", route = "chat_completions"): Opened {
  const { metrics, counted } = countedMetrics();
  const answer = new JudgedAnswer(guard, occasion(), new AbortController().signal);
  const splitter = new SseSplitter();
  let shown = "";
  let wake: () => void = () => undefined;
  let failure: unknown;
  const stream = inspectStream({
    answer,
    texts: openStreamTexts(dialect, route),
    metrics,
    show: (frame) => {
      shown += frame.toString();
    },
    woke: () => wake(),
    failed: (error) => {
      failure = error;
    },
  });
  return {
    answer,
    counted,
    shown: () => shown,
    held: () => stream.heldBytes,
    woken: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    push: async (text) => {
      for (const event of splitter.push(Buffer.from(text))) await stream.push(event);
    },
    end: async () => {
      await stream.end();
      stream.close();
      assert.equal(failure, undefined);
    },
  };
}
