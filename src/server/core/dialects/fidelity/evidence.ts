/**
 * Words that stand in a request's bytes wherever it uses a capability: where none of them stands, the request need not be
 * read to know that it does not. Most channels of large makers lack two or three rare extensions, and conversations are long.
 */
import type { Dialect } from "../routes.ts";
import type { Capability } from "./capabilities.ts";

type Words = Readonly<Partial<Record<Capability, readonly string[]>>>;

/** Capabilities that show by a name or a value of their own. A word may stand for nothing, which costs a reading only. */
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
    // As a role, and as clients space it: that of the field `system` stands in every other request, and this loss is soft.
    mid_system: ['"role":"system"', '"role": "system"'],
    inference_geo: ["inference_geo"],
    context_management: ["context_management", "compaction"],
    thread: ['"thread"'],
  },
};

/** Each is a search through the body; reading it costs as much as a few. */
const MAX_WORDS = 8;

/** An escape of an ASCII character may hide a word: `\u0020` to `\u007f`. */
const ESCAPE = Buffer.from("\\u00");

/** Undefined: some of them do not show so, and the request must be read. `lacked`: what the channel does not claim. */
export function evidenceOf(dialect: Dialect, lacked: readonly Capability[]): readonly Buffer[] | undefined {
  const words = new Set<string>();
  for (const capability of lacked) {
    const own = WORDS[dialect][capability];
    if (own === undefined) return undefined;
    for (const word of own) words.add(word);
  }
  return words.size > MAX_WORDS ? undefined : [...words].map((word) => Buffer.from(word));
}

/** False: the request uses none of what the evidence is of. `body`: JSON text. */
export function showsEvidence(body: Buffer, evidence: readonly Buffer[]): boolean {
  return evidence.length > 0 && (evidence.some((word) => body.includes(word)) || hidesLetters(body));
}

function hidesLetters(body: Buffer): boolean {
  for (let at = body.indexOf(ESCAPE); at >= 0; at = body.indexOf(ESCAPE, at + ESCAPE.length)) {
    const digit = body[at + ESCAPE.length];
    if (digit !== undefined && digit >= 0x32 && digit <= 0x37) return true;
  }
  return false;
}
