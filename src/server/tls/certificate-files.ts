/**
 * Serves a certificate from two files that an external tool rotates. They are read every ten seconds: a watch of the file system
 * misses links that are swapped, which is how orchestrators change mounted secrets. If a pair cannot be used, the previous one
 * stays in force and one line is logged. Source: design decisions, section 15; front-door reference, section 6.5.
 */
import type { Clock, Log } from "../../base/index.ts";
import { type ValidityFault, validityFaultAt } from "./read-certificate.ts";
import {
  type CertificateFiles,
  type FileFault,
  type FilesRead,
  readCertificateFiles,
} from "./read-certificate-files.ts";
import type { Certificate, CertificateFailure, Certificates } from "./types.ts";

const CHECK_EVERY_MS = 10_000;
/** Delay before a fault is reported: two files are rarely replaced at the same instant, so the pair is read again first. */
const REREAD_DELAY_MS = 1_000;

interface CertificateFilesOptions extends CertificateFiles {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Called for each pair that differs from the last one. */
  onRead?(result: "taken" | Fault["reason"]): void;
}

export interface FileCertificates extends Certificates {
  /** Reads the files now instead of at the next interval. */
  reread(): Promise<void>;
}

interface Fault {
  readonly reason: FileFault | ValidityFault["reason"];
  readonly message: string;
}

/** Error if the files cannot be used. The message names the file. */
export class CertificateFilesUnusable extends Error {}

/**
 * Opens the files. Rejects with `CertificateFilesUnusable`. An expired certificate is served too, since there is no better one.
 */
export async function openCertificateFilePair(options: CertificateFilesOptions): Promise<FileCertificates> {
  const { certFile, clock, log } = options;
  const first = await readCertificateFiles(options, clock.now());
  if (first.kind === "problem") throw new CertificateFilesUnusable(first.message);
  const listeners = new Set<() => void>();
  let current: Certificate = first.certificate;
  let failure: CertificateFailure | undefined;
  let failures = 0;
  /** Digest of the last pair that was accepted or refused, and of a pair that failed once since then. */
  let judgedDigest = first.digest;
  let suspectDigest: string | undefined;
  let rereadTimer: NodeJS.Timeout | undefined;
  let rereading: Promise<void> | undefined;

  const accept = ({ certificate, validityFault, warnings }: Extract<FilesRead, { kind: "certificate" }>): void => {
    current = certificate;
    failure = undefined;
    failures = 0;
    const { names, serial, issuer, notAfter } = certificate;
    const facts = { file: certFile, names, serial, issuer, not_after: new Date(notAfter).toISOString() };
    log.info("new certificate in use", facts);
    for (const warning of warnings) log.warn("certificate", { file: certFile, warning });
    if (validityFault !== undefined)
      log.error("the certificate has a problem but is used", { ...facts, problem: validityFault.message });
    options.onRead?.("taken");
  };

  const reject = ({ reason, message }: Fault): void => {
    failure = { reason, message, at: clock.now() };
    failures += 1;
    log.error("the new certificate was rejected; the previous one stays in use", {
      problem: message,
      reason,
      serial: current.serial,
      not_after: new Date(current.notAfter).toISOString(),
    });
    options.onRead?.(reason);
  };

  /** Returns why a pair does not replace the current one. */
  const faultOf = (found: FilesRead): Fault | undefined => {
    if (found.kind === "problem") return found;
    const { validityFault } = found;
    const isBetter = validityFault === undefined || validityFaultAt(clock.now(), current.notBefore, current.notAfter);
    return isBetter ? undefined : { reason: validityFault.reason, message: `${certFile}: ${validityFault.message}` };
  };

  const rereadOnce = async (): Promise<void> => {
    const found = await readCertificateFiles(options, clock.now());
    clearTimeout(rereadTimer);
    const isJudged = found.digest === judgedDigest;
    const fault = faultOf(found);
    if (isJudged && (fault !== undefined || failure === undefined)) {
      suspectDigest = undefined;
      return;
    }
    if (fault !== undefined && found.digest !== suspectDigest) {
      suspectDigest = found.digest;
      rereadTimer = setTimeout(() => void reread(), REREAD_DELAY_MS).unref();
      return;
    }
    judgedDigest = found.digest;
    suspectDigest = undefined;
    if (fault !== undefined) reject(fault);
    else if (found.kind === "certificate") accept(found);
    for (const listener of [...listeners]) listener();
  };

  const reread = (): Promise<void> => {
    rereading ??= rereadOnce().finally(() => {
      rereading = undefined;
    });
    return rereading;
  };

  accept(first);
  const timer = setInterval(() => void reread(), CHECK_EVERY_MS).unref();
  return {
    mode: "files",
    current: () => current,
    status() {
      const untimely = validityFaultAt(clock.now(), current.notBefore, current.notAfter);
      return {
        source: certFile,
        names: current.names,
        nextRenewal: undefined,
        step: undefined,
        failure: failure ?? (untimely && { ...untimely, message: `${certFile}: ${untimely.message}`, at: clock.now() }),
        failures,
        nextAttempt: undefined,
      };
    },
    challenge: () => undefined,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reread,
    close() {
      clearInterval(timer);
      clearTimeout(rereadTimer);
    },
  };
}
