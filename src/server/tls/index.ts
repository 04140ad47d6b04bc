/** The front door's certificate, and how TLS is served with it. */
export { type CertificateFault, type CertificateRead, readCertificate, type Untimely } from "./read-certificate.ts";
export type { Certificate, CertificateFailure, CertificateStanding, Certificates } from "./types.ts";
