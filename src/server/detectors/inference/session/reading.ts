/** Texts through one graph: tokens, windows, batches, and what a detector reads in the outputs. Runs in a session's thread. */

import { createTokenLabels } from "../reading/token-labels.ts";
import { createTopics, vectorOf } from "../reading/topics.ts";
import type { Output, Read, Reader, Reading } from "../reading/types.ts";
import { createVerdicts } from "../reading/verdicts.ts";
import { unchanged, withoutMarks } from "../text/marks.ts";
import { type Frame, idsOf, learnFrame, type Tokens, tokensOf } from "../text/tokens.ts";
import { type TokenWindow, windowsOf } from "../text/windows.ts";
import { type Graph, GraphError, type Row, widthProblem } from "./graph.ts";
import type { ReaderSpec, SessionProblem } from "./protocol.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Sequences in one run, and tokens of them together: bounds the memory of a run, and the time until a request can end. Long
 * sequences gain nothing from company on a processor: with 2,048 tokens in a run each took a tenth longer.
 */
const MOST_ROWS = 16;
const MOST_TOKENS = 512;

export type ReadTexts = (texts: readonly string[], signal: AbortSignal) => Promise<readonly (readonly Read[])[]>;

export type OpenedReader =
  | { readonly kind: "opened"; readonly read: ReadTexts }
  | { readonly kind: "refused"; readonly problem: SessionProblem };

interface Sequencing {
  readonly graph: Graph;
  readonly tokenizer: Tokenizer;
  readonly spec: ReaderSpec;
  readonly frame: Frame;
  /** Tokens of the prefix. */
  readonly prefix: readonly number[];
  /** Most tokens of the text in one window. */
  readonly payload: number;
}

const refused = (key: SessionProblem["key"], message: string): OpenedReader => ({
  kind: "refused",
  problem: { key, message },
});

/** The graph is run once, on as long a sequence as it will be given. */
export async function openReader(
  graph: Graph,
  tokenizer: Tokenizer,
  spec: ReaderSpec,
  signal: AbortSignal,
): Promise<OpenedReader> {
  const { maxTokens, stride } = spec;
  const { sequenceLength } = graph;
  if (sequenceLength !== undefined && sequenceLength < maxTokens) {
    return refused("max_tokens", `the graph takes sequences of ${sequenceLength} tokens: set \`max_tokens\` to that`);
  }
  const frame = await learnFrame(tokenizer.encoder);
  const prefix = await idsOf(spec.prefix, tokenizer.encoder);
  const payload = maxTokens - frame.before.length - frame.after.length - prefix.length;
  if (payload < 1) return refused("max_tokens", "special tokens and the prefix leave no room for a text");
  if (stride >= payload) {
    const message = `windows would not move on: \`stride\` must be less than the ${payload} tokens of a text in a window`;
    return refused("stride", message);
  }
  const sequencing: Sequencing = { graph, tokenizer, spec, frame, prefix, payload };
  try {
    const width = await triedWidth(sequencing);
    const reader = await createReader(sequencing, signal);
    const problem = graph.check(reader) ?? widthProblem(width, reader.width);
    if (problem !== undefined) return { kind: "refused", problem };
    return {
      kind: "opened",
      read: (texts, until) => readAll(sequencing, reader.wants, texts, until, (tokenized) => reader.open(...tokenized)),
    };
  } catch (error) {
    if (error instanceof GraphError) return refused(error.key, error.message);
    throw error;
  }
}

const wantsOf = ({ reading: { type } }: ReaderSpec): Reader["wants"] =>
  type === "nlp" ? "tokens" : type === "classify" ? "text" : "either";

/** Values in a row of the output. */
async function triedWidth(sequencing: Sequencing): Promise<number> {
  const { graph, spec, tokenizer, payload } = sequencing;
  const wants = wantsOf(spec);
  const [id = 0] = await idsOf("a", tokenizer.encoder);
  const run = async (length: number, key: SessionProblem["key"], what: string): Promise<number> => {
    try {
      const [output] = await graph.run([rowOf(sequencing, new Int32Array(length).fill(id))], wants);
      return output?.width ?? 0;
    } catch (error) {
      if (error instanceof GraphError) throw error;
      throw new GraphError(key, `${what}: ${messageOf(error)}`);
    }
  };
  const width = await run(1, "model", "the graph cannot read a short text");
  await run(payload, "max_tokens", `the graph cannot read ${spec.maxTokens} tokens; lower \`max_tokens\``);
  return width;
}

export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0]?.slice(0, 300) ?? "";

async function createReader(sequencing: Sequencing, signal: AbortSignal): Promise<Reader> {
  const { reading } = sequencing.spec;
  if (reading.type === "nlp") return createTokenLabels(reading);
  if (reading.type === "classify") return createVerdicts(reading);
  const embed = async (texts: readonly string[]): Promise<readonly Float64Array[][]> =>
    await readAll(sequencing, "either", texts, signal, ([, , windows]) => {
      const vectors: Float64Array[] = [];
      return {
        take(window, output) {
          vectors[window] = vectorOf(output, reading.pooling);
        },
        end: () => (windows.length === 0 ? [] : vectors),
      };
    });
  const topics: Float64Array[][] = [];
  for (const { examples } of reading.topics) topics.push((await embed(examples)).flat());
  return createTopics(reading, { topics, background: (await embed(reading.background)).flat() });
}

type Tokenized = readonly [text: string, tokens: Tokens, windows: readonly TokenWindow[]];

/** Windows of all texts are run together, the long with the long. */
async function readAll<Result>(
  sequencing: Sequencing,
  wants: Reader["wants"],
  texts: readonly string[],
  signal: AbortSignal,
  open: (tokenized: Tokenized) => { take: Reading["take"]; end(): Result },
): Promise<Result[]> {
  const { graph, tokenizer, spec, payload } = sequencing;
  const readings: { take: Reading["take"]; end(): Result }[] = [];
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
  for (let from = 0; from < waiting.length; ) {
    signal.throwIfAborted();
    const batch = batchFrom(waiting, from, graph.canBatch);
    const rows = batch.map(({ tokens, window }) => rowOf(sequencing, tokens.ids.subarray(window.from, window.to)));
    const outputs = await graph.run(rows, wants);
    batch.forEach(({ take }, at) => {
      take(outputs[at] as Output);
    });
    from += batch.length;
  }
  return readings.map((reading) => reading.end());
}

interface Waiting {
  readonly tokens: Tokens;
  readonly window: TokenWindow;
  readonly take: (output: Output) => void;
}

const lengthOf = ({ window }: Waiting): number => window.to - window.from;

/** Descending by length. A sequence is filled up to at most twice its length. */
function batchFrom(waiting: readonly Waiting[], from: number, canBatch: boolean): readonly Waiting[] {
  const longest = lengthOf(waiting[from] as Waiting);
  let to = from + 1;
  const most = canBatch ? Math.min(waiting.length, from + MOST_ROWS) : to;
  while (to < most && (to + 1 - from) * longest <= MOST_TOKENS && 2 * lengthOf(waiting[to] as Waiting) >= longest) to++;
  return waiting.slice(from, to);
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
