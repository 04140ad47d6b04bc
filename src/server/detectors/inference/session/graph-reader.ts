/**
 * Runs texts through one graph: tokens, windows, batches, and a detector's reading of the outputs. Runs in a session's
 * thread.
 */

import { mapWithLimit } from "../../../../base/index.ts";
import { createTokenLabels } from "../reading/token-labels.ts";
import { createTopics, vectorOf } from "../reading/topics.ts";
import type { ModelFinding, Output, Reader, TextReading } from "../reading/types.ts";
import { createVerdicts } from "../reading/verdicts.ts";
import { unchanged, withoutMarks } from "../text/marks.ts";
import { type Frame, idsOf, learnFrame, type Tokens, tokensOf } from "../text/text-tokens.ts";
import { type TokenWindow, windowsOf } from "../text/token-windows.ts";
import { type Graph, GraphError, type Row, widthProblem } from "./graph-shapes.ts";
import { CallFailure } from "./served/server-calls.ts";
import type { ReaderSpec, SessionProblem } from "./session-protocol.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Maximum number of sequences in one run, and of their tokens. It limits the memory of a run, and the time until a
 * request can end. Long sequences gain nothing from batching on a CPU: with 2,048 tokens per run each took a tenth
 * longer.
 */
const MAX_ROWS = 16;
const MAX_TOKENS = 512;

export type ReadTexts = (
  texts: readonly string[],
  signal: AbortSignal,
) => Promise<readonly (readonly ModelFinding[])[]>;

export type OpenedReader =
  | { readonly kind: "opened"; readonly read: ReadTexts }
  | { readonly kind: "refused"; readonly problem: SessionProblem };

/** Conversion of texts to sequences of tokens. */
export interface Sequencing {
  readonly tokenizer: Tokenizer;
  readonly spec: ReaderSpec;
  readonly frame: Frame;
  /** Token ids of the prefix. */
  readonly prefix: readonly number[];
  /** Maximum number of the text's tokens in one window. */
  readonly payload: number;
}

/** Error for a model that differs from the one the reader was opened with. */
export class ModelChanged extends GraphError {}

/** Computes the sequencing, which does not depend on the graph. */
export async function sequencingOf(tokenizer: Tokenizer, spec: ReaderSpec): Promise<Sequencing | SessionProblem> {
  const { maxTokens, stride } = spec;
  const frame = await learnFrame(tokenizer.encoder);
  const prefix = await idsOf(spec.prefix, tokenizer.encoder);
  const payload = maxTokens - frame.before.length - frame.after.length - prefix.length;
  if (payload < 1) {
    return { key: "max_tokens", message: "special tokens and the prefix leave no room for text" };
  }
  if (stride >= payload) {
    const message = `\`stride\` must be less than the ${payload} tokens of a text in a window`;
    return { key: "stride", message };
  }
  return { tokenizer, spec, frame, prefix, payload };
}

/** Opens a reader by running the graph once with a sequence of the maximum length. */
export async function openReader(graph: Graph, sequencing: Sequencing, signal: AbortSignal): Promise<OpenedReader> {
  const { maxTokens } = sequencing.spec;
  const { sequenceLength } = graph;
  if (sequenceLength !== undefined && sequenceLength < maxTokens) {
    const message = `the graph takes sequences of ${sequenceLength} tokens: set \`max_tokens\` to that`;
    return { kind: "refused", problem: { key: "max_tokens", message } };
  }
  const running: Running = { ...sequencing, graph };
  try {
    const width = await triedWidth(running, signal);
    const { reader, version } = await createReader(running, signal);
    const problem = graph.check(reader) ?? widthProblem(width, reader.width);
    if (problem !== undefined) return { kind: "refused", problem };
    const isOfModel = (output: Output): boolean =>
      output.width === width && (version === undefined || output.version === version);
    return {
      kind: "opened",
      read: (texts, until) =>
        readAll(running, reader.outputForm, texts, until, (tokenized) => {
          const reading = reader.open(...tokenized);
          return {
            take(window, output) {
              if (!isOfModel(output)) throw new ModelChanged("model", "its server now has another model");
              reading.addWindow(window, output);
            },
            end: () => reading.finish(),
          };
        }),
    };
  } catch (error) {
    if (error instanceof GraphError) return { kind: "refused", problem: { key: error.key, message: error.message } };
    throw error;
  }
}

interface Running extends Sequencing {
  readonly graph: Graph;
}

const wantsOf = ({ reading: { type } }: ReaderSpec): Reader["outputForm"] =>
  type === "nlp" ? "tokens" : type === "classify" ? "text" : "either";

/** Returns the number of values in a row of the output. */
async function triedWidth(running: Running, signal: AbortSignal): Promise<number> {
  const { graph, spec, tokenizer, payload } = running;
  const wants = wantsOf(spec);
  const [id = 0] = await idsOf("a", tokenizer.encoder);
  const run = async (length: number, key: SessionProblem["key"], what: string): Promise<number> => {
    try {
      const [output] = await graph.run([rowOf(running, new Int32Array(length).fill(id))], wants, signal);
      return output?.width ?? 0;
    } catch (error) {
      if (error instanceof GraphError || error instanceof CallFailure) throw error;
      throw new GraphError(key, `${what}: ${messageOf(error)}`);
    }
  };
  const width = await run(1, "model", "the graph cannot read a short text");
  await run(payload, "max_tokens", `the graph cannot read ${spec.maxTokens} tokens; lower \`max_tokens\``);
  return width;
}

