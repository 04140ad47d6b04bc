/** Input and result of a route. `deliver-answer.ts` writes the result, with the faults that the model name selects. */

import type { IncomingHttpHeaders } from "node:http";
import { type Dialect, Refused } from "./dialect-errors.ts";
import type { Fault } from "./fault-table.ts";
import type { JsonObject } from "./json-fields.ts";
import type { FormPart } from "./parse-form.ts";
import type { Memory } from "./provider-memory.ts";
import type { StoredObjects } from "./stored/stored-objects.ts";

export interface Call {
  readonly dialect: Dialect;
  /** Model name; empty if the route needs none and none was given. */
  readonly model: string;
  readonly fault: Fault;
  /** Parsed body; empty if the body is not a JSON object. */
  readonly body: JsonObject;
  /** Parts of a multipart body. */
  readonly form: readonly FormPart[];
  /** Size of the body as received. */
  readonly byteCount: number;
  readonly headers: IncomingHttpHeaders;
  /** Serial number of the request; ids are derived from it. */
  readonly serial: number;
  readonly requestId: string;
  /** Time in seconds since 1970. */
  readonly now: number;
  readonly memory: Memory;
}

/** Call of a route over HTTP, with the additional data for routes of stored objects. */
export interface RoutedCall extends Call {
  /** Parameters in the path, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly stored: StoredObjects;
  /** Returns the `POST` route at a path. */
  readonly routeAt: (path: string) => Route | undefined;
  readonly nextSerial: () => number;
}

export interface Route {
  readonly name: string;
  /** Dialect; `undefined` if the dialects share the path, and `anthropic-version` decides. */
  readonly dialect: Dialect | undefined;
  /** Place of the model's name in a request. A route without a model has no faults. */
  readonly model: "required" | { readonly default: string } | "path" | "none";
  /** Set for a route without a model that reads its body. */
  readonly isJson?: true;
  readonly answer: (call: RoutedCall) => Answer | Promise<Answer>;
}

/** Returns the model. `given` is the `model` of the body. */
export function modelIn({ model: modelPlace }: Route, requested: unknown): string {
  if (typeof requested === "string" && requested !== "") return requested;
  if (requested === undefined && typeof modelPlace === "object") return modelPlace.default;
  throw new Refused(400, "model must be a string that is not empty.", "model");
}

export interface Tokens {
  /** Number of input tokens, including those read from and written to the cache. */
  readonly input: number;
  readonly output: number;
  /** Number of tokens read from the cache and written to it; absent means 0. */
  readonly cached?: number;
  readonly written?: number;
}

export type Answer =
  | {
      readonly kind: "body";
      /** HTTP status; absent means 200. */
      readonly status?: number;
      /** Headers as flat name and value pairs. */
      readonly headers?: readonly string[];
      readonly contentType: string;
      readonly body: string | Buffer;
      readonly tokens: Tokens;
    }
  | {
      readonly kind: "events";
      readonly headers?: readonly string[];
      /** Frames, each a whole event of the stream; they are created as they are written. */
      readonly frames: Iterable<Frame> | AsyncIterable<Frame>;
      /** Returns the end of a stream that fails after `sent` of its frames. */
      readonly failure: (sent: number) => string;
      readonly tokens: Tokens;
    };

export type Frame = string | Buffer;

export const NO_TOKENS: Tokens = { input: 0, output: 0 };

export function json(body: string, tokens: Tokens = NO_TOKENS): Answer {
  return { kind: "body", contentType: "application/json", body, tokens };
}

/** Returns a deterministic id: the n-th request since the start always has the same one. */
export function idOf(prefix: string, serial: number): string {
  return `${prefix}sim${serial.toString().padStart(8, "0")}`;
}
