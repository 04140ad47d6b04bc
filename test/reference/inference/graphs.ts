/**
 * Tiny models of all three types, with numbers from a seed. Each token's result depends on all others in its sequence.
 */
import { FLOAT, type GraphDescription, INT64, type Initializer, type Node, onnx, type Value } from "./onnx.ts";

/** Numbers between -1 and 1, the same for each seed. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x40000000 - 1;
  };
}

const HIDDEN = 8;

const matrix = (name: string, dims: readonly number[], next: () => number, scale: number): Initializer => ({
  name,
  dims,
  values: Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => next() * scale),
});

const integers = (name: string, values: readonly number[]): Initializer => ({
  name,
  dims: [values.length],
  values,
  type: INT64,
});

interface Shape {
  readonly batch?: number | string;
  readonly sequence?: number | string;
}

const inputsOf = ({ batch = "batch", sequence = "sequence" }: Shape): readonly Value[] =>
  ["input_ids", "attention_mask", "token_type_ids"].map((name) => ({ name, type: INT64, dims: [batch, sequence] }));

/** `hidden` [batch, sequence, HIDDEN], and `mean` [batch, HIDDEN] over everything except padding. */
function trunk(
  vocabulary: number,
  next: () => number,
): { nodes: readonly Node[]; initializers: readonly Initializer[] } {
  const node = (op: string, inputs: readonly string[], output: string, attributes?: Node["attributes"]): Node => ({
    op,
    inputs,
    outputs: [output],
    ...(attributes !== undefined && { attributes }),
  });
  return {
    nodes: [
      node("Gather", ["emb", "input_ids"], "words", { axis: 0 }),
      node("Gather", ["kinds", "token_type_ids"], "typed", { axis: 0 }),
      node("Add", ["words", "typed"], "summed"),
      node("Cast", ["attention_mask"], "mask", { to: FLOAT }),
      node("Unsqueeze", ["mask", "last"], "wide"),
      node("Mul", ["summed", "wide"], "masked"),
      node("ReduceSum", ["masked", "second"], "sum", { keepdims: 1 }),
      node("ReduceSum", ["wide", "second"], "count", { keepdims: 1 }),
      node("Div", ["sum", "count"], "means"),
      node("Add", ["summed", "means"], "mixed"),
      node("Tanh", ["mixed"], "hidden"),
      node("Squeeze", ["means", "second"], "mean"),
    ],
    initializers: [
      matrix("emb", [vocabulary, HIDDEN], next, 1),
      matrix("kinds", [2, HIDDEN], next, 0.3),
      integers("last", [-1]),
      integers("second", [1]),
    ],
  };
}

function modelOf(
  vocabulary: number,
  seed: number,
  shape: Shape,
  head: (next: () => number) => Pick<GraphDescription, "nodes" | "initializers" | "outputs">,
): Uint8Array {
  const next = numbers(seed);
  const base = trunk(vocabulary, next);
  const { nodes, initializers, outputs } = head(next);
  return onnx({
    nodes: [...base.nodes, ...nodes],
    initializers: [...base.initializers, ...initializers],
    inputs: inputsOf(shape),
    outputs,
  });
}

export const tokenClassifier = (vocabulary: number, labels: number, seed: number, shape: Shape = {}): Uint8Array =>
  modelOf(vocabulary, seed, shape, (next) => ({
    nodes: [
      { op: "MatMul", inputs: ["hidden", "w"], outputs: ["scored"] },
      { op: "Add", inputs: ["scored", "b"], outputs: ["logits"] },
    ],
    initializers: [
      matrix("w", [HIDDEN, labels], next, 3),
      { name: "b", dims: [labels], values: Array.from({ length: labels }, (_, label) => (label === 0 ? 3 : 0)) },
    ],
    outputs: [{ name: "logits", type: FLOAT, dims: [shape.batch ?? "batch", shape.sequence ?? "sequence", labels] }],
  }));

export const sequenceClassifier = (vocabulary: number, labels: number, seed: number, shape: Shape = {}): Uint8Array =>
  modelOf(vocabulary, seed, shape, (next) => ({
    nodes: [
      { op: "MatMul", inputs: ["mean", "w"], outputs: ["scored"] },
      { op: "Add", inputs: ["scored", "b"], outputs: ["logits"] },
    ],
    initializers: [matrix("w", [HIDDEN, labels], next, 8), matrix("b", [labels], next, 0.5)],
    outputs: [{ name: "logits", type: FLOAT, dims: [shape.batch ?? "batch", labels] }],
  }));

