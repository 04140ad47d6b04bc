/**
 * Probes an analyzer: whether it is up, which entities it knows, and its answer to a text. Source: presidio-analyze
 * reference, "Client behaviour".
 */
import { DetectorError } from "../../core/guardrails/index.ts";
import type { ProbeAnswer } from "../detector-probe.ts";
import type { Endpoint } from "../wire/index.ts";

interface Asked {
  /** Root URL of the server, without a final slash. */
  readonly root: string;
  readonly headers: readonly string[];
  readonly language: string;
  /** Requested entity types; `undefined` for all. */
  readonly entities: readonly string[] | undefined;
}

const MAX_BYTES = 1 << 20;
const MAX_SHOWN = 5;

/** Statuses that mean that the analyzer lacks `/health` or `/supportedentities`, as some implementations do. */
const ABSENT: ReadonlySet<number> = new Set([404, 405, 501]);

/** Probes the analyzer. `analyze` sends a text, as for a request. */
export async function probeAnalyzer(
  endpoint: Endpoint,
  { root, headers, language, entities = [] }: Asked,
  analyze: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  const get = (path: string) =>
    endpoint.send({ method: "GET", path: root + path, headers, body: null, maxBytes: MAX_BYTES }, signal);
  const health = await get("/health");
  if (health.status !== 200 && !ABSENT.has(health.status)) {
    throw new DetectorError("failed", `its server is not healthy: \`/health\` answered ${health.status}`);
  }
  const supported = await get(`/supportedentities?language=${encodeURIComponent(language)}`);
  const known = supported.status === 200 ? namesIn(supported.body) : undefined;
  await analyze();
  const lacking = known === undefined ? [] : entities.filter((entity) => !known.has(entity));
  if (lacking.length === 0) {
    const knows = known === undefined ? "" : `, knows ${known.size} types in \`${language}\``;
    return { message: `reads a text${knows}`, isDoubtful: false };
  }
  const more = lacking.length > MAX_SHOWN ? ` and ${lacking.length - MAX_SHOWN} more` : "";
  const message = `reads a text, but does not know ${lacking.slice(0, MAX_SHOWN).join(", ")}${more} in \`${language}\``;
  return { message, isDoubtful: true };
}

/** Parses a list of names. Returns `undefined` if the body is not one. */
function namesIn(body: Buffer): ReadonlySet<string> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return Array.isArray(value) ? new Set(value.filter((one) => typeof one === "string")) : undefined;
  } catch {
    return undefined;
  }
}
