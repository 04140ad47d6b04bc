/**
 * Names of the files in which an ONNX graph keeps its tensors. The protobuf is read field by field without loading it,
 * and long fields are skipped. Source: onnx.proto (ModelProto 7, GraphProto 1 5 15, TensorProto 13,
 * StringStringEntryProto 1 2).
 */
import { type FileHandle, open } from "node:fs/promises";
import { ModelError } from "./model-error.ts";
import { folderOf, isInnerPath, joinPath } from "./paths.ts";

type MessageKind = "model" | "training" | "function" | "graph" | "node" | "attribute" | "sparse" | "tensor" | "entry";

/** Field numbers of nested messages. Functions and training graphs contain nodes too. */
const CHILDREN: Readonly<Record<MessageKind, Readonly<Record<number, MessageKind>>>> = {
  model: { 7: "graph", 20: "training", 25: "function" },
  training: { 1: "graph", 2: "graph" },
  function: { 7: "node", 11: "attribute" },
  graph: { 1: "node", 5: "tensor", 15: "sparse" },
  node: { 5: "attribute" },
  attribute: { 5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse" },
  sparse: { 1: "tensor", 2: "tensor" },
  tensor: { 13: "entry" },
  entry: {},
};

/** Maximum nesting. Real graphs nest three deep, by loops and branches. */
const MAX_DEPTH = 64;
/** Maximum number of fields. A graph of 100,000 nodes has a few million; more would occupy a core for long. */
const MAX_FIELDS = 20_000_000;
const MAX_FILES = 1_000;
const MAX_TEXT_BYTES = 4_096;
const WINDOW_BYTES = 64 << 10;

interface Frame {
  readonly kind: MessageKind;
  readonly end: number;
  key: string;
  value: string;
}

/**
 * Returns the paths of external data within the model, sorted and unique, for the graph at `graphPath` stored in `file`.
 * Rejects with `ModelError` if the file is not a graph, or names a path outside its folder.
 */
export async function readExternalDataPaths(
  file: string,
  graphPath: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const names = await readLocations(await createWindowReader(handle), size, signal);
    return [...names].sort().map((name) => {
      const path = joinPath(folderOf(graphPath), name);
      if (isInnerPath(name) && path !== graphPath) return path;
      throw new ModelError(
        "refused",
        `the graph keeps data in ${JSON.stringify(name.slice(0, 200))}, outside of its folder`,
      );
    });
  } finally {
    await handle.close();
  }
}

interface ByteReader {
  /** Returns at least `length` bytes from `at`, or all that remain. */
  readonly read: (at: number, length: number) => Buffer | Promise<Buffer>;
}

async function createWindowReader(handle: FileHandle): Promise<ByteReader> {
  const buffer = Buffer.allocUnsafe(WINDOW_BYTES);
  let start = 0;
  let loadedBytes = 0;
  const load = async (at: number): Promise<Buffer> => {
    start = at;
    loadedBytes = (await handle.read(buffer, 0, buffer.length, at)).bytesRead;
    return buffer.subarray(0, loadedBytes);
  };
  return {
    read: (at, length) =>
      at >= start && at + length <= start + loadedBytes ? buffer.subarray(at - start, loadedBytes) : load(at),
  };
}

async function readLocations(reader: ByteReader, size: number, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const stack: Frame[] = [{ kind: "model", end: size, key: "", value: "" }];
  let at = 0;
  for (let fields = 0; stack.length > 0; fields += 1) {
    const frame = stack.at(-1) as Frame;
    if (at >= frame.end) {
      stack.pop();
      if (frame.kind === "entry" && frame.key === "location") found.add(frame.value);
      if (found.size > MAX_FILES) throw notAGraphError(`it names more than ${MAX_FILES} files of data`);
      continue;
    }
    if (fields % 65_536 === 65_535) {
      signal.throwIfAborted();
      if (fields > MAX_FIELDS) throw notAGraphError("it has too many fields");
      await new Promise((resolve) => setImmediate(resolve));
    }
    // A tag and a length have 10 bytes each at most.
    const window = reader.read(at, Math.min(20, size - at));
    const head = window instanceof Promise ? await window : window;
    const tag = readVarint(head, 0);
    const field = Math.floor(tag.value / 8);
    const wireType = tag.value % 8;
    at += tag.length;
    if (wireType === 0) at += readVarint(head, tag.length).length;
    else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType !== 2) throw notAGraphError("it is not of its format");
    else {
      const length = readVarint(head, tag.length);
      at += length.length;
      const end = at + length.value;
      if (end > frame.end) throw notAGraphError("it is cut short");
      const child = CHILDREN[frame.kind][field];
      if (frame.kind === "entry" && (field === 1 || field === 2)) {
        if (length.value > MAX_TEXT_BYTES) throw notAGraphError("the name of a file of data is too long");
        const text = (await reader.read(at, length.value)).subarray(0, length.value).toString("utf8");
        if (field === 1) frame.key = text;
        else frame.value = text;
        at = end;
      } else if (child === undefined) at = end;
      else {
        if (stack.length >= MAX_DEPTH) throw notAGraphError("it is nested too deep");
        stack.push({ kind: child, end, key: "", value: "" });
      }
    }
    if (at > frame.end) throw notAGraphError("it is cut short");
  }
  return found;
}

/** Reads a variable-length integer. Multiplies instead of shifting, since shifts are limited to 32 bits. */
function readVarint(bytes: Buffer, from: number): { readonly value: number; readonly length: number } {
  let value = 0;
  for (let at = from, factor = 1; at < from + 10; at += 1, factor *= 128) {
    const byte = bytes[at];
    if (byte === undefined) throw notAGraphError("it is cut short");
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { value, length: at - from + 1 };
  }
  throw notAGraphError("it is not of its format");
}

const notAGraphError = (problem: string): ModelError =>
  new ModelError("mismatch", `the file is not an ONNX graph: ${problem}`);