export const embedder = (vocabulary: number, seed: number, isPooled = false): Uint8Array =>
  modelOf(vocabulary, seed, {}, () => ({
    nodes: [
      {
        op: "Identity",
        inputs: [isPooled ? "mean" : "hidden"],
        outputs: [isPooled ? "sentence_embedding" : "last_hidden_state"],
      },
    ],
    initializers: [],
    outputs: [
      isPooled
        ? { name: "sentence_embedding", type: FLOAT, dims: ["batch", HIDDEN] }
        : { name: "last_hidden_state", type: FLOAT, dims: ["batch", "sequence", HIDDEN] },
    ],
  }));

/** Takes each token's scores from a table, regardless of context. */
export const lookupClassifier = (scores: readonly (readonly number[])[]): Uint8Array => {
  const labels = scores[0]?.length ?? 0;
  return onnx({
    nodes: [{ op: "Gather", inputs: ["table", "input_ids"], outputs: ["logits"], attributes: { axis: 0 } }],
    initializers: [{ name: "table", dims: [scores.length, labels], values: scores.flat() }],
    inputs: inputsOf({}).slice(0, 1),
    outputs: [{ name: "logits", type: FLOAT, dims: ["batch", "sequence", labels] }],
  });
};

/** A slow model: a loop of matrix products that returns scores of 0 for every label. */
export function slowClassifier(labels: number, rounds: number): Uint8Array {
  const size = 96;
  const loop: GraphDescription = {
    nodes: [
      { op: "Identity", inputs: ["going"], outputs: ["goes"] },
      { op: "MatMul", inputs: ["state", "big"], outputs: ["after"] },
    ],
    initializers: [],
    inputs: [
      { name: "round", type: INT64, dims: [] },
      { name: "going", type: 9, dims: [] },
      { name: "state", type: FLOAT, dims: [size, size] },
    ],
    outputs: [
      { name: "goes", type: 9, dims: [] },
      { name: "after", type: FLOAT, dims: [size, size] },
    ],
  };
  return onnx({
    nodes: [
      // Only sequences of five or more tokens are slow, so loading is not.
      { op: "Shape", inputs: ["input_ids"], outputs: ["shape"] },
      { op: "Gather", inputs: ["shape", "one"], outputs: ["length"], attributes: { axis: 0 } },
      { op: "Sub", inputs: ["length", "short"], outputs: ["over"] },
      { op: "Max", inputs: ["over", "zero"], outputs: ["counted"] },
      { op: "Min", inputs: ["counted", "one"], outputs: ["isLong"] },
      { op: "Mul", inputs: ["isLong", "rounds"], outputs: ["times"] },
      { op: "Loop", inputs: ["times", "", "big"], outputs: ["last"], attributes: { body: loop } },
      { op: "ReduceSum", inputs: ["last"], outputs: ["total"], attributes: { keepdims: 0 } },
      { op: "Mul", inputs: ["total", "nothing"], outputs: ["none"] },
      { op: "Cast", inputs: ["input_ids"], outputs: ["floats"], attributes: { to: FLOAT } },
      { op: "ReduceSum", inputs: ["floats", "ones"], outputs: ["summed"], attributes: { keepdims: 1 } },
      { op: "Mul", inputs: ["summed", "zeros"], outputs: ["scored"] },
      { op: "Add", inputs: ["scored", "none"], outputs: ["logits"] },
    ],
    initializers: [
      { name: "big", dims: [size, size], values: new Array(size * size).fill(0) },
      { name: "one", dims: [], values: [1], type: INT64 },
      { name: "short", dims: [], values: [5], type: INT64 },
      { name: "zero", dims: [], values: [0], type: INT64 },
      { name: "rounds", dims: [], values: [rounds], type: INT64 },
      { name: "nothing", dims: [], values: [0] },
      integers("ones", [1]),
      { name: "zeros", dims: [1, labels], values: new Array(labels).fill(0) },
    ],
    inputs: inputsOf({}).slice(0, 2),
    outputs: [{ name: "logits", type: FLOAT, dims: ["batch", labels] }],
  });
}
