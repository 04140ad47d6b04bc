/** A body that bears several content encodings, one over the other, and how a changed one bears them again. */
import { GatewayError } from "../../base/index.ts";
import type { Holding } from "../memory/index.ts";
import { type Coding, codingOf } from "./codings.ts";
import { decode } from "./decode.ts";

/** Maximum number of codings of one body. Two are never needed in practice; each is decoded within the bounds of one. */
const MAX_LAYERS = 3;

/** Values of `content-encoding`, in the order in which they were put on; `identity` is none. Source: RFC 9110, section 8.4. */
export function layersIn(header: string): readonly string[] {
  return header
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity");
}

export interface Peeled {
  readonly plain: Buffer;
  /** A body with the same encodings, so that no header has to change. */
  readonly encode: (plain: Buffer) => Promise<Buffer>;
}

/** Throws as `decode`. */
export async function peel(
  body: Buffer,
  layers: readonly string[],
  maxBytes: number,
  holding: Holding,
): Promise<Peeled> {
  if (layers.length > MAX_LAYERS) {
    throw new GatewayError("invalid_request", `The body bears more than ${MAX_LAYERS} content encodings.`);
  }
  let plain = body;
  const codings: Coding[] = [];
  for (const name of layers.toReversed()) {
    const coding = codingOf(name, plain);
    if (coding !== undefined) codings.unshift(coding);
    plain = await decode(plain, name, maxBytes, holding);
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
