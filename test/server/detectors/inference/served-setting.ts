/** Detectors whose model is on a test server, and incorrect answers of that server. */
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, beforeEach } from "node:test";
import type { Detector } from "../../../../src/server/core/guardrails/index.ts";
import { createSessions } from "../../../../src/server/detectors/inference/index.ts";
import { peer } from "../../../peers/index.ts";
import { VERDICTS } from "../../../reference/inference/assets.ts";
import { BACKGROUND, TOPICS } from "../../../reference/inference/texts.ts";
import { bytesOf, type Inferred, startInferenceServer } from "./inference-server.ts";
import { assetsFor, configOf, missing, opened } from "./support.ts";

/** Folder of the importing test file. */
export const folder = missing ? "" : await assetsFor({ after });
export const at = (name: string): string => join(folder, "word-piece", `${name}.onnx`);
const runtime = await peer("onnxruntime-node");
export const server = await startInferenceServer(
  { after },
  {
    runtime: runtime.path,
    models: { nlp: at("nlp"), classify: at("classify"), embed: at("embed"), pooled: at("pooled"), "näme 1": at("nlp") },
  },
);
export const honest = { ...server };
beforeEach(() => {
  const { mostRows, offersBinary, version, isReady, metadata, meet, err } = honest;
  Object.assign(server, { mostRows, offersBinary, version, isReady, metadata, meet, err });
});

type Type = "nlp" | "classify" | "embed";

const TYPES: Readonly<Record<Type, object>> = {
  nlp: {},
  classify: { labels: VERDICTS },
  embed: {
    topics: TOPICS.map(({ name, examples }) => ({ name, examples: [...examples] })),
    background: [...BACKGROUND],
  },
};
/** Makes windows of long texts overlap. */
const SMALL = { max_tokens: 16, stride: 4 };

const remoteTo = (model: string, more: object = {}) => ({
  model: undefined,
  library: undefined,
  remote: { endpoint: server.url, model, timeout: "10s", ...more },
});
export const served = (type: Type, more: object = {}, own: object = {}) =>
  configOf(type, folder, { ...TYPES[type], ...SMALL, ...remoteTo(type, more), ...own } as object, { threshold: 0 });
export const here = (type: Type, own: object = {}) =>
  configOf(type, folder, { ...TYPES[type], ...SMALL, ...own } as object, { threshold: 0 });

/** A detector that has not called the server yet. */
export const fresh = (config: ReturnType<typeof served>): Promise<Detector> => opened(config, createSessions());

export const TEXT = "My name is Alice Müller, I live in Berlin.";

/** Answers instead of the server. */
export type Err = (inferred: Inferred, response: ServerResponse) => unknown;

export const answering = (response: ServerResponse, value: unknown): void =>
  void response
    .writeHead(200, { "content-type": "application/json" })
    .end(typeof value === "string" ? value : JSON.stringify(value));

/** The correct answer with replaced members of its output or of itself. */
export const answerTo = ({ id, output }: Inferred, own: object = {}, all: object = {}): object => ({
  id,
  model_name: "m",
  model_version: "1",
  outputs: [{ ...output, data: Array.from(output.data, Number), ...own }],
  ...all,
});
export const withOwn =
  (own: (output: Inferred["output"]) => object): Err =>
  (inferred, response) =>
    answering(response, answerTo(inferred, own(inferred.output)));
export const withAll =
  (all: object | ((inferred: Inferred) => object)): Err =>
  (inferred, response) =>
    answering(response, answerTo(inferred, {}, typeof all === "function" ? all(inferred) : all));
export const replaced = (output: Inferred["output"], value: unknown): object => ({
  data: Array.from(output.data, (number, index): unknown => (index === 0 ? value : Number(number))),
});
export const inBytes =
  (make: (inferred: Inferred, bytes: Buffer, response: ServerResponse) => void): Err =>
  (inferred, response) =>
    make(inferred, bytesOf(inferred.output.data), response);
export const headOf = ({ id, output: { name, datatype, shape } }: Inferred, size: unknown, own: object = {}): string =>
  JSON.stringify({ id, outputs: [{ name, datatype, shape, parameters: { binary_data_size: size }, ...own }] });
