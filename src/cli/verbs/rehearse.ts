/**
 * `gateway rehearse FILE`: shows how a document would have changed the recent requests of all nodes. The status is 1 if
 * a request that was served would be refused, so that a pipeline can stop.
 */
import { AdminError, type RehearsalResult, rehearsalCoverage, rehearsalSummary } from "../../admin-api/index.ts";
import { escapeControls, escapeControlsOfLines, formatDuration } from "../../base/index.ts";
import { joinLines, readAll, stdinOf, writeAll } from "../copy-streams.ts";
import { readInput } from "../file-input.ts";
import type { rehearseFlags } from "../operate/operate-flags.ts";
import { type GatewayConnection, withGateway } from "../operate/with-gateway.ts";
import { type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { tableLines } from "../table-text.ts";

type Options = FlagsOf<typeof rehearseFlags>;

/** Maximum size of a document; the gateway accepts no larger one. */
const MAX_DOCUMENT_BYTES = 4 << 20;
const FIRST_SOURCE = "default";

export async function run(options: Options, [file]: readonly string[], io: Io): Promise<ExitStatus> {
  const { set, profile, budget } = options;
  if (profile !== undefined && budget !== undefined) throw new UsageError("give -profile or -budget, not both");
  const isSetting = profile !== undefined || budget !== undefined;
  if (isSetting !== set.length > 0)
    throw new UsageError("-set needs -profile NAME or -budget NAME, and they need -set");
  if (file === undefined && !isSetting) throw new UsageError("name a FILE, or a single change with -profile and -set");
  const written = file === undefined ? undefined : await documentIn(file, io);
  return await withGateway("rehearse", options, io, async (called) => {
    const source = options.source ?? (await onlySource(called, io));
    const base = written ?? (await storedDocument(called, source, io));
    const document = isSetting ? await withSettings(base, options) : base;
    const since = formatDuration(options.since);
    const result = await called.client.call("rehearse", { body: { source, document, since } }, { signal: io.signal });
    const lines =
      options.o === "json"
        ? [`${escapeControlsOfLines(JSON.stringify(result, null, 2))}\n`]
        : [...textLines(result, since, io)];
    await writeAll(io.stdout, joinLines(lines), io.signal);
    return result.refused > 0 ? 1 : 0;
  });
}

async function documentIn(file: string, io: Io): Promise<string> {
  const stream = file === "-" ? stdinOf(io, "the document") : (await readInput(io, file)).open();
  return (await readAll(stream, MAX_DOCUMENT_BYTES, "the document", io.signal)).toString("utf8");
}

async function onlySource({ client }: GatewayConnection, { signal }: Io): Promise<string> {
  const { items } = await client.call("list_sources", {}, { signal });
  if (items.length > 1)
    throw new UsageError(`which source? Give -source NAME: ${items.map(({ name }) => name).join(", ")}`);
  return items[0]?.name ?? FIRST_SOURCE;
}

async function storedDocument({ client }: GatewayConnection, name: string, { signal }: Io): Promise<string> {
  return (await client.call("get_source", { params: { name } }, { signal })).document;
}

async function withSettings(document: string, { profile, budget, set }: Options): Promise<string> {
  const { withSetting } = await import("../operate/change-setting.ts");
  const [section, name] =
    profile === undefined ? (["budgets", budget ?? ""] as const) : (["profiles", profile] as const);
  return set.reduce((text, setting) => withSetting(text, section, name, setting), document);
}

const COLUMNS = ["outcome", "cause", "requests", "callers"].map((name) => ({ name, isNumeric: name === "requests" }));
const OUTCOME_TEXTS: Readonly<Record<RehearsalResult["changes"][number]["outcome"], string>> = {
  refused: "would be refused",
  served: "would be served",
  other_provider: "would go to",
  other_guardrail: "other guardrails",
};
/** Maximum number of callers that are named per cause. */
const NAMED = 3;
/** Maximum number of requests that are shown as examples. */
const SHOWN_EXAMPLES = 10;

function* textLines(result: RehearsalResult, since: string, io: Io): Generator<string> {
  yield `Last ${since}: ${escapeControls(rehearsalSummary(result))}.\n`;
  const coverage = rehearsalCoverage(result);
  if (coverage !== "") yield `Not covered: ${escapeControls(coverage)}.\n`;
  const rows = [
    ...result.changes.map(({ outcome, cause, requests, callers }) => [
      OUTCOME_TEXTS[outcome],
      cause,
      requests,
      callersText(callers),
    ]),
    ...result.reasons.map(({ reason, requests }) => ["unknown", reason, requests, ""]),
  ];
  if (rows.length > 0) {
    yield "\n";
    yield* tableLines(COLUMNS, rows, io.columns());
  }
  const examples = (result.examples ?? []).slice(-SHOWN_EXAMPLES);
  if (examples.length === 0) return;
  yield "\nThe latest of them, for gateway explain:\n";
  for (const { id, cause, caller } of examples)
    yield `  ${escapeControls(id)}  ${escapeControls(caller)}  ${escapeControls(cause)}\n`;
}

function callersText(callers: RehearsalResult["changes"][number]["callers"]): string {
  const named = callers.slice(0, NAMED).map(({ caller, requests }) => `${caller} ${requests}`);
  return callers.length > NAMED ? `${named.join(", ")}, ${callers.length - NAMED} more` : named.join(", ");
}

/**
 * Returns the effect of a document in one line; `undefined` if the gateway does not support rehearsals, or the policy
 * forbids them.
 */
export async function effectLine(
  { client }: GatewayConnection,
  source: string,
  document: string,
  { signal }: Io,
): Promise<string | undefined> {
  try {
    const result = await client.call("rehearse", { body: { source, document } }, { signal });
    const coverage = rehearsalCoverage(result);
    return `Last hour: ${rehearsalSummary(result)}.${coverage === "" ? "" : ` Not covered: ${coverage}.`}`;
  } catch (error) {
    if (error instanceof AdminError) return undefined;
    throw error;
  }
}
