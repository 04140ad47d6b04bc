/** The usage report of the messages dialect. Source: usage report APIs reference, 3. */
import type { ReconciledProvider } from "../../snapshot/index.ts";
import type { ReportEndpoint } from "./report-endpoint.ts";
import { type ReportResult, readCount, type TokenCounts } from "./token-counts.ts";

/** Prefix of an organization's OAuth token, which is sent as a bearer token and not as a key. */
const TOKEN = /^sk-ant-oat/;

/** All tiers except `batch`, since batches do not pass through the gateway. */
const TIERS = ["standard", "priority", "priority_on_demand", "flex", "flex_discount"] as const;

const timeText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

export const MESSAGES_ENDPOINTS: readonly ReportEndpoint[] = [
  {
    path: "/v1/organizations/usage_report/messages",
    isOptional: false,
    headers: ({ adminKey }: ReconciledProvider) => ({
      ...(TOKEN.test(adminKey) ? { authorization: `Bearer ${adminKey}` } : { "x-api-key": adminKey }),
      // A later version renamed fields of this report.
      "anthropic-version": "2023-06-01",
    }),
    query: ({ from, to }) => [
      ["starting_at", timeText(from)],
      ["ending_at", timeText(to)],
      ...TIERS.map((tier) => ["service_tiers[]", tier] as const),
    ],
    bucketStart(bucket) {
      const at = bucket["starting_at"];
      const ms = typeof at === "string" && at.length <= 64 ? Date.parse(at) : Number.NaN;
      return Number.isNaN(ms) ? undefined : ms;
    },
    countTokens: (result) => (result["service_tier"] === "batch" ? "left out" : countMessages(result)),
  },
];

function countMessages(result: ReportResult): TokenCounts | undefined {
  const input = readCount(result, "uncached_input_tokens");
  const cached = readCount(result, "cache_read_input_tokens");
  const output = readCount(result, "output_tokens");
  const written = cacheWritesIn(result["cache_creation"]);
  if ([input, cached, output, written].every((count) => count === undefined)) return undefined;
  return {
    tokens: {
      ...(input !== undefined && { input }),
      ...(cached !== undefined && { cached_input: cached }),
      ...(written !== undefined && { cache_creation_input: written }),
      ...(output !== undefined && { output }),
    },
  };
}

/** Sums the cache writes of all lifetimes. */
function cacheWritesIn(creation: unknown): number | undefined {
  if (typeof creation !== "object" || creation === null) return undefined;
  const counts = Object.keys(creation).flatMap((name) =>
    name.endsWith("_input_tokens") ? (readCount(creation as ReportResult, name) ?? []) : [],
  );
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}
