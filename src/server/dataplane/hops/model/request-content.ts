/** Parses the body of a chat, messages or Responses request once, on first use. */
import { GatewayError } from "../../../../base/index.ts";
import { type Form, type JsonSource, readJson, type Uses, usesOf } from "../../../core/dialects/index.ts";
import type { RequestMemory } from "../../../memory/index.ts";

/**
 * Maximum number of JSON values in a body. Real requests have far fewer, and parsed values take many times the memory of their
 * text.
 */
const MAX_VALUES = 1_000_000;
/** Memory that an empty object takes in the engine, including its slot in the parent, in bytes. */
const VALUE_BYTES = 64;

interface RequestText {
  /** JSON object that `scanObject` has accepted. */
  readonly plain: Buffer;
  /** Results of the scan. */
  readonly mayLoseSpelling: boolean;
  readonly values: number;
}

/** Holds the memory that parsing takes. Throws `body_too_large` or `overloaded`. */
export function holdValues({ plain, values }: Omit<RequestText, "mayLoseSpelling">, memory: RequestMemory): void {
  if (values > MAX_VALUES) {
    throw new GatewayError("body_too_large", `The request body contains more than ${MAX_VALUES} JSON values.`);
  }
  memory.hold(2 * plain.length + VALUE_BYTES * values);
}

/**
 * This is a class because there is one object per request: each evaluation of a literal with getters would create a new hidden
 * class.
 */
export class RequestContent {
  readonly #form: Form;
  readonly #text: RequestText;
  readonly #memory: RequestMemory;
  #source: JsonSource | undefined;
  readonly #uses = new Map<Form, Uses>();

  constructor(form: Form, text: RequestText, memory: RequestMemory) {
    this.#form = form;
    this.#text = text;
    this.#memory = memory;
  }

  /** Parsed body. Throws `invalid_request`, `body_too_large` or `overloaded`. */
  get source(): JsonSource {
    this.#source ??= read(this.#text, this.#memory);
    return this.#source;
  }

  get form(): Form {
    return this.#form;
  }

  /** Returns the capabilities that the request uses. `to`: form in which the request would be sent. Throws as `source` does. */
  usesTo(to: Form): Uses {
    // The result depends on the target form only for a Responses request.
    const key = this.#form === "responses" ? to : this.#form;
    const known = this.#uses.get(key);
    if (known !== undefined) return known;
    const uses = usesOf(this.#form, this.source.value, to);
    this.#uses.set(key, uses);
    return uses;
  }
}

/**
 * Parses the body. The scan does not validate escapes and control characters within strings, because they do not affect its
 * result.
 */
function read(text: RequestText, memory: RequestMemory): JsonSource {
  holdValues(text, memory);
  try {
    return readJson(text.plain.toString("utf8"), !text.mayLoseSpelling);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError("invalid_request", "Cannot read the request: its JSON contains an invalid string.");
  }
}
