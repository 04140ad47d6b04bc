/** Parses the metadata of a v2 server and of a model. Source: kserve-v2 reference, "Model metadata". */

import { GraphError, type Tensor } from "../graph-shapes.ts";

export interface ServedModel {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

/** Data types of the protocol, with their names in this program. */
const DATATYPES: ReadonlyMap<string, string> = new Map([
  ["INT64", "int64"],
  ["INT32", "int32"],
  ["FP64", "float64"],
  ["FP32", "float32"],
  ["FP16", "float16"],
  ["BF16", "float16"],
]);

const MAX_TENSORS = 64;
const MAX_DIMENSIONS = 8;
const LARGEST_DIMENSION = 2 ** 31;
/** Form of names, checked because they are shown to operators. */
const NAME = /^[\x21-\x7e]{1,128}$/;

export function jsonIn(body: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new GraphError("model", `its server answered ${what} that is not JSON`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new GraphError("model", `its server answered ${what} that is not a JSON object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** Returns whether tensors may be sent as bytes after the JSON. Without metadata, the server gets JSON only. */
export function offersBinary(body: Uint8Array): boolean {
  const { extensions } = jsonIn(body, "metadata");
  return Array.isArray(extensions) && extensions.includes("binary_tensor_data");
}

/** Parses the metadata of a model. Throws a `GraphError`. */
export function modelIn(body: Uint8Array): ServedModel {
  const { inputs, outputs } = jsonIn(body, "metadata of the model");
  return { inputs: tensorsIn(inputs, "inputs"), outputs: tensorsIn(outputs, "outputs") };
}

function tensorsIn(value: unknown, what: string): readonly Tensor[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new GraphError("model", `its server does not say which ${what} the model has`);
  }
  if (value.length > MAX_TENSORS) throw new GraphError("model", `the model has more than ${MAX_TENSORS} ${what}`);
  return value.map((one: unknown): Tensor => {
    const { name, datatype, shape } = (typeof one === "object" && one !== null ? one : {}) as Record<string, unknown>;
    if (
      typeof name !== "string" ||
      !NAME.test(name) ||
      typeof datatype !== "string" ||
      !/^[A-Z0-9]{1,16}$/.test(datatype)
    ) {
      throw new GraphError("model", `its server names ${what} of the model without a proper name and datatype`);
    }
    if (!Array.isArray(shape) || shape.length > MAX_DIMENSIONS || !shape.every(isDimension)) {
      throw new GraphError("model", `its server names no shape of \`${name}\``);
    }
    return {
      name,
      type: DATATYPES.get(datatype) ?? datatype,
      shape: shape.map((size: number) => (size < 0 ? "any" : size)),
    };
  });
}

/** Returns whether a value is a size of a shape; -1 means any size. */
const isDimension = (size: unknown): boolean =>
  Number.isSafeInteger(size) && (size as number) >= -1 && (size as number) <= LARGEST_DIMENSION;
