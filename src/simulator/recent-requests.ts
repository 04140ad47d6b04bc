/**
 * Stores the last requests, for tests that inspect what arrived: `GET /sim/last` returns the newest as one object, and
 * `GET /sim/last?n=3` a list of three, the newest last.
 *
 * Headers are reported by name only, except a few that select a form of the dialect: a credential is never reported.
 * Bodies above a limit are left out, so that the stored data is bounded too.
 */

import { summarizeChat, summarizeMessages, summarizeRpcCall } from "./comparable-summary.ts";
import type { AnswerProtocol } from "./dialect-errors.ts";
import { EMPTY_OBJECT, type JsonObject, objectOf } from "./json-fields.ts";

export const MAX_RECENT = 20;

/** Maximum number of characters of a body that is kept. */
const MAX_TEXT = 512 * 1024;

export interface ReceivedRequest {
  readonly serial: number;
  readonly method: string;
  /** URL with its query. */
  readonly url: string;
  readonly route: string;
  readonly dialect: AnswerProtocol;
  /** Model; for a request to an agent, the name in its path. */
  readonly model: string;
  /** Headers as names and values, alternating, as received. */
  readonly rawHeaders: readonly string[];
  /** Body as it was read; `undefined` if it is not JSON. */
  readonly text: string | undefined;
  readonly body: JsonObject;
  readonly byteCount: number;
  /** Returns the status of the answer, once there is one. */
  readonly status: () => number | undefined;
}

/** Last requests, the newest last. */
export interface RecentRequests {
  add(received: ReceivedRequest): void;
  /**
   * Returns JSON text: a list of the last `count` requests, or only the newest one without `count`; `null` if there is
   * none.
   */
  read(count: number | undefined): string;
  clear(): void;
}

/** Headers whose values are reported. */
const REPORTED: ReadonlySet<string> = new Set([
  "a2a-extensions",
  "a2a-version",
  "accept",
  "anthropic-beta",
  "anthropic-version",
  "content-encoding",
  "content-length",
  "content-type",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
]);

/** Prefix of headers that copy arguments, whose values the reported body contains too. */
const MIRRORED_ARGUMENT_PREFIX = "mcp-param-";

export function createRecentRequests(): RecentRequests {
  let recent: ReceivedRequest[] = [];
  return {
    add(received) {
      recent.push(isStorable(received.text) ? received : { ...received, text: undefined, body: EMPTY_OBJECT });
      if (recent.length > 2 * MAX_RECENT) recent = recent.slice(-MAX_RECENT);
    },
    read(count) {
      const newest = recent.at(-1);
      if (count === undefined) return JSON.stringify(newest === undefined ? null : summaryOf(newest));
      const from = Math.max(0, recent.length - Math.min(count, MAX_RECENT));
      return JSON.stringify(recent.slice(from).map(summaryOf));
    },
    clear() {
      recent = [];
    },
  };
}

function isStorable(text: string | undefined): boolean {
  return text !== undefined && text.length <= MAX_TEXT;
}

/** Placeholder for the value of a header that may be a credential. */
const HIDDEN = "(not told)";

function summaryOf({ rawHeaders, text, body, url, ...received }: ReceivedRequest) {
  const headers = new Map<string, string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    const value = REPORTED.has(name) || name.startsWith(MIRRORED_ARGUMENT_PREFIX) ? (rawHeaders[at + 1] ?? "") : HIDDEN;
    const before = headers.get(name);
    headers.set(name, before === undefined || value === HIDDEN ? value : `${before}, ${value}`);
  }
  const question = url.indexOf("?");
  const readBody = text === undefined ? undefined : objectOf(body);
  const { route } = received;
  const summarize =
    route === "chat_completions"
      ? summarizeChat
      : route === "messages" || route === "count_tokens"
        ? summarizeMessages
        : route === "mcp" || route === "a2a"
          ? summarizeRpcCall
          : undefined;
  return {
    ...received,
    status: received.status() ?? null,
    path: question < 0 ? url : url.slice(0, question),
    query: question < 0 ? "" : url.slice(question + 1),
    headers: Object.fromEntries(headers),
    body: readBody ?? null,
    text: text ?? null,
    understood: readBody === undefined ? null : (summarize?.(readBody) ?? null),
  };
}
