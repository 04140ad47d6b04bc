/**
 * Marks calls in the history of a compat provider that signs its calls. Source: Gemini API, thought signatures, FAQ.
 *
 * Gemini 3 refuses a history whose first call of a message lacks the signature that it came with. Clients of other dialects have no
 * member to keep it in, and calls of other models never had one. For both, Google defines a value in place of a signature.
 */
import type { ChannelTerms } from "../types.ts";

const UNSIGNED = { google: { thought_signature: "skip_thought_signature_validator" } };

/** Returns the calls of one message, with the first one marked if the provider requires it. */
export function markedCalls(
  calls: readonly object[],
  { signsCalls }: Pick<ChannelTerms, "signsCalls">,
): readonly object[] {
  const [first, ...others] = calls;
  return signsCalls === true && first !== undefined ? [{ ...first, extra_content: UNSIGNED }, ...others] : calls;
}
