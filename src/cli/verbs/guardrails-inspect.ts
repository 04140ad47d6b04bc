/**
 * `gateway guardrails inspect`: shows what guardrails do with one text, either those of a running gateway or those of a
 * local document. Source: design decisions, section 11 (Rehearsal).
 *
 * stdout gets the findings and the resulting text. Status 0 if the text is allowed, even if rewritten; 1 if it is
 * denied or could not be inspected, or the configuration or the API refuses; 3 if no gateway answers.
 */

import { createAdminClient, MAX_REHEARSED_LENGTH } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import type { Rehearsal } from "../../server/core/guardrails/index.ts";
import { chooseAddress } from "../choose-address.ts";
import { isColored } from "../color.ts";
import { joinLines, readAll, stdinOf, writeAll } from "../copy-streams.ts";
import { compileSubject, judgeNotices, type Subject } from "../guardrail-eval/index.ts";
import { inspectionLines } from "../inspection-report.ts";
import { clipArgument, didYouMean, type FlagsOf, UsageError } from "../parse-flags.ts";
import { type ExitStatus, type Io, resolvePath } from "../process-io.ts";
import { reportFailure } from "../report-failure.ts";
import type { guardrailsInspectFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof guardrailsInspectFlags>;

/** Timeout in milliseconds: longer than the default limits of detectors. */
const TIME_LIMIT_MS = 120_000;
/** Maximum size in UTF-8, in which a character has at most four bytes. */
const MAX_TEXT_BYTES = 4 * MAX_REHEARSED_LENGTH;

export async function run(options: Options, [argument = ""]: readonly string[], io: Io): Promise<ExitStatus> {
  const { config, socket, url } = options;
  if (config !== undefined && (socket ?? url) !== undefined) {
    throw new UsageError("give either -config, which needs no gateway, or -socket or -url");
  }
  const text = await textOf(argument, io);
  const rehearsal =
    config === undefined ? await rehearseText(options, text, io) : await inspectText(config, options, text, io);
  if (typeof rehearsal === "number") return rehearsal;
  const lines = options.json
    ? [`${JSON.stringify(rehearsal, null, 2)}\n`]
    : inspectionLines(rehearsal, { width: io.columns(), isColored: isColored(io) });
  await writeAll(io.stdout, joinLines(lines), io.signal);
  return rehearsal.decision === "allow" ? 0 : 1;
}

async function textOf(argument: string, io: Io): Promise<string> {
  const text =
    argument === "-"
      ? (await readAll(stdinOf(io, "the text"), MAX_TEXT_BYTES, "the text", io.signal)).toString("utf8")
      : argument;
  if (text === "") throw new UsageError("the text is empty");
  if (text.length > MAX_REHEARSED_LENGTH) {
    throw new UsageError(
      `the text has ${text.length} characters, at most ${MAX_REHEARSED_LENGTH} are inspected: 'gateway guardrails eval' accepts more`,
    );
  }
  return text;
}

/** Inspects the text with a running gateway. */
async function rehearseText(options: Options, text: string, io: Io): Promise<Rehearsal | ExitStatus> {
  const { profile, model, kind } = options;
  const address = chooseAddress(options, io);
  const client = createAdminClient({ address, timeLimitMs: TIME_LIMIT_MS });
  const body = {
    segments: [{ kind, text }],
    ...(profile !== undefined && { profile }),
    ...(model !== undefined && { model }),
  };
  try {
    return await client.call("inspect_guardrails", { body }, { signal: io.signal });
  } catch (error) {
    return reportFailure("guardrails inspect", error, address, io);
  } finally {
    client.close();
  }
}

/** Inspects the text with the guardrails of a local document. */
async function inspectText(config: string, options: Options, text: string, io: Io): Promise<Rehearsal | ExitStatus> {
  const compiled = await compileSubject(resolvePath(io, config), io);
  const lines = compiled.kind === "refused" ? compiled.problems : compiled.warnings;
  for (const line of lines) io.stderr.write(`${escapeControls(line)}\n`);
  if (compiled.kind === "refused") {
    io.stderr.write("gateway guardrails inspect: the guardrails were refused\n");
    return 1;
  }
  const { subject } = compiled;
  for (const notice of judgeNotices(subject)) io.stderr.write(`${escapeControls(notice)}\n`);
  try {
    return await rehearsed(subject, options, text, io);
  } finally {
    await subject.close();
  }
}

async function rehearsed({ profiles, rehearse }: Subject, options: Options, text: string, io: Io): Promise<Rehearsal> {
  const { profile, model, kind } = options;
  if (profile !== undefined && !profiles.includes(profile)) {
    throw new UsageError(
      `flag '-profile': the document has no profile '${clipArgument(profile)}'${didYouMean(profile, profiles)}`,
    );
  }
  return rehearse({ profile, model, segments: [{ kind, text }], showsKeyed: true }, io.signal);
}
