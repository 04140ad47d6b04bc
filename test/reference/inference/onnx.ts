/**
 * Tiny ONNX graphs, encoded field by field. Source: onnx.proto (ModelProto 1 2 7 8, GraphProto 1 2 5 11 12, NodeProto 1
 * 2 4 5, AttributeProto 1 2 3 6 20, TensorProto 1 2 8 9, ValueInfoProto 1 2).
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

export const FLOAT = 1;
export const INT64 = 7;

type Message = (writer: BinaryWriter) => void;

const message = (writer: BinaryWriter, field: number, write: Message): void => {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
};
const text = (writer: BinaryWriter, field: number, value: string): void => {
  writer.tag(field, WireType.LengthDelimited).string(value);
};
const integer = (writer: BinaryWriter, field: number, value: number): void => {
  writer.tag(field, WireType.Varint).int64(value);
};

export interface Initializer {
  readonly name: string;
  readonly dims: readonly number[];
  readonly values: readonly number[];
  readonly type?: number;
  /** Raw bytes of the file, in place of `values`. */
  readonly bytes?: Uint8Array;
}

export interface Node {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, number | readonly number[] | GraphDescription>>;
}

export interface Value {
  readonly name: string;
  readonly type: number;
  readonly dims: readonly (number | string)[];
}

export interface GraphDescription {
  readonly nodes: readonly Node[];
  readonly initializers: readonly Initializer[];
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}

function bytesOf({ values, type = FLOAT, bytes }: Initializer): Uint8Array {
  if (bytes !== undefined) return bytes;
  if (type === INT64) return new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  return type === 9 ? Uint8Array.from(values) : new Uint8Array(Float32Array.from(values).buffer);
}

const tensor =
  (initializer: Initializer): Message =>
  (writer) => {
    for (const dim of initializer.dims) integer(writer, 1, dim);
    integer(writer, 2, initializer.type ?? FLOAT);
    text(writer, 8, initializer.name);
    writer.tag(9, WireType.LengthDelimited).bytes(bytesOf(initializer));
  };

const value =
  ({ name, type, dims }: Value): Message =>
  (writer) => {
    text(writer, 1, name);
    message(writer, 2, (ofType) =>
      message(ofType, 1, (ofTensor) => {
        integer(ofTensor, 1, type);
        message(ofTensor, 2, (shape) => {
          for (const dim of dims) {
            message(shape, 1, (one) => {
              if (typeof dim === "number") integer(one, 1, dim);
              else text(one, 2, dim);
            });
          }
        });
      }),
    );
  };

const node =
  ({ op, inputs, outputs, attributes = {} }: Node): Message =>
  (writer) => {
    for (const input of inputs) text(writer, 1, input);
    for (const output of outputs) text(writer, 2, output);
    text(writer, 4, op);
    for (const [name, given] of Object.entries(attributes)) {
      message(writer, 5, (attribute) => {
        text(attribute, 1, name);
        if (typeof given === "number") integer(attribute, 3, given);
        else if (isList(given)) for (const one of given) integer(attribute, 8, one);
        else message(attribute, 6, graph(given));
        // INT, INTS, GRAPH
        integer(attribute, 20, typeof given === "number" ? 2 : isList(given) ? 7 : 5);
      });
    }
  };

const isList = (items: readonly number[] | GraphDescription): items is readonly number[] => Array.isArray(items);

const graph =
  ({ nodes, initializers, inputs, outputs }: GraphDescription): Message =>
  (writer) => {
    for (const one of nodes) message(writer, 1, node(one));
    text(writer, 2, "g");
    for (const one of initializers) message(writer, 5, tensor(one));
    for (const one of inputs) message(writer, 11, value(one));
    for (const one of outputs) message(writer, 12, value(one));
  };

export function onnx(description: GraphDescription): Uint8Array {
  const writer = new BinaryWriter();
  integer(writer, 1, 8);
  text(writer, 2, "gateway tests");
  message(writer, 7, graph(description));
  message(writer, 8, (opset) => {
    text(opset, 1, "");
    integer(opset, 2, 17);
  });
  return writer.finish();
}
