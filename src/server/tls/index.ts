/** The front door's certificate, and how TLS is served with it. */

export {
  type AcmeOptions,
  type AcmeSettings,
  type CertificateStore,
  type DnsProvider,
  type Held,
  HOSTED_API,
  hostedApiProvider,
  openAcme,
  type RowWrite,
  rfc2136Provider,
  tsigKeyOf,
} from "./acme/index.ts";
export { type CertificateFault, type CertificateRead, readCertificate, type Untimely } from "./read-certificate.ts";
export type { Certificate, CertificateFailure, CertificateStanding, Certificates } from "./types.ts";
