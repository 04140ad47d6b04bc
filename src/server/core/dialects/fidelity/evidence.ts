/**
 * Finds out cheaply whether a request may use a capability: by words that occur in its bytes whenever it does. Without any of
 * them the request need not be parsed. Most channels of large providers lack two or three rare extensions, and conversations
 * are long.
 */
import type { Dialect } from "../routes/routes.ts";
import type { Capability } from "./capabilities.ts";

type Words = Readonly<Partial<Record<Capability, readonly string[]>>>;

/** Words for capabilities that have a field name or value of their own. A false match only costs a parse. */
const WORDS: Readonly<Record<Dialect, Words>> = {
  compat: {
    allowed_tools: ["allowed_tools"],
    custom_tools: ["custom"],
    web_search: ["web_search_options"],
    file_refs: ["file_id"],
    audio_input: ["input_audio"],
    json_object: ["json_object"],
    top_k: ["top_k"],
    logit_bias: ["logit_bias"],
    logprobs: ["logprobs"],
    prediction: ["prediction"],
    verbosity: ["verbosity"],
    thinking_budget: ["reasoning", "thinking"],
    thinking_replay: ["reasoning_details", "thinking_blocks"],
    moderation: ["moderation"],
  },
  messages: {
    json_schema: ["json_schema"],
    top_k: ["top_k"],
    thinking_budget: ["budget_tokens"],
    thinking_replay: ["signature", "redacted_thinking"],
    // These words match the role only, in the spacing that clients use, since the field `system` occurs in almost every
    // request.
    mid_system: ['"role":"system"', '"role": "system"'],
    inference_geo: ["inference_geo"],
    context_management: ["context_management", "compaction"],
    thread: ['"thread"'],
  },
};

/** Maximum number of words to search for. Each is a search through the body, and a few cost as much as parsing it. */
const MAX_WORDS = 8;

/** Beginning of an escaped ASCII character (`\u0020` to `\u007f`), which may hide a word. */
const ESCAPE = Buffer.from("\\u00");

/**
 * Returns the words that show use of the lacked capabilities, or `undefined` if some capability has no such words and the
 * request must be parsed. `lacked` are the capabilities that the channel does not claim.
 */
export function evidenceOf(dialect: Dialect, lacked: readonly Capability[]): readonly Buffer[] | undefined {
  const words = new Set<string>();
  for (const capability of lacked) {
    const capabilityWords = WORDS[dialect][capability];
    if (capabilityWords === undefined) return undefined;
    for (const word of capabilityWords) words.add(word);
  }
  return words.size > MAX_WORDS ? undefined : [...words].map((word) => Buffer.from(word));
}

/** Returns whether the request may use a capability that the evidence concerns. `body` is JSON text. */
export function showsEvidence(body: Buffer, evidence: readonly Buffer[]): boolean {
  return evidence.length > 0 && (evidence.some((word) => body.includes(word)) || hasEscapedAscii(body));
}

function hasEscapedAscii(body: Buffer): boolean {
  for (let at = body.indexOf(ESCAPE); at >= 0; at = body.indexOf(ESCAPE, at + ESCAPE.length)) {
    const digit = body[at + ESCAPE.length];
    if (digit !== undefined && digit >= 0x32 && digit <= 0x37) return true;
  }
  return false;
}
