/** Minimal ONNX graphs as bytes, enough for a walk over their fields: they are not run. Field numbers: onnx.proto. */

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** A field with a length: a text, bytes, or a message. */
function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

const number = (at: number, value: number): Buffer => Buffer.concat([varint(at * 8), varint(value)]);

const entry = (key: string, value: string): Buffer => field(13, Buffer.concat([field(1, key), field(2, value)]));

const externalTensor = (location: string): Buffer =>
  Buffer.concat([
    number(1, 32),
    field(8, "emb"),
    entry("location", location),
    entry("offset", "0"),
    entry("length", "1024"),
    number(14, 1),
  ]);

const inlineTensor = (bytes: number): Buffer => Buffer.concat([field(8, "w"), field(9, Buffer.alloc(bytes, 7))]);

/** `locations` of its external data; `bytes` of an embedded tensor. */
export function graphBytes(locations: readonly string[] = [], bytes = 1_000): Buffer {
  const tensors = [inlineTensor(bytes), ...locations.map(externalTensor)].map((tensor) => field(5, tensor));
  const node = field(1, Buffer.concat([field(1, "in"), field(2, "out"), field(4, "Gather")]));
  return modelOf(Buffer.concat([node, ...tensors, field(2, "g")]));
}

const modelOf = (graph: Buffer): Buffer =>
  Buffer.concat([number(1, 8), field(2, "t"), field(7, graph), field(8, number(2, 17))]);
