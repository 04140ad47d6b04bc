/** Runs an ONNX graph in this thread. Source: dependencies reference, 4. */

import { fromHalf } from "../reading/scores.ts";
import type { Output, Reader } from "../reading/types.ts";
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
} from "./graph-shapes.ts";
import type { InferenceSession, Runtime, RuntimeTensor } from "./packages.ts";

export async function openGraph(runtime: Runtime, path: string, threads: number): Promise<Graph> {
  // At other log levels the runtime writes shapes and parts of its input to standard error.
  runtime.env.logLevel = "fatal";
  const session = await runtime.InferenceSession.create(path, {
    executionProviders: ["cpu"],
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
    // Spinning threads would keep their processors busy while they wait.
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
  checkInputs(session.inputMetadata);
  return {
    ...sequencesOf(session.inputMetadata),
    atOnce: 1,
    run: (rows, wants) => run(runtime, session, rows, wants),
    check: (reader) => checkOutput(session.outputMetadata, reader),
  };
}

function floatsOf({ type, data }: RuntimeTensor): Float32Array {
  if (data instanceof Float32Array) return data;
  if (data instanceof Uint16Array) return fromHalf(data);
  if (data instanceof Float64Array || type === "float16") return Float32Array.from(data as Iterable<number>);
  throw new GraphError("model", `the graph's output is of type ${type}, not of floats`);
}

async function run(
  { Tensor }: Runtime,
  session: InferenceSession,
  rows: readonly Row[],
  wants: Reader["outputForm"],
): Promise<readonly Output[]> {
  const { name } = outputOf(session.outputMetadata, wants);
  const feeds = feedsOf(session.inputMetadata, rows);
  const fed = Object.fromEntries(feeds.map(({ name, type, data, dims }) => [name, new Tensor(type, data, dims)]));
  const answer = (await session.run(fed, [name]))[name];
  if (answer === undefined) throw new GraphError("model", `the graph gave no output \`${name}\``);
  return outputsOf(rows, feeds[0]?.dims[1] ?? 0, wants, { name, dims: answer.dims, data: floatsOf(answer) });
}
