/**
 * Tracks whether a response is in progress in a WebSocket session: realtime, and responses over WebSocket. Source: dialects
 * reference, 4.1.
 *
 * Nearly all messages are deltas, which do not matter here: a search of the bytes skips them. Only messages that may begin or
 * end a response are scanned for their type.
 */
import { scanObject } from "./json/json-scan.ts";
import { stringValue } from "./usage/usage-member.ts";
import { RESPONSE_ENDS } from "./usage/usage-stream.ts";

interface SessionWork {
  /** Reads one message of either side. Binary messages are audio. */
  read(from: "client" | "upstream", message: Buffer, isBinary: boolean): void;
  readonly isInProgress: boolean;
}

const CREATE = "response.create";
const CREATED = "response.created";
const ERROR = "error";

const quoted = (type: string): Buffer => Buffer.from(`"${type}"`);
const RELEVANT_TYPES = {
  client: [CREATE].map(quoted),
  upstream: [CREATED, ...RESPONSE_ENDS, ERROR].map(quoted),
} as const;

export function createSessionWork(): SessionWork {
  /** Whether a response was requested and has neither begun nor been refused. */
  let isRequested = false;
  let runningCount = 0;
  return {
    read(from, message, isBinary) {
      if (isBinary || !RELEVANT_TYPES[from].some((each) => message.includes(each))) return;
      const type = typeOf(message);
      if (from === "client") {
        if (type === CREATE) isRequested = true;
      } else if (type === CREATED) {
        isRequested = false;
        runningCount++;
      } else if (type === ERROR) {
        isRequested = false;
      } else if (type !== undefined && RESPONSE_ENDS.has(type)) {
        isRequested = false;
        runningCount = Math.max(0, runningCount - 1);
      }
    },
    get isInProgress() {
      return isRequested || runningCount > 0;
    },
  };
}

function typeOf(message: Buffer): string | undefined {
  const scan = scanObject(message, ["type"]);
  return scan.kind === "problem" ? undefined : stringValue(message, scan.members[0]);
}
