/**
 * Converts token sequences to inputs of graphs, and their outputs to rows of numbers, wherever the graphs run. Source:
 * dependencies reference, 4; model-hub reference, 2.2.
 */

import type { Output, Reader } from "../reading/types.ts";
import type { SessionProblem } from "./session-protocol.ts";

/** Tokens of a text with the special tokens around them. */
export interface Row {
  readonly ids: Int32Array;
  readonly types: Uint8Array;
  /** Number of output rows before those of the text. */
  readonly before: number;
}

export interface Graph {
  /** Required length of sequences; `undefined` for any. */
  readonly sequenceLength: number | undefined;
  readonly canBatch: boolean;
  /** Maximum number of concurrent runs for one request. */
  readonly atOnce: number;
  /** Returns the output for each row, in order. Rejects with the signal's reason if the run can be stopped. */
  readonly run: (rows: readonly Row[], wants: Reader["outputForm"], signal: AbortSignal) => Promise<readonly Output[]>;
  /** Returns why the output cannot be what a detector needs, as far as the graph declares its shape. */
  readonly check: (reader: Pick<Reader, "outputForm" | "width">) => SessionProblem | undefined;
}

/** Error whose message contains no part of a text. */
export class GraphError extends Error {
  readonly key: SessionProblem["key"];
  constructor(key: SessionProblem["key"], message: string) {
    super(message);
    this.key = key;
  }
}

/** Input or output of a graph. */
export interface Tensor {
  readonly name: string;
  /** Data type, such as `int64` or `float32`. */
  readonly type?: string;
  /** Shape; a name means any length. */
  readonly shape?: readonly (number | string)[];
}

const FED: ReadonlySet<string> = new Set(["input_ids", "attention_mask", "token_type_ids", "position_ids"]);

/** Throws if the graph requires an input that a text does not provide. */
export function checkInputs(inputs: readonly Tensor[]): void {
  const names = inputs.map(({ name }) => name);
  const listed = names.map((name) => `\`${name}\``).join(", ") || "none";
  if (!names.includes("input_ids")) {
    throw new GraphError(
      "model",
      `the graph has no input \`input_ids\` (its inputs: ${listed}), so it does not read text`,
    );
  }
  for (const { name, type, shape } of inputs) {
    if (!FED.has(name)) {
      throw new GraphError("model", `the graph needs an input \`${name}\`, which a text does not provide`);
    }
    if (type !== "int64" && type !== "int32") {
      throw new GraphError("model", `the graph's input \`${name}\` is of type ${type}, not int64 or int32`);
    }
    const [batch, , ...more] = shape ?? [];
    if (shape === undefined || shape.length !== 2 || more.length > 0 || (typeof batch === "number" && batch !== 1)) {
      throw new GraphError("model", `the graph's input \`${name}\` is not of one sequence of tokens or of any number`);
    }
  }
}

export function sequencesOf(inputs: readonly Tensor[]): Pick<Graph, "sequenceLength" | "canBatch"> {
  const [batch, sequence] = inputs.find(({ name }) => name === "input_ids")?.shape ?? [];
  return {
    sequenceLength: typeof sequence === "number" ? sequence : undefined,
    canBatch: typeof batch !== "number",
  };
}

export interface Feed {
  readonly name: string;
  readonly type: "int64" | "int32";
  readonly data: BigInt64Array<ArrayBuffer> | Int32Array<ArrayBuffer>;
  readonly dims: readonly [batch: number, sequence: number];
}

