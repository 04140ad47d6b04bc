/**
 * Deviations of providers from the grammar of streams, as a table. Clients meet each of them, and a gateway must handle
 * it. `chat-oddities.ts` and `messages-oddities.ts` produce them.
 *
 * Sources: dialects.md section 3.3, the deviations; sections 5.3 and 9 for messages.
 */

export const ODDITIES = [
  odd("usage-on-finish", "compat: usage comes with the finish reason, even if not requested, and not in its own chunk"),
  odd("usage-every-chunk", "compat: every chunk has the usage so far"),
  odd("usage-unasked", "compat: a chunk with usage comes even if it was not requested"),
  odd("no-usage", "compat: usage is not reported"),
  odd("no-choices-usage", "compat: the chunk with usage has no `choices`"),
  odd("no-done", "compat: the stream ends without `[DONE]`"),
  odd("tool-calls-empty", "compat: `tool_calls: []` is beside every text"),
  odd("tool-calls-null", "compat: `tool_calls: null` is beside every text"),
  odd("whole-arguments", "compat: a call comes in one chunk, with complete arguments"),
  odd("interleaved", "compat: the fragments of several calls alternate"),
  odd("text-with-calls", "compat: the last of the text and the first of the calls share a chunk"),
  odd("no-index", "compat: calls have no `index`"),
  odd("no-id", "compat: calls have no `id`"),
  odd("id-each", "compat: every fragment repeats the id and the name of its call"),
  odd("finish-stop", "compat: `finish_reason` is `stop` after calls too"),
  odd("finish-empty", "compat: `finish_reason` is an empty text until the last chunk"),
  odd("no-finish", "compat: `finish_reason` is an empty text until the end"),
  odd("role-each", "compat: every delta repeats the role"),
  odd("no-role", "compat: no delta has a role"),
  odd("reasoning", "compat: thinking comes as `reasoning`"),
  odd("reasoning-details", "compat: thinking comes as `reasoning_details`, with its signature"),
  odd("comments", "compat: a comment is before every chunk"),
  odd("crlf", "both: lines end with CR and LF"),
  odd("no-space", "compat: no space follows `data:`"),
  odd("input-at-start", "messages: the start of a call contains its whole input, and no fragment follows"),
  odd("no-fragments", "messages: a call without arguments has no fragment at all"),
  odd("usage-late", "messages: the token counts are zero at the start and correct at the end"),
  odd("usage-short", "messages: the end reports only `output_tokens`"),
  odd("pings", "messages: a ping follows every event"),
  odd("unknown-events", "messages: events and deltas of unknown types come between the others"),
] as const;

export type Oddity = (typeof ODDITIES)[number]["kind"];

function odd<Kind extends string>(kind: Kind, does: string): { readonly kind: Kind; readonly does: string } {
  return { kind, does };
}
