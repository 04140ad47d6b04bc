/**
 * Reads the top-level member `usage` of a JSON body, or `meta` where rerankers report it. Most bodies are short and arrive in one
 * chunk: their usage is read from the end, or the body is parsed whole. A longer body, or one that is not JSON, is scanned chunk
 * by chunk. The result is the same.
 */

import { listOf, objectOf, tryParseJson } from "../json/json-values.ts";
import type { Dialect } from "../routes/routes.ts";
import type { Usage } from "./usage.ts";
import { isDoubtful, normalizeUsage } from "./usage-normalize.ts";
import { type BodyUsage, scanForUsage } from "./usage-scan.ts";

/**
 * Maximum size of a first chunk that is kept until the second chunk or the end, in bytes. It is below the maximum size of a
 * `usage` value.
 */
const MAX_WHOLE_BYTES = 8 << 10;

export function createBodyUsage(dialect: Dialect): BodyUsage {
  return new BodyUsageReader(dialect);
}

/**
 * Returns the value of `usage`. Some hosts report it in a member of their own, or within a choice; that is only read from
 * short bodies.
 */
function usageIn(value: unknown): unknown {
  const body = objectOf(value);
  if (objectOf(body?.["usage"]) !== undefined) return body?.["usage"];
  const ofChoices = listOf(body?.["choices"]).map((choice) => objectOf(objectOf(choice)?.["usage"]));
  return (
    objectOf(objectOf(body?.["x_groq"])?.["usage"]) ??
    ofChoices.findLast((usage) => usage !== undefined) ??
    objectOf(body?.["meta"]) ??
    body?.["usage"]
  );
}

const NAME = Buffer.from('"usage"');
const COMMA = 0x2c;
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
/** Maximum length from the name to the end of the body, in bytes. */
const MAX_TAIL_BYTES = 1 << 10;

/**
 * Reads the `usage` member near the end of a body without parsing what precedes it. The text from its name to the end must
 * close exactly one object: then the member belongs to the outermost object and is the last of its name. Returns
 * `undefined` otherwise.
 */
function lastUsage(body: Buffer): object | undefined {
  const at = body.lastIndexOf(NAME);
  if (at < 0 || body.length - at > MAX_TAIL_BYTES) return undefined;
  let before = at - 1;
  while (isSpace(body[before])) before--;
  // A quote after a comma opens a string: within a string it would be escaped.
  if (body[before] !== COMMA) return undefined;
  return objectOf(objectOf(tryParseJson(`{${body.toString("utf8", at)}`))?.["usage"]);
}

/** Implemented as a class, since there is one instance for each answer and closures would have to be created each time. */
class BodyUsageReader implements BodyUsage {
  readonly #dialect: Dialect;
  /** The only chunk so far, if it is short. */
  #firstChunk: Buffer | undefined;
  /** Usage that `#only` reports; `undefined` until it was read. */
  #known: { readonly usage: unknown } | undefined;
  #usage: Usage | undefined;
  /** Scan of the body; `undefined` while `#only` is the only chunk. */
  #scan: BodyUsage | undefined;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.#scan === undefined && this.#firstChunk === undefined && chunk.length <= MAX_WHOLE_BYTES)
      this.#firstChunk = chunk;
    else this.#startScan().push(chunk);
  }

  end(): Usage | undefined {
    this.#read();
    return this.#scan === undefined ? this.#usage : this.#scan.end();
  }

  get isDoubtful(): boolean {
    this.#read();
    return this.#scan === undefined ? isDoubtful(this.#dialect, this.#known?.usage) : this.#scan.isDoubtful;
  }

  #read(): void {
    if (this.#firstChunk === undefined || this.#known !== undefined) return;
    const last = lastUsage(this.#firstChunk);
    if (last !== undefined) {
      this.#known = { usage: last };
      this.#usage = normalizeUsage(this.#dialect, last);
      return;
    }
    const value = tryParseJson(this.#firstChunk.toString("utf8"));
    if (value === undefined) this.#startScan();
    else {
      this.#known = { usage: usageIn(value) };
      this.#usage = normalizeUsage(this.#dialect, this.#known.usage);
    }
  }

  #startScan(): BodyUsage {
    if (this.#scan === undefined) {
      this.#scan = scanForUsage(this.#dialect);
      if (this.#firstChunk !== undefined) this.#scan.push(this.#firstChunk);
      this.#firstChunk = undefined;
    }
    return this.#scan;
  }
}
