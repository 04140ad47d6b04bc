/**
 * Reads the log probabilities of a chat answer's tokens. They have the same members in a response. Source: responses reference,
 * 2.
 */
import { listOf, numberOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";

/**
 * Returns the JSON texts of the log probabilities, one for each token. `choice` is a choice of a whole answer or of a chunk.
 * Invalid entries are left out.
 */
export function logprobsOf(choice: Values): readonly string[] {
  return listOf(objectOf(choice["logprobs"])?.["content"]).flatMap((value) => {
    const token = tokenOf(value);
    if (token === undefined) return [];
    const top = listOf(objectOf(value)?.["top_logprobs"]).flatMap((each) => tokenOf(each) ?? []);
    return [JSON.stringify({ ...token, top_logprobs: top })];
  });
}

function tokenOf(value: unknown): object | undefined {
  const of = objectOf(value);
  const token = stringOf(of?.["token"]);
  const logprob = numberOf(of?.["logprob"]);
  if (token === undefined || logprob === undefined) return undefined;
  return { token, logprob, bytes: listOf(of?.["bytes"]).filter((byte) => typeof byte === "number") };
}
