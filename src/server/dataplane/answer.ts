/**
 * An answer that must change a little on its way: event by event in a stream, once in a JSON body, not at all otherwise;
 * and one that is metered as it passes.
 */
import {
  type AnswerEdits,
  countEvents,
  editEvent,
  editJson,
  editUnread,
  SseSplitter,
  tellsNoUsage,
} from "../core/dialects/index.ts";
import { type Downstream, headerValue } from "../upstream/index.ts";
import type { AnswerMeter } from "./metering/index.ts";

/** A larger JSON answer passes as it comes; models lists and completions are far below. */
const MAX_REWRITTEN_BYTES = 32 << 20;

type Mode = "pass" | "events" | "whole";

export interface Rewrites {
  readonly edits: AnswerEdits | undefined;
  /** Applied to a whole JSON body after the edits. */
  readonly extend: ((body: Buffer) => Buffer) | undefined;
  /** Sees the answer as it came, before the client sees what is made of it. */
  readonly meter: AnswerMeter | undefined;
}

export function rewriting(to: Downstream, { edits, extend, meter }: Rewrites): Downstream {
  const changes = edits !== undefined || extend !== undefined;
  let mode: Mode = "pass";
  let shown: ReturnType<AnswerMeter["started"]> = "nothing";
  const splitter = new SseSplitter();
  let held: Buffer[] = [];
  let heldBytes = 0;

  /** Most chunks of a stream need no look into their events. */
  function unread(chunk: Buffer): Buffer | undefined {
    if (!splitter.isEmpty || (shown === "events" && !tellsNoUsage(chunk))) return undefined;
    const edited = mode === "events" && edits !== undefined ? editUnread(chunk, edits) : chunk;
    if (edited !== undefined && shown === "events") meter?.passed(countEvents(chunk));
    return edited;
  }

  function writeEvents(chunk: Buffer): boolean {
    const whole = unread(chunk);
    if (whole !== undefined) return to.write(whole);
    let hasRoom = true;
    for (const event of splitter.push(chunk)) {
      if (shown === "events" && event.data !== undefined) meter?.event(event.data);
      if (mode !== "events") continue;
      const bytes = edits === undefined ? event.bytes : editEvent(event, edits);
      if (bytes !== undefined && bytes.length > 0) hasRoom = to.write(bytes);
    }
    return mode === "events" ? hasRoom : to.write(chunk);
  }

  function hold(chunk: Buffer): boolean {
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes <= MAX_REWRITTEN_BYTES) return true;
    mode = "pass";
    const all = Buffer.concat(held);
    held = [];
    return to.write(all);
  }

  return {
    get gone() {
      return to.gone;
    },
    onGone: (listener) => to.onGone(listener),
    onDrain: (listener) => to.onDrain(listener),
    start(status, statusText, headers) {
      mode = changes ? modeOf(status, headers) : "pass";
      shown = meter?.started(status, headers) ?? "nothing";
      to.start(status, statusText, mode === "pass" ? headers : withoutLength(headers));
    },
    write(chunk) {
      if (shown === "bytes") meter?.bytes(chunk);
      if (mode === "events" || shown === "events") return writeEvents(chunk);
      return mode === "whole" ? hold(chunk) : to.write(chunk);
    },
    end() {
      meter?.ended();
      if (mode === "events") {
        const rest = splitter.rest();
        if (rest.length > 0) to.write(rest);
      }
      if (mode === "whole" && heldBytes > 0) {
        const body = Buffer.concat(held);
        const edited = edits === undefined ? body : editJson(body, edits);
        to.write(extend === undefined ? edited : extend(edited));
      }
      to.end();
    },
    breakOff(cause) {
      meter?.broken();
      to.breakOff(cause);
    },
  };
}

function modeOf(status: number, headers: readonly Buffer[]): Mode {
  const encoding = headerValue(headers, "content-encoding");
  if (status !== 200 || (encoding !== undefined && encoding !== "identity")) return "pass";
  const type = headerValue(headers, "content-type")?.toLowerCase() ?? "";
  if (type.startsWith("text/event-stream")) return "events";
  return type.startsWith("application/json") ? "whole" : "pass";
}

function withoutLength(headers: readonly Buffer[]): Buffer[] {
  const kept: Buffer[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as Buffer;
    if (name.toString("latin1").toLowerCase() !== "content-length") kept.push(name, headers[i + 1] as Buffer);
  }
  return kept;
}
