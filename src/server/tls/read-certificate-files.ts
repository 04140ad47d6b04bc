/** Reads certificate and key from two files. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { type CertificateFault, type CertificateRead, readCertificate } from "./read-certificate.ts";

export interface CertificateFiles {
  /** Absolute path of the PEM chain. */
  readonly certFile: string;
  /** Absolute path of the PEM key. */
  readonly keyFile: string;
}

export type FileFault = CertificateFault | "missing" | "unreadable_file";

export type FilesRead = (
  | Extract<CertificateRead, { kind: "certificate" }>
  | {
      readonly kind: "problem";
      readonly reason: FileFault;
      /** Message that names the file. */
      readonly message: string;
    }
) & {
  /** SHA-256 of the contents, to detect changes. */
  readonly digest: string;
};

/** Maximum size of a file. Sixteen RSA 4096 certificates in PEM are 40 KiB. */
const MAX_BYTES = 256 << 10;
/** Timeout of reading, in milliseconds: a network file system that hangs is reported, not waited for. */
const READ_LIMIT_MS = 5_000;

type Content =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "problem"; readonly reason: FileFault; readonly message: string };

/** Reads and checks both files. `now`: milliseconds since 1970. Never rejects. */
export async function readCertificateFiles({ certFile, keyFile }: CertificateFiles, now: number): Promise<FilesRead> {
  const [chain, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  const digest = createHash("sha256")
    .update(JSON.stringify([chain, key]))
    .digest("hex");
  if (chain.kind === "problem") return { ...chain, digest };
  if (key.kind === "problem") return { ...key, digest };
  const read = readCertificate(chain.text, key.text, now);
  if (read.kind === "certificate") return { ...read, digest };
  const message =
    read.reason === "wrong_key"
      ? `${keyFile}: the key does not belong to the certificate in ${certFile}`
      : `${read.of === "key" ? keyFile : certFile}: ${read.message}`;
  return { kind: "problem", reason: read.reason, message, digest };
}

/** Reads a text file. Links are followed, since orchestrators mount secrets as links. */
async function readText(path: string): Promise<Content> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<Content>((done) => {
    const message = `${path}: could not be read within ${READ_LIMIT_MS / 1_000} s`;
    timer = setTimeout(() => done({ kind: "problem", reason: "unreadable_file", message }), READ_LIMIT_MS).unref();
  });
  return Promise.race([readNow(path), timedOut]).finally(() => clearTimeout(timer));
}

async function readNow(path: string): Promise<Content> {
  const problem = (message: string, reason: FileFault = "unreadable_file"): Content => ({
    kind: "problem",
    reason,
    message: `${path}: ${message}`,
  });
  try {
    // Without O_NONBLOCK, opening a named pipe blocks a thread of the pool until somebody writes.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await file.stat();
      if (stats.isDirectory()) return problem("is a directory");
      if (!stats.isFile()) return problem("is not a regular file");
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0);
      if (bytesRead > MAX_BYTES) return problem(`is larger than ${MAX_BYTES} bytes`);
      return { kind: "text", text: buffer.toString("utf8", 0, bytesRead) };
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return problem("there is no such file", "missing");
    return problem(
      code === "EACCES" || code === "EPERM"
        ? `is not readable for the user that the gateway runs as (${code})`
        : `cannot be read (${code})`,
    );
  }
}
