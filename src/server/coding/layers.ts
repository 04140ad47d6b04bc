/** Decodes a body with several content encodings, and encodes a changed body in the same way. */
import { GatewayError } from "../../base/index.ts";
import type { RequestMemory } from "../memory/index.ts";
import { type Coding, codingOf } from "./codings.ts";
import { decode } from "./decode.ts";

/** Maximum number of codings of one body. More than one hardly occurs; each is decoded within the limits of a single one. */
const MAX_LAYERS = 3;

/**
 * Values of `content-encoding` that name no encoding. Servers of streams write `none` so that no proxy compresses them, and some
 * servers and clients write a character set or a transfer coding.
 */
const NO_ENCODINGS: ReadonlySet<string> = new Set(["", "identity", "none", "utf-8", "utf8", "chunked"]);

const NO_LAYERS: readonly string[] = [];

/**
 * Returns the values of `content-encoding` that name an encoding, in the order in which they were applied. Source: RFC 9110,
 * section 8.4.
 */
export function layersIn(header: string | undefined): readonly string[] {
  if (header === undefined) return NO_LAYERS;
  return header
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !NO_ENCODINGS.has(name));
}

export interface Peeled {
  readonly plain: Buffer;
  /** Encodes a body with the same codings, so that no header has to change. */
  readonly encode: (plain: Buffer) => Promise<Buffer>;
}

/** Decodes all layers. Throws as `decode` does. */
export async function peel(
  body: Buffer,
  layers: readonly string[],
  maxBytes: number,
  memory: RequestMemory,
): Promise<Peeled> {
  if (layers.length > MAX_LAYERS) {
    throw new GatewayError("invalid_request", `The body has more than ${MAX_LAYERS} content encodings.`);
  }
  let plain = body;
  const codings: Coding[] = [];
  for (const name of layers.toReversed()) {
    const coding = codingOf(name, plain);
    if (coding !== undefined) codings.unshift(coding);
    plain = await decode(plain, name, maxBytes, memory);
  }
  return {
    plain,
    async encode(changed) {
      let made = changed;
      for (const { encoder } of codings) made = await through(encoder(), made);
      return made;
    },
  };
}

async function through(encoder: ReturnType<Coding["encoder"]>, body: Buffer): Promise<Buffer> {
  encoder.end(body);
  const chunks: Buffer[] = [];
  for await (const chunk of encoder as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
