/**
 * Parses a v2 server's answer to an inference request into numbers; strictly, since findings would be missed otherwise.
 * Source: kserve-v2 reference, "Infer request (JSON)", "Binary tensor extension".
 */

import { fromHalf } from "../../reading/scores.ts";
import { GraphError, type GraphOutput } from "../graph-shapes.ts";
import type { ServerAnswer } from "../session-protocol.ts";
import { jsonIn } from "./metadata.ts";

const MAX_OUTPUTS = 64;
const MAX_DIMENSIONS = 8;

/** Size of one number, in bytes. JSON has no half precision. */
const SIZES: Readonly<Record<string, number>> = { FP16: 2, BF16: 2, FP32: 4, FP64: 8 };

interface ServedOutput {
  readonly name: unknown;
  readonly datatype: unknown;
  readonly shape: unknown;
  readonly data: unknown;
  /** Values as bytes; `undefined` if they are in `data`. */
  readonly bytes: Uint8Array | undefined;
}

/** Parses an answer. Throws a `GraphError`. `id` is the request's; `output` is the name of the requested output. */
export function answerIn({ headerLength, body }: ServerAnswer, id: string, output: string): GraphOutput {
  const { json, binary } = partsOf(body, headerLength);
  const parsed = jsonIn(json, "what is not an answer of a model, or one");
  if (typeof parsed["id"] === "string" && parsed["id"] !== id) throw wrong("to another request");
  const version = parsed["model_version"];
  const outputs = outputsIn(parsed["outputs"], binary);
  const named = outputs.filter((one) => one.name === output);
  const one = named.length === 0 && outputs.length === 1 ? outputs[0] : named[0];
  if (one === undefined || named.length > 1) throw wrong(`without the output \`${output}\``);
  const dims = dimsIn(one.shape);
  const count = dims.reduce((product, size) => product * size, 1);
  const data = one.bytes === undefined ? numbersIn(one, count) : floatsIn(one.bytes, one.datatype, count);
  return { name: output, dims, data, version: typeof version === "string" ? version : undefined };
}

interface Parts {
  readonly json: Uint8Array;
  readonly binary: Uint8Array;
}

function partsOf(body: Uint8Array, headerLength: string | undefined): Parts {
  if (headerLength === undefined) return { json: body, binary: body.subarray(body.length) };
  const length = /^\d{1,10}$/.test(headerLength) ? Number(headerLength) : Number.POSITIVE_INFINITY;
  if (length > body.length) throw wrong("whose `Inference-Header-Content-Length` is wrong");
  return { json: body.subarray(0, length), binary: body.subarray(length) };
}

/** Assigns the bytes to the outputs in order; all bytes must be used. */
function outputsIn(value: unknown, binary: Uint8Array): readonly ServedOutput[] {
  if (!Array.isArray(value) || value.length > MAX_OUTPUTS) throw wrong("without a list of outputs");
  let at = 0;
  const outputs = value.map((one: unknown): ServedOutput => {
    if (typeof one !== "object" || one === null) throw wrong("with an output that is not an object");
    const { name, datatype, shape, data, parameters } = one as Readonly<Record<string, unknown>>;
    const size = (parameters as { readonly binary_data_size?: unknown } | null | undefined)?.binary_data_size;
    if (size === undefined) return { name, datatype, shape, data, bytes: undefined };
    if (data !== undefined && data !== null) throw wrong("with an output given twice");
    if (!Number.isSafeInteger(size) || (size as number) < 0 || at + (size as number) > binary.length) {
      throw wrong("that is cut short");
    }
    const from = at;
    at += size as number;
    return { name, datatype, shape, data: undefined, bytes: binary.subarray(from, at) };
  });
  if (at !== binary.length) throw wrong("with more bytes than its outputs have");
  return outputs;
}

function dimsIn(shape: unknown): readonly number[] {
  const isShape =
    Array.isArray(shape) &&
    shape.length <= MAX_DIMENSIONS &&
    shape.every((size) => Number.isSafeInteger(size) && (size as number) >= 0);
  if (!isShape) throw wrong("whose output has no proper shape");
  return shape as readonly number[];
}

/** Parses numbers, flat or nested, row by row. */
function numbersIn({ data, datatype }: ServedOutput, count: number): Float32Array {
  if (datatype !== "FP32" && datatype !== "FP64") throw wrongType(datatype);
  if (!Array.isArray(data)) throw wrong("whose output has no data");
  // One dimension per nesting level.
  const flat: readonly unknown[] = data.flat(MAX_DIMENSIONS);
  if (flat.length !== count) throw wrong("whose output does not have as many numbers as its shape says");
  const numbers = new Float32Array(count);
  flat.forEach((value, at) => {
    if (typeof value !== "number") throw wrong("whose output contains a value that is not a number");
    numbers[at] = value;
  });
  return numbers;
}

function floatsIn(bytes: Uint8Array, datatype: unknown, count: number): Float32Array {
  const size = typeof datatype === "string" && Object.hasOwn(SIZES, datatype) ? (SIZES[datatype] as number) : 0;
  if (size === 0) throw wrongType(datatype);
  if (bytes.length !== size * count) throw wrong("whose output does not have as many numbers as its shape says");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (datatype === "FP16")
    return fromHalf(Uint16Array.from({ length: count }, (_, at) => view.getUint16(2 * at, true)));
  const numbers = new Float32Array(count);
  for (let at = 0; at < count; at++) {
    if (datatype === "FP32") numbers[at] = view.getFloat32(4 * at, true);
    else if (datatype === "FP64") numbers[at] = view.getFloat64(8 * at, true);
    else numbers[at] = fromBrain(view, 2 * at);
  }
  return numbers;
}

/** Converts bfloat16, the upper half of a 32-bit float. */
function fromBrain(view: DataView, at: number): number {
  const wide = new DataView(new ArrayBuffer(4));
  wide.setUint16(2, view.getUint16(at, true), true);
  return wide.getFloat32(0, true);
}

const wrongType = (datatype: unknown): GraphError =>
  wrong(
    `whose output is of the type ${typeof datatype === "string" && /^[A-Z0-9]{1,16}$/.test(datatype) ? datatype : "of no name"}, not of floats`,
  );

const wrong = (what: string): GraphError => new GraphError("model", `its server gave an answer ${what}`);
