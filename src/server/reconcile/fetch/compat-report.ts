/** The usage reports of the compat dialect. Source: usage report APIs reference, 2. */
import type { Audited } from "../../snapshot/index.ts";
import type { Window } from "../judge/days.ts";
import type { TokenClass } from "../judge/judge-usage.ts";
import { type Counted, countAt, type Result } from "./counters.ts";
import type { Endpoint } from "./report-api.ts";

const start = (bucket: Result): number | undefined => {
  const seconds = bucket["start_time"];
  return typeof seconds === "number" && Number.isSafeInteger(seconds) ? seconds * 1_000 : undefined;
};

const query = ({ from, to }: Window): readonly (readonly [string, string])[] => [
  ["start_time", String(from / 1_000)],
  ["end_time", String(to / 1_000)],
];

const headers = ({ adminKey }: Audited) => ({ authorization: `Bearer ${adminKey}` });

/** Returns whether a result is about batches, which do not pass through the gateway. */
const isBatch = (result: Result): boolean => result["batch"] === true;

export const COMPAT_ENDPOINTS: readonly Endpoint[] = [
  {
    path: "/v1/organization/usage/completions",
    isOptional: false,
    headers,
    query: (window) => [...query(window), ["batch", "false"]],
    start,
    count: (result) => (isBatch(result) ? "left out" : completions(result)),
  },
  {
    path: "/v1/organization/usage/embeddings",
    // Organizations without embeddings, and proxies in front of the API, may lack this endpoint.
    isOptional: true,
    headers,
    query,
    start,
    count(result) {
      const input = countAt(result, "input_tokens");
      return input === undefined
        ? undefined
        : { tokens: { input }, apart: ["cached_input", "cache_creation_input", "output"] };
    },
  },
];

function completions(result: Result): Counted | undefined {
  const all = countAt(result, "input_tokens");
  const cached = countAt(result, "input_cached_tokens");
  const written = countAt(result, "input_cache_write_tokens");
  const uncached = countAt(result, "input_uncached_tokens");
  const output = countAt(result, "output_tokens");
  if ([all, cached, written, uncached, output].every((count) => count === undefined)) return undefined;
  const rest = uncached ?? (all === undefined ? undefined : Math.max(0, all - (cached ?? 0) - (written ?? 0)));
  const lacking: readonly (readonly [TokenClass, number | undefined])[] = [
    ["cached_input", cached],
    ["cache_creation_input", written],
  ];
  return {
    tokens: {
      ...(rest !== undefined && { input: rest }),
      ...(cached !== undefined && { cached_input: cached }),
      ...(written !== undefined && { cache_creation_input: written }),
      ...(output !== undefined && { output }),
    },
    joined: uncached === undefined ? lacking.flatMap(([name, count]) => (count === undefined ? [name] : [])) : [],
  };
}
