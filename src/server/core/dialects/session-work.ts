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

export interface SessionWork {
  /** Reads one message of either side. Binary messages are audio. */
  read(from: "client" | "upstream", message: Buffer, isBinary: boolean): void;
  readonly isUnderWay: boolean;
}

const ASK = "response.create";
const BEGIN = "response.created";
const ENDS: ReadonlySet<string> = new Set(["response.done", ...RESPONSE_ENDS]);
const ERROR = "error";

const quoted = (type: string): Buffer => Buffer.from(`"${type}"`);
const TELLING = {
  client: [ASK].map(quoted),
  upstream: [BEGIN, ...ENDS, ERROR].map(quoted),
} as const;

export function createSessionWork(): SessionWork {
  /** Whether a response was requested and has neither begun nor been refused. */
  let isAsked = false;
  let begun = 0;
  return {
    read(from, message, isBinary) {
      if (isBinary || !TELLING[from].some((each) => message.includes(each))) return;
      const type = typeOf(message);
      if (from === "client") {
        if (type === ASK) isAsked = true;
      } else if (type === BEGIN) {
        isAsked = false;
        begun++;
      } else if (type === ERROR) {
        isAsked = false;
      } else if (type !== undefined && ENDS.has(type)) {
        isAsked = false;
        begun = Math.max(0, begun - 1);
      }
    },
    get isUnderWay() {
      return isAsked || begun > 0;
    },
  };
}

function typeOf(message: Buffer): string | undefined {
  const scan = scanObject(message, ["type"]);
  return scan.kind === "problem" ? undefined : stringValue(message, scan.members[0]);
}
