/**
 * Converts the weights of a BERT-style sentence encoder (safetensors) to an ONNX graph, without its training framework:
 * `last_hidden_state` from `input_ids`, `attention_mask` and `token_type_ids`.
 */
import { readFile } from "node:fs/promises";
import { FLOAT, INT64, type Initializer, type Node, onnx } from "./onnx.ts";

interface Stored {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

const HEADS = 12;

/** `nlp` and `classify` are heads with arbitrary weights, used to measure cost. */
type Head = "embed" | "nlp" | "classify";

const LABELS = 5;

export async function bertFrom(safetensors: string, head: Head = "embed"): Promise<Uint8Array> {
  const file = await readFile(safetensors);
  const headerLength = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.subarray(8, 8 + headerLength).toString("utf8")) as Readonly<Record<string, Stored>>;
  const initializers: Initializer[] = [];
  const nodes: Node[] = [];
  const tensor = (name: string): string => {
    const stored = header[name];
    if (stored?.dtype !== "F32") throw new Error(`${name} is not there as F32`);
    const [from, to] = stored.data_offsets;
    const bytes = file.subarray(8 + headerLength + from, 8 + headerLength + to);
    initializers.push({ name, dims: stored.shape, values: [], bytes });
    return name;
  };
  const integers = (name: string, values: readonly number[]): string => {
    initializers.push({ name, dims: [values.length], values, type: INT64 });
    return name;
  };
  const number = (name: string, value: number): string => {
    initializers.push({ name, dims: [], values: [value] });
    return name;
  };
  let count = 0;
  const run = (op: string, inputs: readonly string[], attributes?: Node["attributes"]): string => {
    const output = `t${count++}`;
    nodes.push({ op, inputs, outputs: [output], ...(attributes !== undefined && { attributes }) });
    return output;
  };
  const epsilon = number("epsilon", 1e-12);
  const two = number("two", 2);
  const normalized = (input: string, name: string): string => {
    const centred = run("Sub", [input, run("ReduceMean", [input], { axes: [-1], keepdims: 1 })]);
    const variance = run("ReduceMean", [run("Pow", [centred, two])], { axes: [-1], keepdims: 1 });
    const scaled = run("Div", [centred, run("Sqrt", [run("Add", [variance, epsilon])])]);
    return run("Add", [run("Mul", [scaled, tensor(`${name}.weight`)]), tensor(`${name}.bias`)]);
  };
  const dense = (input: string, name: string): string => {
    const weight = run("Transpose", [tensor(`${name}.weight`)], { perm: [1, 0] });
    return run("Add", [run("MatMul", [input, weight]), tensor(`${name}.bias`)]);
  };
  const positions = run("Slice", [
    tensor("embeddings.position_embeddings.weight"),
    integers("first", [0]),
    run("Slice", [run("Shape", ["input_ids"]), integers("one", [1]), integers("end", [2])]),
  ]);
  const words = run("Gather", [tensor("embeddings.word_embeddings.weight"), "input_ids"], { axis: 0 });
  const types = run("Gather", [tensor("embeddings.token_type_embeddings.weight"), "token_type_ids"], { axis: 0 });
  let hidden = normalized(run("Add", [run("Add", [words, types]), positions]), "embeddings.LayerNorm");
  const width = header["embeddings.LayerNorm.weight"]?.shape[0] ?? 0;
  const mask = run("Cast", ["attention_mask"], { to: FLOAT });
  const open = run("Unsqueeze", [mask, integers("heads", [1, 2])]);
  const hiding = run("Mul", [run("Sub", [number("whole", 1), open]), number("never", -1e9)]);
  const split = integers("split", [0, 0, HEADS, width / HEADS]);
  const merged = integers("merged", [0, 0, width]);
  const scale = number("scale", Math.sqrt(width / HEADS));
  const half = number("half", 0.5);
  const root = number("root", Math.SQRT2);
  for (let layer = 0; header[`encoder.layer.${layer}.output.dense.weight`] !== undefined; layer++) {
    const own = `encoder.layer.${layer}`;
    const heads = (name: string, perm: readonly number[]): string =>
      run("Transpose", [run("Reshape", [dense(hidden, `${own}.attention.self.${name}`), split])], { perm });
    const scores = run("MatMul", [heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1])]);
    const weights = run("Softmax", [run("Add", [run("Div", [scores, scale]), hiding])], { axis: -1 });
    const mixed = run("Transpose", [run("MatMul", [weights, heads("value", [0, 2, 1, 3])])], { perm: [0, 2, 1, 3] });
    const attended = dense(run("Reshape", [mixed, merged]), `${own}.attention.output.dense`);
    const between = normalized(run("Add", [attended, hidden]), `${own}.attention.output.LayerNorm`);
    const wide = dense(between, `${own}.intermediate.dense`);
    const gate = run("Add", [run("Erf", [run("Div", [wide, root])]), "whole"]);
    const activated = run("Mul", [run("Mul", [wide, half]), gate]);
    hidden = normalized(run("Add", [dense(activated, `${own}.output.dense`), between]), `${own}.output.LayerNorm`);
  }
  const scored = (input: string): string => {
    const values = Array.from({ length: width * LABELS }, (_, at) => Math.sin(at));
    initializers.push({ name: "scoring", dims: [width, LABELS], values });
    return run("MatMul", [input, "scoring"]);
  };
  const whole = ["batch", "sequence"];
  const outputs = {
    embed: { name: "last_hidden_state", type: FLOAT, dims: [...whole, width] },
    nlp: { name: "logits", type: FLOAT, dims: [...whole, LABELS] },
    classify: { name: "logits", type: FLOAT, dims: ["batch", LABELS] },
  };
  const result = {
    embed: () => hidden,
    nlp: () => scored(hidden),
    classify: () => scored(run("ReduceMean", [hidden], { axes: [1], keepdims: 0 })),
  };
  nodes.push({ op: "Identity", inputs: [result[head]()], outputs: [outputs[head].name] });
  return onnx({
    nodes,
    initializers,
    inputs: ["input_ids", "attention_mask", "token_type_ids"].map((name) => ({ name, type: INT64, dims: whole })),
    outputs: [outputs[head]],
  });
}
