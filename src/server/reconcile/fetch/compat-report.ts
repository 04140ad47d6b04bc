/** The usage reports of the compat dialect. Source: usage report APIs reference, 2. */
import type { ReconciledProvider } from "../../snapshot/index.ts";
import type { Window } from "../judge/days.ts";
import type { TokenClass } from "../judge/judge-usage.ts";
import type { ReportEndpoint } from "./report-endpoint.ts";
import { type ReportResult, readCount, type TokenCounts } from "./token-counts.ts";

const bucketStart = (bucket: ReportResult): number | undefined => {
  const seconds = bucket["start_time"];
  return typeof seconds === "number" && Number.isSafeInteger(seconds) ? seconds * 1_000 : undefined;
};

const query = ({ from, to }: Window): readonly (readonly [string, string])[] => [
  ["start_time", String(from / 1_000)],
  ["end_time", String(to / 1_000)],
];

const headers = ({ adminKey }: ReconciledProvider) => ({ authorization: `Bearer ${adminKey}` });

/** Returns whether a result is about batches, which do not pass through the gateway. */
const isBatch = (result: ReportResult): boolean => result["batch"] === true;

export const COMPAT_ENDPOINTS: readonly ReportEndpoint[] = [
  {
    path: "/v1/organization/usage/completions",
    isOptional: false,
    headers,
    query: (window) => [...query(window), ["batch", "false"]],
    bucketStart,
    countTokens: (result) => (isBatch(result) ? "left out" : countCompletions(result)),
  },
  {
    path: "/v1/organization/usage/embeddings",
    // Organizations without embeddings, and proxies in front of the API, may lack this endpoint.
    isOptional: true,
    headers,
    query,
    bucketStart,
    countTokens(result) {
      const input = readCount(result, "input_tokens");
      return input === undefined
        ? undefined
        : { tokens: { input }, notApplicable: ["cached_input", "cache_creation_input", "output"] };
    },
  },
];

function countCompletions(result: ReportResult): TokenCounts | undefined {
  const all = readCount(result, "input_tokens");
  const cached = readCount(result, "input_cached_tokens");
  const written = readCount(result, "input_cache_write_tokens");
  const uncached = readCount(result, "input_uncached_tokens");
  const output = readCount(result, "output_tokens");
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
