/**
 * The data listener's certificate on a node, from files or by ACME, and its TLS. Source: specification document 2, `tls`;
 * design decisions, section 15.
 */
import { type Instruments, type Lifetime, type Log, systemClock } from "../../../base/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import {
  type CertificateFiles,
  CertificateFilesUnusable,
  type Certificates,
  createPlaceholderCertificate,
  createTicketKeys,
  createTlsServer,
  type ExpiryStage,
  expiryStage,
  type FileCertificates,
  observeCertificate,
  openCertificateFilePair,
  type TlsServer,
} from "../../tls/index.ts";
import { ConfigurationRefused } from "../configuration/environment-settings.ts";
import { resolveBeside } from "../configuration/read-configuration-files.ts";

/** Readiness reason while a certificate is pending. */
const PENDING = "certificate pending";

const CHECK_EVERY_MS = 60_000;
const REPEAT_LOG_MS = 24 * 60 * 60 * 1000;

/** Returns the absolute paths; `undefined` if the node file names none. `path`: path of the node file. */
export function certificateFilesOf({ tls }: NodeFile, path: string): CertificateFiles | undefined {
  if (tls?.cert_file === undefined || tls.key_file === undefined) return undefined;
  return { certFile: resolveBeside(path, tls.cert_file), keyFile: resolveBeside(path, tls.key_file) };
}

interface ObservedBy {
  readonly instruments: Instruments;
  readonly log: Log;
}

/** Opens the certificate files. Throws `ConfigurationRefused` if there is no usable certificate to start with. */
export async function openCertificateFiles(
  files: CertificateFiles,
  { instruments, log }: ObservedBy,
  owner: Lifetime,
): Promise<FileCertificates> {
  const reads = instruments.counter(
    "gateway_certificate_reads_total",
    "Changed certificate and key files that were read, by result.",
    ["result"],
  );
  try {
    const opened = await openCertificateFilePair({
      ...files,
      clock: systemClock,
      log,
      onRead: (result) => reads.with(result).inc(),
    });
    return owner.own("certificate files", opened, (it) => it.close());
  } catch (error) {
    if (error instanceof CertificateFilesUnusable) throw new ConfigurationRefused([`tls: ${error.message}`]);
    throw error;
  }
}

interface DataListenerTlsOptions extends ObservedBy {
  readonly certificates: Certificates;
  /** Secret of the deployment, by which every node can resume TLS sessions of the other nodes; `undefined` if it has none. */
  readonly secret: Uint8Array | undefined;
  /** Readiness reasons. */
  readonly reasons: Set<string>;
}

export async function openDataListenerTls(options: DataListenerTlsOptions, owner: Lifetime): Promise<TlsServer> {
  const { certificates, secret, reasons, instruments, log } = options;
  observeCertificate(instruments, certificates);
  const updateReadiness = (): void => {
    if (certificates.current() === undefined) reasons.add(PENDING);
    else reasons.delete(PENDING);
  };
  updateReadiness();
  const unwatch = certificates.onChange(updateReadiness);
  const stopExpiryLog = logExpiry(certificates, log);
  const isPending = certificates.current() === undefined;
  const tlsServer = createTlsServer({
    certificates,
    placeholder: isPending ? await createPlaceholderCertificate(systemClock.now()) : undefined,
    ticketKeys: createTicketKeys(secret),
    clock: systemClock,
    instruments,
    log,
  });
  return owner.own("TLS of the data listener", tlsServer, (it) => {
    it.close();
    unwatch();
    stopExpiryLog();
  });
}

/** Logs an approaching expiry: once at each stage, and once a day while it stays so. */
function logExpiry(certificates: Certificates, log: Log): () => void {
  let loggedStage: ExpiryStage = "valid";
  let loggedAt = 0;
  const check = (): void => {
    const certificate = certificates.current();
    const now = systemClock.now();
    const stage = certificate === undefined ? "valid" : expiryStage(certificate, now);
    const isDue = stage !== loggedStage || now - loggedAt >= REPEAT_LOG_MS;
    loggedStage = stage;
    if (certificate === undefined || stage === "valid" || !isDue) return;
    loggedAt = now;
    const facts = {
      names: certificate.names,
      serial: certificate.serial,
      not_after: new Date(certificate.notAfter).toISOString(),
      last_error: certificates.status().failure?.message,
    };
    if (stage === "expired") log.error("certificate has expired; clients refuse it", facts);
    else if (stage === "expires_now") log.error("certificate expires soon and was not renewed", facts);
    else log.warn("certificate expires soon", facts);
  };
  check();
  const timer = setInterval(check, CHECK_EVERY_MS).unref();
  return () => clearInterval(timer);
}
