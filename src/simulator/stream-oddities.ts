/**
 * Deviations of providers from the grammar of streams, as a table. Clients meet each of them, and a gateway must handle
 * it. `chat-oddities.ts` and `messages-oddities.ts` produce them.
 *
 * Sources: dialects.md section 3.3, the deviations; sections 5.3 and 9 for messages.
 */

export const ODDITIES = [
  oddity(
    "usage-on-finish",
    "compat: usage comes with the finish reason, even if not requested, and not in its own chunk",
  ),
  oddity("usage-every-chunk", "compat: every chunk has the usage so far"),
  oddity("usage-unasked", "compat: a chunk with usage comes even if it was not requested"),
  oddity("no-usage", "compat: usage is not reported"),
  oddity("no-choices-usage", "compat: the chunk with usage has no `choices`"),
  oddity("no-done", "compat: the stream ends without `[DONE]`"),
  oddity("tool-calls-empty", "compat: `tool_calls: []` is beside every text"),
  oddity("tool-calls-null", "compat: `tool_calls: null` is beside every text"),
  oddity("whole-arguments", "compat: a call comes in one chunk, with complete arguments"),
  oddity("interleaved", "compat: the fragments of several calls alternate"),
  oddity("text-with-calls", "compat: the last of the text and the first of the calls share a chunk"),
  oddity("no-index", "compat: calls have no `index`"),
  oddity("no-id", "compat: calls have no `id`"),
  oddity("id-each", "compat: every fragment repeats the id and the name of its call"),
  oddity("finish-stop", "compat: `finish_reason` is `stop` after calls too"),
  oddity("finish-empty", "compat: `finish_reason` is an empty text until the last chunk"),
  oddity("no-finish", "compat: `finish_reason` is an empty text until the end"),
  oddity("role-each", "compat: every delta repeats the role"),
  oddity("no-role", "compat: no delta has a role"),
  oddity("reasoning", "compat: thinking comes as `reasoning`"),
  oddity("reasoning-details", "compat: thinking comes as `reasoning_details`, with its signature"),
  oddity("comments", "compat: a comment is before every chunk"),
  oddity("crlf", "both: lines end with CR and LF"),
  oddity("no-space", "compat: no space follows `data:`"),
  oddity("input-at-start", "messages: the start of a call contains its whole input, and no fragment follows"),
  oddity("no-fragments", "messages: a call without arguments has no fragment at all"),
  oddity("usage-late", "messages: the token counts are zero at the start and correct at the end"),
  oddity("usage-short", "messages: the end reports only `output_tokens`"),
  oddity("pings", "messages: a ping follows every event"),
  oddity("unknown-events", "messages: events and deltas of unknown types come between the others"),
] as const;

export type Oddity = (typeof ODDITIES)[number]["kind"];

function oddity<Kind extends string>(kind: Kind, effect: string): { readonly kind: Kind; readonly effect: string } {
  return { kind, effect };
}
