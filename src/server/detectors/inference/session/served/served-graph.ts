/** Graph on a server, called by the v2 inference protocol over HTTP. Source: kserve-v2 reference. */

import type { Output, Reader } from "../../reading/types.ts";
import {
  checkInputs,
  checkOutput,
  feedsOf,
  type Graph,
  GraphError,
  outputOf,
  outputsOf,
  type Row,
  sequencesOf,
} from "../graph-shapes.ts";
import type { ServedGraph } from "../session-protocol.ts";
import { modelIn, offersBinary, type ServedModel } from "./metadata.ts";
import { answerIn } from "./served-answer.ts";
import { encodeRequest } from "./served-request.ts";
import { type AskServer, CallFailure } from "./server-calls.ts";

/** Maximum number of one request's concurrent calls to a server; the same as for an analyzer. */
const AT_ONCE = 4;

const MAX_METADATA_BYTES = 1 << 20;

/** Maximum size of a number in JSON with its separators, about 25 bytes unless indented, and of everything else. */
const BYTES_PER_NUMBER = 32;
const BYTES_BESIDE = 64 << 10;
const MAX_ANSWER_BYTES = 64 << 20;
/** Assumed number of values in a row if the server does not state it: the widest embeddings in use have 8,192. */
const WIDEST = 16_384;

/**
 * Opens the graph: queries the server's features and the model's inputs. Rejects with a `GraphError`, or as a call
 * does.
 */
export async function openServedGraph(ask: AskServer, spec: ServedGraph, signal: AbortSignal): Promise<Graph> {
  const get = (path: string) =>
    ask({ method: "GET", path, headers: [], body: null, maxBytes: MAX_METADATA_BYTES }, signal);
  const [server, metadata] = await Promise.all([get(spec.server), get(spec.model)]);
  if (metadata.status !== 200) throw refusalOf(metadata.status, "for the model");
  const model = modelIn(metadata.body);
  checkInputs(model.inputs);
  const isBinary = server.status === 200 && offersBinary(server.body);
  const serving: Serving = { ask, path: `${spec.model}/infer`, model, isBinary };
  let { canBatch } = sequencesOf(model.inputs);
  return {
    ...sequencesOf(model.inputs),
    get canBatch() {
      return canBatch;
    },
    atOnce: AT_ONCE,
    check: (reader) => checkOutput(model.outputs, reader),
    async run(rows, wants, until) {
      const outputs = rows.length === 1 || canBatch ? await infer(serving, rows, wants, until) : REFUSED;
      if (outputs !== REFUSED) return outputs;
      if (rows.length === 1) throw refusalOf(400, "to a text");
      const each: Output[] = [];
      for (const row of rows) {
        const one = await infer(serving, [row], wants, until);
        if (one === REFUSED) throw refusalOf(400, "to a text");
        each.push(...one);
      }
      // The server accepts the rows one by one, so the batch was too large.
      canBatch = false;
      return each;
    },
  };
}

const HINTS: ReadonlyMap<number, string> = new Map([
  [401, ": it refuses the credential"],
  [403, ": it refuses the credential"],
  [404, ": it serves no model of that name and version"],
]);

/** Returns the error for a status. Failures that may be temporary are not faults of the configuration. */
function refusalOf(status: number, what: string): Error {
  const message = `its server answered ${status} ${what}${HINTS.get(status) ?? ""}`;
  return status >= 500 || status === 429
    ? new CallFailure({ kind: "failed", message })
    : new GraphError("model", message);
}

interface Serving {
  readonly ask: AskServer;
  readonly path: string;
  readonly model: ServedModel;
  readonly isBinary: boolean;
}

/** Result of a batch that the server refused. It may accept a smaller one. */
const REFUSED = Symbol();

let requests = 0;

async function infer(
  { ask, path, model, isBinary }: Serving,
  rows: readonly Row[],
  wants: Reader["outputForm"],
  signal: AbortSignal,
): Promise<readonly Output[] | typeof REFUSED> {
  const { name, shape = [] } = outputOf(model.outputs, wants);
  const feeds = feedsOf(model.inputs, rows);
  const longest = feeds[0]?.dims[1] ?? 0;
  const id = `g${++requests}`;
  const { headers, body } = encodeRequest({ id, feeds, output: name }, isBinary);
  const last = shape.at(-1);
  const width = typeof last === "number" ? last : WIDEST;
  const numbers = rows.length * width * (wants === "text" || shape.length === 2 ? 1 : longest);
  const maxBytes = Math.min(MAX_ANSWER_BYTES, BYTES_BESIDE + numbers * BYTES_PER_NUMBER);
  const answer = await ask({ method: "POST", path, headers, body, maxBytes }, signal);
  if (answer.status === 400) return REFUSED;
  if (answer.status !== 200) throw refusalOf(answer.status, "to a text");
  return outputsOf(rows, longest, wants, answerIn(answer, id, name));
}
