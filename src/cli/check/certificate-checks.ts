/** Checks of `gateway check` for the data listener's certificate: its names, its expiry, and its problems. */
import { stat } from "node:fs/promises";
import { systemClock } from "../../base/index.ts";
import type { NodeFile } from "../../server/core/config/index.ts";
import { certificateFilesOf } from "../../server/node/index.ts";
import { expiryStage, readCertificateFiles } from "../../server/tls/index.ts";
import type { Answer } from "./probe.ts";

const SUBJECT = "certificate";
const DAY_MS = 24 * 60 * 60 * 1000;
/** Bit of `st_mode`: read for others. */
const OTHERS_MAY_READ = 0o004;

/** Describes the protocol of the data listener. */
export function listenerText({ listen, tls }: NodeFile): string {
  if (tls === undefined) return `serves plain HTTP on ${listen}, since \`tls\` is not set`;
  return tls.cert_file === undefined
    ? `serves TLS on ${listen} with a certificate from ACME for ${tls.domains?.join(", ") ?? ""}`
    : `serves TLS on ${listen}`;
}

/** Checks the certificate files as the gateway reads them. `path`: of the node file. */
export async function certificateAnswers(nodeFile: NodeFile, path: string): Promise<readonly Answer[]> {
  const files = certificateFilesOf(nodeFile, path);
  if (files === undefined) return [];
  const now = systemClock.now();
  const read = await readCertificateFiles(files, now);
  if (read.kind === "problem") return [{ verdict: "fail", subject: SUBJECT, message: read.message }];
  const { certificate, validityFault, warnings } = read;
  const note = (message: string): Answer => ({ verdict: "note", subject: SUBJECT, message });
  if (validityFault !== undefined) {
    return [{ verdict: "fail", subject: SUBJECT, message: `${files.certFile}: ${validityFault.message}` }];
  }
  const { names, issuer, notAfter } = certificate;
  const days = Math.floor((notAfter - now) / DAY_MS);
  const until = `until ${new Date(notAfter).toISOString().slice(0, 10)} (${days} days)`;
  const message = `${files.certFile}: for ${names.join(", ") || "no name"}, issued by ${issuer}, valid ${until}`;
  return [
    { verdict: "ok", subject: SUBJECT, message },
    ...(expiryStage(certificate, now) === "valid" ? [] : [note(`expires in ${days} days: renew it`)]),
    ...warnings.map(note),
    ...((await isReadByAll(files.keyFile))
      ? [note(`every user of this machine can read ${files.keyFile}: run \`chmod o-r ${files.keyFile}\``)]
      : []),
  ];
}

async function isReadByAll(path: string): Promise<boolean> {
  return stat(path).then(
    ({ mode }) => (mode & OTHERS_MAY_READ) !== 0,
    () => false,
  );
}
