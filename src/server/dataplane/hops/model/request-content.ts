/** The body of a chat or messages request, read when somebody asks, and once. */
import { GatewayError } from "../../../../base/index.ts";
import { type Form, type JsonSource, readJson, type Uses, usesOf } from "../../../core/dialects/index.ts";
import type { Holding } from "../../../memory/index.ts";

/** No request of real clients comes near; what is parsed takes many times the memory of its text. */
const MAX_VALUES = 1_000_000;
/** An empty object as the engine keeps it, and its place among others. */
const VALUE_BYTES = 64;

export interface RequestText {
  /** A JSON object that `scanObject` found sound. */
  readonly plain: Buffer;
  /** As the scan found them. */
  readonly mayLose: boolean;
  readonly values: number;
}

/** Holds what parsing the text takes. Throws `body_too_large` or `overloaded`. */
export function holdValues({ plain, values }: Omit<RequestText, "mayLose">, held: Holding): void {
  if (values > MAX_VALUES) {
    throw new GatewayError("body_too_large", `The request body holds more than ${MAX_VALUES} JSON values.`);
  }
  held.hold(2 * plain.length + VALUE_BYTES * values);
}

/** A class, since there is one for each request: a literal with getters is a shape of its own each time it is made. */
export class RequestContent {
  readonly #form: Form;
  readonly #text: RequestText;
  readonly #held: Holding;
  #source: JsonSource | undefined;
  readonly #uses = new Map<Form, Uses>();

  constructor(form: Form, text: RequestText, held: Holding) {
    this.#form = form;
    this.#text = text;
    this.#held = held;
  }

  /** Throws `invalid_request`, `body_too_large` or `overloaded`. */
  get source(): JsonSource {
    this.#source ??= read(this.#text, this.#held);
    return this.#source;
  }

  get form(): Form {
    return this.#form;
  }

  /** `to`: of what a channel would be sent. Throws as `source` does. */
  usesTo(to: Form): Uses {
    // Only a request for a response is read for each by itself.
    const key = this.#form === "responses" ? to : this.#form;
    const known = this.#uses.get(key);
    if (known !== undefined) return known;
    const uses = usesOf(this.#form, this.source.value, to);
    this.#uses.set(key, uses);
    return uses;
  }
}

/** The scan leaves escapes and control characters within strings alone, for they change nothing that it looks for. */
function read(text: RequestText, held: Holding): JsonSource {
  holdValues(text, held);
  try {
    return readJson(text.plain.toString("utf8"), !text.mayLose);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError("invalid_request", "Cannot read the request: its JSON holds a text that is none.");
  }
}