/** Returns the inputs for the rows. Shorter rows are padded at their end, where the attention mask is 0. */
export function feedsOf(inputs: readonly Tensor[], rows: readonly Row[]): readonly Feed[] {
  const longest = sequencesOf(inputs).sequenceLength ?? Math.max(...rows.map(({ ids }) => ids.length));
  const size = rows.length * longest;
  return inputs.map(({ name, type }): Feed => {
    const data = type === "int32" ? new Int32Array(size) : new BigInt64Array(size);
    const put = (at: number, value: number): void => {
      data[at] = data instanceof Int32Array ? value : BigInt(value);
    };
    rows.forEach(({ ids, types }, row) => {
      for (let at = 0; at < ids.length; at++) {
        const value = name === "input_ids" ? ids[at] : name === "token_type_ids" ? types[at] : 1;
        put(row * longest + at, name === "position_ids" ? at : (value as number));
      }
    });
    return { name, type: type === "int32" ? "int32" : "int64", data, dims: [rows.length, longest] };
  });
}

/** Preferred names of outputs; otherwise the first output of the right rank is used. */
const NAMES: Readonly<Record<Reader["outputForm"], readonly string[]>> = {
  tokens: ["logits"],
  text: ["logits"],
  // `pooler_output`, which many graphs have too, is not an embedding of a text.
  either: ["sentence_embedding", "last_hidden_state", "token_embeddings"],
};

const RANKS: Readonly<Record<Reader["outputForm"], readonly number[]>> = { tokens: [3], text: [2], either: [3, 2] };

/** Returns the output to use. Throws if there is none. */
export function outputOf(outputs: readonly Tensor[], wants: Reader["outputForm"]): Tensor {
  const fitting = outputs.filter(({ shape = [] }) => shape.length === 0 || RANKS[wants].includes(shape.length));
  const named = NAMES[wants].flatMap((name) => fitting.find((output) => output.name === name) ?? []);
  const output = named[0] ?? fitting[0];
  if (output !== undefined) return output;
  const shapes = outputs.map(({ name, shape = [] }) => `\`${name}\` [${shape.join(", ")}]`).join(", ");
  const wanted = {
    tokens: "scores for every token, [batch, sequence, labels]",
    text: "scores for the text, [batch, labels]",
    either: "vectors, [batch, sequence, width] or [batch, width]",
  };
  throw new GraphError("model", `the graph gives no ${wanted[wants]}, but ${shapes || "nothing"}`);
}

const FLOATS: ReadonlySet<string> = new Set(["float32", "float16", "float64"]);

export function checkOutput(
  outputs: readonly Tensor[],
  { outputForm: wants, width }: Pick<Reader, "outputForm" | "width">,
) {
  const { shape = [], name, type } = outputOf(outputs, wants);
  if (!FLOATS.has(type ?? "")) {
    return { key: "model", message: `the graph's output \`${name}\` is of type ${type}, not of floats` } as const;
  }
  const last = shape.at(-1);
  return typeof last === "number" ? widthProblem(last, width) : undefined;
}

export function widthProblem(found: number, wanted: number | undefined): SessionProblem | undefined {
  if (wanted === undefined || found === wanted) return undefined;
  return { key: "labels", message: `the graph scores ${found} labels, and ${wanted} are named` };
}

export interface GraphOutput {
  readonly name: string;
  readonly dims: readonly number[];
  readonly data: Float32Array;
  /** Version of the model, if a server reports it. */
  readonly version?: string | undefined;
}

/** Returns the outputs of one run for each row. `longest` is the padded length of a row in tokens. */
export function outputsOf(
  rows: readonly Row[],
  longest: number,
  wants: Reader["outputForm"],
  { name, dims, data, version }: GraphOutput,
): readonly Output[] {
  const [batch, second = 0, third] = dims;
  const isByToken = third !== undefined;
  if (batch !== rows.length || !RANKS[wants].includes(dims.length) || (isByToken && second !== longest)) {
    throw new GraphError("model", `the graph's output \`${name}\` is of the shape [${dims.join(", ")}]`);
  }
  const width = third ?? second;
  return rows.map(({ ids, before }, row) => ({
    data,
    at: row * (isByToken ? longest : 1) * width,
    rows: isByToken ? longest : 1,
    width,
    usedRows: isByToken ? ids.length : 1,
    rowsBeforeText: before,
    version,
  }));
}
