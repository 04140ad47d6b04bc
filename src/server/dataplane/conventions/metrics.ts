/**
 * Metrics of OpenTelemetry's semantic conventions, with their names, units and bounds, in addition to the gateway's own.
 * Source: semantic conventions for generative AI, "Metrics", and for MCP, "Metrics" (1.45).
 *
 * The client metrics measure each attempt, the server metrics each request. Time to the first token is measured to the first
 * bytes of an event stream; it is not known for other answers.
 */
import type { Family, Histogram, Instruments } from "../../../base/index.ts";
import type { Usage } from "../../core/dialects/index.ts";
import { modelOf, operationOf, systemOf } from "./convention-names.ts";

/** Labels of a request. Equal sets are the same object. */
export interface ConventionLabels {
  readonly route: string;
  /** Name or pattern of the configuration. */
  readonly model: string;
  /** Name of the provider's maker in the catalog, otherwise the configured name of the provider. */
  readonly maker: string;
}

interface ServedStream {
  /** Seconds from the arrival of the request to the first bytes. */
  readonly firstBytesSeconds: number;
  /** Output tokens; `undefined` if the answer reported none. */
  readonly outputTokens: number | undefined;
}

/** Recorder of the metrics. `error` is the kind of failure, or empty. Times are in seconds. */
export interface ConventionMetrics {
  /** Records the usage of one attempt, or of one answer within a session. */
  recordUsage(labels: ConventionLabels, usage: Usage): void;
  recordAttempt(labels: ConventionLabels, seconds: number, error: string): void;
  /** Records a request. `stream`: set for an event stream that did not fail. */
  recordRequest(labels: ConventionLabels, seconds: number, error: string, stream: ServedStream | undefined): void;
  /** Records a call to an MCP server. `method`: from a closed list. */
  recordMcpAttempt(method: string, seconds: number, error: string): void;
  recordMcpRequest(method: string, seconds: number, error: string): void;
}

const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const OPERATION_SECONDS = Array.from({ length: 14 }, (_, power) => 2 ** power / 100);
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const MCP_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

const MODEL_LABELS = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"];
const MCP_LABELS = ["mcp.method.name", "mcp.protocol.version", "gen_ai.operation.name", "error.type"];

interface Families {
  readonly usage: Family<Histogram>;
  readonly operation: Family<Histogram>;
  readonly request: Family<Histogram>;
  readonly firstToken: Family<Histogram>;
  readonly perToken: Family<Histogram>;
}

/** Creates the metrics. `mcpVersion`: the MCP revision that the gateway speaks. */
export function createConventionMetrics(instruments: Instruments, mcpVersion: string): ConventionMetrics {
  const seconds = (name: string, help: string, bounds: readonly number[], labels: readonly string[]) =>
    instruments.histogram(name, help, bounds, labels, "s");
  const withError = [...MODEL_LABELS, "error.type"];
  const families: Families = {
    usage: instruments.histogram(
      "gen_ai.client.token.usage",
      "Tokens that one attempt at a provider used.",
      TOKENS,
      [...MODEL_LABELS, "gen_ai.token.type"],
      "{token}",
    ),
    operation: seconds(
      "gen_ai.client.operation.duration",
      "Time from the start of an attempt at a provider to the end of its answer.",
      OPERATION_SECONDS,
      withError,
    ),
    request: seconds(
      "gen_ai.server.request.duration",
      "Time from the first byte of a request to the end of its answer.",
      OPERATION_SECONDS,
      withError,
    ),
    firstToken: seconds(
      "gen_ai.server.time_to_first_token",
      "Time from the first byte of a request to the first byte of its streamed answer.",
      FIRST_TOKEN_SECONDS,
      MODEL_LABELS,
    ),
    perToken: seconds(
      "gen_ai.server.time_per_output_token",
      "Time per token of a streamed answer, after the first token.",
      TOKEN_SECONDS,
      MODEL_LABELS,
    ),
  };
  const mcpClient = seconds(
    "mcp.client.operation.duration",
    "Time from sending a message to an MCP server to the end of its answer.",
    MCP_SECONDS,
    MCP_LABELS,
  );
  const mcpServer = seconds(
    "mcp.server.operation.duration",
    "Time from receiving a message for an MCP server to the end of its answer.",
    MCP_SECONDS,
    MCP_LABELS,
  );
  const mcp = (family: Family<Histogram>, method: string, error: string): Histogram =>
    family.with(method, mcpVersion, method === "tools/call" ? "execute_tool" : "", error);

  // There are few label sets, and each is one object for the life of the process.
  const seriesByLabels = new Map<ConventionLabels, ModelSeries | undefined>();
  const seriesOf = (labels: ConventionLabels): ModelSeries | undefined => {
    const before = seriesByLabels.get(labels);
    if (before !== undefined || seriesByLabels.has(labels)) return before;
    const operation = operationOf(labels.route);
    const made =
      operation === undefined || labels.maker === "none"
        ? undefined
        : new ModelSeries(families, [operation.name, systemOf(labels.maker), modelOf(labels.model)]);
    seriesByLabels.set(labels, made);
    return made;
  };
  return {
    recordUsage: (labels, usage) => seriesOf(labels)?.recordUsage(usage),
    recordAttempt: (labels, taken, error) => seriesOf(labels)?.recordAttempt(taken, error),
    recordRequest: (labels, taken, error, stream) => seriesOf(labels)?.recordRequest(taken, error, stream),
    recordMcpAttempt: (method, taken, error) => mcp(mcpClient, method, error).observe(taken),
    recordMcpRequest: (method, taken, error) => mcp(mcpServer, method, error).observe(taken),
  };
}

/** Child metrics of one label set, created on first use so that no empty series is exported. */
class ModelSeries {
  readonly #families: Families;
  readonly #values: readonly string[];
  #input: Histogram | undefined;
  #output: Histogram | undefined;
  #firstToken: Histogram | undefined;
  #perToken: Histogram | undefined;
  readonly #attempts = new Map<string, Histogram>();
  readonly #requests = new Map<string, Histogram>();

  constructor(families: Families, values: readonly string[]) {
    this.#families = families;
    this.#values = values;
  }

  recordUsage({ inputTokens, outputTokens }: Usage): void {
    const { usage } = this.#families;
    this.#input ??= usage.with(...this.#values, "input");
    this.#output ??= usage.with(...this.#values, "output");
    this.#input.observe(inputTokens);
    this.#output.observe(outputTokens);
  }

  recordAttempt(seconds: number, error: string): void {
    this.#childFor(this.#attempts, this.#families.operation, error).observe(seconds);
  }

  recordRequest(seconds: number, error: string, stream: ServedStream | undefined): void {
    this.#childFor(this.#requests, this.#families.request, error).observe(seconds);
    if (stream === undefined) return;
    const { firstBytesSeconds, outputTokens } = stream;
    this.#firstToken ??= this.#families.firstToken.with(...this.#values);
    this.#firstToken.observe(firstBytesSeconds);
    if (outputTokens === undefined || outputTokens < 2) return;
    this.#perToken ??= this.#families.perToken.with(...this.#values);
    this.#perToken.observe((seconds - firstBytesSeconds) / (outputTokens - 1));
  }

  #childFor(children: Map<string, Histogram>, family: Family<Histogram>, error: string): Histogram {
    let child = children.get(error);
    if (child === undefined) {
      child = family.with(...this.#values, error);
      children.set(error, child);
    }
    return child;
  }
}
