/** The body of a chat or messages request, read when somebody asks, and once. */
import { GatewayError } from "../../../../base/index.ts";
import { type Dialect, type JsonSource, readJson, type Uses, usesOf } from "../../../core/dialects/index.ts";

/** A class, since there is one for each request: a literal with getters is a shape of its own each time it is made. */
export class RequestContent {
  readonly #dialect: Dialect;
  readonly #plain: Buffer;
  readonly #mayLose: boolean;
  #source: JsonSource | undefined;
  #uses: Uses | undefined;

  /** `plain`: a JSON object that `scanObject` found sound; `mayLose`: as it found it. */
  constructor(dialect: Dialect, plain: Buffer, mayLose: boolean) {
    this.#dialect = dialect;
    this.#plain = plain;
    this.#mayLose = mayLose;
  }

  /** Throws `invalid_request`. */
  get source(): JsonSource {
    this.#source ??= read(this.#plain, this.#mayLose);
    return this.#source;
  }

  /** Throws `invalid_request`. */
  get uses(): Uses {
    this.#uses ??= usesOf(this.#dialect, this.source.value);
    return this.#uses;
  }
}

/** The scan leaves escapes and control characters within strings alone, for they change nothing that it looks for. */
function read(plain: Buffer, mayLose: boolean): JsonSource {
  try {
    return readJson(plain.toString("utf8"), !mayLose);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError("invalid_request", "Cannot read the request: its JSON holds a text that is none.");
  }
}
