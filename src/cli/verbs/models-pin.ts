/**
 * `gateway models pin`: resolves a revision of a repository to its commit, and prints it as an entry to paste into a
 * deployment document. Source: specification document 1, "gateway models pin"; design decisions, section 12.
 *
 * YAML goes to stdout, notes to stderr; a token is never printed. Status 1 if the repository, revision or graph is not
 * available.
 */

import { stringify } from "yaml";
import { escapeControls } from "../../base/index.ts";
import { formatProblem, readDeployment } from "../../server/core/config/index.ts";
import { readForwardProxies } from "../../server/forward-proxy/index.ts";
import { ModelError, type Pin, pinModel } from "../../server/models/index.ts";
import { buildOf } from "../build.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { progressLine, sizeText } from "../progress-line.ts";
import type { modelsPinFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof modelsPinFlags>;

/** Reference that is printed in place of the token. The operator creates a secret with this name. */
const TOKEN_REFERENCE = "${secret:HUB_TOKEN}";

export async function run(options: Options, [repo = ""]: readonly string[], io: Io): Promise<ExitStatus> {
  const name = options.name ?? repo.slice(repo.indexOf("/") + 1);
  checkArguments(options, repo, name);
  const progress = progressLine(io);
  progress.show(() => `asking ${options.endpoint ?? "the hub"} for ${repo}`);
  let pin: Pin;
  try {
    pin = await pinModel({
      repo,
      revision: options.revision,
      model: options.model,
      endpoint: options.endpoint,
      token: (options.token || io.env["HUB_TOKEN"])?.trim() || undefined,
      proxies: readForwardProxies(io.env).proxies,
      userAgent: `gateway/${buildOf().version}`,
      signal: io.signal,
    });
  } catch (error) {
    progress.clear();
    if (!(error instanceof ModelError)) throw error;
    printLine(io, error.message);
    return 1;
  }
  progress.clear();
  if (pin.denied !== undefined) printLine(io, `warning: its files cannot be downloaded with this entry: ${pin.denied}`);
  if (pin.likely.length > 0) {
    printLine(io, `note: the graph seems to keep its weights in ${pin.likely.map(({ path }) => path).join(", ")}`);
  }
  io.stdout.write(entryOf(pin, options, { repo, name, now: io.now() }));
  return 0;
}

/** Checks the arguments by the schema, so that the printed configuration is accepted unchanged. */
function checkArguments({ revision, model, endpoint }: Options, repo: string, name: string): void {
  if (revision === "") throw new UsageError("flag '-revision' is empty");
  const hub = { repo, revision: "0".repeat(40), model, endpoint };
  const nothing = { kind: "problem", message: "references are not possible on the command line" } as const;
  const { problems } = readDeployment(
    { name: "arguments", text: JSON.stringify({ models: { models: [{ name, hub }] } }).replaceAll("${", "$$${") },
    { env: () => undefined, secret: () => nothing, file: () => nothing },
  );
  const fault = problems.find(({ severity }) => severity === "error");
  if (fault === undefined) return;
  const key = fault.path.split(".").at(-1) ?? "";
  const subjects = {
    repo: `'${clipArgument(repo)}'`,
    name: "flag '-name'",
    model: "flag '-model'",
    endpoint: "flag '-endpoint'",
  }[key];
  throw new UsageError(`${subjects ?? formatProblem(fault)}: ${fault.message}`);
}

interface PinRequest {
  readonly repo: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

function entryOf(pin: Pin, { revision, endpoint }: Options, { repo, name, now }: PinRequest): string {
  const day = new Date(now).toISOString().slice(0, 10);
  const modified = /^[\d:.TZ-]{10,30}$/.test(pin.modifiedAt ?? "") ? `of ${pin.modifiedAt}, ` : "";
  const lines = [
    "models:",
    "  models:",
    `    - name: ${scalar(name)}`,
    `      revision: ${scalar(revision)} # ${modified}resolved ${day}`,
    `      source: ${scalar(`${pin.endpoint}/${repo}`)}`,
    ...(pin.license === undefined ? [] : [`      license: ${scalar(pin.license)}`]),
    "      hub:",
    `        repo: ${scalar(repo)}`,
    `        revision: ${scalar(pin.commit)}`,
    `        model: ${scalar(pin.graph)}`,
    ...(endpoint === undefined ? [] : [`        endpoint: ${scalar(endpoint)}`]),
    ...(pin.needsToken ? [`        token: ${TOKEN_REFERENCE}`] : []),
    ...[...pin.files, ...pin.likely].map(
      ({ path, digest, size }) =>
        `      # ${path} ${digest.kind === "sha256" ? "sha256" : "git"}:${digest.hex} ${sizeText(size)}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}

/** Writes a scalar that YAML reads back as the same text, even a commit of digits alone. References are escaped. */
const scalar = (text: string): string => stringify(text.replaceAll("${", "$$${"), { lineWidth: 0 }).trimEnd();

const printLine = (io: Io, line: string): void => void io.stderr.write(`${escapeControls(line)}\n`);
