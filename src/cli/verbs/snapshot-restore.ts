/**
 * `gateway snapshot restore FILE`: replaces the state of the whole cluster by that of an archive. Source: specification
 * document 1, "gateway snapshot restore".
 *
 * The previous state is lost on every node; the members stay. A file that cannot be an archive is refused before
 * anything is sent; the gateway checks the rest before it replaces anything. If the connection fails after the whole
 * archive was sent, it may still have been applied.
 */

import {
  type AdminAddress,
  type AdminAnswer,
  AdminError,
  ARCHIVE_TYPE,
  BASE_PATH,
  openTransport,
  readJson,
} from "../../admin-api/index.ts";
import { canBeArchive } from "../archive-head.ts";
import { chooseAddress } from "../choose-address.ts";
import { untilAborted } from "../copy-streams.ts";
import { readInput } from "../file-input.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { countBytes, type Progress, progressOf, sizeText } from "../progress-line.ts";
import { reportFailure } from "../report-failure.ts";
import type { snapshotRestoreFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof snapshotRestoreFlags>;

/** Timeout in milliseconds: longer than the gateway allows for the whole request. */
const TIME_LIMIT_MS = 720_000;
/** Explanation of an unknown outcome. */
const SENT =
  "The archive was sent and may still be restored: before you repeat it, look at what is there " +
  "(gateway query 'select count(*) from keys').\n";

export async function run(options: Options, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> {
  const source = await archiveIn(name, io);
  const address = chooseAddress(options, io);
  const progress = progressOf(io, "sent", source.size);
  let isSent = false;
  const onSent = (): void => {
    isSent = true;
  };
  try {
    const { withoutSecrets } = options;
    const restored = await restoreArchive(address, source, { withoutSecrets, signal: io.signal, progress, onSent });
    progress.clear();
    io.stderr.write(`restored ${clipArgument(name)}: ${restored.summary}\n`);
    if (withoutSecrets) reportLeftOut(restored, io);
    return 0;
  } catch (error) {
    progress.clear();
    if (isSent && io.signal.aborted) io.stderr.write(`gateway snapshot restore: interrupted\n${SENT}`);
    const status = reportFailure("snapshot restore", error, address, io);
    if (isSent && status === 3) io.stderr.write(SENT);
    return status;
  }
}

export interface RestoreOptions {
  /** True to leave out sealed secrets. */
  readonly withoutSecrets: boolean;
  readonly signal: AbortSignal;
  readonly progress: Pick<Progress, "add">;
  /** Called when the whole archive has been sent. After that, it may have been restored even if the call fails. */
  onSent(): void;
}

export interface RestoredArchive {
  /** Description of what was restored. */
  readonly summary: string;
  /** Names of the secrets that `withoutSecrets` left out. */
  readonly secretsLeftOut: readonly string[];
  readonly certificatesLeftOut: readonly string[];
}

export async function restoreArchive(
  address: AdminAddress,
  { open, isRepeatable }: ArchiveSource,
  { withoutSecrets, signal, progress, onSent }: RestoreOptions,
): Promise<RestoredArchive> {
  const transport = openTransport(address);
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    yield* countBytes(open(), progress);
    onSent();
  };
  try {
    const request = {
      method: "POST",
      path: `${BASE_PATH}/snapshot${withoutSecrets ? "?without_secrets=true" : ""}`,
      headers: { "content-type": ARCHIVE_TYPE },
      body: isRepeatable ? parts : parts(),
    };
    const restored = await transport.exchange(request, readRestored, { signal, timeLimitMs: TIME_LIMIT_MS });
    const { index, term, size, secrets_left_out = [], certificates_left_out = [] } = restored;
    return {
      summary: `index ${index}, term ${term}, ${sizeText(size)} of state`,
      secretsLeftOut: secrets_left_out,
      certificatesLeftOut: certificates_left_out,
    };
  } finally {
    transport.close();
  }
}

export interface ArchiveSource {
  open(): AsyncIterable<Uint8Array>;
  /** Size in bytes; `undefined` if unknown. */
  readonly size: number | undefined;
  /** True if each `open` reads from the beginning. */
  readonly isRepeatable: boolean;
}

/** Opens the archive. Throws `UsageError` if the file cannot be an archive. */
export async function archiveIn(name: string, io: Io): Promise<ArchiveSource> {
  if (name === "") throw new UsageError("the name of the file is empty");
  if (name === "-") {
    if (io.isTerminal("stdin"))
      throw new UsageError("an archive cannot be typed: give a file name, or redirect one to stdin");
    return { open: () => untilAborted(io.stdin, io.signal), size: undefined, isRepeatable: false };
  }
  const { open, head, size, isRegular } = await readInput(io, name);
  if (!isRegular) return { open, size: undefined, isRepeatable: false };
  if (!canBeArchive(head)) {
    throw new UsageError(`'${clipArgument(name)}' is not a snapshot archive`);
  }
  return { open, size, isRepeatable: true };
}

/** Prints the names of the secrets to stdout, so that a script can seal them again. */
function reportLeftOut({ secretsLeftOut, certificatesLeftOut }: RestoredArchive, io: Io): void {
  for (const name of secretsLeftOut) io.stdout.write(`${clipArgument(name)}\n`);
  const secrets = secretsLeftOut.length;
  io.stderr.write(
    secrets === 0
      ? "The archive contains no sealed secrets, so none has to be put again.\n"
      : `Left out ${secrets} sealed secret${secrets === 1 ? "" : "s"}: seal each again with 'gateway secrets put NAME'.\n`,
  );
  const certificates = certificatesLeftOut.map((id) => clipArgument(id)).join(", ");
  if (certificates !== "") io.stderr.write(`Left out certificates, which the gateway orders again: ${certificates}.\n`);
}

interface Restored extends Readonly<Record<"index" | "term" | "size", number>> {
  readonly secrets_left_out?: readonly string[];
  readonly certificates_left_out?: readonly string[];
}

async function readRestored(answer: AdminAnswer): Promise<Restored> {
  const value = (await readJson(answer)) as Partial<Restored> | null;
  const { index, term, size } = value ?? {};
  if (typeof index !== "number" || typeof term !== "number" || typeof size !== "number") {
    throw new AdminError(
      answer.status,
      "unintelligible",
      `The answer (${answer.status}) is not an answer to a restore.`,
    );
  }
  return {
    ...{ index, term, size },
    secrets_left_out: textsIn(value?.secrets_left_out),
    certificates_left_out: textsIn(value?.certificates_left_out),
  };
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
