/**
 * Converts thinking that a client sends back to blocks with the provider's own signature.
 *
 * Source: dialects reference, 8.3, 8.5 and 10.3 (20). `reasoning_details` is the form of the gateway's own answers; a client
 * that collected them from a stream may have the signature separate from the text (9.1), which then is in `reasoning_content`.
 * `thinking_blocks` is another gateway's form. Unsigned thinking is refused by the API and gives no block.
 */
import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";
import type { ThinkingBlock } from "./block-types.ts";

interface Detail {
  readonly type: "reasoning.text" | "reasoning.encrypted";
  text: string;
  signature: string;
  data: string;
}

export function signedThinking(message: Values): readonly ThinkingBlock[] {
  const blocks = listOf(message["thinking_blocks"]).flatMap(signedBlock);
  return blocks.length > 0 ? blocks : fromDetails(message);
}

function signedBlock(item: unknown): readonly ThinkingBlock[] {
  const block = objectOf(item);
  if (block?.["type"] === "redacted_thinking") return redacted(stringOf(block["data"]));
  if (block?.["type"] !== "thinking") return [];
  return signed(stringOf(block["thinking"]), stringOf(block["signature"]));
}

function fromDetails(message: Values): readonly ThinkingBlock[] {
  const details = detailsOf(listOf(message["reasoning_details"]));
  if (details.length === 0) return [];
  const plainText = stringOf(message["reasoning_content"]) ?? stringOf(message["reasoning"]) ?? "";
  const isAlone = details.filter(({ type }) => type === "reasoning.text").length === 1;
  return details.flatMap((detail) => {
    if (detail.type === "reasoning.encrypted") return redacted(detail.data);
    // If there are several details, it is unknown which of them the text belongs to, and the API refuses a signature of
    // another text.
    if (detail.text === "" && plainText !== "") return isAlone ? signed(plainText, detail.signature) : [];
    return signed(detail.text, detail.signature);
  });
}

/** Joins the details of one index, which are pieces of one thought. */
function detailsOf(items: readonly unknown[]): readonly Detail[] {
  const details: Detail[] = [];
  const byIndex = new Map<string, Detail>();
  for (const item of items) {
    const fragment = objectOf(item);
    const type = fragment?.["type"];
    if (fragment === undefined || (type !== "reasoning.text" && type !== "reasoning.encrypted")) continue;
    const key = typeof fragment["index"] === "number" ? `${type} ${fragment["index"]}` : undefined;
    let detail = key === undefined ? undefined : byIndex.get(key);
    if (detail === undefined) {
      detail = { type, text: "", signature: "", data: "" };
      details.push(detail);
      if (key !== undefined) byIndex.set(key, detail);
    }
    detail.text += stringOf(fragment["text"]) ?? "";
    detail.signature ||= stringOf(fragment["signature"]) ?? "";
    detail.data += stringOf(fragment["data"]) ?? "";
  }
  return details;
}

/**
 * Returns the block of signed thinking. The text may be empty, since a provider also signs thinking that it was asked to omit.
 */
function signed(thinking: string | undefined, signature: string | undefined): readonly ThinkingBlock[] {
  return thinking === undefined || !signature ? [] : [{ type: "thinking", thinking, signature }];
}

function redacted(data: string | undefined): readonly ThinkingBlock[] {
  return data ? [{ type: "redacted_thinking", data }] : [];
}
