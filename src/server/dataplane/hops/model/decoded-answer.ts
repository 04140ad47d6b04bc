/** Decodes an answer that has a content encoding, although none was requested. */
import { GatewayError } from "../../../../base/index.ts";
import { UnreadableAnswer } from "../../../answers/index.ts";
import { decode } from "../../../coding/index.ts";
import type { RequestMemory } from "../../../memory/index.ts";

/** Maximum size of an encoded answer, and of its decoded form. */
export const MAX_ENCODED_BYTES = 32 << 20;

/** Returns the decoded body. Throws `UnreadableAnswer` or `overloaded`. */
export async function decodedAnswer(body: Buffer, encoding: string, memory: RequestMemory): Promise<Buffer> {
  if (body.length === 0) return body;
  try {
    return await decode(body, encoding, MAX_ENCODED_BYTES, memory);
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === "overloaded") throw cause;
    throw new UnreadableAnswer("it cannot be decompressed as its content encoding says");
  }
}
