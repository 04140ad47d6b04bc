/**
 * Certificate of the data listener, and the TLS server that uses it.
 *
 * - `acme/`: certificates by ACME (RFC 8555)
 */

export {
  type AcmeSettings,
  AttemptFailed,
  type CertificateStore,
  type DnsProvider,
  HOSTED_API,
  hostedApiProvider,
  type OpenedRow,
  openAcme,
  openAuthority,
  type RowTable,
  type RowWrite,
  rfc2136Provider,
  tsigKeyOf,
} from "./acme/index.ts";
export { type ExpiryStage, expiryStage } from "./certificate-expiry.ts";
export { CertificateFilesUnusable, type FileCertificates, openCertificateFilePair } from "./certificate-files.ts";
export { observeCertificate } from "./metrics.ts";
export { createPlaceholderCertificate } from "./placeholder-certificate.ts";
export { type CertificateRead, readCertificate } from "./read-certificate.ts";
export { type CertificateFiles, readCertificateFiles } from "./read-certificate-files.ts";
export { createTlsServer, type TlsServer } from "./serve-tls.ts";
export { createTicketKeys } from "./ticket-keys.ts";
export type { Certificate, CertificateStatus, Certificates, MaybePromise } from "./types.ts";
