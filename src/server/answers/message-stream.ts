/**
 * Inspects an answer whose events are messages of a protocol, each inspected separately: MCP and A2A, as another proxy routes
 * them. Source: mcp reference, 6; a2a reference, 1; design decisions, section 11.
 */
import { replaceData, type SseEvent } from "../core/dialects/index.ts";
import type { GuardrailMetrics, JudgedAnswer, Segment } from "../core/guardrails/index.ts";
import { type MaybePromise, mapMaybePromise } from "../core/guardrails/index.ts";
import { inspectNonDataLines, UnreadableAnswer } from "./inspected-event.ts";
import { JoinedMessages } from "./joined-messages.ts";
import { createSerialQueue, type InspectedStream, type StreamPorts } from "./stream-ports.ts";

/** Texts of one message, and a function that replaces them. */
interface MessageTexts {
  readonly texts: readonly Segment[];
  readonly uninspected: readonly string[];
  readonly rewrite: (changes: readonly (string | undefined)[]) => string;
}

/** Reads a message. Returns `undefined` if it is not JSON. Throws `UnreadableAnswer`. */
export type ReadMessage = (message: string) => MessageTexts | undefined;

/** Matches the beginning of a text that may be a message, whatever its content type. */
const LIKE_JSON = /^\s*[[{]/;

/** Returns the message as it may be shown, or `undefined` if the answer is refused. Throws `UnreadableAnswer`. */
export function inspectMessage(
  message: string,
  read: ReadMessage,
  answer: JudgedAnswer,
  metrics: Pick<GuardrailMetrics, "uninspected">,
  joined = new JoinedMessages(),
): MaybePromise<string | undefined> {
  const texts = read(message);
  // A lenient client might read a message that cannot be parsed here.
  if (texts === undefined && LIKE_JSON.test(message)) throw new UnreadableAnswer("a message of it is not JSON");
  const { texts: segments, uninspected, rewrite } = texts ?? asPlainText(message);
  for (const what of uninspected) metrics.uninspected(what);
  return mapMaybePromise(joined.inspect(answer, segments), (changes) => changes && rewrite(changes));
}

const asPlainText = (text: string): MessageTexts => ({
  texts: text.trim() === "" ? [] : [{ kind: "tool_result", text, ref: "", turn: 0, isReadOnly: false }],
  uninspected: [],
  rewrite: ([change]) => change ?? text,
});

interface MessagePorts extends Pick<StreamPorts, "answer" | "metrics" | "show"> {
  readonly read: ReadMessage;
}

export function inspectMessages({ answer, metrics, show, read }: MessagePorts): InspectedStream {
  const inTurn = createSerialQueue();
  const joined = new JoinedMessages();
  let heldBytes = 0;
  let isClosed = false;

  function judged(event: SseEvent): MaybePromise<void> {
    return mapMaybePromise(inspectNonDataLines(event, answer), (seen) => {
      if (seen === undefined || isClosed) return undefined;
      const { data = "" } = seen;
      if (data === "") return show(seen.bytes);
      return mapMaybePromise(inspectMessage(data, read, answer, metrics, joined), (made) => {
        if (made !== undefined && !isClosed) show(made === data ? seen.bytes : replaceData(seen, made));
      });
    });
  }

  return {
    push(event) {
      const done = inTurn(() => judged(event));
      if (!(done instanceof Promise)) return undefined;
      const { length } = event.bytes;
      heldBytes += length;
      return done.finally(() => {
        heldBytes -= length;
      });
    },
    end: () => inTurn(() => undefined),
    close() {
      isClosed = true;
    },
    get heldBytes() {
      return heldBytes;
    },
    isBuffering: false,
  };
}
