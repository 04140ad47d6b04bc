/** Requests to a scripted provider, and the answers that the client may read. */
import assert from "node:assert/strict";
import type { Dialect } from "../../../../src/server/core/dialects/routes/routes.ts";
import { reply, type Script } from "../../support/upstream.ts";
import { framesOf, type Hostile, type Read, readBy, SOUND, SOUND_READ, sends } from "./scripted.ts";
import type { Form } from "./sdk-answer.ts";

export const STREAMED = ["raw", "helper"] as const;
export const JSON_TYPE = ["Content-Type: application/json"];

/** Calls the provider of a dialect, which answers with `script`. */
type ReadFrom = (upstream: Dialect, form: Form, script: Script) => Promise<Read>;

export function readerOf(hostile: Hostile): ReadFrom {
  return (upstream, form, script) => {
    hostile.upstreams[upstream].script = script;
    return readBy(hostile, { upstream, form });
  };
}

/** Sends a whole answer or a stream, as the form requests. */
export const soundly =
  (dialect: Dialect, form: Form): Script =>
  (socket, request) =>
    form === "unary"
      ? reply(socket, { headers: JSON_TYPE, body: JSON.stringify(SOUND[dialect].whole) })
      : sends(...framesOf(dialect, SOUND[dialect].events))(socket, request);

export function isSound(answer: Read): void {
  assert.ok(answer.kind === "answer", JSON.stringify(answer));
  const { text, calls } = answer;
  assert.deepEqual({ text, calls }, SOUND_READ);
}

/** Asserts a right answer or a refusal, and never a wrong answer. */
export function isSoundOrError(answer: Read): void {
  if (answer.kind === "answer") isSound(answer);
}

export function isError(answer: Read): void {
  assert.equal(answer.kind, "error", JSON.stringify(answer).slice(0, 1_000));
}