export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0]?.slice(0, 300) ?? "";

interface Created {
  readonly reader: Reader;
  /** Version of the model that the reader belongs to; `undefined` for any. */
  readonly version: string | undefined;
}

async function createReader(running: Running, signal: AbortSignal): Promise<Created> {
  const { reading } = running.spec;
  if (reading.type === "nlp") return { reader: createTokenLabels(reading), version: undefined };
  if (reading.type === "classify") return { reader: createVerdicts(reading), version: undefined };
  // Vectors of different models are not comparable.
  const versions = new Set<string | undefined>();
  const embed = async (texts: readonly string[]): Promise<readonly Float64Array[][]> =>
    await readAll(running, "either", texts, signal, ([, , windows]) => {
      const vectors: Float64Array[] = [];
      return {
        take(window, output) {
          versions.add(output.version);
          vectors[window] = vectorOf(output, reading.pooling);
        },
        end: () => (windows.length === 0 ? [] : vectors),
      };
    });
  const topics: Float64Array[][] = [];
  for (const { examples } of reading.topics) topics.push((await embed(examples)).flat());
  const reader = createTopics(reading, { topics, background: (await embed(reading.background)).flat() });
  if (versions.size > 1) throw new ModelChanged("model", "its server answers with two versions of the model");
  return { reader, version: [...versions][0] };
}

type Tokenized = readonly [text: string, tokens: Tokens, windows: readonly TokenWindow[]];

/** Runs the windows of all texts together, sorted by length. */
async function readAll<Result>(
  running: Running,
  wants: Reader["outputForm"],
  texts: readonly string[],
  signal: AbortSignal,
  open: (tokenized: Tokenized) => { take: TextReading["addWindow"]; end(): Result },
): Promise<Result[]> {
  const { graph, tokenizer, spec, payload } = running;
  const readings: { take: TextReading["addWindow"]; end(): Result }[] = [];
  const waiting: Waiting[] = [];
  for (const text of texts) {
    const view = spec.stripsMarks ? withoutMarks(text) : unchanged(text);
    const tokens = await tokensOf(view, text.length, tokenizer.encoder, tokenizer.rule, signal);
    const windows = windowsOf(tokens.length, payload, spec.stride);
    const reading = open([text, tokens, windows]);
    readings.push(reading);
    windows.forEach((window, at) => {
      waiting.push({ tokens, window, take: (output) => reading.take(at, output) });
    });
  }
  waiting.sort((a, b) => lengthOf(b) - lengthOf(a));
  await mapWithLimit(batchesOf(waiting, graph.canBatch), graph.atOnce, signal, async (batch, until) => {
    const rows = batch.map(({ tokens, window }) => rowOf(running, tokens.ids.subarray(window.from, window.to)));
    const outputs = await graph.run(rows, wants, until);
    batch.forEach(({ take }, at) => {
      const output = outputs[at] as Output;
      checkNumbers(output, wants);
      take(output);
    });
  });
  return readings.map((reading) => reading.end());
}

/**
 * Throws if a value is not finite: NaN is below every threshold and would look like no finding. An impossible label may
 * have minus infinity; a vector may not.
 */
function checkNumbers({ data, at, width, usedRows }: Output, wants: Reader["outputForm"]): void {
  for (let place = at; place < at + usedRows * width; place++) {
    const value = data[place] as number;
    if (!Number.isFinite(value) && !(value === Number.NEGATIVE_INFINITY && wants !== "either")) {
      throw new GraphError("model", "the model returned a value that is not a number");
    }
  }
}

interface Waiting {
  readonly tokens: Tokens;
  readonly window: TokenWindow;
  readonly take: (output: Output) => void;
}

const lengthOf = ({ window }: Waiting): number => window.to - window.from;

/** Returns batches of sequences by descending length. No sequence is padded to more than twice its length. */
function batchesOf(waiting: readonly Waiting[], canBatch: boolean): readonly (readonly Waiting[])[] {
  const batches: (readonly Waiting[])[] = [];
  for (let from = 0; from < waiting.length; ) {
    const longest = lengthOf(waiting[from] as Waiting);
    let to = from + 1;
    const most = canBatch ? Math.min(waiting.length, from + MAX_ROWS) : to;
    while (to < most && (to + 1 - from) * longest <= MAX_TOKENS && 2 * lengthOf(waiting[to] as Waiting) >= longest)
      to++;
    batches.push(waiting.slice(from, to));
    from = to;
  }
  return batches;
}

function rowOf({ frame, prefix }: Sequencing, text: Int32Array): Row {
  const { before, after, types } = frame;
  const start = before.length + prefix.length;
  const ids = new Int32Array(start + text.length + after.length);
  ids.set(before);
  ids.set(prefix, before.length);
  ids.set(text, start);
  ids.set(after, start + text.length);
  const kinds = new Uint8Array(ids.length).fill(types[1]);
  kinds.set(types[0]);
  kinds.set(types[2], start + text.length);
  return { ids, types: kinds, before: start };
}
