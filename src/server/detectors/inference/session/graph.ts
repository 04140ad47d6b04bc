/** A graph of ONNX as a function of token sequences. Source: dependencies reference, 4; model-hub reference, 2.2. */

import { fromHalf } from "../reading/scores.ts";
import type { Output, Reader } from "../reading/types.ts";
import type { InferenceSession, Metadata, Runtime, Tensor } from "./packages.ts";
import type { SessionProblem } from "./protocol.ts";

/** Tokens of a text with what stands around them. */
export interface Row {
  readonly ids: Int32Array;
  readonly types: Uint8Array;
  /** Rows of the output in front of the text's. */
  readonly before: number;
}

export interface Graph {
  /** Undefined: any. */
  readonly sequenceLength: number | undefined;
  readonly canBatch: boolean;
  /** For each row, in order. */
  readonly run: (rows: readonly Row[], wants: Reader["wants"]) => Promise<readonly Output[]>;
  /** Why the output cannot be what a detector wants, as far as the graph says. */
  readonly check: (reader: Pick<Reader, "wants" | "width">) => SessionProblem | undefined;
}

export class GraphError extends Error {
  readonly key: SessionProblem["key"];
  constructor(key: SessionProblem["key"], message: string) {
    super(message);
    this.key = key;
  }
}

export async function openGraph(runtime: Runtime, path: string, threads: number): Promise<Graph> {
  // It writes of shapes to standard error otherwise, with parts of what it was fed.
  runtime.env.logLevel = "fatal";
  const session = await runtime.InferenceSession.create(path, {
    executionProviders: ["cpu"],
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
    // Threads that wait would keep their processors.
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
  const inputs = inputsOf(session);
  const [batch, sequence] = inputs.find(({ name }) => name === "input_ids")?.shape ?? [];
  return {
    sequenceLength: typeof sequence === "number" ? sequence : undefined,
    canBatch: typeof batch !== "number",
    run: (rows, wants) => run(runtime, session, inputs, rows, outputOf(session, wants)),
    check: (reader) => checkOutput(session, reader),
  };
}

const FED: ReadonlySet<string> = new Set(["input_ids", "attention_mask", "token_type_ids", "position_ids"]);

function inputsOf({ inputMetadata }: InferenceSession): readonly Metadata[] {
  const names = inputMetadata.map(({ name }) => name);
  const listed = names.map((name) => `\`${name}\``).join(", ") || "none";
  if (!names.includes("input_ids")) {
    throw new GraphError("model", `the graph has no input \`input_ids\` (its inputs: ${listed}): it reads no text`);
  }
  for (const { name, type, shape } of inputMetadata) {
    if (!FED.has(name)) {
      throw new GraphError("model", `the graph needs an input \`${name}\`, which a text does not give`);
    }
    if (type !== "int64" && type !== "int32") {
      throw new GraphError("model", `the graph's input \`${name}\` is of type ${type}, not int64 or int32`);
    }
    const [batch, , ...more] = shape ?? [];
    if (shape === undefined || shape.length !== 2 || more.length > 0 || (typeof batch === "number" && batch !== 1)) {
      throw new GraphError("model", `the graph's input \`${name}\` is not of one sequence of tokens or of any number`);
    }
  }
  return inputMetadata;
}

/** Preferred names, then the first output of the right rank. */
const NAMES: Readonly<Record<Reader["wants"], readonly string[]>> = {
  tokens: ["logits"],
  text: ["logits"],
  // `pooler_output`, which many graphs give too, is no embedding of a text.
  either: ["sentence_embedding", "last_hidden_state", "token_embeddings"],
};

function outputOf({ outputMetadata }: InferenceSession, wants: Reader["wants"]): Metadata {
  const ranks = wants === "tokens" ? [3] : wants === "text" ? [2] : [3, 2];
  const fitting = outputMetadata.filter(({ shape = [] }) => shape.length === 0 || ranks.includes(shape.length));
  const named = NAMES[wants].flatMap((name) => fitting.find((output) => output.name === name) ?? []);
  const output = named[0] ?? fitting[0];
  if (output !== undefined) return output;
  const shapes = outputMetadata.map(({ name, shape = [] }) => `\`${name}\` [${shape.join(", ")}]`).join(", ");
  const wanted = {
    tokens: "scores for every token, [batch, sequence, labels]",
    text: "scores for the text, [batch, labels]",
    either: "vectors, [batch, sequence, width] or [batch, width]",
  };
  throw new GraphError("model", `the graph gives no ${wanted[wants]}, but ${shapes}`);
}

function checkOutput(session: InferenceSession, { wants, width }: Pick<Reader, "wants" | "width">) {
  const { shape = [], name, type } = outputOf(session, wants);
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

const FLOATS: ReadonlySet<string> = new Set(["float32", "float16", "float64"]);

function floatsOf({ type, data }: Tensor): Float32Array {
  if (data instanceof Float32Array) return data;
  if (data instanceof Uint16Array) return fromHalf(data);
  if (data instanceof Float64Array || type === "float16") return Float32Array.from(data as Iterable<number>);
  throw new GraphError("model", `the graph's output is of type ${type}, not of floats`);
}

/** Shorter rows are filled up at their end, where the attention mask is 0. */
async function run(
  { Tensor }: Runtime,
  session: InferenceSession,
  inputs: readonly Metadata[],
  rows: readonly Row[],
  output: Metadata,
): Promise<readonly Output[]> {
  const fixed = inputs.find(({ name }) => name === "input_ids")?.shape?.[1];
  const longest = typeof fixed === "number" ? fixed : Math.max(...rows.map(({ ids }) => ids.length));
  const size = rows.length * longest;
  const dims = [rows.length, longest];
  const feeds: Record<string, Tensor> = {};
  for (const { name, type } of inputs) {
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
    feeds[name] = new Tensor(type ?? "int64", data, dims);
  }
  const answer = (await session.run(feeds, [output.name]))[output.name];
  if (answer === undefined) throw new GraphError("model", `the graph gave no output \`${output.name}\``);
  const [batch, second = 0, third] = answer.dims;
  const isByToken = third !== undefined;
  if (batch !== rows.length || answer.dims.length > 3 || (isByToken && second !== longest)) {
    throw new GraphError("model", `the graph's output \`${output.name}\` is of the shape [${answer.dims.join(", ")}]`);
  }
  const data = floatsOf(answer);
  const width = third ?? second;
  return rows.map(({ ids, before }, row) => ({
    data,
    at: row * (isByToken ? longest : 1) * width,
    rows: isByToken ? longest : 1,
    width,
    used: isByToken ? ids.length : 1,
    before,
  }));
}
